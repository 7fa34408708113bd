"""Save what a notebook produces: figures, tables and claims.

>>> from nlgbench.runner import record
>>> run = record.open("01-huse-tradeoff", source="simulated")
>>> run.output_dir is None
True
"""

from __future__ import annotations

import fnmatch
import json
import re
import sys
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from html import escape
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pandas as pd

from nlgbench import files
from nlgbench.analysis.reproduction import OUTCOMES, number_outcomes
from nlgbench.datasets.published import load_claims
from nlgbench.names import known
from nlgbench.papers.claim_rows import CITED
from nlgbench.reported import Reported, to_html, to_text
from nlgbench.runner import claims, runs
from nlgbench.runner.facts import Facts, Finding, findings_table, legible
from nlgbench.runner.findings import describe_source
from nlgbench.runner.latex import to_latex
from nlgbench.runner.parameters import check as check
from nlgbench.status import Unsupported
from nlgbench.study import Study, schema
from nlgbench.study.study import Source

if TYPE_CHECKING:
    from nlgbench.plots.figures import Drawing

T = TypeVar("T")
#: Arguments of `nlgbench.runner.latex.to_latex`.
Layout = Mapping[str, Any] | None
#: Recorded columns of a claim, and their defaults.
_TEXTS = dict.fromkeys(["claim_id", "variant", "reason", "source"], "")
_NUMBERS = dict.fromkeys(["recomputed", "ci_low", "ci_high"], float("nan"))
_RECORDED: dict[str, Any] = {**_TEXTS, **_NUMBERS, "comparable": True}


def open(
    notebook: str, *, source: Source, study: str | None = None, output_dir: str | None = None
) -> Record:
    """Start the record of one notebook's run.

    `notebook` is the file's name without ``.ipynb``; claims belong to the notebook that they name.
    `source` is the origin of the run's data, saved with every figure and value. A run on another
    `study` than the notebook's own shows no paper's claims. The runner sets `output_dir`; without
    it, everything is shown, and nothing is written. From here on, the notebook displays tables as
    `nlgbench.reported` writes them.
    """
    known(source, schema.SOURCES, "source")
    _format_tables()
    if output_dir is not None:
        Path(output_dir).mkdir(parents=True, exist_ok=True)
        (Path(output_dir) / runs.OPEN).touch()
    folder = None if output_dir is None else Path(output_dir)
    return Record(notebook, source, folder, has_claims=study is None and source != "study")


def _format_tables() -> None:
    """Let the notebook display all tables as readers need them."""
    from IPython import get_ipython

    if (shell := get_ipython()) is not None:
        formatters = shell.display_formatter.formatters
        formatters["text/html"].for_type(pd.DataFrame, lambda table: to_html(legible(table)))
        formatters["text/plain"].for_type(
            pd.DataFrame, lambda table, printer, _: printer.text(to_text(legible(table)))
        )


