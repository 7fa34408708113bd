"""The public studies: their names, contents and loaders."""

from __future__ import annotations

import functools
import os
from collections import UserDict
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from nlgbench.datasets import (
    alpaca_eval,
    alttest,
    cache,
    comm_eval,
    dailydialog,
    emnlp17,
    hanna,
    huse,
    judge_the_judges,
    llmbar,
    llmfao,
    monroe,
    registry,
    scratchplot,
    support_segments,
    usr,
    webnlg,
)
from nlgbench.names import known
from nlgbench.study import Study, from_tables, read_study, with_tables
from nlgbench.study.checks import checked


class _Public(NamedTuple):
    """A public study: its reader, files, quality dimension, task and contents."""

    read: Callable[..., Study]
    files: list[str]
    quality: str | None
    task: str
    holds: str
    options: dict[str, str] = {}  # noqa: RUF012
    related: dict[str, tuple[Callable[..., Study], list[str]]] = {}  # noqa: RUF012


def _turns(path: Path) -> Study:
    return from_tables(dailydialog.read_dailydialog_turns(path))


_STUDIES = {
    "huse": _Public(
        huse.read_huse,
        [huse.RAW_FILE],
        "typicality",
        "summaries",
        "human and generated headlines, with log-probabilities and 20 judgments each",
    ),
    "comm-eval": _Public(
        comm_eval.read_comm_eval,
        [comm_eval.RAW_FILE],
        "listener_success",
        "captions",
        "color captions of three qualities, with listeners' choices; related: rounds of the color "
        "game (train, dev, test)",
        options={"filtered": "False: include captions that the paper excluded"},
        related={
            split: (functools.partial(monroe.read_monroe, prefix=f"{split}_"), [file])
            for split, file in monroe.RAW_FILES.items()
        },
    ),
    "judge-the-judges": _Public(
        judge_the_judges.read_judge_the_judges,
        [judge_the_judges.RAW_FILE],
        "real_or_fake",
        "reviews",
        "human reviews and those of twelve generators, with votes for real or fake",
    ),
    "llmfao": _Public(
        llmfao.read_llmfao,
        [llmfao.RAW_FILE],
        None,
        "instructions",
        "votes of 124 annotators on pairs of outputs of 59 language models, without texts; with 13 "
        "prompts, intervals over items have at most 12 degrees of freedom",
    ),
    **{
        name: _Public(
            llmbar.read_llmbar,
            files,
            None,
            "instructions",
            "pairs of outputs, the better one of each, and verdicts of five judges in both orders",
        )
        for name, files in llmbar.RAW_FILES.items()
    },
    "alpaca-eval": _Public(
        alpaca_eval.read_alpaca_eval,
        alpaca_eval.RAW_FILES,
        None,
        "instructions",
        "three systems, one of which always writes the same text, compared with GPT-4 Turbo on 805 "
        "prompts; the judge is GPT-4 Turbo, with probabilities; no human annotators",
    ),
    "support-segments": _Public(
        support_segments.read_support_segments,
        [support_segments.RAW_FILE],
        "passed",
        "labels",
        "invented: two systems judged pass or fail on 4,000 questions, 1,500 with human labels",
    ),
    "dailydialog": _Public(
        dailydialog.read_dailydialog,
        [dailydialog.RAW_FILE],
        "appropriateness",
        "dialogue",
        "rated human responses and those of four systems, with four references each; related: "
        "turns (human responses to 6,740 contexts)",
        related={"turns": (_turns, [dailydialog.TURNS_FILE])},
    ),
    **{
        name: _Public(
            usr.read_usr,
            [file],
            "overall",
            "dialogue",
            "human responses and those of three or four systems, rated in six dimensions",
        )
        for name, file in usr.RAW_FILES.items()
    },
    "webnlg-2020": _Public(
        webnlg.read_webnlg,
        [file.name for file in registry.files("webnlg-2020")],
        None,
        "data-to-text",
        "texts of 16 systems for 178 sets of triples, and human ones (texts not released), rated "
        "0 to 100 by 88 annotators in five dimensions",
    ),
    "hanna": _Public(
        hanna.read_hanna,
        [hanna.RAW_FILE],
        None,
        "stories",
        "mean ratings in six dimensions, and scores of 72 metrics, of human stories and those of "
        "ten systems on 96 prompts, without texts; related: stories (texts of humans and of six "
        "language models, without judgments)",
        options={"ratings": "True: the three single ratings, by unidentified annotators"},
        related={"stories": (hanna.read_hanna_stories, [hanna.STORIES_FILE])},
    ),
    "scratchplot": _Public(
        scratchplot.read_scratchplot,
        scratchplot.RAW_FILES,
        None,
        "stories",
        "stories of five systems in two batches, rated in three dimensions; related: endings "
        "(votes on pairs of endings)",
        related={"endings": (scratchplot.read_scratchplot_endings, scratchplot.ENDING_FILES)},
    ),
    **{
        f"emnlp17-{name}": _Public(
            functools.partial(emnlp17.read_emnlp17, data=name),
            [emnlp17.RAW_FILE],
            "quality",
            "data-to-text",
            "utterances of two systems, median judgments in three dimensions, 23 scores",
        )
        for name in emnlp17.DATA
    },
    **{
        f"alttest-{name}": _Public(
            alttest.read_alttest,
            alttest.files(name),
            "label",
            "summaries" if name == "summeval" else "labels",
            f"human labels, and labels of language models as scores; {holds}",
        )
        for name, holds in alttest.SETS.items()
    },
}


