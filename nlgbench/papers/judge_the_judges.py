"""Garbacea, Carton, Yan and Mei (2019), doi:10.18653/v1/D19-1409: answers from data.

The data are the released batch of annotated reviews, or another study. Answers from the printed
tables alone are in `judges_in_print`.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from importlib.util import find_spec
from itertools import combinations, product
from typing import Any, Literal

import numpy as np
import pandas as pd

from nlgbench.analysis.correlation import (
    correlate,
    correlate_with_scores,
    partial_correlations,
)
from nlgbench.analysis.correlation.comparing import permutations_needed
from nlgbench.datasets.published import load_claims, load_printed
from nlgbench.evaluators.discriminators import discriminator_accuracy, majority_labels
from nlgbench.evaluators.names import DISCRIMINATOR, label, labelled
from nlgbench.inference import adjust
from nlgbench.papers.claim_rows import claim_prefix, claim_rows, is_release
from nlgbench.papers.judges_in_print import (
    PAPER,
    averages_of_reviews,
    correlation,
    not_recomputable,
)
from nlgbench.reported import write_estimates
from nlgbench.study import Study
from nlgbench.text import same_for_all, span

#: Discriminators -> columns of Tables 5, 7 and 8, in the paper's order.
_SHORT = {"svm": "svm", "random_forest": "rf", "naive_bayes": "nb", "xgboost": "xgboost"}
#: Evaluators with a claimed sign of correlation -> last part of the claim's id, in order.
DIRECTIONS = {
    "bleu_4@coco": "bleu_ranks_as_people_do",
    "rouge_l": "rouge_ranks_as_people_do",
    "meteor": "meteor_ranks_as_people_do",
    "cider_d": "cider_ranks_as_people_do",
} | {
    f"{model}_meta@natural/{scored}": f"{short}_{claim}"
    for model, short in _SHORT.items()
    for scored, claim in (
        ("natural", "reverses_people_on_natural_labels"),
        ("majority", "ranks_as_people_do_on_majority_labels"),
    )
}
#: Models with a hyperparameter search at full effort, and models that run only at full effort.
_SEARCHED = ("svm", "naive_bayes", "logistic_regression")
_DEEP = ("lstm", "cnn", "cnn_lstm")
_SHORT = {model: model for model in _DEEP} | _SHORT
_RATES = {"all": "accuracy", "real": "true_positive_rate", "fake": "true_negative_rate"}
_ENDS = ["estimate", "ci_low", "ci_high"]
#: The paper's criteria of agreement with annotators, and their names in figures.
CRITERIA = {"H1": "Single votes (H1)", "H2": "Majority votes (H2)"}

#: The paper's overlap metrics in its order: nlg-eval's BLEU, ROUGE-L, METEOR and CIDEr (CIDEr-D).
OVERLAP = (*(f"bleu_{n}@coco" for n in range(1, 5)), "rouge_l", "meteor", "cider_d")
#: One evaluator of each kind, chosen before we saw any correlation: the paper's SVM, BLEU-4.
_ONE_OF_EACH = (
    *("bleu_4@coco", "minus_self_bleu_4", "training_overlap_4"),
    *("svm_meta@natural/natural", "svm_meta@natural/majority", "svm_individual@natural/natural"),
)
NAMED = (
    *combinations(_ONE_OF_EACH, 2),
    ("bleu_4@coco", "rouge_l"),
    ("bleu_4@coco", "cider_d"),
)


def generator_labels(study: Study) -> dict[str, str]:
    """Return generators' names as in the paper, or as in the study."""
    if not is_release(study):
        return {name: study.label(name) for name in [*study.systems, "human"]}
    claims = load_claims(PAPER).set_index("claim_id")
    quantities = claims["quantity"][claims["where"] == "table3"]
    quantities = quantities.str.extract(r"Accuracy of H1 on (.*)")[0].dropna()
    return {str(claim_id).split("/")[2]: str(name) for claim_id, name in quantities.items()}


def people(h1: pd.DataFrame, h2: pd.DataFrame) -> pd.DataFrame:
    """Combine annotators' accuracy by votes (H1) and by majority (H2), in percent."""
    table = pd.concat([h1.assign(criterion="h1"), h2.assign(criterion="h2")])
    table[_ENDS] *= 100
    return table


