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
import uuid
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
from nlgbench.study.column_names import argument
from nlgbench.study.csv_files import TableError
from nlgbench.study.described import FRAME, describe
from nlgbench.study.overview import overview
from nlgbench.study.reading import CODE, FILE, WRITTEN
from nlgbench.study.schema import TABLES, Raw
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
    "compare_systems": ["judgments", "outputs of two systems"],
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
    "corrected_quality": ["scores", "judgments"],
    "replaces_annotators": ["scores", "judgments", "two judgments of an output"],
    "audit": ["comparisons"],
    "variance_components": ["judgments", "outputs of two systems"],
    "sequential": [
        "preferences or comparisons or judgments with a declared scale",
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
        errors), ``valid`` (same form; judgments outside are excluded), ``annotators``
        (``"positions"`` if ids do not identify persons), ``votes`` (``"gold"`` if votes are the
        truth), ``same`` and ``distinct`` (``{"systems": [["GPT-4", "gpt-4"]]}``: spellings of one
        name, or different names). See docs/own-study.md.
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
            given = getattr(self, name)
            if given is not None and not isinstance(given, Mapping):
                raise ValueError(f"{name} must be a dict. Got {brief(given)}.")
        settings, wrong = settled(self.settings or {})
        given = {table: getattr(self, table) for table in TABLES}
        raws = {
            table: Raw(frame, f"Study({table}=...)")
            for table, frame in given.items()
            if frame is not None or table == "outputs"
        }
        wrong += near_names.unify(raws, settings)
        tables, problems = _examined(raws, settings)
        if wrong or problems:
            problems[-1:] = [one + _read_instead(raws, settings) for one in problems[-1:]]
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
        there = [str(one) for one in table["dimension"].unique()]
        if name is not None and name not in there:
            other = self.preferences if of == "judgments" else self.judgments
            if other is not None and name in set(other["dimension"]):
                raise Unsupported(
                    lacking, f"{self.name} has no {of} of {name}, only of {', '.join(there)}."
                )
        if name is not None:
            return known(name, there, "dimension")
        chosen = self.settings.get("quality")
        if chosen in there:  # otherwise, it is a dimension of the other table
            return str(chosen)
        if len(there) > 1:
            raise Unsupported(
                "no_quality",
                f"{self.name} has {of} in several dimensions ({', '.join(there)}): choose one with "
                "dimension=, or set `settings: quality` for all analyses.",
            )
        return there[0]

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
        of = self.outputs[["output_id", "item_id", "system", "is_human"]]
        if self.clusters in self.outputs:
            of = of.assign(cluster=self.outputs[self.clusters])
        rows = rows.merge(of, on="output_id", validate="m:1")
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
            there = [str(name) for name in table["evaluator"].unique()]
            table = table[
                table["evaluator"].isin([known(one, there, "evaluator") for one in evaluators])
            ]
        return oriented(table)

    def label(self, name: str) -> str:
        """Return the label of a system or evaluator in figures."""
        plain = name.replace("_", " ")
        alike = [one for one in self.outputs["system"].unique() if one.replace("_", " ") == plain]
        return self.labels.get(name, name if len(alike) > 1 else plain)

    def replace(self, **changes: Any) -> Study:
        """Return a copy of the study with some arguments of `Study` replaced and checked.

        The copy is not compared with papers' claims, because it is no longer the released study.
        """
        parts = _parts(self)
        for name in changes:
            known(name, list(parts), "replace")
        if "outputs" in changes or "settings" in changes:
            return _set(Study(**parts | changes), origin=self.origin)
        given = {name: changes[name] for name in TABLES if changes.get(name) is not None}
        raws = {name: Raw(frame, f"Study({name}=...)") for name, frame in given.items()}
        settings = dict(self.settings)
        checked, problems = _examined(raws, settings, self)
        if problems:
            raise TableError(*problems)
        _warn_of_names(raws, settings, stacklevel=3)
        return with_tables(self, **changes | checked, settings=settings)

    def only(self, *, systems: Iterable[str] | None = None, is_human: bool | None = None) -> Study:
        """Keep the outputs of some systems, and all rows that refer to them.

        Parameters
        ----------
        systems : iterable of str, optional
            Names of systems; human texts are also kept, unless `is_human` excludes them.
        is_human : bool, optional
            True keeps only human texts, False only those of systems.

        Raises
        ------
        ValueError
            If a system is unknown. If no output is left, it is `status.Unsupported`.
        """
        kept = np.ones(len(self.outputs), dtype=bool)
        if systems is not None:
            chosen = [known(name, self.systems, "systems") for name in systems]
            kept &= (self.outputs["system"].isin(chosen) | self.outputs["is_human"]).to_numpy()
        if is_human is not None:
            kept &= (self.outputs["is_human"] == is_human).to_numpy()
        if not kept.any():
            message = f"{self.name}: none of the {len(kept)} outputs is selected."
            raise Unsupported("no_outputs", message)
        return part_of(self, kept)

    def check(self) -> pd.DataFrame:
        """List analyses, whether each is ``possible``, and what is ``missing`` if not.

        Examples
        --------
        >>> outputs = pd.DataFrame({"output_id": ["1"], "item_id": ["1"], "system": ["a"]})
        >>> Study(outputs).check().set_index("analysis").loc["huse", "missing"]
        'human outputs; judgments; logprobs (of every output, under its system)'
        """
        outputs, judgments = self.outputs, self.judgments
        scales = self.settings.get("scales")
        given = {table: getattr(self, table) for table in TABLES}
        has = {table: frame is not None and len(frame) > 0 for table, frame in given.items()}
        has |= {
            "human outputs": bool(outputs["is_human"].any()),
            "outputs of two systems": len(self.systems) > 1,
            "outputs of three systems": len(self.systems) > 2,
            "texts": bool((outputs["text"] != "").any()),
            "two judgments of an output": judgments is not None
            and bool(judgments.duplicated(["output_id", "dimension"]).any()),
            _LOGPROBS: self.logprobs is not None,
            "judgments with a declared scale": bool(scales),
        }
        rows = [
            (name, [one for one in wanted if not any(has[part] for part in one.split(" or "))])
            for name, wanted in _NEEDS.items()
        ]
        return pd.DataFrame(
            [(name, not lacking, "; ".join(lacking)) for name, lacking in rows],
            columns=["analysis", "possible", "missing"],
        )

    def write(self, folder: str | os.PathLike) -> None:
        """Write the study as a folder of CSV files and a ``study.json``.

        A study that was written there before is replaced in one step, except its claims. Any other
        existing folder is refused (`FileExistsError`).
        """
        place = Path(folder)
        if place.exists() and not (place / WRITTEN).is_file():
            raise FileExistsError(
                f"{place} has no {WRITTEN}, so it is not a saved study: choose another folder."
            )
        place.parent.mkdir(parents=True, exist_ok=True)
        aside = place.with_name(f".{place.name}.{uuid.uuid4().hex[:8]}")
        try:
            _write(self, aside)
            if (place / "claims.csv").is_file():
                shutil.copy2(place / "claims.csv", aside)
            former = place.with_name(f"{aside.name}.former")
            if place.exists():
                place.rename(former)
            aside.rename(place)
            shutil.rmtree(former, ignore_errors=True)
        finally:
            shutil.rmtree(aside, ignore_errors=True)

    def _overview(self) -> list[tuple[str, str]]:
        tables = {table: getattr(self, table) for table in TABLES}
        return overview(tables, self.settings.get("scales", {}))

    def __repr__(self) -> str:
        lines = [f"  {count} {content}".rstrip() for count, content in self._overview()]
        return "\n".join([f"Study {self.name!r} ({self.source})", *lines])

    def _repr_html_(self) -> str:
        head = escape(f"Study {self.name} ({self.source})")
        return f"<p>{head}</p>{to_html(pd.DataFrame(self._overview()), header=False)}"


