"""Figures of variance components."""

import numpy as np
import pandas as pd
import pytest

import nlgbench as nb


def components():
    return pd.DataFrame(
        {
            "component": ["item", "annotator", "rest"],
            "variance": [1.0, np.nan, 3.0],
            "ci_low": [np.nan, np.nan, 2.0],
            "ci_high": [np.nan, np.nan, 5.0],
            "share": [0.25, np.nan, 0.75],
        }
    )


def test_components_are_bars_with_shares_and_what_is_unknown_is_said():
    drawn = nb.plot_components(components())
    (ax,) = drawn.axes
    assert [bar.get_width() for bar in ax.patches] == [1.0, 3.0]
    assert {text.get_text() for text in ax.texts} == {"share", "25%", "", " not told apart", "75%"}
    assert len(ax.collections[0].get_segments()) == 1
    assert drawn.alt.endswith("item 25%, annotator not told apart, rest 75%.")


@pytest.mark.parametrize(
    ("plot", "table", "message"),
    [
        (nb.plot_components, pd.concat([components()] * 2), "two rows for component 'item'"),
        (nb.plot_components, components().assign(variance=np.nan), "no variance is known"),
    ],
)
def test_what_cannot_be_drawn_is_refused(plot, table, message):
    with pytest.raises(ValueError, match=message):
        plot(table)
