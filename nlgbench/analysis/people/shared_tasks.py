"""How shared tasks rank systems: their rules, by name."""

from __future__ import annotations

from itertools import pairwise
from typing import Literal

import numpy as np
import pandas as pd
from scipy.stats import mannwhitneyu, rankdata, ranksums

from nlgbench.analysis.people.additive import Ints
from nlgbench.analysis.people.comparing import clusters_of, judged_systems
from nlgbench.inference import Floats
from nlgbench.study import Study
from nlgbench.study.checks import checked
from nlgbench.text import check_n

Rule = Literal["wmt", "webnlg", "e2e"]
_LEVEL = 0.05


@checked
def rank_systems(
    study: Study,
    *,
    rule: Rule,
    dimension: str | None = None,
    include_human: bool = False,
    n_resamples: int = 1000,
    seed: int | np.random.Generator = 0,
) -> pd.DataFrame:
    """Rank systems as a shared task did, to set one's own beside its table.

    Parameters
    ----------
    study : Study
        With judgments of at least two systems.
    rule : {"wmt", "webnlg", "e2e"}
        ``"wmt"``: direct assessment of the Conference on Machine Translation. A system beats
        another of lower mean z if the one-sided Wilcoxon rank-sum test of z-scores of the items
        that both have gives p < .05; a cluster ends where all before beat all after.
        ``"webnlg"``: WebNLG 2020. Down the mean z-scores, a system that is worse than an earlier
        one by the two-sided rank-sum test at p < .05 has the next rank after that one's.
        ``"e2e"``: items are drawn again; a system's range holds 95% of its ranks, and clusters are
        where ranges do not overlap. (The E2E challenge did so with TrueSkill ratings; here it is
        means.)
    dimension, include_human
        As in `compare_systems`.
    n_resamples : int
        Draws of items, for ``"e2e"``.
    seed : int or Generator
        Where the random numbers come from.

    Returns
    -------
    DataFrame
        The best first: system, label, score (mean over outputs of the mean z-score), rank,
        rank_low, rank_high, cluster, rule.

    Raises
    ------
    ValueError
        When fewer than two systems are judged, or the dimension is unknown.

    Notes
    -----
    z-scores are by annotator. ``"wmt"`` divides by the standard deviation with n - 1 and leaves
    out who gave one value; the others take n, and such judgments are 0. These rules take
    annotators as given and do not adjust for the number of pairs: `compare_systems` does both.
    WMT: Akhbardeh et al. (2021), aclanthology.org/2021.wmt-1.1; WebNLG: Castro Ferreira et al.
    (2020), aclanthology.org/2020.webnlg-1.7; E2E: Dusek, Novikova and Rieser (2020),
    doi:10.1016/j.csl.2019.06.009.

    Examples
    --------
    >>> import nlgbench as nb
    >>> study = nb.simulate("judgments", means=[2.0, 0.0, 0.1], seed=0)
    >>> rank_systems(study, rule="wmt")[["system", "rank_low", "rank_high", "cluster"]]
      system  rank_low  rank_high  cluster
    0    s01         1          1        1
    1    s03         2          3        2
    2    s02         2          3        2
    """
    check_n(n_resamples, "n_resamples")
    frame = judged_systems(study, study.dimension(dimension), include_human)
    values = _z_scores(frame, ddof=int(rule == "wmt"))
    outputs = values.dropna(subset="z").groupby(["item_id", "system"], sort=False)["z"].mean()
    table = outputs.unstack("system")[list(dict.fromkeys(frame["system"]))]
    score = table.mean().to_numpy()
    order = np.argsort(-score, kind="stable")
    z = table.to_numpy(dtype=np.float64)
    if rule == "wmt":
        found = _wmt(z, score, order)
    elif rule == "webnlg":
        found = _webnlg(z, order)
    else:
        found = _e2e(z, score, order, n_resamples, np.random.default_rng(seed))
    names = [str(name) for name in table.columns]
    made = pd.DataFrame({"system": names, "label": [*map(study.label, names)], "score": score})
    made = made.assign(**{name: values.astype(int) for name, values in found.items()}, rule=rule)
    return made.iloc[order].reset_index(drop=True)


def _z_scores(frame: pd.DataFrame, *, ddof: int) -> pd.DataFrame:
    """Standardize by annotator; who gave one value has none (ddof 1), or 0."""
    by = frame.groupby("annotator_id")["value"]
    spread = by.transform(lambda values: values.std(ddof=ddof))
    z = (frame["value"] - by.transform("mean")) / spread.where(spread > 0)
    return frame.assign(z=z if ddof else z.fillna(0.0))


def _wmt(z: Floats, score: Floats, order: Ints) -> dict[str, Floats]:
    k = len(score)
    better = np.zeros((k, k), dtype=bool)
    for one in range(k):
        for other in np.flatnonzero(score[one] > score):
            both = np.isfinite(z[:, one]) & np.isfinite(z[:, other])
            if both.any():
                test = mannwhitneyu(z[both, one], z[both, other], alternative="greater")
                better[one, other] = test.pvalue < _LEVEL
    return {
        "rank": rankdata(-score, method="min"),
        "rank_low": 1.0 + better.sum(axis=0),
        "rank_high": k - 1.0 * better.sum(axis=1),
        "cluster": clusters_of(order, better),
    }


def _webnlg(z: Floats, order: Ints) -> dict[str, Floats]:
    there = [z[np.isfinite(z[:, one]), one] for one in range(z.shape[1])]
    rank = np.ones(len(order))
    for place, one in enumerate(order):
        for before, other in pairwise(order[place:]):
            if ranksums(there[one], there[other]).pvalue < _LEVEL:
                rank[other] = rank[one] + 1
            else:
                rank[other] = max(rank[other], rank[before])
    return {"rank": rank, "rank_low": rank, "rank_high": rank, "cluster": rank}


def _e2e(
    z: Floats, score: Floats, order: Ints, n_resamples: int, rng: np.random.Generator
) -> dict[str, Floats]:
    n, there = len(z), np.isfinite(z)
    weight = rng.multinomial(n, np.full(n, 1 / n), size=n_resamples) * 1.0
    with np.errstate(invalid="ignore"):
        means = weight @ np.where(there, z, 0) / (weight @ there)
    ranks = rankdata(-means, method="min", axis=1)
    low, high = np.quantile(ranks, [_LEVEL / 2, 1 - _LEVEL / 2], axis=0)
    low, high = np.floor(low), np.ceil(high)
    # Apart where the worst rank of all before is better than the best of all after.
    ends = [high[order[:n]].max() < low[order[n:]].min() for n in range(1, len(order))]
    cluster = np.empty(len(score))
    cluster[order] = 1 + np.append(0, np.cumsum(ends))
    rank = rankdata(-score, method="min")
    return {"rank": rank, "rank_low": low, "rank_high": high, "cluster": cluster}