def trusted(outputs: pd.DataFrame, judgments: pd.DataFrame | None = None, **parts: Any) -> Study:
    """Make a study from tables that are valid by construction or come from a verified file."""
    made: Study = object.__new__(Study)
    for field in dataclasses.fields(Study):
        _set(made, **{field.name: None if field.default is dataclasses.MISSING else field.default})
    _set(made, outputs=outputs, judgments=judgments, **parts)
    return _set(made, settings=dict(made.settings or {}), related=made.related or {})


def is_reversed(scores: pd.DataFrame) -> pd.Series[bool]:
    """Mark the scores whose signature declares that lower is better."""
    return scores["signature"].str.contains(r"(?i)\bdirection\s*:\s*lower\b")


def oriented(scores: pd.DataFrame) -> pd.DataFrame:
    """Negate the scores whose signature declares that lower is better."""
    return scores.assign(score=scores["score"].where(~is_reversed(scores), -scores["score"]))


def from_rows(**parts: Any) -> Study:
    """Make a study from frames, or lists of rows, that are valid except for their types."""
    for table in set(TABLES) & set(parts):
        parts[table] = schema.typed(parts[table], table)
    return trusted(**parts)


def part_of(study: Study, kept: np.ndarray) -> Study:
    """Keep some rows of outputs, and all rows that refer to them or their systems."""
    parts: dict[str, Any] = {"outputs": study.outputs[kept].reset_index(drop=True)}
    for (table, column), target in _REFERS.items():
        frame = parts.get(table, getattr(study, table))
        if frame is not None:
            inside = frame[column].isin(parts["outputs"][target])
            parts[table] = frame[inside].reset_index(drop=True)
    return with_tables(study, **parts)


