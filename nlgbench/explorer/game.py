"""A color game: read a caption, choose the color that is meant, and compare with listeners."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.colors import to_hex

from nlgbench.evaluators.listeners import beliefs
from nlgbench.explorer.view import Values, View, choice, control, jump, table, told, written
from nlgbench.plots.figures import Drawing
from nlgbench.plots.swatches import colors_of, plot_contexts
from nlgbench.study import Study

LISTENERS = {"literal": "literal", "pragmatic": "pragmatic", "context": "context"}


class GameView(View):
    """One caption at a time, over the colors of its context."""

    name = "game"
    title = "Color game"
    hint = (
        "Read the caption and choose the color that it means; then see what listeners made of it."
    )

    def __init__(self, study: Study) -> None:
        super().__init__(study)
        self.believed = lru_cache(maxsize=8)(self._believed)
        #: Caption -> the color that the reader chose.
        self.answers: dict[str, str] = {}

    def supported(self) -> bool:
        """Ask for colors with a target, and for rounds that listeners learn from."""
        contexts = self.study.contexts
        if contexts is None or not self.possible("score: listeners"):
            return False
        colors = {"hue", "saturation", "lightness"} <= set(contexts)
        return colors and "train" in self.study.related

    @cached_property
    def rounds(self) -> list[str]:
        """Name the captions in the order in which they are played, the same each time."""
        outputs = self.study.outputs
        assert self.study.contexts is not None  # see `supported`
        there = outputs["item_id"].isin(self.study.contexts["item_id"]) & (outputs["text"] != "")
        ids = outputs.loc[there, "output_id"].to_numpy()
        return [str(name) for name in np.random.default_rng(0).permutation(ids)]

    def _believed(self, listener: str) -> pd.DataFrame:
        from nlgbench.evaluators.listeners.neural import train_listeners  # needs torch

        return beliefs(self.study, train_listeners(self.study, [listener], seed=0))

    def controls(self, values: Values) -> list[dict[str, Any]]:
        """Offer captions and listeners."""
        return [
            control("slider", "round", "Caption", 1, low=1, high=len(self.rounds)),
            choice("listener", "Listener", LISTENERS),
        ]

    def caption(self, values: Values) -> pd.Series:
        """Look a caption up."""
        outputs = self.study.outputs.set_index("output_id")
        return outputs.loc[self.rounds[values["round"] - 1]]

    def context(self, values: Values) -> pd.DataFrame:
        """Look its colors up."""
        contexts = self.study.contexts
        assert contexts is not None  # see `supported`
        return contexts[contexts["item_id"] == self.caption(values)["item_id"]]

    def parts(self, values: Values) -> dict[str, list[dict[str, Any]]]:
        """Lay out the game, and after the answer what others chose."""
        detail = self.detail(values)
        return {"main": [self.game(values)], "side": [] if detail is None else [detail]}

    def do(self, values: Values, content: Mapping[str, Any]) -> dict[str, Any] | None:
        """Take an answer, or go to the next caption."""
        if content["type"] == "pick" and isinstance(content["id"], str):
            self.answer(values, content["id"])
        if content["type"] == "next":
            return jump(self.name, **{**values, "round": values["round"] + 1})
        return None

    def game(self, values: Values) -> dict[str, Any]:
        """Lay out the caption and its colors; which is meant shows after the answer."""
        context, own = self.context(values), self.answers.get(self.rounds[values["round"] - 1])
        colors = []
        for n, (row, rgb) in enumerate(
            zip(context.to_dict("records"), colors_of(context), strict=True)
        ):
            marks = [] if own is None or not row["is_target"] else ["meant"]
            marks += ["yours"] if own == row["state"] else []
            words = f"hue {row['hue']:.0f}, saturation {row['saturation']:.0f}, lightness "
            colors.append(
                {
                    "id": row["state"],
                    "name": "ABCDEFGHIJKLMNOPQRSTUVWXYZ"[n % 26],
                    "color": to_hex(rgb),
                    "words": f"{words}{row['lightness']:.0f}",
                    "mark": ", ".join(marks),
                }
            )
        return {
            "type": "game",
            "title": f"Caption {values['round']} of {len(self.rounds)}",
            "caption": f"“{self.caption(values)['text']}”",
            "colors": colors,
            "answered": own is not None,
        }

    def says(self, values: Values) -> str:
        """Keep the score."""
        if not self.answers:
            return ""
        target = self.targets
        played = list(self.answers)
        right = sum(self.answers[name] == target.get(name) for name in played)
        found = self.believed(values["listener"])
        found = found[found["output_id"].isin(played)]
        best = found.groupby("output_id")["probability"].transform("max")
        top = found[found["probability"] == best]
        # Where several are equally probable, the listener is right as often as chance is.
        theirs = float(top.groupby("output_id")["is_target"].mean().sum())
        return (
            f"Right so far: you {right} of {len(played)}, the {values['listener']} listener "
            f"{theirs:g} of {found['output_id'].nunique()}."
        )

    @cached_property
    def targets(self) -> dict[str, str]:
        """Say which color each caption means."""
        assert self.study.contexts is not None  # see `supported`
        meant = self.study.contexts[self.study.contexts["is_target"]]
        states = meant.set_index("item_id")["state"]
        items = self.study.outputs.set_index("output_id")["item_id"]
        found = items.map(states).dropna()
        return dict(zip(found.index.astype(str), found.astype(str), strict=True))

    def answer(self, values: Values, state: str) -> None:
        """Take the reader's choice; the first counts."""
        if state in set(self.context(values)["state"]):
            self.answers.setdefault(self.rounds[values["round"] - 1], state)

    def detail(self, values: Values) -> dict[str, Any] | None:
        """Compare the reader with the listener, and with people who were asked."""
        name = self.rounds[values["round"] - 1]
        if name not in self.answers:
            return None
        found = self.believed(values["listener"])
        found = found[found["output_id"] == name].set_index("state")["probability"]
        context = self.context(values)
        rows = []
        for n, state in enumerate(context["state"]):
            marks = ["meant"] if self.targets.get(name) == state else []
            marks += ["yours"] if self.answers[name] == state else []
            color = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"[n % 26]
            rows.append([color, written(found[state]), ", ".join(marks)])
        is_right = self.answers[name] == self.targets.get(name)
        says = [f"You are {'right' if is_right else 'wrong'}. Written by: {self._author(values)}."]
        judged = self.study.judgments
        if judged is not None:
            of_people = judged[
                (judged["output_id"] == name) & (judged["dimension"] == "listener_success")
            ]["value"]
            if len(of_people):
                says.append(f"Of {len(of_people)} people, {of_people.sum():g} chose what is meant.")
        columns = ["color", f"P ({values['listener']} listener)", "who"]
        return told("Your answer", says, table("What was chosen", columns, rows))

    def _author(self, values: Values) -> str:
        return self.study.label(str(self.caption(values)["system"]))

    def drawings(self, values: Values) -> list[Drawing]:
        """Draw it as notebook 04 does."""
        name = self.rounds[values["round"] - 1]
        return [plot_contexts(self.study, self.believed(values["listener"]), outputs=[name])]

    def code(self, values: Values) -> str:
        """Write its calls."""
        name = self.rounds[values["round"] - 1]
        listeners = f"nb.train_listeners(study, [{values['listener']!r}], seed=0)"
        return f"nb.plot_contexts(study, nb.beliefs(study, {listeners}), outputs=[{name!r}])"
