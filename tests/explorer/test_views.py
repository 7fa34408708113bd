"""The explorer draws what the analyses give, and shows code that does the same; no browser here."""

import base64
import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nlgbench as nb
from nlgbench.analysis.huse import neighbors
from nlgbench.analysis.ratings.rating import tournament


def reviews(**changes):
    world = {"systems": ["leaky_t1.0", "leaky_t0.7"], "n_outputs": 25, "n_truth": 0, "seed": 1}
    return nb.simulate("reviews", **world | changes)


@pytest.fixture(scope="module")
def studies():
    """Studies that together have all tables, small."""
    return {
        "reviews": reviews(),
        "own": nb.simulate("own", n_items=20, seed=0),
        "colors": nb.simulate("colors", n_contexts=6, n_rounds={"train": 60, "dev": 20}, seed=0),
    }


@pytest.fixture
def open_view(studies):
    def opened(study, view):
        widget = nb.explore(studies[study])
        tell(widget, type="open", view=view)
        return widget

    return opened


def tell(widget, **content):
    """Say what the browser would; give what it is then shown."""
    widget._receive(widget, {"stamp": 7, **content}, [])
    assert widget.shown["stamp"] == 7
    json.dumps(widget.shown, default=lambda held: base64.b64encode(held).decode())
    return widget.shown


def points(shown):
    return [mark for mark in shown["picture"]["marks"] if mark["type"] == "points"]


MOVES = [
    ("reviews", "boundary", [("n_neighbors", 3), ("ties", "released"), ("label_ties", "half")]),
    ("reviews", "tradeoff", [("systems", ["leaky_t0.7"])]),
    ("reviews", "systems", [("human", "yes")]),
    ("own", "systems", []),
    ("own", "atlas", [("granularity", "item"), ("statistics", ["spearman", "kendall_b"])]),
    ("own", "ratings", [("seed", 3), ("games", 40)]),
]


@pytest.mark.parametrize(("study", "view", "moves"), MOVES)
def test_the_code_that_is_shown_makes_the_figure_that_is_exported(
    study, view, moves, studies, open_view, tmp_path, monkeypatch
):
    widget = open_view(study, view)
    before = widget.shown["code"]
    for name, value in moves:
        tell(widget, type="set", name=name, value=value)
    code = widget.shown["code"]
    assert not widget.shown["problem"] and (code != before or not moves)
    monkeypatch.chdir(tmp_path)
    names = {"study": studies[study]}
    exec(code, names)
    exported = widget._views[view].drawing(widget._values[view])
    pd.testing.assert_frame_equal(exported.data, names["drawn"].data)
    assert exported.alt == names["drawn"].alt
    assert tmp_path.joinpath(f"{view}.pdf").read_bytes() == exported.image("pdf")


def test_the_code_of_a_simulated_world_and_of_a_folder_opens_it(tmp_path, studies, monkeypatch):
    widget = nb.explore()
    assert widget.shown["code"].splitlines()[2].startswith("study = nb.simulate('reviews'")
    studies["own"].write(tmp_path / "mine")
    folder = nb.explore(tmp_path / "mine")
    assert f"study = nb.read_study({str(tmp_path / 'mine')!r})" in folder.shown["code"]


def test_points_and_scores_are_those_of_huse(open_view, studies):
    widget = open_view("reviews", "boundary")
    shown = tell(widget, type="set", name="n_neighbors", value=5)
    boundary = nb.boundary(studies["reviews"], system="leaky_t1.0", n_neighbors=5, n_grid=2)
    drawn = {
        name: (x, y, label.endswith("human"))
        for mark in points(shown)
        for name, x, y, label in zip(mark["ids"], mark["x"], mark["y"], mark["names"], strict=True)
    }
    assert drawn == {
        row.output_id: (row.logprob_per_token, row.judgment, row.predicted_human_huse)
        for row in boundary.outputs.itertuples()
    }
    assert f"HUSE = {boundary.scores['huse']:.2f}" in shown["picture"]["title"]


