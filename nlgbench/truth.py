"""What HUSE is in the population, where the probabilities of all texts are known."""

from dataclasses import dataclass

import numpy as np
from scipy.special import expit
from scipy.stats import binom

from nlgbench.annotators import Crew, Floats, sum_distribution, typicality

_N_LEVELS = 400  # levels of typicality at which the distribution of judgments is computed


@dataclass(frozen=True, eq=False)
class Draws:
    """Texts drawn from one class, as their exact probabilities.

    Attributes
    ----------
    reference, system : ndarray of shape (n,)
        Log-probability per token (nats) under the reference, as annotators see it, and under the
        system.
    human : ndarray of shape (n,)
        ``p_ref / (p_ref + p_system)`` given the context: the probability that the text is human.
    """

    reference: Floats
    system: Floats
    human: Floats


def probability_human(logprob_ref: Floats, logprob_system: Floats) -> Floats:
    """Give the posterior of "human", when each class has a probability of one half.

    Parameters
    ----------
    logprob_ref, logprob_system : ndarray of shape (n,)
        Nats, whole text; not both minus infinity.

    Returns
    -------
    ndarray of shape (n,)
        Between 0 and 1.

    Examples
    --------
    >>> probability_human(np.log([0.3, 0.2]), np.array([np.log(0.1), -np.inf])).round(3).tolist()
    [0.75, 1.0]
    """
    return np.asarray(expit(logprob_ref - logprob_system))


def vote_error(human: Floats, votes_human: Floats) -> Floats:
    """Give twice the error of a rule at texts, in expectation over who wrote them.

    Parameters
    ----------
    human : ndarray
        Probability that the text is human.
    votes_human : ndarray
        Probability that the rule says so.

    Returns
    -------
    ndarray
        0 to 2.
    """
    return 2 * (human * (1 - votes_human) + (1 - human) * votes_human)


def _majority(human: Floats, n_neighbors: int) -> Floats:
    """Probability that independent neighbors, human with these probabilities, vote human or tie."""
    return np.asarray(binom.sf((n_neighbors + 1) // 2 - 1, n_neighbors, human))


def population_scores(
    reference: Draws, system: Draws, crew: Crew, *, n_neighbors: int = 16
) -> dict[str, float]:
    """Compute L*, HUSE, HUSE-Q and HUSE-D in the limit of infinitely many outputs.

    Parameters
    ----------
    reference, system : Draws
        Equally many texts of each class, drawn independently. The more, the better the estimates.
    crew : Crew
        Who judges every output.
    n_neighbors : int
        k of the limits ``*_16``.

    Returns
    -------
    dict
        For each of ``l_star``, ``l_star_limit``, ``huse``, ``huse_limit``, ``huse_q``, ``huse_d``
        the value (higher is better), and under ``<name>_se`` its Monte Carlo standard error.

    Raises
    ------
    ValueError
        When the two classes do not have equally many texts, at least 2 each.

    Notes
    -----
    ``l_star`` = 1 - TV = E[2 min(h, 1 - h)], where h is the exact probability that a text is
    human and the mean is over both classes (Hashimoto, Zhang and Liang 2019, eq. 2 and proposition
    2, doi:10.18653/v1/N19-1169). ``huse`` and ``huse_q`` are twice the error of the best rule that
    sees the log-probability per token under the system together with this crew's mean judgment, or
    the latter alone. ``_limit`` is twice the error of a vote of k neighbors that are each human
    with exactly the probability at the text's place, a tie saying human: what k-NN tends to as
    outputs get dense, where no two share their features.

    The probability of "human" given features is the mean of h over texts with these features. It
    takes bins of the log-probability with equally many texts, and in each the exact distribution
    of the crew's ratings. It is learned on one half of the texts and its error measured on the
    other, both ways, so noise and bins can raise ``huse`` and ``huse_q`` a little but not lower
    them.
    """
    n = len(reference.human)
    if n != len(system.human) or n < 2:
        raise ValueError(
            "population_scores needs equally many texts of both classes, at least 2 each. "
            f"Got {n} and {len(system.human)}."
        )
    human = np.concatenate([reference.human, system.human])
    typical = typicality(np.concatenate([reference.reference, system.reference]))
    levels = np.linspace(typical.min(), typical.max(), _N_LEVELS)
    width = max(levels[1] - levels[0], 1e-12)
    level = np.rint((typical - levels[0]) / width).astype(np.int64)
    given_level = sum_distribution(crew, levels)
    half = np.concatenate([np.arange(n) % 2, np.arange(n) % 2])
    likelihood = _bins(np.concatenate([reference.system, system.system]))

    loss = {
        "l_star": 2 * np.minimum(human, 1 - human),
        "l_star_limit": vote_error(human, _majority(human, n_neighbors)),
    }
    for name, bins in {"huse": likelihood, "huse_q": np.zeros_like(likelihood)}.items():
        best, vote = np.empty(2 * n), np.empty(2 * n)
        for side in (0, 1):
            learn, test = half != side, half == side
            shape = (int(bins.max()) + 1, _N_LEVELS)
            place = np.ravel_multi_index((bins, level), shape)
            size = shape[0] * shape[1]
            every = np.bincount(place[learn], minlength=size).reshape(shape) @ given_level
            of_human = np.bincount(place[learn], weights=human[learn], minlength=size)
            with np.errstate(invalid="ignore"):
                share = of_human.reshape(shape) @ given_level / every
            share = np.clip(np.where(every > 1e-12, share, 0.5), 0, 1)
            at = (level[test], bins[test])
            best[test] = (given_level @ (share >= 0.5).T)[at]
            vote[test] = (given_level @ _majority(share, n_neighbors).T)[at]
        loss[name] = vote_error(human, best)
        if name == "huse":
            loss["huse_limit"] = vote_error(human, vote)
    loss["huse_d"] = 1 + loss["huse"] - loss["huse_q"]
    scores = {}
    for name, values in loss.items():
        scores[name] = float(values.mean())
        within = values[:n].var(ddof=1) + values[n:].var(ddof=1)
        scores[f"{name}_se"] = float(np.sqrt(within / n) / 2)
    return scores


def _bins(values: Floats) -> np.ndarray:
    """Give each value its bin: about the square root of n bins, equally full."""
    finite = np.isfinite(values)
    n_bins = max(2, round(np.sqrt(len(values))))
    if not finite.any():
        return np.zeros(len(values), dtype=np.int64)
    edges = np.unique(np.quantile(values[finite], np.linspace(0, 1, n_bins + 1)[1:-1]))
    return np.where(finite, np.searchsorted(edges, values) + 1, 0)
