"""`nlgbench new` recognizes what tools wrote by its content, and says so in the first line."""

import json
import os
from pathlib import Path

import pytest

import nlgbench as nb
from nlgbench.names import UsageError
from nlgbench.runner import new_study
from tests.study.test_formats import FILES, SINGLE, STRICT, VOTED, annotation, log, sample

DATA = Path(os.environ.get("NLGBENCH_DATA", ""))


def draft(folder, files, *names):
    """Write files, and draft a study of them (or of the whole folder) without flags."""
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        is_lines = name.endswith("jsonl") and isinstance(content, list)
        text = "\n".join(map(json.dumps, content)) if is_lines else content
        (folder / name).write_text(text if isinstance(text, str) else json.dumps(text))
    paths, out = (
        ([str(folder / name) for name in names], folder / "s") if names else ([str(folder)], None)
    )
    place, sources = new_study.place_of(paths, (), out)
    shown = new_study.new(place, sources)
    return place, (place / "study.yml").read_text(), shown


LOGS = {
    "alpaca_eval": {"annotations.json": [annotation(1, 1.9)]},
    "promptfoo": {"r.json": FILES["promptfoo"]["r.json"] | {"version": 3}},
    "lm_eval": {"run/m/samples_t.jsonl": [STRICT], "run/m/results.json": {"results": {"t": 1}}},
    "inspect": {"log.json": log("m") | {"samples": [sample(1, 1)]}},
    "mt_bench": {"judgment.jsonl": SINGLE[:1]},
    "arena": {"battles.json": VOTED[:1]},
}


@pytest.mark.parametrize("tool", LOGS)
def test_logs_are_recognized_by_their_records(tool, tmp_path):
    names = [] if tool == "lm_eval" else list(LOGS[tool])
    folder = tmp_path / "run" if tool == "lm_eval" else tmp_path
    files = {name.removeprefix("run/"): content for name, content in LOGS[tool].items()}
    place, text, shown = draft(folder, files, *names)
    assert text.startswith(f"# Recognized: {tool}.") and f"format: {tool}" in text, text
    assert "To fix" not in shown and len(nb.read_study(place).outputs) >= 1
    if names:
        assert len(nb.read_study(folder / names[0]).outputs) >= 1


def test_logs_of_two_tools_are_no_study(tmp_path):
    files = LOGS["arena"] | LOGS["mt_bench"]
    with pytest.raises(UsageError, match="must have one format"):
        draft(tmp_path, files, *files)


@pytest.mark.parametrize(
    ("columns", "advice"),
    [
        (
            ["instruction", "generator_1", "generator_2", "output_1"],
            "of alpaca_eval, but lacks out",
        ),
        (["HITId", "WorkerId", "AssignmentId", "hue"], "of mturk, but lacks AssignmentStatus"),
        (["hue", "tint"], "`nlgbench new` takes the format of a tool with --as: mturk, toloka"),
    ],
)
def test_the_nearest_format_of_an_unrecognized_file_is_named(columns, advice, tmp_path):
    _, text, shown = draft(
        tmp_path, {"r.csv": ",".join(columns) + "\n" + ",".join(columns[::-1])}, "r.csv"
    )
    assert advice in text and advice in shown


def toloka(rows, columns):
    return "\n".join("\t".join(map(str, row)) for row in [columns, *rows])


WHO = ["GOLDEN:rating", "HINT:text", "ASSIGNMENT:worker_id", "ASSIGNMENT:status"]
RATED = ["INPUT:poem", "INPUT:system", "INPUT:plan_id", "OUTPUT:rating", *WHO]
POEMS = [
    [f"a poem {plan} of {system}", system, plan, rating, golden, "", f"w{n}", "APPROVED"]
    for plan in (1, 2)
    for system, rating in (("m", 4), ("n", 2))
    for n, golden in enumerate(["", "", 4] if (plan, system) == (1, "m") else ["", ""])
]


def test_an_export_of_toloka_is_read_without_its_control_tasks(tmp_path):
    place, text, shown = draft(tmp_path, {"poems.tsv": toloka(POEMS, RATED)}, "poems.tsv")
    assert text.startswith("# Recognized: toloka.") and "# confirm" not in text
    judgments = nb.read_study(place).judgments
    assert judgments["value"].tolist() == [4, 4, 2, 2] * 2 and "To fix" not in shown
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "study.yml").write_text("format: toloka\nfiles: ../poems.tsv\n")
    assert nb.read_study(tmp_path / "t").judgments.equals(judgments)


def test_files_of_one_name_in_folders_named_after_dimensions(tmp_path):
    names = [f"{dimension}/export.tsv" for dimension in ("coherence", "fluency")]
    place, text, _ = draft(tmp_path, dict.fromkeys(names, toloka(POEMS, RATED)), *names)
    assert 'dimension: "{folder}"  # guessed: folders are named after dimensions' in text
    assert nb.read_study(place).dimensions == ["coherence", "fluency"]


def test_votes_of_toloka(tmp_path):
    columns = ["INPUT:system_a", "INPUT:system_b", "INPUT:plan_id", "OUTPUT:best", *WHO]
    rows = [["m", "n", 1, 1, "", "", f"w{n}", "APPROVED"] for n in range(3)]
    rows += [["n", "m", 2, 2, "", "", "w1", "APPROVED"], ["n", "m", 2, 1, "", "", "w2", "REJECTED"]]
    place, _, _ = draft(tmp_path, {"v.tsv": toloka(rows, columns)}, "v.tsv")
    assert nb.read_study(place).preferences["choice"].tolist() == ["a", "a", "a", "b"]


PLOTS = DATA / "scratchplot"


@pytest.mark.skipif(not PLOTS.is_dir(), reason="NLGBENCH_DATA has no scratchplot")
def test_released_exports_of_toloka(tmp_path):
    n_votes = 0
    for number, path in enumerate(sorted(PLOTS.glob("*/*.tsv"))):
        place = tmp_path / str(number)
        new_study.new(place, [path])
        study = nb.read_study(place)
        assert not new_study.unconfirmed(place), path
        n_votes += 0 if study.preferences is None else len(study.preferences)
        if study.judgments is not None:
            assert len(study.judgments) == (300 if "new" in path.name else 600)
    assert n_votes == 900
