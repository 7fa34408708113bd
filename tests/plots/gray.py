"""Whether a figure can be read in print: texts apart, and marks that differ in gray."""

from itertools import combinations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection, QuadMesh
from matplotlib.colors import to_rgb, to_rgba
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.text import Text

#: Least difference of lightness (CIE L* over 100). Small marks need twice what areas need, for
#: which 0.1 is several times a just noticeable difference (about 0.01 to 0.02 side by side).
MARKS, AREAS = 0.2, 0.1


def luminance(color):
    """Relative luminance (IEC 61966-2-1) of a color on white."""
    alpha = to_rgba(color)[3]
    rgb = 1 - alpha + alpha * np.array(to_rgb(color))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return linear @ (0.2126, 0.7152, 0.0722)


def lightness(color):
    """CIE 1976 L*, over 100."""
    light = luminance(color)
    return 1.16 * np.cbrt(light) - 0.16 if light > 216 / 24389 else light * 24389 / 2700


def contrast(one, other):
    """Contrast ratio of WCAG 2.2: 4.5 is what its 1.4.3 asks of small text."""
    low, high = sorted(luminance(color) + 0.05 for color in (one, other))
    return high / low


def look(handle):
    """Give what of a legend's handle survives gray: its form, and its lightness."""
    if isinstance(handle, Line2D):
        marker = handle.get_marker()
        marked = marker not in ("", "None", "none", " ", None)
        drawn = handle.get_linestyle() not in ("", "None", "none", " ")
        # A broken line is told from a solid one by its dashes, which Line2D keeps unscaled.
        line = str(handle._unscaled_dash_pattern) if drawn else None
        face = lightness(handle.get_markerfacecolor()) if marked else None
        filled = marked and handle.get_markerfacecolor() != "none" and face < 0.95
        color = handle.get_markeredgecolor() if marked else handle.get_color()
        return ("line", marker if marked else None, line, filled), lightness(color), MARKS
    assert isinstance(handle, Patch), f"no rule for a legend's {type(handle).__name__}"
    return ("area", handle.get_hatch()), lightness(handle.get_facecolor()), AREAS


def alike_in_gray(ax):
    """Give the pairs of labels in the legend of some axes that gray leaves alike."""
    legend = ax.get_legend()
    if legend is None:
        return []
    labels = [text.get_text() for text in legend.get_texts()]
    assert len(set(labels)) == len(labels), f"a label stands twice: {labels}"
    looks = [look(handle) for handle in legend.legend_handles]
    return [
        (labels[m], labels[n])
        for (m, (form, light, least)), (n, (other, its, _)) in combinations(enumerate(looks), 2)
        if form == other and abs(light - its) < least
    ]


def shown_texts(figure):
    """The texts of a figure, without those of ticks beyond an axis, which are not drawn."""
    hidden = set()
    for ax in figure.findobj(Axes):
        for axis in (ax.xaxis, ax.yaxis):
            low, high = sorted(axis.get_view_interval())
            room = 1e-9 * (high - low)
            for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks()):
                if not (ax.axison and low - room <= tick.get_loc() <= high + room):
                    hidden |= {tick.label1, tick.label2}
            hidden |= set() if ax.axison else {axis.label}
    texts = (text for text in figure.findobj(Text) if text not in hidden)
    return [text for text in texts if text.get_visible() and text.get_text().strip()]


def hidden_data(figure):
    """List the lines, marks and areas with a part beyond the limits of their axes."""
    hidden = []
    for ax in figure.findobj(Axes):
        drawn = [(line, line.get_xydata(), line.get_transform()) for line in ax.lines]
        for one in ax.collections:
            if isinstance(one, PathCollection):
                drawn.append((one, one.get_offsets(), one.get_offset_transform()))
            elif not isinstance(one, QuadMesh):
                drawn += [(one, path.vertices, one.get_transform()) for path in one.get_paths()]
        for patch in ax.patches:
            path = patch.get_patch_transform().transform_path(patch.get_path())
            drawn.append((patch, path.vertices, patch.get_data_transform()))
        limits = np.sort([ax.get_xlim(), ax.get_ylim()])
        room = 1e-6 * np.ptp(limits, axis=1)
        for artist, points, transform in drawn:
            points = np.asarray(points, dtype=float).reshape(-1, 2)
            ours = np.array(transform.contains_branch_seperately(ax.transData))
            beyond = (points < limits[:, 0] - room) | (points > limits[:, 1] + room)
            if (beyond & ours).any():
                hidden.append((ax.get_title(), type(artist).__name__, points[beyond.any(axis=1)]))
    return hidden


def assert_readable(drawn):
    """No text is small, cut off or over another, no data are hidden, and marks differ in gray."""
    figure = drawn.figure
    figure.draw_without_rendering()
    assert [alike_in_gray(ax) for ax in drawn.axes] == [[]] * len(drawn.axes)
    assert hidden_data(figure) == []
    shown = shown_texts(figure)
    boxes = [Text.get_window_extent(text) for text in shown]  # without the line to a point
    for text, box in zip(shown, boxes, strict=True):
        assert text.get_fontsize() >= 6, text.get_text()
        inside = figure.bbox.padded(0.5)
        assert inside.contains(*box.min) and inside.contains(*box.max), text.get_text()
    # Ink is lower than a line of type: a fifth of the height may be shared, and an empty last line.
    empty = [0.5 * text.get_text().endswith("\n") for text in shown]
    inner = np.array(
        [
            [b.x0 + 1, b.y0 + b.height * max(0.2, lowest), b.x1 - 1, b.y1 - b.height / 5]
            for b, lowest in zip(boxes, empty, strict=True)
        ]
    )
    low = np.maximum(inner[:, None, :2], inner[None, :, :2])
    high = np.minimum(inner[:, None, 2:], inner[None, :, 2:])
    covered = np.triu((high > low).all(axis=2), 1)
    assert [(shown[m].get_text(), shown[n].get_text()) for m, n in np.argwhere(covered)] == []
