"""A name is drawn as it is: a dollar sign in it starts no formula."""

import pandas as pd
import pytest
from matplotlib.text import Text

import nlgbench as nb
from nlgbench.plots.figures import canvas

NAMED = "$\\alpha_{t}$ 100% <b>x</b>_y"
ENDS = {"ci_low": 0.1, "ci_high": 0.8}


@pytest.mark.parametrize("own", [True, False])
def test_a_dollar_sign_in_a_name_starts_no_formula(own):
    table = pd.DataFrame({"evaluator": [NAMED, "bleu"], "estimate": 0.5}).assign(**ENDS)
    ax = None if own else canvas(4, 3)[1][0]
    if ax is not None:
        ax.figure.draw_without_rendering()  # ticks are there, and are written anew
        ax.set_title(r"$\rho$")
    drawn = nb.plot_forest(table, ax=ax)
    drawn.figure.draw_without_rendering()
    written = [one for one in drawn.figure.findobj(Text) if r"\alpha" in one.get_text()]
    assert written and not any(one.get_parse_math() for one in written)
    assert {one.get_text() for one in written} == {NAMED.replace("_", " ")}
    if ax is not None:
        assert ax.title.get_parse_math(), "what stood there before is as it was"
