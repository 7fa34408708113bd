"""What is on the axes, and what a printer makes of it."""

import io
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pypdf
import pytest
from gray import alike_in_gray, lightness
from matplotlib import pyplot as plt
from matplotlib.colors import to_rgb
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from nlgbench.plots.boundary import plot_boundary
from nlgbench.plots.style import (
    GROUPS,
    HUMAN,
    ONE_COLUMN,
    SYSTEM,
    TWO_COLUMN,
    paper_style,
    task_looks,
)
from nlgbench.plots.tradeoff import plot_tradeoff

SCORES = pd.DataFrame(
    [
        ("summarization", "t = 1.0", 0.58, 0.95, "published"),
        ("summarization", "t = 0.7", 0.92, 0.34, "published"),
        ("LM", "t = 1.0", 0.88, 1.02, "published"),
        ("summarization", "t = 1.0", 0.60, 0.93, "released"),
    ],
    columns=["task", "label", "huse_q", "huse_d", "source"],
)


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    features = pd.DataFrame(
        {
            "logprob_per_token": rng.normal(-2, 1, 40),
            "judgment": rng.normal(4, 1, 40),
            "is_human": np.arange(40) % 2 == 0,
        }
    )
    axis = np.linspace(0, 1, 30)
    grid = SimpleNamespace(
        logprob_per_token=axis * 6 - 5, judgment=axis * 6 + 1, machine_share=np.tile(axis, (30, 1))
    )
    return features, grid


def test_boundary_shows_every_output_the_grid_and_both_margins(problem):
    features, grid = problem
    ax = plot_boundary(features, grid, score_label="HUSE = 0.50")
    shading, _, human, machine = ax.collections
    assert np.array_equal(shading.get_array(), grid.machine_share)
    assert np.allclose(human.get_offsets(), features.loc[features.is_human].iloc[:, :2])
    assert np.allclose(machine.get_offsets(), features.loc[~features.is_human].iloc[:, :2])
    assert ax.get_title(loc="left") == "HUSE = 0.50"
    assert len(ax.child_axes) == 2
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["human reference", "model output", "classified human", "classified model"]


def test_the_boundary_is_where_the_share_is_one_half(problem):
    features, grid = problem
    ax = plot_boundary(features, grid, marginals=False, legend=False)
    (path,) = ax.collections[1].get_paths()
    assert np.allclose(path.vertices[:, 0], -2.0)
    assert not ax.child_axes
    assert ax.get_legend() is None


@pytest.mark.parametrize("width", [ONE_COLUMN, TWO_COLUMN])
def test_nothing_of_the_boundary_is_cut_off_or_covered(problem, width):
    with plt.rc_context(paper_style()):
        fig, ax = plt.subplots(figsize=(width, width), layout="constrained")
        plot_boundary(*problem, ax=ax, score_label="HUSE = 0.50, Q = 0.60, D = 0.90")
        fig.canvas.draw()
        title = ax.findobj(lambda a: isinstance(a, Text) and "Q =" in a.get_text())[0]
        legend = ax.get_legend().get_window_extent()
        for box in [title.get_window_extent(), legend, *(a.bbox for a in ax.child_axes)]:
            assert fig.bbox.padded(1).contains(*box.min)
            assert fig.bbox.padded(1).contains(*box.max)
            assert not box.padded(-1).overlaps(ax.bbox)
        assert not legend.overlaps(ax.xaxis.label.get_window_extent())


def test_a_grid_of_one_class_draws_no_boundary(problem):
    features, grid = problem
    grid.machine_share[:] = 1.0
    assert len(plot_boundary(features, grid).collections) == 3


def test_boundary_refuses_what_does_not_fit(problem):
    features, grid = problem
    with pytest.raises(ValueError, match=r"no column 'judgment': they need .* found logprob_per"):
        plot_boundary(features.drop(columns="judgment"), grid)
    words = features.assign(is_human=features["is_human"].map({True: "True", False: "False"}))
    with pytest.raises(
        ValueError, match=r"'is_human' must be bool, .* 'False' would count as true"
    ):
        plot_boundary(words, grid)
    with pytest.raises(
        ValueError, match=r"'judgment' must be finite; row 3 has nan \(1 such rows\)"
    ):
        plot_boundary(
            features.assign(judgment=features["judgment"].where(features.index != 3)), grid
        )
    grid.judgment = grid.judgment[:5]
    with pytest.raises(ValueError, match=r"shape \(30, 30\) and its axes ask for \(5, 30\)"):
        plot_boundary(features, grid)


def test_tradeoff_shows_every_system_once_and_names_it():
    ax = plot_tradeoff(SCORES)
    points = [collection.get_offsets()[0] for collection in ax.collections]
    assert np.allclose(points, SCORES[["huse_q", "huse_d"]])
    faces = [tuple(collection.get_facecolor()[0][:3]) for collection in ax.collections]
    assert faces[-1] == (1.0, 1.0, 1.0), "what was recomputed is open"
    assert faces[0] == to_rgb(GROUPS[0][1])
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["summarization", "LM", "printed", "recomputed, released"]
    assert ax.get_ylim()[1] > 1.02, "a score above 1 is not cut off"


def test_diagonals_have_equal_huse():
    ax = plot_tradeoff(SCORES, levels=[0.0, 0.5])
    for line, level in zip(ax.lines[:2], [0.0, 0.5], strict=True):
        assert np.allclose(line.get_xdata() + np.asarray(line.get_ydata()) - 1, level)


