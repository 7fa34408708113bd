"""The color reference game of Monroe et al. (2017), with three colors and one target.

Monroe, Hawkins, Goodman and Potts (2017), doi:10.1162/tacl_a_00064, in the splits that Newman,
Cohn-Gordon and Potts (2020) used to train and test their listeners.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from nlgbench.datasets.color_contexts import context_rows
from nlgbench.study import Study, csv_files, from_rows

RAW_FILES = {split: f"comm-eval/{split}_corpus_monroe.csv" for split in ("train", "dev", "test")}

_ROLES = ("target", "distr1", "distr2")
_PLACES = ("click", "alt1", "alt2")


def read_monroe(path: Path, *, prefix: str = "") -> Study:
    """Read the rounds of one split (15,665, 15,670 and 15,659) as tidy tables.

    Outputs are the speaker's captions; messages of a round are joined by ``~``. ``context`` is the
    condition (close, split, far). ``partner_success`` is 1 if the partner picked the target.
    ``group_id`` is the game. Contexts have hue (0 to 360), saturation and lightness (0 to 100) of
    each color, in an order that hides the target.
    """
    frame, _ = csv_files.parse(path)
    games = {game: f"{prefix}g{n:03d}" for n, game in enumerate(dict.fromkeys(frame["gameid"]), 1)}
    game = frame["gameid"].map(games)
    rounds = game + "_r" + frame["roundNum"].str.zfill(2)
    outputs = pd.DataFrame(
        {
            "output_id": rounds,
            "item_id": rounds,
            "system": "human",
            "text": frame["contents"],
            "is_human": True,
            "context": frame["condition"],
        }
    )
    judgments = pd.DataFrame(
        {
            "output_id": rounds,
            "annotator_id": "partner_" + game,
            "dimension": "partner_success",
            "value": (frame["clickStatus"] == "target").astype(float),
            "group_id": game,
        }
    )
    contexts = context_rows(rounds.tolist(), role_colors(frame))
    return from_rows(outputs=outputs, judgments=judgments, contexts=contexts)


def role_colors(frame: pd.DataFrame) -> np.ndarray:
    """Return the colors of each row in order of their roles: rows x 3 x 3."""
    names = [f"{position}Col{x}" for position in _PLACES for x in "HSL"]
    colors = frame[names].to_numpy(dtype="float64").reshape(-1, 3, 3)
    statuses = frame[[f"{position}Status" for position in _PLACES]].to_numpy(dtype=object)
    index = np.stack([(statuses == role).argmax(axis=1) for role in _ROLES], axis=1)
    return np.take_along_axis(colors, index[:, :, None], axis=1)