def with_tables(study: Study, **parts: Any) -> Study:
    """Return a copy with some tables replaced but not checked; claims are not tested on it."""
    return _set(trusted(**_parts(study) | parts), origin=study.origin)


def declared(study: Study, **settings: Any) -> Study:
    """Return a study with further settings, which must be valid."""
    return with_tables(study, settings={**study.settings, **settings})


def straight_from(study: Study, origin: str) -> Study:
    """Mark a study as unchanged from a loader or a simulation."""
    return _set(study, origin=origin, pristine=True)


def _parts(study: Study) -> dict[str, Any]:
    names = [field.name for field in dataclasses.fields(study) if field.init]
    return {name: getattr(study, name) for name in names}


def _set(study: Study, **parts: Any) -> Study:
    for name, part in parts.items():
        object.__setattr__(study, name, part)
    return study


def _examined(
    raws: Mapping[str, Raw], settings: dict[str, Any], former: Study | None = None
) -> tuple[dict[str, pd.DataFrame], list[str]]:
    """Check tables, references between them, and settings; return valid tables and problems.

    Tables that are not given come from `former`, which is valid. Settings change in one place:
    `valid` gets the number of judgments that it excludes.
    """
    tables: dict[str, pd.DataFrame] = {}
    problems: list[str] = []
    for table, raw in raws.items():
        extra = settings.get("extra", ()) if table == "outputs" else ()
        tables[table], found = schema.examine(raw, table, list(map(str, extra)))
        problems += found
        if table == "outputs" and isinstance(raw.frame, pd.DataFrame) and raw.frame.empty:
            problems.append(f"{raw.where}: {table} has no rows: add one for each output.")
    if {"dimension", "value"} <= set(tables.get("judgments", ())):
        tables["judgments"] = exclude_invalid(tables["judgments"], settings, problems)
    there = {table: getattr(former, table, None) for table in TABLES}
    whole = {**{table: frame for table, frame in there.items() if frame is not None}, **tables}
    # Compare with the tables as written: an invalid row of outputs must not spoil other tables.
    written = raws["outputs"].frame if "outputs" in raws else whole.get("outputs")
    if isinstance(written, pd.DataFrame):
        problems += _reference_problems(whole, raws, written)
    if former is None:
        problems += setting_problems(whole, raws, settings)
    if not problems and settings.get("valid"):
        tables = {table: frame.reset_index(drop=True) for table, frame in tables.items()}
    return tables, problems


