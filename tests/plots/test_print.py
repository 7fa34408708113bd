"""Every figure can be read at print size, in gray, and its files repeat to the byte."""

import io

import numpy as np
import pandas as pd
import plot_samples as small
import pypdf
import pytest
from gray import assert_readable, lightness

import nlgbench as nb
from nlgbench.plots.style import GROUPS, HUMAN, SYSTEM

FINE = ("ok", "ok")
TRUTH = pd.DataFrame({"system": [f"s{n}" for n in range(4)], "huse": 1, "huse_q": 1, "huse_d": 1})
LONG = pd.DataFrame({"system": [f"A system of a long name {n}" for n in range(17)]})
LONG = LONG.assign(estimate=np.linspace(0, 1, 17), ci_low=-2.0, ci_high=2.0, rank_low=10.0)
SEVEN = ("huse", "huse_q", "huse_d", "third", "fourth", "fifth", "sixth")
SEVEN = pd.concat(
    [small.STABILITY[small.STABILITY["score"] == "huse"].assign(score=name) for name in SEVEN]
)
FIGURES = {
    "atlas": lambda: nb.plot_atlas(small.correlations(30)),
    "atlas, doubtful": lambda: nb.plot_atlas(small.doubted(8)),
    "forest": lambda: nb.plot_forest(small.forest(30)),
    "forest, rates": lambda: nb.plot_forest(small.rates(), xlabel="%", xlim=(0, 100), line=50),
    "boundary": lambda: nb.plot_boundary(small.small_boundary()),
    "boundaries": lambda: nb.plot_boundary([small.small_boundary()] * 3),
    "tradeoff": lambda: nb.plot_tradeoff(small.tidy(small.SCORES)),
    "tradeoff, truth": lambda: nb.plot_tradeoff(small.tidy(small.SCORES), truth=TRUTH),
    "systems": lambda: nb.plot_systems(LONG.assign(rank_high=17.0)),
    "two systems": lambda: nb.plot_systems(small.SYSTEMS[:2]),
    "severity": lambda: nb.plot_severity(small.PEOPLE),
    "ratings": lambda: nb.plot_ratings(small.RATINGS.assign(status=["ok", "few_items", *FINE])),
    "win rates": lambda: nb.plot_win_rates(small.RATES),
    "convergence": lambda: nb.plot_convergence(small.HISTORY),
    "training": lambda: nb.plot_training(small.CURVES, small.CHOSEN),
    "choices": lambda: nb.plot_choices(small.CHOICES),
    "corrected": lambda: nb.plot_corrected(small.CORRECTED),
    "stability": lambda: nb.plot_stability(SEVEN),
    "multiverse": lambda: nb.plot_multiverse(small.MULTIVERSE),
    "contexts": lambda: nb.plot_contexts(*small.colored(4)),
    "wide": lambda: nb.plot_forest(small.forest(3).eval("ci_high = 1.98"), xlim=(0, 1)),
    "typicality": lambda: nb.plot_typicality(small.TYPICAL),
    "reliability": lambda: nb.plot_reliability(small.bins()),
    "pooled": lambda: nb.plot_pooled(nb.pool_correlations(small.effects())),
    "granularity": lambda: nb.plot_granularity(nb.pool_correlations(small.effects())),
    "convergence of all": lambda: nb.plot_convergence(small.HISTORY, ratings=small.RATINGS[:2]),
}


@pytest.mark.parametrize("name", FIGURES)
def test_every_text_can_be_read_in_print_and_every_mark_in_gray(name):
    assert_readable(FIGURES[name]())


def test_pdfs_embed_truetype_and_repeat_to_the_byte():
    first, second = (FIGURES["tradeoff"]().image("pdf") for _ in range(2))
    assert first == second
    (page,) = pypdf.PdfReader(io.BytesIO(first)).pages
    assert "t = 0.7" in page.extract_text(), "text, not outlines"
    fonts = [font.get_object() for font in page["/Resources"]["/Font"].values()]
    fonts += [one.get_object() for font in fonts for one in font.get("/DescendantFonts", [])]
    assert fonts and "/Type3" not in {font["/Subtype"] for font in fonts}


def test_the_two_classes_differ_in_gray_and_the_groups_by_marker():
    assert lightness("#777777") == pytest.approx(0.5003, abs=1e-3), "middle gray, a known value"
    assert lightness(SYSTEM) - lightness(HUMAN) >= 0.2
    assert len({marker for marker, _ in GROUPS}) == len(GROUPS)
