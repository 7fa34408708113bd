"""Newman, Cohn-Gordon and Potts (2020), SCiL 3, arXiv:1909.07290: answers to its claims.

The authors' released listeners answer the printed numbers. We also train new listeners, which show
what the method can reach; they are not compared with printed numbers.
"""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Mapping
from itertools import product
from typing import Any, Literal

import numpy as np
import pandas as pd

from nlgbench.analysis.correlation import compare_evaluators, correlate
from nlgbench.datasets.comm_eval import QUALITY, pairs
from nlgbench.datasets.public import load
from nlgbench.datasets.published import load_printed
from nlgbench.evaluators import names
from nlgbench.evaluators.listeners.listeners import Calibration, Listener, beliefs, calibration
from nlgbench.evaluators.score import score
from nlgbench.inference import bootstrap_mean
from nlgbench.papers.claim_rows import claim_prefix, claim_rows, is_release, smaller_than
from nlgbench.status import Unsupported
from nlgbench.study import Study, from_rows, schema, with_tables
from nlgbench.study.study import part_of

#: The kinds of listeners, in the order of figures.
KINDS = ("literal", "pragmatic", "context")
#: The authors' own listeners.
RELEASED = ("literal@released", "pragmatic@released")
#: Overlap metrics of Table 1, except METEOR, which needs Java.
OVERLAP = (*(f"bleu_{n}@coco" for n in range(1, 5)), "rouge_l", "cider_d")
#: Evaluators to compare with the ensemble.
SHOWN = (*RELEASED, *(f"{kind}_0" for kind in KINDS))
SHOWN += ("bleu_1@coco", "rouge_l", "cider_d", "meteor")

_LABELS = {
    **dict(zip(RELEASED, ("Literal (authors')", "Pragmatic (authors')"), strict=True)),
    **{f"{kind}_0": kind.capitalize() for kind in KINDS},
    **{f"bleu_{n}@coco": f"BLEU-{n}" for n in range(1, 5)},
    "cider_d": "CIDEr",
}
#: Annotator and dimension of judgments that are a caption's intended quality.
_DESIGN = {"annotator_id": "design", "dimension": "quality"}
# Evaluator -> row of Table 1, in its order (Human is first).
_ROWS = {name: name.replace("@released", "_listener") for name in RELEASED}
_ROWS |= {"bleu_1@coco": "bleu_1", "rouge_l": "rouge_l", "meteor": "meteor", "cider_d": "cider"}


def designed(study: Study) -> Study:
    """Use captions' intended quality as judgments of them.

    The systems must be descriptive, ambiguous and misleading; other studies are returned unchanged.
    The new judgments have the dimension ``quality`` (3, 2, 1; higher is better) and the annotator
    ``design``, and are grouped by pair of contexts. Evaluators get the paper's labels.
    """
    outputs = study.outputs
    quality = outputs["system"].map(QUALITY)
    if quality.isna().any():
        return study
    design = outputs.assign(value=quality, group_id=pairs(outputs), **_DESIGN)
    design = schema.typed(design, "judgments")
    judgments = design if study.judgments is None else pd.concat([study.judgments, design])
    study = study.replace(judgments=judgments)
    labels = {**_LABELS, **study.labels}
    return with_tables(study, settings={**study.settings, "quality": "quality", "labels": labels})


def as_systems(study: Study) -> Study:
    """Treat human captions as systems' outputs, for tests between evaluators."""
    return study.replace(outputs=study.outputs.assign(is_human=False))


def wording(study: Study) -> Study:
    """Prepare captions for overlap metrics as in the paper: lower case, no quotation marks.

    Outputs get a column ``half``: the quality and the context's position in its pair. CIDEr counts
    document frequencies within each half.
    """
    outputs = study.outputs
    member = outputs["context"].str.rpartition(".")[2]
    half = outputs["system"] + member
    outputs = outputs.assign(text=_normalize_texts(outputs["text"]), half=half)
    references = study.references
    if references is not None:
        references = references.assign(text=_normalize_texts(references["text"]))
    study = with_tables(study, outputs=outputs, references=references, scores=None)
    extra = [*study.settings.get("extra", ()), "half"]
    return with_tables(study, settings={**study.settings, "extra": extra})