class _Related(UserDict[str, Any]):
    """Related studies, loaded on first access."""

    def __getitem__(self, key: str) -> Study:
        if callable(self.data[key]):
            self.data[key] = self.data[key]()
        return self.data[key]


def studies() -> pd.DataFrame:
    """List the public studies.

    Returns
    -------
    DataFrame
        ``name`` (for `load`), ``available`` (whether its files are in the cache), ``quality`` (the
        quality dimension, or empty), ``task``, ``holds`` (the contents), ``options`` (for `load`).

    Examples
    --------
    >>> studies()["name"].tolist()[:3]
    ['huse', 'comm-eval', 'judge-the-judges']
    """
    return pd.DataFrame(
        [
            {
                "name": name,
                "available": cache.available(entry.files),
                "quality": entry.quality or "",
                "task": entry.task,
                "holds": entry.holds,
                "options": "; ".join(f"{key}={text}" for key, text in entry.options.items()),
            }
            for name, entry in _STUDIES.items()
        ]
    )


def _load_related(name: str, key: str) -> Study:
    read, files = _STUDIES[name].related[key]
    return with_tables(read(*map(cache.path, files)), name=f"{name}:{key}", source="released")


def is_public(name: object) -> bool:
    """Check whether a text names a public study; a folder of that name wins."""
    return isinstance(name, str) and name in _STUDIES and not Path(name).exists()


def open_named(study: str | os.PathLike) -> Study:
    """Open a public study by its name, or your own by its folder."""
    name = os.fspath(study)
    return load(name) if is_public(name) else read_study(study)


def files_of(name: str) -> list[str]:
    """List the files of a public study."""
    return _STUDIES[name].files


@checked
def load(name: str, **options: Any) -> Study:
    """Load a public study by name.

    Parameters
    ----------
    name : str
        A name listed by `studies`.
    **options
        ``filtered=False`` for ``comm-eval`` (include captions that the paper excluded);
        ``ratings=True`` for ``hanna`` (single ratings instead of means).

    Returns
    -------
    Study
        The study, with source ``released``; `studies` describes its contents.

    Raises
    ------
    ValueError
        If a name or option is unknown; the message suggests the nearest one.
    DataUnavailableError
        If the study's files are not in the cache; run ``nlgbench fetch``.
    DataCorruptError
        If a file's hash differs from that of the released file.

    Examples
    --------
    >>> load("hues")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: study: 'hues' is unknown. Did you mean 'huse'? Available: huse, comm-eval, ...
    """
    entry = _STUDIES[known(name, list(_STUDIES), "study")]
    for option in options:
        known(option, list(entry.options), f"options of {name}")
    read = entry.read(*map(cache.path, entry.files), **options)
    if entry.quality is not None:
        read = with_tables(read, settings={**read.settings, "quality": entry.quality})
    related = _Related({key: functools.partial(_load_related, name, key) for key in entry.related})
    source = {"source": "released", "origin": f"released:{name}", "pristine": True}
    return with_tables(read, name=name, related=related, **source)
