"""A study: the tidy tables of one data set, checked once, with the settings that describe them."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import glob
import json
import os
import re
import shutil
import traceback
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from nlgbench import files
from nlgbench.names import brief, did_you_mean, known
from nlgbench.reported import to_html
from nlgbench.status import Unsupported
from nlgbench.study import csv_files, file_types, near_names, reading, schema, workbooks
from nlgbench.study.checks import checked, read_first
from nlgbench.study.column_names import Flags, argument
from nlgbench.study.csv_files import TableError
from nlgbench.study.described import FRAME, describe
from nlgbench.study.overview import overview
from nlgbench.study.reading import CODE, FILE, WRITTEN
from nlgbench.study.schema import TABLES, RawTable, RawTables
from nlgbench.study.settings import exclude_invalid, label_problems, setting_problems, settled

Source = Literal["published", "released", "simulated", "study"]
_Columns = str | Sequence[str] | None


_IN_OUTPUTS = dict.fromkeys(["output_id", "output_a", "output_b"], "output_id")
_IN_OUTPUTS |= {"item_id": "item_id", "system": "system"}
# Table and column -> the column of `outputs` that must contain each of its values.
_REFERS = {
    (table, column): _IN_OUTPUTS[column]
    for table in TABLES[1:]
    for column in schema.columns(table)
    if column in _IN_OUTPUTS
}

_LOGPROBS = "logprobs (of every output, under its system)"
#: Analysis -> what it needs from a study.
_NEEDS = {
    "huse": ["human outputs", "judgments", _LOGPROBS],
    "accuracy": ["human outputs", "judgments"],
    "agreement": ["judgments", "two judgments of an output"],
    "compare_systems": ["judgments or scores", "outputs of two systems"],
    "compare_distributions": ["texts", "human outputs"],
    "score: overlap": ["texts", "references"],
    "score: discriminators": ["texts", "human outputs"],
    "score: diversity": ["texts"],
    "score: listeners": ["texts", "contexts"],
    "correlate": ["scores or system_scores", "judgments", "outputs of three systems"],
    "supervise": ["texts", "human outputs"],
    "rate": ["comparisons or preferences", "outputs of two systems"],
    "vote_agreement": ["preferences"],
    "vote_accuracy": ["preferences", "scores or comparisons"],
    "judge_agreement": ["scores", "judgments"],
    "corrected_quality": ["scores", "judgments"],
    "replaces_annotators": ["scores", "judgments", "two judgments of an output"],
    "audit": ["comparisons"],
    "variance_components": ["judgments", "outputs of two systems"],
    "sequential": [
        "preferences or comparisons or judgments with a declared scale or scores",
        "outputs of two systems",
    ],
}


@dataclass(frozen=True, eq=False)
class Study:
    """The tables of one study, checked on creation.

    Parameters
    ----------
    outputs : DataFrame
        One row per text: ``output_id, item_id, system``; optionally ``text``, ``context`` and
        ``is_human`` (default: true for the system ``human``).
    judgments : DataFrame, optional
        One row per output, annotator and dimension: ``output_id, annotator_id, value``; optionally
        ``dimension`` (default "quality") and ``group_id`` (the HIT or page of outputs).
    name : str, default "study"
        The name in results and figures.
    source : {"study", "released", "simulated", "published"}
        The origin of the data.
    preferences : DataFrame, optional
        ``output_a`` (shown first), ``output_b, annotator_id, dimension, group_id, choice`` ("a",
        "b" or "tie").
    logprobs : DataFrame, optional
        ``output_id, model, logprob, n_tokens``: the whole text's log-probability in nats.
    references, contexts : DataFrame, optional
        References: ``item_id, reference_id, text``. Contexts: ``item_id, state, is_target`` and a
        column per feature.
    scores, system_scores : DataFrame, optional
        Scores of outputs (``output_id, evaluator, score, signature``), and of systems (the same
        columns, with ``system`` instead of ``output_id``).
    comparisons : DataFrame, optional
        ``output_a, output_b, comparator, prob_a, prob_tie, prob_b``.
    settings : mapping, optional
        ``quality`` (a dimension), ``lower_is_better`` (dimensions), ``clusters`` (a column of
        outputs, or ``group_id``), ``labels`` (name -> label in figures), ``extra`` (further columns
        of outputs to keep), ``scales`` (dimension -> ``{"min": 1, "max": 5}``; values outside are
        errors), ``valid`` (same form; judgments outside are excluded), ``annotators``, ``votes``,
        ``same``, ``distinct``. See docs/own-study.md.
    truth : mapping of str to DataFrame, optional
        The true values of a simulated study.
    related : mapping of str to Study, optional
        Studies whose outputs evaluators may learn from, but do not score.

    Raises
    ------
    TableError
        If tables or settings are invalid; the message locates each problem and suggests a fix.
    ValueError
        If the source is unknown; the message suggests the nearest name.

    Examples
    --------
    >>> outputs = pd.DataFrame({"output_id": ["a1", "h1"], "item_id": ["1", "1"]})
    >>> study = Study(outputs.assign(system=["a", "human"], text=["Hi.", "Hello."]))
    >>> study.outputs["is_human"].tolist(), study.systems
    ([False, True], ['a'])
    """

    outputs: pd.DataFrame
    judgments: pd.DataFrame | None = None
    _: dataclasses.KW_ONLY
    name: str = "study"
    source: Source = "study"
    preferences: pd.DataFrame | None = None
    logprobs: pd.DataFrame | None = None
    references: pd.DataFrame | None = None
    contexts: pd.DataFrame | None = None
    scores: pd.DataFrame | None = None
    system_scores: pd.DataFrame | None = None
    comparisons: pd.DataFrame | None = None
    settings: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    truth: Mapping[str, pd.DataFrame] | None = None
    related: Mapping[str, Study] = dataclasses.field(default_factory=dict)
    #: The original source of the data, such as "released:huse"; `write` preserves it.
    origin: str = dataclasses.field(default="", init=False)
    #: True for a study from a loader or simulation, until it changes; needed to answer claims.
    pristine: bool = dataclasses.field(default=False, init=False)

    def __post_init__(self) -> None:
        known(self.source, schema.SOURCES, "source")
        for name in ("settings", "truth", "related"):
            value = getattr(self, name)
            if value is not None and not isinstance(value, Mapping):
                raise ValueError(f"{name} must be a dict. Got {brief(value)}.")
        wrong: list[str] = []
        settings = settled(self.settings or {}, wrong)
        raws = _as_written({"outputs": self.outputs, **tables_of(self)})
        wrong += near_names.unify(raws, settings)
        tables, problems = _examined(raws, settings)
        if wrong or problems:
            problems[-1:] = [problem + _read_instead(raws, settings) for problem in problems[-1:]]
            raise TableError(*wrong, *problems)
        _warn_of_names(raws, settings, stacklevel=4)
        truth = None if self.truth is None else dict(self.truth)
        _set(self, **tables, settings=settings, truth=truth, related=dict(self.related or {}))

    @property
    def systems(self) -> list[str]:
        """Systems other than human, in order of first appearance."""
        machine = self.outputs.loc[~self.outputs["is_human"], "system"]
        return [str(name) for name in machine.unique()]

    @property
    def dimensions(self) -> list[str]:
        """Dimensions of the judgments, in order of first appearance."""
        if self.judgments is None:
            return []
        return [str(name) for name in self.judgments["dimension"].unique()]

    @property
    def main_dimension(self) -> str | None:
        """The quality dimension declared in `settings`, else the judgments' first dimension."""
        first = next(iter(self.dimensions), None)
        return self.settings.get("quality", first)

    def dimension(self, name: str | None = None, *, of: str = "judgments") -> str:
        """Return the name of a dimension in the table `of`; default: the quality dimension."""
        table: pd.DataFrame | None = getattr(self, of)
        lacking = "no_judgments" if of == "judgments" else "no_votes"
        if table is None or table.empty:
            votes = self.preferences is not None or self.comparisons is not None
            hint = " For votes on pairs, use rate or win_rates." * (of == "judgments" and votes)
            raise Unsupported(
                lacking, f"{self.name} has no {of}: add a table of {of} to the study.{hint}"
            )
        names = [str(name) for name in table["dimension"].unique()]
        if name is not None and name not in names:
            second_table = self.preferences if of == "judgments" else self.judgments
            if second_table is not None and name in set(second_table["dimension"]):
                raise Unsupported(
                    lacking, f"{self.name} has no {of} of {name}, only of {', '.join(names)}."
                )
        if name is not None:
            return known(name, names, "dimension")
        chosen = self.settings.get("quality")
        if chosen in names:  # otherwise, it is a dimension of the other table
            return str(chosen)
        if len(names) > 1:
            raise Unsupported(
                "no_quality",
                f"{self.name} has {of} in several dimensions ({', '.join(names)}): choose one with "
                "dimension=, or set `settings: quality` for all analyses.",
            )
        return names[0]

    @property
    def clusters(self) -> str:
        """The column of outputs or judgments that defines clusters; default: ``item_id``."""
        return str(self.settings.get("clusters", "item_id"))

    @property
    def labels(self) -> dict[str, str]:
        """Labels of systems and evaluators in figures, as `settings` declares them."""
        return {str(name): str(label) for name, label in self.settings.get("labels", {}).items()}

    @property
    def persons(self) -> bool:
        """Whether annotators' ids identify persons; otherwise, they are positions in a file."""
        return bool(self.settings.get("annotators") != "positions")

    def sign(self, dimension: str) -> float:
        """Return -1 if lower values of the dimension are better, else 1."""
        return -1.0 if dimension in self.settings.get("lower_is_better", ()) else 1.0

    def scale(self, dimension: str) -> tuple[float, float] | None:
        """Return the dimension's least and greatest possible values, or None if not declared."""
        ends = self.settings.get("scales", {}).get(dimension)
        return None if ends is None else (float(ends["min"]), float(ends["max"]))

    def judged(self, dimension: str | None = None) -> pd.DataFrame:
        """Return the judgments of one dimension, negated if lower is better.

        Adds the columns ``item_id, system, is_human, cluster`` of their outputs.
        """
        name = self.dimension(dimension)
        assert self.judgments is not None
        rows = self.judgments[self.judgments["dimension"] == name]
        outputs = self.outputs[["output_id", "item_id", "system", "is_human"]]
        if self.clusters in self.outputs:
            outputs = outputs.assign(cluster=self.outputs[self.clusters])
        rows = rows.merge(outputs, on="output_id", validate="m:1")
        if "cluster" not in rows:
            rows["cluster"] = rows[self.clusters]
        return rows.assign(value=self.sign(name) * rows["value"])

    def scored(
        self, evaluators: Iterable[str] | None = None, *, of: str = "scores"
    ) -> pd.DataFrame:
        """Return scores of outputs or systems (of="system_scores"), negated if lower is better."""
        table: pd.DataFrame | None = getattr(self, of)
        if table is None or table.empty:
            message = f"{self.name} has no {of}: compute them with `score`."
            raise Unsupported("no_scores", message)
        if evaluators is not None:
            scored = [str(name) for name in table["evaluator"].unique()]
            names = [known(name, scored, "evaluator") for name in evaluators]
            table = table[table["evaluator"].isin(names)]
        return oriented(table)

    def label(self, name: str) -> str:
        """Return the label of a system or evaluator in figures."""
        plain = name.replace("_", " ")
        names = [system.replace("_", " ") for system in self.outputs["system"].unique()]
        return self.labels.get(name, name if names.count(plain) > 1 else plain)

    def replace(self, **changes: Any) -> Study:
        """Return a copy of the study with some arguments of `Study` replaced and checked.

        The copy is not compared with papers' claims, because it is no longer the released study.
        """
        arguments = _parts(self)
        for name in changes:
            known(name, list(arguments), "replace")
        if "outputs" in changes or "settings" in changes:
            return _set(Study(**arguments | changes), origin=self.origin)
        changed = {name: changes[name] for name in TABLES if changes.get(name) is not None}
        raws, settings = _as_written(changed), dict(self.settings)
        checked, problems = _examined(raws, settings, self)
        if problems:
            raise TableError(*problems)
        _warn_of_names(raws, settings, stacklevel=3)
        return with_tables(self, **changes | checked, settings=settings)

    def only(self, *, systems: Iterable[str] | None = None, is_human: bool | None = None) -> Study:
        """Keep the outputs of some systems, and all rows that refer to them.

        `systems` are names of systems; human texts are kept, too, unless `is_human` excludes them.
        True keeps only human texts, False only those of systems. An unknown system is a ValueError;
        if no output is left, it is `status.Unsupported`.
        """
        is_kept = np.ones(len(self.outputs), dtype=bool)
        if systems is not None:
            chosen = [known(name, self.systems, "systems") for name in systems]
            is_kept &= (self.outputs["system"].isin(chosen) | self.outputs["is_human"]).to_numpy()
        if is_human is not None:
            is_kept &= (self.outputs["is_human"] == is_human).to_numpy()
        if not is_kept.any():
            message = f"{self.name}: none of the {len(is_kept)} outputs is selected."
            raise Unsupported("no_outputs", message)
        return part_of(self, is_kept)

    def check(self) -> pd.DataFrame:
        """List analyses, whether each is ``possible``, and what is ``missing`` if not.

        Examples
        --------
        >>> outputs = pd.DataFrame({"output_id": ["1"], "item_id": ["1"], "system": ["a"]})
        >>> Study(outputs).check().set_index("analysis").loc["huse", "missing"]
        'human outputs; judgments; logprobs (of every output, under its system)'
        """
        outputs, judgments = self.outputs, self.judgments
        has = {table: len(frame) > 0 for table, frame in tables_of(self).items()} | {
            "human outputs": bool(outputs["is_human"].any()),
            "outputs of two systems": len(self.systems) > 1,
            "outputs of three systems": len(self.systems) > 2,
            "texts": bool((outputs["text"] != "").any()),
            "two judgments of an output": judgments is not None
            and bool(judgments.duplicated(["output_id", "dimension"]).any()),
            _LOGPROBS: self.logprobs is not None,
            "judgments with a declared scale": bool(self.settings.get("scales")),
        }
        rows = []
        for name, needs in _NEEDS.items():
            lacking = [need for need in needs if not any(map(has.get, need.split(" or ")))]
            rows.append((name, not lacking, "; ".join(lacking)))
        return pd.DataFrame(rows, columns=["analysis", "possible", "missing"])

    def write(self, folder: str | os.PathLike) -> None:
        """Write the study as a folder of CSV files and a ``study.json``.

        A study that was written there before is replaced in one step, except its claims. Any other
        existing folder is refused (`FileExistsError`).
        """
        target = Path(folder)
        if target.exists() and not (target / WRITTEN).is_file():
            raise FileExistsError(
                f"{target} has no {WRITTEN}, so it is not a saved study: choose another folder."
            )
        with files.new_folder(target) as draft:
            _write(self, draft)
            if (target / "claims.csv").is_file():
                shutil.copy2(target / "claims.csv", draft)

    def __repr__(self) -> str:
        lines = overview(tables_of(self), self.settings.get("scales", {}))
        texts = [f"  {count} {content}".rstrip() for count, content in lines]
        return "\n".join([f"Study {self.name!r} ({self.source})", *texts])

    def _repr_html_(self) -> str:
        head = escape(f"Study {self.name} ({self.source})")
        lines = overview(tables_of(self), self.settings.get("scales", {}))
        return f"<p>{head}</p>{to_html(pd.DataFrame(lines), header=False)}"