def _warn_of_names(
    raws: Mapping[str, Raw], settings: Mapping[str, Any], *, stacklevel: int
) -> None:
    """Warn of names that may be spellings of one name."""
    for clash in near_names.collisions(raws, settings.get("distinct", {})):
        warnings.warn(clash, stacklevel=stacklevel)


def _read_instead(raws: Mapping[str, Raw], settings: Mapping[str, Any]) -> str:
    """Name `read_study` if a table has columns that a study does not know."""
    for table, raw in raws.items():
        names = {*map(str, raw.frame)} if isinstance(raw.frame, pd.DataFrame) else set()
        known_names = {*schema.columns(table), *settings.get("extra", ())}
        if table != "contexts" and names - known_names:
            return read_first(raw.frame).replace("one of its columns", "a study of other columns")
    return ""


def _reference_problems(
    tables: Mapping[str, pd.DataFrame], raws: Mapping[str, Raw], outputs: pd.DataFrame
) -> list[str]:
    problems: list[str] = []
    named = {target: {""} for target in _IN_OUTPUTS.values()}
    for (table, column), target in _REFERS.items():
        frame = tables.get(table)
        if frame is None or column not in frame or target not in outputs:
            continue
        there = outputs.loc[:, ~outputs.columns.duplicated()][target].astype(str)
        # A value that outputs lack is reported once, not for each table.
        lost = ~frame[column].isin({*there, *named[target]})
        if lost.any():
            named[target] |= set(frame.loc[lost, column])
            hint = did_you_mean(frame.loc[lost, column].iloc[0], there.unique()[:5000])
            rule = f"must occur in column {target!r} of outputs.{hint} Add it, or drop those rows"
            raw = raws.get(table, Raw(frame, f"Study({table}=...)"))
            problems += schema.problem(raw, table, frame, lost.to_numpy(), column, rule)
    return problems


def _write(study: Study, folder: Path) -> None:
    folder.mkdir()
    for table in TABLES:
        frame = getattr(study, table)
        if frame is not None:
            csv_files.save(frame, folder / f"{table}.csv")
    kinds = {}
    for name, frame in (study.truth or {}).items():
        (folder / "truth").mkdir(exist_ok=True)
        csv_files.save(frame, folder / "truth" / f"{name}.csv")
        kinds[name] = {str(column): str(kind) for column, kind in frame.dtypes.items()}
    for name, other in study.related.items():
        (folder / "related").mkdir(exist_ok=True)
        _write(other, folder / "related" / name)
    about = {
        "name": study.name,
        "origin": study.origin or study.source,
        "settings": dict(study.settings),
        "truth": kinds,
        "related": list(study.related),
    }
    (folder / WRITTEN).write_text(json.dumps(about, indent=2, ensure_ascii=False), encoding="utf-8")


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
    flags = {
        our: [named] if isinstance(named, str) else list(named)
        for our, named in columns.items()
        if named is not None
    }
    problems: list[str] = []
    if (
        isinstance(source, pd.DataFrame)
        or workbooks.split(Path(source))[0].is_file()
        or glob.has_magic(str(source))
    ):
        study = _read_described(source, flags, problems, name)
    elif flags:
        given = ", ".join(f"{argument(our)}=" for our in flags)
        why = "" if Path(source).is_dir() else why_no_study(Path(source))
        way = f"omit {given}, because study.yml names a folder's columns; or pass one of its files"
        raise ValueError(why or f"{source} is a folder: {way}.")
    else:
        study, _ = read_folder(Path(source), problems, name=name)
    if study is None:
        raise TableError(*problems)
    return study


