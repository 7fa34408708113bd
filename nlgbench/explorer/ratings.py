"""Ratings as games accrue: when may one stop."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from nlgbench.analysis.ratings.rating import Tournament, tournament
from nlgbench.explorer.view import Values, View, axis, choice, segment, slider, told, written
from nlgbench.plots.figures import Drawing
from nlgbench.plots.ratings import plot_convergence
from nlgbench.plots.style import GROUPS
from nlgbench.study import Study

#: A rule that stops late, or never, stops here.
MAX_GAMES = 5_000
#: Places along a line: more than a screen shows.
N_PLACES = 160
_DASHES = ("-", "--", ":", "-.")


class RatingsView(View):
    """Glicko-2 ratings game by game, until the paper's rule stops them."""

    name = "ratings"
    title = "Ratings game by game"
    hint = "Pick the end of a line to read a system's rating."
    needs = ("rate",)

    def __init__(self, study: Study) -> None:
        super().__init__(study)
        self.played = lru_cache(maxsize=32)(self._played)

    def _played(self, judge: str, seed: int) -> Tournament:
        study, options = self.study, {"max_games": MAX_GAMES, "seed": seed}
        if judge == "people":
            return tournament(study, of="preferences", **options)  # type: ignore[arg-type]
        games = study.comparisons
        assert games is not None  # or there would be no such judge
        study = study.replace(comparisons=games[games["comparator"] == judge])
        return tournament(study, of="comparisons", **options)  # type: ignore[arg-type]

    def judges(self) -> list[str]:
        """Name who decided games: people, and comparators."""
        there = [] if self.study.preferences is None else ["people"]
        games = self.study.comparisons
        return there + (
            [] if games is None else [str(name) for name in games["comparator"].unique()]
        )

    def controls(self, values: Values) -> list[dict[str, Any]]:
        """Offer who decides games, their order, and how many are looked at."""
        judges = self.judges()
        judge = values.get("judge")
        judge = judge if judge in judges else judges[0]
        seed = values.get("seed")
        seed = seed if isinstance(seed, int) and 0 <= seed <= 20 else 0
        n_games = self.played(judge, seed).n_games
        return [
            choice("judge", "Games decided by", judges),
            slider("seed", "Order of games (seed)", 0, 0, 20),
            slider("games", "Games", n_games, 1, n_games),
        ]

    def picture(self, values: Values) -> dict[str, Any]:
        """Lay out a line and a band for each system."""
        history = self.history(values)
        last = history.groupby("system").tail(1).set_index("system")["rating"]
        low = (history["rating"] - history["deviation"]).min()
        high = (history["rating"] + history["deviation"]).max()
        bands, lines, ends, legend = [], [], [], []
        for n, system in enumerate(last.sort_values(ascending=False).index):
            rows = history[history["system"] == system]
            rows = rows.iloc[np.unique(np.linspace(0, len(rows) - 1, N_PLACES).astype(int))]
            shape, color = GROUPS[n % len(GROUPS)]
            dash = _DASHES[(n + n // len(GROUPS)) % len(_DASHES)]
            x, y = rows["game"].to_numpy(dtype=float), rows["rating"].to_numpy()
            spread = rows["deviation"].to_numpy()
            bands.append(
                {
                    "type": "band",
                    "x": x.tolist(),
                    "low": (y - spread).tolist(),
                    "high": (y + spread).tolist(),
                    "color": color,
                }
            )
            lines.append(segment(x, y, color=color, dash=dash))
            name = self.study.label(str(system))
            look = {"shape": shape, "color": color, "filled": True}
            place = {"x": [x[-1]], "y": [float(y[-1])], "ids": [str(system)]}
            said = f"{name}: rating {y[-1]:.0f}, deviation {spread[-1]:.0f}"
            ends.append({"type": "points", "names": [said]} | look | place)
            legend.append({"label": name, "dash": dash} | look)
        return {
            "title": f"Ratings after {values['games']:,} games",
            "alt": self.says(values),
            "x": axis(0, values["games"], "Games"),
            "y": axis(low, high, "Rating"),
            "marks": [*bands, *lines, *ends],
            "legend": legend,
        }

    def history(self, values: Values) -> Any:
        """Take the games that are looked at."""
        history = self.played(values["judge"], values["seed"]).history
        return history[history["game"] <= values["games"]]

    def says(self, values: Values) -> str:
        """Say whether the rule stopped the games, and what the bands are."""
        played = self.played(values["judge"], values["seed"])
        stopped = "the rule of 50 games without a change of order stopped them"
        ended = stopped if played.converged else "they were cut off, and the order had not settled"
        return (
            f"{played.n_games:,} games decided by {values['judge']}: {ended}. Bands are one "
            "deviation: over games, not over other texts."
        )

    def detail(self, values: Values, picked: str) -> dict[str, Any] | None:
        """List the ratings of all at this point, with the picked one named."""
        history = self.history(values)
        if picked not in set(history["system"]):
            return None
        last = history.groupby("system").tail(1).sort_values("rating", ascending=False)
        listed = [
            [self.study.label(row.system), written(row.rating, 0), written(row.deviation, 0)]
            for row in last.itertuples()
        ]
        own = history[history["system"] == picked]
        says = [f"{len(own):,} of the games were its own."]
        columns = ["system", "rating", "deviation"]
        title = self.study.label(picked)
        return told(picked, title, says, "Ratings, the best first", columns, listed)

    def drawing(self, values: Values) -> Drawing:
        """Draw it as notebook 06b does."""
        return plot_convergence(self.history(values))

    def code(self, values: Values) -> list[str]:
        """Write its calls."""
        judge = values["judge"]
        lines: list[str] = []
        if judge == "people":
            given = "study, of='preferences'"
        else:
            lines = [f"games = study.comparisons[study.comparisons['comparator'] == {judge!r}]"]
            given = "study.replace(comparisons=games), of='comparisons'"
        return [
            *lines,
            "from nlgbench.analysis.ratings.rating import tournament",
            f"played = tournament({given}, max_games={MAX_GAMES}, seed={values['seed']})",
            f"history = played.history[played.history['game'] <= {values['games']}]",
            "drawn = nb.plot_convergence(history)",
        ]
