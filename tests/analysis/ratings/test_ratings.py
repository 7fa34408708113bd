"""Ratings and win rates are Glickman's, Elo's, Davidson's and Wilson's, or have a reason."""

import math
from itertools import pairwise, permutations

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_glicko import glicko2_update
from scipy.optimize import minimize
from scipy.special import softmax
from scipy.stats import norm
from statsmodels.stats.proportion import proportion_confint

from nlgbench.analysis.ratings import glicko, order_stability, rate, win_rates
from nlgbench.analysis.ratings.games import read_games
from nlgbench.analysis.ratings.glicko import POINTS, START, with_intervals
from nlgbench.analysis.ratings.rating import tournament
from nlgbench.study import Study


def compared(rows, comparator="c"):
    """Games from (system_a, system_b, prob_a, prob_tie, prob_b), each on its own item."""
    names = ["system_a", "system_b", "prob_a", "prob_tie", "prob_b"]
    table = pd.DataFrame(rows, columns=names).astype(dict.fromkeys(names[2:], float))
    item = pd.Series(np.arange(len(table))).astype(str)
    return table.assign(comparator=comparator, item_id=item)


def glicko2(table, *, outcome="argmax", **options):
    return glicko.glicko2(read_games(table, outcome=outcome), **options)


def elo(table, **options):
    return glicko.elo(read_games(table), **options)


def results(text):
    """Comparisons from lines such as "a b 3 1 2": wins, ties and losses of a."""
    rows = []
    for line in text.splitlines():
        a, b, *counts = line.split()
        for kind, count in zip(np.eye(3).tolist(), counts, strict=True):
            rows += [(a, b, *kind)] * int(count)
    return compared(rows)


def simulated(skills, n_games, *, nu=0.0, seed=0):
    """Games by Davidson's rule between systems s0, s1, ... of known skill in nats."""
    rng = np.random.default_rng(seed)
    pairs = np.array(np.triu_indices(len(skills), 1))
    a, b = pairs[:, rng.integers(pairs.shape[1], size=n_games)]
    gap = (np.asarray(skills)[a] - np.asarray(skills)[b]) / 2
    weight = np.column_stack([np.exp(gap), np.full(n_games, nu), np.exp(-gap)])
    bound = np.cumsum(weight / weight.sum(axis=1, keepdims=True), axis=1)
    one_hot = np.eye(3)[(rng.random((n_games, 1)) > bound[:, :2]).sum(axis=1)]
    return compared(
        [(f"s{i}", f"s{j}", *row) for i, j, row in zip(a, b, one_hot.tolist(), strict=True)]
    )


def against(rating, deviation, score, n=1):
    row = {"opponent_rating": rating, "opponent_deviation": deviation, "score": score}
    return pd.DataFrame([row] * n)


def by_system(table, column="estimate"):
    return table.set_index("system")[column].to_dict()


MIXED = results("x y 6 2 3\nx z 5 4 1\ny z 4 3 3\nz w 2 5 4\nw x 3 1 1")


def test_glickmans_worked_example():
    # Glickman (2012), "Example of the Glicko-2 system": 1464.06, 151.52, 0.05999.
    table = pd.concat([against(1400, 30, 1), against(1550, 100, 0), against(1700, 300, 0)])
    rating, deviation, volatility = glicko2_update(1500, 200, 0.06, table)
    assert rating == pytest.approx(1464.06, abs=0.01)
    assert deviation == pytest.approx(151.52, abs=0.005)
    assert volatility == pytest.approx(0.05999, abs=1e-5)


def play_by_hand(table, names):
    """Update both systems of each game by Glickman's formulas."""
    state = dict.fromkeys(names, (START, 350.0, 0.0))
    for row in table.to_dict("records"):
        a, b, score = row["system_a"], row["system_b"], row["prob_a"] + row["prob_tie"] / 2
        before = state[a], state[b]
        state[a] = glicko2_update(*state[a], against(*before[1][:2], score))
        state[b] = glicko2_update(*state[b], against(*before[0][:2], 1 - score))
    return state