def _read_described(
    source: str | os.PathLike | pd.DataFrame,
    flags: Mapping[str, Sequence[str]],
    problems: list[str],
    name: str | None,
) -> Study | None:
    """Read a DataFrame or file whose columns are named or guessed."""
    is_frame = isinstance(source, pd.DataFrame)
    about = describe(source if isinstance(source, pd.DataFrame) else Path(source), flags)
    about["where"] = FRAME if is_frame else str(source)
    if about["doubts"]:
        lines = "\n- ".join([f"Read {about['where']} with guesses to confirm:", *about["doubts"]])
        warnings.warn(lines, stacklevel=4)
    about["name"] = "study" if is_frame else file_types.stem(Path(str(source)))
    raws, notes = reading.read(Path(), about, problems)
    if is_frame:
        _warn_of_names(raws, {}, stacklevel=5)
    else:
        way = f"`nlgbench new {source}` writes a study.yml with this setting."
        problems += [f"{problem} {way}" for problem in near_names.collisions(raws, {})]
    return None if problems else _assembled(raws, about, problems, notes, name=name)


def read_folder(
    place: Path, problems: list[str], doubts: list[str] | None = None, *, name: str | None = None
) -> tuple[Study | None, list[str]]:
    """Read a study's folder; list problems and doubts, and return the study and notes."""
    if not place.is_dir():
        raise FileNotFoundError(why_no_study(place))
    files.note_read(place)
    described = [name for name in (FILE, CODE, WRITTEN) if (place / name).is_file()]
    for path in sorted(place.iterdir()):
        right = path.name.lower().replace("study.yaml", FILE)
        if right in (FILE, CODE, WRITTEN) and path.name not in described:
            problems.append(f"{path} is not read: make it a file named {right}.")
    if len(described) > 1:
        raise TableError(
            f"{place} has {' and '.join(described)}, which both describe the study: keep "
            f"{described[0]} if you wrote it, else {described[1]}."
        )
    coded = _run(place / CODE) if CODE in described else None
    about = reading.about(place / described[0], problems) if described and not coded else {}
    raws: dict[str, Raw] = {}
    notes: list[str] = []
    if coded is not None:
        about = {"settings": coded.settings, "name": coded.name if coded.name != "study" else ""}
        about["origin"] = coded.origin or (coded.source if coded.source != "study" else "")
        where = f"{place / CODE}, study()"
        raws = {table: Raw(getattr(coded, table), where) for table in TABLES}
        raws = {table: raw for table, raw in raws.items() if raw.frame is not None}
        notes = [f"{place / CODE} was run; its function study() returned the tables."]
    elif "tables" in about or "format" in about:
        raws, notes = reading.read(place, about, problems, doubts)
        if problems:
            return None, notes
    elif (place / "outputs.csv").is_file() or not problems:  # otherwise, already reported
        _find_tables(place, raws, problems)
    if not {"tables", "format"} & {*about}:
        clashes: list[str] = []
        near_names.settle(raws, about.setdefault("settings", {}), clashes, doubts)
        if WRITTEN in described:  # `Study` has warned, and `write` must read back
            _warn_of_names(raws, about["settings"], stacklevel=5)
        else:
            problems += clashes
    if FILE in described:
        found = label_problems(about.get("settings", {}).get("labels", {}), raws)
        problems += [f"{place / FILE}, {what}" for what in found]
    about["name"] = about.get("name") or place.resolve().name
    study = _assembled(raws, about, problems, notes, name=name)
    if study is None:
        return None, notes
    if coded is not None:
        return _set(study, truth=coded.truth or None, related=coded.related), notes
    truth = {
        one: _read_typed(place / "truth" / f"{one}.csv", kinds)
        for one, kinds in about.get("truth", {}).items()
    }
    related = {one: _read_related(place / "related" / one) for one in about.get("related", [])}
    return _set(study, truth=truth or None, related=related), notes


