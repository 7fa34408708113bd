"""The color reference game of Monroe et al. (2017): three colors, one of them the target.

Monroe, Hawkins, Goodman and Potts (2017), doi:10.1162/tacl_a_00064, in the splits that Newman,
Cohn-Gordon and Potts (2020) trained and tested their listeners on.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd

from nlgbench import csv_files, schema
from nlgbench.datasets import cache
from nlgbench.datasets.color_contexts import LIMITS, context_rows
from nlgbench.study import Study, trusted

Split = Literal["train", "dev", "test"]
RAW_FILES: dict[str, str] = {
    split: f"comm-eval/{split}_corpus_monroe.csv" for split in ("train", "dev", "test")
}

_ROLES = ("target", "distr1", "distr2")
_PLACES = ("click", "alt1", "alt2")


def load_monroe(split: Split) -> Study:
    """Load the rounds of one split as tidy tables.

    Parameters
    ----------
    split : {"train", "dev", "test"}
        Monroe et al.'s own splits: 15,665, 15,670 and 15,659 rounds. The captions and colors of
        ``comm-eval`` come from dev.

    Returns
    -------
    Study
        ``outputs``: the speaker's caption of every round, whether or not the partner found the
        target; several messages of a round are one text, joined by ``~`` as released. ``context``
        is the condition that the file states (close, split, far). ``judgments``:
        ``partner_success`` is 1 where the partner picked the target, else 0; ``group_id`` is the
        game, whose speaker and partner stay the same. ``contexts``: hue (0 to 360), saturation and
        lightness (0 to 100) of each color; ``c1`` to ``c3`` are in order of hue, which does
        not know the target. Games are ``train_g001``, ... in order of appearance.

    Raises
    ------
    ValueError
        For another split.
    DataUnavailableError
        If the file is not in the cache.
    DataCorruptError
        If it is not the released file.

    Notes
    -----
    The file names speakers only, and some not at all, so a partner is named after the game and may
    occur under several names. A few people speak in more than one split.

    Examples
    --------
    >>> load_monroe("valid")
    Traceback (most recent call last):
    ValueError: no split 'valid': there are train, dev, test.
    """
    if split not in RAW_FILES:
        raise ValueError(f"no split {split!r}: there are {', '.join(RAW_FILES)}.")
    return read_monroe(cache.path(RAW_FILES[split]), prefix=f"{split}_")


def read_monroe(path: Path, *, prefix: str = "") -> Study:
    """Read a file laid out as the Monroe rounds of the comm-eval release."""
    frame, lines = csv_files.parse(path)
    names = ["gameid", "roundNum", "condition", "outcome", "contents"]
    colors = role_colors(frame, lines, path, needs=names)
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
    return trusted(
        outputs=schema.check(outputs, "outputs", source=path),
        judgments=schema.check(judgments, "judgments", source=path),
        contexts=context_rows(rounds.tolist(), colors, source=path),
    )


def role_colors(
    frame: pd.DataFrame, lines: Sequence[int], path: Path, *, needs: Sequence[str] = ()
) -> np.ndarray:
    """Read the colors of each row by their role in it."""
    roles = [f"{place}Status" for place in _PLACES]
    parts = [[f"{place}Col{letter}" for letter in "HSL"] for place in _PLACES]
    wanted = [*needs, *roles, *(name for part in parts for name in part)]
    missing = [name for name in wanted if name not in frame]
    if missing:
        raise schema.TableError(
            f"{path} has no column {missing[0]!r} (columns missing: {len(missing)}): it is not a "
            "file of the comm-eval release; get it anew with `nlgbench fetch comm-eval`."
        )

    numbers = {}
    for name in (name for part in parts for name in part):
        numbers[name], bad, rule = csv_files.convert(frame[name], "float")
        limit = LIMITS["HSL".index(name[-1])]
        bad = bad | ~numbers[name].between(0, limit).to_numpy()
        _refuse(frame, bad, [name], f"it must be a number from 0 to {limit:g}", lines, path)
    found = frame[roles].to_numpy(dtype=object)
    rule = f"each of {', '.join(_ROLES)} must stand once"
    for role in _ROLES:
        _refuse(frame, (found == role).sum(axis=1) != 1, roles, rule, lines, path)
    if "outcome" in needs:
        bad = ~frame["outcome"].isin(("True", "False")).to_numpy()
        _refuse(frame, bad, ["outcome"], "it must be True or False", lines, path)
    colors = np.stack(
        [np.stack([numbers[name] for name in part], axis=1) for part in parts], axis=1
    )
    place = np.stack([(found == role).argmax(axis=1) for role in _ROLES], axis=1)
    return np.take_along_axis(colors, place[:, :, None], axis=1)


def _refuse(
    frame: pd.DataFrame,
    bad: np.ndarray,
    names: Sequence[str],
    rule: str,
    lines: Sequence[int],
    path: Path,
) -> None:
    if bad.any():
        row = int(bad.argmax())
        found = ", ".join(f"{name}={frame[name].iloc[row]!r}" for name in names)
        raise schema.TableError(
            f"{path}, row {row + 1} (line {lines[row]}): {found}; {rule}. Get the file anew."
        )
