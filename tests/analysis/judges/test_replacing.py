"""May an evaluator replace an annotator: as the release prints, SciPy and plain rules have it."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.stats import norm, ttest_1samp

import nlgbench as nb
from nlgbench.analysis.judges import replacing
from nlgbench.clustering import OTHER_ANNOTATORS, THESE_ANNOTATORS
from nlgbench.inference import adjust
from tests.released import needs

RELEASED = needs("alttest")

#: Set, epsilon, agreement; then evaluator, omega and rho as the release's notebook prints them.
PRINTED = """
wax .1 accuracy; gemini_flash .38 .69; gemini_pro .50 .74; gpt-4o .50 .73; llama-31 .00 .57;
    gpt-4o-mini .00 .59; mistral-v03 .00 .50
lgbteen .2 accuracy; gemini_flash .25 .71; gemini_pro .00 .67; gpt-4o .75 .77; llama-31 .00 .72;
    gpt-4o-mini .75 .76; mistral-v03 .25 .75
mtbench .2 accuracy; gemini_flash .00 .72; gemini_pro .00 .76; gpt-4o .00 .77; llama-31 .00 .69;
    gpt-4o-mini .00 .74; mistral-v03 .00 .68
framing .15 accuracy; gemini_flash 1.00 .83; gemini_pro 1.00 .91; gpt-4o 1.00 .92;
    llama-31 .50 .80; gpt-4o-mini 1.00 .87; mistral-v03 .25 .80
cebab_aspects .1 accuracy; gemini_flash .70 .91; gemini_pro .90 .94; gpt-4o .90 .93;
    llama-31 .60 .89; gpt-4o-mini .50 .90; mistral-v03 .10 .81
summeval .2 rmse; gemini_flash .00 .46; gemini_pro .00 .44; gpt-4o .00 .48; llama-31 .00 .58;
    gpt-4o-mini .00 .54; mistral-v03 .00 .62
10k_prompts .15 rmse; gemini_flash .31 .67; gemini_pro .08 .63; gpt-4o .69 .76; llama-31 .15 .67;
    gpt-4o-mini .92 .80; mistral-v03 .15 .67
cebab_stars .1 rmse; gemini_flash .60 .82; gemini_pro .80 .87; gpt-4o .90 .90; llama-31 .60 .85;
    gpt-4o-mini .90 .89; mistral-v03 .50 .83