def test_games_one_by_one_are_updates_of_both_systems():
    table = MIXED.sample(frac=1, random_state=1).reset_index(drop=True)
    state, found = play_by_hand(table, "xyzw"), glicko2(table)
    for row in found.to_dict("records"):
        numbers = [row["estimate"], row["deviation"], row["volatility"]]
        np.testing.assert_allclose(numbers, state[row["system"]], rtol=1e-9)
    assert by_system(found, "n_games") == {"x": 26, "y": 21, "z": 31, "w": 16}


def test_intervals_are_around_ratings_and_absent_for_elo():
    found = with_intervals(glicko2(MIXED), 0.5)
    half = 0.674490 * found["deviation"]
    np.testing.assert_allclose(found["ci_high"] - found["estimate"], half, rtol=1e-6)
    np.testing.assert_allclose(found["estimate"] - found["ci_low"], half, rtol=1e-6)
    found = rate(MIXED, method="elo", seed=0).systems
    assert found["status"].eq("no_interval").all()
    assert found[["ci_low", "ci_high"]].isna().all(axis=None)


def test_elo_by_hand():
    found = by_system(elo(compared([("x", "y", 1, 0, 0), ("x", "y", 0, 1, 0)])))
    second = 32 * (0.5 - 1 / (1 + 10 ** (-32 / 400)))
    assert found == pytest.approx({"x": 1516 + second, "y": 1484 - second}, rel=1e-12)


def test_the_spread_over_orders_of_games_is_that_of_all_orders():
    """Four games have 24 orders, each played by hand; drawn are a hundred of them."""
    games = compared([("x", "y", 1, 0, 0), ("y", "z", 1, 0, 0), ("z", "x", 1, 0, 0)])
    games = pd.concat([games, games[:1]])
    orders = [play_by_hand(games.iloc[[*order]], "xyz") for order in permutations(range(4))]
    ratings = pd.DataFrame([{name: state[0] for name, state in one.items()} for one in orders])
    ranks = ratings.rank(axis=1, ascending=False)
    stability = order_stability(games, seed=0).set_index("system")
    assert stability["best_rank"].to_dict() == ranks.min().to_dict()
    assert stability["worst_rank"].to_dict() == ranks.max().to_dict()
    # The standard error of a hundred draws' standard deviation is at most 10% here.
    np.testing.assert_allclose(stability["rating_sd"], ratings.std(ddof=0), rtol=0.25)


def test_probabilities_become_games_in_three_ways():
    rows = [("x", "y", 0.5, 0.2, 0.3), ("x", "y", 0.4, 0.2, 0.4), ("x", "y", 0.1, 0.4, 0.5)]
    kinds = ["win", "tie", "loss"]
    assert read_games(compared(rows))[kinds].to_numpy().tolist() == np.eye(3).tolist()
    assert read_games(compared(rows), outcome="expected")[kinds].to_numpy().tolist() == [
        list(row[2:]) for row in rows
    ]
    drawn = read_games(compared(rows[:1] * 4000), outcome="sampled", seed=0)[kinds]
    assert drawn.isin([0, 1]).all(axis=None)
    np.testing.assert_allclose(drawn.mean(), rows[0][2:], atol=0.03)


def study_of(rows, **systems):
    """A study of systems' outputs, and comparisons of them."""
    of = [(output, name) for name, ids in systems.items() for output in ids.split()]
    outputs = pd.DataFrame(of, columns=["output_id", "system"]).assign(item_id="1", text="t")
    table = compared(rows).drop(columns="item_id")
    names = {"system_a": "output_a", "system_b": "output_b"}
    return Study(outputs, comparisons=table.rename(columns=names))


