"""The explorer draws what the analyses give; no browser here."""

import base64
import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nlgbench as nb
from nlgbench.analysis.huse import neighbors


def reviews(**changes):
    world = {"systems": ["leaky_t1.0", "leaky_t0.7"], "n_outputs": 25, "n_truth": 0, "seed": 1}
    return nb.simulate("reviews", **world | changes)


@pytest.fixture(scope="module")
def studies():
    """Studies that together have all tables, small."""
    return {
        "reviews": reviews(),
        "judges": nb.simulate("judges", n_items=20, seed=0),
        "votes": nb.simulate("votes", n_items=10, seed=0),
        "colors": nb.simulate("colors", n_contexts=6, n_rounds={"train": 60, "dev": 20}, seed=0),
    }


@pytest.fixture
def open_view(studies):
    def opened(study, view, **values):
        widget = nb.explore(studies[study])
        tell(widget, type="jump", view=view, values=values)
        return widget

    return opened


def tell(widget, **content):
    """Say what the browser would; give what it is then shown."""
    widget._receive(widget, {"stamp": 7, **content}, [])
    assert widget.shown["stamp"] == 7
    json.dumps(widget.shown, default=lambda held: base64.b64encode(held).decode())
    return widget.shown


def main(shown):
    return shown["parts"]["main"][0]


def view_of(widget):
    return widget._views[widget._view], widget._values[widget._view]


@pytest.mark.parametrize(
    ("study", "view", "values"),
    [
        ("reviews", "boundary", {"n_neighbors": 3, "ties": "released", "label_ties": "half"}),
        ("reviews", "tradeoff", {"systems": ["leaky_t0.7"]}),
        ("reviews", "systems", {"human": "yes"}),
        ("judges", "systems", {}),
        ("judges", "evaluators", {"figure": "atlas", "level": "item"}),
        ("votes", "votes", {}),
    ],
)
def test_the_code_that_is_shown_makes_the_figure_that_is_exported(
    study, view, values, studies, open_view
):
    widget = open_view(study, view, **values)
    assert not widget.shown["problem"]
    drawn = eval(widget.shown["code"], {"nb": nb, "study": studies[study]})
    exported, now = view_of(widget)
    assert values.items() <= now.items()
    pd.testing.assert_frame_equal(drawn.data, exported.drawings(now)[0].data)


def test_only_views_that_the_study_supports_are_shown(studies):
    shown = {
        name: [one["name"] for one in nb.explore(study).shown["views"]]
        for name, study in studies.items()
    }
    assert shown == {
        "reviews": ["outputs", "systems", "boundary", "tradeoff"],
        "judges": ["outputs", "systems", "evaluators", "votes"],
        "votes": ["outputs", "votes"],
        "colors": ["outputs", "systems", "game"],
    }
    outputs = pd.DataFrame({"output_id": ["1"], "item_id": ["1"], "system": ["a"], "text": ["x"]})
    alone = nb.explore(nb.Study(outputs, name="a\u202eb")).shown
    assert [one["name"] for one in alone["views"]] == ["outputs"]
    assert alone["about"] == "a\ufffdb (study): 1 output, 1 system, 1 item"


def test_rows_are_sorted_paged_opened_and_stepped_through(open_view, studies):
    widget = open_view("judges", "outputs")
    table = main(widget.shown)
    assert len(table["rows"]) == 15 and table["pages"] == [1, 7]
    table = main(tell(widget, type="sort", column="mean: quality"))
    at = table["keys"].index("mean: quality")
    best = [float(row[at]) for row in table["rows"]]
    assert best == sorted(best, reverse=True) and table["sort"] == ["mean: quality", True]
    assert main(tell(widget, type="page", n=6))["caption"] == "91 to 100 of 100 outputs"
    assert main(tell(widget, type="page", n=1))["pages"] == [7, 7]
    opened = main(tell(widget, type="pick", n=99))
    assert (opened["type"], opened["at"]) == ("item", "100 of 100")
    assert main(tell(widget, type="step", n=-85))["at"] == "15 of 100"
    assert main(tell(widget, type="close"))["pages"] == [1, 7]


@pytest.mark.parametrize("preset", ["disputed", "worst", "disagree", "lost", "better", "poor"])
def test_each_preset_opens_and_filters(preset, open_view):
    widget = open_view("judges", "outputs", preset=preset)
    assert not widget.shown["problem"] and widget.shown["controls"][0]["value"] == preset
    n = len(view_of(widget)[0].selection(view_of(widget)[1]))
    shown = tell(widget, type="set", name="words", value="gu")
    assert len(view_of(widget)[0].selection(view_of(widget)[1])) <= n and not shown["problem"]
    assert main(tell(widget, type="set", name="systems", value=[]))["rows"] == []


