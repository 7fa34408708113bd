"""Time ratings, and count how often they are correct (half an hour): ``benchmarks/ratings.py``.

Glicko-2 is timed against a plain loop, one `glicko2_update` per system and game, after asserting
equal results; Bradley-Terry against statsmodels' logistic regression. Then systems with known skill
play: this measures the coverage of intervals, and how often both stopping rules end with the true
order. Finally, systems whose outputs vary play in the layouts of notebook 06: this measures how
often intervals cover the result of infinitely many other outputs of the same systems.
"""

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import statsmodels.api as sm
from scipy.special import ndtr

from nlgbench.analysis.ratings import glicko, rate, win_rates
from nlgbench.analysis.ratings.games import join_outputs, read_games
from nlgbench.analysis.ratings.glicko import POINTS, START, with_intervals
from nlgbench.analysis.ratings.rating import tournament
from nlgbench.study import Study

sys.path.append(str(Path(__file__).parents[1] / "tests"))
from plain_glicko import glicko2_update

SKILLS = np.array([-150.0, -90.0, -30.0, 30.0, 90.0, 150.0])  # points; their mean is 0
NAMES = [f"s{place}" for place in range(len(SKILLS))]
REQUIRED_SECONDS = 1.5
REQUIRED_COVERAGE = 0.90


#: Notebook 06's reviews (each output is its own item), quick and full; a dialogue, compared on its
#: context; and outputs of shared items that are compared across items.
LAYOUTS = {
    "reviews, 100 games": {"layout": "pool", "n_outputs": 60, "n_games": 100},
    "reviews, 200 games": {"layout": "pool", "n_outputs": 60, "n_games": 200},
    "by item, 60 items": {"layout": "within", "n_outputs": 60, "n_games": 100},
    "by item, 24 items": {"layout": "within", "n_outputs": 24, "n_games": 100},
    "across 60 items": {"layout": "across", "n_outputs": 60, "n_games": 100},
}
LIMITS = (0.93, 0.97)
CONTRASTS = 5  # other methods are measured in every fifth world
NOISE, NEAR = 0.5, 0.3  # the comparator's noise, and the greatest distance that counts as a tie


def simulate(n_games: int, tie: float, rng: np.random.Generator) -> pd.DataFrame:
    """Simulate games by Davidson's rule with a known nu: one-hot comparisons of outputs."""
    a, b = np.array(np.triu_indices(len(SKILLS), 1))[:, rng.integers(15, size=n_games)]
    gap = (SKILLS[a] - SKILLS[b]) / POINTS / 2
    weight = np.column_stack([np.exp(gap), np.full(n_games, tie), np.exp(-gap)])
    bound = np.cumsum(weight / weight.sum(axis=1, keepdims=True), axis=1)
    result = np.eye(3)[(rng.random((n_games, 1)) > bound[:, :2]).sum(axis=1)]
    table = pd.DataFrame(result, columns=["prob_a", "prob_tie", "prob_b"])
    number = pd.Series(np.arange(n_games)).astype(str)
    names = pd.Series(NAMES)
    return table.assign(
        comparator="known",
        item_id=number,
        system_a=names[a].to_numpy(),
        system_b=names[b].to_numpy(),
    )


def glicko2(table: pd.DataFrame | Study, **options: object) -> pd.DataFrame:
    return glicko.glicko2(read_games(table), **options)


def plain_glicko(played: pd.DataFrame) -> dict[str, tuple[float, float, float]]:
    state = dict.fromkeys(NAMES, (START, 350.0, 0.0))
    score = played["win"] + played["tie"] / 2
    for a, b, one in zip(played["system_a"], played["system_b"], score, strict=True):
        before = state[a], state[b]
        for own, other, points in ((a, before[1], one), (b, before[0], 1 - one)):
            result = {"opponent_rating": [other[0]], "opponent_deviation": [other[1]]}
            results = pd.DataFrame({**result, "score": [points]})
            state[own] = glicko2_update(*state[own], results)
    return state


def logistic(played: pd.DataFrame) -> np.ndarray:
    """Fit Bradley-Terry as a logistic regression without intercept, with the first ability at 0."""
    design = np.zeros((len(played), len(NAMES)))
    place = pd.Index(NAMES)
    design[np.arange(len(played)), place.get_indexer(played["system_a"])] += 1
    design[np.arange(len(played)), place.get_indexer(played["system_b"])] -= 1
    model = sm.GLM(played["win"].to_numpy(), design[:, 1:], family=sm.families.Binomial())
    ability = np.append(0, model.fit(tol=1e-14).params)
    return START + POINTS * (ability - ability.mean())


