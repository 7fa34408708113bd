"""Training curves are drawn with the chosen checkpoint, and choices with their regret."""

from plot_samples import CHOICES, CHOSEN, CURVES

from nlgbench.plots.choosing import plot_choices, plot_training


def test_each_panel_has_its_curve_and_what_is_chosen_on_it():
    drawn = plot_training(CURVES, CHOSEN, truth="quality")
    quality, bleu = drawn.axes
    curve, ring, _ = quality.lines
    assert curve.get_xydata().tolist() == [[0.5, 1], [0.75, 2], [1, 3]]
    assert ring.get_xydata().tolist() == [[1, 3]]
    assert len(quality.collections) == 2 and not bleu.collections, "bounds where there are some"
    assert "True quality (nats/token) at 1; BLEU at 0.5. Thin lines: intervals" in drawn.alt
    assert drawn.data["panel"].unique().tolist() == ["True quality (nats/token)", "BLEU"]


def test_choices_are_ordered_by_regret_with_their_wins():
    drawn = plot_choices(CHOICES)
    (ax,) = drawn.axes
    names = ["Comparator: all pairs", "BLEU", "Last checkpoint"]
    assert [tick.get_text() for tick in ax.get_yticklabels()] == names
    outer = [segment for lines in ax.collections[::2] for segment in lines.get_segments()]
    assert [segment[:, 0].tolist() for segment in outer] == [[0.0, 0.2], [0.1, 0.5]]
    assert [text.get_text() for text in ax.texts] == ["best\nof 10", "7", "2", "undefined"]
    assert "BLEU 0.10, 7 of 10" in drawn.alt
