"""Words for sentences that a notebook computes, as markdown cannot."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd


def listed(parts: Iterable[object]) -> str:
    """Join what a sentence lists.

    >>> listed(["BLEU", "ROUGE", "CIDEr"]), listed([]), listed([1])
    ('BLEU, ROUGE and CIDEr', 'none', '1')
    """
    words = [str(part) for part in parts]
    if not words:
        return "none"
    return " and ".join([", ".join(words[:-1]), words[-1]]) if words[1:] else words[0]


def annotators_sentence(truth: pd.DataFrame, *, n_annotators: int) -> str:
    """Say how typical the annotators of a simulated study are, by what they make of HUSE.

    How many do not read beside how many are expected, and the system whose true HUSE with them is
    furthest from the mean over other samples of annotators, with these samples' spread.

    >>> row = {"system": "s", "n_careless": 6, "huse": 0.38, "huse_crews": 0.33}
    >>> row |= {"huse_crews_sd": 0.02, "huse_crews_min": 0.31, "huse_crews_max": 0.39}
    >>> print(annotators_sentence(pd.DataFrame([row]), n_annotators=20))
    6 of this study's 20 annotators do not read; of as many, 2 are expected.
    Its true HUSE is furthest from that of 20 other samples of annotators for s:
    0.38, where theirs is 0.33 on average (standard deviation 0.02, range 0.31 to 0.39).
    """
    from nlgbench.worlds.annotators import CARELESS
    from nlgbench.worlds.reviews import N_CREWS

    at = truth.iloc[int(np.argmax((truth["huse"] - truth["huse_crews"]).abs()))]
    return (
        f"{at['n_careless']} of this study's {n_annotators} annotators do not read; of as many, "
        f"{CARELESS * n_annotators:g} are expected. Its true HUSE is furthest from that of "
        f"{N_CREWS} other samples of annotators for {at['system']}: {at['huse']:.2f}, where theirs "
        f"is {at['huse_crews']:.2f} on average (standard deviation {at['huse_crews_sd']:.2f}, "
        f"range {at['huse_crews_min']:.2f} to {at['huse_crews_max']:.2f})."
    )


def ties_sentence(scores: pd.DataFrame, moved: pd.DataFrame) -> str:
    """Say what the rule for ties changes.

    How many votes move, and HUSE-Q under both rules where it does.

    >>> row = {"system": "s", "score": "huse_q", "n_neighbors": 16}
    >>> scores = pd.DataFrame([row | {"ties": "exact", "estimate": 0.6}, row])
    >>> scores = scores.fillna({"ties": "released", "estimate": 0.5})
    >>> print(ties_sentence(scores, pd.DataFrame({"output_id": ["o1", "o2"]})))
    At k = 16 the rule moves the vote of 2 outputs, and HUSE-Q of 1 of 1 systems: s 0.600
    (released 0.500).
    """
    quality = scores[scores["score"] == "huse_q"]
    by_rule = quality.pivot(index="system", columns="ties", values="estimate")
    changed = by_rule[(by_rule["exact"] - by_rule["released"]).abs() > 1e-9]
    said = listed(
        f"{row.Index} {row.exact:.3f} (released {row.released:.3f})" for row in changed.itertuples()
    )
    return (
        f"At k = {scores['n_neighbors'].iloc[0]} the rule moves the vote of {len(moved)} outputs, "
        f"and HUSE-Q of {len(changed)} of {len(by_rule)} systems: {said}."
    )