def best_seconds(calls: list[Callable[[], object]], n_repeats: int) -> list[float]:
    times: list[list[float]] = [[] for _ in calls]
    for _ in range(n_repeats):
        for call, own in zip(calls, times, strict=True):
            start = time.perf_counter()
            call()
            own.append(time.perf_counter() - start)
    return [min(own) for own in times]


def timings(rng: np.random.Generator) -> float:
    table = simulate(500, 0.5, rng)
    plain = plain_glicko(read_games(table))
    for row in glicko2(table).to_dict("records"):
        found = row["estimate"], row["deviation"], row["volatility"]
        np.testing.assert_allclose(found, plain[row["system"]], rtol=1e-11)
    decided = simulate(3000, 0.0, rng)
    found = rate(decided).systems["estimate"]
    np.testing.assert_allclose(found, logistic(read_games(decided)), rtol=1e-9)
    ours, theirs = best_seconds(
        [lambda: glicko2(table), lambda: plain_glicko(read_games(table))], 3
    )
    print("Glicko-2 equal to one update per system and game; Bradley-Terry to statsmodels' GLM.\n")
    print(f"Glicko-2, 500 games: {ours:.4f} s, plain {theirs:.3f} s, {theirs / ours:.0f}x")
    ours, theirs = best_seconds([lambda: rate(decided), lambda: logistic(read_games(decided))], 5)
    print(f"Bradley-Terry, 3,000 games: {ours:.4f} s, GLM {theirs:.4f} s, {theirs / ours:.1f}x")
    print(f"\n{'games':>9} {'Glicko-2, s':>12} {'Davidson, s':>12}")
    seconds = {}
    for n in (1_000, 10_000, 100_000):
        many = simulate(n, 0.5, rng)
        calls = [lambda many=many: glicko2(many), lambda many=many: rate(many)]
        seconds[n], davidson = best_seconds(calls, 3)
        print(f"{n:>9,} {seconds[n]:>12.3f} {davidson:>12.3f}")
    return seconds[100_000]


def coverage(n_worlds: int, rng: np.random.Generator) -> pd.DataFrame:
    """Count how often 95% intervals cover the skill, relative to the mean of all skills.

    With ties, Glicko-2's ratings and Davidson's abilities differ in scale, so they are left out.
    """
    rows = []
    for n_games, tie in ((300, 0.0), (3000, 0.0), (3000, 1.0)):
        for _ in range(n_worlds):
            table = simulate(n_games, tie, rng)
            ways = {
                "Davidson, by item": rate(table).systems,
                "Davidson, by game": rate(table.drop(columns="item_id")).systems,
            }
            if not tie:
                raw = glicko2(table)
                wide = 1.959964 * raw["deviation"]
                ways["Glicko-2, not centered"] = raw.assign(
                    ci_low=raw["estimate"] - wide, ci_high=raw["estimate"] + wide
                )
                ways["Glicko-2"] = with_intervals(raw, 0.95)
            for way, found in ways.items():
                off = found["estimate"].to_numpy() - START - SKILLS
                half = ((found["ci_high"] - found["ci_low"]) / 2).to_numpy()
                one = pd.DataFrame({"held": np.abs(off) <= half, "se": half / 1.959964})
                # Errors in direction away from the mean count as positive, on either side of it.
                one = one.assign(off=off * np.sign(SKILLS), skill=np.abs(SKILLS))
                rows.append(one.assign(games=n_games, nu=tie, way=way))
    return pd.concat(rows)


def outputs_that_differ(
    layout: str, n_outputs: int, n_games: int, rng: np.random.Generator, n_systems: int = 12
) -> Study:
    """Compare outputs with normally distributed quality.

    The comparator prefers the better output if their distance, measured with noise, is large
    enough; otherwise it reports a tie. Items make all outputs easier ("across"), or suit some
    systems better than others ("within").
    """
    system = np.repeat(np.arange(n_systems), n_outputs)
    item = np.tile(np.arange(n_outputs), n_systems)
    skill, slope = _skills(n_systems)
    quality = skill[system] + rng.normal(size=len(system))
    of_item = rng.normal(size=n_outputs)[item]
    quality += {"pool": 0, "across": of_item, "within": slope[system] * of_item}[layout]
    sides = []
    for a, b in zip(*np.triu_indices(n_systems, 1), strict=True):
        if layout == "within":
            one = other = rng.permutation(n_outputs)[:n_games]
        else:
            one, other = np.divmod(rng.choice(n_outputs**2, n_games, replace=False), n_outputs)
        sides.append(np.column_stack([a * n_outputs + one, b * n_outputs + other]))
    a, b = rng.permuted(np.concatenate(sides), axis=1).T
    gap = quality[a] - quality[b] + NOISE * rng.normal(size=len(a))
    result = np.column_stack([gap > NEAR, abs(gap) <= NEAR, gap < -NEAR]).astype(float)
    outputs = pd.DataFrame({"system": [f"s{one:02d}" for one in system]})
    outputs["output_id"] = outputs["system"] + "_" + pd.Series(item).astype(str)
    outputs["item_id"] = outputs["output_id"] if layout == "pool" else item.astype(str)
    outputs = outputs.assign(text="t", is_human=False)
    table = pd.DataFrame(result, columns=["prob_a", "prob_tie", "prob_b"])
    table = table.assign(comparator="known")
    for name, side in (("output_a", a), ("output_b", b)):
        table[name] = outputs["output_id"].to_numpy()[side]
    return Study(outputs, comparisons=table)


