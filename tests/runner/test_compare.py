"""`nlgbench compare` tells which of several runs is better, and its exit status says so."""

import json

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from scipy.stats import ttest_rel
from statsmodels.stats.contingency_tables import mcnemar

from nlgbench.runner.cli import main

RNG = np.random.default_rng(4)
IDS = [f"q{n}" for n in range(60)]
OLD = RNG.normal(size=60).round(3)
NEW = (OLD + RNG.normal(0.4, 0.5, size=60)).round(3)


def write(path, **columns):
    pd.DataFrame(columns).to_csv(path, index=False)
    return path


def compare(*arguments):
    result = CliRunner().invoke(main, ["compare", *map(str, arguments)])
    assert "\x1b" not in result.output
    return result.exit_code, result.output


def pairs(*arguments):
    code, output = compare(*arguments, "--format", "json")
    report = json.loads(output)
    assert report["exit_code"] == code
    return report["pairs"]


@pytest.fixture
def runs(tmp_path):
    """Two runs whose columns have other names, and a third that has a fifth of the items."""
    old = write(tmp_path / "old.csv", qid=IDS, f1=OLD, loss=OLD)
    new = write(tmp_path / "new.csv", id=IDS, loss=NEW, f1=NEW)
    few = write(tmp_path / "few.csv", id=[*IDS[:12], "x"], f1=[*OLD[:12] + 0.01, 3])
    return old, new, few


def test_a_difference_is_that_of_a_paired_t_test(runs):
    (row,) = pairs(*runs[:2], "--metric", "f1")
    peer = ttest_rel(NEW, OLD)
    assert row["p"] == pytest.approx(peer.pvalue) and row["verdict"] == "better"
    interval = peer.confidence_interval()
    wanted = [(NEW - OLD).mean(), interval.low, interval.high]
    assert [row[name] for name in ("estimate", "ci_low", "ci_high")] == pytest.approx(wanted)
    assert [row["mean_baseline"], row["mean"]] == pytest.approx([OLD.mean(), NEW.mean()])


def test_exit_statuses_say_the_worst_verdict(runs, tmp_path):
    old, new, _ = runs
    assert compare(old, new)[0] == 0 and compare(new, old)[0] == 1
    assert compare(old, new, "--lower", "loss", "--lower", "f1")[0] == 1
    assert compare(old, new, "--baseline", "new")[0] == 1
    noisy = write(tmp_path / "noisy.csv", id=IDS, f1=RNG.permutation(OLD))
    code, output = compare(old, noisy)
    assert code == 0 and "without --margin nothing shows" in " ".join(output.split())
    assert compare(old, noisy, "--margin", "0.01")[0] == 3
    assert compare(old, noisy, "--margin", "2")[0] == 3  # it lacks a metric
    assert compare(old, noisy, "--margin", "2", "--metric", "f1")[0] == 0
    # A run that is worse by less than the margin is no failure.
    slight = write(tmp_path / "slight.csv", id=IDS, f1=OLD - RNG.uniform(0.001, 0.003, 60))
    only = ("--metric", "f1")
    assert compare(old, slight, *only)[0] == 1
    assert compare(old, slight, *only, "--margin", "0.1")[0] == 0


def test_items_are_matched_and_counted(runs):
    old, new, few = runs
    _, output = compare(old, new, few, "--lower", "loss")
    assert "few against old: 12 items in common, 48 only in old, 1 only in few." in output
    assert "loss: compared only for old and new." in output and "(lower is better)" in output
    rows = pairs(old, new, few, "--lower", "loss")
    assert [(row["metric"], row["run"], row["n_items"]) for row in rows] == [
        ("f1", "new", 60),
        ("f1", "few", 12),
        ("loss", "new", 60),
    ]
    ordered = sorted(row["p"] for row in rows)
    assert min(row["p_adjusted"] for row in rows) == pytest.approx(3 * ordered[0])
    assert rows[2]["estimate"] > 0 and rows[2]["verdict"] == "worse"


def test_pass_or_fail_with_few_differences_is_mcnemars_exact_test(tmp_path):
    old = np.repeat([1, 0, 1, 0], [30, 5, 0, 25])
    new = np.repeat([1, 1, 0, 0], [30, 5, 0, 25])
    words = np.where(new, "True", "false")
    (row,) = pairs(
        write(tmp_path / "a.csv", id=IDS, passed=old),
        write(tmp_path / "b.csv", id=IDS, passed=words),
    )
    assert row["p"] == pytest.approx(mcnemar([[30, 0], [5, 25]], exact=True).pvalue)
    assert row["estimate"] == pytest.approx(5 / 60) and row["verdict"] == "undecided"


def test_decimal_commas_are_numbers(tmp_path, runs):
    german = []
    for path in runs[:2]:
        german.append(tmp_path / f"german_{path.name}")
        german[-1].write_text(path.read_text().replace(",", ";").replace(".", ","))
    values = [[row["estimate"] for row in pairs(*files)] for files in (runs[:2], german)]
    assert values[0] == pytest.approx(values[1])