def in_order(
    table: pd.DataFrame, study: Study, evaluators: Sequence[str] = OVERLAP
) -> pd.DataFrame:
    """Sort rows by evaluator, generator and statistic, as in the paper's tables."""
    generators = list(generator_labels(study))
    orders = {"evaluator": list(evaluators), "system": generators, "row": generators}
    orders["statistic"] = ["kendall_b", "spearman", "pearson"]
    columns = [name for name in orders if name in table]
    ranks = [pd.Categorical(table[name], orders[name]).codes for name in columns]
    return table.iloc[np.lexsort(ranks[::-1])]


def table3(study: Study, people: pd.DataFrame) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Return annotators' accuracy on each generator, and the layout of a table for a paper."""
    rows = in_order(people[~people["row"].isin(_RATES)], study)
    texts = rows.assign(text=write_estimates(rows))
    wide = texts.pivot(index="row", columns="criterion", values="text").loc[rows["row"].unique()]
    wide = wide.rename(index=generator_labels(study), columns=str.upper)
    caption = "Annotators' accuracy on each generator's reviews, in percent; lower is better."
    return rows, {"table": wide, "caption": caption}


def figure2(study: Study, people: pd.DataFrame) -> pd.DataFrame:
    """Convert annotators' accuracy and rates for `plot_forest`, with printed values."""
    rates = people[people["row"].isin(_RATES)].assign(
        kind=lambda rows: rows["row"].map(_RATES),
        evaluator=lambda rows: rows["criterion"].str.upper(),
    )
    if is_release(study):
        printed = load_printed(f"{PAPER}/figure2").rename_axis("criterion").reset_index()
        published = printed.melt("criterion", var_name="kind", value_name="published")
        published["evaluator"] = published.pop("criterion").str.upper()
        rates = rates.merge(published, on=["evaluator", "kind"], validate="one_to_one")
    panels = rates["evaluator"].replace(CRITERIA)
    return rates.assign(data=panels, evaluator=rates.pop("kind"))


def quality(study: Study, people: pd.DataFrame) -> pd.DataFrame:
    """Return annotators' error rate by generator, as system_scores by evaluators h1 and h2."""
    rows = people[people["row"].isin(study.systems)].reset_index(drop=True)
    rows = rows.assign(score=1 - rows["estimate"] / 100, signature="1 - accuracy")
    rows = rows.rename(columns={"row": "system", "criterion": "evaluator"})
    return rows[["system", "evaluator", "score", "signature"]]


def system_means(study: Study, evaluators: Sequence[str]) -> pd.DataFrame:
    """Average scores of outputs by machine system: evaluator, system, estimate, ci_low, ci_high."""
    assert study.scores is not None
    machine = study.outputs.loc[~study.outputs["is_human"], ["output_id", "system"]]
    chosen = study.scores[study.scores["evaluator"].isin(evaluators)]
    rows = chosen.merge(machine, on="output_id", validate="many_to_one")
    means = rows.groupby(["evaluator", "system"], sort=False)["score"].agg(["mean", "sem"])
    means = means.rename(columns={"mean": "estimate"}).reset_index()
    half = 1.96 * means.pop("sem")
    ends = {"ci_low": means["estimate"] - half, "ci_high": means["estimate"] + half}
    return means.assign(**ends, confidence=0.95)


def figure3(study: Study, data: Study) -> pd.DataFrame:
    """Convert overlap by generator for `plot_forest` (Figure 3)."""
    overlap = in_order(system_means(study, OVERLAP[3:]), data)
    overlap["data"] = overlap["evaluator"].map(label).str.removesuffix(" (coco)")
    return overlap.assign(evaluator=overlap.pop("system").map(generator_labels(data)))


def by_distinct(data: Study, diversity: pd.DataFrame, accuracy: pd.DataFrame) -> pd.DataFrame:
    """Convert Distinct-2, Self-BLEU and the SVM's accuracy for `plot_forest`, most varied first."""
    by_source = accuracy[(accuracy["labels_scored"] == "natural") & ~accuracy["is_human"]]
    scores = pd.concat([diversity, by_source])
    names = {"distinct_2": "Distinct-2", "self_bleu_4": "Self-BLEU-4"}
    names |= {"svm_meta@natural": "Accuracy of the SVM"}
    ranks = diversity[diversity["evaluator"] == "distinct_2"].set_index("system")["estimate"].rank()
    rows = scores.assign(data=scores["evaluator"].map(names), rank=scores["system"].map(ranks))
    rows = rows.dropna(subset="data").sort_values("rank", ascending=False, kind="stable")
    generators = rows["system"].map(generator_labels(data))
    return rows[["data", *_ENDS]].assign(evaluator=generators, confidence=0.95)


