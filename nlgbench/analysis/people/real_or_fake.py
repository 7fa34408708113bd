"""How well annotators tell real from fake, and how many outputs a comparison takes."""

from collections.abc import Sequence
from itertools import product
from typing import Literal

import numpy as np
import pandas as pd
from scipy.stats import norm

from nlgbench.crossed import cluster_jackknife
from nlgbench.inference import linked
from nlgbench.study import Study
from nlgbench.study.checks import checked

TESTS = ("non-inferiority", "equivalence", "difference")


@checked
def accuracy(
    study: Study,
    *,
    rule: Literal["votes", "majority"] = "votes",
    dimension: str | None = None,
    confidence: float = 0.95,
) -> pd.DataFrame:
    """Say how often annotators tell real from fake: in all, by class, and by system.

    Parameters
    ----------
    study : Study
        With judgments that are votes: 1 (real) or 0 (fake).
    rule : {"votes", "majority"}
        ``"votes"``: every vote counts (H1). ``"majority"``: the majority of each output with
        the commonest number of votes counts (H2), which must be odd; others are left out.
    dimension : str, optional
        Which judgments are the votes. Default: the study's quality dimension.
    confidence : float
        Coverage asked for, between 0 and 1.

    Returns
    -------
    DataFrame
        Rows ``all``, ``real`` (human outputs: the true positive rate), ``fake`` (the true negative
        rate) and every system (one that is called ``all`` as ``all (system)``): rule, row, estimate
        (a proportion; for a system lower means more like human), se, ci_low, ci_high, confidence,
        n_clusters, reason, method, n_votes, n_outputs, n_left_out (outputs with another number of
        votes).

    Raises
    ------
    ValueError
        When there are no judgments, the dimension is unknown, a value is no vote, the
        commonest number of votes is even, or an output is in two HITs.

    Notes
    -----
    Intervals are delete-one-cluster jackknives, with t: over HITs, whose outputs have the same
    annotators, or outputs where ``group_id`` is empty. They take other outputs and annotators into
    account; one annotator's votes in several HITs, and a text that stands in several, they do not.
    The rules are those of Table 3 and Figure 2 of Garbacea et al. (2019), doi:10.18653/v1/D19-1409.

    In 500 simulated crowds of each of three layouts (docs/agreement.md) 95% intervals held
    the true value in .94 to .99; trust none near 0 or 1. Those of ``all`` and ``fake`` are wide
    (.97 to .99; standard errors up to a third too large): they take the mix of systems for
    random, and it is not.

    Examples
    --------
    >>> import nlgbench as nb
    >>> study = nb.simulate("crowd", systems=["corrupted_0.5"], n_outputs=50, n_truth=0)
    >>> accuracy(study)[["row", "estimate", "n_votes"]]
                 row  estimate  n_votes
    0            all     0.714      500
    1           real     0.824      250
    2           fake     0.604      250
    3  corrupted_0.5     0.604      250
    """
    frame = judged(study, dimension)
    frame["correct"] = correct_votes(frame)
    frame["n_votes"] = frame.groupby("output_id")["correct"].transform("size")
    frame["used"] = True
    if rule == "majority":
        n_votes = int(frame.drop_duplicates("output_id")["n_votes"].mode().iloc[0])
        if n_votes % 2 == 0:
            raise ValueError(
                f"most outputs have {n_votes} votes: a majority exists of an odd number. Use "
                "rule='votes'."
            )
        frame["used"] = frame["n_votes"] == n_votes
        frame["correct"] = (frame.groupby("output_id")["correct"].transform("mean") > 0.5) * 1.0
        frame = frame.drop_duplicates("output_id")
    else:
        frame["n_votes"] = 1
    rows = []
    for name, chosen in rows_of(frame).items():
        part = frame[chosen & frame["used"]]
        sums = np.column_stack([part["correct"], np.ones(len(part))])
        found = cluster_jackknife(
            sums, part["cluster"], lambda s: s[..., 0] / s[..., 1], confidence=confidence
        )
        found["method"] = "delete-one-cluster jackknife, t"
        counts = {
            "n_votes": int(part["n_votes"].sum()),
            "n_outputs": part["output_id"].nunique(),
            "n_left_out": int((chosen & ~frame["used"]).sum()),
        }
        rows.append({"rule": rule, "row": name} | found | counts)
    return pd.DataFrame(rows)