def test_groups_of_items_are_a_family_of_their_own(tmp_path):
    topic = np.repeat(["math", "law", "few"], [30, 25, 5])
    old = write(tmp_path / "old.csv", id=IDS, topic=topic, f1=OLD)
    new = write(tmp_path / "new.csv", id=IDS, f1=np.where(topic == "math", NEW, OLD - 0.01))
    rows = pairs(old, new, "--by", "topic")
    assert [(row["group"], row["n_items"]) for row in rows] == [
        ("", 60), ("math", 30), ("law", 25), ("few", 5),
    ]  # fmt: skip
    peer = ttest_rel(NEW[:30], OLD[:30])
    assert rows[1]["p"] == pytest.approx(peer.pvalue)
    assert rows[1]["p_adjusted"] == pytest.approx(max(peer.pvalue, 2 * rows[2]["p"]))
    assert (rows[3]["p"], rows[3]["status"]) == (None, "few_items")
    assert "--by topic" not in compare(old, new)[1]  # a group is too small
    code, output = compare(old, new, "--by", "topik")
    assert code == 2 and "Did you mean 'topic'?" in output


def test_identical_runs_pass_and_a_constant_shift_has_no_interval(tmp_path):
    files = [
        write(tmp_path / f"{n}.csv", id=IDS, f1=np.round(4 * OLD) + 0.5 * (n == 2))
        for n in range(3)
    ]
    rows = pairs(*files, "--margin", "0.1")
    assert [row["verdict"] for row in rows] == ["identical", "better"]
    assert compare(*files[:2], "--margin", "0.1")[0] == 0
    assert "the difference is the same on every item" in " ".join(compare(*files)[1].split())


def test_words_mean_the_same_in_all_runs(tmp_path):
    """Each run alone lacks some words of a scale: all passed, or none is fair."""
    columns = {
        "passed": (["true"] * 60, ["true"] * 40 + ["false"] * 20),
        "grade": (["bad", "fair", "good"] * 20, ["bad", "good", "good"] * 20),
        "share": (["80%"] * 60, ["79.5 %"] * 60),
        "year": (range(60), range(60)),
    }
    prompts = [f"Say {name}" for name in IDS]
    files = [
        write(
            tmp_path / f"{n}.csv",
            id=IDS,
            prompt=prompts,
            **{name: cells[n] for name, cells in columns.items()},
        )
        for n in (0, 1)
    ]
    rows = {row["metric"]: row for row in pairs(*files)}
    assert {name: row["verdict"] for name, row in rows.items()} == {
        "passed": "worse", "grade": "better", "share": "worse", "year": "identical",
    }  # fmt: skip
    assert rows["grade"]["mean_baseline"] == 3 and rows["grade"]["mean"] == pytest.approx(10 / 3)
    assert [rows["share"][name] for name in ("mean_baseline", "mean")] == [80, 79.5]
    # What is the same in all runs, as a property of items, is no test.
    assert rows["passed"]["p_adjusted"] <= 3 * rows["passed"]["p"] and rows["year"]["p"] is None
    assert "Columns without numbers are not compared: prompt." in compare(*files)[1]


def test_other_scales_and_gaps_of_one_metric_are_named(tmp_path):
    rng = np.random.default_rng(0)
    low, high = (rng.integers(1, 60, 60) / 60 for _ in range(2))
    files = (
        write(tmp_path / "a.csv", id=IDS, acc=low),
        write(tmp_path / "b.csv", id=IDS, acc=100 * high),
    )
    assert "is it one scale?" in compare(*files)[1]
    gaps = [write(tmp_path / f"{n}.csv", id=IDS, acc=low, ok=[n] * 40 + [""] * 20) for n in (0, 1)]
    assert "ok, 1: items without a score are left out (20)." in compare(*gaps)[1]


def test_items_without_a_score_are_counted(tmp_path):
    old, new = (write(tmp_path / f"{name}.csv", id=IDS, ok=OLD > 0) for name in "ab")
    gaps = write(tmp_path / "c.csv", id=IDS, ok=[*(OLD > 0)[:57], "", "n/a", ""])
    output = " ".join(compare(old, gaps)[1].split())
    assert "c: items without a score are left out (3)." in output and "--by" not in output
    code, output = compare(old, new, "--by", "ok")
    assert code == 2 and "ok is the only metric" in output


def inspect_log(model, passed):
    output = {"choices": [{"message": {"content": "so"}}]}
    samples = [
        {"id": n, "epoch": epoch, "input": "ask", "target": "x", "output": output}
        | {"scores": {"match": {"value": "C" if is_right else "I"}}}
        for n, is_right in enumerate(passed)
        for epoch in (1, 2)
    ]
    about = {"task": "t", "model": model, "config": {"epochs": 2}}
    return {"log.json": json.dumps({"status": "success", "eval": about, "samples": samples})}


