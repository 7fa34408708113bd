"""Degrees of reproduction: how close recomputed numbers are to published ones."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.special import gammaln

from nlgbench.arrays import Floats
from nlgbench.datasets.published import load_claims
from nlgbench.status import explain, first_status
from nlgbench.study import schema
from nlgbench.study.checks import checked

#: What can become of a published number, from the best outcome.
OUTCOMES = (
    "recomputed and equal",
    "derived from other published numbers",
    "differs",
    "not recomputable",
)
_NEW = "Only values from other data, training or parameters are available."


def cv_star(values: ArrayLike) -> Floats:
    """Compute CV*, the small-sample coefficient of variation of repeated measurements.

    `values`, of shape (n_values,) or (n_sets, n_values), are on a scale that starts at 0. The
    result is in percent: 0 if all values are equal, NaN where one is missing or not above 0.

    ``CV* = (1 + 1 / (4 n)) s / c4(n) / mean * 100``, with s the standard deviation (ddof 1) and
    ``c4(n) = sqrt(2 / (n - 1)) Gamma(n / 2) / Gamma((n - 1) / 2)`` (Belz, Popovic and Mille 2022,
    doi:10.18653/v1/2022.acl-long.2; Belz 2022, doi:10.1162/coli_a_00448). Their Table 4:

    >>> cv_star([84.51, 84.50, 87.46, 85.60, 84.20, 86.61, 86.20]).round(2).item()
    1.56
    """
    sets = np.asarray(values, dtype=np.float64)
    n = sets.shape[-1]
    if n < 2:
        raise ValueError(f"values must contain at least two measurements. Got {n}.")
    positive = sets.min(axis=-1) > 0
    above = np.where(sets > 0, sets, 1.0)
    c4 = np.sqrt(2 / (n - 1)) * np.exp(gammaln(n / 2) - gammaln((n - 1) / 2))
    ratio = above.std(axis=-1, ddof=1) / above.mean(axis=-1)
    return np.where(positive, 100 * (1 + 1 / (4 * n)) * ratio / c4, np.nan)


@checked
def reproduction(ledger: pd.DataFrame) -> pd.DataFrame:
    """Compare the recomputed values of a ledger with the published ones, by CV*.

    Parameters
    ----------
    ledger : DataFrame
        Rows of a ledger (``ledger.csv`` of a run, or the result of `nlgbench.check_claims`) with
        columns claim_id, published, recomputed, verdict and source, and optionally variant, ci_low,
        ci_high, tolerance and reason. Rows without a published number are excluded.

    Returns
    -------
    DataFrame
        A row for each published number and variant: paper, where (table or section), claim_id,
        variant, source (``published``: derived from other published numbers), kind (``number``;
        ``label``: a star; ``bound``: a bound on p; ``finding``: a sentence without a number), unit,
        published, recomputed, ci_low, ci_high (of recomputed), verdict, scale_start (subtracted
        before CV* is computed), cv_star (percent; lower is better), status (a code; ``ok``), reason
        (that of the ledger, and why CV* is undefined).

    Raises
    ------
    ValueError
        When a column is missing or invalid, or a claim occurs twice with the same variant.

    Notes
    -----
    CV* needs a scale that starts at 0, so 1 is added to signed correlations and kappas, and
    subtracted from ratings that start at 1. It is undefined for log-probabilities, stars, bounds
    and findings (Belz 2025, QRA++, arXiv:2505.17043). An unknown scale is assumed to start at 0.

    Examples
    --------
    >>> ids = [f"huse/table1/summarization_t1.0/{name}" for name in ("huse", "huse_q", "huse_d")]
    >>> ledger = pd.DataFrame({"claim_id": ids, "published": [0.53, 0.58, 0.95]})
    >>> ledger = ledger.assign(recomputed=[0.528, 0.581, 0.99], source="released")
    >>> ledger["verdict"] = ["matches", "matches", "differs"]
    >>> reproduction(ledger)["cv_star"].round(2).tolist()
    [0.38, 0.17, 4.11]
    """
    rows = ledger.reindex(columns=schema.columns("ledger"))
    texts = rows[["variant", "reason"]].astype("str").fillna("")
    rows = rows.assign(variant=texts["variant"], reason=texts["reason"])
    rows = schema.check(rows, "ledger", source="ledger")
    rows = rows[rows["published"].notna()].reset_index(drop=True)
    # The paper or study, and the table or section if the id continues after it.
    source_parts = rows["claim_id"].str.extract("^(study/[^/]+|[^/]+)(?:/([^/]+)/)?").fillna("")
    unit = rows["claim_id"].map(load_claims().set_index("claim_id")["unit"]).fillna("")
    kind = pd.Series("number", rows.index)
    kind = kind.mask(unit.str.contains("bound"), "bound")
    kind = kind.mask(unit.str.contains("printed with a star"), "label")
    kind = kind.mask(source_parts[1] == "direction", "finding")
    number = kind == "number"
    start = unit.map(_scale_start).astype(float).where(number)
    pairs = rows[["published", "recomputed"]].sub(start, axis=0)
    estimate = pd.Series(cv_star(pairs), rows.index).round(12)  # removes rounding errors from 0
    recomputed = rows["recomputed"].notna()
    why = first_status(
        len(rows),
        (~recomputed & (rows["reason"] == ""), explain("not_recomputed")),
        (recomputed & ~number, [explain("no_cv_star", kind=name) for name in kind]),
        (recomputed & start.isna(), explain("no_zero_point")),
        (recomputed & estimate.isna(), explain("below_start")),
        (recomputed & (unit == ""), explain("unknown_unit")),
    )
    codes = pd.Series([status.code for status in why], rows.index, dtype="str")
    codes = codes.mask(codes.eq("ok") & rows["reason"].ne(""), "ledger")
    notes = pd.Series([status.reason for status in why], rows.index, dtype="str")
    columns = ["published", "recomputed", "ci_low", "ci_high", "verdict"]
    return pd.DataFrame(
        {
            "paper": source_parts[0],
            "where": source_parts[1],
            **{name: rows[name] for name in ("claim_id", "variant", "source")},
            "kind": kind,
            "unit": unit,
            **{name: rows[name] for name in columns},
            "scale_start": start,
            "cv_star": estimate,
            "status": codes,
            "reason": (rows["reason"] + "; " + notes).str.strip("; "),
        }
    )


def number_outcomes(ledger: pd.DataFrame) -> pd.DataFrame:
    """Return each published number's outcome: claim_id, paper, outcome, reason.

    A number with several rows counts once, by its best row. Findings without a number are omitted,
    and so are numbers whose data a run on other data did not use (``attrs["left_out"]``).
    """
    rows = reproduction(ledger)
    rows = rows[rows["kind"] != "finding"]
    of_study = rows["paper"].str.startswith("study/")
    unused = rows["source"].isin(["simulated", "study"]) & ~of_study
    left_out = rows["claim_id"].nunique() - rows.loc[~unused, "claim_id"].nunique()
    rows = rows[~unused]
    equal, printed = rows["verdict"].eq("matches"), rows["source"].eq("published")
    rank = pd.Series(3, rows.index).mask(rows["verdict"].eq("differs"), 2)
    rank = rank.mask(equal & printed, 1).mask(equal & ~printed, 0)
    # A value from other data does not explain why the published number is missing.
    missing = rows["claim_id"].map(load_claims().set_index("claim_id")["unavailable"])
    missing = missing.fillna("").replace("", _NEW)
    reason = rows["reason"].where(rows["verdict"] == "not recomputable", missing)
    rows = rows.assign(rank=rank, reason=reason.where(rank == 3, ""))
    best = rows.sort_values("rank", kind="stable").drop_duplicates("claim_id").sort_index()
    best["outcome"] = best["rank"].map(dict(enumerate(OUTCOMES))).astype("str")
    data = best[["claim_id", "paper", "outcome", "reason"]].reset_index(drop=True)
    data.attrs["left_out"] = left_out
    return data


def by_paper(reproduced: pd.DataFrame) -> pd.DataFrame:
    """Count the verdicts of a result of `reproduction` by paper and source, and add the median CV*.

    A claim has a row for each variant. The median leaves out values with the verdict ``new``, which
    were recomputed under conditions that differ from the paper's.
    """
    keys = ["paper", "source"]
    cv_star = reproduced["cv_star"].mask(reproduced["verdict"] == "new")
    groups = reproduced.assign(cv_star=cv_star).groupby(keys)
    verdicts = groups["verdict"].value_counts().unstack(fill_value=0)
    verdicts = verdicts.reindex(columns=list(schema.VERDICTS), fill_value=0)
    counts = groups["claim_id"].agg(claims="nunique", rows="size")
    medians = groups["cv_star"].agg(median_cv_star="median", n_cv_star="count")
    return counts.join([verdicts, medians]).reset_index()


def _scale_start(unit: str) -> float:
    """Return the number at which the scale of a unit starts; NaN for log-probabilities."""
    if "nats" in unit:
        return np.nan
    if unit.startswith(("correlation", "kappa")):
        return 0.0 if "magnitude" in unit or "absolute value" in unit else -1.0
    return 1.0 if unit.startswith("mean rating") or "1 to 5" in unit else 0.0
