"""Controls for notebooks that are run by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nlgbench.analysis.huse import boundary
from nlgbench.plots.boundary import plot_boundary
from nlgbench.plots.figures import canvas
from nlgbench.plots.style import ONE_COLUMN
from nlgbench.study import Study

if TYPE_CHECKING:
    from ipywidgets import Widget


def boundary_explorer(study: Study, *, n_neighbors: int = 16) -> Widget:
    """Draw HUSE's decision boundary anew for each k and system that the reader chooses."""
    import ipywidgets

    systems = sorted(study.systems, reverse=True)
    counts = study.outputs["system"].value_counts()
    n_compared = study.outputs["is_human"].sum() + counts[systems].min()

    k = ipywidgets.IntSlider(
        value=n_neighbors,
        min=1,
        max=min(max(100, n_neighbors), int(n_compared) - 1),
        description="k",
        continuous_update=False,
    )
    system = ipywidgets.Dropdown(options=systems, description="system")
    # An image, not an Output: what an Output captures can be lost by headless clients, which
    # then wait for it.
    picture = ipywidgets.Image(format="png", width=round(1.4 * ONE_COLUMN * 110))

    def draw(*_: object) -> None:
        found = boundary(study, system=system.value, n_neighbors=k.value)
        axes = canvas(1.4 * ONE_COLUMN, 1.4 * ONE_COLUMN)[1]
        drawn = plot_boundary(found, ax=axes)
        huse, quality, diversity = found.scores.values()
        label = f"HUSE = {huse:.2f}, Q = {quality:.2f}, D = {diversity:.2f}"
        axes[0].set_title(label, loc="left", pad=3)
        picture.value = drawn.image("png")

    k.observe(draw, names="value")
    system.observe(draw, names="value")
    draw()
    return ipywidgets.VBox([ipywidgets.HBox([k, system]), picture])
