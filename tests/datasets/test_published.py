"""Printed numbers load as they are printed, from a checkout and from a wheel."""

import re
import shutil

import pytest

from nlgbench.datasets import published
from nlgbench.datasets.published import load_claims, load_printed, published_dir
from nlgbench.study import schema


def test_claims_pass_the_check_of_their_table():
    claims = load_claims()
    assert schema.check(claims, "claims").equals(claims)
    assert list(claims["paper"].unique()) == list(schema.PAPERS)
    assert set(load_claims("usr")["paper"]) == {"usr"}


def test_printed_table_keeps_order_and_values():
    table = load_printed("huse/table1")
    assert list(table.columns) == ["huse", "huse_q", "huse_d"]
    assert (table.index[0], table.index[-1]) == ("summarization_t1.0", "lm_t1.0")
    # Hashimoto, Zhang, Liang 2019, Table 1, first and fourth column.
    assert table.loc["summarization_t1.0"].tolist() == [0.53, 0.58, 0.95]
    assert table.loc["story_generation_retrieval"].tolist() == [0.00, 0.47, 0.53]


def test_every_printed_table_loads_and_holds_every_claim_once():
    claims = load_claims()
    total = 0
    claims = claims[claims["where"] != "direction"]  # sentences of the text, not of a table
    marks = claims["claim_id"].str.endswith(("_star", "_p"))
    claims = claims[~marks]
    for where in (claims["paper"] + "/" + claims["where"]).unique():
        table = load_printed(where)
        assert (table.dtypes == "float64").all()
        assert not table.columns.str.endswith(("_star", "_p")).any()
        total += int(table.notna().sum().sum())
    assert total == len(claims)


def test_the_wheel_comes_before_the_checkout(tmp_path, monkeypatch):
    package = tmp_path / "nlgbench"
    monkeypatch.setattr(published, "_PACKAGE", package)
    checkout, wheel = tmp_path / "data" / "published", package / "data" / "published"
    found = published_dir
    with pytest.raises(FileNotFoundError, match="claims.csv.*" + re.escape(str(wheel))):
        found()
    for folder in (checkout, wheel):
        folder.mkdir(parents=True)
        (folder / "claims.csv").touch()
        assert found() == folder
    shutil.rmtree(wheel)
    assert found() == checkout