def test_systems_play_through_their_outputs():
    rows = [("x1", "y1", 1, 0, 0), ("y1", "x2", 1, 0, 0), ("x1", "x2", 1, 0, 0)]
    played = read_games(study_of(rows, x="x1 x2", y="y1"))
    assert played[["system_a", "system_b"]].to_numpy().tolist() == [["x", "y"], ["y", "x"]]
    assert played[["item_a", "item_b"]].eq("1").all(axis=None)
    with pytest.raises(ValueError, match=r"there are no games: all comparisons \(1\)"):
        read_games(study_of(rows[2:], x="x1 x2"))
    with pytest.raises(ValueError, match=r"has no comparisons: add .* with nlgbench.compare_texts"):
        rate(study_of(rows, x="x1 x2", y="y1").replace(comparisons=None))


def test_a_tie_by_the_papers_rule_is_a_share_of_a_win():
    first = [("x", "y", 1, 0, 0)]
    won, tied = (
        by_system(glicko2(compared([*first, ("y", "x", *result)]), tie_ratio=0.1))
        for result in [(1, 0, 0), (0, 1, 0)]
    )
    start = by_system(glicko2(compared(first)))
    # y is the lower rated: it rises by a tenth of what a win would give; x falls likewise.
    for name in "xy":
        assert tied[name] - start[name] == pytest.approx((won[name] - start[name]) / 10)
    equals = glicko2(compared([("x", "y", 0, 1, 0)]), tie_ratio=0.1)
    assert equals["estimate"].tolist() == [1500, 1500] and (equals["deviation"] < 350).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"system_b": None}, "has no column 'system_b': it needs"),
        ({"prob_a": 0.9}, "row 1: prob_a, prob_tie and prob_b must .* sum to 1. Got 0.9"),
        ({"outcome": "A"}, "row 1: outcome must be a, b or tie. Got 'A'"),
    ],
)
def test_a_bare_table_is_checked(change, message):
    table = compared([("x", "y", 0.5, 0.3, 0.2)]).assign(**change)
    table = table.drop(columns=[name for name, value in change.items() if value is None])
    with pytest.raises(ValueError, match=message):
        rate(table)


def test_win_rates_have_wilsons_intervals_from_either_side():
    rates = win_rates(MIXED).set_index(["system", "opponent"])
    assert rates.loc[("x", "y"), ["win", "tie", "loss"]].tolist() == [6 / 11, 2 / 11, 3 / 11]
    assert rates.loc[("x", "y"), "estimate"] == pytest.approx(7 / 11)
    assert rates.loc[("y", "x"), "estimate"] == pytest.approx(4 / 11)
    low, high = proportion_confint(7, 11, method="wilson")
    assert rates.loc[("x", "y"), ["ci_low", "ci_high"]].tolist() == pytest.approx([low, high])
    few = results("x y 20 0 0").assign(item_id=[str(n % 10) for n in range(20)])
    few["comparator"] = [f"c{n // 10}" for n in range(20)]
    few = pd.concat([few, few.assign(system_b="z")])
    row = win_rates(few).iloc[0]
    assert (row["n_games"], row["n_clusters"], row["covers"]) == (10, 10, "items")
    assert row["ci_low"] == pytest.approx(proportion_confint(10, 10, method="wilson")[0])
    by_game = win_rates(MIXED.drop(columns="item_id"))
    assert by_game["covers"].eq("games").all()
    columns = ["estimate", "ci_low", "ci_high"]
    pd.testing.assert_frame_equal(by_game[columns], rates.reset_index()[columns])


@pytest.mark.parametrize("seed", [0, 1])
def test_bradley_terry_without_ties_is_logistic_regression(seed):
    table = simulated([-0.7, 0.0, 0.2, 0.5], 400, seed=seed)
    design = np.zeros((len(table), 4))
    for column, sign in (("system_a", 1), ("system_b", -1)):
        design[np.arange(len(table)), table[column].str[1:].astype(int)] += sign
    fitted = sm.GLM(table["prob_a"], design[:, 1:], family=sm.families.Binomial()).fit(tol=1e-14)
    centering = (np.eye(4) - 0.25)[:, 1:]
    found = rate(table.drop(columns="item_id")).systems
    np.testing.assert_allclose(found["estimate"], START + POINTS * centering @ fitted.params)
    covariance = centering @ fitted.cov_params() @ centering.T
    np.testing.assert_allclose(found["se"], POINTS * np.sqrt(np.diag(covariance)), rtol=1e-6)
    assert found["tie"].eq(0).all()