lesion .15 rmse; gemini_flash .17 .71; gemini_pro 1.00 .81; gpt-4o .00 .62; gpt-4o-mini .67 .73
"""
PAIRS = [
    [part.split() for part in one.split(";")] for one in PRINTED.replace(";\n", ";").splitlines()
][1:]


def whole(found):
    """Evaluators with their details."""
    return found.evaluators.merge(found.details, on="evaluator")


def long(given, who, what):
    rows = [
        (f"o{k:03d}", name, value)
        for name, own in given.items()
        for k, value in enumerate(own)
        if value is not None
    ]
    return pd.DataFrame(rows, columns=["output_id", who, what])


def made(judgments, scores, texts=None, **settings):
    """Make a study: annotator -> values of outputs in a row (None: not judged), likewise scores."""
    n = max(len(own) for own in judgments.values())
    outputs = pd.DataFrame({"output_id": [f"o{k:03d}" for k in range(n)], "system": "annotated"})
    outputs["item_id"] = outputs["output_id"] if texts is None else [str(one) for one in texts]
    scores = long(scores, "evaluator", "score")
    return nb.Study(
        outputs, long(judgments, "annotator_id", "value"), scores=scores, settings=settings
    )


def crowd(n=60, m=4, seed=0, wrong=0.3, judge=0.3, labels=3):
    """Simulate annotators, and a judge, who give another label than the right one now and then."""
    rng = np.random.default_rng(seed)
    true = rng.integers(0, labels, n)

    def given(share):
        return np.where(rng.random(n) < share, rng.integers(0, labels, n), true).tolist()

    people = {f"w{k}": given(wrong) for k in range(m)}
    return people, {"judge": given(judge)}


@RELEASED
@pytest.mark.parametrize("printed", PAIRS, ids=lambda printed: printed[0][0])
def test_omega_and_rho_follow_to_the_printed_digits(printed):
    assert len(PAIRS) == 9 and sum(len(pairs) - 1 for pairs in PAIRS) == 52
    (name, epsilon, agreement), *pairs = printed
    study = nb.load(f"alttest-{name}")
    found = nb.replaces_annotators(study, epsilon=float(epsilon), agreement=agreement)
    table = whole(found).set_index("evaluator")[["omega_paper", "estimate"]]
    assert {
        evaluator: tuple(f"{value:.2f}" for value in table.loc[evaluator])
        for evaluator, *_ in pairs
    } == {e: (f"{float(omega):.2f}", f"{float(rho):.2f}") for e, omega, rho in pairs}


@RELEASED
def test_880_labels_of_22_posts_show_less_than_880_independent_ones():
    found = nb.replaces_annotators(nb.load("alttest-lgbteen"), epsilon=0.2, agreement="accuracy")
    table = whole(found).set_index("evaluator").loc["gpt-4o-mini"]
    assert (table["omega_paper"], table["omega"], table["verdict"]) == (0.75, 0, "not shown")
    assert found.annotators["design_effect"].max() > 3


@given(st.lists(st.integers(0, 4), min_size=2, max_size=6), st.integers(0, 5))
def test_who_is_nearer_to_the_others(values, score):
    """1 where a judgment is nearer than the score to the output's others, -1 where the score is."""
    brute = {"accuracy": [], "rmse": []}
    for k, value in enumerate(values):
        others = np.delete(values, k)
        brute["accuracy"].append(np.sign(np.sum(others == value) - np.sum(others == score)))
        apart = np.sum((others - score) ** 2) - np.sum((others - value) ** 2)
        brute["rmse"].append(np.sign(apart))
    output = np.zeros(len(values), int)
    for kind, unit in (("accuracy", 1.0), ("rmse", 1.0), ("rmse", 0.1)):
        given = output, np.array(values) * unit, np.full(len(values), score / round(1 / unit))
        assert replacing.differences(*given, kind).tolist() == brute[kind]


def test_the_score_test_is_tangos():
    # Tango (1998), section 4: 43 of 44 pairs alike, one is worse; margin .1: Z = 1.709.
    counts = replacing.Counts(*(np.array([one]) for one in (44.0, 1.0, 0.0, 1.0, 1e9)))
    p = replacing.score_p(counts, np.array([0.1]))
    assert norm.isf(p[0, 0]) == pytest.approx(1.709, abs=5e-4)


@pytest.mark.parametrize(
    "better, worse", [(0.0, 0.0), (0.3, 0.0), (0.0, 0.2), (0.25, 0.1), (0.4, 0.6)]
)
@pytest.mark.parametrize("epsilon", [-0.3, 0.0, 0.15])
def test_its_variance_is_that_of_the_likeliest_shares_at_the_border(better, worse, epsilon):
    there = (better, worse, 1 - better - worse)

    def unlikely(share):
        shares = (share + epsilon, share, 1 - epsilon - 2 * share)
        pairs = zip(there, shares, strict=True)
        return -sum(a * np.log(max(b, 1e-300)) for a, b in pairs if a > 0)

    low, high = max(0, -epsilon), (1 - epsilon) / 2
    best = minimize_scalar(unlikely, bounds=(low, high), method="bounded", options={"xatol": 1e-12})
    expected = np.sqrt(max(2 * best.x + epsilon - epsilon**2, 0))
    found = replacing.null_error(np.array([better]), np.array([worse]), np.array([epsilon]))
    assert found == pytest.approx(expected, abs=1e-5)


