from pathlib import Path

import pandas as pd
import pytest

import nlgbench
from nlgbench import tables
from nlgbench.runner import kept


def scores(value=0.1 + 0.2):
    row = {"dataset": "d", "output_id": "007", "evaluator": "e", "score": value, "signature": ""}
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
        kept.keep("scores", "e", compute, given={"outputs": scores(1.0)}, folder=tmp_path)
        for _ in range(2)
    )
    assert compute.calls == 1
    pd.testing.assert_frame_equal(first, again, check_exact=True)
    assert again["score"].tolist() == [0.1 + 0.2] and again["output_id"].tolist() == ["007"]


@pytest.mark.parametrize("changed", [{"x": scores(2.0), "n": 1}, {"x": scores(1.0), "n": 2}])
def test_other_data_or_settings_are_computed(tmp_path, changed):
    compute = Counted(scores())
    kept.keep("scores", "e", compute, given={"x": scores(1.0), "n": 1}, folder=tmp_path)
    kept.keep("scores", "e", compute, given=changed, folder=tmp_path)
    assert compute.calls == 2


def test_a_kept_table_depends_on_all_code_below_the_analyses():
    package = Path(nlgbench.__file__).parent
    found = {path for pattern in kept._CODE for path in package.glob(pattern)}
    above = {package / name for name in ("analysis", "workbench", "plots")}
    assert found == {path for path in package.rglob("*.py") if not above & set(path.parents)}


def test_a_damaged_file_is_computed_anew_and_mended(tmp_path):
    compute = Counted(scores())
    kept.keep("scores", "e", compute, given={}, folder=tmp_path)
    (file,) = tmp_path.iterdir()
    file.write_text("dataset,output_id\nd")
    kept.keep("scores", "e", compute, given={}, folder=tmp_path)
    kept.keep("scores", "e", compute, given={}, folder=tmp_path)
    assert compute.calls == 2


def test_what_breaks_the_table_is_not_kept(tmp_path):
    with pytest.raises(tables.TableError, match="no column 'score'"):
        kept.keep("scores", "e", lambda: scores().drop(columns="score"), given={}, folder=tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_written_costs_nothing_but_time(tmp_path):
    (tmp_path / "file").write_text("")
    compute = Counted(scores())
    table = kept.keep("scores", "e", compute, given={}, folder=tmp_path / "file" / "kept")
    assert table["score"].tolist() == [0.1 + 0.2]
