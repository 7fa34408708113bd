"""E-values cross the line where the verdict falls, with the confidence sequence of one pair."""

import pytest

import nlgbench as nb


@pytest.fixture(scope="module")
def found():
    study = nb.simulate("votes", systems={"x": 2.0, "y": 0.0, "z": 0.0}, seed=0)
    return nb.sequential(study, block="item")


def test_paths_cross_the_line_where_the_verdict_falls(found):
    drawn = nb.plot_sequential(found)
    above, below = drawn.axes
    stops = found.stops.set_index(["system", "opponent"])
    ticks = [line for line in above.lines if line.get_marker() == "|"]
    assert [tick.get_xdata()[0] for tick in ticks] == stops["stopped_at"].dropna().tolist()
    first = stops["stopped_at"].idxmin()
    own = found.path[(found.path["system"] == first[0]) & (found.path["opponent"] == first[1])]
    assert below.lines[0].get_ydata() == pytest.approx(own["estimate"].to_numpy(), nan_ok=True)
    words = f"2 significant (e-Holm). {first[0]} against {first[1]}: better, after block"
    assert words in drawn.alt
