"""How many outputs of an item, or items, an interval of the margin needs is what it then takes."""

import numpy as np
import pandas as pd
import pytest

import nlgbench as nb


def simulate(n_items, n_repeats, *, sd_items=0.2, seed=0):
    """Two systems that differ by item (sd_items) and from output to output (1)."""
    rng = np.random.default_rng(seed)
    shape = (n_items, 2, n_repeats)
    score = rng.normal(size=shape) + rng.normal(0, sd_items, size=(n_items, 2, 1))
    item, system, repeat = np.indices(shape).reshape(3, -1).astype(str)
    output = pd.Series(item) + "/" + system + "/" + repeat
    outputs = pd.DataFrame({"output_id": output, "item_id": item, "system": system})
    scores = pd.DataFrame({"output_id": output, "evaluator": "f1", "score": score.ravel()})
    return nb.Study(outputs, scores=scores)


def half_width(study):
    pair = nb.compare_systems(study, evaluator="f1").pairs.iloc[0]
    return (pair["ci_high"] - pair["ci_low"]) / 2


def test_that_many_repeats_or_items_reach_the_margin():
    details = nb.compare_systems(simulate(300, 3), evaluator="f1", margin=0.08).details.iloc[0]
    assert details["needed_status"] == "ok" and details["n_repeats"] == pytest.approx(3)
    assert details["sd_within"] == pytest.approx(1, abs=0.1)
    assert half_width(simulate(300, 3)) > 0.08
    reached = half_width(simulate(300, int(details["repeats_needed"]), seed=1))
    assert reached == pytest.approx(0.08, rel=0.12)
    more = half_width(simulate(int(details["items_needed"]), 3, seed=1))
    assert more == pytest.approx(0.08, rel=0.12)


def test_repeats_do_not_help_where_items_dominate_or_have_one_output():
    options = {"evaluator": "f1", "margin": 0.1}
    details = nb.compare_systems(simulate(100, 3, sd_items=2), **options).details
    assert set(details["needed_status"]) == {"items_dominate"}
    assert details["repeats_needed"].isna().all() and (details["items_needed"] > 1_000).all()
    once = nb.compare_systems(simulate(100, 1), **options).details
    assert set(once["needed_status"]) == {"no_repeats"}
    assert once["sd_within"].isna().all() and once["items_needed"].notna().all()
