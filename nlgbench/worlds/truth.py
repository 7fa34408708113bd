"""Population values of HUSE, for worlds in which the probabilities of all texts are known."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd

from nlgbench.arrays import Floats, Ints
from nlgbench.worlds.annotators import Panel, sum_distribution, typicality

_N_LEVELS = 400  # typicality levels for computing the distribution of judgments


@dataclass(frozen=True, eq=False)
class Draws:
    """Exact probabilities of texts drawn from one class."""

    reference: Floats  # nats per token, which determine typicality
    system: Floats  # nats per token
    human: Floats  # p_ref / (p_ref + p_system) given the context


class _Binned(NamedTuple):
    """Binned texts of both classes, human texts first."""

    human: Floats
    level: Ints  # index of the typicality level
    levels: Floats
    bins: Ints  # bin of the log-probability under the system


def population_scores(reference: Draws, system: Draws, panel: Panel) -> dict[str, float]:
    """Compute L*, HUSE, HUSE-Q and HUSE-D in the limit of infinitely many outputs.

    ``l_star`` = 1 - TV = E[2 min(h, 1 - h)], where h is the exact probability that a text is human,
    over both classes (Hashimoto, Zhang and Liang 2019, eq. 2 and proposition 2,
    doi:10.18653/v1/N19-1169). ``huse`` is twice the error of the optimal classifier by
    log-probability per token and these annotators' mean judgment; ``huse_q`` uses only judgments.
    Probabilities are estimated in bins on one half of the texts, so the small bias is upward.
    """
    return _averaged(_losses(_bin_texts(reference, system), panel))


def _losses(placed: _Binned, panel: Panel) -> dict[str, Floats]:
    """Compute each text's contribution to every score."""
    human, level = placed.human, placed.level
    given_level = sum_distribution(panel, placed.levels)
    loss = {"l_star": 2 * np.minimum(human, 1 - human)}
    half = np.tile(np.arange(len(human) // 2) % 2, 2)
    for name, bins in {"huse": placed.bins, "huse_q": np.zeros_like(placed.bins)}.items():
        says_human = np.empty(len(human))  # probability that the rule predicts human
        for test in (half == 0, half == 1):
            every, of_human = (_cells(bins, level, given_level, w * ~test) for w in (1.0, human))
            rule = (every <= 1e-12) | (of_human >= every / 2)
            says_human[test] = (given_level @ rule.T)[level[test], bins[test]]
        loss[name] = 2 * (human * (1 - says_human) + (1 - human) * says_human)
    loss["huse_d"] = 1 + loss["huse"] - loss["huse_q"]
    return loss


def over_panels(reference: Draws, system: Draws, panels: Sequence[Panel]) -> dict[str, float]:
    """Compute mean, standard deviation and range of the scores over samples of annotators."""
    placed = _bin_texts(reference, system)
    losses = pd.DataFrame(
        {k: v.mean() for k, v in _losses(placed, panel).items()} for panel in panels
    )
    summaries = {"others": losses.mean(), "others_sd": losses.std()}
    summaries |= {"others_min": losses.min(), "others_max": losses.max()}
    names = ("huse", "huse_q", "huse_d")
    return {f"{n}_{end}": float(values[n]) for n in names for end, values in summaries.items()}


def theorem1_bound(reference: Draws, system: Draws, panel: Panel) -> dict[str, float | bool]:
    """Compute the bounds of HUSE from Theorem 1, in the limit of infinitely many outputs.

    ``L* <= L(phi) <= L* + 2 (1 - 2^-I)`` (Hashimoto, Zhang and Liang 2019, appendix A.2,
    doi:10.18653/v1/N19-1169), where ``I = I(z_opt; phi_opt | phi)`` in bits, z_opt is the
    prediction of the optimal classifier ("human" if p_ref > p_model), and phi_opt = [p_ref,
    p_model], so that I is the entropy ``H(z_opt | phi)``. ``disagreement`` is the share of texts
    for which HUSE's rule differs from z_opt. ``huse`` is cross-validated, so ``holds`` is stricter
    than the theorem.
    """
    placed = _bin_texts(reference, system)
    loss, level, bins = _losses(placed, panel), placed.level, placed.bins
    given_level = sum_distribution(panel, placed.levels)
    says_human = placed.human > 0.5 + 1e-9  # rounding must not decide ties
    of_human, of_machine = (
        _cells(bins, level, given_level, weight) for weight in (says_human, ~says_human)
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        bits = [
            np.where(weights > 0, np.log2((of_human + of_machine) / weights), 0)
            for weights in (of_machine, of_human)
        ]
    tables = (of_human > of_machine, *bits)
    guess, *surprise = ((given_level @ table.T)[level, bins] for table in tables)
    values = {name: loss[name] for name in ("l_star", "huse", "huse_q")}
    values["disagreement"] = np.where(says_human, 1 - guess, guess)
    values["information"] = np.where(says_human, surprise[1], surprise[0])
    # The bound is not a mean, so its standard error comes from the delta method.
    share = 2 ** -float(values["information"].mean())
    spread = loss["l_star"] + 2 * np.log(2) * share * values["information"]
    bound: dict[str, float | bool] = {**_averaged(values)}
    bound["upper"] = bound["l_star"] + 2 * (1 - share)
    errors = _averaged({"upper": spread, "slack": spread - loss["huse"]})
    bound["upper_se"] = errors["upper_se"]
    bound["slack"] = bound["upper"] - bound["huse"]
    bound["slack_se"] = errors["slack_se"]
    bound["holds"] = bound["slack"] > -3 * bound["slack_se"] - 1e-9
    return bound


def _averaged(scores: dict[str, Floats]) -> dict[str, float]:
    """Average over texts, of which the first half is human, and add standard errors."""
    means: dict[str, float] = {}
    for name, values in scores.items():
        n = len(values) // 2
        within = values[:n].var(ddof=1) + values[n:].var(ddof=1)
        means |= {name: float(values.mean()), f"{name}_se": float(np.sqrt(within / n) / 2)}
    return means


def _bin_texts(reference: Draws, system: Draws) -> _Binned:
    typical = typicality(np.concatenate([reference.reference, system.reference]))
    levels = np.linspace(typical.min(), typical.max(), _N_LEVELS)
    width = max(levels[1] - levels[0], 1e-12)
    level = np.rint((typical - levels[0]) / width).astype(np.int64)
    human = np.concatenate([reference.human, system.human])
    return _Binned(human, level, levels, _bins(np.concatenate([reference.system, system.system])))


def _cells(bins: np.ndarray, level: np.ndarray, given_level: Floats, weights: np.ndarray) -> Floats:
    """Sum texts' weights by bin and by sum of judgments, using its distribution at each level."""
    shape = (int(bins.max()) + 1, _N_LEVELS)
    cell = np.ravel_multi_index((bins, level), shape)
    weighed = np.bincount(cell, weights=weights, minlength=shape[0] * shape[1])
    return weighed.reshape(shape) @ given_level


def _bins(values: Floats) -> np.ndarray:
    """Return the bin of each value, out of about sqrt(n) equally full bins."""
    finite = np.isfinite(values)
    n_bins = max(2, round(np.sqrt(len(values))))
    if not finite.any():
        return np.zeros(len(values), dtype=np.int64)
    edges = np.unique(np.quantile(values[finite], np.linspace(0, 1, n_bins + 1)[1:-1]))
    return np.where(finite, np.searchsorted(edges, values) + 1, 0)
