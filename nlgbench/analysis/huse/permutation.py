"""Permutation tests of whether a system's outputs can be told from human ones at all."""

import math
from itertools import combinations, product
from typing import Any, Literal

import numpy as np
import pandas as pd
from scipy.sparse import csr_array

from nlgbench import tables
from nlgbench.analysis.huse import neighbors
from nlgbench.analysis.huse.neighbors import Ints
from nlgbench.analysis.huse.replicates import MAPS
from nlgbench.analysis.huse.scores import TOLERANCE, HuseResult, huse
from nlgbench.inference import Bools
from nlgbench.names import known
from nlgbench.text import check_n

Within = Literal["items", "hits"]


def permutation_test(
    outputs: pd.DataFrame,
    logprobs: pd.DataFrame,
    judgments: pd.DataFrame,
    *,
    system: str | None = None,
    within: Within = "items",
    n_permutations: int = 1000,
    seed: int | np.random.Generator,
    **options: Any,
) -> pd.DataFrame:
    """Test whether a system's outputs are indistinguishable from human ones.

    Parameters
    ----------
    outputs, logprobs, judgments, system, **options
        As in `uncertainty.huse_intervals`.
    within : {"items", "hits"}
        ``"items"``: labels are permuted among the outputs of one item (swapped, for a pair).
        ``"hits"``: labels are permuted among whole HITs (``group_id``), each of one class.
    n_permutations : int
        Random permutations. Where there are no more labelings than this, all are gone through
        instead, each once.
    seed : int or Generator
        Where the random numbers come from; of no effect where all labelings are gone through.

    Returns
    -------
    DataFrame
        A row for huse and one for huse_q: dataset, system, score, estimate, p (small: can be told
        apart), null_mean and null_sd (of the permuted scores), within, n_units (items of both
        classes, or HITs), log10_labelings (how many labelings there are: p cannot go below one in
        so many), n_permutations (labelings gone through), exact (whether these are all).

    Raises
    ------
    ValueError
        As `huse`; when no item holds both classes; under ``"hits"`` when an output was judged in
        several HITs or in none, an HIT holds both classes, or there is one HIT.

    Notes
    -----
    One-sided. Over all labelings, of which the observed one is one, p is the share of them that
    score as low: at least 1 / 70 for 4 + 4 HITs. Over random ones (Phipson and Smyth 2010,
    doi:10.2202/1544-6115.1585) ``p = (1 + #(permuted <= observed)) / (n_permutations + 1)``. The
    labels are exchangeable within an item when the system writes as humans do in every context.
    Under ``"items"`` judgments are taken for the outputs' own: where every HIT holds one class, as
    in the authors' release, the leniency of an HIT's annotators is confounded with the class, and a
    small p may come from either. ``"hits"`` takes whole HITs for the units, so that leniency is
    part of the null; it has few labelings (70 for 4 + 4 HITs), hence little power, and it takes the
    HITs for exchangeable although their outputs are for given contexts. HUSE-D is a difference that
    either sign may tell apart, so it has no one-sided p.

    Examples
    --------
    >>> from nlgbench.worlds import reviews as worlds
    >>> study = worlds.gaussian_world(seed=0).study
    >>> tables_of = (study.outputs, study.logprobs, study.judgments)
    >>> permutation_test(*tables_of, system="t0.5", n_permutations=99, seed=0)["p"].tolist()[0]
    0.01
    """
    known(within, ["items", "hits"], "within")
    check_n(n_permutations, "n_permutations")
    full = huse(outputs, logprobs, judgments, system=system, **options)
    if within == "items":
        units, n_units = _item_units(full)
        own = ~full.features["is_human"].to_numpy()
        place = np.arange(len(own))
    else:
        place, own = _hit_units(full, tables.check(judgments, "judgments"))
        units, n_units = np.zeros(len(own), dtype=np.int64), len(own)
    counts = zip(np.bincount(units), np.bincount(units, weights=own), strict=True)
    n_labelings = math.prod(math.comb(int(n), int(m)) for n, m in counts)
    exact = n_labelings <= n_permutations
    if exact:
        labels = _all_labelings(own, units)
    else:
        labels = _permuted_within(own, units, n_permutations, np.random.default_rng(seed))
    labels = labels[:, place]
    rows = []
    for score in MAPS:
        estimate, permuted = getattr(full, score), _permuted_scores(full, score, labels)
        # Scores of one rounding: equal ones differ in the last bit at most.
        n_low = int((permuted <= estimate + 1e-12).sum())
        rows.append(
            {
                "dataset": full.dataset,
                "system": full.system,
                "score": score,
                "estimate": estimate,
                "p": n_low / n_labelings if exact else (1 + n_low) / (n_permutations + 1),
                "null_mean": float(permuted.mean()),
                "null_sd": float(permuted.std()),
                "within": within,
                "n_units": n_units,
                "log10_labelings": math.log10(n_labelings),
                "n_permutations": len(labels),
                "exact": exact,
            }
        )
    return pd.DataFrame(rows)


