"""Degrees of reproduction: how near recomputed numbers come to the printed ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln
from scipy.stats import chi2, rankdata

from nlgbench.analysis.people.coefficients import coefficient_of
from nlgbench.crossed import jackknife_variance, t_interval
from nlgbench.datasets.published import load_claims
from nlgbench.inference import Floats
from nlgbench.reported import Reported, in_words
from nlgbench.study import schema
from nlgbench.study.checks import checked, read_table

#: Verdicts of values under the paper's own conditions, as far as it names them.
_ALIKE = ("matches", "differs", "same direction", "undecided")
#: What a set of numbers has, in the order of its columns.
DEGREES = ("pearson", "spearman", "alpha", "orders_upheld")
#: Fewest pairs of numbers that are correlated.
_LEAST = 3
_SAME = 1e-9
_CENSUS = "all findings are counted, none is drawn: no interval; its ends are for what is undecided"


@dataclass(frozen=True, eq=False)
class Reproduction(Reported):
    """How near recomputed numbers come to printed ones: what `reproduction` found, as tables.

    Parameters
    ----------
    claims, sets, papers : DataFrame
        As `reproduction` says.
    report : DataFrame
        ``what`` and ``value``: what was compared, and how, in words.

    Examples
    --------
    >>> row = {"claim_id": "study/pilot/table1/bleu", "verdict": "matches", "source": "study"}
    >>> ledger = pd.DataFrame([row]).assign(variant="", published=0.41, recomputed=0.412)
    >>> isinstance(reproduction(ledger), Reproduction)
    True
    """

    claims: pd.DataFrame
    sets: pd.DataFrame
    papers: pd.DataFrame
    report: pd.DataFrame

    def _shown(self) -> pd.DataFrame:
        """Shorten the table of papers for reading."""
        names = [
            "paper",
            "source",
            "n_claims",
            "n_rows",
            "n_matches",
            "n_differs",
            "median_cv_star",
        ]
        names += ["n_findings", "n_upheld", "n_undecided", "findings_upheld"]
        return self.papers[names].round(3)


@checked
def cv_star(
    values: ArrayLike, *, scale_start: float = 0.0, confidence: float = 0.95
) -> pd.DataFrame:
    """Compute CV*, the small-sample coefficient of variation of repeated measurements.

    Parameters
    ----------
    values : array-like of shape (n_values,) or (n_sets, n_values)
        Measurements of one thing, or of a thing a row; NaN where one is missing.
    scale_start : float
        Where the measurements' scale begins: 1 for ratings of 1 to 5, -1 for correlations. It is
        taken off the values, which must be above it.
    confidence : float
        Coverage asked for, between 0 and 1.

    Returns
    -------
    DataFrame
        A row for each set: n (values), mean (of the values less `scale_start`), estimate (CV*, in
        percent; 0 where all values are equal; less is better), ci_low, ci_high (of the coefficient
        of variation that repeats would have, in percent), confidence, reason (why there is no
        estimate or interval, or why to doubt it).

    Raises
    ------
    ValueError
        When values are no numbers or infinite, or have more than two dimensions.

    Notes
    -----
    ``CV* = (1 + 1 / (4 n)) s / c4(n) / mean * 100`` with s the standard deviation (ddof 1) and
    ``c4(n) = sqrt(2 / (n - 1)) Gamma(n / 2) / Gamma((n - 1) / 2)`` (Belz, Popovic and Mille 2022,
    doi:10.18653/v1/2022.acl-long.2; Belz 2022, doi:10.1162/coli_a_00448). Both factors correct for
    small n, and each would do by itself: of normal values CV* is too large by 1 / (4 n), one eighth
    at n = 2 (measured in benchmarks/README.md). Of two values it is .997 of their difference in
    percent of their mean.

    The interval is Vangel's (1996, doi:10.1080/00031305.1996.10473537), for normal values:
    ``K / sqrt(((u + 2) / n - 1) K^2 + u / (n - 1))`` with K = s / mean and u the quantiles of chi
    squared with n - 1 degrees of freedom. It is about repeats that vary as these do: two values
    hardly say how much that is.

    Examples
    --------
    Seven repeats of one system's BLEU (Belz, Popovic and Mille 2022, Table 4):

    >>> table = cv_star([84.51, 84.50, 87.46, 85.60, 84.20, 86.61, 86.20])
    >>> table[["estimate", "ci_low", "ci_high"]].round(2).to_numpy().tolist()
    [[1.56, 0.93, 3.19]]
    """
    try:
        sets = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            "values must be numbers: repeats of a measurement, or rows of them."
        ) from None
    if np.isinf(sets).any():
        raise ValueError("values must be finite, or NaN where one is missing. One is infinite.")
    if sets.ndim not in (1, 2):
        raise ValueError(
            f"values must be one set of numbers, or a set a row. Got {sets.ndim} dimensions."
        )
    return _cv_star(np.atleast_2d(sets) - scale_start, confidence)


def _cv_star(sets: Floats, confidence: float) -> pd.DataFrame:
    """Compute CV* of each row of values above the scale's start, NaN where one is missing."""
    there = np.isfinite(sets)
    n = there.sum(axis=1)
    positive = (np.where(there, sets, 1.0) > 0).all(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(there, sets, 0.0).sum(axis=1) / n
        away = np.where(there, sets - mean[:, None], 0.0)
        spread = np.sqrt((away**2).sum(axis=1) / (n - 1))
        spread = np.where(spread > 1e-12 * np.abs(mean), spread, 0.0)
        ratio = np.where(positive & (n > 1), spread / mean, np.nan)
        c4 = np.sqrt(2 / (n - 1)) * np.exp(gammaln(n / 2) - gammaln((n - 1) / 2))
        estimate = (1 + 1 / (4 * n)) * ratio / c4
        tail = (1 - confidence) / 2
        quantiles = [chi2.ppf(share, n - 1) for share in (1 - tail, tail)]
        inner = [((u + 2) / n - 1) * ratio**2 + u / (n - 1) for u in quantiles]
        ends = [np.where((one > 0) & (ratio > 0), ratio / np.sqrt(one), np.nan) for one in inner]
        factor = np.sqrt(quantiles[0] / quantiles[1])
    reason = np.select(
        [
            n < 2,
            ~positive,
            ratio == 0,
            np.isnan(ends[1]),
            n == 2,
        ],
        [
            "fewer than two values: no spread",
            "a value is not above the start of the scale: the ratio is undefined",
            "equal values: no interval, their spread is below what they are given to",
            "no upper end: values spread too far for so few",
            [f"two values: the interval's ends are a factor of {one:.0f} apart" for one in factor],
        ],
        default="",
    )
    return pd.DataFrame(
        {
            "n": n,
            "mean": mean,
            "estimate": 100 * estimate,
            "ci_low": 100 * ends[0],
            "ci_high": 100 * ends[1],
            "confidence": confidence,
            "reason": reason.astype(object),
        }
    ).astype({"reason": "str"})


@checked
def reproduction(
    ledger: pd.DataFrame,
    *,
    claims: pd.DataFrame | None = None,
    confidence: float = 0.95,
) -> Reproduction:
    """Say how near the recomputed values of a ledger come to the printed ones.

    Parameters
    ----------
    ledger : DataFrame
        Rows of a ledger (``ledger.csv`` of a run, or what `nlgbench.check_claims` gives): claim_id,
        variant, published, recomputed, verdict, source; where they are there, ci_low, ci_high,
        tolerance and reason. A claim stands once under each variant. Rows without a printed number
        are left out: they reproduce nothing.
    claims : DataFrame, optional
        What kind of numbers they are: claim_id and unit. Default: those of the five papers. The
        scale of claims that are not in it (one's own) is taken to begin at 0, and that is said.
    confidence : float
        Coverage asked for, between 0 and 1.

    Returns
    -------
    Reproduction
        Three tables and a report.

        - ``claims``: a row for each printed number and variant: paper, where (table or section),
          claim_id, variant, source (``published``: follows from printed numbers alone), alike
          (False: recomputed under conditions that are not the paper's, which the reason names),
          kind (``number``; ``label``: a star; ``bound`` of a p-value; ``finding``: a sentence
          without a number), unit, published, recomputed, ci_low, ci_high (of recomputed),
          tolerance, verdict, scale_start (taken off before CV*), cv_star (percent; less is better),
          cv_star_low, cv_star_high, reason.
        - ``sets``: a row for each table or section, unit, source, variant and alike: n (pairs of
          numbers), n_rows (rows of the printed table), n_matches, n_differs; pearson, spearman,
          alpha (Krippendorff's: of interval data; of nominal data for stars, see ``metric``) and
          orders_upheld (0 to 1: pairs in a printed column whose order is the printed one), each
          with ``_low``, ``_high`` and ``_reason``; n_orders, median_cv_star, n_cv_star,
          n_cv_undefined.
        - ``papers``: a row for each paper and source: n_claims (printed numbers and findings with
          a row), n_rows (a claim has one under each variant), and of these rows
          n_not_recomputable, n_not_alike (left out of what follows), n_matches, n_differs,
          median_cv_star, n_cv_star, n_cv_undefined; n_findings (claims put to the data; upheld
          where all of a claim's variants are, not upheld where any differs, else undecided),
          n_upheld, n_not_upheld, n_undecided, findings_upheld (share, 0 to 1, of those decided),
          upheld_low, upheld_high (were all undecided ones not upheld, or all upheld), reason.

    Raises
    ------
    ValueError
        When a column is missing or holds what it may not, or a claim stands twice under a variant.

    Notes
    -----
    What is quantified for which kind of result follows Belz (2025, QRA++, arXiv:2505.17043): CV*
    for a single number, correlations for a set of numbers, Krippendorff's alpha for labels, the
    share upheld for findings. Alpha of numbers (interval data, two observers: the print and the
    recomputation) is added: unlike a correlation it sees a shift. CV* needs a scale that starts
    at 0, so that 1 is added to correlations and kappas, 1 is taken off ratings that begin at 1;
    log-probabilities, stars, bounds and findings have none.

    Intervals of a set's degrees are by a jackknife over rows of the printed table (t, not clipped),
    whose cells share a system: they say how far the degree hangs on single rows. Medians and shares
    over a paper are counted, not drawn, and have no interval.

    Examples
    --------
    >>> ids = [f"huse/table1/summarization_t1.0/{name}" for name in ("huse", "huse_q", "huse_d")]
    >>> ledger = pd.DataFrame({"claim_id": ids, "published": [0.53, 0.58, 0.95]})
    >>> ledger = ledger.assign(recomputed=[0.528, 0.581, 0.99], variant="", source="released")
    >>> ledger["verdict"] = ["matches", "matches", "differs"]
    >>> found = reproduction(ledger)
    >>> found.claims["cv_star"].round(2).tolist()
    [0.38, 0.17, 4.11]
    >>> found.papers[["n_matches", "n_differs"]].to_numpy().tolist()
    [[2, 1]]
    """
    rows = _read(ledger)
    known = (
        load_claims()
        if claims is None
        else read_table(claims, "claim_id:text unit:text", "claims have")
    )
    by_claim = _of_claims(rows[rows["published"].notna()], known, confidence)
    whole = by_claim[by_claim["recomputed"].notna() | by_claim["kind"].eq("finding")]
    sets = _of_sets(whole[whole["kind"].isin(["number", "label"])], confidence)
    papers = _of_papers(by_claim)
    n_undefined = int((whole["kind"].eq("number") & whole["cv_star"].isna()).sum())
    report = [
        ("compared", f"{int(whole['recomputed'].notna().sum())} values with what is printed"),
        ("CV* undefined", f"{n_undefined} of {int(whole['kind'].eq('number').sum())} numbers"),
        ("other conditions than the paper's", f"{int((~whole['alike']).sum())} values"),
        ("intervals of sets", f"jackknife over rows of the printed table, {confidence:.0%}"),
    ]
    return Reproduction(by_claim, sets, papers, in_words(report))


def _read(ledger: pd.DataFrame) -> pd.DataFrame:
    """Check the rows of a ledger; fill in what may be left out."""
    columns = (
        "claim_id:text variant:text? published:number recomputed:number verdict:text source:text "
    )
    columns += "ci_low:number? ci_high:number? tolerance:number? reason:text?"
    rows = ledger
    for name in ("variant", "reason"):
        rows = rows.assign(**{name: rows[name].fillna("") if name in rows else ""})
    for name in ("ci_low", "ci_high", "tolerance"):
        rows = rows if name in rows else rows.assign(**{name: np.nan})
    # A ledger without a row has columns of no type.
    if len(rows) or not {"claim_id", "published", "recomputed", "verdict", "source"} <= set(rows):
        rows = read_table(rows, columns, "ledger has")
    if len(unknown := sorted(set(rows["verdict"]) - set(schema.VERDICTS))):
        raise ValueError(
            f"ledger has a verdict {unknown[0]!r}: there are {', '.join(schema.VERDICTS)}."
        )
    twice = rows[rows.duplicated(["claim_id", "variant"])]
    if len(twice):
        raise ValueError(
            f"ledger has two rows for {twice['claim_id'].iloc[0]!r}, variant "
            f"{twice['variant'].iloc[0]!r}: keep one run, or give the second a variant of its own."
        )
    return rows.reset_index(drop=True)


def _of_claims(rows: pd.DataFrame, known: pd.DataFrame, confidence: float) -> pd.DataFrame:
    """Put CV* beside each printed number."""
    parts = rows["claim_id"].str.split("/")
    own = parts.str[0].eq("study")
    n_first = own.astype(int) + 1
    paper = ["/".join(part[:n]) for part, n in zip(parts, n_first, strict=True)]
    where = [part[n] if len(part) > n + 1 else "" for part, n in zip(parts, n_first, strict=True)]
    unit = rows["claim_id"].map(known.drop_duplicates("claim_id").set_index("claim_id")["unit"])
    unit = unit.fillna("").astype("str")
    table = pd.DataFrame(
        {
            "paper": paper,
            "where": where,
            "claim_id": rows["claim_id"].to_numpy(),
            "variant": rows["variant"].to_numpy(),
            "source": rows["source"].to_numpy(),
            "alike": rows["verdict"].isin(_ALIKE).to_numpy(),
            "kind": [_kind(*one) for one in zip(where, unit, strict=True)],
            "unit": unit.to_numpy(),
        }
    )
    for name in ("published", "recomputed", "ci_low", "ci_high", "tolerance", "verdict"):
        table[name] = rows[name].to_numpy()
    table["scale_start"] = [
        _scale_start(one) if kind == "number" else np.nan
        for one, kind in zip(table["unit"], table["kind"], strict=True)
    ]
    pairs = table[["published", "recomputed"]].sub(table["scale_start"], axis=0).to_numpy()
    found = _cv_star(pairs.astype(np.float64), confidence)
    table["cv_star"] = found["estimate"]
    table["cv_star_low"], table["cv_star_high"] = found["ci_low"], found["ci_high"]
    table = table.astype({"where": "str", "kind": "str"})  # without a row they have no type
    number = table["kind"].eq("number")
    why = found["reason"].where(number, "a " + table["kind"] + " has no CV*")
    why = why.mask(number & table["unit"].str.contains("nats"), "log-probabilities have no zero")
    assumed = table["unit"].eq("") & number & table["cv_star"].notna()
    why = why.mask(assumed, "its scale is taken to begin at 0, for lack of a unit; " + why)
    given = pd.Series(rows["reason"].to_numpy(), table.index)
    there = table["recomputed"].notna()
    table["reason"] = given.where(~there, (given + "; " + why).str.strip("; "))
    return table


def _kind(where: str, unit: str) -> str:
    """Say what kind of result a claim is."""
    if where == "direction":
        return "finding"
    if "printed with a star" in unit:
        return "label"
    return "bound" if "bound" in unit else "number"


def _scale_start(unit: str) -> float:
    """Say where the scale of a unit begins."""
    if "nats" in unit:
        return np.nan
    if unit.startswith(("correlation", "kappa")):
        return 0.0 if "magnitude" in unit or "absolute value" in unit else -1.0
    return 1.0 if unit.startswith("mean rating") or "1 to 5" in unit else 0.0


def _of_sets(numbers: pd.DataFrame, confidence: float) -> pd.DataFrame:
    """Compute the degrees of each set of numbers or labels."""
    keys = ["paper", "where", "kind", "unit", "source", "variant", "alike"]
    made = []
    for key, one in numbers.groupby(keys, sort=False):
        row: dict[str, Any] = dict(zip(keys, key, strict=True)) | _of_set(one, confidence)
        made.append(row)
    columns = [*keys, "n", "n_rows", "n_matches", "n_differs", "metric"]
    columns += [f"{name}{end}" for name in DEGREES for end in ("", "_low", "_high", "_reason")]
    columns += ["n_orders", "median_cv_star", "n_cv_star", "n_cv_undefined"]
    return pd.DataFrame(made, columns=columns)


def _of_set(one: pd.DataFrame, confidence: float) -> dict[str, Any]:
    """Compute the degrees of one set."""
    label = one["kind"].iloc[0] == "label"
    x, y = one["published"].to_numpy(), one["recomputed"].to_numpy()
    parts = one["claim_id"].str.split("/").str
    # Cells of a row share a system; two parts after the table are a row and a column.
    table_row = pd.factorize(one["claim_id"].str.rpartition("/")[0])[0]
    column = pd.factorize(parts[-1])[0]
    first, second = _ordered_pairs(x, column)
    alike = np.sign(x[first] - x[second]) == np.sign(
        np.where(np.abs(y[first] - y[second]) > _SAME, y[first] - y[second], 0.0)
    )
    found: dict[str, Any] = {
        "n": len(one),
        "n_rows": len(np.unique(table_row)),
        "n_matches": int(one["verdict"].eq("matches").sum()),
        "n_differs": int(one["verdict"].eq("differs").sum()),
        "metric": "nominal" if label else "interval",
        "n_orders": len(first),
        "median_cv_star": _median(one["cv_star"]),
        "n_cv_star": int(one["cv_star"].notna().sum()),
        "n_cv_undefined": 0 if label else int(one["cv_star"].isna().sum()),
    }
    statistics: dict[str, Callable[[NDArray[np.bool_]], float]] = {
        "pearson": lambda kept: _correlation(x[kept], y[kept]),
        "spearman": lambda kept: _correlation(rankdata(x[kept]), rankdata(y[kept])),
        "alpha": lambda kept: _alpha(x[kept], y[kept], nominal=label),
        "orders_upheld": lambda kept: _mean(alike[kept[first] & kept[second]]),
    }
    everything = np.ones(len(one), dtype=bool)
    for name, statistic in statistics.items():
        if label and name != "alpha":
            ends: dict[str, Any] = {"estimate": np.nan, "ci_low": np.nan, "ci_high": np.nan}
            ends["reason"] = "labels have no order"
        else:
            without = [statistic(table_row != row) for row in range(found["n_rows"])]
            error = np.sqrt(jackknife_variance(np.array(without)))
            ends = t_interval(statistic(everything), error, len(without), confidence=confidence)
        if np.isnan(ends["estimate"]) and not label:
            ends["reason"] = _why_none(name, x, y)
        found[name] = ends["estimate"]
        found[f"{name}_low"], found[f"{name}_high"] = ends["ci_low"], ends["ci_high"]
        found[f"{name}_reason"] = str(ends["reason"]).replace("cluster", "row")
    return found


def _why_none(name: str, x: Floats, y: Floats) -> str:
    """Say why a set has no degree of a kind."""
    if name == "orders_upheld":
        return "no two different printed numbers in a column"
    if len(x) < _LEAST:
        return f"fewer than {_LEAST} numbers"
    which = "printed" if np.ptp(x) <= _SAME else "recomputed"
    return f"no variation: all {which} numbers are equal"


def _ordered_pairs(x: Floats, column: NDArray[np.int64]) -> tuple[Any, Any]:
    """Find the pairs of rows in a printed column whose numbers differ."""
    found = [
        pair
        for one in np.unique(column)
        for pair in combinations(np.flatnonzero(column == one), 2)
        if abs(x[pair[0]] - x[pair[1]]) > _SAME
    ]
    pairs = np.array(found, dtype=np.int64).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 1]


