"""Coefficients of agreement without intervals, which tests compare with others' answers."""

import numpy as np

from nlgbench.analysis.people.coefficients import Judged, interval_over, sums_of


def coefficient_of(coefficient, values, unit, metric):
    """Compute a coefficient of judgments of units, of which those with one judgment say nothing."""
    kept = np.bincount(unit)[unit] > 1
    values, unit = values[kept], np.unique(unit[kept], return_inverse=True)[1]
    sums = sums_of(coefficient, metric, values, np.unique(values), unit)
    judged = Judged(unit, 0 * unit, np.unique(unit)[:, None])
    return interval_over(judged, sums, len(judged.cluster), over_annotators=False)["estimate"]
