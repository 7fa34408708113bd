"""The explorer shows the results of the analyses, without a browser here."""

import base64
import functools
import json

import numpy as np
import pandas as pd
import pytest

import nlgbench as nb
from nlgbench.explorer import serve
from nlgbench.explorer.stored import stored_tables
from nlgbench.explorer.widget import Explorer


@functools.cache
def small(name):
    """Studies that together have all tables."""
    reviews = {"systems": ["leaky_t1.0", "leaky_t0.7"], "n_outputs": 25, "n_truth": 0, "seed": 1}
    colors = {"n_contexts": 6, "n_rounds": {"train": 60, "dev": 20}}
    sizes = {"reviews": reviews, "judges": {"n_items": 20}, "votes": {"n_items": 10}}
    return nb.simulate(name, **{"seed": 0} | (sizes | {"colors": colors})[name])


def open_view(study, view, **values):
    widget = nb.explore(small(study))
    tell(widget, type="jump", view=view, values=values)
    return widget


def tell(widget, **content):
    """Say what the browser would; give what it is then shown."""
    widget._receive(widget, content, [])
    assert not widget._canvas.busy
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
        ("judges", "systems", {"dimension": "score: fair@score"}),
        ("judges", "evaluators", {"figure": "atlas", "level": "item"}),
        ("votes", "votes", {}),
    ],
)
def test_the_code_that_is_shown_makes_the_figure_that_is_exported(study, view, values):
    widget = open_view(study, view, **values)
    assert not widget.shown["problem"]
    drawn = eval(widget.shown["code"], {"nb": nb, "study": small(study)})
    exported, now = view_of(widget)
    assert values.items() <= now.items()
    pd.testing.assert_frame_equal(drawn.data, exported.drawings(now)[0].data)


def test_only_views_that_the_study_supports_are_shown():
    views = {
        "reviews": ["outputs", "systems", "boundary", "tradeoff"],
        "judges": ["outputs", "systems", "evaluators", "votes"],
        "votes": ["outputs", "systems", "votes"],
        "colors": ["outputs", "systems", "game"],
    }
    for study, names in views.items():
        assert [one["name"] for one in nb.explore(small(study)).shown["views"]] == names
    outputs = pd.DataFrame({"output_id": ["1"], "item_id": ["1"], "system": ["a"], "text": ["x"]})
    alone = nb.explore(nb.Study(outputs, name="a\u202eb")).shown
    assert [one["name"] for one in alone["views"]] == ["outputs"]
    assert alone["about"] == "a\ufffdb (study): 1 output, 1 system, 1 item"


def test_rows_are_sorted_paged_opened_and_stepped_through():
    widget = open_view("judges", "outputs")
    assert main(widget.shown)["sort"] == ["SD: quality", True]  # the most disputed first
    table = main(tell(widget, type="sort", column="mean: quality"))
    assert len(table["rows"]) == 13 and table["pages"] == [1, 8]
    at = table["keys"].index("mean: quality")
    best = [float(row[at]) for row in table["rows"]]
    assert best == sorted(best, reverse=True) and table["sort"] == ["mean: quality", True]
    assert main(tell(widget, type="sort", column="mean: quality"))["sort"][1] is False
    assert main(tell(widget, type="page", n=9))["caption"] == "92 to 100 of 100 outputs"
    opened = main(tell(widget, type="pick", n=99))
    assert (opened["type"], opened["at"]) == ("item", "100 of 100")
    assert main(tell(widget, type="step", n=-85))["at"] == "15 of 100"
    assert main(tell(widget, type="close"))["pages"] == [2, 8]


def test_a_bar_of_the_sorted_column_lists_its_outputs_and_lets_them_go():
    widget = open_view("judges", "outputs")
    tell(widget, type="set", name="words", value="gu")
    table = main(tell(widget, type="sort", column="mean: quality"))
    bars, whole = table["bars"]["bars"], table["caption"]
    n_of = [int(bar["name"].rsplit(": ", 1)[1].split()[0]) for bar in bars]
    assert whole.endswith(f"of {sum(n_of)} outputs") and max(bar["height"] for bar in bars) == 1
    chosen = main(tell(widget, **bars[1]["sends"]))
    assert chosen["caption"] == f"1 to {min(13, n_of[1])} of {n_of[1]} outputs"
    assert [bar["chosen"] for bar in chosen["bars"]["bars"]] == [n == 1 for n in range(len(bars))]
    for n in (2, 1):  # the fields show six digits, and the limits have all
        others = main(tell(widget, **bars[n]["sends"]))
        assert others["caption"].endswith(f"of {n_of[n]} output{'s' * (n_of[n] > 1)}")
    assert main(tell(widget, **bars[1]["sends"]))["caption"] == whole
    assert not tell(widget, type="range", column="no such column")["problem"]


