"""Judge the Judges from print alone: which correlations, stars and averages follow."""

from itertools import product
from math import atanh, nan, sqrt, tanh
from typing import Any

import pandas as pd
from scipy.stats import kendalltau, norm, pearsonr, spearmanr
from scipy.stats import t as student

from nlgbench.datasets.published import load_lists, load_printed

PAPER = "judge-the-judges"
STATISTICS = {"kendall": kendalltau, "spearman": spearmanr, "pearson": pearsonr}
# A unit of the last digit: some cells are cut off, and ours come from accuracies rounded to .01.
TOLERANCE = 1e-4 + 1e-9
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
    """Recompute what follows from the printed tables of Judge the Judges.

    Returns
    -------
    DataFrame
        A row per claim: claim_id; variant (``printed``: from other printed tables; ``authors'
        lists``: from `load_lists`; ``printed coefficient``: a star whose coefficient can only be
        taken as printed); value; ci_low, ci_high (NaN for what is arithmetic or a decision); p
        (SciPy's, two-sided); n (generators); reason (why the value differs, or has no interval).
        Correlations of Tables 6, 9, 10, 13 and 15; all 258 stars; averages of Tables 4, 7 and 8;
        totals of Table 2.

    Notes
    -----
    Sections 4 and 5 of Garbacea, Carton, Yan and Mei (2019), doi:10.18653/v1/D19-1409. Quality
    is 100 - accuracy, for annotators and detectors alike. Table 13 correlates it with minus
    Self-BLEU, Table 15 with BLEU G-train as it is; both take the meta-discriminators from Table 4.
    Kendall's is tau-b. A star stands for p <= .05. Intervals: see `correlation`.

    Examples
    --------
    >>> found = recompute().set_index("claim_id")
    >>> cell = found.loc["judge-the-judges/table10/rf_meta_discriminator/h2_kendall"]
    >>> cell[["value", "ci_low", "ci_high"]].astype(float).round(3).tolist()
    [-0.606, -0.821, -0.24]
    """
    cells = _cells()
    rows = [cells, _stars(cells), _averages()]
    return pd.concat(rows, ignore_index=True)


def not_recomputable() -> pd.DataFrame:
    """List the coefficients that no printed number speaks to.

    Returns
    -------
    DataFrame
        claim_id (a shell pattern for ``run.skip``; stars are not among them) and reason.

    Examples
    --------
    >>> not_recomputable()["claim_id"].iloc[0]
    'judge-the-judges/table6/meteor_evaluator/*kendall'
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
    """Load the twelve generators' rows of a printed table, without averages.

    Parameters
    ----------
    number : int
        Table of Judge the Judges: 3, 4, 5, 7, 8, 12 or 14.

    Returns
    -------
    DataFrame
        As `load_printed`.

    Examples
    --------
    >>> generators(4).shape
    (12, 7)
    """
    return load_printed(f"{PAPER}/table{number}").iloc[:12]


def correlation(statistic: str, x: pd.Series, y: pd.Series) -> dict[str, float]:
    """Correlate two scores of the same generators.

    Parameters
    ----------
    statistic : {"kendall", "spearman", "pearson"}
        Kendall's is tau-b.
    x, y : Series of length n
        Scores by generator, in the same order.

    Returns
    -------
    dict
        value; ci_low, ci_high (95%; NaN where the value is 1, -1 or NaN); p (two-sided, SciPy's
        default); n.

    Raises
    ------
    ValueError
        If the generators differ.

    Notes
    -----
    The interval is Fisher's z with the standard error of Bonett and Wright (2000),
    doi:10.1007/BF02294183: 1 / sqrt(n - 3) for Pearson, sqrt((1 + r^2 / 2) / (n - 3)) for
    Spearman, sqrt(.437 / (n - 4)) for Kendall. It treats the generators as drawn from a
    population of generators, and leaves out that an accuracy is itself an estimate.

    Examples
    --------
    >>> human = generators(3)
    >>> found = correlation("pearson", human["h1"], human["h2"])
    >>> round(found["value"], 3), round(found["ci_low"], 2)
    (0.997, 0.99)
    """
    if not x.index.equals(y.index):
        raise ValueError("x and y must hold the same generators in the same order: reindex one.")
    found = STATISTICS[statistic](x, y)
    value, n = float(found.statistic), len(x)
    error = {
        "pearson": 1 / sqrt(n - 3),
        "spearman": sqrt((1 + value**2 / 2) / (n - 3)),
        "kendall": sqrt(0.437 / (n - 4)),
    }[statistic]
    low = high = nan
    if 1 - abs(value) > 1e-12:  # a perfect coefficient has no interval: z is infinite
        half = norm.ppf(0.975) * error
        low, high = tanh(atanh(value) - half), tanh(atanh(value) + half)
    return {"value": value, "ci_low": low, "ci_high": high, "p": float(found.pvalue), "n": n}


def inputs() -> dict[int, tuple[dict[str, pd.Series], dict[str, pd.Series]]]:
    """Gather what each printed table of correlations was computed from.

    Returns
    -------
    dict of int to (dict of Series, dict of Series)
        Per table, the score of each recomputable row (higher is better), and what the rows are
        correlated with, by the beginning of a column's name (``"h1_"``, or empty).

    Examples
    --------
    >>> rows, against = inputs()[10]
    >>> len(rows), list(against)
    (7, ['h1_', 'h2_'])
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
                    **{"value": decision, "ci_low": nan, "ci_high": nan, "p": cell["p"], "n": 12},
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
    return pd.DataFrame(
        [
            {
                "claim_id": f"{PAPER}/{place}",
                "variant": "printed",
                **{"value": value, "ci_low": nan, "ci_high": nan, "p": nan, "n": nan},
                "reason": f"{why} Arithmetic on printed cells has no interval.".strip(),
            }
            for place, value, why in rows
        ]
    )


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
