"""Garbacea, Carton, Yan and Mei (2019), doi:10.18653/v1/D19-1409: answers from printed tables.

Quality is 100 - accuracy, for annotators and detectors alike. Table 13 correlates it with minus
Self-BLEU, Table 15 with unchanged BLEU G-train; both use the meta-discriminators of Table 4.
Kendall's tau is tau-b, and a star means p <= .05.
"""

from __future__ import annotations

from itertools import combinations, product
from math import sqrt
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from nlgbench.analysis.correlation.intervals import interval_of_systems
from nlgbench.datasets.published import load_claims, load_lists, load_printed
from nlgbench.papers.claim_rows import claim_rows
from nlgbench.reported import write_number

PAPER = "judge-the-judges"
STATISTICS = {
    "kendall": stats.kendalltau,
    "spearman": stats.spearmanr,
    "pearson": stats.pearsonr,
}
_STARRED = 0.05
_TEXTS: Any = {"variant": "{variant}", "reason": "{reason}", "source": "published"}
#: Detector's name in the paper's tables -> its name in figures.
_DETECTORS = {"svm": "SVM", "nb": "naive Bayes", "rf": "random forest", "xgboost": "XGBoost"}
_DETECTORS |= {"lstm": "LSTM", "cnn": "CNN", "cnn_lstm": "CNN & LSTM"}

# Printed rows and cells that we cannot reproduce -> likely causes; tests recompute these.
_SUSPECTS = {
    "table6/svm_individual_discriminators": (
        "Table 5's 64.51 for MLE SeqGAN is suspect: values of 65.03 to 65.12 reproduce all six "
        "cells of this row, and changing any other single cell of Table 5 does not."
    ),
    "table9/svm_meta_discriminator": (
        "Four of Table 8's SVM cells repeat Table 7's. All six cells of this row follow from "
        "Scheduled Sampling 50.00, SeqGAN 62.67, RankGAN 60.67 and LeakGAN 63.33, or from 50.67, "
        "61.33, 60.67 and 64.67; no other counts out of 150 reproduce them."
    ),
    "table7/test_set_reviews_machine_generated/lstm": (
        "SeqGAN's cell repeats RankGAN's 67.33, but the printed average implies 54.00. Table 10 "
        "follows from 67.33."
    ),
}


def answers_from_print() -> pd.DataFrame:
    """Make rows of the ledger from the printed tables alone: `recompute` and `findings`."""
    return pd.concat([_answer_recomputed(of_reviews=False), findings()], ignore_index=True)


def averages_of_reviews() -> pd.DataFrame:
    """Make rows of the ledger from printed averages of Tables 7 and 8."""
    return _answer_recomputed(of_reviews=True)


def _answer_recomputed(*, of_reviews: bool) -> pd.DataFrame:
    cells = recompute()
    cells = cells[cells["claim_id"].str.contains("/table[78]/") == of_reviews]
    return claim_rows(cells, "{claim_id}", **_TEXTS)


def recompute() -> pd.DataFrame:
    """Recompute the claims that other printed tables determine, with a row for each.

    Columns: variant (``printed``: from other printed tables; ``authors' lists``: from `load_lists`;
    ``printed coefficient``: a star whose coefficient cannot be recomputed); estimate; ci_low,
    ci_high (NaN for arithmetic and decisions); p (SciPy's, two-sided); n (generators); reason (why
    the value differs, or has no interval). It covers the correlations of Tables 6, 9, 10, 13 and
    15, all 258 stars, the averages of Tables 4, 7 and 8, and the totals of Table 2.
    """
    cells = _recompute_correlations()
    return pd.concat([cells, _decide_stars(cells), _recompute_averages()], ignore_index=True)


def not_recomputable() -> dict[str, str]:
    """Return why printed tables do not determine some coefficients: claim ids -> reason."""
    reasons = {
        f"{PAPER}/table{number}/{metric.lower()}_evaluator/*": f"The {metric} score of each "
        "generator on D-test is printed only in a figure."
        for number, metric in product((6, 13, 15), ("METEOR", "CIDEr"))
    }
    reasons[f"{PAPER}/table11/*"] = (
        "Word-overlap scores on the annotated reviews with natural labels are not printed; the "
        "authors' lists use majority labels and give other values."
    )
    return reasons


def generators(number: int) -> pd.DataFrame:
    """Load the twelve generators' rows of a printed table, without averages."""
    return load_printed(f"{PAPER}/table{number}").iloc[:12]


def correlation(statistic: str, x: pd.Series, y: pd.Series) -> dict[str, float]:
    """Correlate two scores of the same generators: estimate, ci_low, ci_high, p, n.

    The interval treats generators as a sample from a normal population (for ranks, after monotone
    transformations), and ignores the sampling error of accuracies.
    """
    test = STATISTICS[statistic](x, y)
    value, n = float(test.statistic), len(x)
    name = "kendall_b" if statistic == "kendall" else statistic
    low, high = interval_of_systems(name, value, n, 0.95)[:2]
    return {"estimate": value, "ci_low": low, "ci_high": high, "p": float(test.pvalue), "n": n}