@pytest.mark.parametrize("preset", ["disputed", "worst", "disagree", "lost", "better", "poor"])
def test_each_preset_opens_and_filters(preset):
    widget = open_view("judges", "outputs", preset=preset)
    assert not widget.shown["problem"] and widget.shown["controls"][0]["value"] == preset
    n = len(view_of(widget)[0].selection(view_of(widget)[1]))
    shown = tell(widget, type="set", name="words", value="gu")
    assert len(view_of(widget)[0].selection(view_of(widget)[1])) <= n and not shown["problem"]
    shown = tell(widget, type="set", name="systems", value=[])
    assert main(shown)["rows"] == []
    cleared = tell(widget, **shown["parts"]["main"][1]["sends"])
    assert main(cleared)["rows"] and cleared["controls"][0]["value"] == preset


def test_what_the_browser_sends_is_checked_by_the_controls():
    """What becomes code is one of the options, whatever is sent."""
    widget = open_view("reviews", "boundary")
    code = widget.shown["code"]
    wrong = {"ties": "exact'); import os; ('", "n_neighbors": 10_000, "nonsense": "x"}
    for name, value in wrong.items():
        assert tell(widget, type="set", name=name, value=value)["code"] == code
    assert "side" not in tell(widget, type="pick", id="nobody")["parts"]
    assert tell(widget, type="jump", view="nowhere", values={})["view"] == "boundary"
    shown = tell(widget, type="jump", view="outputs", values={"preset": "all", "low": "1e9"})
    assert shown["view"] == "outputs" and not shown["problem"]
    for content in ({"type": "pick", "n": -1}, {"type": "pick", "n": 10**9}, {"type": "sort"}):
        assert main(tell(widget, **content))["type"] == "table"
    assert "\ud800" not in str(tell(widget, type="set", name="words", value="\ud800")["controls"])


def on_screen(ax, x, y):
    """Place data on a figure: shares of it, from the upper left."""
    figure = ax.get_figure(root=True)
    figure.draw_without_rendering()
    across, up = ax.transData.transform((x, y)) / figure.bbox.size
    return float(across), float(1 - up)


def clicked(image, x, y):
    """What the area sends that a click is in."""
    boxes = [(*one["box"], one["sends"]) for one in image["areas"]]
    (sends,) = (sends for x0, y0, x1, y1, sends in boxes if x0 <= x <= x1 and y0 <= y <= y1)
    return sends


def test_a_click_on_a_system_or_a_pair_opens_its_outputs():
    widget = open_view("judges", "systems")
    view, values = view_of(widget)
    ranked, ax = nb.compare_systems(small("judges")).systems, view.drawings(values)[0].axes[0]
    for n, row in enumerate(ranked.itertuples()):
        sends = clicked(main(widget.shown), *on_screen(ax, row.estimate, n))
        assert sends["values"]["system"] == row.system
    shown = tell(widget, **widget.shown["parts"]["side"][1]["opens"][0])
    assert shown["view"] == "outputs" and "pairs" in main(shown)["caption"]
    assert [shown["controls"][n]["value"] for n in (0, 1, 2)] == ["better", *ranked["system"][:2]]


def test_a_click_on_a_cell_opens_the_outputs_with_which_its_row_won():
    widget = open_view("votes", "votes")
    view, values = view_of(widget)
    ax = view.drawings(values)[0].axes[0]
    ticks = [tick.get_text().partition(" (")[0] for tick in ax.get_yticklabels()]
    sends = clicked(main(widget.shown), *on_screen(ax, len(ticks) - 1.5, 0.5))
    pair = [sends["values"][side].replace("_", " ") for side in "ab"]
    assert pair == [ticks[0], ticks[-1]]


def test_a_click_on_a_point_opens_its_text_and_a_row_its_scatter_plot():
    widget = open_view("judges", "evaluators", evaluator="fair@score")
    view, values = view_of(widget)
    score, mean = view.points(values).to_numpy()[17]
    x, y = on_screen(view.drawings(values)[0].axes[0], score, mean)
    assert tell(widget, type="at", x=0.0, y=0.0)["view"] == "evaluators"  # far from all
    shown = tell(widget, type="at", x=x, y=y)
    assert shown["view"] == "outputs" and main(shown)["type"] == "item"
    item, rows = main(shown), [row for rows in main(shown)["tables"] for row in rows]
    cells = {row["name"]: row["cells"][item["chosen"][0]] for row in rows}
    assert float(cells["score: fair@score"]) == score
    atlas = open_view("judges", "evaluators", figure="atlas")
    shown = tell(atlas, **atlas.shown["parts"]["side"][0]["opens"][0])
    assert "outputs: mean quality against" in main(shown)["alt"]
    assert shown["parts"]["side"][0]["rows"][0][0] == "Pearson"