def _assembled(
    raws: dict[str, Raw],
    about: Mapping[str, Any],
    problems: list[str],
    notes: list[str],
    *,
    name: str | None,
) -> Study | None:
    """Check tables that were read, and make the study of them; list problems and notes."""
    settings = copy.deepcopy(dict(about.get("settings", {})))
    # Ids in released and simulated studies identify no person, and their truth refers to them.
    made_up = str(about.get("origin", "")).partition(":")[0] in ("released", "simulated")
    if not (made_up or settings.get("keep_annotator_ids") is True):
        reading.rename_annotators(raws)
        settings.get("distinct", {}).pop("annotators", None)
    if "origin" not in about:  # in written studies and code, signatures have the directions
        reading.declare_directions(raws, settings)
        problems += [
            f"{raw.where}: {table} has no rows: add some, or leave this table out."
            for table, raw in raws.items()
            if table != "outputs" and isinstance(raw.frame, pd.DataFrame) and raw.frame.empty
        ]
    tables, found = _examined(raws, settings)
    problems += found
    notes += [
        f"{dimension}: excluded judgments (outside `settings: valid`): {ends['excluded']:,}."
        for dimension, ends in (settings.get("valid", {}) if not problems else {}).items()
        if ends.get("excluded")
    ]
    if problems:
        return None
    study = trusted(**tables, name=name or about["name"], settings=settings)
    return _set(study, origin=str(about.get("origin", "")))


def why_no_study(place: Path) -> str:
    """Explain why a path is not a study; empty if it may be one."""
    needs = f"A study is a folder with {FILE}, {CODE} or outputs.csv."
    if place.is_dir():
        if any((place / one).is_file() for one in (FILE, CODE, "outputs.csv")):
            return ""
        other = sorted(one.name for one in place.iterdir() if file_types.guess(one))
        way = f" Run `nlgbench new` to describe {brief(other[0])} in {FILE}." if other else ""
        return f"the folder {place} has none of {FILE}, {CODE} and outputs.csv.{way or ' ' + needs}"
    if place.exists():
        return f"{place} is a file: pass its folder. {needs}"
    there = [other.name for other in place.parent.iterdir()] if place.parent.is_dir() else []
    return f"there is no folder {place}.{did_you_mean(place.name, there)} {needs}"


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
            made = names["study"]()
    except (Exception, SystemExit) as error:
        frames = traceback.extract_tb(error.__traceback__)
        lines = [one.lineno for one in frames if one.filename == os.fspath(path)]
        where = f"{path}, line {lines[-1] if lines else getattr(error, 'lineno', '?')}"
        whys = getattr(error, "problems", [f"{type(error).__name__}: {error}"])
        raise TableError(*(f"{where}: {why}" for why in whys)) from error
    if not isinstance(made, Study):
        raise TableError(f"{path}: study() must return an nb.Study. Got {brief(made)}.")
    return made


def _read_related(place: Path) -> Study:
    if (place / CODE).is_file():
        raise TableError(f"{place / CODE} is not run in a related study's folder: remove it.")
    return read_study(place)


def _find_tables(place: Path, raws: dict[str, Raw], problems: list[str]) -> None:
    """Read the CSV files of a folder that are named after tables."""
    for path in sorted(place.iterdir()):
        name, kind = file_types.stem(path).lower(), file_types.guess(path)
        is_right = path.name in [f"{one}.csv" for one in (*TABLES, "claims")]
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
                raws[name] = Raw(frame, os.fspath(path), lines)
    if not problems and "outputs" not in raws:
        needed = "the one table that every study needs (output_id, item_id, system, text)"
        raise FileNotFoundError(why_no_study(place) or f"{place} has no outputs.csv, {needed}.")


def _read_typed(path: Path, kinds: Mapping[str, str]) -> pd.DataFrame:
    frame, _ = csv_files.parse(path)
    names = {"float64": "float", "int64": "int", "bool": "bool"}
    return pd.DataFrame(
        {
            column: csv_files.convert(frame[column], names.get(kind, "text"))[0]
            for column, kind in kinds.items()
        }
    )
