"""What is on the axes, and what a printer makes of it."""

import io
from dataclasses import replace

import numpy as np
import pandas as pd
import pypdf
import pytest
from gray import alike_in_gray, lightness
from matplotlib import pyplot as plt
from matplotlib.colors import to_rgb
from matplotlib.text import Text
from matplotlib.transforms import Bbox

import nlgbench as nb
from nlgbench.analysis.huse import Boundary
from nlgbench.plots.boundary import plot_boundary
from nlgbench.plots.figures import canvas, draw_highest
from nlgbench.plots.style import (
    GROUPS,
    HUMAN,
    ONE_COLUMN,
    SYSTEM,
    TWO_COLUMN,
    paper_style,
    task_looks,
)
from nlgbench.plots.tradeoff import LEVELS, plot_tradeoff

SCORES = pd.DataFrame(
    [
        ("summarization", "t = 1.0", 0.58, 0.95, "published"),
        ("summarization", "t = 0.7", 0.92, 0.34, "published"),
        ("LM", "t = 1.0", 0.88, 1.02, "published"),
        ("summarization", "t = 1.0", 0.60, 0.93, "released"),
    ],
    columns=["task", "label", "huse_q", "huse_d", "source"],
)


def tidy(points):
    """Points as `huse` lays out scores, a row each."""
    points = points.reset_index(drop=True)
    rows = []
    for n, point in points.iterrows():
        about = {"system": f"s{n}", **point[["task", "label", "source"]]}
        for score in ("huse", "huse_q", "huse_d"):
            known = point.get(score, point["huse_q"] + point["huse_d"] - 1)
            ends = {f"ci_{end}": point.get(f"{score}_{end}", np.nan) for end in ("low", "high")}
            rows.append({**about, "score": score, "estimate": known, **ends})
    return pd.DataFrame(rows)


def trade(points, **options):
    """The axes of the plane, of points."""
    return plot_tradeoff(tidy(points), **options).axes[0]


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    outputs = pd.DataFrame(
        {
            "logprob_per_token": rng.normal(-2, 1, 40),
            "judgment": rng.normal(4, 1, 40),
            "is_human": np.arange(40) % 2 == 0,
            "item_id": "i",
        }
    )
    axis = np.linspace(0, 1, 30)
    grid = pd.DataFrame(np.tile(axis, (30, 1)), index=axis * 6 + 1, columns=axis * 6 - 5)
    scores = {"huse": 0.5, "huse_q": 0.6, "huse_d": 0.9}
    return Boundary("lstm_t1.0", "lstm t1.0", "simulated", 16, scores, outputs, grid)


def test_boundary_shows_every_output_the_grid_and_both_margins(problem):
    drawn = plot_boundary(problem)
    (ax,) = drawn.axes
    shading, line, human, machine = ax.collections
    assert np.array_equal(shading.get_array(), problem.grid)
    outputs = problem.outputs
    assert np.allclose(human.get_offsets(), outputs.loc[outputs.is_human].iloc[:, :2])
    assert np.allclose(machine.get_offsets(), outputs.loc[~outputs.is_human].iloc[:, :2])
    assert ax.get_title(loc="left") == "HUSE = 0.50 (simulated)"
    assert len(ax.child_axes) == 2
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["human reference", "model output", "classified human", "classified model"]
    (path,) = line.get_paths()  # where the share is one half
    assert np.allclose(path.vertices[:, 0], -2.0)
    assert "20 human references" in drawn.alt and "20 outputs of each system" in drawn.alt
    assert drawn.alt.endswith("lstm t1.0: HUSE 0.50, HUSE-Q 0.60, HUSE-D 0.90.")


def test_each_system_has_a_panel(problem):
    other = replace(problem, system="gru", label="GRU", outputs=problem.outputs.iloc[:31])
    drawn = plot_boundary([problem, other])
    assert [ax.get_title(loc="left") for ax in drawn.axes] == [
        "lstm t1.0\nHUSE = 0.50",
        "GRU\nHUSE = 0.50",
    ]
    assert [ax.get_legend() is None for ax in drawn.axes] == [True, False]
    assert "15 to 20 outputs of each system" in drawn.alt
    assert len(drawn.data) == 71
    with pytest.raises(ValueError, match="at least one"):
        plot_boundary([])
    axes = canvas(3, 3, columns=2)[1]
    assert plot_boundary([problem, other], ax=axes).axes == axes


