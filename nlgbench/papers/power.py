"""Card et al. (2020), doi:10.18653/v1/2020.emnlp-main.745: answers to its claims.

Figure 6 shows the power of comparing two systems by Likert judgments, in settings with high and
low variance; the numbers are in the authors' repository (dallascard/NLP-power-analysis). They
are simulated from the printed variances, in the paper and here.

The paper codes systems as -1 and 1, so its coefficient is half the difference between systems;
standard deviations of items' and workers' slopes are on the same scale.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import norm

from nlgbench.analysis.planning.power import power_of
from nlgbench.arrays import Floats
from nlgbench.datasets.published import load_claims
from nlgbench.papers.claim_rows import claim_rows

#: Setting -> standard deviations of slopes over items and over workers, and of the residual.
SETTINGS = {"high_variance": (0.14, 0.11, 0.26), "low_variance": (0.13, 0.04, 0.16)}
#: The paper's critical value of t, for any number of workers.
LIMIT = 1.96

COUNTED = "t > 1.96 of maximum likelihood"
KNOWN = "known variances, z > 1.96"
PLANNED = "planned, t with min(items, workers) - 1"


def figure6(*, n_worlds: int = 10_000, seed: int = 0) -> pd.DataFrame:
    """Compute the power of each printed cell, and the type I error of the same test.

    ``claim_id``, ``setting``, ``n_items``, ``n_workers``, ``difference`` and ``published`` (both as
    printed), ``tolerance`` (for a match), ``known`` (z test with known variances), ``counted`` (the
    paper's test), ``planned`` (`plan_study`), ``level`` (type I error of the paper's test,
    |t| > 1.96).
    """
    claims = load_claims("power")
    conditions = claims["claim_id"].str.extract(
        r"/(?P<setting>\w+_variance)_(?P<n_items>\d+)_items_(?P<n_workers>\d+)_workers/"
        r"difference_(?P<difference>[\d.]+)"
    )
    table = claims[["claim_id", "published", "tolerance"]].join(conditions)
    table = table.astype({"n_items": int, "n_workers": int, "difference": float})
    rng = np.random.default_rng(seed)
    cells = table.groupby(["setting", "n_items", "n_workers"], sort=False)
    key: Any
    for key, rows in cells:
        setting, n_items, n_workers = key
        item, worker, residual = (sd**2 for sd in SETTINGS[setting])
        variance = item / n_items + worker / n_workers + residual / (2 * n_items * n_workers)
        se_known = np.sqrt(variance)
        off, se = _simulate_studies(setting, n_items, n_workers, n_worlds, rng)
        beta = rows["difference"].to_numpy()
        t = (beta[:, None] + off) / se
        table.loc[rows.index, "counted"] = (t > LIMIT).mean(axis=1)
        table.loc[rows.index, "level"] = (np.abs(off / se) > LIMIT).mean()
        table.loc[rows.index, "known"] = norm.sf(LIMIT - beta / se_known)
        df = min(n_items, n_workers) - 1
        table.loc[rows.index, "planned"] = power_of(beta, se_known, df, 0.05)
    return table


def answers(table: pd.DataFrame) -> pd.DataFrame:
    """Convert `figure6` to rows of the ledger: power of three tests, and the paper's level."""
    few = (
        "With " + table["n_workers"].astype(str) + " workers, maximum likelihood underestimates "
        "their variance, so |t| exceeds 1.96 too often even if systems do not differ. This is the "
        "power with known variances."
    )
    table = table.assign(few=few.where(table["n_workers"] < 10, "Power with known variances."))
    counted = (
        "Mixed model by maximum likelihood; without a difference, |t| exceeds 1.96 in {level:.3f} "
        "of studies instead of .05. The coefficient is half the systems' difference."
    )
    planned = "A test of level .05, as in compare_systems."
    note = "How often |t| exceeds 1.96 if systems do not differ."
    first = table.drop_duplicates(["setting", "n_items", "n_workers"])
    first = first.assign(cell=first["claim_id"].str.split("/").str[2])
    level = claim_rows(
        first, "power/finding/level/{cell}", value="level", variant=COUNTED, reason=note
    )
    ways = (
        ("counted", COUNTED, counted, True),
        ("known", KNOWN, "{few}", True),
        ("planned", PLANNED, planned, False),
    )
    rows = [
        claim_rows(table, "{claim_id}", value=way, variant=name, reason=why, comparable=same)
        for way, name, why, same in ways
    ]
    return pd.concat([*rows, level], ignore_index=True).assign(source="published")


def _simulate_studies(
    setting: str, i: int, a: int, n: int, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Simulate n studies of i items and a workers: errors and standard errors of the coefficient.

    In a crossed design, sums of squares of slopes over workers, items and residuals are independent
    chi-squares scaled by expected mean squares; residuals also include those of intercepts.
    """
    item, worker, residual = (sd**2 for sd in SETTINGS[setting])
    e = residual / 2
    expected = np.array([e + i * worker, e + a * item, e])
    degrees = np.array([a - 1, i - 1, 2 * (a - 1) * (i - 1)])
    sums = expected[:, None] * rng.chisquare(degrees[:, None], (3, n))
    off = rng.normal(0, np.sqrt((expected[0] + expected[1] - e) / (i * a)), n)
    of_mean = _maximize_likelihood(sums, degrees)
    return off, np.sqrt(of_mean / (i * a))


def _maximize_likelihood(sums: Floats, degrees: Floats) -> Floats:
    """Estimate the mean's expected square by maximum likelihood, with workers' variance >= 0.

    Alternates between mean squares, because the equation of each is quadratic given the other:
    ``(d + 1) l^2 + (d c - S) l - S c = 0``; c is what the other adds to the mean's expected square.
    """
    (of_workers, of_items, of_rest), (d_workers, d_items, d_rest) = sums, degrees
    residual = of_rest / d_rest
    workers, items = of_workers / (d_workers + 1), of_items / (d_items + 1)
    for _ in range(50):
        workers = _solve_quadratic(of_workers, d_workers, items - residual)
        items = _solve_quadratic(of_items, d_items, workers - residual)
    pooled = (of_rest + of_workers) / (d_rest + d_workers)
    without = np.maximum(of_items / (d_items + 1), pooled)
    return np.where(workers > residual, workers + items - residual, without)


def _solve_quadratic(total: Floats, degrees: float, addend: Floats) -> Floats:
    b = degrees * addend - total
    inside = np.maximum(b**2 + 4 * (degrees + 1) * total * addend, 0)
    return np.asarray((np.sqrt(inside) - b) / (2 * (degrees + 1)))
