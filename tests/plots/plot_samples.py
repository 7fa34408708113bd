"""Small tables that figures are drawn of."""

import numpy as np
import pandas as pd

import nlgbench as nb
from nlgbench.analysis.huse import Boundary

SCORES = pd.DataFrame(
    [
        ("summarization", "t = 1.0", 0.58, 0.95, "published"),
        ("summarization", "t = 0.7", 0.92, 0.34, "published"),
        ("LM", "t = 1.0", 0.88, 1.02, "published"),
        ("summarization", "t = 1.0", 0.60, 0.93, "released"),
    ],
    columns=["task", "label", "huse_q", "huse_d", "source"],
)


def tidy(points):
    """Points as `huse` lays out scores, a row each."""
    rows = []
    for n, point in points.reset_index(drop=True).iterrows():
        about = {"system": f"s{n}", **point[["task", "label", "source"]]}
        for score in ("huse", "huse_q", "huse_d"):
            known = point.get(score, point["huse_q"] + point["huse_d"] - 1)
            ends = {f"ci_{end}": point.get(f"{score}_{end}", np.nan) for end in ("low", "high")}
            rows.append({**about, "score": score, "estimate": known, **ends})
    return pd.DataFrame(rows)


def small_boundary():
    """Twenty human outputs and twenty of a system; the line of one half is at -2."""
    rng = np.random.default_rng(0)
    columns = {"logprob_per_token": rng.normal(-2, 1, 40), "judgment": rng.normal(4, 1, 40)}
    outputs = pd.DataFrame(columns).assign(is_human=np.arange(40) % 2 == 0, item_id="i")
    axis = np.linspace(0, 1, 30)
    grid = pd.DataFrame(np.tile(axis, (30, 1)), index=axis * 6 + 1, columns=axis * 6 - 5)
    scores = {"huse": 0.5, "huse_q": 0.6, "huse_d": 0.9}
    return Boundary("lstm_t1.0", "lstm t1.0", "simulated", 16, scores, outputs, grid)


def correlations(n):
    """Made-up correlations of n evaluators, of which the first cell is undefined."""
    rng = np.random.default_rng(n)
    kinds = ["human", "discriminative", "overlap", "diversity"]
    rows = [
        (f"Evaluator {e} (natural labels)", kinds[e % 4], criterion, statistic)
        for e in range(n)
        for criterion in ("H1", "H2")
        for statistic in ("Kendall τ-b", "Spearman", "Pearson")
    ]
    table = pd.DataFrame(rows, columns=["evaluator", "kind", "criterion", "statistic"])
    table["estimate"] = rng.uniform(-1, 1, len(table))
    table["ci_low"] = (table["estimate"] - 0.3).clip(-1)
    table["ci_high"] = (table["estimate"] + 0.2).clip(upper=1)
    table["p_adjusted"] = rng.uniform(0, 0.1, len(table))
    table.loc[0, ["estimate", "ci_low", "ci_high", "p_adjusted"]] = np.nan
    return table


def effects(evaluators=("chrf", "length@sentinel"), studies="abcdefgh", level="output", n=12):
    """Correlations of evaluators in several studies, with intervals."""
    keys = pd.MultiIndex.from_product([evaluators, [*studies]], names=["evaluator", "study"])
    table = keys.to_frame(index=False).assign(granularity=level, n=n, dimension="quality")
    table["estimate"] = np.random.default_rng(0).uniform(0.1, 0.6, len(table))
    table["ci_low"], table["ci_high"] = table["estimate"] - 0.1, table["estimate"] + 0.1
    task = np.where(table["study"] < "d", "first", "x")
    return table.assign(task=task, statistic="spearman", confidence=0.95)


def doubted(n):
    """Correlations of which every fifth is doubtful."""
    table = correlations(n)
    fifth = np.arange(len(table)) % 5 == 0
    return table.assign(status=np.where(fifth, "few_systems", "ok"))


def forest(n):
    """One statistic of n evaluators, with printed values."""
    table = correlations(n).query("criterion == 'H1' and statistic == 'Kendall τ-b'")
    return table.assign(published=table["estimate"] + 0.05)


def rates():
    """Three rates of two evaluators, one of them undefined, with printed values."""
    kinds = ("accuracy", "true positive rate", "true negative rate")
    table = pd.DataFrame({"evaluator": ["H1"] * 3 + ["H2"] * 3, "kind": kinds * 2})
    table["estimate"] = [66.6, 79.0, 54.3, 72.6, np.nan, 57.0]
    table["ci_low"], table["ci_high"] = table["estimate"] - 2, table["estimate"] + 3
    return table.assign(published=[66.0, 79.0, 54.0, 73.0, 88.0, 57.0])