def _skills(n_systems: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean of each system's outputs, in their standard deviations, and item effects."""
    return np.linspace(-1, 1, n_systems), np.cos(2.4 * np.arange(n_systems))


def over_all_outputs(
    layout: str, n_outputs: int, n_games: int, n_systems: int = 12
) -> tuple[np.ndarray, pd.Series]:
    """Return the ratings and win rates that all outputs of these systems would get."""
    a, b = np.triu_indices(n_systems, 1)
    skill, slope = _skills(n_systems)
    gap, variance = skill[a] - skill[b], np.full(len(a), 2 + NOISE**2)
    if layout == "within":
        variance += (slope[a] - slope[b]) ** 2
    win, loss = (ndtr((sign * gap - NEAR) / np.sqrt(variance)) for sign in (1, -1))
    if layout == "across":  # one pair in n_outputs is from the same item
        for share, sign in ((win, 1), (loss, -1)):
            apart = ndtr((sign * gap - NEAR) / np.sqrt(variance + 2))
            share += (1 - 1 / n_outputs) * (apart - share)
    names = pd.Series([f"s{one:02d}" for one in range(n_systems)])
    table = pd.DataFrame({"prob_a": win, "prob_tie": 1 - win - loss, "prob_b": loss})
    table = table.assign(system_a=names[a].to_numpy(), system_b=names[b].to_numpy())
    table["item_id"] = table["system_a"] + table["system_b"]
    ratings = rate(table, outcome="expected").systems["estimate"].to_numpy()
    pairs = pd.MultiIndex.from_frame(table[["system_a", "system_b"]])
    return ratings, pd.Series(win + table["prob_tie"].to_numpy() / 2, index=pairs)


def over_outputs(
    layout: str, n_outputs: int, n_games: int, n_worlds: int, seed: int, n_systems: int = 12
) -> pd.DataFrame:
    """Count how often 95% intervals cover the result of all outputs: one row per method."""
    where = (layout, n_outputs, n_games)
    ratings, rates = over_all_outputs(*where, n_systems)
    worlds: dict[str, list[np.ndarray]] = {}
    for world in range(n_worlds):
        rng = np.random.default_rng([seed, world])
        study = outputs_that_differ(*where, rng, n_systems)
        ways = {"Bradley-Terry, items": (rate, "items")}
        ways["win rates, items"] = win_rates, "items"
        if world % CONTRASTS == 0:
            ways["Bradley-Terry, games"] = rate, "games"
            ways["win rates, games"] = win_rates, "games"
            if layout != "pool":
                ways["Bradley-Terry, outputs"] = rate, "outputs"
                ways["win rates, outputs"] = win_rates, "outputs"
        for way, (function, kind) in ways.items():
            found = function(study if kind == "items" else knowing(study, kind))
            if function is win_rates:
                found = found[found["system"] < found["opponent"]]
                truth = rates[pd.MultiIndex.from_frame(found[["system", "opponent"]])]
                found = found.assign(truth=truth.to_numpy())
            else:
                found = found.assign(truth=ratings)
            worlds.setdefault(way, []).append(_outcome(found))
        if world % CONTRASTS == 0:
            found = rate(study, method="glicko2", tie_ratio=None, seed=rng).systems
            found = found.assign(truth=ratings)
            worlds.setdefault("Glicko-2, games", []).append(_outcome(found))
    rows = []
    for way, found in worlds.items():
        held, marked, half, off = np.moveaxis(np.array(found), 2, 0)
        unmarked = np.where(marked, np.nan, held)
        rows.append(
            {
                "way": way,
                "worlds": len(found),
                "coverage": np.nanmean(unmarked),
                # Systems within a world are dependent; worlds are independent.
                "mc_se": np.nanstd(np.nanmean(unmarked, axis=1)) / np.sqrt(len(found)),
                "marked": marked.mean(),
                "width_of_oracle": np.nanmedian(half.mean(axis=0) / (1.96 * off.std(axis=0))),
            }
        )
    return pd.DataFrame(rows)


def knowing(study: Study, kind: str) -> pd.DataFrame:
    """Lay out comparisons as games with the ids of outputs only, or of games only."""
    table = join_outputs(study, study.comparisons, "comparisons")
    gone = "item_" if kind == "outputs" else "item_|output_"
    return table.loc[:, ~table.columns.str.contains(gone)]


def _outcome(found: pd.DataFrame) -> np.ndarray:
    held = (found["ci_low"] <= found["truth"]) & (found["truth"] <= found["ci_high"])
    half = (found["ci_high"] - found["ci_low"]) / 2
    off = found["estimate"] - found["truth"]
    return np.column_stack([held, found["reason"] != "", half, off]).astype(float)


def stopping(n_worlds: int, pool: int, seed: int) -> None:
    """Count how often each stopping rule ends with the true order."""
    for pairing in ("random", "adaptive"):
        spent, right, converged, concordant = [], [], [], []
        for world in range(n_worlds):
            rng = np.random.default_rng([seed, world])
            table = simulate(pool, 0.5, rng)
            options = {"max_games": 20_000, "tie_ratio": None, "seed": rng}
            one = tournament(table, pairing=pairing, **options)
            ratings = one.ratings.set_index("system")["estimate"][NAMES].to_numpy()
            first, second = np.triu_indices(len(NAMES), 1)
            spent.append(one.n_games)
            right.append(bool((np.diff(ratings) > 0).all()))
            concordant.append(float((ratings[second] > ratings[first]).mean()))
            converged.append(one.converged)
        low, middle, high = np.percentile(spent, [0, 50, 100])
        print(
            f"{pairing:>9}: games {low:,.0f} to {high:,.0f}, median {middle:,.0f}; stopped by its "
            f"rule {np.mean(converged):.2f}; true order {np.mean(right):.2f}; pairs in order "
            f"{np.mean(concordant):.3f}"
        )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", type=int, default=300, help="0: only measure time")
    parser.add_argument("--tournaments", type=int, default=50)
    parser.add_argument("--layouts", type=int, default=500, help="worlds of each layout")
    parser.add_argument("--seed", type=int, default=2020)
    args = parser.parse_args()
    rng = np.random.default_rng(args.seed)
    seconds = timings(rng)
    if not args.worlds:
        return int(seconds > REQUIRED_SECONDS)
    table = coverage(args.worlds, rng)
    by = ["games", "nu", "way", "skill"]
    report = table.groupby(by, sort=False).agg(
        coverage=("held", "mean"), bias=("off", "mean"), sd=("off", "std"), mean_se=("se", "mean")
    )
    print(
        f"\nCoverage of 95% intervals, {args.worlds} worlds of six systems, skill in points from "
        "the mean:\n"
    )
    print(report.unstack("skill").round(3).to_string())
    print(f"\nTournaments of six systems 60 points apart, {args.tournaments} worlds, nu = .5:")
    stopping(args.tournaments, 20_000, args.seed)
    big = glicko2(simulate(100_000, 0.5, rng)).sort_values("estimate")["system"].tolist()
    print(f"\nOrder after 100,000 games is the true one: {big == NAMES}.")
    print(
        "\nOver other outputs of 12 systems: worlds, coverage of 95% intervals without a reason, "
        "its Monte Carlo standard error, share with a reason, and median width as a multiple of "
        "what the true sampling error asks for:"
    )
    kept = True
    for name, layout in LAYOUTS.items():
        start = time.perf_counter()
        found = over_outputs(**layout, n_worlds=args.layouts, seed=args.seed)
        seconds_each = (time.perf_counter() - start) / args.layouts
        print(f"\n{name}, {seconds_each:.2f} s a world")
        print(found.round(4).to_string(index=False), flush=True)
        claimed = found[found["way"].isin(["Bradley-Terry, items", "win rates, items"])]
        slack = 3 * claimed["mc_se"]
        inside = claimed["coverage"].between(LIMITS[0] - slack, LIMITS[1] + slack)
        kept &= bool((inside & (claimed["marked"] <= 0.05)).all())
    print(f"\nItems as clusters within {LIMITS[0]} to {LIMITS[1]}, at most .05 marked: {kept}.")
    required = table[table["way"].isin(["Davidson, by item", "Glicko-2"])]
    least = required.groupby(by)["held"].mean().min()
    print(
        f"Least coverage of Davidson's by item and Glicko-2's: {least:.3f}, required "
        f"{REQUIRED_COVERAGE:.2f}."
    )
    print(f"Seconds for 100,000 games: {seconds:.2f}, required {REQUIRED_SECONDS:.1f}.")
    failed = least < REQUIRED_COVERAGE or seconds > REQUIRED_SECONDS or big != NAMES
    return int(failed or not kept)


if __name__ == "__main__":
    sys.exit(main())