def tables_of(study: Study) -> dict[str, pd.DataFrame]:
    """Return the tables that a study has, by name."""
    frames = {table: getattr(study, table) for table in TABLES}
    return {table: frame for table, frame in frames.items() if frame is not None}


def _as_written(tables: Mapping[str, pd.DataFrame]) -> RawTables:
    """Name tables in messages after the arguments of `Study`."""
    return {table: RawTable(frame, f"Study({table}=...)") for table, frame in tables.items()}


def from_tables(
    outputs: pd.DataFrame, judgments: pd.DataFrame | None = None, **attributes: Any
) -> Study:
    """Make a study from tables that are valid by construction or come from a verified file."""
    study: Study = object.__new__(Study)
    for field in dataclasses.fields(Study):
        _set(study, **{field.name: None if field.default is dataclasses.MISSING else field.default})
    _set(study, outputs=outputs, judgments=judgments, **attributes)
    return _set(study, settings=dict(study.settings or {}), related=study.related or {})


def is_reversed(scores: pd.DataFrame) -> pd.Series[bool]:
    """Mark the scores whose signature declares that lower is better."""
    return schema.contains(scores["signature"], r"(?i)\bdirection\s*:\s*lower\b")


def oriented(scores: pd.DataFrame) -> pd.DataFrame:
    """Negate the scores whose signature declares that lower is better."""
    return scores.assign(score=scores["score"].where(~is_reversed(scores), -scores["score"]))