def test_differences_of_ratings_are_those_of_bradleyterry2():
    # R: BTm(cbind(win1, win2), p1, p2), BradleyTerry2 1.1-2; coef() and vcov(), with w at 0.
    games = results("w x 7 0 4\nw y 6 0 5\nw z 9 0 3\nx y 5 0 6\nx z 8 0 2\ny z 6 0 5")
    rated = rate(games.drop(columns="item_id"))
    pairs = rated.pairs.set_index(["system", "opponent"])
    to_w = pairs.xs("w", level="opponent")
    expected = [-0.343898455119, -0.407750464534, -1.079793537980]
    np.testing.assert_allclose(to_w["estimate"] / POINTS, expected, rtol=1e-7)
    variance = [0.1948727210871, 0.1932623768090, 0.2105639333080]
    np.testing.assert_allclose((to_w["se"] / POINTS) ** 2, variance, rtol=1e-6)
    z = np.abs(expected) / np.sqrt(variance)
    np.testing.assert_allclose(to_w["p"], 2 * norm.sf(z), rtol=1e-5)
    assert pairs.loc[("w", "z"), "p_adjusted"] == pytest.approx(6 * to_w["p"]["z"])
    assert pairs.loc[("z", "w"), "estimate"] == -pairs.loc[("w", "z"), "estimate"]
    assert {*pairs["verdict"]} == {"undecided"} and rated.systems["rank_low"].eq(1).all()
    sure = rate(pd.concat([games] * 6).drop(columns="item_id"))
    assert sure.pairs.set_index(["system", "opponent"])["verdict"]["w"]["z"] == "better"
    assert sure.systems["rank_low"].tolist() == [1, 1, 1, 4]
    assert rate(games, method="elo").pairs.empty


def test_davidson_by_brute_force():
    def cost(x):
        ability, log_nu = dict(zip("wxyz", x[:4], strict=True)), x[4]
        total = 10 * x[:4].sum() ** 2
        for row in MIXED.to_dict("records"):
            p, q = math.exp(ability[row["system_a"]]), math.exp(ability[row["system_b"]])
            tie = math.exp(log_nu) * math.sqrt(p * q)
            chosen = row["prob_a"] * p + row["prob_tie"] * tie + row["prob_b"] * q
            total -= math.log(chosen / (p + q + tie))
        return total

    options = {"xatol": 1e-9, "fatol": 1e-12, "maxiter": 20_000, "maxfev": 20_000}
    best = minimize(cost, np.zeros(5), method="Nelder-Mead", options=options)
    found = rate(MIXED).systems
    assert found["system"].tolist() == list("wxyz")
    np.testing.assert_allclose((found["estimate"] - START) / POINTS, best.x[:4], atol=1e-6)
    assert found["tie"].iloc[0] == pytest.approx(math.exp(best.x[4]), rel=1e-6)


def test_a_system_that_never_loses_has_the_bias_reduced_rating_of_bradleyterry2():
    # R: BTm(cbind(win1, win2), p1, p2, br = TRUE), BradleyTerry2 1.1-2, brglm 0.7.2; a at 0.
    lines = "a b 5 0 0\na c 4 0 0\na d 6 0 0\nb c 4 0 2\nb d 5 0 1\nc d 3 0 3\na a 3 0 0"
    rated = rate(results(lines))
    table = rated.systems.set_index("system")
    gaps = (table["estimate"] - table["estimate"]["a"])[1:] / POINTS
    np.testing.assert_allclose(gaps, [-2.83135913921, -3.69591475511, -3.91194537113], rtol=1e-6)
    assert table["estimate"].mean() == pytest.approx(START)
    for rows in (table, rated.pairs):
        assert rows["status"].eq("separated").all() and rows[["ci_low", "se"]].isna().all(axis=None)
    assert table["reason"].str.startswith("infinite estimate: a never loses; ratings are").all()
    assert rated.pairs["verdict"].eq("").all() and table["rank_low"].isna().all()


