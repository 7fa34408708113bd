"""Bradley-Terry with ties (Davidson), and win rates, with intervals over other outputs.

An output can be side a of one game and side b of another. Games therefore depend on each other
through both sides, and variances are dyadic. Choices of one annotator also depend on each other.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import permutations
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.sparse import coo_array, csgraph, csr_array, hstack
from scipy.special import softmax, xlogy
from scipy.stats import norm, t

from nlgbench import clustering
from nlgbench.analysis.ratings.games import Of, Orders, as_arrays, merge_orders, read_games
from nlgbench.analysis.ratings.glicko import POINTS, START
from nlgbench.arrays import Bools, Floats, Ints
from nlgbench.inference import adjust
from nlgbench.status import OK, Status, explain, first_status, split_status
from nlgbench.study import Study
from nlgbench.study.checks import checked
from nlgbench.text import listed

Ties = Literal["davidson", "half"]
Annotators = Literal["fixed", "random"]
#: The columns of estimates, and the other columns of systems and pairs in `bradley_terry`.
_NUMBERS = ["estimate", "ci_low", "ci_high", "rank_low", "rank_high", "se", "n_clusters", "tie"]
_COLUMNS = ["system", "confidence", "covers", "n_games", *_NUMBERS, "status"]
_ENDS = ["system", "opponent"]
_TESTS = ["estimate", "ci_low", "ci_high", "se", "df", "p", "p_adjusted"]
_REDUCED = "; ratings are from a bias-reduced fit, without intervals"
#: A smaller variance of a rate is a rounding error.
ROUNDING = 1e-12


@dataclass(frozen=True)
class Sampling:
    """The units that would be different in another study."""

    #: The sampled units: items, outputs, games, or clusters (with their column).
    units: str
    #: Whether games are annotators' choices.
    people: bool
    #: Whether annotators are also random.
    annotators: bool
    covers: str
    #: Why the interval is undefined, or `OK`.
    missing: Status


#: A comparator's verdicts on outputs with unknown items.
OUTPUTS = Sampling("outputs", False, False, "outputs", OK)


def choose_sampling(
    study: Study | pd.DataFrame,
    played: pd.DataFrame,
    annotators: Annotators | None = None,
    outcome: str = "argmax",
) -> Sampling:
    """Choose what intervals of games or votes generalize to."""
    units = next((name for name in ("item", "output") if f"{name}_a" in played), "game") + "s"
    if "item_id" in played:
        units = "items"
    if "cluster_a" in played:
        units = f"clusters ({played['grouped_by'].iloc[0]})"
    if "annotator_id" not in played:
        if annotators is not None:
            raise ValueError(
                f"annotators={annotators!r} needs annotators' choices, but these games have no "
                "annotator_id: leave out annotators=."
            )
        certain = units == "games" and outcome == "expected"
        return Sampling(units, False, False, units, explain("no_items") if certain else OK)
    covers, missing = clustering.choose_annotators(
        annotators,
        clustering.effective_size(pd.factorize(played["annotator_id"])[0]),
        persons=isinstance(study, pd.DataFrame) or study.persons,
    )
    return Sampling(units, True, covers == clustering.OTHER_ANNOTATORS, covers, missing)


def _who(played: pd.DataFrame, sample: Sampling) -> Ints | None:
    """Enumerate annotators (games, 1) if they are random."""
    return pd.factorize(played["annotator_id"])[0][:, None] if sample.annotators else None


def cluster_sides(played: pd.DataFrame) -> tuple[Ints, Ints]:
    """Enumerate the clusters of both sides of each game, by the widest units that are known."""
    name = next((name for name in ("cluster", "item") if f"{name}_a" in played), "output")
    if name == "output" and "item_id" in played:
        first = pd.factorize(played["item_id"])[0]
        return first, first
    if f"{name}_a" not in played:
        return np.arange(len(played)), np.arange(len(played))
    units = pd.concat([played[f"{name}_a"], played[f"{name}_b"]])
    first, second = pd.factorize(units)[0].reshape(2, -1)
    return first, second


def bradley_terry(
    played: pd.DataFrame, sample: Sampling, *, ties: Ties = "davidson", confidence: float = 0.95
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Fit the systems' abilities in one comparator's games, and test all differences.

    The model is that of Davidson (1970, doi:10.1080/01621459.1970.10481082). The covariance is
    ``H^- M H^-``, with H the information and M the `covariance` of the scores. If that is infinite,
    all ratings are from a bias-reduced fit, without intervals. Degrees of freedom are one fewer
    than the smallest number of clusters of any system, or for annotators' choices than each
    system's effective number.
    """
    systems, a, b, results = as_arrays(played)
    if ties == "half":
        results = results @ [[1, 0, 0], [0.5, 0, 0.5], [0, 0, 1]]
    n, n_games = len(systems), np.bincount(np.append(a, b))
    rated = _largest_group(a, b, n)
    if not rated.all():
        games = played[rated[a] & rated[b]]
        fit: Any = (None, None)
        if len(games):
            fit = bradley_terry(games, sample, ties=ties, confidence=confidence)
        left_out = first_status(n, (~rated, explain("disconnected")))
        table, pairs = _add_left_out(systems, left_out, *fit)
        table = table.assign(confidence=confidence, covers=sample.covers, n_games=n_games)
        return table, pairs.assign(covers=sample.covers)
    n_clusters, df, few = _count_clusters(sample, played, a, b)
    infinite = _why_infinite(systems, a, b, results)
    ability, tie, covariances = np.zeros(n), float("nan"), [np.full((n, n), np.nan)]
    by_model = covariances[0]
    if infinite.code != "all_ties":
        ability, log_tie = _fit_abilities(a, b, results, n, reduce_bias=bool(infinite))
        tie = float(np.exp(log_tie))
    if not infinite:
        inverse = _invert_information(a, b, ability, log_tie)
        by_model = inverse[:n, :n]
        # With ties as half wins, results vary less, by an amount that the model does not provide.
        if _is_by_model(sample) and ties == "davidson":
            covariances = [by_model]
        else:
            design = _design(a, b, n)
            scores = _slopes(design, results - _probabilities(design, ability, log_tie), log_tie)
            shares = _shares(design, ability, log_tie)
            labels = clustering.factors(
                np.column_stack(cluster_sides(played)), _who(played, sample)
            )
            covariances = [
                (inverse @ covariance(scores, shares, label) @ inverse)[:n, :n] for label in labels
            ]
    alone = explain("one_unit", unit=_name_unit(sample), games="all games of some system")
    missing = infinite or sample.missing
    table = _add_intervals(
        pd.DataFrame({"system": systems, "estimate": ability}),
        clustering.largest_variance(*map(np.diag, covariances)),
        ROUNDING * np.diag(by_model),
        (df, few, missing, alone, confidence),
    )
    first, second = np.nonzero(~np.eye(n, dtype=bool))
    fewer = np.where(n_clusters[first] <= n_clusters[second], first, second)
    pairs = _add_intervals(
        pd.DataFrame(
            {"system": first, "opponent": second, "estimate": ability[first] - ability[second]}
        ),
        clustering.largest_variance(
            *(_difference(matrix, first, second) for matrix in covariances)
        ),
        ROUNDING * _difference(by_model, first, second),
        (df[fewer], few[fewer], missing, alone, confidence),
    )
    pairs, ranges = _test_pairs(pairs.assign(df=df[fewer], covers=sample.covers), n, confidence)
    table["estimate"] += START
    table[["ci_low", "ci_high"]] += START
    table = table.assign(confidence=confidence, covers=sample.covers, n_games=n_games, **ranges)
    table = table.assign(n_clusters=n_clusters, tie=tie)[_COLUMNS]
    names = np.array(systems, dtype=object)
    return table, pairs.assign(system=names[first], opponent=names[second])