def overlap_names(*, full: bool) -> list[str]:
    """List the paper's metrics, then others; METEOR only at full effort, if installed."""
    has_meteor = full and bool(find_spec("pycocoevalcap") and shutil.which("java"))
    names = [*OVERLAP, *(f"bleu_{n}" for n in range(1, 5)), "rouge_1", "rouge_2", "cider", "chrf"]
    return [name for name in names if name != "meteor" or has_meteor]


def judge_names(study: Study, *, full: bool) -> list[str]:
    """List discriminators: the individual SVM, and meta ones for source and majority labels."""
    models = [*_SEARCHED]
    if study.source == "released" or full:
        models += ["random_forest"] + ["xgboost"] * bool(find_spec("xgboost"))
    models += [*_DEEP] * (full and bool(find_spec("torch")))
    models.sort(key=[*_SHORT, "logistic_regression"].index)
    names = [f"{model}_meta@{on}" for on in ("natural", "majority") for model in models]
    return ["svm_individual@natural", *names]


def full_options(names: Sequence[str]) -> dict[str, dict[str, int]]:
    """Set ten draws of hyperparameters for models with a search, and five folds for deep models."""
    options = {name: {"search": 10} for name in names if name.startswith(_SEARCHED)}
    options |= {name: {"n_folds": 5} for name in names if name.startswith(_DEEP)}
    return options | {name: options[name.split("/")[0]] for name in errors_of(list(options))}


def errors_of(names: Sequence[str]) -> list[str]:
    """List the evaluators that count discriminators' errors, by source and by majority."""
    return [f"{name}/{labels}" for labels in ("natural", "majority") for name in names]


def majority(study: Study) -> Study:
    """Replace judgments by the majority of each output with the most frequent number of votes."""
    labels = majority_labels(study)
    votes = study.judged().drop_duplicates("output_id")[["output_id", "dimension", "group_id"]]
    votes = votes[votes["output_id"].isin(labels.index)].assign(annotator_id="majority")
    votes["value"] = votes["output_id"].map(labels)
    return study.replace(judgments=votes)


def atlas(study: Study, evaluators: Sequence[str], *, n_resamples: int, seed: int) -> pd.DataFrame:
    """Correlate evaluators with votes (H1) and majorities (H2), over HITs and over generators.

    The result is that of `correlate` over HITs (or items, if the study has no HITs), with
    ``criterion``. ``p``, ``p_adjusted`` (Holm over a column of the atlas) and ``p_method`` are from
    as many permutations of generators as Holm needs; ``second_low``, ``second_high``: the interval
    over generators.
    """
    clusters = "group_id" if (study.judged()["group_id"] != "").all() else None
    over_hits: dict[str, Any] = {"clusters": clusters, "n_resamples": n_resamples}
    needed = permutations_needed(len(evaluators), alpha=0.05)
    over_systems: dict[str, Any] = {"resample": "systems", "n_resamples": needed}
    options: dict[str, Any] = {"dimension": study.dimension(), "seed": seed}
    # One call per number of scores, so that evaluators with missing scores share permutations.
    n_scored = study.scored(evaluators).groupby("evaluator")["score"].count()
    groups = [list(names) for names in n_scored.groupby(n_scored).groups.values()]
    tables = []
    for criterion, judged in (("H1", study), ("H2", majority(study))):
        table = correlate(judged, evaluators=evaluators, **options, **over_hits)
        over_generators = pd.concat(
            correlate(judged, evaluators=names, **options, **over_systems) for names in groups
        ).rename(columns={"ci_low": "second_low", "ci_high": "second_high"})
        over_generators["p_adjusted"] = over_generators.groupby("statistic")["p"].transform(adjust)
        keys = ["evaluator", "statistic"]
        new = ["p", "p_adjusted", "p_method", "second_low", "second_high"]
        table = table.drop(columns=["p", "p_adjusted", "p_method"]).assign(criterion=criterion)
        table = table.merge(over_generators[[*keys, *new]], on=keys, validate="one_to_one")
        tables.append(in_order(table, study, evaluators))
    return pd.concat(tables, ignore_index=True)


