"""The quality-diversity plane: which systems are good, and which of them are various."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from nlgbench.analysis.huse import huse
from nlgbench.explorer.view import Values, View, axis, between, segment, several, told, written
from nlgbench.plots.figures import Drawing
from nlgbench.plots.style import GROUPS, SCORE_NAMES
from nlgbench.plots.tradeoff import LEVELS, plot_tradeoff


class TradeoffView(View):
    """HUSE-D against HUSE-Q, with systems to pick."""

    name = "tradeoff"
    title = "Quality and diversity"
    hint = "Pick a system to read its scores with their intervals."
    needs = ("huse",)

    @cached_property
    def scores(self) -> pd.DataFrame:
        """Score all systems once; those to be drawn are picked from it."""
        return huse(self.study)

    def controls(self, values: Values) -> list[dict[str, Any]]:
        """Offer the systems."""
        return [several("systems", "Systems", {s: self.study.label(s) for s in self.study.systems})]

    def picture(self, values: Values) -> dict[str, Any]:
        """Lay out a point with two intervals for each system."""
        rows = self.scores[self.scores["system"].isin(values["systems"])]
        wide = rows.pivot(index="system", columns="score").reindex(values["systems"])
        ends = [
            wide[column, score]
            for score in ("huse_q", "huse_d")
            for column in ("estimate", "ci_low", "ci_high")
        ]
        known = np.concatenate([one.to_numpy(dtype=float) for one in ends])
        known = known[np.isfinite(known)]
        low, high = min(0.0, *(known - 0.05)), max(1.05, *(known + 0.05))
        marks = [
            segment(
                [max(low, level + 1 - high), min(high, level + 1 - low)],
                [min(high, level + 1 - low), max(low, level + 1 - high)],
                color="#767676",
                width=1,
                dash="--",
            )
            for level in LEVELS
        ]
        legend: list[dict[str, Any]] = [
            {"label": "equal HUSE (0, 0.2 to 1)", "dash": "--", "color": "#767676"}
        ]
        for system, row in wide.iterrows():
            n = self.study.systems.index(str(system))
            shape, color = GROUPS[n % len(GROUPS)]
            label = self.study.label(str(system))
            q, d = row["estimate", "huse_q"], row["estimate", "huse_d"]
            if not np.isfinite([q, d]).all():
                continue
            for x, y in (
                ((row["ci_low", "huse_q"], row["ci_high", "huse_q"]), (d, d)),
                ((q, q), (row["ci_low", "huse_d"], row["ci_high", "huse_d"])),
            ):
                if np.isfinite([*x, *y]).all():
                    marks.append(segment(x, y, color=color))
            look = {"shape": shape, "color": color, "filled": False}
            named = f"{label}: HUSE-Q {q:.2f}, HUSE-D {d:.2f}"
            place = {"x": [float(q)], "y": [float(d)], "ids": [str(system)], "names": [named]}
            marks.append({"type": "points", "size": 6, "texts": [label]} | look | place)
            legend.append({"label": label} | look)
        return {
            "title": "Quality and diversity",
            "alt": self.says(values),
            "x": axis(low, high, "HUSE-Q (quality)"),
            "y": axis(low, high, "HUSE-D (diversity)"),
            "equal": True,
            "marks": marks,
            "legend": legend,
        }

    def says(self, values: Values) -> str:
        """Say where each system stands, and who has no place."""
        rows = self.scores[self.scores["system"].isin(values["systems"])]
        wide = rows.pivot(index="system", columns="score", values="estimate")
        told = [
            f"{self.study.label(system)} quality {written(wide.loc[system, 'huse_q'])}, diversity "
            f"{written(wide.loc[system, 'huse_d'])}"
            for system in values["systems"]
        ]
        return f"{'; '.join(told)} ({self.study.source}; lines are 95% intervals)."

    def detail(self, values: Values, picked: str) -> dict[str, Any] | None:
        """List a system's scores."""
        rows = self.scores[self.scores["system"] == picked]
        if rows.empty or picked not in values["systems"]:
            return None
        listed = [
            [
                SCORE_NAMES[row["score"]],
                written(row["estimate"]),
                between(row["ci_low"], row["ci_high"]),
            ]
            for row in rows.to_dict("records")
        ]
        columns = ["score", "estimate", "95% interval"]
        return told(picked, self.study.label(picked), rows["reason"], "Scores", columns, listed)

    def drawing(self, values: Values) -> Drawing:
        """Draw it as notebook 01 does."""
        return plot_tradeoff(self.scores[self.scores["system"].isin(values["systems"])])

    def code(self, values: Values) -> list[str]:
        """Write its calls."""
        return [
            "scores = nb.huse(study)",
            f"scores = scores[scores['system'].isin({values['systems']!r})]",
            "drawn = nb.plot_tradeoff(scores)",
        ]
