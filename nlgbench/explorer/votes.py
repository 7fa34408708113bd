"""Who beats whom: win rates and ratings, from all votes or from a comparator."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import pandas as pd

from nlgbench.analysis.ratings.bradley_terry import win_rates
from nlgbench.analysis.ratings.rating import rate
from nlgbench.explorer.tables import verdicts
from nlgbench.explorer.view import Values, View, area, choice, estimated, image, jump, table
from nlgbench.plots.figures import Drawing
from nlgbench.plots.ratings import plot_ratings, plot_win_rates
from nlgbench.study import Study


class VotesView(View):
    """Win rates and Bradley-Terry ratings."""

    name = "votes"
    title = "Votes"
    hint = "Click a cell or a pair to see the pairs of outputs that the first system won."

    def __init__(self, study: Study) -> None:
        super().__init__(study)
        self.counted = lru_cache(maxsize=32)(self._counted)

    def supported(self) -> bool:
        """Ask for votes, or comparisons, between two systems."""
        return self.possible("rate")

    def controls(self, values: Values) -> list[dict[str, Any]]:
        """Offer who judged the pairs."""
        return [choice("judge", "Decided by", verdicts(self.study)["judge"].unique())]

    def _counted(self, judge: str) -> tuple[pd.DataFrame, pd.DataFrame]:
        study, options = self.games(judge)
        return win_rates(study, **options), rate(study, **options)

    def games(self, judge: str) -> tuple[Study, dict[str, Any]]:
        """Choose a judge's games, and the keywords of `nlgbench.rate` for them."""
        votes, compared = self.study.preferences, self.study.comparisons
        comparator = judge.removeprefix("judge ")
        if compared is not None and comparator != judge:
            own = compared[compared["comparator"] == comparator]
            return self.study.replace(comparisons=own), {"of": "comparisons"}
        assert votes is not None  # or there would be no such judge
        dimension = judge.partition(", ")[2] or str(votes["dimension"].iloc[0])
        return self.study, {"of": "preferences", "dimension": dimension}

    def parts(self, values: Values) -> dict[str, list[dict[str, Any]]]:
        """Lay out both figures and the pairs."""
        rates, label = self.counted(values["judge"])[0], self.study.label
        rows, opens = [], {}
        for _, one in rates.iterrows():
            pair = a, b = one["system"], one["opponent"]
            opens[pair] = jump("outputs", preset="better", a=a, b=b, by=f"won: {values['judge']}")
            n = str(one["n_games"])
            rows.append([f"{label(a)} / {label(b)}", estimated(one, "win_rate"), n])
        columns = ["pair", "win rate (95% interval)", "n"]
        pairs = table("Pairs of outputs", columns, rows, list(opens.values()))
        matrix, *ratings = self.drawings(values)
        # As `plot_win_rates` orders them.
        means = rates.groupby("system")["win_rate"].mean().sort_values(ascending=False)
        at = {name: n for n, name in enumerate(means.index)}
        areas = ((area(matrix.axes[0], at[a], at[b]), opens[a, b]) for a, b in opens)
        return {"main": [image(matrix, areas), *map(image, ratings)], "side": [pairs]}

    def says(self, values: Values) -> str:
        """Say why ratings are missing."""
        reasons = self.counted(values["judge"])[1]["reason"]
        return "; ".join(one for one in reasons.unique() if one)

    def drawings(self, values: Values) -> list[Drawing]:
        """Draw what notebook 08 does."""
        rates, ratings = self.counted(values["judge"])
        drawn = [plot_win_rates(rates)]
        return [*drawn, plot_ratings(ratings)] if ratings["rating"].notna().any() else drawn

    def code(self, values: Values) -> str:
        """Write the call of the first figure."""
        given = "".join(f", {name}={one!r}" for name, one in self.games(values["judge"])[1].items())
        drawn = f"nb.plot_win_rates(nb.win_rates(study{given}))"
        name = values["judge"].removeprefix("judge ")
        return drawn if name == values["judge"] else f"{drawn}  # comparisons by {name!r} alone"
