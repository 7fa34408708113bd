"""Figures of variance components and of coverage."""

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


def shares(**columns):
    table = pd.DataFrame(
        {
            "quantity": ["mean", "difference", "all ranks"],
            "name": ["sys_a", "sys_a", ""],
            "opponent": ["", "sys_b", ""],
            "coverage": [0.95, 0.8, np.nan],
            "n_worlds": [200, 200, 0],
        }
    )
    return table.assign(**columns)


def test_components_are_bars_with_shares_and_what_is_unknown_is_said():
    drawn = nb.plot_components(components())
    (ax,) = drawn.axes
    assert [bar.get_width() for bar in ax.patches] == [1.0, 3.0]
    assert [text.get_text() for text in ax.texts] == ["25%", " not told apart", "75%"]
    assert len(ax.collections[0].get_segments()) == 1
    assert drawn.alt.endswith("item 25%, annotator not told apart, rest 75%.")


def test_coverage_has_wilsons_interval_and_marks_what_is_off():
    drawn = nb.plot_coverage(shares())
    (ax,) = drawn.axes
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert names == ["mean sys a", "difference sys a \u2212 sys b"]
    (low, high), (lower, _) = (line[:, 0] for line in ax.collections[0].get_segments())
    # Of 190 in 200 and 160 in 200, as statsmodels' proportion_confint(..., method="wilson") has it.
    assert (low, high) == pytest.approx((0.91042, 0.97262), abs=1e-4)
    assert lower == pytest.approx(0.73914, abs=1e-4)
    assert ax.get_xlim()[0] < lower
    inside, off = (line for line in ax.get_lines() if line.get_marker() == "o")
    assert list(inside.get_xdata()) == [0.95] and list(off.get_xdata()) == [0.8]
    assert drawn.alt.endswith("clearly below .93: 1. 1 without intervals are left out.")


def test_of_many_systems_the_rows_of_a_quantity_share_a_few_lanes():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"quantity": ["mean"] * 30 + ["difference"] * 435 + ["all ranks"]})
    table = table.assign(name=[f"s{n}" for n in range(466)], opponent="", n_worlds=200)
    table["coverage"] = rng.binomial(200, 0.95, 466) / 200
    drawn = nb.plot_coverage(table)
    (ax,) = drawn.axes
    assert [label.get_text() for label in ax.get_yticklabels()] == [
        *("mean (30)", "difference (435)", "all ranks (1)"),
    ]
    assert drawn.figure.get_figheight() < 5
    points = np.concatenate([one.get_xydata() for one in ax.get_lines() if one.get_marker() == "o"])
    assert len(points) == 466 and len(drawn.data) == 466
    np.testing.assert_allclose(np.sort(points[:, 0]), np.sort(table["coverage"]))
    # Above each other: the quantities in their order, each from its lowest coverage on.
    first = points[points[:, 1] <= 7.5]
    assert len(first) == 30
    by_lane = first[np.argsort(first[:, 1]), 0]
    assert (np.diff(by_lane) >= 0).all()
    assert points[np.argmax(points[:, 1]), 0] == table["coverage"].iloc[-1]


@pytest.mark.parametrize(
    ("plot", "table", "message"),
    [
        (nb.plot_components, pd.concat([components()] * 2), "component 'item' twice"),
        (nb.plot_components, components().assign(variance=np.nan), "no variance is known"),
        (nb.plot_coverage, shares(coverage=np.nan), "no row has a coverage"),
        (nb.plot_coverage, shares().drop(columns="n_worlds"), "no column 'n_worlds'"),
    ],
)
def test_what_cannot_be_drawn_is_refused(plot, table, message):
    with pytest.raises(ValueError, match=message):
        plot(table)