def test_dominated_is_lower_huse_at_the_same_proportion():
    ax = plot_tradeoff(SCORES)
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
        plot_tradeoff(SCORES, ax=ax)
        fig.canvas.draw()
        named = [text for text in ax.texts if text.get_text().startswith("t =")]
        boxes = [text.get_window_extent() for text in named]
        assert len(boxes) == 3, "one system in one place has one label"
        for n, box in enumerate(boxes):
            assert not any(box.overlaps(other) for other in boxes[:n])
            for x, y in ax.transData.transform(SCORES[["huse_q", "huse_d"]].to_numpy()):
                assert not box.contains(x, y)


def test_intervals_are_drawn_where_there_are_some():
    bare = len(plot_tradeoff(SCORES).lines)
    plt.close("all")
    known = SCORES.assign(huse_q_low=[0.5, *[np.nan] * 3], huse_q_high=[0.7, *[np.nan] * 3])
    ax = plot_tradeoff(known)
    assert len(ax.lines) == bare + 1


def test_tradeoff_names_a_missing_column():
    with pytest.raises(ValueError, match="no column 'source': they need task, label"):
        plot_tradeoff(SCORES.drop(columns="source"))


def test_an_undefined_score_and_an_empty_table_are_refused_aloud():
    with pytest.raises(ValueError, match=r"'huse_q' must be finite, and row 2 has nan"):
        plot_tradeoff(SCORES.assign(huse_q=[0.5, 0.6, np.nan, 0.7]))
    with pytest.raises(ValueError, match="there is no row"):
        plot_tradeoff(SCORES.iloc[:0])


def test_a_score_below_zero_is_not_cut_off():
    ax = plot_tradeoff(SCORES.assign(huse_d=[-0.1, 0.34, 1.02, 0.93]))
    assert ax.get_ylim()[0] < -0.1


def test_a_point_below_the_line_of_two_others_bounds_nothing():
    points = pd.DataFrame({"huse_q": [0.2, 0.6, 0.9, 0.1], "huse_d": [0.9, 0.5, 0.3, 0.45]})
    ax = plot_tradeoff(points.assign(task="summarization", label="", source="published"))
    (region,) = ax.patches
    corners = {tuple(np.round(corner, 9)) for corner in region.get_xy()}
    assert corners == {(0.0, 0.0), (0.2, 0.9), (0.9, 0.3)}


def test_a_task_looks_the_same_whatever_stands_beside_it():
    assert task_looks(["LM", "summarization"])["LM"] == task_looks(["captions", "LM"])["LM"]
    looks = task_looks(["LM", *(f"task {n}" for n in range(len(GROUPS) - 1))])
    assert len(set(looks.values())) == len(GROUPS)
    with pytest.raises(ValueError, match="only 7 can be told apart"):
        task_looks(f"task {n}" for n in range(8))


def test_labels_avoid_intervals_and_can_be_moved_by_hand():
    wide = SCORES.assign(huse_q_low=SCORES["huse_q"] - 0.1, huse_q_high=SCORES["huse_q"] + 0.1)
    with plt.rc_context(paper_style()):
        fig, ax = plt.subplots(figsize=(ONE_COLUMN, ONE_COLUMN * 1.2), layout="constrained")
        plot_tradeoff(wide, ax=ax, label_offsets={("LM", "t = 1.0"): (-9.0, 7.0)})
        fig.canvas.draw()
        named = [text for text in ax.texts if text.get_text().startswith("t =")]
        for text in named:
            box = text.get_window_extent().padded(-1)
            for row in wide.itertuples():
                ends = [(row.huse_q_low, row.huse_d), (row.huse_q_high, row.huse_d)]
                assert not box.overlaps(Bbox(ax.transData.transform(ends)).padded(0.5))
        assert (-9.0, 7.0) in [text.xyann for text in named]


def test_labels_avoid_true_values():
    one = SCORES.iloc[:1]
    with plt.rc_context(paper_style()):
        ax = plt.figure(figsize=(ONE_COLUMN, ONE_COLUMN * 1.2)).gca()
        plot_tradeoff(one, ax=ax)
        (label,) = [text for text in ax.texts if text.get_text().startswith("t =")]
        first = label.get_window_extent()
        at = ax.transData.inverted().transform(first.get_points().mean(axis=0))
        ax = plt.figure(figsize=(ONE_COLUMN, ONE_COLUMN * 1.2)).gca()
        plot_tradeoff(one.assign(huse_q_true=at[0], huse_d_true=at[1]), ax=ax)
        (label,) = [text for text in ax.texts if text.get_text().startswith("t =")]
        assert not label.get_window_extent().contains(*ax.transData.transform(at))


def test_no_text_is_smaller_than_seven_points():
    with plt.rc_context(paper_style()):
        ax = plot_tradeoff(SCORES)
        assert min(text.get_fontsize() for text in ax.findobj(Text) if text.get_text()) >= 7


def test_the_two_classes_differ_in_gray_and_the_tasks_by_marker():
    assert lightness("#777777") == pytest.approx(0.5003, abs=1e-3), "middle gray, a known value"
    assert lightness(SYSTEM) - lightness(HUMAN) >= 0.2
    assert len({marker for marker, _ in GROUPS}) == len(GROUPS)


def test_what_the_legends_part_is_told_apart_in_gray(problem):
    boundary = plot_boundary(*problem)
    assert alike_in_gray(boundary) == []
    tradeoff = plot_tradeoff(
        SCORES.assign(huse_q_true=SCORES["huse_q"], huse_d_true=SCORES["huse_d"]),
        ax=plt.figure().gca(),
    )
    assert alike_in_gray(tradeoff) == []


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
        with plt.rc_context(paper_style()):
            fig, ax = plt.subplots(figsize=(ONE_COLUMN, ONE_COLUMN))
            if which == "boundary":
                plot_boundary(*problem, ax=ax)
            else:
                plot_tradeoff(SCORES, ax=ax)
            out = io.BytesIO()
            fig.savefig(out, format="pdf", metadata={"CreationDate": None})
            return out.getvalue()

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
