"""The nearest right name, for messages about a wrong one."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence


def did_you_mean(name: object, choices: Iterable[str]) -> str:
    """Suggest the choice that is spelt most like a name.

    Parameters
    ----------
    name : object
        What was asked for.
    choices : iterable of str
        What there is.

    Returns
    -------
    str
        A sentence that begins with a space; empty where no choice is near.

    Examples
    --------
    >>> did_you_mean("hues", ["huse", "usr"]), did_you_mean("x", ["huse"])
    (" Did you mean 'huse'?", '')
    """
    near = difflib.get_close_matches(str(name), list(choices), n=1, cutoff=0.5)
    return f" Did you mean {near[0]!r}?" if near else ""


def known(name: str, choices: Sequence[str], what: str) -> str:
    """Return a name that is among the choices.

    Parameters
    ----------
    name : str
        What was asked for.
    choices : sequence of str
        What there is.
    what : str
        What is chosen, for the message.

    Returns
    -------
    str
        The name.

    Raises
    ------
    ValueError
        When it is unknown, with the nearest.

    Examples
    --------
    >>> known("holm", ["holm", "bh"], "method")
    'holm'
    >>> known("hol", ["holm", "bh"], "method")
    Traceback (most recent call last):
    ValueError: method: 'hol' is unknown. Did you mean 'holm'? There are: holm, bh.
    """
    if name not in choices:
        hint = did_you_mean(name, choices)
        raise ValueError(f"{what}: {name!r} is unknown.{hint} There are: {', '.join(choices)}.")
    return name