def from_rows(**attributes: Any) -> Study:
    """Make a study from frames, or lists of rows, that are valid except for their types."""
    for table in set(TABLES) & set(attributes):
        attributes[table] = schema.typed(attributes[table], table)
    return from_tables(**attributes)


def part_of(study: Study, is_kept: np.ndarray) -> Study:
    """Keep some rows of outputs, and all rows that refer to them or their systems."""
    tables: dict[str, Any] = {"outputs": study.outputs[is_kept].reset_index(drop=True)}
    for (table, column), target in _REFERS.items():
        frame = tables.get(table, getattr(study, table))
        if frame is not None:
            inside = frame[column].isin(tables["outputs"][target])
            tables[table] = frame[inside].reset_index(drop=True)
    return with_tables(study, **tables)


def with_tables(study: Study, **changes: Any) -> Study:
    """Return a copy with some tables or attributes replaced but not checked.

    Claims are not tested on it, unless it is declared pristine: unchanged from a loader or a
    simulation, with its origin.
    """
    return from_tables(**_parts(study) | {"origin": study.origin} | changes)


def _parts(study: Study) -> dict[str, Any]:
    names = [field.name for field in dataclasses.fields(study) if field.init]
    return {name: getattr(study, name) for name in names}


def _set(study: Study, **attributes: Any) -> Study:
    for name, value in attributes.items():
        object.__setattr__(study, name, value)
    return study