def inputs() -> dict[int, tuple[dict[str, pd.Series], dict[str, pd.Series]]]:
    """Return the inputs of each printed table of correlations.

    For each table: scores of each recomputable row (higher is better), and the series that these
    are correlated with, by prefix of the column (``"h1_"``, or empty).
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


def _recompute_correlations() -> pd.DataFrame:
    rows = []
    for number, (scores, against) in inputs().items():
        for row, score in scores.items():
            origin = "authors' lists" if row in ("bleu_evaluator", "rouge_evaluator") else "printed"
            for (prefix, human), statistic in product(against.items(), STATISTICS):
                rows.append(
                    {
                        "claim_id": f"{PAPER}/table{number}/{row}/{prefix}{statistic}",
                        "variant": origin,
                        **correlation(statistic, score, human),
                        "reason": _SUSPECTS.get(f"table{number}/{row}", ""),
                    }
                )
    return pd.DataFrame(rows)


def _decide_stars(cells: pd.DataFrame) -> pd.DataFrame:
    """Decide each star from the recomputed coefficient, or from the printed one."""
    recomputed = cells.set_index("claim_id")[["variant", "p"]].to_dict("index")
    published = load_claims(PAPER).set_index("claim_id")["published"]
    rows = []
    for star, printed in published[published.index.str.endswith("_star")].items():
        cell = str(star).removesuffix("_star")
        decided = recomputed.get(cell)
        if decided is None:
            statistic = cell.rpartition("/")[2].rpartition("_")[2]
            p = _p_of_coefficient(statistic, published[cell])
            decided = {"variant": "printed coefficient", "p": p}
        decision = float(decided["p"] <= _STARRED)
        why = f"p = {decided['p']:.2g} with n = 12; a decision has no interval."
        if decision != printed:
            why = f"The significance star is {'missing' if decision else 'spurious'}: {why}"
        rows.append({"claim_id": star, **decided, "estimate": decision, "n": 12, "reason": why})
    return pd.DataFrame(rows)


def _p_of_coefficient(statistic: str, value: float) -> float:
    """Return the two-sided p of a coefficient over twelve generators without ties."""
    n = 12
    if statistic != "kendall":
        return float(2 * stats.t.sf(abs(value) * sqrt((n - 2) / (1 - value**2)), n - 2))
    # Any ranking with the same number of discordant pairs has the same exact p.
    discordant = round((1 - value) / 2 * (n * (n - 1) // 2))
    unused, ranking = list(range(n)), []
    while unused:
        position = min(discordant, len(unused) - 1)
        discordant -= position
        ranking.append(unused.pop(position))
    return float(stats.kendalltau(range(n), ranking).pvalue)


def _recompute_averages() -> pd.DataFrame:
    """Recompute the averages of Tables 4, 7 and 8 and the totals of Table 2."""
    sizes = load_printed(f"{PAPER}/table2")
    totals = sizes[["d_train", "d_valid", "d_test"]].sum(axis=1)
    rows = [(f"table2/{row}/total", total, "") for row, total in totals.items()]
    for number in (4, 7, 8):
        table = load_printed(f"{PAPER}/table{number}")
        everything, human, machine = table.index[12:]
        weights = pd.Series(150.0, table.index[:12])
        if number == 4:
            weights[:], weights["google_lm"] = sizes["d_test"]
        for detector, column in table.items():
            implied = (column.iloc[:12] * weights).sum() / weights.sum()
            cell = f"table{number}/{machine}/{detector}"
            why = _table8_reason(column) if number == 8 else _SUSPECTS.get(cell, "")
            rows.append((cell, implied, why))
            cell = f"table{number}/{everything}/{detector}"
            rows.append((cell, column[[human, machine]].mean(), ""))
    table = pd.DataFrame(rows, columns=["claim_id", "estimate", "reason"]).assign(variant="printed")
    table["claim_id"] = f"{PAPER}/" + table["claim_id"]
    table["reason"] += " Arithmetic on printed cells has no interval."
    return table.assign(reason=table["reason"].str.strip())


def _table8_reason(column: pd.Series) -> str:
    """Compare a detector's cells with its printed average over machine-generated reviews."""
    cells = int((column.iloc[:12] * 1.5).round().sum())
    average = round(column.iloc[14] * 18)
    why = f"The cells imply {cells} of 1,800 reviews; the printed average implies {average}."
    if column.name == "svm":
        return (
            f"{why} Four of the cells repeat Table 7's; with values that reproduce Table 9's row, "
            "the cells imply 842 or 843."
        )
    return (
        f"{why} All detectors except SVM are off by an odd number from -1 to 7, as if an odd "
        "number of majority labels, seven or more, differed in the average."
    )


