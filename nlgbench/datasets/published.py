"""Numbers printed in the four papers: the claims, and the tables that they come from."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from nlgbench import csv_files, schema
from nlgbench.names import did_you_mean

_PACKAGE = Path(__file__).resolve().parents[1]

# A star or a p-value beside a printed number is a claim of its own; its column ends so.
_MARKS = ("_star", "_p")


def published_dir() -> Path:
    """Find the folder that holds the published numbers."""
    places = [_PACKAGE / "data" / "published", _PACKAGE.parent / "data" / "published"]
    for folder in places:
        if (folder / "claims.csv").is_file():
            return folder
    looked = " and ".join(str(folder) for folder in places)
    raise FileNotFoundError(
        f"claims.csv, the published numbers, was not found; looked in {looked}. Reinstall "
        "nlgbench, or restore data/published in the checkout: git checkout -- data/published"
    )


def load_claims(paper: str | None = None) -> pd.DataFrame:
    """Load the numbers printed in the four papers, each with unit, tolerance and owner.

    Parameters
    ----------
    paper : {"huse", "comm-eval", "judge-the-judges", "learning-to-compare"}, optional
        One paper only; by default all four.

    Returns
    -------
    DataFrame
        The ``claims`` table, in printed order: ``claim_id`` (``paper/where/row/column``),
        ``paper``, ``where`` (``table1``, ``section5.2``, ...), ``quantity`` (in words), ``unit``,
        ``published`` (float, in the paper's own scale), ``tolerance`` (largest absolute
        difference that is still the same number), ``notebook`` (its owner) and ``unavailable``
        (why no released data can speak to it; empty where they, or printed tables, can).

    Raises
    ------
    ValueError
        If there is no such paper.
    FileNotFoundError
        If the published numbers are not where they should be.

    Notes
    -----
    Sources: HUSE (Hashimoto, Zhang, Liang 2019, doi:10.18653/v1/N19-1169); Communication-based
    Evaluation (Newman, Cohn-Gordon, Potts 2020, Proceedings of SCiL 3, article 24); Judge the
    Judges (Garbacea, Carton, Yan, Mei 2019, doi:10.18653/v1/D19-1409); Learning to Compare (Zhou,
    Xu 2020, doi:10.1609/aaai.v34i05.6521). Conventions are in ``data/published/README.md``.

    Examples
    --------
    >>> claims = load_claims("huse").set_index("claim_id")
    >>> float(claims.loc["huse/table1/summarization_t1.0/huse_q", "published"])
    0.58
    """
    claims = schema.read(published_dir() / "claims.csv", "claims")
    if paper is None:
        return claims
    papers = claims["paper"].unique()
    if paper not in papers:
        raise ValueError(_unknown("paper", paper, papers))
    return claims[claims["paper"] == paper].reset_index(drop=True)


def load_printed(where: str, *, marks: bool = False) -> pd.DataFrame:
    """Load one printed table, laid out as the paper prints it.

    Parameters
    ----------
    where : str
        Paper and place, such as ``"huse/table1"`` or ``"judge-the-judges/figure2"``.
    marks : bool, default False
        Add what is printed beside a number: a star (columns ``..._star``, 1 or 0) and the upper
        bound of a p-value (columns ``..._p``).

    Returns
    -------
    DataFrame
        One row per printed row and one float column per printed column, both in printed order.
        The index ``row`` and the columns are the last two parts of the claims' ids; a cell that
        the paper leaves empty is NaN.

    Raises
    ------
    ValueError
        If no table is called so.

    Examples
    --------
    >>> load_printed("huse/table1").loc["lm_t1.0"].to_dict()
    {'huse': 0.86, 'huse_q': 0.88, 'huse_d': 1.02}
    >>> load_printed("judge-the-judges/table6", marks=True).shape
    (12, 12)
    """
    claims = load_claims()
    parts = claims["claim_id"].str.split("/", expand=True)
    place = claims["paper"] + "/" + claims["where"]
    # Directional claims (paper/direction/slug) say which of two is larger: no cell of a table.
    printed = claims["where"] != "direction"
    if where not in set(place[printed]):
        raise ValueError(_unknown("where", where, place[printed].unique()))
    here = place == where
    cells = pd.DataFrame(
        {
            "row": parts.loc[here, 2],
            "column": parts.loc[here, 3],
            "value": claims["published"][here],
        }
    )
    if not marks:
        cells = cells[~cells["column"].str.endswith(_MARKS)]
    columns = {
        name: cell.set_index("row")["value"] for name, cell in cells.groupby("column", sort=False)
    }
    return pd.DataFrame(columns).loc[cells["row"].unique()].rename_axis("row")


def load_lists() -> pd.DataFrame:
    """Load the word-overlap scores that the code of Judge the Judges holds as lists of numbers.

    Returns
    -------
    DataFrame
        One row per generator, indexed ``row`` as in `load_printed`; higher scores are better.
        ``bleu_top10`` and ``rouge_top10``: against the ten nearest human-written reviews;
        ``bleu_all`` and ``rouge_all``: against all of them; ``bleu_majority``,
        ``rouge_majority``, ``meteor_majority`` and ``cider_majority``: on the annotated reviews,
        with the annotators' majority in place of the natural labels.

    Raises
    ------
    FileNotFoundError
        If the published numbers are not where they should be.

    Notes
    -----
    Source: Crista23/JudgeTheJudges on GitHub; which file holds which list stands in
    ``data/published/README.md``.

    Examples
    --------
    >>> load_lists().loc["google_lm", ["bleu_top10", "bleu_all"]].to_dict()
    {'bleu_top10': 0.0907, 'bleu_all': 0.4512}
    """
    lists, _ = csv_files.parse(published_dir() / "judge_the_judges_lists.csv")
    return lists.set_index("row").astype("float64")


def _unknown(name: str, value: str, choices: Iterable[str]) -> str:
    choices = list(choices)
    hint = did_you_mean(value, choices)
    return f"{name} must be one of {', '.join(choices)}; got {value!r}.{hint}"
