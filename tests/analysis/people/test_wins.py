"""Shares of wins and their jackknife are those of pairs counted one by one."""

import numpy as np
import pytest

from nlgbench.analysis.people import wins


def counted(value, system, block, k):
    """Compare all pairs of judgments of two systems in each block."""
    found = np.full((k, k), np.nan)
    for one in range(k):
        for other in range(k):
            shares = []
            for number in np.unique(block):
                x, y = (value[(system == s) & (block == number)] for s in (one, other))
                if len(x) and len(y):
                    gap = x[:, None] - y
                    shares.append(((gap > 0) + (gap == 0) / 2).mean())
            found[one, other] = np.mean(shares) if shares else np.nan
    return found


@pytest.mark.parametrize("clusters", range(5))
def test_the_jackknife_is_that_of_counting_again(clusters):
    rng = np.random.default_rng(0)
    n, k = 90, 3
    system, block, person = (rng.integers(0, size, n) for size in (k, 10, 8))
    value = rng.integers(1, 6, n) * 1.0
    both = np.unique(block * 8 + person, return_inverse=True)[1]
    # Blocks, people, pairs of both, documents of blocks, each judgment.
    cluster = (block, person, both, block // 3, np.arange(n))[clusters]
    table = wins.tabulate(value, system, block)
    whole = counted(value, system, block, k)
    np.testing.assert_allclose(wins.share(table), whole, atol=1e-12)
    without = [
        counted(value[cluster != one], system[cluster != one], block[cluster != one], k)
        for one in range(cluster.max() + 1)
    ]
    expected = (len(without) - 1) / len(without) * np.square(without - whole).sum(axis=0)
    np.testing.assert_allclose(wins.jackknife_variance(table, cluster), expected, atol=1e-12)
