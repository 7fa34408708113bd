"""Quality against diversity: which systems write well, and which write diverse texts."""

from __future__ import annotations

from typing import Any

import pandas as pd

import nlgbench as nb
from nlgbench.explorer.view import (
    Values,
    View,
    describe_table,
    estimated,
    image,
    interval_name,
    jump,
    several,
)
from nlgbench.plots.style import SCORE_NAMES


class TradeoffView(View):
    """HUSE-D against HUSE-Q."""

    name, analysis = "tradeoff", "huse"
    title = "Quality and diversity"
    hint = "Click a row of the table to see a system's outputs."

    def controls(self, values: Values) -> list[dict[str, Any]]:
        """Offer the systems."""
        return [several("systems", "Systems", {s: self.study.label(s) for s in self.study.systems})]

    def rows(self, values: Values) -> pd.DataFrame:
        """Select the scores of the chosen systems."""
        if not values["systems"]:
            raise ValueError("No system is selected: select at least one.")
        scores = self.once(nb.huse)
        return scores[scores["system"].isin(values["systems"])]

    def parts(self, values: Values) -> dict[str, list[dict[str, Any]]]:
        """Lay out the figure and the scores."""
        scored = self.rows(values)
        by_system = scored.set_index(["system", "score"])
        rows = []
        for system in values["systems"]:
            scores = ["{} ({})".format(*estimated(by_system.loc[system, s])) for s in SCORE_NAMES]
            rows.append([self.study.label(system), *scores])
        opens = [jump("outputs", systems=[system]) for system in values["systems"]]
        columns = ["system", *SCORE_NAMES.values()]
        side = [
            describe_table(f"Scores ({interval_name(scored)})", columns, rows, opens, kinds=None)
        ]
        return {"main": [image(self.drawings(values)[0])], "side": side}

    def drawings(self, values: Values) -> list[nb.Drawing]:
        """Draw the figure of notebook 01."""
        return [nb.plot_tradeoff(self.rows(values))]

    def code(self, values: Values) -> str:
        """Return the call that draws the figure."""
        chosen = f"system in {values['systems']}"
        return f"nb.plot_tradeoff(nb.huse(study).query({chosen!r}))"