def _examined(
    raws: RawTables, settings: dict[str, Any], former: Study | None = None
) -> tuple[dict[str, pd.DataFrame], list[str]]:
    """Check tables (`former` has the others) and settings; return valid tables and problems."""
    tables: dict[str, pd.DataFrame] = {}
    problems: list[str] = []
    for table, raw in raws.items():
        extra = settings.get("extra", ()) if table == "outputs" else ()
        tables[table], wrong = schema.examine(raw, table, list(map(str, extra)))
        problems += wrong
        if table == "outputs" and isinstance(raw.frame, pd.DataFrame) and raw.frame.empty:
            problems.append(f"{raw.where}: {table} has no rows: add one for each output.")
    if {"dimension", "value"} <= set(tables.get("judgments", ())):
        tables["judgments"] = exclude_invalid(tables["judgments"], settings, problems)
    others = {} if former is None else tables_of(former)
    raws = _as_written(others) | dict(raws)
    # Compare with the tables as written: an invalid row of outputs must not spoil other tables.
    if "outputs" in raws and isinstance(raws["outputs"].frame, pd.DataFrame):
        problems += _reference_problems(others | tables, raws, raws["outputs"].frame)
    if former is None:
        problems += setting_problems(tables, raws, settings)
    if not problems and settings.get("valid"):
        tables = {table: frame.reset_index(drop=True) for table, frame in tables.items()}
    return tables, problems