def test_a_picked_point_tells_its_text_its_judgments_and_its_neighbors_votes(open_view, studies):
    widget, study = open_view("reviews", "boundary"), studies["reviews"]
    table = nb.boundary(study, system="leaky_t1.0", n_grid=2).outputs.set_index("output_id")
    for name in table.index[[0, 30]]:
        detail, row = tell(widget, type="pick", id=name)["detail"], table.loc[name]
        assert detail["text"] == study.outputs.set_index("output_id").loc[name, "text"]
        judged = study.judgments[study.judgments["output_id"] == name]
        said = ", ".join(f"{one.annotator_id} {one.value:g}" for one in judged.itertuples())
        assert f"Judgments: {said}." in detail["says"]
        assert len(detail["near"]) == row["neighbors_huse"]
        share = 1 - table.loc[detail["near"], "is_human"].mean()  # classes of one size
        assert share == pytest.approx(row["machine_share_huse"])
        predicted = "human" if row["predicted_human_huse"] else "model"
        assert f"classified as {predicted}" in detail["says"][-1]
        assert ("which it is" in detail["says"][-1]) == row["correct_huse"]


@given(
    seed=st.integers(0, 10_000),
    n=st.integers(4, 30),
    k=st.integers(1, 3),
    tolerance=st.sampled_from([0.0, 1e-9]),
)
@settings(deadline=None, max_examples=30)
def test_named_neighbors_are_those_that_are_counted(seed, n, k, tolerance):
    """On a coarse grid, so that many are equally far."""
    rng = np.random.default_rng(seed)
    features = rng.integers(0, 4, size=(n, 2)) / 3
    machine = rng.random(n) < 0.5
    size, of_machine = neighbors.leave_one_out(features, machine, k, tolerance=tolerance)
    for row in range(n):
        near, distance = neighbors.nearest_to(features, row, k, tolerance=tolerance)
        assert (len(near), machine[near].sum()) == (size[row], of_machine[row])
        assert row not in near and (np.diff(distance) >= 0).all()


def test_what_the_browser_says_is_held_against_the_controls(open_view):
    """What becomes code is one of the options, whatever is sent."""
    widget = open_view("reviews", "boundary")
    code = widget.shown["code"]
    wrong = {"ties": "exact'); import os; ('", "n_neighbors": 10_000, "nonsense": "x"}
    for name, value in wrong.items():
        assert tell(widget, type="set", name=name, value=value)["code"] == code
    assert tell(widget, type="pick", id="nobody")["detail"] is None


@pytest.mark.parametrize(
    ("study", "view", "missing"),
    [
        ("own", "boundary", "logprobs"),
        ("own", "tradeoff", "human outputs"),
        ("reviews", "atlas", "scores or system_scores"),
        ("reviews", "ratings", "comparisons or preferences"),
        ("own", "game", "contexts"),
    ],
)
def test_a_view_without_its_tables_says_which(study, view, missing, open_view):
    shown = open_view(study, view).shown
    assert missing in shown["hint"] and shown["picture"] is None and shown["code"] == ""


def test_the_plane_draws_the_systems_that_are_picked_with_the_intervals_of_huse(open_view, studies):
    widget = open_view("reviews", "tradeoff")
    assert [mark["ids"] for mark in points(widget.shown)] == [["leaky_t1.0"], ["leaky_t0.7"]]
    shown = tell(widget, type="set", name="systems", value=["leaky_t0.7"])
    (one,) = points(shown)
    scores = nb.huse(studies["reviews"]).query("system == 'leaky_t0.7'").set_index("score")
    assert one["x"] == [scores.loc["huse_q", "estimate"]]
    assert one["y"] == [scores.loc["huse_d", "estimate"]]


