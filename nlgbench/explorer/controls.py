"""Controls that draw a figure of a notebook again, for other choices."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from nlgbench.status import Unsupported

if TYPE_CHECKING:
    from nlgbench.plots.figures import Drawing


def show_controls(
    draw: Callable[..., Drawing], choices: Mapping[str, Sequence[Any] | Mapping[str, Any]]
) -> None:
    """Show a slider for each choice of numbers, and a menu for others; a change draws again.

    `draw` gets the chosen values by name, and returns the figure. A mapping names its values by
    labels. Nothing is drawn before the first change, because the notebook shows the figure above.
    """
    from IPython.display import display
    from ipywidgets import Dropdown, HBox, Output, SelectionSlider, VBox

    figure, controls = Output(), {}
    for name, values in choices.items():
        options = list(values.items() if isinstance(values, Mapping) else values)
        is_numeric = all(isinstance(value, int | float) for value in options)
        control = SelectionSlider if is_numeric else Dropdown
        label = {"description": name.replace("_", " "), "style": {"description_width": "initial"}}
        more = {"value": options[-1], "continuous_update": False} if is_numeric else {}
        controls[name] = control(options=options, **label, **more)

    def redraw(_: object) -> None:
        with figure:
            figure.clear_output(wait=True)
            try:
                display(draw(**{name: control.value for name, control in controls.items()}))
            except Unsupported as error:
                print(f"No figure, because {error}")

    for control in controls.values():
        control.observe(redraw, "value")
    display(VBox([HBox(list(controls.values())), figure]))
