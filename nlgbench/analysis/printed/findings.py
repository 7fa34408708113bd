"""Judge the Judges from print alone: what its numbers say beyond their own claims."""

from itertools import combinations, product
from math import sqrt

import pandas as pd
from scipy.stats import f_oneway, friedmanchisquare, norm
from scipy.stats import t as student
from statsmodels.stats.multitest import multipletests

from nlgbench.analysis.printed.judges import PAPER, STATISTICS, correlation, generators
from nlgbench.datasets.published import load_lists, load_printed


def findings() -> pd.DataFrame:
    """Gather the results that the paper states in words, or that its tables allow.

    Returns
    -------
    DataFrame
        Columns as `judges.recompute`, under ids of our own
        (``judge-the-judges/finding/...``): Self-BLEU against lexical diversity (``table12``);
        ten against all references; the lists with majority labels against the annotators;
        Table 9 if detectors and annotators were independent; how much more they agree than that
        (percent points); differences between meta-discriminators (percent points), and tests over
        the twelve generators (p-values).

    Examples
    --------
    >>> found = findings().set_index("claim_id")["value"]
    >>> float(found["judge-the-judges/finding/table12/kendall"].round(2))
    -0.7
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

    Returns
    -------
    DataFrame
        A row per cell of Table 9: row, column, printed, recomputed (from Table 8), value (under
        independence), ci_low, ci_high, p, n.

    Notes
    -----
    Take a generator's reviews, and let the detector call a share p of them generated (Table 7),
    the annotators' majority a share m (Table 3, H2). If the two are independent given the
    generator, they agree on ``p m + (1 - p)(1 - m)``; quality is 100 minus that, in percent.
    Where p > 1/2, agreement rises with m, which is what Table 9 correlates it with: labels by the
    majority turn the sign by construction. Intervals: `judges.correlation`; they leave
    out that p and m are estimates from 150 reviews.

    Examples
    --------
    >>> found = flip_under_independence().set_index(["row", "column"])
    >>> found.loc[("cnn_meta_discriminator", "h2_pearson"), ["printed", "value"]].round(2).tolist()
    [0.9, 0.89]
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

    Returns
    -------
    DataFrame
        A row per meta-discriminator: detector; value (Table 8 minus what independence within each
        generator gives, mean over generators, percent points; positive: they find the same reviews
        suspicious); ci_low, ci_high (95%, Student's t over generators); p; n (generators); reason.

    Notes
    -----
    Cells of Table 8 that repeat Table 7's SVM column are left out. Where a detector calls all
    reviews generated, it cannot say anything: the difference is then the rounding of H2 and its
    few reviews of less than five votes.

    Examples
    --------
    >>> agreement_beyond_independence().set_index("detector")["n"].to_dict()["svm"]
    8
    """
    expected, given = _agreement_under_independence(), generators(8)
    rows = []
    for detector, column in given.items():
        repeats = column == generators(7)[detector]
        beyond = (column - expected[detector])[~repeats]
        n = len(beyond)
        mean, error = float(beyond.mean()), float(beyond.std() / sqrt(n))
        half = float(student.ppf(0.975, n - 1)) * error
        rows.append(
            {
                "detector": detector,
                "value": mean,
                "ci_low": mean - half,
                "ci_high": mean + half,
                "p": float(2 * student.sf(abs(mean / error), n - 1)),
                "n": n,
                "reason": f"{12 - n} cells that repeat Table 7's are left out." if n < 12 else "",
            }
        )
    return pd.DataFrame(rows)


def detector_differences() -> pd.DataFrame:
    """Test whether the meta-discriminators differ in accuracy on individual reviews.

    Returns
    -------
    DataFrame
        A row per pair and set of reviews: reviews (``d_test``, Table 4; ``annotated``, Table 7),
        a, b, value (accuracy of a minus that of b, percent points), ci_low, ci_high (95%), p
        (two-sided), p_holm (over the 21 pairs of a set), n (reviews), reason.

    Notes
    -----
    Section 4.1.2 says that they do not differ significantly on individual reviews. All judge the
    same reviews, and which they get wrong together is not printed. The variance of the
    difference is therefore the largest that the two accuracies allow (no review misjudged by
    both): ``(e_a + e_b - (e_a - e_b)^2) / n``, normal. The true interval is no wider. D-test
    holds the generated reviews of Table 2 and as many human-written ones: Table 4's averages over
    all are the means of the two classes.

    Examples
    --------
    >>> found = detector_differences()
    >>> bool((found.loc[found["reviews"] == "d_test", "p_holm"] <= 0.05).all())
    False
    """
    sizes = load_printed(f"{PAPER}/table2")["d_test"]
    generated = 11 * sizes["model_in_table_1_except_google_lm"] + sizes["google_lm"]
    sets = []
    for reviews, number, n in (("d_test", 4, int(2 * generated)), ("annotated", 7, 3600)):
        error = 1 - load_printed(f"{PAPER}/table{number}").iloc[12] / 100
        rows = []
        for a, b in combinations(error.index, 2):
            difference = error[b] - error[a]
            spread = sqrt((error[a] + error[b] - difference**2) / n)
            half = norm.ppf(0.975) * spread
            rows.append(
                {
                    **{"reviews": reviews, "a": a, "b": b, "value": 100 * difference},
                    "ci_low": 100 * (difference - half),
                    "ci_high": 100 * (difference + half),
                    "p": 2 * norm.sf(abs(difference) / spread),
                    "n": n,
                    "reason": "Widest interval that the two accuracies allow: how often both "
                    "misjudge the same review is not printed.",
                }
            )
        table = pd.DataFrame(rows)
        table["p_holm"] = multipletests(table["p"], method="holm")[1]
        sets.append(table)
    return pd.concat(sets, ignore_index=True)


def _agreement_under_independence() -> pd.DataFrame:
    """Return Table 8 as it would be under independence given the generator, in percent."""
    detected, majority = generators(7) / 100, generators(3)["h2"] / 100
    both = detected.mul(majority, axis=0)
    return 100 * (both + (1 - detected).mul(1 - majority, axis=0))