def _item_units(full: HuseResult) -> tuple[Ints, int]:
    """Return each output's item as a number, and how many items hold both classes."""
    item = pd.factorize(full.features["item_id"])[0].astype(np.int64)
    machine = np.bincount(item, weights=~full.features["is_human"]).astype(int)
    both = (machine > 0) & (machine < np.bincount(item))
    if not both.any():
        raise ValueError(
            f"no item holds outputs of both human writers and {full.system!r}, so no label can be "
            'swapped within one: mend item_id, or use within="hits".'
        )
    return item, int(both.sum())


def _all_labelings(label: Bools, unit: Ints) -> Bools:
    """List every way to permute labels among the rows of each unit."""
    rows_of = [np.flatnonzero(unit == number) for number in range(int(unit.max()) + 1)]
    chosen = (combinations(rows, int(label[rows].sum())) for rows in rows_of)
    machine = [[row for part in parts for row in part] for parts in product(*chosen)]
    labels = np.zeros((len(machine), len(label)), dtype=bool)
    for labeling, rows in zip(labels, machine, strict=True):
        labeling[rows] = True
    return labels


def _permuted_within(
    label: Bools, item: Ints, n_permutations: int, rng: np.random.Generator
) -> Bools:
    """Permute labels among the rows of each item."""
    ordered = np.argsort(item, kind="stable")
    permuted = np.empty((n_permutations, len(label)), dtype=bool)
    # Random keys, sorted within each item: as whole numbers below item + key.
    keys = np.argsort(item[ordered] + rng.random((n_permutations, len(label))), axis=1)
    permuted[:, ordered] = label[ordered][keys]
    return permuted


def _hit_units(full: HuseResult, judgments: pd.DataFrame) -> tuple[Ints, Bools]:
    """Return each output's HIT as a number, and each HIT's label."""
    same = judgments["dataset"].eq(full.dataset) & judgments["dimension"].eq(full.dimension)
    pairs = judgments.loc[same, ["output_id", "group_id"]].drop_duplicates()
    joined = full.features[["output_id", "is_human"]].merge(pairs, on="output_id", how="left")
    bad = joined.duplicated("output_id", keep=False) | joined["group_id"].eq("")
    if bad.any():
        raise ValueError(
            f"output {joined.loc[bad, 'output_id'].iloc[0]!r} was judged in several HITs or in "
            f"none named (outputs like it: {joined.loc[bad, 'output_id'].nunique()}): "
            'within="hits" needs one group_id for each output; use within="items".'
        )
    hit, names = pd.factorize(joined["group_id"])
    share = np.bincount(hit, weights=~joined["is_human"]) / np.bincount(hit)
    mixed = (share > 0) & (share < 1)
    if mixed.any():
        raise ValueError(
            f"HIT {names[int(mixed.argmax())]!r} holds both classes (HITs like it: "
            f'{int(mixed.sum())}): its label cannot be permuted as one; use within="items".'
        )
    return hit.astype(np.int64), share == 1


def _permuted_scores(full: HuseResult, score: str, labels: Bools) -> neighbors.Floats:
    """Score other labels of the same outputs: the neighborhoods stay, the votes change."""
    features = full.features[MAPS[score]].to_numpy()
    near = [
        np.flatnonzero(_neighborhood(features, row, full.n_neighbors, TOLERANCE[full.ties]))
        for row in range(len(features))
    ]
    size = np.array([len(one) for one in near])
    ends = np.append(0, np.cumsum(size))
    graph = csr_array(
        (np.ones(ends[-1]), np.concatenate(near), ends), shape=(len(features), len(features))
    )
    machine = (graph @ labels.T.astype(np.float64)).T.astype(np.int64)
    return np.array(
        [
            neighbors.twice_error(size, counted, label, label_ties=full.label_ties)
            for counted, label in zip(machine, labels, strict=True)
        ]
    )


def _neighborhood(features: neighbors.Floats, row: int, k: int, tolerance: float) -> Bools:
    distance = np.sqrt(((features - features[row]) ** 2).sum(axis=1))
    distance[row] = np.inf
    return distance <= np.partition(distance, k - 1)[k - 1] + tolerance
