"""Controls that draw a figure of a notebook again, and those of the explorer's views."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from nlgbench.status import Unsupported

if TYPE_CHECKING:
    from ipywidgets import Widget

    from nlgbench.plots.figures import Drawing


_LABEL: dict[str, Any] = {"style": {"description_width": "initial"}}


def make_control(
    spec: Mapping[str, Any], tell: Callable[[str, Any], None]
) -> tuple[Widget, Callable[[Any], None]]:
    """Make a control that a view describes; return it, and a function that sets its value."""
    import ipywidgets

    kind, name = spec["kind"], spec["label"]
    label = {"description": name, "layout": {"width": "280px" if kind == "slider" else "auto"}}
    label |= _LABEL
    options = [(text, option) for option, text in spec.get("options", [])]
    if kind == "slider":
        limits = {"min": spec["low"], "max": spec["high"], "continuous_update": False}
        control = ipywidgets.IntSlider(**limits, **label)
    elif kind == "choice":
        control = ipywidgets.Dropdown(options=options, **label)
    elif kind == "several":
        control = ipywidgets.SelectMultiple(options=options, rows=min(10, len(options)), **label)
        control.layout.display = "none"
        button = ipywidgets.ToggleButton(icon="caret-down", layout={"width": "auto"})
        button.observe(lambda _: _show_if(control, button.value), "value")
    else:
        control = ipywidgets.Text(**label)
    readers: dict[str, Callable[[Any], Any]] = {"several": list, "number": _as_number}
    read = readers.get(kind, lambda value: value)
    box = ipywidgets.VBox([button, control]) if kind == "several" else control

    def observe(change: Any) -> None:
        tell(spec["name"], read(change["new"]))

    def update(value: Any) -> None:
        text = _six_digits(value) if kind == "number" else value
        is_typed = kind == "number" and _six_digits(read(control.value)) == text
        if read(control.value) != value and not is_typed:  # what the reader is typing stays
            control.unobserve(observe, "value")  # a number in a text field has six digits
            control.value = text
            control.observe(observe, "value")
        if kind == "several":
            button.description = f"{name}: {len(value)} of {len(options)}"

    control.observe(observe, "value")
    update(spec["value"])
    return box, update


def _show_if(control: Widget, is_open: bool) -> None:
    control.layout.display = "" if is_open else "none"


def _six_digits(number: float | None) -> str:
    return "" if number is None else f"{number:g}"


def _as_number(text: str) -> float | None:
    """Read a number; other texts are None."""
    try:
        return float(text)
    except ValueError:
        return None


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
        more = {"value": options[-1], "continuous_update": False} if is_numeric else {}
        label = name.replace("_", " ")
        controls[name] = control(options=options, description=label, **_LABEL, **more)

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
