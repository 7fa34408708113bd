from pathlib import Path

import pandas as pd
import pytest

import nlgbench
from nlgbench.evaluators import stored as module
from nlgbench.evaluators.stored import stored


def scores(value=0.1 + 0.2):
    row = {"output_id": "007", "evaluator": "e", "score": value, "signature": ""}
    return pd.DataFrame([row])


class Counted:
    def __init__(self, *results):
        self.results, self.calls = results, 0

    def __call__(self):
        self.calls += 1
        return self.results[min(self.calls, len(self.results)) - 1]


def test_a_kept_table_is_read_to_the_last_bit(tmp_path):
    compute = Counted(scores())
    first, again = (
        stored("e", compute, given={"outputs": scores(1.0)}, folder=tmp_path) for _ in range(2)
    )
    assert compute.calls == 1
    pd.testing.assert_frame_equal(first, again, check_exact=True)
    assert again["score"].tolist() == [0.1 + 0.2] and again["output_id"].tolist() == ["007"]


@pytest.mark.parametrize("changed", [{"x": scores(2.0), "n": 1}, {"x": scores(1.0), "n": 2}])
def test_other_data_or_settings_are_computed(tmp_path, changed):
    compute = Counted(scores())
    stored("e", compute, given={"x": scores(1.0), "n": 1}, folder=tmp_path)
    stored("e", compute, given=changed, folder=tmp_path)
    assert compute.calls == 2


NOT_BELOW = ("analysis", "worlds", "papers", "plots", "explorer", "runner")


def test_a_kept_table_depends_on_all_code_below_the_analyses():
    package = Path(nlgbench.__file__).parent
    found = {path for pattern in module._CODE for path in package.glob(pattern)}
    above = {package / name for name in NOT_BELOW}
    assert found == {path for path in package.rglob("*.py") if not above & set(path.parents)}


def test_a_damaged_file_is_computed_anew_and_mended(tmp_path):
    compute = Counted(scores())
    stored("e", compute, given={}, folder=tmp_path)
    (file,) = tmp_path.iterdir()
    file.write_text("signature,output_id\nd")
    stored("e", compute, given={}, folder=tmp_path)
    stored("e", compute, given={}, folder=tmp_path)
    assert compute.calls == 2


def test_a_folder_that_cannot_be_written_costs_nothing_but_time(tmp_path):
    (tmp_path / "file").write_text("")
    compute = Counted(scores())
    table = stored("e", compute, given={}, folder=tmp_path / "file" / "kept")
    assert table["score"].tolist() == [0.1 + 0.2]


def test_without_a_folder_nothing_is_stored():
    compute = Counted(scores())
    for _ in range(2):
        stored("e", compute, given={}, folder=None)
    assert compute.calls == 2


def test_undefined_scores_and_odd_texts_are_read_as_they_were(tmp_path):
    table = pd.DataFrame(
        [("a,b", "e", float("nan"), 'say "it"'), ("NA", "e", float("inf"), "1")],
        columns=["output_id", "evaluator", "score", "signature"],
    )
    first, again = (stored("e", lambda: table, given={}, folder=tmp_path) for _ in range(2))
    pd.testing.assert_frame_equal(first, again, check_exact=True)
