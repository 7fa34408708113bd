"""Printed numbers load as they are printed, from a checkout and from a wheel."""

from nlgbench.datasets.published import load_claims, load_printed


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
