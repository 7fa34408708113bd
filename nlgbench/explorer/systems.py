"""Systems as people judged them, with intervals and ranks."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from nlgbench.analysis.people import SystemComparison, compare_systems
from nlgbench.explorer.view import (
    Values,
    View,
    axis,
    between,
    choice,
    names_axis,
    segment,
    told,
    written,
)
from nlgbench.plots.figures import Drawing
from nlgbench.plots.style import HUMAN
from nlgbench.plots.systems import measured, plot_systems, with_details
from nlgbench.study import Study


class SystemsView(View):
    """Adjusted means of judgments by system."""

    name = "systems"
    title = "Systems by people"
    hint = "Pick a system to read how it does against each other."
    needs = ("compare_systems",)

    def __init__(self, study: Study) -> None:
        super().__init__(study)
        self.compared = lru_cache(maxsize=32)(self._compared)

    def _compared(self, dimension: str, include_human: bool) -> SystemComparison:
        return compare_systems(self.study, dimension=dimension, include_human=include_human)

    def missing(self) -> str:
        """Count human texts among the systems: with them one system may be compared."""
        judged = self.study.judgments is not None
        if judged and self.study.outputs["system"].nunique() > 1:
            return ""
        return super().missing()

    def controls(self, values: Values) -> list[dict[str, Any]]:
        """Offer the dimensions, and whether people are a system."""
        there = self.study.dimensions
        first = self.study.main_dimension
        controls = [choice("dimension", "Judgments of", there, first if first in there else None)]
        if self.study.outputs["is_human"].any():
            options = {"no": "are left out", "yes": "are a system, too"}
            if len(self.study.systems) < 2:
                del options["no"]
            controls.append(choice("human", "Human texts", options))
        return controls

    def options(self, values: Values) -> dict[str, Any]:
        """Give the keywords of `nlgbench.compare_systems`."""
        return {
            "dimension": values["dimension"],
            "include_human": values.get("human") == "yes",
        }

    def picture(self, values: Values) -> dict[str, Any]:
        """Lay out a line for each system, the best first."""
        table = with_details(self.compared(**self.options(values)))
        lanes = list(range(len(table)))
        ends = table[["estimate", "ci_low", "ci_high"]].to_numpy(dtype=float)
        known = ends[np.isfinite(ends)]
        space = 0.04 * (known.max() - known.min() or 1)
        marks = [
            segment([low, high], [lane, lane], color=HUMAN, width=2)
            for lane, (_, low, high) in zip(lanes, ends, strict=True)
            if np.isfinite([low, high]).all()
        ]
        for sure in (True, False):
            rows = (table["reason"].fillna("") == "").to_numpy() == sure
            marks.append(
                {
                    "type": "points",
                    "x": ends[rows, 0].tolist(),
                    "y": np.flatnonzero(rows).tolist(),
                    "ids": table.loc[rows, "system"].astype(str).tolist(),
                    "names": [
                        f"{one.label}: mean {one.estimate:.2f}, {between(one.ci_low, one.ci_high)}"
                        for one in table[rows].itertuples()
                    ],
                    "shape": "o",
                    "color": HUMAN,
                    "filled": sure,
                }
            )
        ranks = [
            {"y": lane, "text": _ranks(*pair)}
            for lane, pair in zip(
                lanes, table[["rank_low", "rank_high"]].to_numpy(dtype=float), strict=True
            )
        ]
        marks.append({"type": "margin", "texts": ranks})
        return {
            "title": f"Systems by people: {values['dimension']}",
            "alt": self.says(values),
            "x": axis(known.min() - space, known.max() + space, measured(table)),
            "y": names_axis(table["label"].astype(str).tolist()),
            "height": 34 * len(table),
            "right": True,
            "marks": marks,
            "legend": [
                {
                    "label": f"mean, interval: {table['covers'].iloc[0]}",
                    "shape": "o",
                    "color": HUMAN,
                    "filled": True,
                },
                {"label": "doubtful: pick it to read why", "shape": "o", "color": HUMAN},
            ],
        }

    def says(self, values: Values) -> str:
        """Say what stands at the right."""
        table = with_details(self.compared(**self.options(values)))
        told = ", ".join(
            f"{one['label']} {written(one['estimate'])}" for one in table.to_dict("records")
        )
        return f"Best first: {told}. At the right the ranks that each may have, all at once."

    def detail(self, values: Values, picked: str) -> dict[str, Any] | None:
        """List a system's differences from the others."""
        found = self.compared(**self.options(values))
        table = with_details(found)
        own = table[table["system"] == picked]
        if own.empty:
            return None
        one = own.iloc[0]
        pairs = found.pairs[found.pairs["system"] == picked]
        listed = [
            [
                self.study.label(row["opponent"]),
                f"{written(row['difference'])} ({between(row['ci_low'], row['ci_high'])})",
                "< 0.001" if row["p_adjusted"] < 0.001 else written(row["p_adjusted"], 3),
                row["verdict"],
            ]
            for row in pairs.to_dict("records")
        ]
        says = (
            f"Adjusted mean {written(one['estimate'])}, {between(one['ci_low'], one['ci_high'])}; "
            f"{one['n_judgments']} judgments of {one['n_outputs']} outputs."
        )
        columns = ["system", "difference (95% interval)", "p (Holm)", "verdict"]
        title = str(one["label"])
        return told(picked, title, [says, one["reason"]], "Against the others", columns, listed)

    def drawing(self, values: Values) -> Drawing:
        """Draw it as notebook 08 does."""
        return plot_systems(self.compared(**self.options(values)))

    def code(self, values: Values) -> list[str]:
        """Write its two calls."""
        given = ", ".join(f"{name}={value!r}" for name, value in self.options(values).items())
        return [f"found = nb.compare_systems(study, {given})", "drawn = nb.plot_systems(found)"]


def _ranks(low: float, high: float) -> str:
    if not np.isfinite([low, high]).all():
        return ""
    return f"{low:.0f}" if low == high else f"{low:.0f}–{high:.0f}"