def test_the_papers_p_is_students_t():
    people, scores = crowd()
    found = nb.replaces_annotators(made(people, scores), epsilon=0.1, agreement="accuracy")
    for row in found.annotators.itertuples():
        others = [own for name, own in people.items() if name != row.annotator_id]
        own = np.mean(np.array(others) == people[row.annotator_id], axis=0)
        judge = np.mean(np.array(others) == scores["judge"], axis=0)
        d = (own >= judge).astype(int) - (judge >= own)
        assert row.p_paper == pytest.approx(ttest_1samp(d, 0.1, alternative="less").pvalue)
        assert row.advantage == pytest.approx(np.mean(judge >= own))
        assert row.difference == pytest.approx(d.mean())


def test_the_same_said_four_times_is_said_once():
    people, scores = crowd(n=60, seed=3)
    again = [{name: own * 4 for name, own in given.items()} for given in (people, scores)]
    once, four = (
        nb.replaces_annotators(study, epsilon=0.2, agreement="accuracy")
        for study in (made(people, scores), made(*again, texts=[*range(60)] * 4))
    )
    p, p_four = norm.isf([one.annotators["p"] for one in (once, four)])
    assert np.abs(p - p_four).max() < 0.1
    assert (four.annotators["p_paper"] < once.annotators["p_paper"] / 5).all()
    columns = ["ci_low", "ci_high"]
    np.testing.assert_allclose(four.evaluators[columns], once.evaluators[columns], rtol=1e-9)


@pytest.mark.parametrize("m", [4, 12])
def test_rhos_interval_is_a_jackknife_over_texts_and_over_annotators_from_ten_on(m):
    people, scores = crowd(n=36, m=m, seed=5)
    texts = np.arange(36) // 3

    def replaces(people, kept):
        part = [{n: np.array(o)[kept].tolist() for n, o in one.items()} for one in (people, scores)]
        study = made(*part, texts[kept])
        return nb.replaces_annotators(study, epsilon=0.1, agreement="accuracy")

    def spread(values):
        return (len(values) - 1) * np.var(values, axis=0).sum()

    every = texts >= 0
    without = [replaces(people, texts != k) for k in range(12)]
    variance = spread([one.evaluators["estimate"][0] for one in without])
    if m >= 10:
        fewer = [{n: own for n, own in people.items() if n != name} for name in people]
        among = spread([replaces(one, every).evaluators["estimate"][0] for one in fewer])
        both = spread([one.annotators["advantage"] for one in without]) / m**2
        variance = max(variance, among, variance + among - both)
    found = whole(replaces(people, every)).iloc[0]
    assert found["se"] == pytest.approx(np.sqrt(variance))
    assert found["covers"] == (OTHER_ANNOTATORS if m >= 10 else THESE_ANNOTATORS)


def test_the_curve_never_falls_and_goes_through_omega():
    people, scores = crowd(n=90, m=5, seed=2, judge=0.35)
    for epsilon in (0.0, 0.1, 0.3):
        found = nb.replaces_annotators(made(people, scores), epsilon=epsilon, agreement="accuracy")
        curve = found.curve.set_index(found.curve["epsilon"].round(3))["omega"]
        row = found.evaluators.iloc[0]
        assert curve.is_monotonic_increasing and curve[epsilon] == row["omega"]
        assert (curve >= 0.5).equals(curve.index.to_series() >= row["least_epsilon"])
        assert (row["verdict"] == "replaces") == (row["omega"] >= 0.5)


def test_who_knows_what_most_would_say_replaces_and_who_guesses_does_not():
    people, scores = crowd(n=100, m=5, seed=1, wrong=0.35, judge=0.0)
    scores["guess"] = np.random.default_rng(9).integers(0, 3, 100).tolist()
    scores["copy"] = people["w0"]
    found = nb.replaces_annotators(made(people, scores), epsilon=0.1, agreement="accuracy")
    table = whole(found).set_index("evaluator")
    assert table.loc["judge", ["omega", "verdict"]].tolist() == [1, "replaces"]
    assert table.loc["guess", ["omega", "verdict"]].tolist() == [0, "not shown"]
    own = found.annotators.query("evaluator == 'copy' and annotator_id == 'w0'").iloc[0]
    assert (own["difference"], own["advantage"], own["n_ties"]) == (0, 1, 100)


