"""Garbacea, Carton, Yan and Mei (2019), doi:10.18653/v1/D19-1409: what answers its claims.

First what follows from the printed tables alone (`answers_from_print`): quality is 100 - accuracy,
for annotators and detectors alike. Table 13 correlates it with minus Self-BLEU, Table 15 with BLEU
G-train as it is; both take the meta-discriminators from Table 4. Kendall's is tau-b; a star stands
for p <= .05. Then what the released batch says (`answers`), or the counterpart on another study.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from importlib.util import find_spec
from itertools import combinations, product
from math import sqrt
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import (
    f_oneway,
    friedmanchisquare,
    kendalltau,
    norm,
    pearsonr,
    spearmanr,
    ttest_1samp,
)
from scipy.stats import t as student

from nlgbench.analysis.correlation import correlate, partial_correlations
from nlgbench.analysis.correlation.comparing import permutations_needed
from nlgbench.analysis.correlation.intervals import interval_of_systems
from nlgbench.datasets.published import load_claims, load_lists, load_printed
from nlgbench.evaluators.discriminators import discriminator_accuracy
from nlgbench.evaluators.names import label, labelled
from nlgbench.evaluators.overlap import PLAIN
from nlgbench.inference import adjust
from nlgbench.papers.claim_rows import all_rows, claim_rows, is_release, own_place, slugs_of
from nlgbench.study import Study
from nlgbench.text import same_for_all, span

Floats = NDArray[np.float64]

PAPER = "judge-the-judges"
STATISTICS = {"kendall": kendalltau, "spearman": spearmanr, "pearson": pearsonr}
_STARRED = 0.05

#: Evaluators whose direction the paper claims, and the ends of these claims' ids, in order.
DIRECTIONS = {
    "bleu_4@coco": "bleu_ranks_as_people_do",
    "rouge_l": "rouge_ranks_as_people_do",
    "cider_d": "cider_ranks_as_people_do",
    "meteor": "meteor_ranks_as_people_do",
} | {
    f"{model}_meta@natural/{scored}": f"{short}_{claim}"
    for model, short in (
        ("svm", "svm"),
        ("naive_bayes", "nb"),
        ("random_forest", "rf"),
        ("xgboost", "xgboost"),
    )
    for scored, claim in (
        ("natural", "reverses_people_on_natural_labels"),
        ("majority", "ranks_as_people_do_on_majority_labels"),
    )
}

# Rows and cells that do not follow, and what would let them; the tests find these values anew.
_SUSPECTS = {
    "table6/svm_individual_discriminators": (
        "Table 5's 64.51 for MLE SeqGAN is the suspect: 65.03 to 65.12 in its place give all six "
        "cells of this row, and no other single cell of Table 5 can."
    ),
    "table9/svm_meta_discriminator": (
        "Four of Table 8's SVM cells repeat Table 7's. All six cells of this row follow with "
        "Scheduled Sampling 50.00, SeqGAN 62.67, RankGAN 60.67, LeakGAN 63.33 in their place, or "
        "with 50.67, 61.33, 60.67, 64.67; of counts out of 150 with no others."
    ),
    "table7/test_set_reviews_machine_generated/lstm": (
        "SeqGAN's cell repeats RankGAN's 67.33; the printed average implies 54.00 there. Table 10 "
        "follows from 67.33."
    ),
}


def recompute() -> pd.DataFrame:
    """Recompute what follows from the printed tables: a row per claim.

    variant (``printed``: from other printed tables; ``authors' lists``: from `load_lists`;
    ``printed coefficient``: a star whose coefficient can only be taken as printed); value; ci_low,
    ci_high (NaN for what is arithmetic or a decision); p (SciPy's, two-sided); n (generators);
    reason (why the value differs, or has no interval). Correlations of Tables 6, 9, 10, 13 and 15;
    all 258 stars; averages of Tables 4, 7 and 8; totals of Table 2.
    """
    cells = _cells()
    return pd.concat([cells, _stars(cells), _averages()], ignore_index=True)


def not_recomputable() -> pd.DataFrame:
    """List the coefficients that no printed number speaks to: claim_id (a pattern), reason.

    Stars are not among them.
    """
    rows = [
        {
            "claim_id": f"{PAPER}/table{number}/{metric}_evaluator/*{statistic}",
            "reason": f"The {name} score of each generator on D-test is printed in a figure only.",
        }
        for number in (6, 13, 15)
        for metric, name in (("meteor", "METEOR"), ("cider", "CIDEr"))
        for statistic in STATISTICS
    ]
    rows += [
        {
            "claim_id": f"{PAPER}/table11/*{statistic}",
            "reason": "Word-overlap scores on the annotated reviews with natural labels are not "
            "printed; the authors' lists with majority labels give other values.",
        }
        for statistic in STATISTICS
    ]
    return pd.DataFrame(rows)


def generators(number: int) -> pd.DataFrame:
    """Load the twelve generators' rows of a printed table, without averages."""
    return load_printed(f"{PAPER}/table{number}").iloc[:12]


def correlation(statistic: str, x: pd.Series, y: pd.Series) -> dict[str, float]:
    """Correlate two scores of the same generators: value, ci_low, ci_high, p, n.

    The interval treats the generators as drawn from a population of generators (normal, or of which
    ranks are the same), and leaves out that an accuracy is itself an estimate.
    """
    found = STATISTICS[statistic](x, y)
    value, n = float(found.statistic), len(x)
    name = "kendall_b" if statistic == "kendall" else statistic
    low, high = interval_of_systems(name, value, n, 0.95)[:2]
    return {"value": value, "ci_low": low, "ci_high": high, "p": float(found.pvalue), "n": n}


def inputs() -> dict[int, tuple[dict[str, pd.Series], dict[str, pd.Series]]]:
    """Gather what each printed table of correlations was computed from.

    Per table, the score of each recomputable row (higher is better), and what the rows are
    correlated with, by the beginning of a column's name (``"h1_"``, or empty).
    """
    human = {f"{name}_": 100 - accuracy for name, accuracy in generators(3).items()}
    detectors = {
        number: {f"{name}_meta_discriminator": 100 - column for name, column in table.items()}
        for number, table in ((n, generators(n)) for n in (4, 7, 8))
    }
    lists = load_lists()
    overlap = {f"{name}_evaluator": lists[f"{name}_top10"] for name in ("bleu", "rouge")}
    people = {f"{name}evaluator": quality for name, quality in human.items()}
    everyone = {**people, **detectors[4], **overlap}
    alone = {"svm_individual_discriminators": 100 - generators(5).iloc[:, 0]}
    return {
        6: ({**alone, **detectors[4], **overlap}, human),
        9: (detectors[8], human),
        10: (detectors[7], human),
        13: (everyone, {"": -generators(12)["self_bleu"]}),
        15: (everyone, {"": generators(14)["bleu_g_train"]}),
    }


def _cells() -> pd.DataFrame:
    rows = []
    for number, (scores, against) in inputs().items():
        for row, score in scores.items():
            origin = "authors' lists" if row in ("bleu_evaluator", "rouge_evaluator") else "printed"
            for (prefix, other), statistic in product(against.items(), STATISTICS):
                rows.append(
                    {
                        "claim_id": f"{PAPER}/table{number}/{row}/{prefix}{statistic}",
                        "variant": origin,
                        **correlation(statistic, score, other),
                        "reason": _SUSPECTS.get(f"table{number}/{row}", ""),
                    }
                )
    return pd.DataFrame(rows)


def _stars(cells: pd.DataFrame) -> pd.DataFrame:
    """Decide every star: by the recomputed coefficient, or else by the printed one."""
    recomputed = {cell["claim_id"]: cell for cell in cells.to_dict("records")}
    rows = []
    for number in (6, 9, 10, 11, 13, 15):
        table = load_printed(f"{PAPER}/table{number}", marks=True)
        for row, name in product(table.index, table.columns):
            if name.endswith("_star"):
                continue
            claim_id = f"{PAPER}/table{number}/{row}/{name}"
            taken: dict[str, Any] = {
                "variant": "printed coefficient",
                "p": _p_of_printed(name.split("_")[-1], table.loc[row, name]),
            }
            cell = recomputed.get(claim_id, taken)
            decision = float(cell["p"] <= _STARRED)
            why = f"p = {cell['p']:.2g} with n = 12; a decision has no interval."
            if decision != table.loc[row, f"{name}_star"]:
                why = f"The star is {'missing' if decision else 'spurious'}: {why}"
            rows.append(
                {
                    "claim_id": f"{claim_id}_star",
                    "variant": cell["variant"],
                    "value": decision,
                    "p": cell["p"],
                    "n": 12,
                    "reason": why,
                }
            )
    return pd.DataFrame(rows)


def _p_of_printed(statistic: str, value: float) -> float:
    """Return the two-sided p of a coefficient over twelve generators without ties."""
    n = 12
    if statistic != "kendall":
        return float(2 * student.sf(abs(value) * sqrt((n - 2) / (1 - value**2)), n - 2))
    # A ranking with as many discordant pairs as the coefficient says has SciPy's exact p.
    discordant = round((1 - value) / 2 * (n * (n - 1) // 2))
    left, ranking = list(range(n)), []
    while left:
        place = min(discordant, len(left) - 1)
        discordant -= place
        ranking.append(left.pop(place))
    return float(kendalltau(range(n), ranking).pvalue)


def _averages() -> pd.DataFrame:
    """Recompute the averages of Tables 4, 7 and 8 and the totals of Table 2."""
    sizes = load_printed(f"{PAPER}/table2")
    totals = sizes[["d_train", "d_valid", "d_test"]].sum(axis=1)
    rows = [(f"table2/{row}/total", total, "") for row, total in totals.items()]
    for number in (4, 7, 8):
        table = load_printed(f"{PAPER}/table{number}")
        everything, human, machine = table.index[12:]
        weights = pd.Series(150.0, table.index[:12])
        if number == 4:
            most, google = sizes["d_test"]
            weights = pd.Series(most, weights.index).where(weights.index != "google_lm", google)
        for detector, column in table.items():
            implied = (column.iloc[:12] * weights).sum() / weights.sum()
            place = f"table{number}/{machine}/{detector}"
            why = _SUSPECTS.get(place, "")
            if number == 8:
                why = _table8_reason(column)
            rows += [
                (place, implied, why),
                (f"table{number}/{everything}/{detector}", column[[human, machine]].mean(), ""),
            ]
    table = pd.DataFrame(rows, columns=["place", "value", "why"])
    reason = (table["why"] + " Arithmetic on printed cells has no interval.").str.strip()
    ids = f"{PAPER}/" + table["place"]
    return table.assign(claim_id=ids, variant="printed", reason=reason)[
        ["claim_id", "variant", "value", "reason"]
    ]


def _table8_reason(column: pd.Series) -> str:
    """Say how far a detector's cells are from its average over machine-generated reviews."""
    cells = int((column.iloc[:12] * 1.5).round().sum())
    average = round(column.iloc[14] * 18)
    why = f"The cells hold {cells} reviews of 1,800, the printed average {average}."
    if column.name == "svm":
        return (
            f"{why} Four of the cells repeat Table 7's; values that let Table 9's row follow bring "
            "the cells to 842 or 843."
        )
    return (
        f"{why} All detectors but SVM are off by an odd number from -1 to 7, as if an odd number "
        "of majority labels, seven or more, were others in the average."
    )


# Findings ------------------------------------------------------------------------------------


def findings() -> pd.DataFrame:
    """Gather the results that the paper states in words, or that its tables allow.

    Columns as `recompute`, under ids of our own (``judge-the-judges/finding/...``): Self-BLEU
    against lexical diversity (``table12``); ten against all references; the lists with majority
    labels against the annotators; Table 9 if detectors and annotators were independent; how much
    more they agree than that (percent points); differences between meta-discriminators (percent
    points), and tests over the twelve generators (p-values).
    """
    diversity, lists = generators(12), load_lists()
    quality = 100 - generators(3)
    rows = [
        {"claim_id": f"table12/{name}", **correlation(name, *(diversity[c] for c in diversity))}
        for name in STATISTICS
    ]
    rows += [
        {
            "claim_id": f"ten_against_all_references/{metric}_{name}",
            "variant": "authors' lists",
            **correlation(name, lists[f"{metric}_top10"], lists[f"{metric}_all"]),
        }
        for metric, name in product(("bleu", "rouge"), STATISTICS)
    ]
    rows += [
        {
            "claim_id": f"majority_references/{metric}_evaluator/{human}_{name}",
            "variant": "authors' lists",
            **correlation(name, lists[f"{metric}_majority"], quality[human]),
        }
        for metric in ("bleu", "rouge", "meteor", "cider")
        for human, name in product(quality, STATISTICS)
    ]
    rows += [
        {
            "claim_id": f"detectors_over_generators/table{number}_{name}",
            "value": float(test(*(column for _, column in generators(number).items())).pvalue),
            "n": 12,
            "reason": "A p-value has no interval.",
        }
        for number in (4, 7)
        for name, test in (("anova_p", f_oneway), ("friedman_p", friedmanchisquare))
    ]
    flip = flip_under_independence()
    flip["claim_id"] = "flip_under_independence/" + flip["row"] + "/" + flip["column"]
    beyond = agreement_beyond_independence()
    beyond["claim_id"] = "agreement_beyond_independence/" + beyond["detector"]
    pairs = detector_differences()
    pairs["claim_id"] = (
        "detector_differences/" + pairs["reviews"] + "/" + pairs["a"] + "_minus_" + pairs["b"]
    )
    table = pd.concat([pd.DataFrame(rows), flip, beyond, pairs], ignore_index=True)
    table["claim_id"] = f"{PAPER}/finding/" + table["claim_id"]
    table = table.fillna({"variant": "printed", "reason": ""})
    return table[["claim_id", "variant", "value", "ci_low", "ci_high", "p", "n", "reason"]]


def flip_under_independence() -> pd.DataFrame:
    """Show Table 9 as it would be if detectors and annotators knew nothing of one another.

    row, column, printed, recomputed (from Table 8), value (under independence), ci_low, ci_high, p,
    n.

    Take a generator's reviews, and let the detector call a share p of them generated (Table 7), the
    annotators' majority a share m (Table 3, H2). If the two are independent given the generator,
    they agree on ``p m + (1 - p)(1 - m)``; quality is 100 minus that, in percent. Where p > 1/2,
    agreement rises with m, which is what Table 9 correlates it with: labels by the majority turn
    the sign by construction. Intervals leave out that p and m are estimates from 150 reviews.
    """
    quality, printed = 100 - generators(3), load_printed(f"{PAPER}/table9")
    given, expected = generators(8), _agreement_under_independence()
    rows = []
    for detector, (human, name) in product(expected, product(quality, STATISTICS)):
        row, column = f"{detector}_meta_discriminator", f"{human}_{name}"
        rows.append(
            {
                "row": row,
                "column": column,
                "printed": printed.loc[row, column],
                "recomputed": correlation(name, 100 - given[detector], quality[human])["value"],
                **correlation(name, 100 - expected[detector], quality[human]),
            }
        )
    return pd.DataFrame(rows)


def agreement_beyond_independence() -> pd.DataFrame:
    """Measure how much more detectors agree with the majority than independence gives.

    A row per meta-discriminator: value (Table 8 minus what independence within each generator
    gives, mean over generators, percent points; positive: they find the same reviews suspicious),
    ci_low, ci_high (95%, Student's t over generators), p, n (generators), reason. Cells of Table 8
    that repeat Table 7's SVM column are left out. Where a detector calls all reviews generated, it
    cannot say anything: the difference is then the rounding of H2 and its few reviews of less than
    five votes.
    """
    expected, given = _agreement_under_independence(), generators(8)
    rows = []
    for detector, column in given.items():
        beyond = (column - expected[detector])[column != generators(7)[detector]]
        n, test = len(beyond), ttest_1samp(beyond, 0)
        low, high = test.confidence_interval()
        why = f"{12 - n} cells that repeat Table 7's are left out." if n < 12 else ""
        rows.append((detector, beyond.mean(), low, high, test.pvalue, n, why))
    columns = ["detector", "value", "ci_low", "ci_high", "p", "n", "reason"]
    return pd.DataFrame(rows, columns=columns)


def detector_differences() -> pd.DataFrame:
    """Test whether the meta-discriminators differ in accuracy on individual reviews.

    A row per pair and set of reviews (``d_test``, Table 4; ``annotated``, Table 7): value (accuracy
    of a minus that of b, percent points), ci_low, ci_high (95%), p (two-sided), p_holm (over the 21
    pairs of a set), n (reviews), reason. Section 4.1.2 says that they do not differ significantly
    on individual reviews. All judge the same reviews, and which they get wrong together is not
    printed. The variance of the difference is therefore the largest that the two accuracies allow
    (no review misjudged by both): ``(e_a + e_b - (e_a - e_b)^2) / n``, normal. The true interval is
    no wider. D-test holds the generated reviews of Table 2 and as many human-written ones: Table
    4's averages over all are the means of the two classes.
    """
    sizes = load_printed(f"{PAPER}/table2")["d_test"]
    generated = 11 * sizes["model_in_table_1_except_google_lm"] + sizes["google_lm"]
    sets = []
    for reviews, number, n in (("d_test", 4, int(2 * generated)), ("annotated", 7, 3600)):
        error = 1 - load_printed(f"{PAPER}/table{number}").iloc[12] / 100
        table = pd.DataFrame(combinations(error.index, 2), columns=["a", "b"])
        of_a, of_b = table["a"].map(error), table["b"].map(error)
        difference = of_b - of_a
        spread = np.sqrt((of_a + of_b - difference**2) / n)
        half = norm.ppf(0.975) * spread
        table = table.assign(reviews=reviews, n=n, value=100 * difference)
        table = table.assign(ci_low=100 * (difference - half), ci_high=100 * (difference + half))
        table["p"] = 2 * norm.sf(difference.abs() / spread)
        table["p_holm"] = adjust(table["p"])
        table["reason"] = (
            "Widest interval that the two accuracies allow: how often both misjudge the same "
            "review is not printed."
        )
        sets.append(table)
    return pd.concat(sets, ignore_index=True)


def _agreement_under_independence() -> pd.DataFrame:
    """Return Table 8 as it would be under independence given the generator, in percent."""
    detected, majority = generators(7) / 100, generators(3)["h2"] / 100
    both = detected.mul(majority, axis=0)
    return 100 * (both + (1 - detected).mul(1 - majority, axis=0))


# What this study, released, simulated or one's own, says ------------------------------------------


#: What of the atlas the paper has: nlg-eval's BLEU, ROUGE-L and CIDEr (which is CIDEr-D).
OVERLAP = (*(f"bleu_{n}@coco" for n in range(1, 5)), "rouge_l", "cider_d", "meteor")
#: One evaluator of each kind, named before any correlation was seen: the paper's SVM, BLEU-4.
_ONE_OF_EACH = (
    *("bleu_4@coco", "minus_self_bleu_4", "training_overlap_4"),
    *("svm_meta@natural/natural", "svm_meta@natural/majority", "svm_individual@natural/natural"),
)
NAMED = (
    *combinations(_ONE_OF_EACH, 2),
    ("bleu_4@coco", "rouge_l"),
    ("bleu_4@coco", "cider_d"),
)

#: Models whose hyper-parameters are searched for at full effort, and those that run there alone.
_SEARCHED = ("svm", "naive_bayes", "logistic_regression")
_DEEP = ("lstm", "cnn", "cnn_lstm")

_RATES = {"all": "accuracy", "real": "true_positive_rate", "fake": "true_negative_rate"}
_SHORT = {"svm": "svm", "naive_bayes": "nb", "random_forest": "rf", "xgboost": "xgboost"}
_SHORT |= {"lstm": "lstm", "cnn": "cnn", "cnn_lstm": "cnn_lstm"}
_STATISTICS = {"kendall_b": "τ-b", "spearman": "Spearman", "pearson": "Pearson"}


def answers_from_print() -> pd.DataFrame:
    """Make rows of the ledger from the printed tables alone: `recompute` and `findings`.

    Those of Tables 7 and 8 stand beside counterparts in `answers`.
    """
    table = pd.concat([recompute(), findings()], ignore_index=True)
    table = table[~table["claim_id"].str.contains("/table[78]/")]
    return table.assign(source="published", comparable=True).reset_index(drop=True)


def printed_cells() -> pd.DataFrame:
    """Say of each recomputed cell of print whether it follows: table, row, column, value, ..."""
    cells = recompute()
    parts = cells["claim_id"].str.split("/", expand=True)
    cells = cells.assign(table=parts[1], row=parts[2], column=parts[3])
    claims = load_claims(PAPER).set_index("claim_id")
    cells["published"] = cells["claim_id"].map(claims["published"])
    cells["tolerance"] = cells["claim_id"].map(claims["tolerance"])
    cells["follows"] = (cells["value"] - cells["published"]).abs() <= cells["tolerance"] + 1e-9
    return cells


def followed() -> pd.DataFrame:
    """Count what follows from print: for each table its values and its stars, and of how many."""
    cells = printed_cells()
    is_star = cells["column"].str.endswith("_star")
    groups = cells.assign(kind=np.where(is_star, "stars", "values")).groupby(["table", "kind"])
    sums = groups["follows"].agg(["sum", "size"])
    counts: pd.DataFrame = sums.unstack("kind").dropna(axis=1, how="all")  # type: ignore
    order = sorted(counts.index, key=lambda name: int(name.removeprefix("table")))
    return counts.loc[order].astype("Int64")


def printed_table(number: int) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Lay out Table 6, 9 or 10 as recomputed: its cells, and the layout of a table for a paper."""
    cells = printed_cells()
    rows = cells[(cells["table"] == f"table{number}") & ~cells["column"].str.endswith("_star")]
    key = rows["column"].str.split("_", expand=True)
    names = {name.removesuffix("_b"): word for name, word in _STATISTICS.items()}
    rows = rows.assign(criterion=key[0].str.upper(), statistic=key[1].map(names))
    rows["row"] = rows["row"].str.replace("_", " ")
    wide = rows.pivot(index="row", columns=["criterion", "statistic"], values="value")
    wide = wide.loc[rows["row"].unique()]
    follows = rows.pivot(index="row", columns=["criterion", "statistic"], values="follows")
    layout = {
        "table": wide,
        "caption": f"Table {number} of Garbacea et al. (2019), recomputed from their printed "
        "tables.",
        "decimals": 4,
        "marks": follows.loc[wide.index].map(lambda follows: "" if follows else "†"),
        "note": "† differs from the printed cell; the ledger says why.",
    }
    return rows.drop(columns="tolerance"), layout


def flips() -> pd.DataFrame:
    """Set Tables 9 and 10 (Spearman, H2) beside independence, for `plot_forest`."""
    flip = flip_under_independence()
    flip = flip[flip["column"] == "h2_spearman"].set_index("row")
    natural, majority = (load_printed(f"{PAPER}/table{n}")["h2_spearman"] for n in (10, 9))
    long = {short: name for name, short in _SHORT.items()}
    names = flip.index.str.removesuffix("_meta_discriminator").map(long)
    words = {"naive_bayes": "naive Bayes", "random_forest": "random forest"}
    evaluators = pd.Series([words.get(name, label(name)) for name in names], flip.index)
    parts = {
        "labels by source": natural.loc[flip.index].to_frame("estimate"),
        "labels by majority vote": majority.loc[flip.index].to_frame("estimate"),
        "majority, if independent": flip[["value", "ci_low", "ci_high"]].rename(
            columns={"value": "estimate"}
        ),
    }
    rows = [part.assign(evaluator=evaluators, kind=kind) for kind, part in parts.items()]
    return pd.concat(rows, ignore_index=True)


def generator_labels(study: Study) -> dict[str, str]:
    """Give generators' names as the paper writes them, or as the study does."""
    if not is_release(study):
        return {name: study.label(name) for name in [*study.systems, "human"]}
    claims = load_claims(PAPER).set_index("claim_id")
    found = claims["quantity"][claims["where"] == "table3"]
    found = found.str.extract(r"Accuracy of H1 on (.*)")[0].dropna()
    return {str(claim_id).split("/")[2]: str(name) for claim_id, name in found.items()}


def people(h1: pd.DataFrame, h2: pd.DataFrame) -> pd.DataFrame:
    """Put accuracy by votes (H1) and by majority (H2) together, in percent."""
    table = pd.concat([h1.assign(criterion="h1"), h2.assign(criterion="h2")])
    ends = ["estimate", "ci_low", "ci_high"]
    return table.assign(**{end: 100 * table[end] for end in ends})


def table3(study: Study, people: pd.DataFrame) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Give people's accuracy on each generator, and the layout of a table for a paper."""
    rows = people[~people["row"].isin(_RATES)]
    labels = generator_labels(study)
    ends = ["estimate", "ci_low", "ci_high"]
    wide = rows.pivot(index="row", columns="criterion", values=ends).loc[rows["row"].unique()]
    shown = pd.DataFrame(wide["estimate"]).rename(index=labels, columns=str.upper)
    layout = {
        "table": shown,
        "caption": "Accuracy of people on each generator's reviews, in percent; lower is better.",
        "intervals": tuple(
            wide[end].set_axis(shown.index).set_axis(shown.columns, axis=1) for end in ends[1:]
        ),
    }
    return rows, layout


def figure2(study: Study, people: pd.DataFrame) -> pd.DataFrame:
    """Lay out accuracy and rates of people for `plot_forest`, with what was printed."""
    rates = people[people["row"].isin(_RATES)].assign(
        kind=lambda rows: rows["row"].map(_RATES),
        evaluator=lambda rows: rows["criterion"].str.upper(),
    )
    if is_release(study):
        printed = load_printed(f"{PAPER}/figure2").rename_axis("criterion").reset_index()
        published = printed.melt("criterion", var_name="kind", value_name="published")
        published["evaluator"] = published.pop("criterion").str.upper()
        rates = rates.merge(published, on=["evaluator", "kind"], validate="one_to_one")
    return rates.assign(kind=rates["kind"].str.replace("_", " "))


def quality(study: Study, people: pd.DataFrame) -> pd.DataFrame:
    """Give 1 - accuracy of people by generator, as a table of system_scores (h1, h2)."""
    rows = people[people["row"].isin(study.systems)]
    return pd.DataFrame(
        {
            "system": rows["row"],
            "evaluator": rows["criterion"],
            "score": 1 - rows["estimate"] / 100,
            "signature": "1 - accuracy",
        }
    ).reset_index(drop=True)


def system_means(study: Study, evaluators: Sequence[str]) -> pd.DataFrame:
    """Average scores of outputs by machine system: evaluator, system, mean, ci_low, ci_high."""
    assert study.scores is not None
    machine = study.outputs.loc[~study.outputs["is_human"], ["output_id", "system"]]
    chosen = study.scores[study.scores["evaluator"].isin(evaluators)]
    rows = chosen.merge(machine, on="output_id", validate="many_to_one")
    found = rows.groupby(["evaluator", "system"], sort=False)["score"].agg(["mean", "sem"])
    found = found.reset_index()
    half = 1.96 * found.pop("sem")
    return found.assign(ci_low=found["mean"] - half, ci_high=found["mean"] + half)


def figure3(study: Study, data: Study, quality: pd.DataFrame) -> pd.DataFrame:
    """Lay out overlap by generator, the best for people first, for `plot_forest` (Figure 3)."""
    assert study.scores is not None
    there = set(study.scores["evaluator"])
    chosen = [name for name in ("bleu_4@coco", "rouge_l", "cider_d", "meteor") if name in there]
    drawn = system_means(study, chosen)
    h1 = quality[quality["evaluator"] == "h1"].set_index("system")["score"]
    table = pd.DataFrame(
        {
            "data": drawn["evaluator"].map(label).str.removesuffix(" (coco)"),
            "evaluator": drawn["system"].map(generator_labels(data)),
            "estimate": drawn["mean"],
            "ci_low": drawn["ci_low"],
            "ci_high": drawn["ci_high"],
            "human_quality": drawn["system"].map(h1),
        }
    )
    return table.sort_values("human_quality", ascending=False, kind="stable", ignore_index=True)


def diversity_plane(data: Study, diversity: pd.DataFrame) -> pd.DataFrame:
    """Lay out distinct-2 and Self-BLEU by generator for `plot_scatter_systems`."""
    ends = ["estimate", "ci_low", "ci_high"]
    of = diversity.pivot(index="system", columns="evaluator", values=ends)
    plane = pd.DataFrame({"system": of.index.map(generator_labels(data))}, index=of.index)
    for name, evaluator in (("distinct", "distinct_2"), ("self_bleu", "self_bleu_4")):
        for end, tail in zip(ends, ("", "_low", "_high"), strict=True):
            plane[f"{name}{tail}"] = of[end][evaluator]
    return plane


def detected(data: Study, accuracy: pd.DataFrame, diversity: pd.DataFrame) -> pd.DataFrame:
    """Lay out the SVM's accuracy and distinct-2 by generator for `plot_scatter_systems`."""
    svm = accuracy[(accuracy["labels_scored"] == "natural") & ~accuracy["is_human"]]
    svm = svm[svm["evaluator"] == "svm_meta@natural"]
    lexical = diversity[diversity["evaluator"] == "distinct_2"].set_index("system")["estimate"]
    return pd.DataFrame(
        {
            "system": svm["system"].map(generator_labels(data)),
            "accuracy": svm["accuracy"],
            "accuracy_low": svm["ci_low"],
            "accuracy_high": svm["ci_high"],
            "distinct": svm["system"].map(lexical),
        }
    )


def judges_among_themselves(accuracy: pd.DataFrame) -> pd.DataFrame:
    """Correlate (Spearman) the judges' accuracies over generators, trained and scored on source."""
    among = accuracy[(accuracy["labels_scored"] == "natural") & ~accuracy["is_human"]]
    among = among[among["evaluator"].str.endswith("_meta@natural")]
    ranks = among.pivot(index="system", columns="evaluator", values="accuracy")
    ranks = ranks.rename(columns=lambda name: name.partition("_meta")[0])
    return ranks.corr(method="spearman").rename_axis("judge")


def overlap_names(*, full: bool) -> list[str]:
    """Name overlap metrics in both definitions; METEOR at full effort, where it can run."""
    has_meteor = bool(find_spec("pycocoevalcap") and shutil.which("java"))
    return [*PLAIN, *OVERLAP[:4], *["meteor"] * (full and has_meteor)]


def sizes_sentence(data: Study) -> str:
    """Say of how many reviews Self-BLEU and the human corpus are."""
    sizes = data.outputs.groupby("system").size()[data.systems]
    return (
        f"Self-BLEU here is that of {span(sizes, ',.0f')} reviews of each generator, and the human "
        f"corpus has {int(data.outputs['is_human'].sum()):,} reviews."
    )


def judge_names(study: Study, *, full: bool) -> list[str]:
    """Name the discriminators that can be had here: trained on source and majority, and alone."""
    models = [*_SEARCHED]
    if study.source == "released" or full:
        models += ["random_forest"] + ["xgboost"] * bool(find_spec("xgboost"))
    models += [*_DEEP] * (full and bool(find_spec("torch")))
    names = [f"{model}_meta@{on}" for on in ("natural", "majority") for model in models]
    return [*names, "svm_individual@natural"]


def full_options(names: Sequence[str]) -> dict[str, dict[str, int]]:
    """Ask for ten draws of hyper-parameters where there are any, and for five folds of deep ones.

    Ten folds of the deep ones alone take half an hour on one core.
    """
    options = {}
    for name in names:
        if name.startswith(_SEARCHED):
            options[name] = {"search": 10}
        elif name.startswith(_DEEP):
            options[name] = {"n_folds": 5}
    return options | {one: options[one.split("/")[0]] for one in errors_of(list(options))}


def errors_of(names: Sequence[str]) -> list[str]:
    """Name what counts a discriminator's wrong calls, by source and by majority."""
    return [f"{name}/{by}" for by in ("natural", "majority") for name in names]


def majority(study: Study) -> Study:
    """Give outputs what most annotators said, as their one judgment; ties have none.

    Of outputs that have the commonest number of votes.
    """
    judged = study.judged()
    votes = judged.groupby("output_id")["value"].agg(["mean", "size"])
    votes = votes[votes["size"].eq(votes["size"].mode().iloc[0]) & votes["mean"].ne(0.5)]
    said = judged.drop_duplicates("output_id")[["output_id", "dimension", "group_id"]]
    said = said[said["output_id"].isin(votes.index)].assign(annotator_id="majority")
    said["value"] = said["output_id"].map(votes["mean"]).gt(0.5).astype("float64")
    return study.replace(judgments=said)


def atlas(study: Study, evaluators: Sequence[str], *, n_resamples: int, seed: int) -> pd.DataFrame:
    """Correlate evaluators with people by votes (H1) and by majority (H2), in two kinds of ways.

    As `correlate` over HITs (or items, where the study has none), and ``criterion``; ``p``,
    ``p_adjusted`` (Holm over a column of the atlas) and ``p_method`` of as many permutations of
    generators as Holm needs; ``second_low``, ``second_high``: the interval over generators.
    """
    judgments = study.judgments
    hits = judgments is not None and (judgments["group_id"] != "").all()
    key = ["criterion", "evaluator", "statistic"]
    found = []
    n_scored = study.scored(evaluators).groupby("evaluator")["score"].count()
    for criterion, judged in (("H1", study), ("H2", majority(study))):
        asked: dict[str, Any] = {"evaluators": evaluators, "dimension": study.dimension()}
        asked |= {"seed": seed}
        clusters = "group_id" if hits else None
        over_hits = correlate(judged, clusters=clusters, n_resamples=n_resamples, **asked)
        needed = permutations_needed(len(evaluators), alpha=0.05)
        asked |= {"resample": "systems", "n_resamples": needed}
        # One call for each number of scores: evaluators that lack some have the same permutations.
        groups = n_scored.groupby(n_scored).groups.values()
        of_systems = pd.concat(
            [correlate(judged, **asked | {"evaluators": list(names)}) for names in groups]
        )
        of_systems["p_adjusted"] = of_systems.groupby("statistic")["p"].transform(adjust)
        second = {"ci_low": "second_low", "ci_high": "second_high"}
        tested = of_systems.rename(columns=second)[
            ["evaluator", "statistic", "p", "p_adjusted", "p_method", *second.values()]
        ]
        over_hits = over_hits.drop(columns=["p", "p_method"]).assign(criterion=criterion)
        found.append(over_hits.merge(tested, on=key[1:], validate="one_to_one"))
    return pd.concat(found)


def with_truth(
    study: Study, evaluators: Sequence[str], *, people: pd.DataFrame, seed: int
) -> pd.DataFrame:
    """Correlate evaluators, and people's system_scores, with the true quality of a simulated study.

    True quality is the expected share of votes that take a system's texts for real.
    """
    assert study.truth is not None
    true = study.truth["systems"]
    true = true[~true["is_human"]][["system", "quality"]].rename(columns={"quality": "score"})
    true = true.assign(evaluator="truth", signature="expected share of votes real")
    everyone = [*evaluators, *people["evaluator"].unique()]
    both = study.replace(system_scores=people)
    return correlate(both, evaluators=everyone, against=true, seed=seed)


def explained_by_diversity(
    study: Study, evaluators: Sequence[str], *, people: pd.DataFrame
) -> pd.DataFrame:
    """Correlate evaluators with people over generators, with Self-BLEU held constant."""
    return partial_correlations(
        study, given="minus_self_bleu_4", evaluators=evaluators, against=people
    )


def atlas_layout(correlations: pd.DataFrame) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Write an atlas as figures do, with the layout of a table for a paper."""
    table = labelled(correlations)
    columns, names = ["criterion", "statistic"], table["evaluator"].unique()
    estimate, low, high = (
        table.pivot(index="evaluator", columns=columns, values=end).loc[names]
        for end in ("estimate", "ci_low", "ci_high")
    )
    caption = "Correlation of each evaluator with people over generators."
    return table, {"table": estimate, "caption": caption, "intervals": (low, high)}


def answers(
    data: Study,
    *,
    people: pd.DataFrame | None = None,
    agreement: pd.DataFrame | None = None,
    corpus: pd.DataFrame | None = None,
    diversity: pd.DataFrame | None = None,
    scored: Study | None = None,
    directions: pd.DataFrame | None = None,
    partial: pd.DataFrame | None = None,
    truth: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Answer the paper's claims from the released batch, or ask the same of another study.

    Only the released study, as it came, answers claims of the paper; others record under
    ``simulated/evaluator-correlations`` or ``study/<name>``. `people` is from `people` (Table 3,
    Figure 2, and the batch's size), `agreement` from `nlgbench.agreement` of values and of right
    votes, `corpus` correlations of overlap with `quality` (Table 11), `diversity` from
    `nlgbench.diversity` (Table 12, and the order of Self-BLEU), `scored` a study with scores
    (Tables 14, 5, 7 and 8), `directions` correlations with H1, `partial` from
    `partial_correlations`, `truth` correlations with the true quality of a simulated study.
    Averages of Tables 7 and 8 follow from print, whatever the study.
    """
    of_print = recompute().assign(source="published")
    parts = [of_print[of_print["claim_id"].str.contains("/table[78]/")]]
    real = is_release(data)
    start = PAPER if real else own_place(data, "evaluator-correlations")
    finding = f"{PAPER}/finding" if real else start
    if people is not None:
        of_class = people["row"].isin(_RATES)
        parts.append(claim_rows(people[~of_class], start + "/table3/{row}/{criterion}"))
        rates = people[of_class]
        rates = rates.assign(rate=rates["row"].map(_RATES))
        parts.append(claim_rows(rates, start + "/figure2/{criterion}/{rate}"))
    if agreement is not None:
        ids = finding + "/{coefficient}_{coded}/{row}"
        parts.append(claim_rows(agreement, ids, reason=agreement["reason"]))
    if partial is not None:
        tail = "/partial_given_self_bleu/" + slugs_of(partial["evaluator"])
        why = "Pearson with H1 over {n} generators, Self-BLEU held constant; Fisher's z. {reason}"
        parts.append(claim_rows(partial, finding + tail, reason=why))
    if truth is not None:
        tail = "/truth/" + slugs_of(truth["evaluator"]) + "/" + truth["statistic"]
        parts.append(claim_rows(truth, start + tail, reason="{reason}"))
    if real and people is not None:
        parts += _of_batch(data, people)
    if real and corpus is not None:
        parts.append(
            claim_rows(
                table11(corpus),
                PAPER + "/table11/{row}/{dimension}_{short}",
                variant="{evaluator}, TF-IDF references",
                reason="Other references: the authors' sent2vec neighbors were not released. The "
                "BLEU order is not printed. Interval: generators as a sample.",
                comparable=False,
            )
        )
    if real and diversity is not None:
        parts += _of_diversity(diversity)
    if real and scored is not None:
        parts += _of_scores(scored)
    if real and directions is not None:
        there = directions[directions["evaluator"].isin(list(DIRECTIONS))]
        claim = f"{PAPER}/direction/" + there["evaluator"].map(DIRECTIONS)
        why = "{evaluator}, 95% interval over generators, {n} as a sample."
        parts.append(claim_rows(there, claim, reason=why))
    return all_rows(parts, source=data.source)


def excuses(data: Study, evaluators: Sequence[str] = ()) -> pd.DataFrame:
    """Say which claims cannot be answered, and why: claim_id (a pattern), reason."""
    table = not_recomputable()
    power = (
        "The paper states alpha = .05 and the result alone. Of 180 usual sets of assumptions two "
        "give 111: accuracy .7, margin .2, one-sided .025, with power .9 for non-inferiority or .8 "
        "for equivalence."
    )
    rows = [(f"{PAPER}/section3.3.1/power_analysis/*", power)]
    if data.source == "study":
        why = f"{data.name}: the paper's own data were not used in this run"
        rows.append((f"{PAPER}/*", why))
    if is_release(data):
        java = "METEOR runs at full effort, with Java and the extra meteor."
        rows += [
            (
                f"{PAPER}/direction/{slug}",
                java if name == "meteor" else "XGBoost needs the extra boosting.",
            )
            for name, slug in DIRECTIONS.items()
            if name not in evaluators
        ]
    return pd.concat([table, pd.DataFrame(rows, columns=table.columns)], ignore_index=True)


def _of_batch(data: Study, people: pd.DataFrame) -> list[pd.DataFrame]:
    """Count what the released batch holds, and how often its reviews are taken for real."""
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
            f"{n_five} of {len(judging)} pages; {span(judging, '.0f')} in all.",
        ),
        (
            "workers/distinct",
            votes["annotator_id"].nunique(),
            "Workers of accepted assignments, each of whom did one page; five on every page "
            "would be 900.",
        ),
    ]
    table = pd.DataFrame(counts, columns=["slug", "value", "note"])
    real = people[(people["row"] == "real") & (people["criterion"] == "h1")]
    ends = {"estimate": "estimate", "ci_low": "ci_high", "ci_high": "ci_low"}
    generated = real.assign(**{end: 100 - real[other] for end, other in ends.items()})
    place = f"{PAPER}/section5.1/amazon_reviews/judged_"
    return [
        claim_rows(table, PAPER + "/section3.3.1/{slug}", value="value", reason="{note}"),
        claim_rows(real, place + "human_written", variant="votes"),
        claim_rows(generated, place + "generated", variant="votes"),
    ]


def table11(corpus: pd.DataFrame) -> pd.DataFrame:
    """Lay out the counterpart of Table 11: evaluator, row, dimension (h1, h2), short, estimate."""
    rows = {f"bleu_{n}@coco": "bleu_evaluator" for n in range(1, 5)}
    rows |= {name: f"{name.partition('_')[0]}_evaluator" for name in OVERLAP if "bleu" not in name}
    table = corpus.assign(evaluator=corpus["evaluator"].str.removeprefix("corpus_"))
    table = table[table["evaluator"].isin(list(rows))]
    return table.assign(
        row=table["evaluator"].map(rows), short=table["statistic"].str.removesuffix("_b")
    )


def _of_diversity(diversity: pd.DataFrame) -> list[pd.DataFrame]:
    columns = {"self_bleu_4": "self_bleu"}
    columns |= {f"distinct_{n}": "lexical_diversity" for n in (1, 2, 3)}
    why = (
        "The full generated sets were not released; both measures depend on the number of texts, "
        "and the n-gram order of lexical diversity is not printed."
    )
    parts = []
    for evaluator, column in columns.items():
        own = diversity[diversity["evaluator"] == evaluator]
        ids, variant = (
            f"{PAPER}/table12/{{system}}/{column}",
            "{evaluator} of 150 annotated reviews",
        )
        parts.append(claim_rows(own, ids, variant=variant, reason=why, comparable=False))
    why = "Levels differ: 150 reviews of each generator here, thousands there."
    order = f"{PAPER}/direction/self_bleu_order"
    return [*parts, claim_rows(self_bleu_order(diversity), order, reason=why)]


def self_bleu_order(diversity: pd.DataFrame) -> pd.DataFrame:
    """Correlate (Spearman) Self-BLEU of the released reviews with the printed one."""
    own = diversity[diversity["evaluator"] == "self_bleu_4"].set_index("system")["estimate"]
    printed = load_printed(f"{PAPER}/table12")["self_bleu"].reindex(own.index)
    return pd.DataFrame([correlation("spearman", own, printed)]).rename(
        columns={"value": "estimate"}
    )


def _of_scores(scored: Study) -> list[pd.DataFrame]:
    parts = [
        claim_rows(
            system_means(scored, ["training_overlap_4"]),
            PAPER + "/table14/{system}/bleu_g_train",
            value="mean",
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
    common: dict[str, Any] = {
        "value": "accuracy",
        "variant": "annotated set, out of fold",
        "reason": "Trained out of fold on the annotated reviews themselves: D-train was not "
        "released. Wilson interval; training on other texts is left out.",
        "comparable": False,
    }
    numbered: list[tuple[int, Literal["natural", "majority"]]] = [(7, "natural"), (8, "majority")]
    for number, labels in numbered:
        of_system = discriminator_accuracy(scored, labels=labels)
        wide = [discriminator_accuracy(scored, labels=labels, by=by) for by in ("class", "all")]
        together = pd.concat(wide)
        together["system"] = together["system"].map(classes)
        rows = pd.concat([of_system[of_system["system"] != "human"], together])
        rows = rows[rows["labels_trained"] == "natural"]
        rows[["accuracy", "ci_low", "ci_high"]] *= 100
        meta = rows[rows["evaluator"].str.endswith("_meta@natural")]
        meta = meta.assign(column=meta["evaluator"].str.partition("_meta")[0].map(_SHORT))
        meta = meta[meta["column"].notna()]
        parts.append(claim_rows(meta, f"{PAPER}/table{number}/{{system}}/{{column}}", **common))
        if number == 7:
            alone = rows[rows["evaluator"] == "svm_individual@natural"]
            alone = alone[~alone["system"].str.startswith("test_set")]
            ids = PAPER + "/table5/{system}/individual_svm_adversarial_evaluators"
            parts.append(claim_rows(alone, ids, **common))
    return parts
