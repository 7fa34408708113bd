"""Coefficients of agreement without intervals, which tests compare with others' answers."""

import numpy as np

from nlgbench.analysis.people.coefficients import UnitJudgments, interval_over, sums_of


def coefficient_of(coefficient, values, unit, metric):
    """Compute a coefficient of judgments of units, of which those with one judgment say nothing."""
    kept = np.bincount(unit)[unit] > 1
    values, unit = values[kept], np.unique(unit[kept], return_inverse=True)[1]
    sums = sums_of(coefficient, metric, values, np.unique(values), unit)
    judged = UnitJudgments(unit, 0 * unit, np.unique(unit)[:, None])
    return interval_over(judged, sums, len(judged.cluster), over_annotators=False)["estimate"]


def of_ratings(coefficient, ratings, metric="nominal"):
    """Compute a coefficient of ratings (outputs, annotators); NaN: not judged."""
    unit = np.nonzero(~np.isnan(ratings))[0]
    return coefficient_of(coefficient, ratings[~np.isnan(ratings)], unit, metric)


def of_counts(coefficient, counts):
    """Compute a coefficient of how often each output was given each value."""
    unit, value = np.repeat(np.indices(counts.shape).reshape(2, -1), counts.ravel(), axis=1)
    return coefficient_of(coefficient, value.astype(float), unit, "nominal")