def test_ranks_and_names_are_those_of_the_comparison(open_view, studies):
    widget, found = open_view("own", "systems"), nb.compare_systems(studies["own"])
    assert widget.shown["picture"]["y"]["names"] == found.details["label"].tolist()
    one = tell(nb.explore(reviews(systems=["leaky_t1.0"])), type="open", view="systems")
    assert one["picture"] and "include_human=True" in one["code"]


def test_lines_of_ratings_end_where_the_games_end(open_view, studies):
    widget = open_view("own", "ratings")
    shown = tell(widget, type="set", name="games", value=60)
    history = tournament(studies["own"], of="preferences", max_games=5_000, seed=0).history
    last = history[history["game"] <= 60].groupby("system")["rating"].last()
    ends = {mark["ids"][0]: mark["y"][0] for mark in points(shown)}
    assert ends == last.to_dict()
    assert shown["picture"]["x"]["limits"] == [0.0, 60.0]


def test_a_comparator_is_one_of_the_judges(studies):
    games = studies["own"].preferences[["output_a", "output_b"]].drop_duplicates()
    games = games.assign(comparator="c'1", prob_a=0.5, prob_tie=0.2, prob_b=0.3)
    widget = nb.explore(studies["own"].replace(comparisons=games))
    tell(widget, type="open", view="ratings")
    shown = tell(widget, type="set", name="judge", value="c'1")
    names = {"study": widget._views["ratings"].study}
    exec("\n".join(shown["code"].splitlines()[:-1]), names)
    exported = widget._views["ratings"].drawing(widget._values["ratings"])
    pd.testing.assert_frame_equal(names["drawn"].data, exported.data)


def test_the_game_keeps_the_score_against_a_listener(studies, tmp_path, monkeypatch):
    pytest.importorskip("torch", reason="listeners need torch")
    study = studies["colors"]
    widget = nb.explore(study)
    game = tell(widget, type="open", view="game")["game"]
    view = widget._views["game"]
    name = view.rounds[0]
    output = study.outputs.set_index("output_id").loc[name]
    assert game["caption"] == f"“{output['text']}”" and not game["answered"]
    assert all(one["mark"] == "" for one in game["colors"])  # nothing is told before the answer
    context = study.contexts[study.contexts["item_id"] == output["item_id"]]
    meant = context.loc[context["is_target"], "state"].iloc[0]
    wrong = context.loc[~context["is_target"], "state"].iloc[0]
    shown = tell(widget, type="pick", id=meant)
    assert "you 1 of 1" in shown["says"] and not shown["problem"]
    assert {one["id"]: one["mark"] for one in shown["game"]["colors"]}[meant] == "meant, yours"
    assert "you 1 of 1" in tell(widget, type="pick", id=wrong)["says"]  # the first answer counts
    believed = view.believed("literal").query("output_id == @name")["probability"]
    rows = shown["detail"]["table"]["rows"]
    assert [row[1] for row in rows] == [f"{one:.2f}" for one in believed]
    monkeypatch.chdir(tmp_path)
    names = {"study": study}
    exec(shown["code"], names)
    drawn = view.drawing(widget._values["game"])
    pd.testing.assert_frame_equal(drawn.data, names["drawn"].data)
    tell(widget, type="next")
    assert widget._values["game"]["round"] == 2


def test_an_export_sends_the_file_and_an_error_is_said(open_view, monkeypatch):
    widget, sent = open_view("own", "systems"), []
    monkeypatch.setattr(widget, "send", lambda content, buffers: sent.append((content, buffers)))
    for form in ("png", "pdf", "exe"):
        tell(widget, type="export", format=form)
    assert [content["name"] for content, _ in sent] == ["systems.png", "systems.pdf"]
    assert [buffers[0][:4] for _, buffers in sent] == [b"\x89PNG", b"%PDF"]
    monkeypatch.setattr(type(widget._views["systems"]), "drawing", lambda *_: 1 / 0)
    assert "ZeroDivisionError" in tell(widget, type="export", format="png")["problem"]
    assert tell(widget, type="open", view="ratings")["problem"] == ""