def findings() -> pd.DataFrame:
    """Make claim rows of results that the paper states in words, or that its tables imply.

    Self-BLEU against lexical diversity (``table12``); ten against all references; the lists with
    majority labels against annotators; Table 9 under independence of detectors and annotators, and
    their agreement beyond it (percentage points); differences between meta-discriminators
    (percentage points), and tests over the twelve generators (p-values).
    """
    diversity, lists = generators(12), load_lists()
    quality = 100 - generators(3)
    pairs = {"table12/": (diversity["self_bleu"], diversity["lexical_diversity"])}
    for metric in ("bleu", "rouge"):
        scores = lists[f"{metric}_top10"], lists[f"{metric}_all"]
        pairs[f"ten_against_all_references/{metric}_"] = scores
    for metric, human in product(("bleu", "rouge", "meteor", "cider"), quality):
        scores = lists[f"{metric}_majority"], quality[human]
        pairs[f"majority_references/{metric}_evaluator/{human}_"] = scores
    rows = [
        {"place": prefix + name, **correlation(name, *scores)}
        for (prefix, scores), name in product(pairs.items(), STATISTICS)
    ]
    tests = {"anova_p": stats.f_oneway, "friedman_p": stats.friedmanchisquare}
    for number, name in product((4, 7), tests):
        p = tests[name](*(column for _, column in generators(number).items())).pvalue
        row = {"place": f"detectors_over_generators/table{number}_{name}", "estimate": float(p)}
        rows.append({**row, "reason": "A p-value has no interval."})
    flip, beyond = flip_under_independence(), agreement_beyond_independence()
    differ = detector_differences()
    flip["place"] = "flip_under_independence/" + flip["row"] + "/" + flip["column"]
    beyond["place"] = "agreement_beyond_independence/" + beyond["detector"]
    pair = differ["a"] + "_minus_" + differ["b"]
    differ["place"] = "detector_differences/" + differ["reviews"] + "/" + pair
    differ["reason"] = (
        "Widest interval that the two accuracies allow, because the number of reviews that "
        "both misjudge is not printed."
    )
    results = pd.concat([pd.DataFrame(rows), flip, beyond, differ], ignore_index=True)
    results = results.fillna({"reason": ""})
    lists_used = results["place"].str.startswith(("ten_against", "majority_references"))
    results["variant"] = np.where(lists_used, "authors' lists", "printed")
    return claim_rows(results, f"{PAPER}/finding/{{place}}", **_TEXTS)


def flip_under_independence() -> pd.DataFrame:
    """Compute Table 9 as it would be if detectors and annotators were independent.

    If a detector calls a share p of a generator's reviews generated (Table 7), and the annotators'
    majority a share m (Table 3, H2), they agree on ``p m + (1 - p)(1 - m)`` of reviews; quality is
    100 minus that, in percent. If p > 1/2, agreement increases with m, so majority labels flip the
    sign by construction. Intervals ignore that p and m are estimates. Columns: row, column,
    estimate, ci_low, ci_high, p, n.
    """
    quality, expected = 100 - generators(3), _agreement_under_independence()
    rows = [
        {
            "row": f"{detector}_meta_discriminator",
            "column": f"{human}_{name}",
            **correlation(name, 100 - expected[detector], quality[human]),
        }
        for detector, human, name in product(expected, quality, STATISTICS)
    ]
    return pd.DataFrame(rows)


def agreement_beyond_independence() -> pd.DataFrame:
    """Measure how much detectors agree with the majority beyond independence.

    A row per meta-discriminator: estimate (Table 8 minus agreement under independence, as a mean
    over generators in percentage points; positive if both suspect the same reviews), ci_low,
    ci_high (95%, Student's t over generators), n, reason. Cells of Table 8 that repeat Table 7's
    SVM column are omitted. If a detector calls all reviews generated, the difference only reflects
    rounding.
    """
    expected, printed = _agreement_under_independence(), generators(8)
    rows = []
    for detector, column in printed.items():
        beyond = (column - expected[detector])[column != generators(7)[detector]]
        n, (low, high) = len(beyond), stats.ttest_1samp(beyond, 0).confidence_interval()
        why = f"{12 - n} cells that repeat Table 7's are omitted." if n < 12 else ""
        rows.append((detector, beyond.mean(), low, high, n, why))
    return pd.DataFrame(rows, columns=["detector", "estimate", "ci_low", "ci_high", "n", "reason"])


