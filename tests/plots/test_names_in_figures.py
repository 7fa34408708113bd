"""A name is drawn as it is: a dollar sign in it starts no formula."""

import pandas as pd
from matplotlib.text import Text

import nlgbench as nb
from nlgbench.plots.figures import canvas

NAMED = "$\\alpha_{t}$ 100% <b>x</b>_y"


def test_a_dollar_sign_in_a_name_starts_no_formula():
    table = pd.DataFrame({"evaluator": [NAMED, "bleu"], "estimate": 0.5, "ci_low": 0.1})
    (ax,) = canvas(4, 3)[1]
    ax.figure.draw_without_rendering()  # ticks are there, and are written anew
    ax.set_title(r"$\rho$")
    drawn = nb.plot_forest(table.assign(ci_high=0.8), ax=ax)
    drawn.figure.draw_without_rendering()
    written = [one for one in drawn.figure.findobj(Text) if r"\alpha" in one.get_text()]
    assert written and not any(one.get_parse_math() for one in written)
    assert {one.get_text() for one in written} == {NAMED.replace("_", " ")}
    assert ax.title.get_parse_math(), "what stood there before is as it was"
