"""Controls for notebooks that are run by hand."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from nlgbench import tables
from nlgbench.analysis.huse.diagnosis import decision_grid
from nlgbench.analysis.huse.scores import huse
from nlgbench.plots.boundary import plot_boundary
from nlgbench.plots.style import ONE_COLUMN, paper_style

if TYPE_CHECKING:
    from ipywidgets import Widget


def boundary_explorer(study: tables.Study, *, n_neighbors: int = 16) -> Widget:
    """Draw HUSE's decision boundary anew for each k and system that the reader chooses.

    Parameters
    ----------
    study : Study
        Outputs, log-probabilities and judgments of one data set.
    n_neighbors : int, default 16
        k to start from.

    Returns
    -------
    ipywidgets.Widget
        A slider for k, a menu of systems, and the figure.

    Raises
    ------
    ValueError
        If the study has no log-probabilities.
    """
    import ipywidgets
    from matplotlib import pyplot as plt

    if study.logprobs is None:
        raise ValueError("the study has no logprobs table, and HUSE needs one.")
    outputs, logprobs, judgments = study.outputs, study.logprobs, study.judgments
    systems = sorted(outputs.loc[~outputs["is_human"], "system"].unique(), reverse=True)
    n_compared = outputs["is_human"].sum() + outputs["system"].value_counts()[systems].min()

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
        result = huse(outputs, logprobs, judgments, system=system.value, n_neighbors=k.value)
        label = f"HUSE = {result.huse:.2f}, Q = {result.huse_q:.2f}, D = {result.huse_d:.2f}"
        with plt.rc_context(paper_style()):
            size = (1.4 * ONE_COLUMN, 1.4 * ONE_COLUMN)
            fig, ax = plt.subplots(figsize=size, layout="constrained")
            plot_boundary(result.features, decision_grid(result), ax=ax, score_label=label)
            drawn = io.BytesIO()
            fig.savefig(drawn, format="png", dpi=220)
            plt.close(fig)
        picture.value = drawn.getvalue()

    k.observe(draw, names="value")
    system.observe(draw, names="value")
    draw()
    return ipywidgets.VBox([ipywidgets.HBox([k, system]), picture])
