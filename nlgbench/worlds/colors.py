"""Color games with known probabilities: contexts, captions, listeners, and truth."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.random import Generator

from nlgbench.arrays import Seed
from nlgbench.datasets.color_contexts import NEAR, context_rows
from nlgbench.study import Study, from_rows
from nlgbench.worlds.color_speech import draw_contexts, palette, speak
from nlgbench.worlds.tables import crossed_rows, judgment_rows, numbered, output_rows

_CAPTIONS_PER_QUALITY = 5
_N_LISTENERS, _LAPSE = 3, 0.1  # listeners per caption; probability of a random pick
# Columns for the three colors of a caption's context: color numbers, and probabilities.
_COLORS, _LITERAL, _IDEAL = (
    [f"{name}_{position}" for position in range(3)] for name in ("color", "literal", "ideal")
)


def _picks(success: np.ndarray, n: int, rng: Generator) -> np.ndarray:
    """Draw n listeners' picks for each caption: captions x n, numbers 0 to 2."""
    return (success.cumsum(axis=1)[:, None, :2] < rng.random((len(success), n, 1))).sum(axis=-1)


def color_world(
    *, n_contexts: int = 120, n_rounds: Mapping[str, int] | None = None, seed: Seed
) -> Study:
    """Simulate the color game, with captions of three qualities and their listeners.

    Contexts come in twins: the same three colors with the target and the first distractor
    exchanged; twins without an understood caption are left out. Each caption has three listeners,
    who pick at random in a tenth of cases. Tables are as in the comm-eval release. Dimension
    ``fresh_success`` has new listeners' picks for every kept caption. ``related`` has rounds for
    training. Apart from twins, no two contexts have the same colors. ``truth["states"]`` has each
    state's probabilities for a literal and an ideal listener, and one with random lapses
    (``success``).

    A caption's fit to a color is the product of its parts' fits (`color_speech`). The literal
    listener's ``L0(c | u)``, for color c and caption u, is proportional to the fit. A speaker with
    belief ``b`` says ``u`` with probability proportional to ``exp(RATIONALITY * (sum_c b(c) log
    L0(c | u) - WORD_COST * words))`` (Newman et al. 2020, eq. 1): in the target, or equally in it
    and the nearest distractor (ambiguous). The ideal listener applies Bayes' rule to the
    descriptive speaker (Frank and Goodman 2012, doi:10.1126/science.1218633).
    """
    n_rounds = {"train": 3000, "dev": 500, "test": 500} if n_rounds is None else n_rounds
    if n_contexts < 2 or n_contexts % 2:
        raise ValueError(f"n_contexts must be an even number, at least 2. Got {n_contexts}.")
    if min(n_rounds.values(), default=1) < 1:
        raise ValueError(f"every split of n_rounds needs at least one round. Got {dict(n_rounds)}.")
    rng = np.random.default_rng(seed)
    for_study, for_listeners, *for_rounds = rng.spawn(2 + len(n_rounds))
    used: set[frozenset[int]] = set()
    captions = _captions(draw_contexts(n_contexts // 2, used=used, seed=for_study), for_study)
    tables = _study(captions, for_listeners)
    rounds = {}
    for (name, n), round_seed in zip(n_rounds.items(), for_rounds, strict=True):
        rounds[name] = _rounds(name, draw_contexts(n, used=used, seed=round_seed), round_seed)
    settings = {"quality": "listener_success"}
    return from_rows(**tables, name="colors", source="simulated", related=rounds, settings=settings)


def _captions(triples: np.ndarray, rng: Generator) -> pd.DataFrame:
    """Draw captions of two speakers of each kind per context, and score them in the twin, too."""
    apart = palette().apart
    beliefs = np.zeros((len(triples), 4, 3))
    for member in range(2):
        distractors = [position for position in range(3) if position != member]
        target = triples[:, member]
        nearest = np.argmin(apart[target[:, None], triples[:, distractors]], axis=1)
        beliefs[:, member, member] = 1
        beliefs[:, 2 + member, member] = 0.5
        beliefs[np.arange(len(triples)), 2 + member, np.array(distractors)[nearest]] = 0.5
    spoken, literal, ideal = speak(triples, beliefs, n_captions=_CAPTIONS_PER_QUALITY, seed=rng)
    pair, speaker, nth = np.indices(spoken.shape).reshape(3, -1)
    rows = pd.DataFrame({"pair": pair, "member": speaker % 2, "number": 2 * nth + speaker // 2})
    rows["system"] = np.where(speaker < 2, "descriptive", "ambiguous")
    rows["text"] = spoken.ravel()
    rows["source_id"] = _item(rows) + "-" + rows["number"].astype("str").str.zfill(2)
    rows[_COLORS] = triples[pair]
    rows[_LITERAL] = literal.reshape(-1, 3)
    rows[_IDEAL] = ideal.reshape(-1, 3)
    twins = rows[rows["system"] == "descriptive"].assign(system="misleading")
    twins["member"] = 1 - twins["member"]
    rows = pd.concat([rows, twins]).sort_values(["pair", "number"], kind="stable")
    rows["output_id"] = rows["source_id"] + np.where(rows["system"] == "misleading", "-twin", "")
    return rows.assign(item_id=_item(rows)).reset_index(drop=True)


def _item(rows: pd.DataFrame) -> pd.Series:
    return "ci" + rows["pair"].astype("str") + "." + rows["member"].astype("str")


def _study(rows: pd.DataFrame, rng: Generator) -> dict[str, Any]:
    """Draw listeners' picks, keep captions by the paper's rules, and draw new listeners' picks."""
    heard = rows[rows["system"] != "misleading"].reset_index(drop=True)
    picks = _picks(_success(heard), _N_LISTENERS, rng)
    is_target = picks == heard[["member"]].to_numpy()
    described = (heard["system"] == "descriptive").to_numpy()
    understood = heard["source_id"][described & (2 * is_target.sum(axis=1) > _N_LISTENERS)]
    chosen = rows["source_id"].isin(understood) | (rows["system"] == "ambiguous")
    references = rows[chosen & (rows["system"] == "descriptive")]
    described_as = set(zip(references["item_id"], references["text"], strict=True))
    keys = zip(rows["item_id"], rows["text"], strict=True)
    repeats = np.array([key in described_as for key in keys])
    triples = rows[_COLORS].to_numpy()
    far = palette().apart[triples[:, 0], triples[:, 1]] >= NEAR
    chosen &= ~(repeats & (rows["system"] == "ambiguous"))
    chosen &= ~(repeats & (rows["system"] == "misleading") & far)
    complete = references.groupby("pair")["member"].nunique() == 2
    rows = rows[chosen & rows["pair"].isin(complete.index[complete])]
    references = references[references["output_id"].isin(rows["output_id"])]
    fresh = _picks(_success(rows), _N_LISTENERS, rng)
    values = {
        "listener_success": (heard, "l", is_target),
        "twin_picked": (heard, "l", picks == 1 - heard[["member"]].to_numpy()),
        "fresh_success": (rows, "f", fresh == rows[["member"]].to_numpy()),
    }
    judgments = pd.concat(_judgments(*arguments, name) for name, arguments in values.items())
    judgments = judgments[judgments["output_id"].isin(rows["output_id"])]
    outputs = rows.assign(is_human=True, context=rows["item_id"])
    references = references.assign(reference_id=references["output_id"])
    items = rows.drop_duplicates("item_id")
    return {
        "outputs": outputs,
        "references": references,
        "judgments": judgments,
        "contexts": context_rows(items["item_id"].tolist(), _target_first(items)),
        "truth": {"states": _truth(rows)},
    }


def _judgments(rows: pd.DataFrame, letter: str, values: np.ndarray, dimension: str) -> pd.DataFrame:
    listeners = numbered(letter, _N_LISTENERS, 1)
    group = np.repeat("ci" + rows["pair"].astype("str").to_numpy(), _N_LISTENERS)
    return crossed_rows(rows["output_id"], values.astype(float), dimension, listeners, group)


def _rounds(split: str, triples: np.ndarray, rng: Generator) -> Study:
    """Simulate rounds with one descriptive caption each."""
    beliefs = np.broadcast_to(np.eye(3)[:1], (len(triples), 1, 3))
    spoken, literal, ideal = speak(triples, beliefs, n_captions=1, seed=rng)
    ids = [f"{split}_r{n:05d}" for n in range(1, len(triples) + 1)]
    rows = pd.DataFrame({"output_id": ids, "member": 0})
    rows[_COLORS], rows[_LITERAL], rows[_IDEAL] = triples, literal[:, 0, 0], ideal[:, 0, 0]
    outputs = output_rows(ids, ids, "human").assign(text=spoken[:, 0, 0], is_human=True)
    outputs["context"] = np.resize(["close", "split", "far"], len(triples)).astype(object)
    picked = _picks(_success(rows), 1, rng)[:, 0]
    partners = [f"partner_{name}" for name in ids]
    judgments = judgment_rows(ids, partners, (picked == 0).astype(float), "partner_success")
    return from_rows(
        outputs=outputs,
        judgments=judgments,
        contexts=context_rows(ids, _target_first(rows)),
        name=f"colors:{split}",
        source="simulated",
        truth={"states": _truth(rows)},
    )


def _success(rows: pd.DataFrame) -> np.ndarray:
    return (1 - _LAPSE) * rows[_IDEAL].to_numpy() + _LAPSE / 3


def _target_first(rows: pd.DataFrame) -> np.ndarray:
    """Return the colors of each row, target first: n x 3 x 3."""
    order = np.array([[0, 1, 2], [1, 0, 2]])[rows["member"]]
    return palette().hsl[np.take_along_axis(rows[_COLORS].to_numpy(), order, axis=1)]


def _truth(rows: pd.DataFrame) -> pd.DataFrame:
    order = np.argsort(rows[_COLORS].to_numpy(), axis=1)
    table = pd.DataFrame({"output_id": np.repeat(rows["output_id"].to_numpy(), 3)})
    table["state"] = np.tile(["c1", "c2", "c3"], len(rows))
    table["is_target"] = (order == rows[["member"]].to_numpy()).ravel()
    columns = {"literal": rows[_LITERAL].to_numpy(), "ideal": rows[_IDEAL].to_numpy()}
    for name, values in (columns | {"success": _success(rows)}).items():
        table[name] = np.take_along_axis(values, order, axis=1).ravel()
    return table