def detector_differences() -> pd.DataFrame:
    """Estimate how the meta-discriminators differ in accuracy on individual reviews.

    A row per pair and set of reviews (``d_test``, Table 4; ``annotated``, Table 7): estimate
    (accuracy of a minus that of b, percentage points), ci_low, ci_high (95%), n (reviews). Joint
    errors are not printed, so the interval uses the largest variance that the two accuracies allow,
    ``(e_a + e_b - (e_a - e_b)^2) / n``. D-test has the generated reviews of Table 2 and equally
    many human ones, because Table 4's averages are means of both.
    """
    sizes = load_printed(f"{PAPER}/table2")["d_test"]
    generated = 11 * sizes["model_in_table_1_except_google_lm"] + sizes["google_lm"]
    sets = []
    for reviews, number, n in (("d_test", 4, int(2 * generated)), ("annotated", 7, 3600)):
        error = 1 - load_printed(f"{PAPER}/table{number}").iloc[12] / 100
        table = pd.DataFrame(combinations(error.index, 2), columns=["a", "b"])
        of_a, of_b = table["a"].map(error), table["b"].map(error)
        value = 100 * (of_b - of_a)
        half = 100 * stats.norm.ppf(0.975) * np.sqrt((of_a + of_b - (of_b - of_a) ** 2) / n)
        table = table.assign(estimate=value, ci_low=value - half, ci_high=value + half)
        sets.append(table.assign(reviews=reviews, n=n))
    return pd.concat(sets, ignore_index=True)


def _agreement_under_independence() -> pd.DataFrame:
    """Compute Table 8 under independence given the generator, in percent."""
    detected, majority = generators(7) / 100, generators(3)["h2"] / 100
    both_generated = detected.mul(majority, axis=0)
    return 100 * (both_generated + (1 - detected).mul(1 - majority, axis=0))


def printed_cells() -> pd.DataFrame:
    """Return for each recomputed cell (kind: values or stars) whether it equals the printed one."""
    cells = recompute()
    keys = cells["claim_id"].str.split("/", expand=True)
    cells = cells.assign(table=keys[1], row=keys[2], column=keys[3])
    printed = load_claims(PAPER)[["claim_id", "published", "tolerance"]]
    cells = cells.merge(printed, on="claim_id", how="left", validate="one_to_one")
    cells["follows"] = (cells["estimate"] - cells["published"]).abs() <= cells["tolerance"] + 1e-9
    return cells.assign(kind=np.where(cells["column"].str.endswith("_star"), "stars", "values"))


def followed() -> pd.DataFrame:
    """Count the values and stars of each table, and those that recomputation reproduces."""
    sums = printed_cells().groupby(["table", "kind"])["follows"].agg(matching="sum", all="size")
    counts: pd.DataFrame = sums.unstack("kind").dropna(axis=1, how="all")
    order = sorted(counts.index, key=lambda name: int(name.removeprefix("table")))
    return counts.loc[order].astype("Int64")


def printed_table(number: int) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Return the recomputed cells of Table 6, 9 or 10, and the layout of a table for a paper."""
    cells = printed_cells()
    rows = cells[(cells["table"] == f"table{number}") & (cells["kind"] == "values")]
    key = rows["column"].str.split("_", expand=True)
    names = {"kendall": "τ-b", "spearman": "Spearman", "pearson": "Pearson"}
    rows = rows.assign(criterion=key[0].str.upper(), statistic=key[1].map(names))
    quantities = load_claims(PAPER).set_index("claim_id")["quantity"]
    rows["row"] = rows["claim_id"].map(quantities.str.extract(r" of (.*?)(?: \(| with )")[0])
    marks = rows["follows"].map({True: "", False: "†"})
    rows["text"] = [write_number(value, 4) for value in rows["estimate"]] + marks
    wide = rows.pivot(index="row", columns=["criterion", "statistic"], values="text")
    layout = {
        "table": wide.loc[rows["row"].unique()],
        "caption": f"Table {number} of Garbacea et al. (2019), recomputed from printed tables.",
        "note": "† differs from the printed cell; the ledger gives the reason.",
    }
    return rows.drop(columns=["tolerance", "kind", "text"]), layout


def flips() -> pd.DataFrame:
    """Compare Tables 9 and 10 (Spearman, H2) with independence, for `plot_forest`."""
    flip = flip_under_independence().query("column == 'h2_spearman'").set_index("row")
    names = flip.index.str.removesuffix("_meta_discriminator").map(_DETECTORS)
    natural, majority = (load_printed(f"{PAPER}/table{n}")["h2_spearman"] for n in (10, 9))
    tables = {
        "scored on the true source (Table 10)": natural.loc[flip.index].to_frame("estimate"),
        "scored on the majority vote (Table 9)": majority.loc[flip.index].to_frame("estimate"),
        "majority vote, if errors were independent": flip[["estimate", "ci_low", "ci_high"]],
    }
    rows = [
        table.assign(evaluator=names, kind=kind, confidence=0.95) for kind, table in tables.items()
    ]
    return pd.concat(rows, ignore_index=True)