@pytest.mark.parametrize("width", [ONE_COLUMN, TWO_COLUMN])
def test_nothing_of_the_boundary_is_cut_off_or_covered(problem, width):
    with plt.rc_context(paper_style()):
        fig, ax = plt.subplots(figsize=(width, width), layout="constrained")
        plot_boundary(problem, ax=ax)
        fig.canvas.draw()
        title = ax.findobj(lambda a: isinstance(a, Text) and "HUSE =" in a.get_text())[0]
        legend = ax.get_legend().get_window_extent()
        for box in [title.get_window_extent(), legend, *(a.bbox for a in ax.child_axes)]:
            assert fig.bbox.padded(1).contains(*box.min)
            assert fig.bbox.padded(1).contains(*box.max)
            assert not box.padded(-1).overlaps(ax.bbox)
        assert not legend.overlaps(ax.xaxis.label.get_window_extent())


def test_a_grid_of_one_class_draws_no_boundary(problem):
    alone = replace(problem, grid=problem.grid * 0 + 1.0)
    assert len(plot_boundary(alone).axes[0].collections) == 3


def test_tradeoff_shows_every_system_once_and_names_it():
    ax = trade(SCORES)
    points = [collection.get_offsets()[0] for collection in ax.collections]
    assert np.allclose(points, SCORES[["huse_q", "huse_d"]])
    faces = [tuple(collection.get_facecolor()[0][:3]) for collection in ax.collections]
    assert faces[-1] == (1.0, 1.0, 1.0), "what was recomputed is open"
    assert faces[0] == to_rgb(GROUPS[0][1])
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["summarization", "LM", "dominated by printed"]
    title = ax.get_legend().get_title().get_text()
    assert title == "Filled: printed. Open: recomputed, released."
    assert ax.get_ylim()[1] > 1.02, "a score above 1 is not cut off"


def test_diagonals_have_equal_huse():
    ax = trade(SCORES)
    for line, level in zip(ax.lines[: len(LEVELS)], LEVELS, strict=True):
        assert np.allclose(line.get_xdata() + np.asarray(line.get_ydata()) - 1, level)


def test_dominated_is_lower_huse_at_the_same_proportion():
    ax = trade(SCORES)
    (region,) = ax.patches
    printed = SCORES.iloc[:2][["huse_q", "huse_d"]].to_numpy()
    mixture = printed.mean(axis=0)
    assert region.get_path().contains_point(mixture * 0.99)
    assert not region.get_path().contains_point(mixture * 1.01)
    ray = ax.lines[len(ax.lines) - 1]
    assert np.allclose(ray.get_xydata(), [[0, 0], [0.88, 1.02]])


def test_labels_do_not_cover_points_or_each_other():
    with plt.rc_context(paper_style()):
        fig, ax = plt.subplots(figsize=(ONE_COLUMN, ONE_COLUMN * 1.2), layout="constrained")
        trade(SCORES, ax=ax)
        fig.canvas.draw()
        named = [text for text in ax.texts if text.get_text().startswith("t =")]
        boxes = [text.get_window_extent() for text in named]
        assert len(boxes) == 3, "one system in one place has one label"
        for n, box in enumerate(boxes):
            assert not any(box.overlaps(other) for other in boxes[:n])
            for x, y in ax.transData.transform(SCORES[["huse_q", "huse_d"]].to_numpy()):
                assert not box.contains(x, y)


def test_intervals_are_drawn_where_there_are_some():
    bare = len(trade(SCORES).lines)
    known = SCORES.assign(huse_q_low=[0.5, *[np.nan] * 3], huse_q_high=[0.7, *[np.nan] * 3])
    assert len(trade(known).lines) == bare + 1


def test_tradeoff_names_a_missing_column():
    with pytest.raises(ValueError, match="no column 'source': they need system, score"):
        plot_tradeoff(tidy(SCORES).drop(columns="source"))