def _warn_of_names(raws: RawTables, settings: Mapping[str, Any], *, stacklevel: int) -> None:
    """Warn of names that may be spellings of one name."""
    for clash in near_names.collisions(raws, settings.get("distinct", {})):
        warnings.warn(clash, stacklevel=stacklevel)


def _read_instead(raws: RawTables, settings: Mapping[str, Any]) -> str:
    """Name `read_study` if a table has columns that a study does not know."""
    for table, raw in raws.items():
        names = {*map(str, raw.frame)} if isinstance(raw.frame, pd.DataFrame) else set()
        known_names = {*schema.columns(table), *settings.get("extra", ())}
        if table != "contexts" and names - known_names:
            return read_first(raw.frame).replace("one of its columns", "a study of other columns")
    return ""


def _reference_problems(
    tables: Mapping[str, pd.DataFrame], raws: RawTables, outputs: pd.DataFrame
) -> list[str]:
    problems: list[str] = []
    named = {target: {""} for target in _IN_OUTPUTS.values()}
    for (table, column), target in _REFERS.items():
        frame = tables.get(table)
        if frame is None or column not in frame or target not in outputs:
            continue
        ids = outputs.loc[:, ~outputs.columns.duplicated()][target].astype(str)
        # A value that outputs lack is reported once, not for each table.
        lost = ~frame[column].isin({*ids, *named[target]})
        if lost.any():
            named[target] |= set(frame.loc[lost, column])
            hint = did_you_mean(frame.loc[lost, column].iloc[0], ids.unique()[:5000])
            rule = f"must occur in column {target!r} of outputs.{hint} Add it, or drop those rows"
            problems += schema.problem(raws[table], table, frame, lost.to_numpy(), column, rule)
    return problems


def _write(study: Study, folder: Path) -> None:
    for table, frame in tables_of(study).items():
        csv_files.save(frame, folder / f"{table}.csv")
    kinds = {}
    for name, frame in (study.truth or {}).items():
        (folder / "truth").mkdir(exist_ok=True)
        csv_files.save(frame, folder / "truth" / f"{name}.csv")
        kinds[name] = {str(column): str(kind) for column, kind in frame.dtypes.items()}
    for name, related in study.related.items():
        (folder / "related" / name).mkdir(parents=True)
        _write(related, folder / "related" / name)
    description = {
        "name": study.name,
        "origin": study.origin or study.source,
        "settings": dict(study.settings),
        "truth": kinds,
        "related": list(study.related),
    }
    text = json.dumps(description, indent=2, ensure_ascii=False)
    (folder / WRITTEN).write_text(text, encoding="utf-8")


