"""Systems by human judgments or scores, with intervals and ranks."""

from __future__ import annotations

from typing import Any

import nlgbench as nb
from nlgbench.explorer import view
from nlgbench.explorer.stored import name_run
from nlgbench.explorer.tables import SCORE
from nlgbench.explorer.view import Values, View, choice
from nlgbench.study import Study


class SystemsView(View):
    """Adjusted means of judgments, or mean scores, by system."""

    name = "systems"
    title = "Systems"
    hint = "Click a system to see its outputs, or a pair to see where the first system is better."

    def supported(self) -> bool:
        """Require judgments or scores, and two systems; human texts count as one."""
        has_values = self.study.judgments is not None or self.study.scores is not None
        return has_values and self.study.outputs["system"].nunique() > 1

    def controls(self, values: Values) -> list[dict[str, Any]]:
        """Offer the dimensions, and whether human texts count as a system."""
        study = self.study
        measures = [*study.dimensions, *self.once(_list_scored)]
        controls = [choice("dimension", "By", measures, study.main_dimension)]
        if study.outputs["is_human"].any():
            options = {"no": "leave out", "yes": "count as a system"}
            if len(study.systems) < 2:
                del options["no"]
            controls.append(choice("human", "Human texts", options))
        return controls

    def options(self, values: Values) -> dict[str, Any]:
        """Return the arguments of `nlgbench.compare_systems`."""
        human = values.get("human") == "yes"
        measure = str(values["dimension"])
        if measure.startswith(SCORE):
            return {"evaluator": measure.removeprefix(SCORE), "include_human": human}
        return {"dimension": measure, "include_human": human}

    def parts(self, values: Values) -> dict[str, list[dict[str, Any]]]:
        """Lay out the figure, the systems and the pairs."""
        comparison, label = self.once(nb.compare_systems, **self.options(values)), self.study.label
        dimension = values["dimension"]
        names = comparison.systems["system"].tolist()
        opens = [view.jump("outputs", preset="worst", system=name, by=dimension) for name in names]
        systems = comparison.systems.iterrows()
        rows = [[label(row["system"]), *view.estimated(row)] for _, row in systems]
        interval = view.interval_name(comparison.details)
        ranked = view.describe_table("Systems", ["system", "mean", interval], rows, opens)
        ranks = comparison.pairs[["system", "opponent"]].map(names.index)
        better = ranks["system"] < ranks["opponent"]
        rows, pairs = [], []
        for _, pair in comparison.pairs[better].iterrows():
            a, b, p = pair["system"], pair["opponent"], pair["p_adjusted"]
            pairs.append(view.jump("outputs", preset="better", a=a, b=b, by=dimension))
            p_text = "< 0.001" if p < 0.001 else view.written(p, 3)
            rows.append([f"{label(a)} / {label(b)}", *view.estimated(pair), p_text])
        columns = ["pair", "difference", interval, "p (Holm)"]
        drawing = self.drawings(values)[0]
        areas = ((view.area(drawing.axes[0], n), sends) for n, sends in enumerate(opens))
        side = [ranked, view.describe_table("Pairs of systems", columns, rows, pairs)]
        return {"main": [view.image(drawing, areas)], "side": side}

    def drawings(self, values: Values) -> list[nb.Drawing]:
        """Draw the figure of notebook 08."""
        return [nb.plot_systems(self.once(nb.compare_systems, **self.options(values)))]

    def says(self, values: Values) -> str:
        """Name the run that computed the results."""
        return name_run(self.once(nb.compare_systems, **self.options(values)).systems)

    def code(self, values: Values) -> str:
        """Return the call that draws the figure."""
        return f"nb.plot_systems(nb.compare_systems(study, {view.keywords(self.options(values))}))"


def _list_scored(study: Study) -> list[str]:
    """List the evaluators that scored outputs."""
    if study.scores is None:
        return []
    return [f"{SCORE}{name}" for name in study.scores.dropna(subset="score")["evaluator"].unique()]
