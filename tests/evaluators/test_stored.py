"""A stored score is read to the last bit, and computed again when anything changes."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import nlgbench
from nlgbench.evaluators import stored as module
from nlgbench.evaluators.stored import stored


def scores(value=0.1 + 0.2):
    row = {"output_id": "007", "evaluator": "e", "score": value, "signature": ""}
    return pd.DataFrame([row])


class Counted:
    def __init__(self, result):
        self.result, self.calls = result, 0

    def __call__(self):
        self.calls += 1
        return self.result


def test_a_kept_table_is_read_to_the_last_bit(tmp_path):
    table = pd.DataFrame(
        [
            ("a,\r\nb", "e", np.nan, 'say "it"'),
            ("NA", "e", np.inf, "1"),
            ("007", "e", 0.1 + 0.2, ""),
        ],
        columns=["output_id", "evaluator", "score", "signature"],
    )
    compute = Counted(table)
    first, again = (
        stored("e", compute, inputs={"outputs": scores(1.0)}, folder=tmp_path) for _ in range(2)
    )
    assert compute.calls == 1
    pd.testing.assert_frame_equal(first, again, check_exact=True)


@pytest.mark.parametrize("changed", [{"x": scores(2.0), "n": 1}, {"x": scores(1.0), "n": 2}])
def test_other_data_or_settings_are_computed(tmp_path, changed):
    compute = Counted(scores())
    stored("e", compute, inputs={"x": scores(1.0), "n": 1}, folder=tmp_path)
    stored("e", compute, inputs=changed, folder=tmp_path)
    assert compute.calls == 2


NOT_BELOW = ("analysis", "worlds", "papers", "plots", "explorer", "runner")


def test_a_kept_table_depends_on_all_code_below_the_analyses():
    package = Path(nlgbench.__file__).parent
    found = {path for pattern in module._CODE for path in package.glob(pattern)}
    above = {package / name for name in NOT_BELOW}
    assert found == {path for path in package.rglob("*.py") if not above & set(path.parents)}


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: "signature,output_id\nd",
        lambda text: text.replace("0.592", "90.592"),  # one digit more
        lambda text: "".join(text.splitlines(keepends=True)[:2]),  # half of the rows
        lambda text: text.partition("\n")[2],  # written by former versions
        lambda text: "",
    ],
)
def test_a_damaged_file_is_computed_anew_and_repaired(tmp_path, damage):
    compute = Counted(pd.concat([scores(0.592), scores(0.25).assign(output_id="008")]))
    stored("e", compute, inputs={}, folder=tmp_path)
    (file,) = tmp_path.iterdir()
    file.write_text(damage(file.read_text()))
    for _ in range(2):
        table = stored("e", compute, inputs={}, folder=tmp_path)
        assert table["score"].tolist() == [0.592, 0.25] and compute.calls == 2


def test_a_folder_that_cannot_be_written_costs_nothing_but_time(tmp_path):
    (tmp_path / "file").write_text("")
    table = stored("e", Counted(scores()), inputs={}, folder=tmp_path / "file" / "kept")
    assert table["score"].tolist() == [0.1 + 0.2]