def score_wording(study: Study, *, meteor: bool = False) -> Study:
    """Score captions by overlap with the other descriptive captions of their context.

    Uses the metrics of `OVERLAP` on captions prepared by `wording`, and METEOR if requested and if
    Java and pycocoevalcap are installed. A study without references is returned unchanged.
    """
    if study.references is None:
        return study
    has_java = importlib.util.find_spec("pycocoevalcap") and shutil.which("java")
    metrics = [*OVERLAP, *(["meteor"] if meteor and has_java else [])]
    options = {"cider_d": {"group": "half"}}
    scored = score(wording(study), metrics, options=options, keep=True)
    return study.replace(scores=scored.scores)


def _normalize_texts(texts: pd.Series) -> pd.Series:
    return texts.str.lower().str.replace('"', "", regex=False).str.strip()


def human_votes(
    study: Study,
    *,
    misleading: Literal["negated", "twin_picked"] = "negated",
    per: Literal["vote", "caption"] = "vote",
) -> Study:
    """Score captions by crowd listeners' picks, as in the row Human of Table 1.

    Outputs are votes, as in the paper, or captions, whose scores are means over listeners.
    Misleading captions get the votes on their descriptive twins, including 3 that the release
    omits. With ``negated``, a vote is 1 for every color but the target, as in the printed row; with
    ``twin_picked``, only for the twin's target, as in the paper's definition (section 5.2).

    The correlation with quality is circular: descriptive captions were selected because these
    listeners understood them, and misleading scores are the same clicks negated.
    """
    if "listener_success" not in study.dimensions:
        raise Unsupported(
            "no_judgments", f"{study.name} has no judgments of listener_success: load comm-eval."
        )
    assert study.judgments is not None
    judged = study.judgments.merge(
        study.outputs[["output_id", "system"]], on="output_id", validate="many_to_one"
    )
    success = judged[judged["dimension"] == "listener_success"]
    twins = judged[judged["dimension"] == "twin_picked"]
    if misleading == "negated":
        twins = success.assign(value=1 - success["value"])
    twins = twins[twins["system"] == "descriptive"]
    twins = twins.assign(system="misleading", output_id=twins["output_id"] + "-twin")
    votes = pd.concat([success[success["system"] != "misleading"], twins], ignore_index=True)
    if per == "caption":
        keys = ["output_id", "system", "group_id"]
        votes = votes.groupby(keys)["value"].mean().reset_index()
        ids = votes["output_id"]
    else:
        ids = votes["output_id"] + "/" + votes["annotator_id"]
    rows = votes.rename(columns={"output_id": "item_id", "value": "score"})
    rows = rows.assign(output_id=ids, is_human=True, value=rows["system"].map(QUALITY), **_DESIGN)
    rows = rows.assign(evaluator="human", signature="picked the target")
    description = {"name": study.name, "source": study.source, "settings": {"quality": "quality"}}
    return from_rows(outputs=rows, judgments=rows, scores=rows, **description)


