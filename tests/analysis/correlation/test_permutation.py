from itertools import permutations

import numpy as np
import pytest
from scipy import stats

from nlgbench.analysis.correlation.meta_evaluation import permuted

SCIPY = {"pearson": stats.pearsonr, "spearman": stats.spearmanr, "kendall_b": stats.kendalltau}


@pytest.mark.parametrize("statistic", list(SCIPY))
def test_products_are_the_correlations_in_every_order(statistic):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(3, 5)).round(), rng.normal(size=5).round()
    orders = np.array(list(permutations(range(5))))
    found = permuted(x, y, orders, statistic)
    expected = [[SCIPY[statistic](one, y[order])[0] for order in orders] for one in x]
    np.testing.assert_allclose(found, expected, atol=1e-12)
    assert (permuted(np.ones((1, 5)), y, orders, statistic) == 0).all()
