"""Which two outputs meet: to learn from, by three kinds of supervision, and to be compared.

Two outputs make a pair where their contexts are equal. Where texts answer to nothing, so that
every context is empty, any two do. Pairs are drawn alike from all that there are, without
replacement; equal texts are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from nlgbench.study import Study
from nlgbench.study.checks import checked, read_table
from nlgbench.text import text_key

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
#: From rows of texts to probabilities.
Predict = Callable[[pd.DataFrame], Floats]
Kind = Literal["strong", "weak", "human"]

#: Texts of a row: of one side, or of two.
SIDES = ["context_a", "text_a", "context_b", "text_b"]
#: Of training, that checkpoints must be apart, and from which on they are almost converged.
_LEAST_MARGIN, _CONVERGED = 0.1, 0.8
COLUMNS = ["supervision", "item_id", "output_a", "output_b", *SIDES, "outcome", "margin"]


@checked
def supervise(
    study: Study,
    *,
    kinds: Sequence[Kind] = ("strong", "human"),
    checkpoints: pd.DataFrame | None = None,
    held_out: Study | None = None,
    dimension: str | None = None,
    threshold: float = 0.5,
    n: int = 4_000,
    seed: int | np.random.Generator = 0,
) -> pd.DataFrame:
    """Draw pairs of texts for a comparator to learn from.

    Parameters
    ----------
    study : Study
        Training outputs only, as `nlgbench.split` gives them.
    kinds : sequence of {"strong", "weak", "human"}
        ``"strong"``: a human text (an output, or a reference where the study has them) beats a
        machine's, and two texts of one source tie. ``"weak"``: a later checkpoint of a model beats
        an earlier one. ``"human"``: of two machine outputs that with the higher mean judgment.
    checkpoints : DataFrame, optional
        What the checkpoints of models wrote, for weak supervision: the columns of ``outputs``, a
        system per checkpoint, and ``model`` and ``progress`` (share of its training done, 0 to 1).
    held_out : Study, optional
        What is to be judged: pairs that hold one of its texts (case and white space do not count)
        are left out, as when a model writes "i don't know", too.
    dimension : str, optional
        Of the judgments; higher must be better. Default: the quality dimension.
    threshold : float
        Mean judgments that differ by this or less tie.
    n : int
        Pairs of each kind; twice as many human ones; fewer where there are not so many.
    seed : int or Generator
        Where the random numbers come from.

    Returns
    -------
    DataFrame
        A row per pair, kind after kind: supervision, item_id (output a's), output_a, output_b,
        context_a, text_a, context_b, text_b, outcome (``better``: a is; ``tie``), margin (of weak
        pairs the difference of progress, by which training goes from wide to narrow; else NaN).

    Raises
    ------
    ValueError
        For an unknown name, a number out of range, or when a kind has no pair.

    Notes
    -----
    Zhou and Xu (2020, section 3.1, doi:10.1609/aaai.v34i05.6521). Of strong pairs half are human
    against machine, a quarter human against human, a quarter of one machine system. Weak pairs are
    at least .1 of the training apart, and not both past .8, where they are almost converged (a
    convention; the paper gives no number). Leniency of annotators who judged different outputs is
    not taken out. Which text stands first teaches nothing: training shows both orders.

    Examples
    --------
    >>> from nlgbench.worlds.simulated import simulate
    >>> world = {"systems": ["bigram_t1.0", "grammar_t0.5"], "n_truth": 0}
    >>> study = simulate("reviews", **world)
    >>> study = study.replace(outputs=study.outputs.assign(context=""))
    >>> supervise(study, n=100).groupby("supervision").size().to_dict()
    {'human': 200, 'strong': 100}
    """
    if n < 1:
        raise ValueError(f"n must be at least 1. Got {n}.")
    rng = np.random.default_rng(seed)
    parts = []
    if "strong" in kinds:
        parts.append(strong_pairs(_with_references(study), n=n, seed=rng))
    if "weak" in kinds:
        if checkpoints is None:
            raise ValueError("weak supervision needs checkpoints=: the texts that they wrote.")
        needed = "system:text model:text progress:float output_id:text item_id:text text:text"
        checkpoints = read_table(checkpoints, needed, "checkpoints have")
        steps = check_checkpoints(checkpoints)
        parts.append(weak_pairs(checkpoints, steps, n=n, seed=rng))
    if "human" in kinds:
        dimension = study.dimension(dimension)
        machine = study.outputs[~study.outputs["is_human"]].reset_index(drop=True)
        options = {"dimension": dimension, "threshold": threshold, "n": 2 * n}
        parts.append(human_pairs(machine, study.judgments, **options, seed=rng))  # type: ignore[arg-type]
    pairs = pd.concat(parts, ignore_index=True)
    if held_out is not None:
        kept_back = set(held_out.outputs["text"].map(text_key))
        a, b = (pairs[side].map(text_key).isin(kept_back) for side in ("text_a", "text_b"))
        pairs = pairs[~a & ~b]
    return pairs.reset_index(drop=True)


def _with_references(study: Study) -> pd.DataFrame:
    """Add the references of a study's items to its outputs, as people's."""
    if study.references is None:
        return study.outputs
    items = study.outputs.drop_duplicates("item_id").set_index("item_id")["context"]
    own = study.references[study.references["item_id"].isin(items.index)]
    own = own.assign(
        output_id=own["item_id"] + "-reference-" + own["reference_id"],
        system="human",
        is_human=True,
        context=own["item_id"].map(items),
    )
    return pd.concat([study.outputs, own], ignore_index=True)


def strong_pairs(outputs: pd.DataFrame, *, n: int, seed: int | np.random.Generator) -> pd.DataFrame:
    """Draw pairs in which a human text beats a machine's, and two of one source tie.

    The paper draws a machine's ties from one checkpoint of one model, so here they come from one
    system: where each has one output per context there are none.
    """
    rng = np.random.default_rng(seed)
    source = np.where(outputs["is_human"], "", "m" + outputs["system"])
    human = outputs["is_human"].to_numpy(dtype=bool)
    parts = [
        paired(outputs, *draw_between(outputs, human, ~human, n // 2, rng), "better"),
        paired(outputs, *draw_within(outputs, human, source, n // 4, rng), "tie"),
        paired(outputs, *draw_within(outputs, ~human, source, n // 4, rng), "tie"),
    ]
    if parts[0].empty:
        raise ValueError(
            "no human text has the context of a machine text, so none is known to be better. Add "
            "human outputs (such as references) for the contexts of the machines' outputs."
        )
    return pd.concat(parts, ignore_index=True).assign(supervision="strong")[COLUMNS]


def weak_pairs(
    outputs: pd.DataFrame,
    checkpoints: pd.DataFrame,
    *,
    n: int,
    seed: int | np.random.Generator,
) -> pd.DataFrame:
    """Draw pairs in which a later checkpoint beats an earlier one, evenly over two checkpoints."""
    rng = np.random.default_rng(seed)
    two = checkpoints.merge(checkpoints, on="model", suffixes=("", "_before"))
    # Progress is a decimal fraction: .8 - .7 must count as .1.
    two["margin"] = (two["progress"] - two["progress_before"]).round(9)
    two = two[(two["margin"] >= _LEAST_MARGIN) & (two["progress_before"] < _CONVERGED)]
    parts = []
    for (system, before), (margin,) in two.groupby(["system", "system_before"])["margin"]:
        later, earlier = (outputs["system"] == name for name in (system, before))
        drawn = draw_between(outputs, later, earlier, -(-n // len(two)), rng)
        parts.append(paired(outputs, *drawn, "better").assign(margin=margin))
    if sum(map(len, parts)) == 0:
        raise ValueError(
            f"no two of the {len(checkpoints)} checkpoints can be compared: of one model, "
            f"{_LEAST_MARGIN} apart, not both past {_CONVERGED}, with outputs of equal "
            "context. Save more checkpoints, earlier in training, and sample from each."
        )
    return pd.concat(parts, ignore_index=True).assign(supervision="weak")[COLUMNS]


def human_pairs(
    outputs: pd.DataFrame,
    judgments: pd.DataFrame,
    *,
    dimension: str,
    threshold: float,
    n: int,
    seed: int | np.random.Generator,
) -> pd.DataFrame:
    """Draw pairs in which the output with the higher mean judgment is better."""
    if not threshold >= 0:
        raise ValueError(f"threshold must be 0 or more, in units of judgments. Got {threshold}.")
    rng = np.random.default_rng(seed)
    chosen = judgments[judgments["dimension"] == dimension]
    mean = chosen.groupby("output_id")["value"].mean()
    quality = outputs["output_id"].map(mean).to_numpy(dtype=np.float64)
    one, other = draw_within(outputs, ~np.isnan(quality), np.zeros(len(outputs)), n, rng)
    if not len(one):
        raise ValueError(
            "no two judged outputs have equal contexts: check that judgments are of these outputs, "
            f"as {outputs['output_id'].iloc[0]!r}."
        )
    gap = quality[one] - quality[other]
    better, worse = np.where(gap >= 0, one, other), np.where(gap >= 0, other, one)
    pairs = paired(outputs, better, worse, "better")
    pairs["outcome"] = np.where(abs(gap) <= threshold + 1e-9, "tie", "better")
    return pairs.assign(supervision="human")[COLUMNS]


def check_checkpoints(table: pd.DataFrame) -> pd.DataFrame:
    """Give a row per checkpoint, system, model and progress, in order of appearance."""
    steps = table[["system", "model", "progress"]].drop_duplicates(ignore_index=True)
    wrong = steps["system"].duplicated() | ~steps["progress"].between(0, 1)
    if wrong.any():
        row = steps[wrong].iloc[0]
        raise ValueError(
            "each checkpoint must have one model and one share of training done, from 0 to 1. Got "
            f"system {row['system']!r} with progress {row['progress']}."
        )
    return steps


def system_pairs(
    outputs: pd.DataFrame, *, n_per_pair: int, seed: int | np.random.Generator
) -> pd.DataFrame:
    """Draw output_a and output_b so that every two systems meet equally often, either first."""
    rng = np.random.default_rng(seed)
    table = outputs[~outputs["is_human"]]
    parts = [np.empty((0, 2), dtype=np.int64)]
    for two in combinations(sorted(table["system"].unique()), 2):
        one, other = (table["system"].eq(name) for name in two)
        parts.append(np.column_stack(draw_between(table, one, other, n_per_pair, rng)))
    a, b = rng.permuted(np.concatenate(parts), axis=1).T
    if not len(a):
        raise ValueError(
            "no two systems have different texts for one context, so nothing can be compared. Give "
            "outputs of two systems or more, on the same contexts."
        )
    return _ids(table, a, table, b)


def output_pairs(
    outputs: pd.DataFrame, *, n_pairs: int, seed: int | np.random.Generator
) -> pd.DataFrame:
    """Draw pairs of outputs, whatever their systems and contexts; no two meet twice."""
    n = len(outputs)
    rng = np.random.default_rng(seed)
    number = rng.choice(n * (n - 1) // 2, n_pairs, replace=False)
    # Pairs with the larger place j begin at number j (j - 1) / 2.
    later = ((1 + np.sqrt(1 + 8 * number.astype(np.float64))) / 2).astype(np.int64)
    sides = rng.permuted(np.column_stack([number - later * (later - 1) // 2, later]), axis=1)
    return _ids(outputs, sides[:, 0], outputs, sides[:, 1])


def reference_pairs(
    outputs: pd.DataFrame, *, n_references: int, seed: int | np.random.Generator
) -> pd.DataFrame:
    """Pair every output with the same machine outputs (output_b), but none with itself."""
    machine = outputs[~outputs["is_human"]]
    rng = np.random.default_rng(seed)
    drawn = np.sort(rng.choice(len(machine), n_references, replace=False))
    scored, reference = (grid.ravel() for grid in np.indices((len(outputs), n_references)))
    pairs = _ids(outputs, scored, machine, drawn[reference])
    return pairs[pairs["output_a"] != pairs["output_b"]].reset_index(drop=True)


def _ids(table_a: pd.DataFrame, a: Ints, table_b: pd.DataFrame, b: Ints) -> pd.DataFrame:
    output_a, output_b = table_a["output_id"].to_numpy(), table_b["output_id"].to_numpy()
    return pd.DataFrame({"output_a": output_a[a], "output_b": output_b[b]})


def draw_between(
    table: pd.DataFrame, left: ArrayLike, right: ArrayLike, n: int, rng: np.random.Generator
) -> tuple[Ints, Ints]:
    """Draw a row of `left` and one of `right` that have one context; no row is of both."""
    context = pd.factorize(table["context"])[0]
    others = np.flatnonzero(np.asarray(right))
    others = others[np.argsort(context[others], kind="stable")]
    rows = np.flatnonzero(np.asarray(left))
    first, last = (
        np.searchsorted(context[others], context[rows], side) for side in ("left", "right")
    )
    return _draw(table, rows, others, first, last, n, rng)


def draw_within(
    table: pd.DataFrame, mask: ArrayLike, kind: ArrayLike, n: int, rng: np.random.Generator
) -> tuple[Ints, Ints]:
    """Draw two rows of `mask`, of one `kind` and one context."""
    key = pd.DataFrame({"context": table["context"], "kind": kind})
    group = key.groupby(["context", "kind"]).ngroup().to_numpy()
    rows = np.flatnonzero(np.asarray(mask))
    rows = rows[np.argsort(group[rows], kind="stable")]
    last = np.searchsorted(group[rows], group[rows], "right")
    return _draw(table, rows, rows, np.arange(1, len(rows) + 1), last, n, rng)


def _draw(
    table: pd.DataFrame,
    rows: Ints,
    others: Ints,
    first: Ints,
    last: Ints,
    n: int,
    rng: np.random.Generator,
) -> tuple[Ints, Ints]:
    """Draw from all pairs of a row with ``others[first:last]``, numbered one after another."""
    ends = np.cumsum(last - first)
    total = int(ends[-1]) if len(ends) else 0
    # A few more than asked for: those of equal texts are then left out.
    number = rng.choice(total, min(total, n + n // 4 + 10), replace=False)
    at = np.searchsorted(ends, number, "right")
    one, other = rows[at], others[last[at] - (ends[at] - number)]
    text = table["text"].to_numpy()
    differ = np.flatnonzero(text[one] != text[other])[:n]
    return one[differ], other[differ]


def paired(table: pd.DataFrame, a: Ints, b: Ints, outcome: str) -> pd.DataFrame:
    """Lay out pairs of rows: item_id (output a's), ids, contexts and texts, outcome, margin."""
    pairs = table[["item_id"]].iloc[a].reset_index(drop=True)
    for side, rows in (("a", a), ("b", b)):
        for name in ("output_id", "context", "text"):
            called = f"{name.removesuffix('_id')}_{side}"
            pairs[called] = table[name].to_numpy()[rows]
    return pairs.assign(outcome=outcome, margin=np.nan)


def sides(rows: pd.DataFrame) -> tuple[pd.DataFrame, list[Ints]]:
    """List the distinct context and text of rows, sorted, and each side's places among them."""
    names = [side for side in ("a", "b") if f"text_{side}" in rows]
    both = pd.concat(
        rows[[f"context_{side}", f"text_{side}"]].set_axis(["context", "text"], axis=1)
        for side in names
    )
    group = both.groupby(["context", "text"], sort=True)
    found = group.ngroup().to_numpy().reshape(len(names), len(rows))
    texts = both.drop_duplicates().sort_values(["context", "text"], ignore_index=True)
    return texts, list(found)