def _add_left_out(
    systems: list[str], left_out: Any, table: pd.DataFrame | None, pairs: pd.DataFrame | None
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Add rows of the systems without a rating, and of their pairs, to the tables of the others."""
    table = pd.DataFrame(table, columns=_COLUMNS).set_index("system").reindex(systems)
    table[_NUMBERS] = table[_NUMBERS].astype(float)
    table["status"] = np.where(left_out.astype(bool), left_out, table["status"])
    why = dict(zip(systems, left_out, strict=True))
    ends = pd.MultiIndex.from_tuples(permutations(systems, 2), names=_ENDS)
    pairs = pd.DataFrame(pairs, columns=[*_ENDS, *_TESTS, "verdict", "status"]).set_index(_ENDS)
    pairs = pairs.reindex(ends)
    pairs[_TESTS] = pairs[_TESTS].astype(float)
    reasons = pd.Series([why[system] or why[opponent] for system, opponent in ends], ends)
    pairs["status"] = reasons.where(reasons.astype(bool), pairs["status"])
    return table.reset_index(), pairs.fillna({"verdict": ""}).reset_index()


def _difference(matrix: Floats, first: Ints, second: Ints) -> Floats:
    """Compute the variance of differences of two systems from a covariance matrix."""
    return np.asarray(matrix[first, first] + matrix[second, second] - 2 * matrix[first, second])


def _add_intervals(
    table: pd.DataFrame,
    variance: Floats,
    least: Floats,
    about: tuple[Floats | Ints, NDArray[np.object_], Status, Status, float],
) -> pd.DataFrame:
    """Convert estimates to points, and add their intervals and statuses.

    A variance up to `least` is a rounding error. `about`: degrees of freedom, warnings of few
    clusters, why all or only undefined intervals are missing, and the confidence level.
    """
    df, few, missing, alone, confidence = about
    status = first_status(
        len(table),
        (True, missing),
        (np.isnan(variance), alone),
        (variance < -least, explain("negative_variance")),
        (variance <= least, explain("no_variation")),
        (True, few),
    )
    with np.errstate(invalid="ignore"):
        se = POINTS * np.sqrt(np.where((variance > least) & (not missing), variance, np.nan))
        half = t.ppf(0.5 + confidence / 2, df) * se
    points = POINTS * table["estimate"]
    return table.assign(
        estimate=points, ci_low=points - half, ci_high=points + half, se=se, status=status
    )


def _test_pairs(
    pairs: pd.DataFrame, n: int, confidence: float
) -> tuple[pd.DataFrame, dict[str, Floats]]:
    """Test each difference by t, adjusted by Holm's procedure, and count ranges of ranks."""
    first, second = pairs["system"].to_numpy(), pairs["opponent"].to_numpy()
    p = 2 * t.sf((pairs["estimate"] / pairs["se"]).abs(), pairs["df"])
    by_pair = np.full((n, n), np.nan)
    upper = first < second
    by_pair[first[upper], second[upper]] = by_pair[second[upper], first[upper]] = adjust(p[upper])
    adjusted = by_pair[first, second]
    significant = adjusted < 1 - confidence
    verdict = np.where(pairs["estimate"] > 0, "better", "worse")
    verdict = np.where(significant, verdict, np.where(np.isnan(p), "", "undecided"))
    ranges = clustering.rank_ranges(first, second, verdict == "better", n)
    if np.isnan(p).all():
        ranges = dict.fromkeys(ranges, np.full(n, np.nan))
    return pairs.assign(p=p, p_adjusted=adjusted, verdict=verdict), ranges


def _is_by_model(sample: Sampling) -> bool:
    """Report whether games are a comparator's, and nothing but their number is known."""
    return sample.units == "games" and not sample.people


def _count_clusters(
    sample: Sampling, played: pd.DataFrame, a: Ints, b: Ints
) -> tuple[Floats | Ints, Floats | Ints, NDArray[np.object_]]:
    """Return each system's number of clusters, degrees of freedom, and warning if they are few."""
    if _is_by_model(sample):
        n_games = np.bincount(np.append(a, b))
        return n_games, np.full(len(n_games), np.inf), np.full(len(n_games), OK)
    sides = np.append(*cluster_sides(played))
    n_clusters, few = _sizes(sample, np.append(a, b), sides, _who(played, sample))
    if sample.people:
        return n_clusters, n_clusters - 1, few
    least, n = n_clusters.min(), len(n_clusters)
    few = np.full(n, clustering.few_clusters(least, sample.units))
    return n_clusters, np.full(n, least - 1), few


@checked
def win_rates(
    study: Study | pd.DataFrame,
    *,
    of: Of | None = None,
    orders: Orders = "each",
    annotators: Annotators | None = None,
    dimension: str | None = None,
    confidence: float = 0.95,
) -> pd.DataFrame:
    """Compute how often each system beats each of the others.

    Parameters
    ----------
    study, of, annotators, dimension, confidence
        As in `nlgbench.rate`.
    orders : {"each", "tie"}
        How a judge's verdicts on a pair of outputs in both orders count: each as a game (default),
        or together as one game, which is a tie if they differ.

    Returns
    -------
    DataFrame
        Two rows for each pair that played, one in each direction: comparator, system, opponent,
        estimate (the win rate, win + tie / 2; above .5 is better), ci_low, ci_high, n_games, win,
        tie, loss (shares of the games), orders (the rule), confidence, covers, n_clusters (of the
        side with fewer clusters; for annotators' choices, the effective number as in `rate`),
        status (a code; ``ok``), reason (its text).

    Raises
    ------
    ValueError
        Under the same conditions as `nlgbench.rate`.

    Notes
    -----
    An output plays several games, so games are not independent. Intervals are Wilson's (1927,
    doi:10.1080/01621459.1927.10502953) with Student's t and the effective number of games ``n* = r
    (1 - r) / V`` (Franco, Little, Louis and Slud 2019, doi:10.1093/jssam/smy019), where r is the
    rate and V its variance as in `rate`. Student's t has `n_clusters` - 1 degrees of freedom. For a
    comparator, n* is the number of games if items and outputs are unknown. It is the number of
    items if each game has one ``item_id``. In both cases, the normal quantile replaces Student's t.
    Intervals are not simultaneous.

    Examples
    --------
    >>> table = pd.DataFrame({"system_a": "x", "system_b": "y", "outcome": [*"aaaa"]})
    >>> win_rates(table)[["system", "estimate", "ci_low", "ci_high"]].round(3).values.tolist()
    [['x', 1.0, 0.51, 1.0], ['y', 0.0, 0.0, 0.49]]
    """
    all_played = read_games(study, of=of, dimension=dimension)
    if orders == "tie":
        all_played = merge_orders(all_played)
    sample = choose_sampling(study, all_played, annotators)
    tables = []
    for comparator, played in all_played.groupby("comparator"):
        table = _rate_pairs(played, sample, confidence).sort_values(["system", "opponent"])
        tables.append(table.assign(comparator=comparator))
    columns = ["comparator", "system", "opponent", "estimate", "ci_low", "ci_high", "n_games"]
    columns += ["win", "tie", "loss", "orders", "confidence", "covers", "n_clusters", "status"]
    table = pd.concat(tables, ignore_index=True).assign(orders=orders)
    table = split_status(table.assign(confidence=confidence, covers=sample.covers))
    return table[[*columns, "reason"]]


def _rate_pairs(played: pd.DataFrame, sample: Sampling, confidence: float) -> pd.DataFrame:
    """Compute win rates of each pair of systems in one comparator's games, in both directions."""
    systems, a, b, results = as_arrays(played)
    # List each pair first with the system whose name comes first, then reversed.
    turned = a > b
    results = np.where(turned[:, None], results[:, ::-1], results)
    pairs, group = _number_pairs(a, b)
    score = results @ [1, 0.5, 0]
    first, second = cluster_sides(played)
    if not sample.people and (first is second or sample.units == "games"):
        n, few = _sizes(sample, group, first)
        rate = np.bincount(group, score) / np.bincount(group)
        low, high = wilson(rate, n.astype(np.float64), norm.ppf(0.5 + confidence / 2))
        rates = pd.DataFrame({"estimate": rate, "ci_low": low, "ci_high": high})
        rates = rates.assign(n_clusters=n, status=few)
    else:
        first, second = np.where(turned, second, first), np.where(turned, first, second)
        who = _who(played, sample)
        rates = rate_intervals(group, score, first, second, sample, who, confidence=confidence)
    rates["n_games"] = np.bincount(group)
    for kind, column in zip(("win", "tie", "loss"), results.T, strict=True):
        rates[kind] = np.bincount(group, column) / rates["n_games"]
    turn = {"win": "loss", "loss": "win", "ci_low": "ci_high", "ci_high": "ci_low"}
    mirrored = rates.rename(columns=turn)
    ends = ["estimate", "ci_low", "ci_high"]
    mirrored[ends] = 1 - mirrored[ends]
    table = pd.concat([rates, mirrored])
    table["system"] = np.array(systems)[pairs.T.ravel()]
    table["opponent"] = np.array(systems)[pairs[:, ::-1].T.ravel()]
    return table


def _number_pairs(a: Ints, b: Ints) -> tuple[Ints, Ints]:
    """List the pairs of systems that met (pairs, 2), and the pair of each game."""
    met = np.column_stack([np.minimum(a, b), np.maximum(a, b)])
    pairs, pair_of_game = np.unique(met, axis=0, return_inverse=True)
    return pairs, pair_of_game


def covariance(scores: csr_array, shares: csr_array, label: Ints) -> Floats:
    """Estimate the covariance of the sums of `scores`, over games that share a cluster.

    `label` (games, 1 or 2) are the clusters of a game's sides. By Aronow, Samii and Assenova (2015,
    section 3, doi:10.1093/pan/mpv018), the covariance is ``sum_c u_c u_c' - sum_{c < d} u_cd
    u_cd'``, where u_c sums the scores of all games of cluster c, and u_cd those between c and d. As
    a difference of two sums of squares, it can have a negative diagonal. It is NaN for a parameter
    for which one cluster has all the information.

    Because a cluster pulls the fit, each entry of u is divided by one minus its games' share of the
    information (`shares`), as in the jackknife (Bell and McCaffrey 2002, *Survey Methodology*
    28(2), for one factor), which has better coverage than a factor n / (n - 1).
    """
    by_cluster, shared = _sums(scores, shares, label)
    return (by_cluster.T @ by_cluster - shared.T @ shared).toarray()


def _sums(scores: csr_array, shares: csr_array, label: Ints) -> tuple[csr_array, csr_array]:
    """Sum adjusted scores by cluster, and by pair of different clusters."""
    low, high = label.min(axis=1), label.max(axis=1)
    between = low != high
    pair = np.where(between, low.astype(np.int64) * (high.max(initial=0) + 1) + high, -1)

    def adjusted(to_sums: csr_array) -> csr_array:
        total, share = to_sums @ scores, csr_array(to_sums @ shares)
        remaining = 1 - share.data
        share.data = share.data / np.where(remaining > 1e-9, remaining, np.nan)
        return csr_array(total + total.multiply(share))

    # Games within one cluster come first, because they belong to no pair.
    pairs = clustering.incidence(pair[:, None])[int(not between.all()) :]
    return adjusted(clustering.incidence(label)), adjusted(pairs)


def _sizes(
    sample: Sampling, group: Ints, item: Ints, annotator: Ints | None = None
) -> tuple[Floats | Ints, NDArray[np.object_]]:
    """Count each group's clusters (effective ones for annotators); warn if they are few."""
    if not sample.people:
        sizes: dict[str, Any] = {sample.units: pd.Series(item).groupby(group).nunique().to_numpy()}
    else:
        n_groups = int(group.max()) + 1
        sizes = {f"effective {sample.units}": clustering.effective_sizes(item, group, n_groups)}
        if annotator is not None:
            who = np.tile(annotator[:, 0], len(group) // len(annotator))
            sizes["effective annotators"] = clustering.effective_sizes(who, group, n_groups)
    numbers, names = np.array([*sizes.values()]), [*sizes]
    few = [
        clustering.few_clusters(n, names[column])
        for n, column in zip(numbers.min(axis=0), numbers.argmin(axis=0), strict=True)
    ]
    return numbers.min(axis=0), np.array(few)


def _name_unit(sample: Sampling) -> str:
    unit = re.sub(r"s\b", "", sample.units, count=1)
    return f"{unit} or annotator" if sample.annotators else unit


def rate_intervals(
    group: Ints,
    score: Floats,
    first: Ints,
    second: Ints,
    sample: Sampling,
    annotator: Ints | None = None,
    *,
    confidence: float,
) -> pd.DataFrame:
    """Compute intervals of each group's mean score, as in `win_rates`, a row per group.

    `first` and `second` are the clusters of the two sides' outputs. If all games have the same
    result, the number of clusters is used as n.
    """
    n_games = np.bincount(group)
    k = len(n_games)
    rate = np.bincount(group, score) / n_games
    index = (np.arange(len(group)), group)
    residuals = csr_array(((score - rate[group]) / n_games[group], index))
    share = csr_array((1 / n_games[group], index))

    def squares(label: Ints) -> Floats:
        by_cluster, shared = _sums(residuals, share, label)
        return np.asarray(by_cluster.power(2).sum(axis=0) - shared.power(2).sum(axis=0))

    # Count each group twice, by the clusters of each side; the smaller number is used.
    sides = np.append(first, second)
    numbers, warnings = _sizes(sample, np.append(group, group + k), sides, annotator)
    fewer = numbers.reshape(2, k).argmin(axis=0) * k + np.arange(k)
    least, few = numbers[fewer], warnings[fewer]
    labels = clustering.factors(np.column_stack([first, second]), annotator)
    variance = clustering.largest_variance(*map(squares, labels))
    spread = rate * (1 - rate)
    flat = ~np.isnan(variance) & ((variance <= ROUNDING) | (spread <= 0))
    with np.errstate(divide="ignore", invalid="ignore"):
        effective = np.where(flat, least, spread / variance)
        q = t.ppf(0.5 + confidence / 2, least - 1)
    low, high = wilson(rate, effective, q * np.nan if sample.missing else q)
    status = first_status(
        k,
        (True, sample.missing),
        (np.isnan(low), explain("one_unit", unit=_name_unit(sample), games="all games")),
        (True, few),
        (flat, [explain("alike", n=round(n, 1)) for n in least]),
    )
    columns = {"estimate": rate, "ci_low": low, "ci_high": high}
    return pd.DataFrame({**columns, "n_clusters": least, "status": status})


def wilson(rate: Floats, n: Floats, quantile: Floats | float) -> tuple[Floats, Floats]:
    """Compute Wilson's intervals of rates from n games, or n effective games."""
    weight = quantile**2 / n
    middle = (rate + weight / 2) / (1 + weight)
    half = np.sqrt(weight * (rate * (1 - rate) + weight / 4)) / (1 + weight)
    return np.clip(middle - half, 0, rate), np.clip(middle + half, rate, 1)


def _probabilities(design: csr_array, ability: Floats, log_tie: float) -> Floats:
    """Compute probabilities of win, tie and loss of a in each row of the design."""
    half_gap = design @ ability / 2
    return softmax(np.column_stack([half_gap, np.full(len(half_gap), log_tie), -half_gap]), axis=1)


def _design(a: Ints, b: Ints, n: int) -> csr_array:
    """Build the design matrix of games: 1 for a, -1 for b."""
    row = np.arange(len(a))
    value = np.repeat([1.0, -1.0], len(a))
    return csr_array((value, (np.append(row, row), np.append(a, b))), shape=(len(a), n))


def _information(design: csr_array, weight: Floats, ability: Floats, log_tie: float) -> Floats:
    """Compute the information, plus the term that fixes the mean of abilities at 0."""
    win, tie, loss = _probabilities(design, ability, log_tie).T
    lead = (win - loss) / 2
    block = (design.T @ (design * (weight * ((win + loss) / 4 - lead**2))[:, None])).toarray() + 1
    if np.isneginf(log_tie):
        return block
    cross = design.T @ (-weight * lead * tie)
    corner = (weight * tie * (1 - tie)).sum()
    return np.block([[block, cross[:, None]], [cross[None], corner]])


def _slopes(design: csr_array, excess: Floats, log_tie: float) -> csr_array:
    """Compute scores of each row's log-likelihood; `excess` is results minus probabilities."""
    lead = csr_array(design * ((excess[:, 0] - excess[:, 2]) / 2)[:, None])
    return lead if np.isneginf(log_tie) else hstack([lead, excess[:, [1]]], format="csr")


def _fit_abilities(
    a: Ints, b: Ints, results: Floats, n: int, *, reduce_bias: bool = False
) -> tuple[Floats, float]:
    """Maximize the likelihood over abilities of mean 0 and the logarithm of nu (-inf: no ties).

    To reduce bias, maximize it times Jeffreys' prior (Firth 1993, doi:10.1093/biomet/80.1.27),
    which also has a maximum if abilities are infinite.
    """
    # Make the result exactly invariant to swapping a and b.
    results = np.where((a > b)[:, None], results[:, ::-1], results)
    pairs, pair_of_game = _number_pairs(a, b)
    share = np.column_stack([np.bincount(pair_of_game, column) for column in results.T]) / len(a)
    weight = share.sum(axis=1)
    design = _design(pairs[:, 0], pairs[:, 1], n)
    ties = share[:, 1].any()

    def split(x: Floats) -> tuple[Floats, float]:
        return x[:n], float(x[n]) if ties else -np.inf

    # The squared sum fixes the abilities' mean at 0, which the likelihood does not determine.
    def cost(x: Floats) -> float:
        chance = _probabilities(design, *split(x))
        prior = np.linalg.slogdet(curve(x))[1] / (2 * len(a)) if reduce_bias else 0
        return float(x[:n].sum() ** 2 / 2 - xlogy(share, chance).sum() - prior)

    def slope(x: Floats) -> Floats:
        ability, log_tie = split(x)
        chance = _probabilities(design, ability, log_tie)
        excess = share - weight[:, None] * chance
        if reduce_bias:
            inverse = np.asarray(np.linalg.inv(curve(x)), dtype=np.float64)
            added = weight[:, None] * chance * _leverages(chance, pairs, inverse)
            added /= 2 * len(a)
            excess += added - added.sum(axis=1, keepdims=True) * chance
        total = -_slopes(design, excess, log_tie).sum(axis=0)
        total[:n] += ability.sum()
        return total

    def curve(x: Floats) -> Floats:
        return _information(design, weight, *split(x))

    x = np.zeros(n + int(ties))
    options = {"gtol": 1e-12}
    return split(minimize(cost, x, jac=slope, hess=curve, method="trust-exact", options=options).x)


def _leverages(chance: Floats, pairs: Ints, inverse: Floats) -> Floats:
    """Compute the squared length of outcomes' scores (pairs, 3), in units of the information."""
    n, (first, second) = pairs.max() + 1, pairs.T
    lead = [0.5, 0, -0.5] - (chance[:, [0]] - chance[:, [2]]) / 2
    leverages = lead**2 * _difference(inverse, first, second)[:, None]
    if len(inverse) > n:
        tie = [0, 1, 0] - chance[:, [1]]
        leverages += 2 * lead * tie * (inverse[first, n] - inverse[second, n])[:, None]
        leverages += tie**2 * inverse[n, n]
    return np.asarray(leverages)


def _invert_information(a: Ints, b: Ints, ability: Floats, log_tie: float) -> Floats:
    """Invert the information for abilities relative to their mean."""
    n = len(ability)
    share = np.full(len(a), 1 / len(a))  # the term that fixes the mean is of the same size
    inverse = np.linalg.inv(_information(_design(a, b, n), share, ability, log_tie))
    inverse[:n, :n] -= 1 / n**2  # remove the direction of equal abilities
    return inverse / len(a)


def _shares(design: csr_array, ability: Floats, log_tie: float) -> csr_array:
    """Compute each game's share of the information on each parameter, given the others."""
    win, tie, loss = _probabilities(design, ability, log_tie).T
    weight = (win + loss) / 4 - ((win - loss) / 2) ** 2
    information = csr_array(abs(design) * weight[:, None])
    if not np.isneginf(log_tie):
        information = hstack([information, (tie * (1 - tie))[:, None]], format="csr")
    return csr_array(information / information.sum(axis=0))


def _largest_group(a: Ints, b: Ints, n: int) -> Bools:
    """Find the systems of the largest group that games link, unless two have the same size."""
    links = coo_array((np.ones(len(a)), (a, b)), shape=(n, n))
    group = csgraph.connected_components(links, directed=False)[1]
    sizes = np.bincount(group)
    alone = (sizes == sizes.max()).sum() == 1
    return (group == sizes.argmax()) & alone


def _why_infinite(systems: list[str], a: Ints, b: Ints, results: Floats) -> Status:
    """Return why the likelihood has no maximum, or `OK`."""
    n = len(systems)
    win, tie, loss = (results[:, column] > 0 for column in range(3))
    lower = np.concatenate([b[win], a[loss]])
    upper = np.concatenate([a[win], b[loss]])
    if not len(lower):
        return explain("all_ties")
    ends = np.concatenate([lower, a[tie], b[tie]]), np.concatenate([upper, b[tie], a[tie]])
    links = coo_array((np.ones(len(ends[0])), ends), shape=(n, n))
    group = csgraph.connected_components(links, connection="strong")[1]
    if group.any():
        return explain("separated", which=_name_separated(systems, group, lower, upper) + _REDUCED)
    if not tie.any():
        return OK
    # One order explains all games if some y have y_loser <= y_winner - 1, and |y_i - y_j| <= 1 at
    # ties. Such y exist unless these bounds, as lengths of edges, form a negative cycle.
    rung = np.full((n, n), np.inf)
    rung[np.concatenate([a[tie], b[tie]]), np.concatenate([b[tie], a[tie]])] = 1
    rung[upper, lower] = -1
    graph = csgraph.csgraph_from_dense(rung, null_value=np.inf)
    try:
        csgraph.bellman_ford(graph, indices=0)
    except csgraph.NegativeCycleError:
        return OK
    return explain("separated", which="one order explains all games" + _REDUCED)


def _name_separated(systems: list[str], group: Ints, lower: Ints, upper: Ints) -> str:
    """Name the groups that never lose to the others, or never win, except the largest group."""
    across = group[lower] != group[upper]
    losers, winners = {*group[lower[across]]}, {*group[upper[across]]}
    texts = []
    for number in np.unique(group):
        names = [name for name, label in zip(systems, group, strict=True) if label == number]
        verb, others = ("s", "") if len(names) == 1 else ("", " the other systems")
        if len(names) > 1 and number == np.bincount(group).argmax():
            continue
        if number not in losers:
            texts.append(f"{listed(names)} never lose{verb}{others and ' to' + others}")
        elif number not in winners:
            texts.append(f"{listed(names)} never win{verb}{others and ' against' + others}")
    return ", ".join(texts)