@checked
def read_study(
    source: str | os.PathLike | pd.DataFrame,
    *,
    item: _Columns = None,
    system: _Columns = None,
    text: _Columns = None,
    annotator: _Columns = None,
    value: _Columns = None,
    dimension: _Columns = None,
    a: _Columns = None,
    b: _Columns = None,
    choice: _Columns = None,
    evaluator: _Columns = None,
    score: _Columns = None,
    context: _Columns = None,
    name: str | None = None,
) -> Study:
    r"""Read a study from a folder, a file, or a DataFrame.

    Parameters
    ----------
    source : path or DataFrame
        A folder with one of these: ``study.yml``, which describes files of any layout
        (docs/own-study.md); ``study.py``, which is run and whose function ``study()`` returns a
        `Study`; or CSV files named ``outputs.csv``, ``judgments.csv`` and so on. Or one file, or a
        DataFrame, with a row for each judgment, vote, score or output.
    item, system, text, context : str or list of str, optional
        Columns of a file or DataFrame: the input that systems respond to, the system, its output,
        and what annotators saw beside it. These and the following arguments are the flags of
        ``nlgbench new``. If you omit one, its column is guessed; a warning lists uncertain guesses.
    annotator, value, dimension : str or list of str, optional
        Columns of judgments: the annotator, the judgment (several columns are dimensions), and the
        dimension, if a column names it.
    a, b, choice : str or list of str, optional
        Columns of votes: the system shown first, the one shown second, and the winner or a tie.
    evaluator, score : str or list of str, optional
        Columns of scores: the evaluator, if a column names it, and its score (several columns are
        evaluators).
    name : str, optional
        Default: the name in ``study.yml``, ``study.py`` or ``study.json``, or that of the folder or
        file; "study" for a DataFrame.

    Returns
    -------
    Study
        Its source is ``study``; ``origin`` is the original source. Annotators are renamed
        ``w001``, ``w002``, ... unless ``settings`` has ``keep_annotator_ids: true``.

    Raises
    ------
    FileNotFoundError
        If the source does not exist, or a folder has no ``study.yml``, ``study.py`` or
        ``outputs.csv``.
    TableError
        As for `Study`; the message names the file, row and line of each problem.
    ValueError
        If a column is unknown; the message suggests the nearest name.

    Examples
    --------
    >>> ratings = pd.DataFrame({"id": [1, 1, 2, 2], "model": [*"abab"], "fluency": [4, 2, 5, None]})
    >>> study = read_study(ratings.assign(rater="ann"), item="id", system="model", value="fluency")
    >>> study.judgments["value"].tolist()
    [4.0, 2.0, 5.0]
    """
    columns = {
        **{"item_id": item, "system": system, "text": text, "context": context},
        **{"annotator_id": annotator, "value": value, "dimension": dimension},
        **{"system_a": a, "system_b": b, "choice": choice},
        **{"evaluator": evaluator, "score": score},
    }
    flags = {}
    for our, names in columns.items():
        if names is not None:
            flags[our] = [names] if isinstance(names, str) else list(names)
    problems: list[str] = []
    if (
        isinstance(source, pd.DataFrame)
        or workbooks.split(Path(source))[0].is_file()
        or glob.has_magic(str(source))
    ):
        study = _read_described(source, flags, problems, name)
    elif flags:
        arguments = ", ".join(f"{argument(our)}=" for our in flags)
        why = "" if Path(source).is_dir() else why_no_study(Path(source))
        raise ValueError(
            why
            or f"{source} is a folder: omit {arguments}, because study.yml names a folder's "
            "columns; or pass one of its files."
        )
    else:
        study, _ = read_folder(Path(source), problems, name=name)
    if study is None:
        raise TableError(*problems)
    return study