class Record:
    """The figures, tables and claims of one run of a notebook."""

    def __init__(
        self, notebook: str, source: Source, output_dir: Path | None, *, has_claims: bool = True
    ) -> None:
        self.notebook = notebook
        self.has_claims = has_claims
        self.source = source
        self.output_dir = output_dir
        self._claims = load_claims()
        self._rows: list[pd.DataFrame] = []
        self._own: list[pd.DataFrame] = []
        self._skipped: dict[str, str] = {}
        self._made: list[dict[str, str]] = []
        self._tables: dict[str, pd.DataFrame] = {}
        self._failed: list[dict[str, str]] = []
        #: Writes numbers of the recorded tables into findings.
        self.facts = Facts(self._tables)

    def figure(self, drawing: Drawing, name: str, *, source: Source | None = None) -> None:
        """Show a drawing, and save it as PDF and PNG with its alternative text and its data.

        The name must be unique in the notebook. The source (default: that of the run) is added to
        the alternative text, and to all rows of the data that have no source.
        """
        from IPython.display import display

        from nlgbench.plots.figures import mark_simulated

        if not drawing.alt.strip():
            raise ValueError(f"figure {name!r} needs alternative text that describes the figure.")
        data_source = source or self.source
        drawing = mark_simulated(drawing, data_source)
        alt = f"{drawing.alt.strip()} Source: {data_source}."
        self._announce("figure", name, f"figures/{name}.pdf", alt, source, drawing.notes)
        data = drawing.data
        sources = data["source"].fillna(data_source) if "source" in data else data_source
        complete = replace(drawing, data=data.assign(source=sources), alt=alt)
        if self.output_dir is not None:
            complete.save(self.output_dir / "figures" / name)
        display(complete)

    def table(
        self, table: pd.DataFrame, name: str, *, source: Source | None = None, layout: Layout = None
    ) -> None:
        """Save a table as ``tables/<name>.csv``, in full precision, with its source.

        The name must be unique in the notebook. The index is written if it has a name; a column
        ``source`` is added if there is none. With `layout`, a dictionary of arguments for
        `nlgbench.runner.latex.to_latex`, a table for papers is also saved as ``<name>.tex``: its
        ``table`` defaults to `table`, and the source is added to its ``caption``.
        """
        data_source = source or self.source
        text = ""
        if layout is not None:
            options = {"table": table, "label": f"tab:{name}", "caption": "", **layout}
            caption = f"{options['caption'].strip()} Source: {data_source}.".strip()
            text = to_latex(**options | {"caption": caption})
        self._announce("table", name, f"tables/{name}.csv", "", source)
        if "source" not in table.columns:
            table = table.assign(source=data_source)
        named = any(label is not None for label in table.index.names)
        self._tables[name] = table.reset_index() if named else table
        if self.output_dir is not None:
            folder = self.output_dir / "tables"
            folder.mkdir(parents=True, exist_ok=True)
            table.to_csv(folder / f"{name}.csv", index=named, lineterminator="\n")
            if text:
                (folder / f"{name}.tex").write_text(text, encoding="utf-8", newline="\n")

    def controls(self, draw: Callable[..., Drawing], **choices: Any) -> None:
        """In JupyterLab, show controls that draw a figure again; see `show_controls`."""
        names = " and ".join(name.replace("_", " ") for name in choices)
        if self._is_interactive(f"choose {names}, and the figure is drawn again"):
            from nlgbench.explorer.controls import show_controls

            show_controls(draw, choices)

    def explore(self, study: Study, view: str) -> None:
        """In JupyterLab, open a study in a view of the explorer."""
        if self._is_interactive("explore the outputs and figures of the study"):
            from IPython.display import display

            from nlgbench.explorer import explore

            display(explore(study, view=view))

    def _is_interactive(self, use: str) -> bool:
        """Return whether a reader runs the notebook and has ipywidgets; print a line if not."""
        if self.output_dir is None and find_spec("anywidget"):
            return True
        install = "" if self.output_dir else " after pip install 'nlgbench[lab]'"
        print(f"Open this notebook in JupyterLab{install} to {use}.")
        return False

    def section(
        self,
        name: str,
        analysis: Callable[[], T],
        *,
        plot: Callable[[T], Drawing] | Mapping[str, Callable[[T], Drawing]] | None = None,
        columns: Sequence[str] | Callable[[pd.DataFrame], pd.DataFrame] | None = None,
        tables: Mapping[str, str] | None = None,
    ) -> T | None:
        """Run an analysis, then record and show its result, or print why it was skipped.

        If `analysis` returns a DataFrame, it is saved as the table `name`. If it returns several
        tables, each is saved as ``<name>_<table>``, or only those in `tables`, a mapping of table
        to file. `plot` draws the result as the figure `name`; a mapping draws several, by name.
        Of a DataFrame, `columns` are shown, or what this function returns. If the study lacks what
        `analysis` or `plot` needs, so that they raise `Unsupported`, the reason is printed. Any
        other error marks the section, and with it the run, as failed; the notebook continues.
        Without a result, None is returned.
        """
        from IPython.display import display

        try:
            result = analysis()
        except Unsupported as error:
            print(f"Skipped {name.replace('_', ' ')} because {error}")
            return None
        except Exception as error:
            self._fail(name, error)
            return None
        if isinstance(result, pd.DataFrame):
            self.table(result, name)
        else:
            for key, table in vars(result).items():
                if isinstance(table, pd.DataFrame) and (tables is None or key in tables):
                    self.table(table, f"{name}_{key}" if tables is None else tables[key])
        plots = plot if isinstance(plot, Mapping) else {} if plot is None else {name: plot}
        for figure_name, draw in plots.items():
            try:
                drawing = draw(result)
            except Unsupported as error:
                print(f"Skipped the figure {figure_name} because {error}")
            except Exception as error:
                self._fail(figure_name, error)
            else:
                self.figure(drawing, figure_name)
        table = result._shown() if isinstance(result, Reported) else result
        if isinstance(table, pd.DataFrame) and columns is not None:
            table = columns(table) if callable(columns) else table[list(columns)]
        display(table)
        return result

    def _fail(self, section: str, error: Exception) -> None:
        """Mark a section as failed, and show the error."""
        message = f"{type(error).__name__}: {error}"
        self._failed.append({"section": section, "error": message})
        print(f"Failed: {section}. {message}")
        traceback.print_exception(error)

    def claims(self, answers: pd.DataFrame) -> None:
        """Record recomputed values, for comparison with the printed ones.

        `answers` has one row per value, with the columns ``claim_id`` and ``value``, and
        optionally ``ci_low`` and ``ci_high``, ``variant`` (the convention used; a claim can be
        recorded once under each), ``reason`` (why it differs, or has no interval), ``source``
        (default: that of the run; ``published`` if it is computed from printed numbers alone) and
        ``comparable`` (False if a parameter differs from the paper's: the verdict is then
        ``new``). For your own claims, pass the rows with verdicts that `nlgbench.check_claims`
        returns.
        """
        if "verdict" in answers.columns:
            verdicts = schema.check(answers, "ledger")
            if not verdicts["claim_id"].map(claims.is_own).all():
                raise ValueError("verdicts on a paper's claims are computed here: omit 'verdict'.")
            self._own.append(verdicts)
            return
        if missing := sorted({"claim_id", "value"} - set(answers.columns)):
            raise ValueError(
                f"answers have no column {missing[0]!r}: add it. They have "
                f"{', '.join(map(str, answers.columns))}."
            )
        rows = answers.rename(columns={"value": "recomputed"}).reset_index(drop=True)
        rows = rows.assign(**{name: _RECORDED[name] for name in _RECORDED if name not in rows})
        rows = rows[list(_RECORDED)].fillna(_TEXTS)
        rows = rows.astype({**dict.fromkeys(_NUMBERS, "float64"), "comparable": "bool"})
        rows["source"] = rows["source"].replace("", self.source)
        ids = rows.loc[~rows["claim_id"].map(claims.is_own).astype(bool), "claim_id"]
        claims.check_known(ids, self._claims)
        owner = ids.map(self._claims.set_index("claim_id")["notebook"])
        if (misplaced := owner != self.notebook).any():
            raise ValueError(
                f"{ids[misplaced].iloc[0]!r} belongs to notebook {owner[misplaced].iloc[0]!r}: "
                "record it there, or record a finding of this notebook under its own id."
            )
        if ((rows["source"] == "published") & (rows["variant"] == "")).any():
            raise ValueError(
                "values computed from printed numbers need a variant that names the method, "
                "to distinguish them from the claim's own row in the ledger."
            )
        self._rows.append(rows)

    def skip(self, ids: str | Iterable[str], reason: str) -> None:
        """Give the reason why this run cannot check some claims.

        `ids` are claim ids or shell patterns (``huse/table1/*``); the ledger shows the reason.
        """
        if not reason.strip():
            raise ValueError("skip() needs a reason: pass the text that the ledger will show.")
        for pattern in [ids] if isinstance(ids, str) else list(ids):
            if not any(fnmatch.fnmatchcase(name, pattern) for name in self._claims["claim_id"]):
                claims.check_known([pattern], self._claims)
            self._skipped[pattern] = reason

    def conclude(
        self, studies: Study | Mapping[str, Study] | str, *findings: Finding | None
    ) -> None:
        """Show and save the findings, the counts of verdicts and the source, and close the record.

        The study and its source are added to each sentence in parentheses. Findings of skipped
        results are None. Without a study, `studies` is a description of the source.
        """
        from IPython.display import Markdown, display

        context = describe_source(studies, self.source)
        source = context.pop("source")
        ledger = self._ledger()
        written = [finding for finding in findings if finding]
        of_data = ", ".join(filter(None, [context["study"] * bool(context["data"]), self.source]))
        written = [
            replace(finding, sentence=f"{finding.sentence[:-1]} ({of_data}).")
            for finding in written
        ]
        written += [finding] if (finding := self._count_numbers(ledger)) else []
        for failure in self._failed:
            sentence = "The section {section} failed: {error}".format_map(failure)
            written.append(Finding(sentence, [{"status": "failed", "subject": failure["error"]}]))
        source += ". Brackets contain 95% intervals" * bool(written)
        written.append(Finding(f"Source: {source}.", [{"quantity": "source", "subject": source}]))
        written = [finding.about(**context, source=self.source) for finding in written]
        self.table(findings_table(written), "findings")
        sentences = "\n".join(f"- {escape(finding.sentence, quote=False)}" for finding in written)
        display(Markdown(sentences))
        self._close(ledger)

    def _count_numbers(self, ledger: pd.DataFrame) -> Finding | None:
        """Count the outcomes of printed numbers, each counted once."""
        numbers = number_outcomes(ledger)[["claim_id", "paper", "outcome"]]
        if numbers.empty:
            return None
        numbers["paper"] = numbers["paper"].replace(CITED)
        self.table(numbers, "printed_numbers")
        count, outcomes = self.facts.count, sorted({*numbers["outcome"]}, key=OUTCOMES.index)
        counts = [f"{name} {count('printed_numbers', {'outcome': name})}" for name in outcomes]
        total = count("printed_numbers", of="printed numbers")
        papers = self.facts.names("printed_numbers", column="paper")
        text = f"Numbers printed by {papers} ({total}), by outcome: {', '.join(counts)}."
        return self.facts.sentence(text, study="", data="")

    def close(self) -> pd.DataFrame:
        """Complete this notebook's ledger, and write it if there is an output folder.

        Raises an error if a claim of the notebook was neither recorded nor skipped with a reason.
        """
        return self._close(self._ledger())

    def _close(self, ledger: pd.DataFrame) -> pd.DataFrame:
        """Write the ledger and the record of this run if there is an output folder."""
        if self.output_dir is not None:
            schema.write(ledger, "ledger", self.output_dir / "ledger.csv")
            entry: dict[str, Any] = {"notebook": self.notebook, "made": self._made}
            entry |= {"peak_memory_bytes": _peak_memory(), "failed": self._failed}
            files.replace_bytes(self.output_dir / runs.RECORD, json.dumps(entry).encode())
            (self.output_dir / runs.OPEN).unlink(missing_ok=True)
        return ledger

    def _ledger(self) -> pd.DataFrame:
        owned = self._claims[self._claims["notebook"] == self.notebook]
        records = pd.concat(self._rows or [pd.DataFrame(columns=list(_RECORDED))])
        if not self.has_claims:  # a run of another study shows no paper's numbers
            paper = records["claim_id"].str.split("/").str[0]
            owned, records = owned[:0], records[~paper.isin(self._claims["paper"])]
        ledger = claims.ledger(owned, records, source=self.source, skipped=self._skipped)
        if self._own:
            ledger = schema.check(pd.concat([ledger, *self._own]), "ledger", source="the ledger")
        return ledger

    def _announce(
        self, kind: str, name: str, path: str, alt: str, source: Source | None, notes: str = ""
    ) -> None:
        if not re.fullmatch(r"[A-Za-z0-9_.-]+", name):
            raise ValueError(
                f"{name!r} cannot name a {kind}, because LaTeX reads files with this name: use "
                "only letters (a to z, A to Z), digits, '_', '.' and '-'."
            )
        if any(entry["kind"] == kind and entry["name"] == name for entry in self._made):
            raise ValueError(f"a {kind} named {name!r} is already recorded: choose another name.")
        about = {"kind": kind, "name": name, "path": path, "alt": alt, "notes": notes}
        self._made.append({**about, "source": source or self.source})


def _peak_memory() -> int | None:
    try:
        import resource
    except ImportError:  # Windows has no such counter
        return None
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
