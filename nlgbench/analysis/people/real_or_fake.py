"""How well annotators distinguish real from fake texts."""

from typing import Literal

import numpy as np
import pandas as pd

from nlgbench.clustering import cluster_jackknife
from nlgbench.inference import linked
from nlgbench.status import Unsupported
from nlgbench.study import Study
from nlgbench.study.checks import checked


@checked
def accuracy(
    study: Study,
    *,
    rule: Literal["votes", "majority"] = "votes",
    dimension: str | None = None,
    confidence: float = 0.95,
) -> pd.DataFrame:
    """Estimate how often votes on real and fake outputs are correct, by class and by system.

    Parameters
    ----------
    study : Study
        A study with votes as judgments: 1 (real) or 0 (fake).
    rule : {"votes", "majority"}
        ``"votes"``: every vote counts. ``"majority"``: each output counts once, by its
        majority vote, if it has the most frequent number of votes, which must be odd.
    dimension : str, optional
        The dimension with the votes. Default: the study's quality dimension.
    confidence : float
        Confidence level of intervals, between 0 and 1.

    Returns
    -------
    DataFrame
        Rows ``all``, ``real`` (human outputs: the true positive rate), ``fake`` (the true negative
        rate) and every system (a system named ``all`` becomes ``all (system)``): rule, row,
        estimate (a proportion; for a system, lower means more human-like), se, ci_low, ci_high,
        confidence, n_clusters, status (a code; ``ok``), reason (its text), n_votes, n_outputs,
        n_left_out (outputs with a different number of votes).

    Raises
    ------
    ValueError
        When there are no judgments, the dimension is unknown, a value is not 0 or 1, or, for
        ``"majority"``, the most frequent number of votes is even.

    Notes
    -----
    Intervals come from a delete-one-cluster jackknife, with Student's t. Clusters are HITs (whose
    outputs have the same annotators), or outputs where ``group_id`` is empty. Intervals generalize
    to other outputs and annotators, but ignore that an annotator or a text can occur in several
    HITs. The rules are H1 and H2 in Table 3 and Figure 2 of Garbacea et al. (2019,
    doi:10.18653/v1/D19-1409).

    Do not trust intervals near 0 or 1. Those for ``all`` and ``fake`` are wide, because they treat
    the mix of systems as random. docs/validation.md reports coverage.

    Examples
    --------
    >>> import nlgbench as nb
    >>> study = nb.simulate("crowd", systems=["corrupted_0.5"], n_outputs=50, n_truth=0)
    >>> accuracy(study).set_index("row")["estimate"].round(3).to_dict()
    {'all': 0.714, 'real': 0.824, 'fake': 0.604, 'corrupted_0.5': 0.604}
    """
    frame = assign_hits(study, dimension)
    frame["correct"] = correct_votes(frame)
    frame["n_votes"], frame["used"] = 1, True
    if rule == "majority":
        frame["n_votes"] = frame.groupby("output_id")["correct"].transform("size")
        n_votes = int(frame.drop_duplicates("output_id")["n_votes"].mode().iloc[0])
        if n_votes % 2 == 0:
            raise Unsupported(
                "even_votes",
                f"rule='majority' needs an odd number of votes per output. The most frequent "
                f"number is {n_votes}: use rule='votes'.",
            )
        frame["used"] = frame["n_votes"] == n_votes
        frame["correct"] = (frame.groupby("output_id")["correct"].transform("mean") > 0.5) * 1.0
        frame = frame.drop_duplicates("output_id")
    rows = []
    for name, chosen in rows_of(frame).items():
        votes = frame[chosen & frame["used"]]
        sums = np.column_stack([votes["correct"], np.ones(len(votes))])
        interval = cluster_jackknife(
            sums, votes["cluster"], lambda s: s[..., 0] / s[..., 1], confidence=confidence
        )
        counts = {
            "n_votes": int(votes["n_votes"].sum()),
            "n_outputs": votes["output_id"].nunique(),
            "n_left_out": int((chosen & ~frame["used"]).sum()),
        }
        rows.append({"rule": rule, "row": name} | interval | counts)
    return pd.DataFrame(rows)


def assign_hits(study: Study, dimension: str | None) -> pd.DataFrame:
    """Return a row per judgment with its output; ``cluster`` joins HITs that share outputs."""
    frame = study.judged(dimension)
    alone = frame["group_id"] == ""
    frame["cluster"] = frame["group_id"].mask(alone, "output " + frame["output_id"])
    several = frame.groupby("output_id")["cluster"].transform("nunique") > 1
    if several.any():
        joined = pd.Series(linked(frame["output_id"], frame["cluster"]), frame.index).astype(str)
        frame = frame.assign(cluster=joined, group_id=joined)
    return frame


def rows_of(frame: pd.DataFrame) -> dict[str, pd.Series]:
    """Mark the judgments in each row: ``all``, real (human), fake (others), and each system."""
    human = frame["is_human"]
    systems = frame.loc[~human, "system"].unique()
    masks = {"all": human | True, "real": human, "fake": ~human}
    named = {name: f"{name} (system)" if name in masks else name for name in systems}
    return masks | {named[name]: ~human & (frame["system"] == name) for name in systems}


def correct_votes(frame: pd.DataFrame) -> pd.Series:
    """Return 1 for correct votes (real for a human output, fake for others), else 0."""
    bad = ~frame["value"].isin([0, 1])
    if bad.any():
        row = frame[bad].iloc[0]
        raise Unsupported(
            "no_votes",
            f"votes must be 1 (real) or 0 (fake). Annotator {row['annotator_id']!r} gave "
            f"{row['value']:g} to output {row['output_id']!r} (invalid votes in total: "
            f"{int(bad.sum())}). Select the dimension that contains votes.",
        )
    return (frame["value"] == frame["is_human"]).astype("float64")