def test_an_undefined_score_and_an_empty_table_are_refused_aloud():
    with pytest.raises(ValueError, match="a score of 's2' is undefined"):
        trade(SCORES.assign(huse_q=[0.5, 0.6, np.nan, 0.7]))
    with pytest.raises(ValueError, match="have no row"):
        plot_tradeoff(tidy(SCORES).iloc[:0])


def test_a_finished_figure_comes_straight_from_huse():
    study = nb.simulate("reviews", systems=["leaky_t0.7", "trigram_t1.0"], n_truth=500, seed=1)
    scores = nb.huse(study, ties=("exact", "released"), n_resamples=20)
    drawn = nb.plot_tradeoff(scores, truth=study.truth["systems"])
    assert drawn.data["task"].tolist() == ["leaky grammar", "trigram"]
    assert drawn.data["label"].tolist() == ["t = 0.7", "t = 1.0"]
    exact = scores[scores["ties"] == "exact"].set_index(["system", "score"])["estimate"]
    assert drawn.data["huse_q"].tolist() == exact.xs("huse_q", level="score").tolist()
    true = study.truth["systems"]["huse_d"]
    assert drawn.data["huse_d_true"].tolist() == true.tolist()
    assert "leaky grammar t = 0.7: HUSE-Q" in drawn.alt and "(simulated)" in drawn.alt
    assert "crosses are the true values" in drawn.alt


def test_systems_without_a_setting_are_named_and_share_a_look():
    names = ["bart", "gpt_2", "pegasus"]
    scores = nb.huse(
        nb.simulate("gaussian", systems=dict.fromkeys(names, (0.3, 0.3))), n_resamples=0
    )
    drawn = nb.plot_tradeoff(scores)
    assert drawn.data["label"].tolist() == ["bart", "gpt 2", "pegasus"]
    assert drawn.data["task"].tolist() == ["system"] * 3


def test_a_score_below_zero_is_not_cut_off():
    ax = trade(SCORES.assign(huse_d=[-0.1, 0.34, 1.02, 0.93]))
    assert ax.get_ylim()[0] < -0.1


def test_a_point_below_the_line_of_two_others_bounds_nothing():
    points = pd.DataFrame({"huse_q": [0.2, 0.6, 0.9, 0.1], "huse_d": [0.9, 0.5, 0.3, 0.45]})
    ax = trade(points.assign(task="summarization", label="", source="published"))
    (region,) = ax.patches
    corners = {tuple(np.round(corner, 9)) for corner in region.get_xy()}
    assert corners == {(0.0, 0.0), (0.2, 0.9), (0.9, 0.3)}


def test_a_task_looks_the_same_whatever_stands_beside_it():
    assert task_looks(["LM", "summarization"])["LM"] == task_looks(["captions", "LM"])["LM"]
    looks = task_looks(["LM", *(f"task {n}" for n in range(len(GROUPS) - 1))])
    assert len(set(looks.values())) == len(GROUPS)
    assert len(set(task_looks(f"task {n}" for n in range(34)).values())) == 34


def test_labels_avoid_intervals():
    wide = SCORES.assign(huse_q_low=SCORES["huse_q"] - 0.1, huse_q_high=SCORES["huse_q"] + 0.1)
    with plt.rc_context(paper_style()):
        fig, ax = plt.subplots(figsize=(ONE_COLUMN, ONE_COLUMN * 1.2), layout="constrained")
        trade(wide, ax=ax)
        fig.canvas.draw()
        named = [text for text in ax.texts if text.get_text().startswith("t =")]
        for text in named:
            box = text.get_window_extent().padded(-1)
            for row in wide.itertuples():
                ends = [(row.huse_q_low, row.huse_d), (row.huse_q_high, row.huse_d)]
                assert not box.overlaps(Bbox(ax.transData.transform(ends)).padded(0.5))


def test_labels_avoid_true_values():
    one = SCORES.iloc[:1]
    with plt.rc_context(paper_style()):
        ax = plt.figure(figsize=(ONE_COLUMN, ONE_COLUMN * 1.2)).gca()
        trade(one, ax=ax)
        (label,) = [text for text in ax.texts if text.get_text().startswith("t =")]
        first = label.get_window_extent()
        at = ax.transData.inverted().transform(first.get_points().mean(axis=0))
        ax = plt.figure(figsize=(ONE_COLUMN, ONE_COLUMN * 1.2)).gca()
        truth = pd.DataFrame([{"system": "s0", "huse": 0, "huse_q": at[0], "huse_d": at[1]}])
        trade(one, truth=truth, ax=ax)
        (label,) = [text for text in ax.texts if text.get_text().startswith("t =")]
        assert not label.get_window_extent().contains(*ax.transData.transform(at))