def test_the_bias_reduced_fit_with_ties_is_the_maximum_of_the_penalized_likelihood():
    rows = np.array([(0, 1, 5, 0, 0), (0, 2, 4, 0, 0), (1, 2, 4, 1, 2)])
    score = np.zeros((3, 3, 3))  # pair, outcome, (b, c, log nu); a at 0
    for n, (a, b) in enumerate(rows[:, :2]):
        score[n, [0, 2], a - 1 if a else 2] = [0.5 * (a > 0), -0.5 * (a > 0)]
        score[n, [0, 2], b - 1] = [-0.5, 0.5]
        score[n, 1, 2] = 1

    def cost(theta):
        chance = softmax(score @ theta, axis=1)
        mean = np.einsum("po,poi->pi", chance, score)
        off = score - mean[:, None]
        weight = rows[:, 2:].sum(axis=1)
        information = np.einsum("p,po,poi,poj->ij", weight, chance, off, off)
        likelihood = (rows[:, 2:] * np.log(chance)).sum()
        return -likelihood - np.linalg.slogdet(information)[1] / 2

    options = {"xatol": 1e-9, "fatol": 1e-12, "maxiter": 20_000, "maxfev": 20_000}
    best = minimize(cost, np.zeros(3), method="Nelder-Mead", options=options).x
    table = rate(
        results("\n".join(" ".join(["abc"[a], "abc"[b], *map(str, n)]) for a, b, *n in rows))
    )
    gaps = (table.systems["estimate"] - table.systems["estimate"][0])[1:] / POINTS
    np.testing.assert_allclose([*gaps, np.log(table.systems["tie"][0])], best, rtol=1e-5)


@pytest.mark.parametrize(
    ("lines", "statuses", "reason"),
    [
        ("a b 2 0 0\nb c 3 0 1\nc d 2 0 0", "ssss", "a never loses, d never wins;"),
        ("a b 2 1 0\nc d 1 0 1\na c 3 0 0", "ssss", "c and d never win against the other systems;"),
        ("a b 3 2 0\nb c 3 0 2\nd e 1 0 1", "oooxx", "no game links the system to most"),
        ("a b 3 0 0\nb c 3 0 2\nd e 1 0 1", "sssxx", "no game links the system to most"),
        ("a b 3 0 0\nc d 1 0 1", "xxxx", "no game links the system to most"),
        ("a b 2 0 0\nb c 0 2 0\nc a 0 1 0", "sss", "one order explains all games;"),
    ],
)
def test_systems_without_a_finite_rating_are_named(lines, statuses, reason):
    table = rate(results(lines)).systems
    codes = {"s": "separated", "x": "disconnected", "o": "few_items"}
    assert table["status"].tolist() == [codes[letter] for letter in statuses]
    assert reason in table["reason"].iloc[-1]
    assert table["estimate"].isna().tolist() == [letter == "x" for letter in statuses]


@given(st.lists(st.integers(0, 2), min_size=9, max_size=9))
@settings(max_examples=30)
def test_a_separation_is_what_linear_programming_finds(counts):
    from scipy.optimize import linprog

    lines = [
        f"{a} {b} {' '.join(map(str, counts[3 * n : 3 * n + 3]))}"
        for n, (a, b) in enumerate(["xy", "yz", "xz"])
    ]
    table = results("\n".join(lines))
    if not table["prob_tie"].any() or {*table["system_a"], *table["system_b"]} != {*"xyz"}:
        return
    # Directions of (x, y, z, 2 log nu) in which no outcome becomes less likely, and some more.
    bounds = []
    for row in table.to_dict("records"):
        gap, tie = np.zeros(4), np.array([0, 0, 0, 1])
        gap["xyz".index(row["system_a"])], gap["xyz".index(row["system_b"])] = 1, -1
        won = gap if row["prob_a"] else -gap
        bounds += [tie - gap, tie + gap] if row["prob_tie"] else [won, won - tie]
    matrix = np.array(bounds)
    best = linprog(-matrix.sum(axis=0), -matrix, np.zeros(len(matrix)), bounds=(-1, 1))
    status = rate(table).systems["status"]
    assert status.isin(["separated", "all_ties"]).all() == (best.fun < -1e-9)