@checked
def annotator_accuracy(
    study: Study, *, dimension: str | None = None, confidence: float = 0.95
) -> pd.DataFrame:
    """Say how accurate and how credulous every annotator is.

    Parameters
    ----------
    study, dimension
        As in `accuracy`.
    confidence : float
        Coverage asked for, between 0 and 1.

    Returns
    -------
    DataFrame
        Two rows for each annotator, in order of first appearance: annotator_id, quantity, estimate,
        ci_low, ci_high, confidence, n_votes. ``accuracy`` is the share of right votes;
        ``bias`` the share of votes "real" minus the share of human outputs among those judged
        (above 0: credulous).

    Raises
    ------
    ValueError
        As `accuracy`.

    Notes
    -----
    Wilson intervals (1927, doi:10.1080/01621459.1927.10502953), which take an annotator's votes for
    independent; that of the bias is moved by the share of human outputs, which is known.

    Examples
    --------
    >>> import nlgbench as nb
    >>> study = nb.simulate("crowd", systems=["corrupted_0.5"], n_outputs=50, n_truth=0)
    >>> table = annotator_accuracy(study)
    >>> len(table), table["n_votes"].unique().tolist()
    (50, [20])
    """
    from statsmodels.stats.proportion import proportion_confint

    frame = judged(study, dimension)
    frame["correct"] = correct_votes(frame)
    by = frame.groupby("annotator_id", sort=False)
    n = by.size()
    parts = []
    for quantity, column in [("accuracy", "correct"), ("bias", "value")]:
        count = by[column].sum()
        low, high = proportion_confint(count, n, alpha=1 - confidence, method="wilson")
        expected = by["is_human"].mean() if quantity == "bias" else 0.0
        values = {"estimate": count / n - expected, "ci_low": low - expected}
        values |= {"ci_high": high - expected, "confidence": confidence, "n_votes": n}
        parts.append(pd.DataFrame(values).assign(quantity=quantity))
    table = pd.concat(parts).loc[n.index].reset_index()
    names = ["annotator_id", "quantity"]
    return table[names + [name for name in table if name not in names]]