def harness_log(model, passed):
    common = {"target": "x", "arguments": {"g": {"a": "ask"}}, "resps": [["so"]]}
    common["metrics"] = ["match"]
    lines = [json.dumps({"doc_id": n, "match": int(p)} | common) for n, p in enumerate(passed)]
    return {f"{model}/samples_t_2026-01-01T10-00-00.1.jsonl": "\n".join(lines)}


def promptfoo_log(model, passed):
    results = [
        {"prompt": {"raw": "Add"}, "vars": {"n": n}, "response": {"output": "2"}}
        | {"provider": model, "score": 0, "namedScores": {"match": int(is_right)}}
        for n, is_right in enumerate(passed)
    ]
    if model == "new":  # items are matched by their variables, not by their order
        results.reverse()
    return {"r.json": json.dumps({"version": 3, "results": {"results": results}})}


@pytest.mark.parametrize("log", [inspect_log, harness_log, promptfoo_log])
def test_logs_of_harnesses_are_compared_by_their_models(log, tmp_path):
    passed = {"old": RNG.random(40) < 0.4, "new": RNG.random(40) < 0.9}
    folders = []
    for model, is_right in passed.items():
        for name, content in log(model, is_right).items():
            path = tmp_path / f"run_{model}" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)
        folders.append(path if log is promptfoo_log else tmp_path / f"run_{model}")
    (row,) = pairs(*folders, "--metric", "match")
    assert (row["run"], row["baseline"], row["n_items"]) == ("new", "old", 40)
    difference = passed["new"].mean() - passed["old"].mean()
    assert row["estimate"] == pytest.approx(difference) and row["verdict"] == "better"
    assert ("Items with several outputs" in compare(*folders)[1]) == (log is inspect_log)


def test_a_table_may_hold_several_runs_and_metrics_in_rows(tmp_path):
    rows = pd.DataFrame({"id": IDS * 2, "model": np.repeat(["a", "b"], 60), "metric": "f1"})
    path = write(tmp_path / "all.csv", **rows, value=[*OLD, *NEW])
    (row,) = pairs(path)
    assert (row["metric"], row["run"], row["baseline"]) == ("f1", "b", "a")
    assert row["estimate"] == pytest.approx((NEW - OLD).mean())


def test_formats_and_files(runs, tmp_path):
    _, output = compare(*runs[:2], "--format", "markdown", "--out", tmp_path / "out")
    assert "| run | items | baseline |" in output and "Traceback" not in output
    table = pd.read_csv(tmp_path / "out/compared.csv")
    assert table["verdict"].tolist() == ["better", "better"]
    assert {"difference_f1.png", "difference_loss.pdf", "compared.json"} <= {
        path.name for path in (tmp_path / "out").iterdir()
    }


REFUSED = {
    "no shared items": (["a.csv", "c.csv"], "share no items: a has 'q0'"),
    "equal names": (["a.csv", "other/a.csv"], "two runs are named 'a'"),
    "one run": (["a.csv"], "name the file or folder of another"),
    "no file": (["a.csv", "d.csv"], "there is no file"),
    "no ids": (["a.csv", "noid.csv"], "has no column that names items"),
    "no scores": (["a.csv", "text.csv"], "has no column of scores"),
    "a word": (["a.csv", "bad.csv"], "row 50 is 'oops': a score must be a finite number"),
    "a sum": (["a.csv", "sum.csv"], "sum.csv, row 61: 'TOTAL' looks like a sum of the items"),
    "a comma": (["a.csv", "comma.csv"], "row 2 (line 3) has 3 fields, but the header has 2"),
    "no folder": (["a.csv", "b.csv", "--out", "a.csv"], "a.csv"),
    "no metric in common": (["a.csv", "f2.csv"], "no metric is in a and another run"),
    "unknown metric": (["a.csv", "b.csv", "--metric", "f2"], "f1"),
    "empty folder": (["a.csv", "other/empty"], "no log of a known format"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refusals_name_the_way_out_and_exit_with_2(case, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "other/empty").mkdir(parents=True)
    for name in ("a.csv", "b.csv", "other/a.csv"):
        write(name, id=IDS, f1=OLD)
    write("c.csv", id=range(60), f1=OLD)
    write("noid.csv", f1=np.round(OLD, 1))
    write("text.csv", id=IDS, text="a long text without any score")
    write("bad.csv", id=IDS, f1=[*OLD[:49], "oops", *OLD[50:]])
    write("f2.csv", id=IDS, f2=OLD)
    write("sum.csv", id=[*IDS, "TOTAL"], f1=[*OLD, OLD.sum()])
    (tmp_path / "comma.csv").write_text("id,f1\nq1,.1\nq2,.2,.3\n")
    arguments, message = REFUSED[case]
    code, output = compare(*arguments)
    assert code == 2 and message in output, output
