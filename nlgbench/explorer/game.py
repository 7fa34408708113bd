"""A color game: read a caption, choose the color that it means, and compare with listeners."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

import nlgbench as nb
from nlgbench.explorer.items import truncate
from nlgbench.explorer.view import Values, View, choice, clean, control, jump, written
from nlgbench.study import Study

LISTENERS = ("literal", "pragmatic", "context")
_FEATURES = ("hue", "saturation", "lightness")


class GameView(View):
    """One caption at a time, with the colors of its context."""

    name = "game"
    title, has_state = "Color game", True
    hint = "Read the caption and choose the color that it means; then see what listeners chose."

    def __init__(self, study: Study, once: Callable[..., Any]) -> None:
        super().__init__(study, once)
        #: Caption -> the reader's choice.
        self.answers: dict[str, str] = {}

    def supported(self) -> bool:
        """Require colors with a target, and rounds that listeners can learn from."""
        contexts = self.study.contexts
        if contexts is None or not self.possible("score: listeners"):
            return False
        colors = set(_FEATURES) <= set(contexts)
        return colors and "train" in self.study.related

    @cached_property
    def rounds(self) -> list[str]:
        """List the captions in the order of play, which is always the same."""
        outputs = self.study.outputs
        assert self.study.contexts is not None  # see `supported`
        captions = outputs[outputs["item_id"].isin(self.study.contexts["item_id"])]
        ids = captions.loc[captions["text"] != "", "output_id"].to_numpy()
        return [str(name) for name in np.random.default_rng(0).permutation(ids)]

    def believed(self, values: Values) -> pd.DataFrame:
        """Return the probabilities that a listener assigns to the colors of each caption."""
        return self.once(_believed, listener=values["listener"])

    def controls(self, values: Values) -> list[dict[str, Any]]:
        """Offer captions and listeners."""
        return [
            control("slider", "round", "Caption", 1, low=1, high=len(self.rounds)),
            choice("listener", "Listener", LISTENERS),
        ]

    def caption(self, values: Values) -> pd.Series:
        """Return the current caption."""
        outputs = self.study.outputs.set_index("output_id")
        return outputs.loc[self.rounds[values["round"] - 1]]

    def context(self, values: Values) -> pd.DataFrame:
        """Return the colors in the context of the current caption."""
        contexts = self.study.contexts
        assert contexts is not None  # see `supported`
        return contexts[contexts["item_id"] == self.caption(values)["item_id"]]

    def parts(self, values: Values) -> dict[str, list[dict[str, Any]]]:
        """Lay out the caption and its colors; the target and P appear after the answer."""
        from matplotlib.colors import to_hex

        from nlgbench.plots.swatches import colors_of

        context, name = self.context(values), self.rounds[values["round"] - 1]
        answer = self.answers.get(name)
        if answer is not None:
            beliefs = self.believed(values)
            chances = beliefs[beliefs["output_id"] == name].set_index("state")["probability"]
        colors = []
        rows = zip(context.to_dict("records"), colors_of(context), strict=True)
        for n, (row, rgb) in enumerate(rows):
            state, marks = row["state"], []
            if answer is not None:
                marks = ["meant"] * bool(row["is_target"]) + ["yours"] * (answer == state)
                marks.append(f"P = {written(chances[state])}")
            features = ", ".join(f"{feature} {row[feature]:.0f}" for feature in _FEATURES)
            color = {"id": state, "name": "ABCDEFGHIJKLMNOPQRSTUVWXYZ"[n % 26], "words": features}
            colors.append({**color, "color": to_hex(rgb), "mark": ", ".join(marks)})
        game: dict[str, Any] = {
            "type": "game",
            "title": f"Caption {values['round']:,} of {len(self.rounds):,}",
        }
        game |= {"caption": f"“{truncate(self.caption(values)['text'])}”", "colors": colors}
        return {"main": [game | {"answered": answer is not None}]}

    def do(self, values: Values, content: Mapping[str, Any]) -> dict[str, Any] | None:
        """Record the first answer to a caption, or go to the next caption."""
        if content["type"] == "pick" and content["id"] in set(self.context(values)["state"]):
            self.answers.setdefault(self.rounds[values["round"] - 1], content["id"])
        if content["type"] == "next":
            return jump(self.name, **{**values, "round": values["round"] + 1})
        return None

    def says(self, values: Values) -> str:
        """Compare the reader's score with the listener's; count the annotators who were correct."""
        if not self.answers:
            return ""
        beliefs = self.believed(values)
        beliefs = beliefs[beliefs["output_id"].isin(list(self.answers))]
        targets = beliefs[beliefs["is_target"]].set_index("output_id")["state"]
        hits = sum(targets[name] == state for name, state in self.answers.items())
        highest = beliefs.groupby("output_id")["probability"].transform("max")
        # If several colors are equally probable, the listener guesses one of them.
        guesses = beliefs[beliefs["probability"] == highest]
        chances = guesses.groupby("output_id")["is_target"].mean()
        sentence = f"Correct so far: you {hits} of {len(self.answers)}, the {values['listener']} "
        sentence += f"listener {chances.sum():g} of {len(chances)}. "
        sentence += "(P is the listener's probability.)"
        caption, judgments = self.caption(values), self.study.judgments
        if caption.name not in self.answers or judgments is None:
            return sentence
        is_caption = judgments["output_id"] == caption.name
        judgments = judgments[is_caption & (judgments["dimension"] == "listener_success")]
        author = clean(self.study.label(caption["system"]))
        right = f"; correct annotators: {judgments['value'].sum():g} of {len(judgments)}"
        return f"{sentence} Source of the caption: {author}{right if len(judgments) else ''}."

    def drawings(self, values: Values) -> list[nb.Drawing]:
        """Draw the figure of notebook 04."""
        name = self.rounds[values["round"] - 1]
        return [nb.plot_contexts(self.study, self.believed(values), outputs=[name])]

    def code(self, values: Values) -> str:
        """Return the calls that draw the figure."""
        name = self.rounds[values["round"] - 1]
        listeners = f"nb.train_listeners(study, [{values['listener']!r}], seed=0)"
        return f"nb.plot_contexts(study, nb.beliefs(study, {listeners}), outputs=[{name!r}])"


def _believed(study: Study, listener: str) -> pd.DataFrame:
    return nb.beliefs(study, nb.train_listeners(study, [listener], seed=0))