SYSTEMS = pd.DataFrame(
    {
        "system": ["b_1", "a", "c"],
        "estimate": [3.0, 4.0, 1.0],
        "ci_low": [2.5, 3.5, np.nan],
        "ci_high": [3.5, 4.5, np.nan],
        "rank_low": [1.0, 1.0, 3.0],
        "rank_high": [2.0, 2.0, 3.0],
        "status": ["ok", "ok", "few_items"],
        "reason": ["", "", "only 1 item"],
    }
)
PEOPLE = pd.DataFrame({"annotator_id": ["w1", "w2", "w3"], "estimate": [0.1, -0.6, 0.5]})
PEOPLE = PEOPLE.assign(ci_low=[-0.1, -0.8, 0.2], ci_high=[0.3, -0.4, 0.8])
RATINGS = pd.DataFrame(
    {
        "system": ["a", "b", "c", "d"],
        "estimate": [1500.0, 1700.0, 1400.0, np.nan],
        "ci_low": [1450.0, 1650.0, np.nan, np.nan],
        "ci_high": [1550.0, 1800.0, np.nan, np.nan],
    }
)
RATES = pd.DataFrame({"system": [*"abac"], "opponent": [*"baca"]})
RATES["estimate"] = [0.25, 0.75, 0.9, 0.1]
HISTORY = pd.DataFrame({"game": [2, 1, 1, 2], "system": [*"aabb"]})
HISTORY["rating"] = [1600.0, 1550.0, 1450.0, 1400.0]
HISTORY["deviation"] = [200.0, 300.0, 300.0, 200.0]
CURVES = pd.DataFrame(
    {
        "evaluator": ["quality"] * 3 + ["bleu"] * 3,
        "progress": [1.0, 0.5, 0.75, 0.5, 0.75, 1.0],
        "estimate": [3.0, 1.0, 2.0, 0.4, 0.2, 0.1],
        "ci_low": [2.5, 0.5, 1.5, np.nan, np.nan, np.nan],
        "ci_high": [3.5, 1.5, 2.5, np.nan, np.nan, np.nan],
    }
)
CHOSEN = pd.DataFrame({"evaluator": ["quality", "bleu"], "progress": [1.0, 0.5]})
CHOICES = pd.DataFrame(
    {
        "evaluator": ["last_checkpoint"] * 2 + ["bleu"] * 2 + ["comparator"],
        "measure": ["regret", "win_times"] * 2 + ["regret"],
        "estimate": [0.3, 2.0, 0.1, 7.0, np.nan],
        "ci_low": [0.1, 1.0, 0.0, 4.0, np.nan],
        "ci_high": [0.5, 4.0, 0.2, 9.0, np.nan],
        "n": [10, 10, 10, 10, 0],
    }
)
CORRECTED = pd.DataFrame(
    {
        "system": np.repeat(["b_1", "a"], 3),
        "method": ["labels alone", "evaluator alone", "corrected"] * 2,
        "estimate": [3.0, 5.0, 3.2, 1.0, 4.0, np.nan],
        "ci_low": [2.0, 4.9, 2.8, 0.5, 3.9, np.nan],
        "ci_high": [4.0, 5.1, 3.6, 1.5, 4.1, np.nan],
        "labels_saved": [0, np.nan, -3.2, 0, np.nan, np.nan],
    }
)
STABILITY = pd.DataFrame(
    {
        "size": [50, 20, 20, 50],
        "score": ["huse", "huse", "huse_q", "huse_q"],
        "mean": [0.5, 0.7, 0.8, 0.6],
        "ci_low": [0.4, 0.5, 0.6, 0.5],
        "ci_high": [0.6, 0.9, 1.0, 0.7],
    }
).assign(system="lstm", over="outputs", confidence=0.9)
MULTIVERSE = pd.DataFrame({"score": np.repeat(["huse", "huse_q"], 3), "system": "lstm"})
MULTIVERSE["estimate"] = [0.4, 0.5, 0.6, 0.7, 0.8, 0.9]
MULTIVERSE["n_neighbors"], MULTIVERSE["paper"] = [8, 16, 16] * 2, [False, True, False] * 2
TYPICAL = pd.DataFrame({"logprob": [-12.0, -8.0], "logprob_per_token": [-2.0, -1.0]})
TYPICAL = TYPICAL.assign(judgment=[2.0, 4.0], ci_low=[1, 3], ci_high=[3, 4.5], confidence=0.9)
TYPICAL = TYPICAL.assign(text=["a", "b"], source="simulated")


def colored(n=1, *, text="a green that is", hue=(0.0, 120.0, 240.0)):
    """A study of n captions of red, green and blue, and what two listeners believe."""
    outputs = pd.DataFrame({"output_id": [f"o{k}" for k in range(n)], "text": text})
    outputs = outputs.assign(item_id=[f"i{k}" for k in range(n)], system="descriptive")
    context = pd.DataFrame({"state": ["c1", "c2", "c3"], "is_target": [False, True, False]})
    context = context.assign(hue=list(hue), saturation=100.0, lightness=50.0)
    rows = [
        (f"o{k}", state, state == "c2", evaluator, value)
        for evaluator in ("literal_0", "human")
        for k in range(n)
        for state, value in (("c3", 0.1), ("c1", 0.2), ("c2", 0.7))  # not in the context's order
    ]
    names = ["output_id", "state", "is_target", "evaluator", "probability"]
    contexts = context.merge(outputs[["item_id"]], how="cross")
    return nb.Study(outputs, contexts=contexts), pd.DataFrame(rows, columns=names)


def bins():
    """A reliability diagram before and after calibration."""
    rows = [
        (stage, p, p if stage == "after" else 0.5 + (p - 0.5) / 2)
        for stage in ("before", "after")
        for p in np.linspace(0.05, 0.95, 10)
    ]
    table = pd.DataFrame(rows, columns=["stage", "probability", "estimate"])
    table["ci_low"], table["ci_high"] = table["estimate"] - 0.02, table["estimate"] + 0.02
    return table.assign(ece=np.where(table["stage"] == "before", 0.225, 0.0))
