"""Agreement and accuracy are those of the papers, statsmodels, NLTK and SciPy."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from nltk.metrics import binary_distance, interval_distance
from nltk.metrics.agreement import AnnotationTask
from plain_coefficients import of_counts, of_ratings
from scipy import stats
from statsmodels.stats import inter_rater

import nlgbench as nb
from nlgbench.analysis.people import accuracy, agreement, split_half
from nlgbench.analysis.people.real_or_fake import assign_hits
from nlgbench.analysis.people.reliability import _over_outputs, _over_systems
from nlgbench.clustering import cluster_jackknife
from nlgbench.datasets.judge_the_judges import RAW_FILE
from nlgbench.datasets.published import load_claims
from nlgbench.study import Study
from tests.released import needs

RELEASED = needs(RAW_FILE)
NAN = float("nan")


@pytest.fixture(scope="module")
def study():
    systems = ["grammar_t0.5", "leaky_t1.0", "corrupted_0.5", "bigram_t1.0"]
    return nb.simulate("crowd", systems=systems, n_outputs=30, n_truth=0, seed=2)


def made(votes):
    """Make a study of votes: output -> (system, votes)."""
    outputs = pd.DataFrame([(one, one, s) for one, (s, _) in votes.items()])
    outputs.columns = ["output_id", "item_id", "system"]
    rows = [(one, f"w{a}", v) for one, (_, own) in votes.items() for a, v in enumerate(own)]
    judgments = pd.DataFrame(rows, columns=["output_id", "annotator_id", "value"])
    return Study(outputs, judgments.assign(dimension="real_or_fake", group_id=""))


HAND = {
    "h1": ("human", [1, 1, 0]),
    "h2": ("human", [1, 0, 0]),
    "a1": ("a", [0, 0, 1]),
    "a2": ("a", [0, 0]),
    "b1": ("b", [1, 1, 1]),
}


def test_accuracies_by_hand():
    votes = accuracy(made(HAND)).set_index("row")
    assert votes.index.tolist() == ["all", "real", "fake", "a", "b"]
    assert votes["estimate"].tolist() == [7 / 14, 3 / 6, 4 / 8, 4 / 5, 0]
    assert votes["n_votes"].tolist() == [14, 6, 8, 5, 3]
    assert votes["n_outputs"].tolist() == [5, 2, 3, 2, 1]
    assert votes["n_clusters"].tolist() == [5, 2, 3, 2, 1]
    majority = accuracy(made(HAND), rule="majority").set_index("row")
    assert majority["estimate"].tolist() == [2 / 4, 1 / 2, 1 / 2, 1, 0]
    assert majority["n_left_out"].tolist() == [1, 0, 1, 1, 0]
    assert majority["n_votes"].tolist() == [12, 6, 6, 3, 3]
    # One output gives no spread; its estimate stands.
    assert majority.loc["b", ["se", "ci_low", "ci_high"]].isna().all()
    assert majority.loc["b", "status"] == "one_cluster"


def test_clusters_of_one_size_give_the_standard_error_of_a_mean(study):
    # With equally many votes in each HIT the jackknife is exactly the t interval of HITs' means.
    table = accuracy(study, confidence=0.9).set_index("row").loc["real"]
    frame = assign_hits(study, None)
    means = frame[frame["is_human"]].groupby("cluster")["value"].mean()
    low, high = stats.t.interval(0.9, len(means) - 1, means.mean(), stats.sem(means))
    assert table[["ci_low", "ci_high"]].tolist() == pytest.approx([low, high], abs=1e-12)
    assert table["n_clusters"] == len(means) == 12


def test_a_share_over_unequal_clusters_has_the_cluster_robust_variance():
    # statsmodels' OLS on a constant, covariance clustered: the linearized ratio estimator.
    rng = np.random.default_rng(0)
    cluster = rng.integers(0, 400, size=3000)
    right = (rng.random(3000) < rng.random(400)[cluster]) * 1.0
    fit = sm.OLS(right, np.ones(3000)).fit(cov_type="cluster", cov_kwds={"groups": cluster})
    sums = np.column_stack([right, np.ones(3000)])
    found = cluster_jackknife(sums, cluster, lambda s: s[..., 0] / s[..., 1])
    assert found["estimate"] == pytest.approx(fit.params[0])
    assert found["se"] == pytest.approx(fit.bse[0], rel=0.01)


#: Fleiss (1971), doi:10.1037/h0031619, as widely taught: 10 subjects, 14 raters, kappa .210.
FLEISS = [
    *([0, 0, 0, 0, 14], [0, 2, 6, 4, 2], [0, 0, 3, 5, 6], [0, 3, 9, 2, 0], [2, 2, 8, 1, 1]),
    *([7, 7, 0, 0, 0], [3, 2, 6, 3, 0], [2, 5, 3, 2, 2], [6, 5, 2, 1, 0], [0, 2, 2, 3, 7]),
]
#: Krippendorff (2011), "Computing Krippendorff's Alpha-Reliability", sections C and D: 4 observers,
#: 12 units; nominal .743, ordinal .815, interval .849.
KRIPPENDORFF = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, NAN, NAN, NAN],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NAN, 3],
    [NAN, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NAN],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NAN],
]


def test_published_coefficients():
    assert of_counts("fleiss_kappa", np.array(FLEISS)) == pytest.approx(0.210, abs=5e-4)
    units = np.transpose(KRIPPENDORFF)
    votes = made({f"a{n}": ("a", one[~np.isnan(one)]) for n, one in enumerate(units)})
    for metric, published in {"nominal": 0.743, "ordinal": 0.815, "interval": 0.849}.items():
        table = agreement(votes, metric=metric).set_index(["row", "coefficient"])
        alpha = table.loc[("a", "krippendorff_alpha")]
        assert alpha["estimate"] == pytest.approx(published, abs=5e-4)
        assert alpha[["n_outputs", "n_left_out", "metric"]].tolist() == [11, 1, metric]


def counts_of(ratings):
    """Count how often each output was given each value."""
    return (ratings[:, :, None] == np.unique(ratings)).sum(axis=1)


RATINGS = st.integers(2, 12).flatmap(
    lambda n: st.lists(st.lists(st.integers(0, 3), min_size=4, max_size=4), min_size=n, max_size=n)
)


@settings(max_examples=50)
@given(RATINGS)
def test_kappa_and_agreement_are_those_of_statsmodels(ratings):
    ratings = np.asarray(ratings, dtype=float)
    counts = counts_of(ratings)
    agree = ((counts**2).sum(axis=1) - 4) / 12
    assert of_ratings("percent_agreement", ratings) == pytest.approx(agree.mean())
    kappa = inter_rater.fleiss_kappa(counts) if counts.shape[1] > 1 else NAN
    assert of_ratings("fleiss_kappa", ratings) == pytest.approx(kappa, abs=1e-9, nan_ok=True)


@settings(max_examples=50)
@given(RATINGS, st.integers(0, 10**6))
def test_alpha_is_that_of_nltk_with_missing_judgments(ratings, seed):
    values = np.asarray(ratings, dtype=float)
    values[np.random.default_rng(seed).random(values.shape) < 0.25] = NAN
    values = values[(~np.isnan(values)).sum(axis=1) > 1]
    triples = [(who, unit, one) for (unit, who), one in np.ndenumerate(values) if one == one]
    if len({value for *_, value in triples}) < 2:
        return
    for metric, distance in [("nominal", binary_distance), ("interval", interval_distance)]:
        expected = AnnotationTask(triples, distance=distance).alpha()
        found = of_ratings("krippendorff_alpha", values, metric)
        assert found == pytest.approx(expected, abs=1e-9)


def test_correlations_are_those_of_scipy():
    rng = np.random.default_rng(3)
    sums, sizes = rng.integers(0, 3, size=(5, 2, 20)) * 1.0, np.full((5, 2, 20), 2.0)
    sizes[:, 0, 4] = sums[:, 0, 4] = 0  # an output that one half did not judge is left out
    weights, system = np.vstack([np.ones(20), rng.random(20) < 0.7]), np.arange(20) % 4
    outputs = _over_outputs(weights, sums, sizes)
    systems = _over_systems(weights, sums, sizes, system)
    for draw, split in [(0, 0), (1, 3)]:
        keep = weights[draw] > 0
        both = sums[split][:, keep & (np.arange(20) != 4)]
        assert outputs[draw, split] == pytest.approx(stats.pearsonr(*both).statistic)
        means = [
            [side[:, keep & (system == one)].sum(axis=1) for side in (sums[split], sizes[split])]
            for one in range(4)
        ]
        expected = stats.pearsonr(*np.transpose([total / n for total, n in means])).statistic
        assert systems[draw, split] == pytest.approx(expected)


def test_stepping_up_is_spearman_and_browns(study):
    table = split_half(study, n_splits=20, n_resamples=30, seed=0)
    assert table.equals(split_half(study, n_splits=20, n_resamples=30, seed=0))
    half, full, ceiling = table.loc[table["unit"] == "output", "estimate"]
    assert [full, ceiling**2] == pytest.approx([2.5 * half / (1 + 1.5 * half)] * 2)
    # Two judges have the intraclass correlation of one each: what kappa estimates for two values.
    kappa = agreement(study).set_index(["row", "coefficient"])["estimate"]["fake", "fleiss_kappa"]
    assert half / (2 - half) == pytest.approx(kappa, abs=0.06)


def test_groups_that_share_outputs_are_one_cluster():
    data = made({f"{s}{n}": (s, [1.0, 0.0]) for s in ["human", "a", "b"] for n in range(4)})
    # Of each system two outputs were judged on pages that overlap, one page after another.
    number = data.judgments["output_id"].str[-1].astype(int)
    page = "p" + (number + (data.judgments["annotator_id"] == "w1") * (number < 2)).astype(str)
    shared = data.replace(judgments=data.judgments.assign(group_id=page))
    found, plain = (accuracy(one).set_index("row").loc["all"] for one in (shared, data))
    # Pages 0, 1 and 2 hang together by outputs 0 and 1; page 3 stands alone.
    assert found["n_clusters"] == 2 and found["estimate"] == plain["estimate"]
    again = data.judgments.head(1).assign(group_id="later")
    twice = data.replace(judgments=pd.concat([data.judgments, again]))
    assert agreement(twice)["n_judgments"].iloc[0] == len(data.judgments) + 1


def test_majorities_of_even_votes_and_two_systems_are_refused():
    pairs = {f"{s}{n}": (s, [1.0, 0.0]) for s in ["human", "a"] for n in range(3)}
    with pytest.raises(ValueError, match="most frequent number is 2"):
        accuracy(made(pairs), rule="majority")
    with pytest.raises(ValueError, match=r"needs at least 3 systems. Got 2"):
        split_half(made(HAND), seed=0)


@pytest.fixture(scope="module")
def released():
    return nb.load("judge-the-judges")


@RELEASED
def test_table_3_and_figure_2_follow(released):
    """Garbacea et al. (2019), doi:10.18653/v1/D19-1409: 24 cells and six numbers."""
    claims = load_claims().set_index("claim_id")
    names = {"all": "accuracy", "real": "true_positive_rate", "fake": "true_negative_rate"}
    n_compared = 0
    for rule, who in [("votes", "h1"), ("majority", "h2")]:
        found = accuracy(released, rule=rule).set_index("row")
        for row, estimate in found["estimate"].items():
            place = f"figure2/{who}/{names[row]}" if row in names else f"table3/{row}/{who}"
            claim = claims.loc[f"judge-the-judges/{place}"]
            assert abs(100 * estimate - claim["published"]) <= claim["tolerance"]
            n_compared += 1
    assert n_compared == 30


@RELEASED
def test_released_agreement_is_fair(released):
    # The paper calls Fleiss' kappa "fair" (.21 to .40) without its value: so it is, either way.
    for coded, published_nowhere in [("value", 0.3154), ("correct", 0.2768)]:
        table = agreement(released, coded=coded)
        row = table[(table["row"] == "all") & (table["coefficient"] == "fleiss_kappa")].iloc[0]
        assert 0.21 < row["ci_low"] < row["ci_high"] < 0.40
        assert row["estimate"] == pytest.approx(published_nowhere, abs=1e-4)