def test_a_view_is_computed_once_for_the_same_values(monkeypatch):
    widget = open_view("judges", "systems")
    parts = widget.shown["parts"]
    monkeypatch.setattr(type(widget._views["systems"]), "parts", lambda *_: 1 / 0)
    tell(widget, type="open", view="outputs")
    assert tell(widget, type="open", view="systems")["parts"] == parts


def test_results_of_a_run_are_used_for_the_arguments_that_it_had(tmp_path):
    study, options = small("judges"), {"dimension": "quality", "include_human": False}
    comparison = nb.compare_systems(study, **options)
    systems = comparison.systems.assign(estimate=9.0)
    systems.attrs["run"] = "figures/latest/08-own-study"
    names = ("pairs", "details", "annotators")
    tables = {name: getattr(comparison, name) for name in names} | {"systems": systems}
    widget = Explorer(study, "systems", lambda: tables)
    assert widget.shown["parts"]["side"][0]["rows"][0][1] == "9.00"
    assert "figures/latest/08-own-study" in widget.shown["says"]
    shown = tell(widget, type="set", name="dimension", value="score: fair@score")
    assert shown["parts"]["side"][0]["rows"][0][1] != "9.00" and not shown["says"]
    study.write(tmp_path / "study")
    assert stored_tables(str(tmp_path / "study"), tmp_path) == {}


def test_points_are_those_of_huse_and_a_picked_one_tells_its_neighbors_votes():
    widget, study = open_view("reviews", "boundary", n_neighbors=5), small("reviews")
    boundary = nb.boundary(study, system="leaky_t1.0", n_neighbors=5, n_grid=2)
    table = boundary.outputs.set_index("output_id")
    points = pd.DataFrame(main(widget.shown)["points"]).set_index("id")
    assert sorted(points.index) == sorted(table.index)
    features = table.loc[points.index, ["logprob_per_token", "judgment"]]
    assert np.corrcoef(points["x"], features["logprob_per_token"])[0, 1] == pytest.approx(1)
    assert np.corrcoef(points["y"], features["judgment"])[0, 1] == pytest.approx(-1)
    assert f"HUSE {boundary.scores['huse']:.2f}" in main(widget.shown)["alt"]
    for name in table.index[[0, 31]]:
        parts, row = tell(widget, type="pick", id=name)["parts"], table.loc[name]
        detail, near = parts["side"][0], parts["main"][0]["near"]
        assert detail["text"] == study.outputs.set_index("output_id").loc[name, "text"]
        assert len(near) == row["neighbors_huse"] and name not in near
        share = 1 - table.loc[near, "is_human"].mean()  # classes of one size
        assert share == pytest.approx(row["machine_share_huse"])
        predicted = "human" if row["predicted_human_huse"] else "model"
        assert f"classified as {predicted}" in detail["says"][-1]
        assert detail["says"][-1].startswith("Correctly") == row["correct_huse"]
        assert "\xa0-0" not in detail["says"][-2]  # judgments are rounded, some from below 0


def test_the_game_keeps_the_score_against_a_listener():
    pytest.importorskip("torch", reason="listeners need torch")
    study = small("colors")
    widget = nb.explore(study)
    game = main(tell(widget, type="open", view="game"))
    view, values = view_of(widget)
    name = view.rounds[0]
    assert all(one["mark"] == "" for one in game["colors"])  # nothing is told before the answer
    item = study.outputs.set_index("output_id").loc[name, "item_id"]
    states = study.contexts[study.contexts["item_id"] == item].set_index("is_target")["state"]
    meant, wrong = states[True], states[False].iloc[0]
    shown = tell(widget, type="pick", id=meant)
    assert "you 1 of 1" in shown["says"] and not shown["problem"]
    marks = {one["id"]: one["mark"] for one in main(shown)["colors"]}
    assert "you 1 of 1" in tell(widget, type="pick", id=wrong)["says"]  # the first answer counts
    for row in view.believed(values).query("output_id == @name").itertuples():
        prefix = "meant, yours, " if row.state == meant else ""
        assert marks[row.state] == f"{prefix}P = {row.probability:.2f}"
    tell(widget, type="next")
    assert view_of(widget)[1]["round"] == 2


def test_an_export_sends_the_files_and_an_error_is_said(monkeypatch):
    widget, sent = open_view("judges", "votes"), []
    monkeypatch.setattr(
        widget._canvas, "send", lambda content, buffers: sent.append((content, buffers))
    )
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


def test_a_page_lists_what_is_wrong_with_its_study(tmp_path, capsys):
    (tmp_path / "outputs.csv").write_text("output_id,item_id,system\n1,1,\n")
    assert serve.explore_or_explain(*[str(tmp_path)] * 2) is None
    assert "column 'system' must not be empty" in capsys.readouterr().out