def test_what_the_browser_sends_is_checked_by_the_controls(open_view):
    """What becomes code is one of the options, whatever is sent."""
    widget = open_view("reviews", "boundary")
    code = widget.shown["code"]
    wrong = {"ties": "exact'); import os; ('", "n_neighbors": 10_000, "nonsense": "x"}
    for name, value in wrong.items():
        assert tell(widget, type="set", name=name, value=value)["code"] == code
    assert "side" not in tell(widget, type="pick", id="nobody")["parts"]
    assert tell(widget, type="jump", view="nowhere", values={})["view"] == "boundary"
    shown = tell(
        widget, type="jump", view="outputs", values={"preset": "all", "low": "1e9", "x": 1}
    )
    assert shown["view"] == "outputs" and not shown["problem"]
    for content in ({"type": "pick", "n": -1}, {"type": "pick", "n": 10**9}, {"type": "sort"}):
        assert main(tell(widget, **content))["type"] == "table"
    assert "\ud800" not in str(tell(widget, type="set", name="words", value="\ud800")["controls"])


def areas_hold(ax, image, marks):
    """Each mark, a place in the data's units, is in an area that sends what is expected."""
    size = ax.get_figure(root=True).bbox.size
    ax.get_figure(root=True).draw_without_rendering()
    assert marks
    for (x, y), sends in marks:
        across, up = ax.transData.transform((x, y)) / size
        hit = [
            area["sends"]
            for area in image["areas"]
            if area["box"][0] <= across <= area["box"][2]
            and area["box"][1] <= 1 - up <= area["box"][3]
        ]
        assert [one["values"].items() >= sends.items() for one in hit] == [True]


def test_a_click_on_a_system_or_a_pair_opens_its_outputs(open_view, studies):
    widget = open_view("judges", "systems")
    view, values = view_of(widget)
    ranked = nb.compare_systems(studies["judges"]).systems
    marks = [
        ((row.estimate, n), {"system": row.system}) for n, row in enumerate(ranked.itertuples())
    ]
    areas_hold(view.drawings(values)[0].axes[0], main(widget.shown), marks)
    pair = widget.shown["parts"]["side"][1]["opens"][0]
    shown = tell(widget, **pair)
    assert shown["view"] == "outputs" and "pairs" in main(shown)["caption"]
    assert [shown["controls"][n]["value"] for n in (0, 1, 2)] == ["better", *ranked["system"][:2]]


def test_a_click_on_a_cell_opens_the_pairs_that_make_it(open_view, studies):
    for judge in ("votes", "judge fair"):
        widget = open_view("judges", "votes", judge=judge)
        view, values = view_of(widget)
        rates = view.counted(judge)[0].set_index(["system", "opponent"])["win_rate"]
        ax = view.drawings(values)[0].axes[0]
        names = [label.get_text() for label in ax.get_yticklabels()]
        marks = []
        for text in ax.texts:
            x, y = text.get_position()
            assert text.get_text() == f"{100 * rates[names[y], names[x]]:.0f}"
            marks.append(((x, y), {"a": names[y], "b": names[x], "by": f"won: {judge}"}))
        areas_hold(ax, main(widget.shown), marks)
    assert not tell(widget, **widget.shown["parts"]["side"][0]["opens"][0])["problem"]


def test_a_click_on_a_point_opens_its_text(open_view, studies):
    widget = open_view("judges", "evaluators", evaluator="fair@score")
    view, values = view_of(widget)
    point = view.points(values).sample(1, random_state=1)
    ax = view.drawings(values)[0].axes[0]
    ax.get_figure(root=True).draw_without_rendering()
    across, up = ax.transData.transform(point.to_numpy()[0]) / ax.get_figure(root=True).bbox.size
    assert tell(widget, type="at", x=0.0, y=0.0)["view"] == "evaluators"  # far from all
    shown = tell(widget, type="at", x=float(across), y=float(1 - up))
    assert shown["view"] == "outputs" and main(shown)["type"] == "item"
    cells = {row["name"]: row["cells"][0] for row in main(shown)["rows"]}
    assert float(cells["score: fair@score"]) == point.iloc[0, 0]
    atlas = open_view("judges", "evaluators", figure="atlas")
    sends = atlas.shown["parts"]["side"][0]["opens"][0]
    assert tell(atlas, **sends)["parts"]["main"][0]["alt"].startswith("mean quality against")
    problem = tell(
        atlas, type="jump", view="evaluators", values={"figure": "atlas", "evaluators": []}
    )
    assert "select at least one" in problem["problem"]


