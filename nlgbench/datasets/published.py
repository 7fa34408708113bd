"""Numbers printed in papers: the claims, and their tables."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

_PACKAGE = Path(__file__).resolve().parents[1]

# Column suffixes of a star or a p-value next to a printed number, which is a separate claim.
_MARKS = ("_star", "_p")

#: By the beginning of a public study's name: what people call it, and who released it.
_STUDIES = {
    "alpaca-eval": ("AlpacaEval 2", "Dubois et al. (2024)"),
    "alttest": ("AltTest", "Calderon et al. (2025)"),
    "comm-eval": ("Communication-based evaluation", "Newman et al. (2020)"),
    "dailydialog": ("DailyDialog", "Gupta et al. (2019)"),
    "emnlp17": ("EMNLP 2017", "Novikova et al. (2017)"),
    "hanna": ("HANNA", "Chhun et al. (2022)"),
    "huse": ("HUSE", "Hashimoto et al. (2019)"),
    "judge-the-judges": ("Judge the Judges", "Garbacea et al. (2019)"),
    "llmbar": ("LLMBar", "Zeng et al. (2024)"),
    "llmfao": ("LLMFAO", "Ustalov (2023)"),
    "scratchplot": ("ScratchPlot", "Jin and Le (2022)"),
    "support-segments": ("Support segments", "Punjwani (2026)"),
    "usr": ("USR", "Mehri and Eskenazi (2020)"),
    "webnlg-2020": ("WebNLG 2020", "Castro Ferreira et al. (2020)"),
}


def published_dir() -> Path:
    """Return the folder of the published numbers."""
    places = [_PACKAGE / "data" / "published", _PACKAGE.parent / "data" / "published"]
    for folder in places:
        if (folder / "claims.csv").is_file():
            return folder
    looked = " and ".join(str(folder) for folder in places)
    raise FileNotFoundError(
        f"claims.csv, the published numbers, was not found in {looked}. Reinstall "
        "nlgbench, or restore data/published in the checkout: git checkout -- data/published"
    )


def load_claims(paper: str | None = None) -> pd.DataFrame:
    """Load the ``claims`` table: numbers printed in all papers, or in one, in printed order."""
    from nlgbench.study import schema

    claims = schema.read(published_dir() / "claims.csv", "claims")
    if paper is None:
        return claims
    return claims[claims["paper"] == paper].reset_index(drop=True)


def load_printed(where: str) -> pd.DataFrame:
    """Load one printed table, such as ``huse/table1``, without stars; empty cells are NaN."""
    claims = load_claims()
    claims = claims[(claims["paper"] + "/" + claims["where"]).eq(where)]
    claims = claims[~claims["claim_id"].str.endswith(_MARKS)]
    id_parts = claims["claim_id"].str.split("/", expand=True)
    cells = claims.assign(row=id_parts[2], column=id_parts[3])
    table = cells.pivot(index="row", columns="column", values="published")
    return table.loc[cells["row"].unique(), cells["column"].unique()].rename_axis(columns=None)


def load_lists() -> pd.DataFrame:
    """Load word-overlap scores from the code of Judge the Judges, with a row per generator."""
    from nlgbench.study import csv_files

    lists, _ = csv_files.parse(published_dir() / "judge_the_judges_lists.csv")
    return lists.set_index("row").astype("float64")


def cite(study: str) -> str:
    """Cite the authors who released a study; a study that is not public is cited by its name."""
    return next((who for name, (_, who) in _STUDIES.items() if study.startswith(name)), study)


def study_title(study: str) -> str:
    """Write a public study's name as people do; names of other studies stay as they are.

    >>> study_title("llmbar-natural"), study_title("my-pilot")
    ('LLMBar (natural)', 'my-pilot')
    """
    for name, (title, _) in _STUDIES.items():
        if study.startswith(name):
            rest = study.removeprefix(name).strip("-").replace("_", " ")
            return f"{title} ({rest})" if rest else title
    return study