def figure2(study: Study, table: pd.DataFrame) -> tuple[Study, list[str]]:
    """Return the scores of Figure 2, with human picks on the release, and the evaluators in order.

    Overlap comes first, then listeners, then ``human``, for which each vote is an output. Labels
    have Pearson's r of `table`, which is from `table1`.
    """
    r = table[table["statistic"] == "pearson"].set_index("evaluator")["estimate"].dropna()
    labels = {name: names.label(name) for name in r.index} | study.labels
    labels = {name: f"{label}\nr = {r[name]:.2f}" for name, label in labels.items() if name in r}
    study = with_tables(study, settings={**study.settings, "labels": {**study.labels, **labels}})
    assert study.scores is not None
    scored = set(study.scores["evaluator"])
    order = ["bleu_1@coco", "rouge_l", "meteor", "cider_d", *RELEASED]
    order += [f"{kind}_0" for kind in KINDS]
    evaluators = [name for name in order if name in scored]
    if not study.origin.startswith("released:comm-eval"):
        return study, evaluators
    votes = human_votes(study)
    tables = [
        pd.concat([getattr(source, table) for source in (study, votes)], ignore_index=True)
        for table in ("outputs", "scores")
    ]
    return with_tables(study, outputs=tables[0], scores=tables[1]), [*evaluators, "human"]


def counts(study: Study) -> pd.DataFrame:
    """Recompute the counts of sections 5.1 and 5.3 of the paper, from the release only.

    Columns: ``claim_id``, ``variant`` (if a count has two readings), ``estimate``, ``reason``.
    Counts of a finite set have no interval.
    """
    columns = ["claim_id", "estimate", "reason", "variant"]
    if not is_release(study):
        return pd.DataFrame(columns=columns)
    collected = load("comm-eval", filtered=False)
    outputs, references = study.outputs, study.references
    assert references is not None
    assert collected.judgments is not None
    crowd = collected.outputs[
        (collected.outputs["system"] == "descriptive")
        & ~collected.outputs["output_id"].str.contains("-m", regex=False)
    ]
    vague = collected.outputs["system"] == "ambiguous"
    success = collected.judgments[collected.judgments["dimension"] == "listener_success"]
    listeners = success.groupby("output_id").size()
    n_references = references.groupby("item_id").size()
    n_others = outputs["item_id"].map(n_references) - (outputs["system"] == "descriptive")
    n_filtered = n_references[n_references.index.isin(outputs["context"])]
    by_system = outputs["system"].value_counts()
    human = human_votes(study).outputs["system"].value_counts()
    n_unheard = (~collected.outputs["output_id"][vague].isin(listeners.index)).sum()
    crowds = len(crowd) / crowd["context"].nunique(), "collected from the crowd, before filtering"
    filtered = "descriptive captions per context after filtering"
    heard = f"mean over crowd captions with listeners; {n_unheard} ambiguous captions have none"
    mean = "mean over scored captions; a descriptive caption is not its own reference"
    far = "without the captions that the release marks as far; none is by the printed rule"
    clicks = "clicks on crowd captions; misleading captions reuse clicks on descriptive ones"
    rows = [
        ("5.1/contexts/count", outputs["context"].nunique(), ""),
        ("5.1/context_pairs/count", pairs(outputs).nunique(), ""),
        ("5.1/reference_descriptions/per_context", *crowds),
        ("5.1/listeners/per_utterance", listeners.mean(), heard),
        ("5.1/references/per_context", n_others.mean(), mean),
        *((f"5.1/{name}/count", by_system[name], far * (name == "misleading")) for name in QUALITY),
        *((f"5.3/{name}/human_scores", human[name], clicks) for name in QUALITY),
        ("5.1/references/per_context", n_filtered.mean(), filtered),
    ]
    table = pd.DataFrame(rows, columns=columns[:3])
    table["variant"] = table["reason"].eq(filtered).map({True: "mean over contexts", False: ""})
    table["claim_id"] = "comm-eval/section" + table["claim_id"]
    return table.astype({"estimate": float})


