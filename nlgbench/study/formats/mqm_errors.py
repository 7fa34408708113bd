"""Errors marked in translations, as WMT publishes them."""

from __future__ import annotations

import pandas as pd

from nlgbench.study import column_names

_WEIGHTS = {"critical": "25", "major": "5", "minor": "1", "neutral": "0", "no-error": "0"}


def mqm(frame: pd.DataFrame) -> column_names.Specs:
    """Map errors as WMT publishes them: a row per error, weighed as Freitag et al. (2021) do.

    doi:10.1162/tacl_a_00437: by severity and category.
    """
    known = column_names.recognized(list(frame.columns))
    names = [one for one in ("output_id", "system", "annotator_id") if one in known]
    columns: dict[str, str] = {name: known[name] for name in names}
    plain = {column_names.plain_name(name): name for name in frame.columns}
    constants = {"dimension": "mqm"}
    if {"doc", "seg_id"} <= set(plain):
        constants["item_id"] = f"{{{plain['doc']}}}/{{{plain['seg_id']}}}"
    elif "item_id" in known:
        columns["item_id"] = known["item_id"]
    severity, category = known.get("severity", "severity"), known.get("category")
    constants["value"] = f"{{{severity}}}/{{{category}}}" if category else f"{{{severity}}}/"
    weights = {"*/Non-translation*": "25"}
    for name in pd.unique(frame.get(severity, pd.Series(dtype="str"))):
        if name.lower() == "minor":
            weights[f"{name}/Fluency/Punctuation"] = "0.1"
        if name.lower() in _WEIGHTS:
            weights[f"{name}/*"] = _WEIGHTS[name.lower()]
    spec = {"columns": columns, "constants": constants, "values": {"value": weights}, "sum": "true"}
    return {"judgments": spec}