def _read_described(
    source: str | os.PathLike | pd.DataFrame, flags: Flags, problems: list[str], name: str | None
) -> Study | None:
    """Read a DataFrame or file whose columns are named or guessed."""
    is_frame = isinstance(source, pd.DataFrame)
    description = describe(source if isinstance(source, pd.DataFrame) else Path(source), flags)
    description["where"] = FRAME if is_frame else str(source)
    if description["doubts"]:
        lead = f"Read {description['where']} with guesses to confirm:"
        warnings.warn("\n- ".join([lead, *description["doubts"]]), stacklevel=4)
    description["name"] = name or ("study" if is_frame else file_types.stem(Path(str(source))))
    raws, notes = reading.read(Path(), description, problems)
    if is_frame:
        _warn_of_names(raws, {}, stacklevel=5)
    else:
        way = f"`nlgbench new {source}` writes a study.yml with this setting."
        problems += [f"{problem} {way}" for problem in near_names.collisions(raws, {})]
    return None if problems else _assembled(raws, description, problems, notes)


def read_folder(
    folder: Path, problems: list[str], doubts: list[str] | None = None, *, name: str | None = None
) -> tuple[Study | None, list[str]]:
    """Read a study's folder; list problems and doubts, and return the study and notes."""
    if not folder.is_dir():
        raise FileNotFoundError(why_no_study(folder))
    files.note_read(folder)
    file = _find_description(folder, problems)
    description = reading.about(folder / file, problems) if file not in ("", CODE) else {}
    raws: RawTables = {}
    notes: list[str] = []
    truth, related = {}, {}
    if file == CODE:
        coded = _run(folder / CODE)
        where = f"{folder / CODE}, study()"
        raws = {table: RawTable(frame, where) for table, frame in tables_of(coded).items()}
        notes = [f"{folder / CODE} was run; its function study() returned the tables."]
        # A name or source of "study" is only the default.
        named, origin = (text if text != "study" else "" for text in (coded.name, coded.source))
        description = {"settings": coded.settings, "name": named, "origin": coded.origin or origin}
        truth, related = dict(coded.truth or {}), dict(coded.related)
    elif "tables" in description or "format" in description:
        raws, notes = reading.read(folder, description, problems, doubts)
        if problems:
            return None, notes
    elif (folder / "outputs.csv").is_file() or not problems:  # otherwise, already reported
        _find_tables(folder, raws, problems)
    if not {"tables", "format"} & {*description}:
        clashes: list[str] = []
        near_names.settle(raws, description.setdefault("settings", {}), clashes, doubts)
        if file == WRITTEN:  # `Study` has warned, and `write` must read back
            _warn_of_names(raws, description["settings"], stacklevel=5)
        else:
            problems += clashes
    if file == FILE:
        labels = description.get("settings", {}).get("labels", {})
        problems += [f"{folder / FILE}, {wrong}" for wrong in label_problems(labels, raws)]
    description["name"] = name or description.get("name") or folder.resolve().name
    study = _assembled(raws, description, problems, notes)
    if study is None:
        return None, notes
    for table, kinds in description.get("truth", {}).items():
        truth[table] = _read_typed(folder / "truth" / f"{table}.csv", kinds)
    for other in description.get("related", []):
        if (code := folder / "related" / other / CODE).is_file():
            raise TableError(f"{code} is not run in a related study's folder: remove it.")
        related[other] = read_study(code.parent)
    return _set(study, truth=truth or None, related=related), notes


def _find_description(folder: Path, problems: list[str]) -> str:
    """Return the name of the file that describes a study; empty if there is none."""
    described = [name for name in (FILE, CODE, WRITTEN) if (folder / name).is_file()]
    for path in sorted(folder.iterdir()):
        right = path.name.lower().replace("study.yaml", FILE)
        if right in (FILE, CODE, WRITTEN) and path.name not in described:
            problems.append(f"{path} is not read: make it a file named {right}.")
    if len(described) > 1:
        raise TableError(
            f"{folder} has {' and '.join(described)}, which both describe the study: keep "
            f"{described[0]} if you wrote it, else {described[1]}."
        )
    return described[0] if described else ""


