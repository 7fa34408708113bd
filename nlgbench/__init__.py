"""Evaluate text generators, and the evaluators that score them.

Analyses take a `Study` as their first argument. Names are loaded on first use: ``dir(nlgbench)``
lists them, and `__init__.pyi` shows their modules.

>>> import nlgbench as nb
>>> study = nb.simulate("gaussian", seed=0)
>>> study
Study 'gaussian' (simulated)
  400 outputs of 3 systems and human texts, 100 items
  8,000 judgments of typicality (-1.416 to 8.638) by 20 annotators, 4 systems, 100 items
  600 log-probabilities under t1.0, t0.7 and t0.5
"""

from __future__ import annotations

import ast as _ast
import importlib as _importlib
from pathlib import Path as _Path

__version__ = "0.3.0"

_WHERE = {
    alias.asname or alias.name: (node.module, alias.name)
    for node in _ast.parse(_Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8")).body
    if isinstance(node, _ast.ImportFrom) and node.module
    for alias in node.names
}
__all__ = [*_WHERE, "__version__"]


def __getattr__(name: str) -> object:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, inner = _WHERE[name]
    found = getattr(_importlib.import_module(module), inner)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_WHERE})