def test_no_text_is_smaller_than_seven_points():
    with plt.rc_context(paper_style()):
        ax = trade(SCORES)
        assert min(text.get_fontsize() for text in ax.findobj(Text) if text.get_text()) >= 7


def test_the_two_classes_differ_in_gray_and_the_tasks_by_marker():
    assert lightness("#777777") == pytest.approx(0.5003, abs=1e-3), "middle gray, a known value"
    assert lightness(SYSTEM) - lightness(HUMAN) >= 0.2
    assert len({marker for marker, _ in GROUPS}) == len(GROUPS)


def test_what_the_legends_part_is_told_apart_in_gray(problem):
    assert alike_in_gray(plot_boundary(problem).axes[0]) == []
    truth = pd.DataFrame(
        [{"system": f"s{n}", "huse": 1, "huse_q": 1, "huse_d": 1} for n in range(4)]
    )
    assert alike_in_gray(trade(SCORES, truth=truth)) == []


def test_the_check_for_gray_finds_what_is_alike():
    ax = plt.figure().gca()
    for color, marker in (("#0072B2", "o"), ("#D55E00", "o"), ("#0072B2", "s"), ("#FFFFFF", "o")):
        ax.plot([0], [0], marker, color=color, markeredgecolor="black", label=f"{color} {marker}")
    ax.fill_between([0, 1], [1, 1], color="#0072B2", label="area")
    ax.fill_between([0, 1], [1, 1], color="#D55E00", label="its like")
    ax.fill_between([0, 1], [1, 1], color="#D55E00", hatch="//", label="hatched")
    ax.legend()
    assert alike_in_gray(ax) == [("#0072B2 o", "#D55E00 o"), ("area", "its like")]


@pytest.mark.parametrize("which", ["boundary", "tradeoff"])
def test_pdfs_embed_truetype_and_repeat_to_the_byte(problem, which):
    def save():
        drawn = plot_boundary(problem) if which == "boundary" else plot_tradeoff(tidy(SCORES))
        return drawn.image("pdf")

    first = save()
    assert first == save()
    text = pypdf.PdfReader(io.BytesIO(first)).pages[0].extract_text()
    assert ("t = 0.7" if which == "tradeoff" else "Mean human judgment") in text, (
        "text, not outlines"
    )
    kinds = set()
    for page in pypdf.PdfReader(io.BytesIO(first)).pages:
        for font in page["/Resources"]["/Font"].values():
            font = font.get_object()
            kinds.add(font["/Subtype"])
            for inner in font.get("/DescendantFonts", []):
                kinds.add(inner.get_object()["/Subtype"])
    assert kinds
    assert "/Type3" not in kinds


def test_of_many_evaluators_the_highest_are_drawn_and_the_figure_says_so():
    """A public study has 34 evaluators: a figure of all is a page that no paper holds."""
    names = [f"e{n}" for n in range(30)] + ["length@sentinel", "people", "length"]
    table = pd.DataFrame({"evaluator": names, "statistic": "pearson", "ci_low": 0.0})
    table = table.assign(estimate=[n / 40 for n in range(30)] + [-0.5, 0.9, -0.2], ci_high=0.95)
    drawn = draw_highest(nb.plot_forest, table)
    words = "The 20 highest of 30 evaluators, and sentinels, length and people."
    assert drawn.alt.endswith(words) and drawn.figure.get_supxlabel() == words
    assert set(drawn.data["evaluator"]) == {f"e{n}" for n in range(10, 30)} | {
        "Length",
        "Human",
        "length",
    }
    few = draw_highest(lambda rows: nb.plot_forest(rows, line=0.5), table[10:])
    assert set(few.axes[0].lines[0].get_xdata()) == {0.5}, "of votes, chance gives half"
    assert len(few.data) == 23 and not few.figure.get_supxlabel()