def by_interval(correlations: pd.DataFrame) -> pd.DataFrame:
    """Convert Spearman's correlations for `plot_forest`, with both intervals."""
    rows = correlations[correlations["statistic"] == "spearman"]
    rows = rows.assign(data=rows["criterion"].replace(CRITERIA))
    second = rows.assign(ci_low=rows["second_low"], ci_high=rows["second_high"])
    return pd.concat(
        [rows.assign(kind="interval over HITs"), second.assign(kind="interval over generators")]
    )


def by_training_labels(correlations: pd.DataFrame) -> pd.DataFrame:
    """Convert discriminators' correlations for `plot_forest`, by training and scoring labels."""
    rows = by_interval(correlations).query("kind == 'interval over generators'")
    rows = rows[rows["evaluator"].str.contains("/", regex=False)]
    fields = rows["evaluator"].str.extract(DISCRIMINATOR)
    labels = fields[[2, 3]].replace({"natural": "true sources", "majority": "votes"})
    names = fields[0].map(label) + fields[1].map({"individual": ", individual", "meta": ""})
    kinds = "trained on " + labels[2] + ", scored on " + labels[3]
    return rows.assign(evaluator=names, kind=kinds)


def with_truth(
    study: Study, evaluators: Sequence[str], *, people: pd.DataFrame, seed: int
) -> pd.DataFrame | None:
    """Correlate annotators' system_scores and evaluators with a simulated study's true quality."""
    if study.truth is None:
        return None
    true = study.truth["systems"].query("not is_human").rename(columns={"quality": "score"})
    true = true[["system", "score"]].assign(
        evaluator="truth", signature="expected share of real votes"
    )
    everyone = [*people["evaluator"].unique(), *evaluators]
    with_people = study.replace(system_scores=people)
    table = correlate_with_scores(with_people, true, evaluators=everyone, seed=seed)
    return in_order(table, study, everyone)


def explained_by_diversity(
    study: Study, evaluators: Sequence[str], *, people: pd.DataFrame
) -> pd.DataFrame:
    """Correlate evaluators with annotators over generators, controlling for Self-BLEU."""
    table = partial_correlations(
        study, given="minus_self_bleu_4", evaluators=evaluators, against=people
    )
    return in_order(table, study, evaluators)


def atlas_layout(correlations: pd.DataFrame, caption: str) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Return correlations with the labels of figures, and the layout of a table for a paper."""
    table = labelled(correlations.reset_index(drop=True)).sort_index()
    columns, names = ["criterion", "statistic"], table["evaluator"].unique()
    headings = list(product(*(table[column].unique() for column in columns)))
    wide = table.assign(text=write_estimates(table)).pivot(
        index="evaluator", columns=columns, values="text"
    )
    return table, {"table": wide.loc[names, headings], "caption": caption}


def table11(
    study: Study, overlap: Sequence[str], quality: pd.DataFrame, *, seed: int
) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Correlate overlap with quality, given references by TF-IDF (Table 11), and lay it out."""
    names = [f"corpus_{name}" for name in OVERLAP[:4]]
    names += [name for name in OVERLAP[4:] if name in overlap]
    table = correlate_with_scores(study, quality, evaluators=names, seed=seed)
    table = in_order(table.assign(criterion=table["dimension"].str.upper()), study, names)
    caption = "Correlations as in Table 11, with the nearest reviews by TF-IDF as references."
    return table, atlas_layout(table, caption)[1]


