"""Words for sentences that a notebook computes, as markdown cannot."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd

from nlgbench.text import same_for_all as same_for_all
from nlgbench.text import span as span


def listed(parts: Iterable[object]) -> str:
    """Join what a sentence lists.

    Parameters
    ----------
    parts : iterable
        What is listed; each is turned into a string.

    Returns
    -------
    str
        ``a, b and c``; "none" where there is nothing.

    Examples
    --------
    >>> listed(["BLEU", "ROUGE", "CIDEr"]), listed([]), listed([1])
    ('BLEU, ROUGE and CIDEr', 'none', '1')
    """
    words = [str(part) for part in parts]
    if not words:
        return "none"
    return " and ".join([", ".join(words[:-1]), words[-1]]) if words[1:] else words[0]


def crew_sentence(truth: pd.DataFrame, *, n_annotators: int) -> str:
    """Say how typical the annotators of a simulated study are, by what they make of HUSE.

    Parameters
    ----------
    truth : DataFrame
        That of `nlgbench.worlds.reviews.review_world`; at least one row.
    n_annotators : int
        Of the study.

    Returns
    -------
    str
        How many do not read beside how many are expected, and the system whose true HUSE with them
        is furthest from the mean over other crews, with these crews' spread.

    Examples
    --------
    >>> row = {"system": "s", "n_careless": 6, "huse": 0.38, "huse_crews": 0.33}
    >>> row |= {"huse_crews_sd": 0.02, "huse_crews_min": 0.31, "huse_crews_max": 0.39}
    >>> print(crew_sentence(pd.DataFrame([row]), n_annotators=20))
    6 of this study's 20 annotators do not read; of as many, 2 are expected.
    Its true HUSE is furthest from that of 20 other crews for s:
    0.38, where theirs is 0.33 on average (standard deviation 0.02, range 0.31 to 0.39).
    """
    from nlgbench.worlds.annotators import CARELESS
    from nlgbench.worlds.reviews import N_CREWS

    at = truth.iloc[int(np.argmax((truth["huse"] - truth["huse_crews"]).abs()))]
    return (
        f"{at['n_careless']} of this study's {n_annotators} annotators do not read; of as many, "
        f"{CARELESS * n_annotators:g} are expected. Its true HUSE is furthest from that of "
        f"{N_CREWS} other crews for {at['system']}: {at['huse']:.2f}, where theirs is "
        f"{at['huse_crews']:.2f} on average (standard deviation {at['huse_crews_sd']:.2f}, range "
        f"{at['huse_crews_min']:.2f} to {at['huse_crews_max']:.2f})."
    )
