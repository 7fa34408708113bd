"""The comm-eval release: good, vague and wrong color captions, and listeners' choices.

Newman, Cohn-Gordon and Potts (2020), Communication-based Evaluation for Natural Language
Generation, Proceedings of SCiL 3, arXiv:1909.07290.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from nlgbench.datasets.color_contexts import context_rows
from nlgbench.datasets.monroe import role_colors
from nlgbench.study import Study, csv_files, from_rows

RAW_FILE = "comm-eval/clean_data.csv"

#: System -> quality, higher is better.
QUALITY = {"descriptive": 3, "ambiguous": 2, "misleading": 1}

# Listeners, of three, who must find the target for a descriptive caption to be kept.
_MAJORITY = 2
# Captions with this number or higher come from the games.
_FIRST_GAME = 10


def read_comm_eval(path: Path, *, filtered: bool = True) -> Study:
    """Read the comm-eval release, with the paper's filter or without it.

    The ``system`` (see `QUALITY`) is the intended quality: 1,912 descriptive, 1,343 ambiguous and
    1,909 misleading captions of 360 contexts such as ``ci7.1``. In its twin ``ci7.0``, the target
    and the first distractor are exchanged; a misleading caption describes the twin. ``item_id`` is
    the context, or for 405 game captions about other colors one such as ``ci7.1/2``. References are
    the kept descriptive captions of the context.

    ``listener_success`` is 1 if a listener picked the target, ``twin_picked`` if the twin's target.
    Crowd captions have three listeners, which are positions, not individuals; game captions have
    one ``partner_success``, always 1. ``group_id`` is the pair of contexts.

    The filter reproduces the paper's counts. It keeps a descriptive caption from a game, or if 2 of
    3 listeners found the target; an ambiguous one that has a listener and differs from all kept
    descriptions of its context; and a misleading one, unless it equals such a description and the
    file labels the context far.
    """
    captions, judgments = _captions(path)
    described = captions["kind"] != "ambiguous"
    from_game = captions["kind"] == "game"
    captions["system"] = np.where(described, "descriptive", "ambiguous")
    captions["passes"] = described & (from_game | (captions["n_found"] >= _MAJORITY))
    references = captions[captions["passes"]]
    twins = captions[described].assign(
        system="misleading",
        output_id=captions["output_id"] + "-twin",
        context=captions["context"].map(lambda name: name[:-1] + str(1 - int(name[-1]))),
    )
    # A misleading caption is shown with the colors of its new context's first description.
    first = captions[described].sort_values("number", kind="stable").drop_duplicates("context")
    twins["colors"] = twins["context"].map(first.set_index("context")["colors"])
    outputs = pd.concat([captions[described], captions[~described], twins], ignore_index=True)
    described_as = set(zip(references["context"], references["plain"], strict=True))
    keys = zip(outputs["context"], outputs["plain"], strict=True)
    repeats = [key in described_as for key in keys]
    ambiguous = outputs["system"] == "ambiguous"
    far = (outputs["system"] == "misleading") & (outputs["condition"] == "far")
    outputs["passes"] |= ambiguous & (outputs["n_listeners"] > 0)
    outputs["passes"] &= ~((ambiguous | far) & np.array(repeats))
    # Crowd captions have the lowest numbers and show the context's own colors.
    distinct = outputs.sort_values("number", kind="stable")[["context", "colors"]].drop_duplicates()
    nth = distinct.groupby("context").cumcount() + 1
    distinct["item_id"] = distinct["context"] + ("/" + nth.astype("str")).where(nth > 1, "")
    outputs = outputs.merge(distinct, how="left", on=["context", "colors"], validate="many_to_one")
    if filtered:
        outputs = outputs[outputs["passes"]]
    items = outputs.drop_duplicates("item_id")
    references = items[["item_id", "context"]].merge(
        references.rename(columns={"output_id": "reference_id"}), on="context"
    )
    judgments = judgments[judgments["output_id"].isin(outputs["output_id"])]
    colors = np.array(items["colors"].tolist())
    return from_rows(
        outputs=outputs,
        judgments=judgments,
        references=references,
        contexts=context_rows(items["item_id"].tolist(), colors),
        settings={"annotators": "positions"},
    )


def _captions(path: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return one row per caption, and all judgments."""
    frame, _ = csv_files.parse(path)
    number = frame["contextNum"].astype(int)
    from_game = number >= _FIRST_GAME
    between = pd.Series(np.where(from_game, "-m", "-"), dtype="str")
    rows = pd.DataFrame(
        {
            "output_id": frame["contextId"] + between + frame["contextNum"].str.zfill(2),
            "context": frame["contextId"],
            "group_id": frame["contextId"].str[:-2],
            "number": number,
            "kind": frame["quality"].mask(from_game, "game"),
            "condition": frame["condition"],
            "text": frame["contents"],
            "is_human": True,
            "plain": frame["contents"].str.lower().str.strip(),
            "colors": [tuple(map(tuple, three)) for three in role_colors(frame).tolist()],
        }
    )
    # Captions without listeners also have three rows, with empty click positions.
    rows["heard"] = frame["clickLocL"] != ""
    rows["found"] = rows["heard"] & (frame["clickStatus"] == "target")
    captions = rows.groupby("output_id", sort=False).first()
    captions["n_listeners"] = rows.groupby("output_id")["heard"].sum()
    captions["n_found"] = rows.groupby("output_id")["found"].sum()

    nth = rows.groupby("output_id").cumcount() + 1
    rows["annotator_id"] = ("l" + nth.astype("str")).mask(from_game, "partner")
    rows["dimension"] = pd.Series("listener_success", rows.index).mask(from_game, "partner_success")
    rows["value"] = rows["found"].astype(float)
    by_crowd = rows[~from_game].assign(dimension="twin_picked")
    by_crowd["value"] = (frame["clickStatus"] == "distr1").astype(float)
    judgments = pd.concat([rows, by_crowd])
    return captions.reset_index(), judgments[judgments["heard"]]


def pairs(outputs: pd.DataFrame) -> pd.Series:
    """Return each output's pair of contexts, which is the cluster to resample."""
    return outputs["item_id"].str.partition(".")[0]