def answers(
    data: Study,
    *,
    people: pd.DataFrame,
    agreement: pd.DataFrame,
    corpus: pd.DataFrame,
    diversity: pd.DataFrame,
    scored: Study,
    partial: pd.DataFrame,
    truth: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Answer the paper's claims from the released batch, or record results of another study.

    Only the unmodified release answers claims of the paper. `people` is from `people` (Table 3,
    Figure 2 and the batch's size), `agreement` from `nlgbench.agreement` of values and of correct
    votes, `diversity` from `nlgbench.diversity` (Table 12 and the order of Self-BLEU), `partial`
    from `partial_correlations`, `corpus` from `table11`, `truth` from `with_truth`. `scored` is a
    study with scores (Tables 14, 5, 7 and 8, and directions).
    """
    real = is_release(data)
    start = PAPER if real else claim_prefix(data, "evaluator-correlations")
    finding = f"{PAPER}/finding" if real else start
    why = "Pearson with H1 over {n} generators, controlling for Self-BLEU; Fisher's z. {reason}"
    rate = people["row"].map(_RATES)
    tables = [
        averages_of_reviews(),
        claim_rows(people[rate.isna()], start + "/table3/{row}/{criterion}"),
        claim_rows(people.assign(rate=rate)[rate.notna()], start + "/figure2/{criterion}/{rate}"),
        claim_rows(agreement, finding + "/{coefficient}_{coded}/{row}", reason="{reason}"),
        claim_rows(partial, finding + "/partial_given_self_bleu/{slug}", reason=why),
        claim_rows(truth, start + "/truth/{slug}/{statistic}", reason="{reason}"),
    ]
    if real:
        tables += [
            *_answer_batch(data, people),
            _answer_table11(corpus),
            *_answer_table12(diversity),
            *_answer_detection(scored),
            _answer_directions(scored, people),
        ]
    return pd.concat(tables, ignore_index=True)


def excuses(data: Study, evaluators: Sequence[str] = ()) -> dict[str, str]:
    """Return why claims of the paper cannot be answered: pattern of claim ids -> reason."""
    reasons = not_recomputable() | {
        f"{PAPER}/section3.3.1/power_analysis/*": "The paper states only alpha = .05 and the "
        "result. Of 180 common sets of assumptions, two give 111: accuracy .7, margin .2, "
        "one-sided .025, with power .9 for non-inferiority or .8 for equivalence."
    }
    if data.source == "study":
        reasons[f"{PAPER}/*"] = f"{data.name}: the paper's own data were not used in this run"
    if is_release(data):
        java = "METEOR is computed only with effort='full', and needs Java and the extra `meteor`."
        boosting = "XGBoost needs the extra `boosting`."
        reasons |= {
            f"{PAPER}/direction/{slug}": java if name == "meteor" else boosting
            for name, slug in DIRECTIONS.items()
            if name not in evaluators
        }
    return reasons


def _answer_batch(data: Study, people: pd.DataFrame) -> list[pd.DataFrame]:
    """Count the contents of the released batch, and how often annotators vote real."""
    outputs, votes = data.outputs, data.judgments
    assert votes is not None
    sizes = outputs.groupby("system").size()
    page = votes.drop_duplicates("output_id").merge(outputs, on="output_id", validate="one_to_one")
    per_page = page.groupby("group_id")["is_human"].agg(["size", "sum"])
    judging = votes.groupby("group_id")["annotator_id"].nunique()
    n_fake = per_page["size"] - per_page["sum"]
    n_five = int((judging == 5).sum())
    machine = sizes.drop("human")
    counts: list[tuple[str, Any, str]] = [
        ("generators/count", len(machine), ""),
        ("annotated_reviews/per_generator", machine.median(), same_for_all(machine)),
        ("annotated_reviews/machine_generated", machine.sum(), ""),
        ("annotated_reviews/human_written", sizes["human"], ""),
        ("annotated_reviews/total", sizes.sum(), ""),
        ("page/reviews", per_page["size"].median(), same_for_all(per_page["size"])),
        ("page/real", per_page["sum"].median(), same_for_all(per_page["sum"])),
        ("page/fake", n_fake.median(), same_for_all(n_fake)),
        (
            "page/annotators",
            judging.median(),
            f"{n_five} of {len(judging)} pages have five annotators; range {span(judging, '.0f')}.",
        ),
        (
            "workers/distinct",
            votes["annotator_id"].nunique(),
            "Workers with accepted assignments, each on one page; five per page would be 900.",
        ),
    ]
    table = pd.DataFrame(counts, columns=["slug", "estimate", "note"])
    real = people[(people["row"] == "real") & (people["criterion"] == "h1")]
    ends = {"estimate": 100 - real["estimate"], "ci_low": 100 - real["ci_high"]}
    generated = real.assign(**ends, ci_high=100 - real["ci_low"])
    prefix = f"{PAPER}/section5.1/amazon_reviews/judged_"
    return [
        claim_rows(table, PAPER + "/section3.3.1/{slug}", reason="{note}"),
        claim_rows(real, prefix + "human_written", variant="votes"),
        claim_rows(generated, prefix + "generated", variant="votes"),
    ]


def _answer_directions(scored: Study, people: pd.DataFrame) -> pd.DataFrame:
    """Correlate the evaluators of `DIRECTIONS` with votes (H1) over generators, by Spearman."""
    assert scored.scores is not None
    names = [name for name in DIRECTIONS if name in set(scored.scores["evaluator"])]
    h1 = quality(scored, people).query("evaluator == 'h1'")
    table = correlate_with_scores(scored, h1, evaluators=names, statistics=["spearman"])
    return claim_rows(
        table.assign(slug=table["evaluator"].map(DIRECTIONS)),
        PAPER + "/direction/{slug}",
        reason="{evaluator}, 95% interval over {n} generators.",
    )


def _answer_table11(corpus: pd.DataFrame) -> pd.DataFrame:
    """Answer Table 11 with correlations on the annotated reviews."""
    names = {f"bleu_{n}@coco": "bleu_evaluator" for n in range(1, 5)}
    names |= {name: f"{name.partition('_')[0]}_evaluator" for name in OVERLAP[4:]}
    table = corpus.assign(evaluator=corpus["evaluator"].str.removeprefix("corpus_"))
    table["row"] = table["evaluator"].map(names)
    table["short"] = table["statistic"].str.removesuffix("_b")
    return claim_rows(
        table.dropna(subset="row"),
        PAPER + "/table11/{row}/{dimension}_{short}",
        variant="{evaluator}, TF-IDF references",
        reason="References differ, because the authors' sent2vec neighbors were not released. "
        "The BLEU order is not printed. Interval over generators.",
        comparable=False,
    )


def _answer_table12(diversity: pd.DataFrame) -> list[pd.DataFrame]:
    """Answer Table 12, and correlate the order of Self-BLEU with the printed one (Spearman)."""
    columns = {"self_bleu_4": "self_bleu"}
    columns |= {f"distinct_{n}": "lexical_diversity" for n in (1, 2, 3)}
    rows = diversity.assign(column=diversity["evaluator"].map(columns)).dropna(subset="column")
    self_bleu = rows[rows["evaluator"] == "self_bleu_4"].set_index("system")["estimate"]
    printed = load_printed(f"{PAPER}/table12")["self_bleu"].reindex(self_bleu.index)
    return [
        claim_rows(
            rows,
            PAPER + "/table12/{system}/{column}",
            variant="{evaluator} of 150 annotated reviews",
            reason="The full generated sets were not released; both measures depend on the number "
            "of texts, and the n-gram order of lexical diversity is not printed.",
            comparable=False,
        ),
        claim_rows(
            pd.DataFrame([correlation("spearman", self_bleu, printed)]),
            f"{PAPER}/direction/self_bleu_order",
            reason="Levels differ: 150 reviews per generator here, thousands in the paper.",
        ),
    ]


def _answer_detection(scored: Study) -> list[pd.DataFrame]:
    """Answer Tables 14, 5, 7 and 8 with evaluators trained on the annotated reviews."""
    tables = [
        claim_rows(
            system_means(scored, ["training_overlap_4"]),
            PAPER + "/table14/{system}/bleu_g_train",
            variant="1,800 real reviews in place of G-train",
            reason="G-train was not released; neighbors by TF-IDF, BLEU-4 with NLTK's method 1.",
            comparable=False,
        )
    ]
    classes = {
        "human": "test_set_reviews_human_written",
        "machine": "test_set_reviews_machine_generated",
        "all": "test_set_reviews_all",
    }
    meta = {f"{model}_meta@natural": short for model, short in _SHORT.items()}
    alone = {"svm_individual@natural": "individual_svm_adversarial_evaluators"}
    numbered: list[tuple[int, Literal["natural", "majority"], dict[str, str]]] = [
        (5, "natural", alone),
        (7, "natural", meta),
        (8, "majority", meta),
    ]
    for number, labels, columns in numbered:
        rows = discriminator_accuracy(scored, labels=labels).query("system != 'human'")
        if columns is meta:
            by_class = discriminator_accuracy(scored, labels=labels, by="class")
            overall = discriminator_accuracy(scored, labels=labels, by="all")
            rows = pd.concat([rows, *(t.replace({"system": classes}) for t in (by_class, overall))])
        rows = rows.assign(column=rows["evaluator"].map(columns)).dropna(subset="column")
        rows[_ENDS] *= 100
        tables.append(
            claim_rows(
                rows,
                f"{PAPER}/table{number}/{{system}}/{{column}}",
                variant="annotated set, out of fold",
                reason="Trained out of fold on annotated reviews; D-train was not released. "
                "The Wilson interval ignores variation of the training texts.",
                comparable=False,
            )
        )
    return tables