def test_holm_is_over_evaluators_and_one_alone_passes_by_the_papers_rule():
    people, scores = crowd(n=60, m=5, seed=3, wrong=0.5, judge=0.4)
    scores |= {f"guess {k}": np.random.default_rng(k).integers(0, 3, 60).tolist() for k in range(5)}
    scores["shifted"] = [9] * 60
    verdicts = []
    for part in (scores, {"judge": scores["judge"]}):
        study = made(people, part)
        found = nb.replaces_annotators(study, epsilon=0.15, agreement="accuracy")
        table = found.evaluators.set_index("evaluator")
        assert set(table["n_tested"]) == {len(part) - ("shifted" in part)}
        for name, own in found.annotators.groupby("evaluator"):
            # Half of five annotators are three.
            assert table.loc[name, "p"] == np.sort(own["p_adjusted"])[2]
        assert ((table["p"] <= 0.05) == (table["omega"] >= 0.5)).all()
        np.testing.assert_array_equal(table["p_adjusted"], adjust(table["p"]))
        verdicts.append(table.loc["judge", "verdict"])
    assert verdicts == ["not shown", "replaces"]


def test_power_by_the_formula_is_that_of_simulation():
    rng, n, worlds = np.random.default_rng(0), 100, 3_000
    d = rng.choice([-1, 0, 1], p=[0.25, 0.5, 0.25], size=(worlds, n)).astype(np.int8)
    who = np.repeat(np.arange(worlds), n)
    counts = replacing.count(d.ravel(), who, np.arange(worlds * n))
    for level in (0.05, 0.012):
        share = np.mean(replacing.score_p(counts, np.array([0.15]))[:, 0] <= level)
        formula = replacing.power(counts, 0.15, level).mean()
        assert formula == pytest.approx(share, abs=0.03)


def test_what_is_left_out_is_counted():
    people, scores = crowd(n=70, m=3)
    people["few"] = [0] * 29 + [None] * 41
    people["w0"] = [*people["w0"], 1, 1]  # two outputs with one annotator
    scores = {"judge": [None] * 5 + scores["judge"][5:] + [1, 1], "other": [9] * 70}
    study = made(people, scores)
    twice = study.judgments.iloc[:10].assign(group_id="again", value=2.0)
    study = study.replace(judgments=pd.concat([study.judgments, twice]))
    found = nb.replaces_annotators(study, epsilon=0.1, agreement="accuracy")
    table = whole(found).set_index("evaluator")
    counted = ["n_annotators", "n_left_out", "n_outputs", "n_missing"]
    assert table.loc["judge", counted].tolist() == [3, 1, 65, 5]
    assert found.annotators["n_outputs"].tolist() == [65] * 3
    other = table.loc["other"]
    assert other[["omega", "estimate"]].isna().all() and other["verdict"] == ""
    assert other["reason"] == "no score matches a value of the judgments: the labels differ"
    assert found.curve.query("evaluator == 'other'")["omega"].isna().all()
    few = made({"a": [1, 2] * 10, "b": [2, 1] * 10}, {"judge": [1, 2] * 10})
    (reason,) = nb.replaces_annotators(few, epsilon=0.1).evaluators["reason"]
    assert reason == "no annotator has at least 30 scored outputs"


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"epsilon": -0.1}, "epsilon.* must be at least 0 and below 1.*Got -0.1"),
        ({"epsilon": 1.0}, "epsilon.* must be at least 0"),
        ({}, "3 different values, which may be labels or numbers: set agreement="),
    ],
)
def test_what_cannot_be_asked_is_refused_with_a_way_out(asked, said):
    with pytest.raises(ValueError, match=said):
        nb.replaces_annotators(made(*crowd()), **{"epsilon": 0.1} | asked)
