"""The nearest right name, and a value in brief, for messages about a wrong one."""

from __future__ import annotations

import difflib
import importlib
from collections import Counter
from collections.abc import Iterable, Sequence

#: Characters of a value that a message quotes.
_WIDEST = 80


def did_you_mean(name: object, choices: Iterable[str]) -> str:
    """Suggest the choice that is spelt most like a name, of several the first that is given."""
    ratio = {one: difflib.SequenceMatcher(None, one, str(name)).ratio() for one in choices}
    best = max(ratio, key=lambda one: ratio[one], default="")
    return f" Did you mean {best!r}?" if ratio.get(best, 0) >= 0.5 else ""


def unknown(name: object, choices: Iterable[str]) -> str:
    """Say in words that a name is none of the choices."""
    listed = list(choices)
    there = ", ".join(listed) or "none"
    return f"{str(name)!r} is unknown.{did_you_mean(name, listed)} There are: {there}."


def known(name: str, choices: Sequence[str], what: str) -> str:
    """Return a name that is among the choices."""
    if name not in choices:
        raise ValueError(f"{what}: {unknown(name, choices)}")
    return name


def spaced(names: Iterable[object]) -> dict[str, str]:
    """Write names with spaces for underscores, except where two would become one.

    >>> spaced(["word_lstm", "a_b", "a b"])
    {'word_lstm': 'word lstm', 'a_b': 'a_b', 'a b': 'a b'}
    """
    plain = {str(name): str(name).replace("_", " ") for name in names}
    counts = Counter(plain.values())
    return {name: text if counts[text] == 1 else name for name, text in plain.items()}


def brief(value: object) -> str:
    """Write a value for a message, cut where it is long."""
    is_single = getattr(value, "shape", None) == ()  # NumPy's numbers, whose repr names their type
    if hasattr(value, "shape") and not is_single:
        return f"a {type(value).__name__}"  # whose repr is a table
    text = repr(value.item() if is_single else value)  # type: ignore[attr-defined]
    return text if len(text) <= _WIDEST else f"{text[:_WIDEST]}..."


def require_extra(what: str, extra: str, *modules: str) -> None:
    """Import what an extra installs, or name the extra that `what` needs."""
    for module in modules:
        try:
            importlib.import_module(module)
        except ImportError as error:
            raise OSError(
                f"{what} needs {error.name}, which is not installed: pip install "
                f"'nlgbench[{extra}]'."
            ) from None
