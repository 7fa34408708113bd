"""What is summed over games, each of which depends on two outputs (or their items), varies how."""

from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.stats import t

from nlgbench.names import known

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Clusters = Literal["items", "outputs", "games"]
#: With fewer clusters than this, intervals carry a reason.
FEW = 6


def check_clusters(clusters: str, outputs: pd.DataFrame | None) -> None:
    """Refuse clusters that are unknown, or not known here.

    Parameters
    ----------
    clusters : str
        One of `Clusters`.
    outputs : DataFrame or None
        Table ``outputs``, where there is one.

    Raises
    ------
    ValueError
        With the way out.
    """
    known(clusters, ["items", "outputs", "games"], "clusters")
    if clusters == "outputs" and outputs is None:
        raise ValueError(
            "clusters='outputs' needs to know whose they are: pass the table outputs, or take "
            "clusters='items' or 'games'."
        )


def sides(played: pd.DataFrame, clusters: Literal["items", "outputs"]) -> tuple[Ints, Ints]:
    """Give numbers to the items, or the outputs, of both sides of each game.

    Parameters
    ----------
    played : DataFrame
        As `games.games` gives it, of one dataset.
    clusters : {"items", "outputs"}
        Which.

    Returns
    -------
    tuple of (ndarray of int, ndarray of int)
        The cluster of output a, and of output b.
    """
    name = clusters.removesuffix("s")
    both = pd.concat([played[f"{name}_a"], played[f"{name}_b"]])
    one, other = pd.factorize(both)[0].reshape(2, -1)
    return one, other


def covariance(scores: csr_array, shares: csr_array, one: Ints, other: Ints) -> Floats:
    """Estimate the covariance of a sum of scores over games that share outputs.

    Parameters
    ----------
    scores : sparse array of shape (n_games, k)
        What is summed. It must not depend on which of the two outputs is called a.
    shares : sparse array of shape (n_games, k)
        Each game's share of the information on each of the k parameters.
    one, other : ndarray of int of shape (n_games,)
        The clusters of both sides, as from `sides`; equal where both outputs are of one.

    Returns
    -------
    ndarray of shape (k, k)
        A difference of two sums of squares, so its diagonal can be negative. NaN for a parameter on
        which one cluster has all the information.

    Notes
    -----
    Aronow, Samii and Assenova (2015, section 3, doi:10.1093/pan/mpv018): ``sum_c u_c u_c' -
    sum_{c < d} u_cd u_cd'``, u_c the sum of the scores of all games that cluster c is in, u_cd of
    those between c and d, which stand in both. Where every game is within one cluster it is the
    usual cluster variance; where no cluster is on both sides, that clustered in two ways (Cameron,
    Gelbach and Miller 2011, doi:10.1198/jbes.2010.07136).

    The fit has moved toward each cluster, the more so the more it holds of the information. So each
    entry of u is divided by one minus the share that its games hold of that parameter's: to first
    order what changes when they are left out, as with the jackknife (Bell and McCaffrey 2002,
    *Survey Methodology* 28(2), for clusters of one kind). A factor n / (n - 1) knows
    nothing of items that stand on both sides: with 10 and 20 of them coverage of 95% intervals was
    .91 and .92, and is .95 with shares (six systems, 500 and more simulations).

    Examples
    --------
    x meets y twice and z once: (1 + 2 + 3)^2 + (1 + 2)^2 + 3^2 - (1 + 2)^2 - 3^2.

    >>> scores = csr_array(np.array([[1.0], [2.0], [3.0]]))
    >>> covariance(scores, 0 * scores, np.array([0, 1, 0]), np.array([1, 0, 2])).tolist()
    [[36.0]]
    """
    own, shared = _sums(scores, shares, one, other)
    return (own.T @ own - shared.T @ shared).toarray()


def _sums(
    scores: csr_array, shares: csr_array, one: Ints, other: Ints
) -> tuple[csr_array, csr_array]:
    """Sum adjusted scores by cluster, and by pair of different clusters."""
    n = len(one)
    game, between = np.arange(n), np.flatnonzero(one != other)
    low, high = np.minimum(one, other)[between], np.maximum(one, other)[between]
    code = low.astype(np.int64) * (high.max(initial=0) + 1) + high
    pair = np.unique(code, return_inverse=True)[1]

    def adjusted(label: Ints, of: Ints) -> csr_array:
        shape = (int(label.max(initial=-1)) + 1, n)
        to_sums = csr_array((np.ones(len(of)), (label, of)), shape=shape)
        total, share = to_sums @ scores, csr_array(to_sums @ shares)
        left = 1 - share.data
        share.data = share.data / np.where(left > 1e-9, left, np.nan)
        return csr_array(total + total.multiply(share))

    own = adjusted(np.append(one, other[between]), np.append(game, between))
    return own, adjusted(pair, between)


