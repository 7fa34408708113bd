"""Parts of messages about wrong names and values, such as the nearest valid name."""

from __future__ import annotations

import difflib
import importlib
from collections import Counter
from collections.abc import Iterable, Sequence

#: The most characters of a value that a message quotes.
_WIDEST = 80
#: The most characters of two names that are compared, which takes quadratic time.
_COMPARED = 200


class UsageError(ValueError):
    """An invalid request, which is reported before anything starts."""


def did_you_mean(name: object, choices: Iterable[str]) -> str:
    """Suggest the choice whose spelling is closest to a name; of several, the first."""
    start = str(name)[:_COMPARED]
    ratio = {one: difflib.SequenceMatcher(None, one[:_COMPARED], start).ratio() for one in choices}
    best = max(ratio, key=lambda one: ratio[one], default="")
    return f" Did you mean {best!r}?" if ratio.get(best, 0) >= 0.5 else ""


def unknown(name: object, choices: Iterable[str]) -> str:
    """Report that a name is unknown, and list the choices."""
    listed = list(choices)
    valid = ", ".join(listed) or "none"
    return f"{str(name)!r} is unknown.{did_you_mean(name, listed)} Available: {valid}."


def known(name: str, choices: Sequence[str], what: str) -> str:
    """Return a name if it is one of the choices, or raise an error."""
    if name not in choices:
        raise ValueError(f"{what}: {unknown(name, choices)}")
    return name


def spaced(names: Iterable[object]) -> dict[str, str]:
    """Replace underscores in names with spaces, except where two names would become equal.

    >>> spaced(["word_lstm", "a_b", "a b"])
    {'word_lstm': 'word lstm', 'a_b': 'a_b', 'a b': 'a b'}
    """
    plain = {str(name): str(name).replace("_", " ") for name in names}
    counts = Counter(plain.values())
    return {name: text if counts[text] == 1 else name for name, text in plain.items()}


def brief(value: object) -> str:
    """Format a value for a message, and shorten a long one."""
    is_single = getattr(value, "shape", None) == ()  # a NumPy scalar, whose repr includes its type
    if hasattr(value, "shape") and not is_single:
        return f"a {type(value).__name__}"  # its repr is a table
    text = repr(value.item() if is_single else value)  # type: ignore[attr-defined]
    if "\n" in text:
        return f"a {type(value).__name__}"
    return text if len(text) <= _WIDEST else f"{text[:_WIDEST]}..."


def require_extra(what: str, extra: str, *modules: str) -> None:
    """Import modules that an extra installs, or raise an error that names the extra."""
    for module in modules:
        try:
            importlib.import_module(module)
        except ImportError as error:
            raise OSError(
                f"{what} needs {error.name}, which is not installed: pip install "
                f"'nlgbench[{extra}]'."
            ) from None