def test_random_pairing_stops_when_the_order_has_stayed():
    table = simulated([-1.0, 0.0, 1.0], 600, nu=0.5, seed=0)
    found = tournament(table, seed=0)
    assert found.converged
    last = found.history.groupby("system").tail(1).set_index("system")
    final = found.ratings.set_index("system")
    for column, result in (("rating", "estimate"), ("deviation", "deviation")):
        assert last[column].to_dict() == final[result].to_dict()
    assert final["n_games"].sum() == 2 * found.n_games
    wide = found.history.pivot(index="game", columns="system", values="rating").ffill().fillna(1500)
    orders = wide.rank(axis=1, method="first").to_numpy()
    changed = [n + 2 for n, (one, two) in enumerate(pairwise(orders)) if (one != two).any()]
    played = found.history[found.history["game"] > max([1, *changed])]
    assert played["system"].value_counts().min() == 50
    pd.testing.assert_frame_equal(found.history, tournament(table, seed=0).history)
    assert not tournament(table, max_games=5, seed=0).converged


def test_adaptive_pairing_spends_games_where_the_order_is_doubtful():
    table = simulated([-1.5, 0.0, 0.3], 3000, seed=2)
    found = tournament(table, pairing="adaptive", seed=0)
    assert found.converged
    assert found.ratings.sort_values("estimate")["system"].tolist() == ["s0", "s1", "s2"]
    n_games = by_system(found.ratings, "n_games")
    assert n_games["s0"] < min(n_games["s1"], n_games["s2"]) / 2
    less = tournament(table, pairing="adaptive", confidence=0.5, seed=0)
    assert less.n_games <= found.n_games


def test_tournaments_that_cannot_be_are_refused():
    with pytest.raises(ValueError, match="'x' and 'z' were never compared"):
        tournament(results("x y 1 1 1\ny z 1 1 1"), seed=0)
    with pytest.raises(ValueError, match="there are 2 comparators"):
        tournament(pd.concat([MIXED, MIXED.assign(comparator="other")]), seed=0)


def test_a_verdict_that_changes_with_the_order_is_a_tie_if_orders_are_merged():
    """Of four pairs, x wins one, two change (also from tie to win), and one has a single order."""
    verdicts = {"1": "aB", "2": "aA", "3": "tB", "4": "b"}  # upper case: y was shown first
    outputs = [(f"{item}-{name}", item, name) for item in verdicts for name in "xy"]
    shares = {"a": (1.0, 0.0, 0.0), "t": (0.0, 1.0, 0.0), "b": (0.0, 0.0, 1.0)}
    rows = [
        (f"{item}-{'yx'[letter.islower()]}", f"{item}-{'xy'[letter.islower()]}", "judge")
        + shares[letter.lower()]
        for item, letters in verdicts.items()
        for letter in letters
    ]
    names = ["output_a", "output_b", "comparator", "prob_a", "prob_tie", "prob_b"]
    study = Study(
        pd.DataFrame(outputs, columns=["output_id", "item_id", "system"]),
        comparisons=pd.DataFrame(rows, columns=names),
    )
    numbers = ["n_games", "win", "tie", "loss", "estimate", "orders"]
    each, tie = (win_rates(study, orders=rule).loc[0, numbers].tolist() for rule in ("each", "tie"))
    assert each == [7, 4 / 7, 1 / 7, 2 / 7, 4.5 / 7, "each"]
    assert tie == [4, 1 / 4, 2 / 4, 1 / 4, 1 / 2, "tie"]
    with pytest.raises(ValueError, match="orders='tie' needs a judge's verdicts on pairs"):
        win_rates(MIXED, orders="tie")
