"""The world of votes: its chances are Davidson's, and votes come as often as they say."""

import numpy as np

import nlgbench as nb


def test_votes_are_as_likely_as_the_truth_says():
    study = nb.simulate("votes", n_items=3000, n_annotators=600, n_pairs=15, seed=0)
    votes = study.preferences
    of = study.outputs.set_index("output_id")["system"]
    a, b = (of.loc[votes[f"output_{side}"]].to_numpy() for side in "ab")
    choice = votes["choice"].to_numpy()
    for row in study.truth["pairs"].itertuples():
        straight, other = (
            choice[(a == one) & (b == two)]
            for one, two in ((row.system_a, row.system_b), (row.system_b, row.system_a))
        )
        found = [
            np.append(straight == win, other == lose).mean()
            for win, lose in (("a", "b"), ("tie", "tie"), ("b", "a"))
        ]
        # 9,000 votes of 600 annotators who are drawn once for all pairs: one standard error of .006
        # to .01.
        np.testing.assert_allclose(found, [row.prob_a, row.prob_tie, row.prob_b], atol=0.03)


def test_without_effects_the_truth_is_davidsons_rule():
    study = nb.simulate("votes", of_items=0, of_taste=0, careless=0, nu=0.5)
    row = study.truth["pairs"].iloc[0]
    weights = np.exp(np.array([0.1, np.log(0.5), -0.1]))  # abilities .2 apart
    np.testing.assert_allclose(
        row[["prob_a", "prob_tie", "prob_b"]].astype(float), weights / weights.sum()
    )
    rated = nb.rate(study.truth["pairs"], outcome="expected").systems.merge(study.truth["systems"])
    ability = (rated["estimate"] - 1500) * np.log(10) / 400
    np.testing.assert_allclose(ability, rated["ability"], atol=1e-6)
    names = [nb.simulate("votes", n_items=1, seed=n).truth["systems"]["system"][0] for n in (0, 1)]
    assert len(set(names)) == 2, "the best system has a random name"