def table1(study: Study, *, n_resamples: int = 1000, seed: int = 0) -> pd.DataFrame:
    """Correlate scores and, on the release, human picks with quality: Table 1.

    Results are those of `nlgbench.correlate` over outputs, with intervals over pairs of contexts;
    the paper's rows come first, in its order.
    """
    sampling = {"n_resamples": n_resamples, "seed": seed}
    table = _over_outputs(study, dimension=study.dimension(), **sampling)
    row_number = table["evaluator"].map({name: row for row, name in enumerate(_ROWS)})
    table = table.loc[row_number.sort_values(kind="stable").index]  # evaluators without one last
    if not study.origin.startswith("released:comm-eval"):
        return table
    people = human_row(study, n_resamples=max(1, n_resamples // 5), seed=seed)
    return pd.concat([people, table], ignore_index=True)


def human_row(
    study: Study, *, per: Literal["vote", "caption"] = "vote", n_resamples: int, seed: int
) -> pd.DataFrame:
    """Correlate human picks with quality, by vote or by mean of each caption."""
    return _over_outputs(human_votes(study, per=per), n_resamples=n_resamples, seed=seed)


def with_success(study: Study, *, n_resamples: int = 1000, seed: int = 0) -> pd.DataFrame:
    """Correlate scores with the share of listeners who understood a caption, also by system.

    The result is that of `nlgbench.correlate`, with ``group``: ``all``, or a system with 30 judged
    outputs or more. It is empty if the study has no judgments of success.
    """
    dimension, tables = "listener_success", []
    if dimension in study.dimensions and study.scores is not None:
        heard = study.outputs["output_id"].isin(study.judged(dimension)["output_id"])
        for group in ("all", *study.outputs["system"].unique()):
            in_group = study.outputs["system"].eq(group) | (group == "all")
            if (in_group & heard).sum() >= 30:
                options = {"dimension": dimension, "statistics": ["pearson", "spearman"]}
                subset = part_of(study, in_group.to_numpy())
                table = _over_outputs(subset, **options, n_resamples=n_resamples, seed=seed)
                tables.append(table.assign(group=group))
    columns = ["evaluator", "statistic", "estimate", "group", "status", "reason"]
    return pd.concat(tables) if tables else pd.DataFrame(columns=columns)


def _over_outputs(study: Study, **options: Any) -> pd.DataFrame:
    return correlate(
        study, granularity="output", clusters="group_id", include_human=True, **options
    )


def by_their_conventions(study: Study) -> pd.DataFrame:
    """Correlate the release's scores with intended quality by the authors' conventions.

    A description that is the only one of its context is its own reference, and raw floats are
    ranked, without a tolerance for ties. Columns: evaluator, statistic, estimate.
    """
    references = study.references
    assert references is not None
    is_alone = references.groupby("item_id")["text"].transform("size") == 1
    own = references[is_alone]
    own = own.assign(reference_id=own["reference_id"] + "/own")
    captions = designed(study).replace(references=pd.concat([references, own]))
    captions = score(score_wording(captions), RELEASED)
    assert captions.scores is not None
    scores = captions.scores.pivot(index="output_id", columns="evaluator", values="score")
    quality = captions.judged("quality").set_index("output_id")["value"].loc[scores.index]
    methods: list[Literal["pearson", "spearman", "kendall"]] = ["pearson", "spearman", "kendall"]
    table = pd.DataFrame({method: scores.corrwith(quality, method=method) for method in methods})
    return table.reset_index().melt("evaluator", var_name="statistic", value_name="estimate")


_NOTES = {
    "pragmatic_entropy_exceeds_literal": "In nats, without temperature.",
    "ambiguous_scores_are_bimodal": "The smaller share of the lowest and highest third of scores, "
    "minus the share of the middle third; without temperature.",
    "looking_up_descriptions_appears_perfect": "The ensemble's score of filtered descriptions. We "
    "take 'perfect' to mean at least .95; the interval allows for .9 to .975.",
}
_SHUFFLED = (
    "Mean absolute change in score when a caption's words (two or more) are shuffled. We take .1 "
    "to matter; the interval allows for .05 to .2."
)
# Claims that a quantity is small -> our threshold for small.
_SMALL = {"looking_up_descriptions_appears_perfect": 0.05}
_SMALL |= {f"word_order_{name}": 0.1 for name in KINDS}


def directions(
    study: Study,
    listeners: Mapping[str, Listener],
    *,
    n_resamples: int = 1000,
    seed: int = 0,
) -> pd.DataFrame:
    """Express the paper's qualitative claims as signed numbers, a row per claim.

    Columns: ``slug``, ``variant`` (whose listeners, on the release), ``estimate`` (positive if the
    claim is true), ``ci_low``, ``ci_high``, ``note``. `study` is a `designed` study with scores. If
    the paper calls a quantity small, it is our threshold minus the estimate, and the interval
    allows for half to twice the threshold. Without the design or one of the listeners, the result
    is empty.
    """
    required = {*(f"{kind}_0" for kind in KINDS), "ensemble"}
    if set(study.outputs["system"]) != set(QUALITY) or not required <= set(listeners):
        return pd.DataFrame(columns=["slug", "variant", "estimate", "ci_low", "ci_high", "note"])
    rng, outputs = np.random.default_rng(seed), study.outputs
    order = [" ".join(rng.permutation(text.split(" "))) for text in outputs["text"]]
    believed = beliefs(study, listeners)
    shuffled = study.replace(outputs=outputs.assign(text=order))
    again = _select_targets(beliefs(shuffled, {kind: listeners[f"{kind}_0"] for kind in KINDS}))
    score = _select_targets(believed)
    n_words = np.array([len(text.split()) for text in outputs["text"]])
    longer = outputs["output_id"][n_words > 1].tolist()
    ids = outputs.groupby("system")["output_id"].agg(list)
    moved = {kind: (again[kind] - score[f"{kind}_0"]).loc[longer].abs() for kind in KINDS}
    sentences = {
        ("looking_up_descriptions_appears_perfect", ""): 1
        - score["ensemble"].loc[ids["descriptive"]],
        **{(f"word_order_{kind}", ""): changes for kind, changes in moved.items()},
    }
    whose = {"": _without_temperature(believed, listeners)}
    if study.origin.startswith("released:comm-eval"):
        whose = {"trained here": whose[""], "the authors' weights": _released_beliefs(study)}
    for variant, table in whose.items():
        nats = -table["probability"] * np.log(table["probability"].clip(lower=1e-300))
        nats = nats.groupby([table["evaluator"], table["output_id"]]).sum()
        ambiguous = _select_targets(table)["literal_0"].loc[ids["ambiguous"]]
        sentences |= {
            ("pragmatic_entropy_exceeds_literal", variant): nats["pragmatic_0"] - nats["literal_0"],
            ("ambiguous_scores_are_bimodal", variant): _beyond_the_middle(ambiguous),
        }
    pair = pairs(outputs).set_axis(outputs["output_id"])
    rows = []
    for (slug, variant), values in sentences.items():
        clusters = pair.loc[values.index].to_numpy()
        mean = bootstrap_mean(values, clusters, n_resamples=n_resamples, seed=rng)
        if slug in _SMALL:
            mean = smaller_than(_SMALL[slug], **mean)
        note = f"{_NOTES.get(slug, _SHUFFLED)} Pairs of contexts resampled."
        rows.append({"slug": slug, "variant": variant, **mean, "note": note})
    scored = {*study.scores["evaluator"]} if study.scores is not None else set()
    overlap = [name for name in (*OVERLAP, "meteor") if name in scored]
    mine = [f"{kind}_0" for kind in KINDS[:2]]
    theirs = {"trained here": mine, "the authors' weights": [*RELEASED]}
    leads = {"bleu_1_is_the_best_bleu": {"": [overlap[:1], overlap[1:4]]}}
    listeners_of = theirs if len(whose) > 1 else {"": mine}
    leads["listeners_beat_overlap"] = {name: [of, overlap] for name, of in listeners_of.items()}
    options: dict[str, Any] = {"n_resamples": n_resamples, "seed": seed}
    for slug, variants in leads.items():
        for variant, (leaders, followers) in variants.items():
            lead = _smallest_lead(study, [*product(leaders, followers)], **options)
            rows.append({"slug": slug, "variant": variant, **lead})
    return pd.DataFrame(rows)


def _smallest_lead(study: Study, pairs: list[tuple[str, str]], **options: Any) -> dict[str, Any]:
    """Return the smallest difference in Pearson's correlation with quality among pairs."""
    leads = compare_evaluators(
        as_systems(study),
        evaluators=pairs,
        granularity="output",
        dimension=study.dimension(),
        clusters="group_id",
        **options,
    )
    lead = leads.sort_values("estimate").iloc[0]
    note = f"Pearson's correlation of {lead['evaluator_a']} minus that of {lead['evaluator_b']}."
    return {**lead[["estimate", "ci_low", "ci_high"]], "note": note}


def _beyond_the_middle(scores: pd.Series) -> pd.Series:
    """Return what the rarer outer third of scores exceeds the middle third by, per score."""
    middle = scores.between(1 / 3, 2 / 3).astype("float64")
    outer = (scores < 1 / 3).astype("float64"), (scores > 2 / 3).astype("float64")
    return min(outer, key=lambda third: third.mean()) - middle


def _without_temperature(believed: pd.DataFrame, listeners: Mapping[str, Listener]) -> pd.DataFrame:
    temperatures = {
        name: getattr(listener, "temperature", 1.0) for name, listener in listeners.items()
    }
    power = believed["probability"] ** believed["evaluator"].map(temperatures)
    total = power.groupby([believed["evaluator"], believed["output_id"]]).transform("sum")
    return believed.assign(probability=power / total)


def _released_beliefs(study: Study) -> pd.DataFrame:
    from nlgbench.evaluators.listeners.released import ReleasedListener, in_released_order

    listeners = {f"{kind}_0": ReleasedListener(kind) for kind in ("literal", "pragmatic")}
    return beliefs(in_released_order(study), listeners)


def _select_targets(probabilities: pd.DataFrame) -> pd.Series:
    targets = probabilities[probabilities["is_target"]]
    return targets.set_index(["evaluator", "output_id"])["probability"]


def _add_listeners(table: pd.DataFrame, seed: int) -> pd.DataFrame:
    """Add the row of Table 1, kind and seed of listeners, and the statistic's short name."""
    name = table["evaluator"].str.extract(rf"({'|'.join(KINDS)})_(\d+)")
    row = table["evaluator"].map({**_ROWS, "human": "human"})
    row = row.fillna((name[0] + "_listener").where(name[0].isin(["literal", "pragmatic"])))
    number = (seed + pd.to_numeric(name[1])).astype("Int64").astype("str")
    short = table["statistic"].str.removesuffix("_b")
    return table.assign(short=short, seed=number, row=row, listener=name[0])


def forest(study: Study, table: pd.DataFrame, *, seed: int = 0) -> pd.DataFrame:
    """Convert Table 1 to the format of `nlgbench.plot_forest`, with labels and printed values."""
    rows = _add_listeners(table[table["statistic"] == "pearson"], seed)
    if study.origin.startswith("released:comm-eval"):
        printed = rows["row"].map(load_printed("comm-eval/table1")["pearson"])
        rows["published"] = printed.where(rows["listener"].isna())
    overlap = rows["evaluator"].map(names.kind) == "Word overlap"
    rows["kind"] = np.where(overlap, "overlap", "listener")
    labels = rows["evaluator"].map({**_LABELS, **study.labels})
    labels = labels.fillna(rows["evaluator"].map(names.label))
    rows["evaluator"] = rows["listener"].str.capitalize().fillna(labels)
    return rows.drop(columns=["row", "listener"]).sort_values("estimate", ascending=False)


def answers(
    study: Study,
    *,
    counted: pd.DataFrame,
    calibrated: Calibration | None,
    table: pd.DataFrame,
    within: pd.DataFrame,
    said: pd.DataFrame,
    tests: pd.DataFrame,
    n_resamples: int = 1000,
    seed: int = 0,
) -> pd.DataFrame:
    """Convert results to rows of the ledger.

    The release answers the paper's claims. Results of simulated studies are recorded under
    ``simulated/...``, those of other studies under ``study/<name>/...``. `counted` is from
    `counts`, `table` from `table1`, `within` from `with_success`, `said` from `directions`, `tests`
    from `williams_tests`; `calibrated` is from held-out rounds.
    """
    release = is_release(study)
    prefix = "comm-eval/finding" if release else claim_prefix(study, "listener-violins")
    theirs = "comm-eval" if release else prefix
    tail = "/with_success_{group}/{slug}_{statistic}"
    extra = said["slug"].isin([*_SMALL])
    tables = [
        claim_rows(counted, "{claim_id}", variant="{variant}", reason="{reason}"),
        *_answer_accuracies(study, calibrated, prefix),
        *_answer_table1(study, table, prefix, seed),
        *(_answer_human_picks(study, n_resamples, seed) if release else []),
        _answer_williams(tests if release else None),
        claim_rows(within, prefix + tail, reason="{reason}"),
        claim_rows(
            said[~extra], theirs + "/direction/{slug}", variant="{variant}", reason="{note}"
        ),
        claim_rows(said[extra], prefix + "/direction/{slug}", reason="{note}"),
    ]
    return pd.concat(tables, ignore_index=True)


def _answer_accuracies(
    study: Study, calibrated: Calibration | None, prefix: str
) -> list[pd.DataFrame]:
    if calibrated is None:
        return []
    measures = calibrated.measures
    rows = measures[(measures["stage"] == "after") & (measures["measure"] == "accuracy")]
    if not is_release(study):
        return [claim_rows(rows, prefix + "/{listener}/test_accuracy", variant="seed {seed}")]
    ours = rows["listener"] == "context"
    ids = "/{listener}_listener/test_accuracy"
    assert study.contexts is not None
    chance = pd.DataFrame({"estimate": [1 / study.contexts["state"].nunique()]})
    return [
        claim_rows(
            rows[~ours],
            "comm-eval/section5.2" + ids,
            variant="trained here, seed {seed}",
            reason="We train with Adam, a one-cycle learning rate, batches of 64 and dropout.",
            comparable=False,
        ),
        claim_rows(
            released_accuracies(study),
            "comm-eval/section5.2" + ids,
            variant="the authors' weights",
            reason="Two rounds of 15,659 would give the printed 75.02% of the pragmatic listener.",
        ),
        claim_rows(rows[ours], prefix + ids, variant="seed {seed}"),
        claim_rows(chance, "comm-eval/section5.2/chance/test_accuracy"),
    ]


def released_accuracies(study: Study) -> pd.DataFrame:
    """Compute the accuracy of the authors' listeners on the test rounds: a row per listener."""
    from nlgbench.evaluators.listeners.released import ReleasedListener, in_released_order

    listeners = [ReleasedListener(name.partition("@")[0]) for name in RELEASED]
    measures = calibration(in_released_order(study.related["test"]), listeners).measures
    return measures[measures["measure"] == "accuracy"]


_OTHER_TIES = (
    "Here, scores within 1e-9 standard deviations are tied; the variant by the paper's conventions "
    "ranks raw floats."
)
_OTHER_REFERENCES = f"{_OTHER_TIES} Here, a description without others has no reference."
_CIRCULAR = (
    "Single picks. Circular: descriptive captions were selected because these listeners understood "
    "them, and a misleading caption's picks are those of its descriptive twin, negated."
)


def _answer_table1(study: Study, table: pd.DataFrame, prefix: str, seed: int) -> list[pd.DataFrame]:
    rows = _add_listeners(table, seed)
    printed = rows["row"].notna() & is_release(study)
    trained, ids = printed & rows["listener"].notna(), "comm-eval/table1/{row}/{short}"
    why = pd.Series(_OTHER_REFERENCES, rows.index)
    why = why.mask(rows["evaluator"].isin(RELEASED), _OTHER_TIES)
    why = why.mask(rows["evaluator"] == "human", _CIRCULAR)
    why = why.mask(trained, "Our listeners are trained differently, and selected on the dev split.")
    variant = ("trained here, seed " + rows["seed"]).where(trained, "")
    rows = rows.assign(why=why, variant=variant)
    theirs = None
    if is_release(study):
        theirs = by_their_conventions(study).assign(row=lambda table: table["evaluator"].map(_ROWS))
        theirs = theirs.dropna(subset="row")
    return [
        claim_rows(
            theirs,
            "comm-eval/table1/{row}/{statistic}",
            variant="the paper's conventions",
            reason="Raw floats are ranked, and a description without others is its own reference. "
            "A difference that remains has no known cause.",
        ),
        claim_rows(rows[~printed], prefix + "/{slug}/{short}", reason="{reason}"),
        claim_rows(
            rows[printed], ids, variant="{variant}", reason="{why}", comparable=~trained[printed]
        ),
    ]


def _answer_human_picks(study: Study, n_resamples: int, seed: int) -> list[pd.DataFrame]:
    """Make rows of findings on human picks: without the filter, and by caption."""
    collected = load("comm-eval", filtered=False)
    correlations = []
    for rule in ("negated", "twin_picked"):
        votes = human_votes(collected, misleading=rule)
        assert votes.scores is not None
        assert votes.judgments is not None
        r = float(np.corrcoef(votes.scores["score"], votes.judgments["value"])[0, 1])
        correlations.append({"rule": rule, "estimate": r})
    return [
        claim_rows(
            pd.DataFrame(correlations),
            "comm-eval/finding/human_without_filter/pearson",
            variant="{rule}",
            reason="All captions with listeners, understood or not.",
        ),
        claim_rows(
            human_row(study, per="caption", n_resamples=n_resamples, seed=seed),
            "comm-eval/finding/human_caption_mean/{statistic}",
            reason="Mean over a caption's listeners against quality; circular, like the row Human "
            "of Table 1.",
        ),
    ]


def _answer_williams(tests: pd.DataFrame | None) -> pd.DataFrame:
    """Make a row of the largest p-value of the paper's fifteen tests, if METEOR is among them."""
    claim = "comm-eval/section5.3/all_pearson_correlations_different/p"
    reason = "The largest of fifteen p-values, unadjusted: {evaluator_a} against {evaluator_b}. "
    reason += "It treats captions as independent; `differences` has p over pairs of contexts."
    if tests is not None:
        tests = tests[tests["evaluator_a"].isin(_ROWS) & tests["evaluator_b"].isin(_ROWS)]
        tests = tests.nlargest(1, "p") if len(tests) == 15 else None
    return claim_rows(tests, claim, value="p", reason=reason)


def best_first(study: Study) -> list[str]:
    """Sort systems by mean quality, highest first; systems without judgments come last."""
    means = -study.judged().groupby("system")["value"].mean()
    systems = pd.Series(study.outputs["system"].unique())
    return systems.sort_values(key=lambda names: names.map(means), kind="stable").tolist()


def excuses(study: Study, table: pd.DataFrame) -> dict[str, str]:
    """Return why some of the release's claims are not answered without METEOR."""
    if not is_release(study) or "meteor" in set(table["evaluator"]):
        return {}
    reason = "METEOR needs Java and pycocoevalcap."
    return {"comm-eval/table1/meteor/*": reason, "comm-eval/section5.3/all_pearson*": reason}