def _assembled(
    raws: RawTables, description: Mapping[str, Any], problems: list[str], notes: list[str]
) -> Study | None:
    """Check tables that were read, and make the study of them; list problems and notes."""
    settings = copy.deepcopy(dict(description.get("settings", {})))
    # Ids in released and simulated studies identify no person, and their truth refers to them.
    made_up = str(description.get("origin", "")).partition(":")[0] in ("released", "simulated")
    if not (made_up or settings.get("keep_annotator_ids") is True):
        reading.rename_annotators(raws)
        settings.get("distinct", {}).pop("annotators", None)
    if "origin" not in description:  # in written studies and code, signatures have the directions
        reading.declare_directions(raws, settings)
        problems += [
            f"{raw.where}: {table} has no rows: add some, or leave this table out."
            for table, raw in raws.items()
            if table != "outputs" and isinstance(raw.frame, pd.DataFrame) and raw.frame.empty
        ]
    tables, wrong = _examined(raws, settings)
    problems += wrong
    if problems:
        return None
    for dimension, ends in settings.get("valid", {}).items():
        if n := ends.get("excluded"):
            notes.append(f"{dimension}: excluded judgments (outside `settings: valid`): {n:,}.")
    origin = str(description.get("origin", ""))
    return from_tables(**tables, name=description["name"], settings=settings, origin=origin)


def why_no_study(folder: Path) -> str:
    """Explain why a path is not a study; empty if it may be one."""
    needs = f"A study is a folder with {FILE}, {CODE} or outputs.csv."
    if folder.is_dir():
        if any((folder / name).is_file() for name in (FILE, CODE, "outputs.csv")):
            return ""
        readable = sorted(name.name for name in folder.iterdir() if file_types.guess(name))
        way = f" Run `nlgbench new` to describe {brief(readable[0])} in {FILE}." if readable else ""
        return (
            f"the folder {folder} has none of {FILE}, {CODE} and outputs.csv.{way or ' ' + needs}"
        )
    if folder.exists():
        return f"{folder} is a file: pass its folder. {needs}"
    siblings = [path.name for path in folder.parent.iterdir()] if folder.parent.is_dir() else []
    return f"there is no folder {folder}.{did_you_mean(folder.name, siblings)} {needs}"


def _run(path: Path) -> Study:
    """Run study.py in its folder, so that relative paths work, and return what study() returns."""
    names: dict[str, Any] = {"__name__": "study", "__file__": os.fspath(path.absolute())}
    code = csv_files.read_text(path)
    if not re.search(r"^def study\(", code, re.MULTILINE):
        raise TableError(
            f"{path} has no function study(), so it is not run: write one that returns an "
            "nb.Study, or rename the file."
        )
    try:
        # An import would write Python's cache there, which changes the folder's digest.
        with contextlib.chdir(path.parent):
            exec(compile(code, os.fspath(path), "exec"), names)
            study = names["study"]()
    except (Exception, SystemExit) as error:
        frames = traceback.extract_tb(error.__traceback__)
        lines = [frame.lineno for frame in frames if frame.filename == os.fspath(path)]
        where = f"{path}, line {lines[-1] if lines else getattr(error, 'lineno', '?')}"
        whys = getattr(error, "problems", [f"{type(error).__name__}: {error}"])
        raise TableError(*(f"{where}: {why}" for why in whys)) from error
    if not isinstance(study, Study):
        raise TableError(f"{path}: study() must return an nb.Study. Got {brief(study)}.")
    return study


def _find_tables(folder: Path, raws: RawTables, problems: list[str]) -> None:
    """Read the CSV files of a folder that are named after tables."""
    for path in sorted(folder.iterdir()):
        name, kind = file_types.stem(path).lower(), file_types.guess(path)
        is_right = path.name in [f"{table}.csv" for table in (*TABLES, "claims")]
        if is_right and not path.is_file():
            problems.append(f"{path} is not a file: restore it, or move it elsewhere.")
        elif not is_right and (kind == "csv" or (kind and name in TABLES)):
            problems.append(
                f"{path} is not a table of a study.{did_you_mean(name, TABLES)} Rename the file, "
                "save it as CSV, or move it elsewhere. Tables are CSV files named "
                f"{', '.join(TABLES)}."
            )
        elif is_right and name in TABLES:  # your own claims are read by `check_claims`
            try:
                frame, lines = csv_files.parse(path, problems=problems)
            except TableError as error:
                problems += error.problems
            else:
                raws[name] = RawTable(frame, os.fspath(path), lines)
    if not problems and "outputs" not in raws:
        needed = "the one table that every study needs (output_id, item_id, system, text)"
        raise FileNotFoundError(why_no_study(folder) or f"{folder} has no outputs.csv, {needed}.")


def _read_typed(path: Path, kinds: Mapping[str, str]) -> pd.DataFrame:
    frame, _ = csv_files.parse(path)
    for column, kind in kinds.items():
        # float64, int64 and bool; all others are texts
        frame[column] = csv_files.convert(frame[column], kind.removesuffix("64"))[0]
    return frame[list(kinds)]