def _correlation(x: Floats, y: Floats) -> float:
    """Give Pearson's correlation, NaN for fewer than three pairs or without variation."""
    if len(x) < _LEAST or np.ptp(x) <= _SAME or np.ptp(y) <= _SAME:
        return float("nan")
    return float(np.corrcoef(x, y)[0, 1])


def _alpha(x: Floats, y: Floats, *, nominal: bool) -> float:
    """Give Krippendorff's alpha of the print and the recomputation; of one pair it says nothing."""
    if len(x) < _LEAST:
        return float("nan")
    metric: Literal["nominal", "interval"] = "nominal" if nominal else "interval"
    unit = np.tile(np.arange(len(x)), 2)
    return coefficient_of("krippendorff_alpha", np.append(x, y), unit, metric)


def _mean(values: NDArray[Any]) -> float:
    return float(values.mean()) if len(values) else float("nan")


def _median(values: pd.Series) -> float:
    return float(values.median()) if values.notna().any() else float("nan")


def _of_papers(table: pd.DataFrame) -> pd.DataFrame:
    """Count what was upheld, by paper and source."""
    made = []
    for (paper, source), one in table.groupby(["paper", "source"], sort=False):
        put = one[one["verdict"].ne("not recomputable") & one["alike"]]
        numbers = put[put["kind"].eq("number")]
        findings = put["kind"].eq("finding")
        verdicts = put.loc[~findings, "verdict"].value_counts()
        by_claim = [of for _, of in put[findings].groupby("claim_id")["verdict"]]
        n, n_upheld = len(by_claim), sum(bool(of.eq("same direction").all()) for of in by_claim)
        decided = n_upheld + sum(bool(of.eq("differs").any()) for of in by_claim)
        n_undecided = n - decided
        made.append(
            {
                "paper": paper,
                "source": source,
                "n_claims": one["claim_id"].nunique(),
                "n_rows": len(one),
                "n_not_recomputable": int(one["verdict"].eq("not recomputable").sum()),
                "n_not_alike": int(one["verdict"].eq("new").sum()),
                "n_matches": int(verdicts.get("matches", 0)),
                "n_differs": int(verdicts.get("differs", 0)),
                "median_cv_star": _median(numbers["cv_star"]),
                "n_cv_star": int(numbers["cv_star"].notna().sum()),
                "n_cv_undefined": int(numbers["cv_star"].isna().sum()),
                "n_findings": n,
                "n_upheld": n_upheld,
                "n_not_upheld": decided - n_upheld,
                "n_undecided": n_undecided,
                "findings_upheld": n_upheld / decided if decided else np.nan,
                "upheld_low": n_upheld / n if n else np.nan,
                "upheld_high": (n_upheld + n_undecided) / n if n else np.nan,
                "reason": _CENSUS if decided else "no finding was decided by the data",
            }
        )
    columns = "paper source n_claims n_rows n_not_recomputable n_not_alike n_matches n_differs "
    columns += "median_cv_star n_cv_star n_cv_undefined n_findings n_upheld n_not_upheld "
    columns += "n_undecided findings_upheld upheld_low upheld_high reason"
    return pd.DataFrame(made, columns=columns.split())
