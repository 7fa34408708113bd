"""Win rates and ratings of systems, from all votes or from one comparator."""

from __future__ import annotations

from typing import Any

import pandas as pd

import nlgbench as nb
from nlgbench.explorer import view
from nlgbench.explorer.tables import verdicts
from nlgbench.explorer.view import Values, View, choice
from nlgbench.plots.rows import interval_name, is_doubtful
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
        return [choice("judge", "Decided by", self.once(verdicts)["judge"].unique())]

    def parts(self, values: Values) -> dict[str, list[dict[str, Any]]]:
        """Lay out both figures and the pairs."""
        (rates, _), label = self.counted(values), self.study.label
        rows, opens, by = [], {}, f"won: {values['judge']}"
        for _, one in rates.iterrows():
            pair = a, b = one["system"], one["opponent"]
            opens[pair] = view.jump("outputs", preset="better", a=a, b=b, by=by)
            n = str(one["n_games"])
            rows.append([f"{label(a)} / {label(b)}", view.estimated(one, "win_rate"), n])
        columns = ["pair", f"win rate ({interval_name(rates)})", "n"]
        pairs = view.table("Pairs of systems", columns, rows, list(opens.values()))
        matrix, *ratings = self.drawings(values)
        # In the order of `plot_win_rates`.
        means = rates.groupby("system")["win_rate"].mean().sort_values(ascending=False)
        at = {name: n for n, name in enumerate(means.index)}
        areas = ((view.area(matrix.axes[0], at[a], at[b]), opens[a, b]) for a, b in opens)
        return {"main": [view.image(matrix, areas), *map(view.image, ratings)], "side": [pairs]}

    def says(self, values: Values) -> str:
        """State why ratings are missing, and which win rates are shown."""
        rates, ratings = self.counted(values)
        said = "; ".join(ratings.loc[is_doubtful(ratings), "reason"].unique())
        if (n := rates["system"].nunique()) == len(ratings):
            return said
        return f"Win rates are for the {n} of {len(ratings)} systems with the most votes. {said}"

    def counted(self, values: Values) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Return win rates and ratings."""
        return self.once(_counted, judge=values["judge"])

    def drawings(self, values: Values) -> list[nb.Drawing]:
        """Draw the figures of notebook 08."""
        rates, ratings = self.counted(values)
        drawn = [nb.plot_win_rates(rates)]
        return [*drawn, nb.plot_ratings(ratings)] if ratings["rating"].notna().any() else drawn

    def code(self, values: Values) -> str:
        """Return the call that draws the first figure."""
        rates, ratings = self.counted(values)
        call = f"nb.win_rates(study, {view.keywords(games(self.study, values['judge'])[1])})"
        if len(shown := rates["system"].unique().tolist()) < len(ratings):
            chosen = f"system in {shown} and opponent in {shown}"
            call += f".query({chosen!r})"
        name = values["judge"].removeprefix("judge ")
        drawn = f"nb.plot_win_rates({call})"
        return drawn if name == values["judge"] else f"{drawn}  # comparisons by {name!r} alone"


def _counted(study: Study, judge: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the win rates of the systems with the most votes, and all ratings."""
    own, options = games(study, judge)
    rates, ratings = nb.win_rates(own, **options), nb.rate(own, **options)
    most = rates.groupby("system")["n_games"].sum().nlargest(N_SYSTEMS).index
    return rates[rates["system"].isin(most) & rates["opponent"].isin(most)], ratings


def games(study: Study, judge: str) -> tuple[Study, dict[str, Any]]:
    """Return a study with only a judge's verdicts, and the arguments of `nlgbench.rate`."""
    comparator = judge.removeprefix("judge ")
    if study.comparisons is not None and comparator != judge:
        own = study.comparisons[study.comparisons["comparator"] == comparator]
        return study.replace(comparisons=own), {"of": "comparisons"}
    assert study.preferences is not None  # otherwise, there is no such judge
    dimension = judge.partition(", ")[2] or str(study.preferences["dimension"].iloc[0])
    return study, {"of": "preferences", "dimension": dimension}