def test_points_and_scores_are_those_of_huse(open_view, studies):
    shown = open_view("reviews", "boundary", n_neighbors=5).shown
    boundary = nb.boundary(studies["reviews"], system="leaky_t1.0", n_neighbors=5, n_grid=2)
    drawn = {
        name: (x, y, label.endswith("human"))
        for mark in main(shown)["marks"]
        if mark["type"] == "points"
        for name, x, y, label in zip(mark["ids"], mark["x"], mark["y"], mark["names"], strict=True)
    }
    assert drawn == {
        row.output_id: (row.logprob_per_token, row.judgment, row.predicted_human_huse)
        for row in boundary.outputs.itertuples()
    }
    assert f"HUSE = {boundary.scores['huse']:.2f}" in main(shown)["title"]


def test_a_picked_point_tells_its_text_its_judgments_and_its_neighbors_votes(open_view, studies):
    widget, study = open_view("reviews", "boundary"), studies["reviews"]
    table = nb.boundary(study, system="leaky_t1.0", n_grid=2).outputs.set_index("output_id")
    for name in table.index[[0, 30]]:
        parts, row = tell(widget, type="pick", id=name)["parts"], table.loc[name]
        detail, near = parts["side"][0], parts["main"][0]["near"]
        assert detail["text"] == study.outputs.set_index("output_id").loc[name, "text"]
        judged = study.judgments[study.judgments["output_id"] == name]
        said = ", ".join(f"{one.annotator_id} {one.value:g}" for one in judged.itertuples())
        assert f"Judgments: {said}." in detail["says"]
        assert len(near) == row["neighbors_huse"]
        share = 1 - table.loc[near, "is_human"].mean()  # classes of one size
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


def test_the_game_keeps_the_score_against_a_listener(studies):
    pytest.importorskip("torch", reason="listeners need torch")
    study = studies["colors"]
    widget = nb.explore(study)
    game = main(tell(widget, type="open", view="game"))
    view, values = view_of(widget)
    name = view.rounds[0]
    output = study.outputs.set_index("output_id").loc[name]
    assert game["caption"] == f"“{output['text']}”" and not game["answered"]
    assert all(one["mark"] == "" for one in game["colors"])  # nothing is told before the answer
    context = study.contexts[study.contexts["item_id"] == output["item_id"]]
    meant = context.loc[context["is_target"], "state"].iloc[0]
    wrong = context.loc[~context["is_target"], "state"].iloc[0]
    shown = tell(widget, type="pick", id=meant)
    assert "you 1 of 1" in shown["says"] and not shown["problem"]
    marks = {one["id"]: one["mark"] for one in main(shown)["colors"]}
    assert "you 1 of 1" in tell(widget, type="pick", id=wrong)["says"]  # the first answer counts
    for row in view.believed("literal").query("output_id == @name").itertuples():
        prefix = "meant, yours, " if row.state == meant else ""
        assert marks[row.state] == f"{prefix}P = {row.probability:.2f}"
    drawn = eval(shown["code"], {"nb": nb, "study": study})
    pd.testing.assert_frame_equal(drawn.data, view.drawings(values)[0].data)
    tell(widget, type="next")
    assert view_of(widget)[1]["round"] == 2


def test_an_export_sends_the_files_and_an_error_is_said(open_view, monkeypatch):
    widget, sent = open_view("judges", "votes"), []
    monkeypatch.setattr(widget, "send", lambda content, buffers: sent.append((content, buffers)))
    tell(widget, type="export", format="pdf")
    tell(widget, type="open", view="outputs")
    tell(widget, type="export", format="csv")
    tell(widget, type="export", format="exe")
    names = [content["name"] for content, _ in sent]
    assert names == ["votes.pdf", "votes-2.pdf", "outputs.csv"]
    assert [buffers[0][:4] for _, buffers in sent] == [b"%PDF", b"%PDF", b"item"]
    tell(widget, type="open", view="systems")
    monkeypatch.setattr(type(widget._views["systems"]), "drawings", lambda *_: 1 / 0)
    assert "ZeroDivisionError" in tell(widget, type="export", format="png")["problem"]
    assert tell(widget, type="open", view="votes")["problem"] == ""