@checked
def outputs_needed(
    *,
    accuracies: Sequence[float] = (0.5, 0.6, 0.7, 0.8, 0.9),
    margins: Sequence[float] = (0.1, 0.15, 0.2),
    alphas: Sequence[float] = (0.025, 0.05),
    powers: Sequence[float] = (0.8, 0.9),
) -> pd.DataFrame:
    """Tabulate how many outputs of each kind it takes to compare two accuracies.

    Parameters
    ----------
    accuracies : sequence of float
        The common accuracy where there is no difference, between 0 and 1.
    margins : sequence of float
        How far apart still counts as comparable; for a difference, how far apart the two are.
    alphas : sequence of float
        Significance level of one side: .025 is the usual .05 of two sides.
    powers : sequence of float
        Probability of the wanted conclusion.

    Returns
    -------
    DataFrame
        A row per assumption: test, accuracy, margin, alpha, power, n_exact, n (rounded up):
        outputs for *each* of the two, one independent vote (or majority) on each.

    Raises
    ------
    ValueError
        When a number is not between 0 and 1.

    Notes
    -----
    ``n = (z_(1-alpha) + z_(1-beta))^2 2 p (1 - p) / margin^2`` for non-inferiority; for
    equivalence beta is halved (both sides must be shown); p is the same in both groups. For a
    difference the two are p and p - margin: ``2 p (1 - p)`` gives way to the sum of both variances
    (Flight and Julious 2016, doi:10.1002/pst.1716, whom section 3.3.1 of Garbacea et al. 2019,
    doi:10.18653/v1/D19-1409, follows; it states alpha = .05 and its result, at least 111, but not
    accuracy, margin or power). Votes on outputs of one HIT are not independent: multiply n by
    the design effect.

    Examples
    --------
    >>> table = outputs_needed(accuracies=[0.5], margins=[0.2], alphas=[0.025], powers=[0.9])
    >>> table[["test", "n"]].to_numpy().tolist()
    [['non-inferiority', 132], ['equivalence', 163], ['difference', 121]]

    Which of the usual assumptions give the paper's 111:

    >>> table = outputs_needed()
    >>> table.loc[table["n"] == 111, ["test", "accuracy", "margin", "alpha", "power"]].values
    array([['non-inferiority', 0.7, 0.2, 0.025, 0.9],
           ['equivalence', 0.7, 0.2, 0.025, 0.8]], dtype=object)
    """
    rows = []
    for test, p, margin, alpha, power in product(TESTS, accuracies, margins, alphas, powers):
        if not all(0 < value < 1 for value in (p, margin, alpha, power)):
            raise ValueError(
                "accuracies, margins, alphas and powers must be between 0 and 1. Got "
                f"{p}, {margin}, {alpha}, {power}."
            )
        beta = (1 - power) / 2 if test == "equivalence" else 1 - power
        other = p - margin if test == "difference" else p
        if other < 0:
            continue  # there is no such accuracy
        variance = p * (1 - p) + other * (1 - other)
        n = float((norm.ppf(1 - alpha) + norm.ppf(1 - beta)) ** 2 * variance / margin**2)
        row = {"test": test, "accuracy": p, "margin": margin, "alpha": alpha, "power": power}
        rows.append(row | {"n_exact": n, "n": int(np.ceil(n))})
    return pd.DataFrame(rows)


def judged(study: Study, dimension: str | None) -> pd.DataFrame:
    """Give a row per judgment with its output; ``cluster``: its HIT, or the output without one.

    HITs that share outputs are one cluster.
    """
    dimension = study.dimension(dimension)
    judgments = study.judgments
    assert judgments is not None
    judgments = judgments[judgments["dimension"] == dimension]
    frame = judgments.merge(study.outputs, on="output_id", validate="many_to_one")
    own = frame["group_id"] == ""
    frame["cluster"] = frame["group_id"].mask(own, "output " + frame["output_id"])
    several = frame.groupby("output_id")["cluster"].transform("nunique") > 1
    if several.any():
        joined = pd.Series(linked(frame["output_id"], frame["cluster"]), frame.index).astype(str)
        frame = frame.assign(cluster=joined, group_id=joined)
    return frame


def rows_of(frame: pd.DataFrame) -> dict[str, pd.Series]:
    """Say which rows are real (human), fake (others) and of each system; ``all`` first.

    A system of such a name is told from the row: ``all (system)``.
    """
    human = frame["is_human"]
    systems = frame.loc[~human, "system"].unique()
    parts = {"all": human | True, "real": human, "fake": ~human}
    named = {name: f"{name} (system)" if name in parts else name for name in systems}
    return parts | {named[name]: ~human & (frame["system"] == name) for name in systems}


def correct_votes(frame: pd.DataFrame) -> pd.Series:
    """Say which votes are right, 1 or 0: real for a human output, fake for any other."""
    bad = ~frame["value"].isin([0, 1])
    if bad.any():
        row = frame[bad].iloc[0]
        raise ValueError(
            f"votes must be 1 (real) or 0 (fake). Annotator {row['annotator_id']!r} gave output "
            f"{row['output_id']!r} {row['value']} (others like it: {int(bad.sum()) - 1}): name the "
            "dimension that holds votes."
        )
    return (frame["value"] == frame["is_human"]).astype("float64")
