"""Win rates and ratings of systems, from all votes or from one comparator."""

from __future__ import annotations

from typing import Any

import pandas as pd

import nlgbench as nb
from nlgbench.explorer import view
from nlgbench.explorer.tables import list_verdicts
from nlgbench.explorer.view import Values, View, choice
from nlgbench.study import Study

#: The largest number of systems for which the numbers in the matrix are readable.
N_SYSTEMS = 20


class VotesView(View):
    """Win rates and Bradley-Terry ratings."""

    name, analysis = "votes", "rate"
    title = "Votes"
    hint = "Click a cell or a pair to see the outputs with which the first system won."

    def controls(self, values: Values) -> list[dict[str, Any]]:
        """Offer all votes, or one comparator."""
        return [choice("judge", "Decided by", self.once(list_verdicts)["judge"].unique())]

    def parts(self, values: Values) -> dict[str, list[dict[str, Any]]]:
        """Lay out both figures and the pairs."""
        (rates, _), label = self.counted(values), self.study.label
        rows, opens, decided_by = [], {}, f"won: {values['judge']}"
        for _, row in rates.iterrows():
            pair = a, b = row["system"], row["opponent"]
            opens[pair] = view.jump("outputs", preset="better", a=a, b=b, by=decided_by)
            n = str(row["n_games"])
            rows.append([f"{label(a)} / {label(b)}", *view.estimated(row), n])
        columns = ["pair", "win rate", view.interval_name(rates), "n"]
        pairs = view.describe_table("Pairs of systems", columns, rows, list(opens.values()))
        matrix, *ratings = self.drawings(values)
        # As in `plot_win_rates`: the best first, and each pair in the row of its better system.
        means = rates.groupby("system")["estimate"].mean().sort_values(ascending=False)
        positions = {name: n for n, name in enumerate(means.index)}
        areas = (
            (view.area(matrix.axes[0], positions[a] + 0.5, positions[b] - 0.5), sends)
            for (a, b), sends in opens.items()
            if positions[a] < positions[b]
        )
        return {"main": [view.image(matrix, areas), *map(view.image, ratings)], "side": [pairs]}

    def says(self, values: Values) -> str:
        """State why ratings are missing, and which win rates are shown."""
        from nlgbench.plots.rows import is_doubtful

        rates, ratings = self.counted(values)
        reasons = "; ".join(ratings.loc[is_doubtful(ratings), "reason"].unique())
        if (n := rates["system"].nunique()) == len(ratings):
            return reasons
        systems = f"the best and the {n - 1} systems with the most votes, of {len(ratings)} systems"
        return f"Win rates are for {systems}. {reasons}"

    def counted(self, values: Values) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Return win rates and ratings."""
        return self.once(_count_wins, judge=values["judge"])

    def drawings(self, values: Values) -> list[nb.Drawing]:
        """Draw the figures of notebook 08."""
        rates, ratings = self.counted(values)
        drawings = [nb.plot_win_rates(rates)]
        if ratings["estimate"].notna().any():
            drawings.append(nb.plot_ratings(ratings))
        return drawings

    def code(self, values: Values) -> str:
        """Return the call that draws the first figure."""
        rates, ratings = self.counted(values)
        call = f"nb.win_rates(study, {view.keywords(games(self.study, values['judge'])[1])})"
        if len(systems := rates["system"].unique().tolist()) < len(ratings):
            chosen = f"system in {systems} and opponent in {systems}"
            call += f".query({chosen!r})"
        name = values["judge"].removeprefix("judge ")
        code = f"nb.plot_win_rates({call})"
        return code if name == values["judge"] else f"{code}  # comparisons by {name!r} alone"


def _count_wins(study: Study, judge: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the win rates of the best system and of those with the most votes, and all ratings."""
    judge_study, options = games(study, judge)
    rates, ratings = nb.win_rates(judge_study, **options), nb.rate(judge_study, **options).systems
    ranked = [ratings.nlargest(1, "estimate"), ratings.sort_values("n_games", ascending=False)]
    top_systems = pd.concat(ranked)["system"].unique()[:N_SYSTEMS]
    return rates[rates["system"].isin(top_systems) & rates["opponent"].isin(top_systems)], ratings


def games(study: Study, judge: str) -> tuple[Study, dict[str, Any]]:
    """Return a study with only a judge's verdicts, and the arguments of `nlgbench.rate`."""
    comparator = judge.removeprefix("judge ")
    if study.comparisons is not None and comparator != judge:
        comparisons = study.comparisons[study.comparisons["comparator"] == comparator]
        return study.replace(comparisons=comparisons), {"of": "comparisons"}
    assert study.preferences is not None  # otherwise, there is no such judge
    dimension = judge.partition(", ")[2] or str(study.preferences["dimension"].iloc[0])
    return study, {"of": "preferences", "dimension": dimension}