def n_clusters(group: Ints, cluster: Ints) -> Ints:
    """Count the different clusters of each group.

    Parameters
    ----------
    group : ndarray of int
        0, 1, ...; each occurs.
    cluster : ndarray of int of the same shape
        As from `sides`.

    Returns
    -------
    ndarray of int
        One number for each group.
    """
    size = cluster.max() + 1
    return np.bincount(np.unique(group * size + cluster) // size)


def rate_intervals(
    group: Ints, score: Floats, one: Ints, other: Ints, *, level: float, clusters: str
) -> pd.DataFrame:
    """Put intervals around win rates that hold for other outputs of the two sides.

    Parameters
    ----------
    group : ndarray of int of shape (n_games,)
        Whose rate each game counts for: 0, 1, ...; each occurs.
    score : ndarray of shape (n_games,)
        1 where the first side wins, 0 where it loses, .5 for a tie.
    one, other : ndarray of int of shape (n_games,)
        The clusters of the first side's output and of the other's, as from `sides`.
    level : float
        Coverage asked for, between 0 and 1.
    clusters : str
        What the clusters are, for `reason`.

    Returns
    -------
    DataFrame
        A row per group: win_rate, ci_low, ci_high, n_clusters (of the side that has fewer), reason.

    Notes
    -----
    Wilson's interval (1927, doi:10.1080/01621459.1927.10502953) with the effective number of games
    ``n* = r (1 - r) / V`` in place of their number (Franco, Little, Louis and Slud 2019,
    doi:10.1093/jssam/smy019), r the rate and V its variance by `covariance`, and with Student's t
    with n - 1 degrees of freedom, n the clusters of the side that has fewer. Where all games end
    alike there is no V, and n* is n; `reason` says so.
    """
    n_games = np.bincount(group)
    rate = np.bincount(group, score) / n_games
    at = (np.arange(len(group)), group)
    rest = csr_array(((score - rate[group]) / n_games[group], at))
    own, shared = _sums(rest, csr_array((1 / n_games[group], at)), one, other)
    variance = own.power(2).sum(axis=0) - shared.power(2).sum(axis=0)
    least = np.minimum(n_clusters(group, one), n_clusters(group, other))
    spread = rate * (1 - rate)
    flat = ~np.isnan(variance) & ((variance <= 0) | (spread <= 0))
    with np.errstate(divide="ignore", invalid="ignore"):
        effective = np.where(flat, least, spread / variance)
        q = t.ppf(0.5 + level / 2, least - 1)
    low, high = wilson(rate, effective, q)
    name = clusters.removesuffix("s")
    reason = np.select(
        [np.isnan(low), least < FEW, flat],
        [
            f"one {name} is in all games, so there is no interval",
            [f"few {clusters}: {number}" for number in least],
            [f"games do not differ enough: the interval is that of {n} games" for n in least],
        ],
        "",
    )
    return pd.DataFrame(
        {"win_rate": rate, "ci_low": low, "ci_high": high, "n_clusters": least, "reason": reason}
    )


def wilson(rate: Floats, n: Floats, quantile: Floats | float) -> tuple[Floats, Floats]:
    """Put Wilson's interval around rates of n games.

    Parameters
    ----------
    rate : ndarray
        Between 0 and 1.
    n : ndarray
        Games, or the effective number of them; positive.
    quantile : float or ndarray
        Of the normal or of Student's distribution, for the upper end.

    Returns
    -------
    tuple of (ndarray, ndarray)
        The lower and the upper ends, between 0 and 1.

    Examples
    --------
    >>> low, high = wilson(np.array([0.5]), np.array([10]), 1.959964)
    >>> low.round(4).tolist(), high.round(4).tolist()
    ([0.2366], [0.7634])
    """
    weight = quantile**2 / n
    middle = (rate + weight / 2) / (1 + weight)
    half = np.sqrt(weight * (rate * (1 - rate) + weight / 4)) / (1 + weight)
    return np.clip(middle - half, 0, rate), np.clip(middle + half, rate, 1)
