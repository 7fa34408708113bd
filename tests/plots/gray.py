"""Whether what a legend parts can still be told apart when a figure is printed in gray."""

from itertools import combinations

import numpy as np
from matplotlib.collections import Collection
from matplotlib.colors import to_rgb, to_rgba
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

#: Least difference of lightness (CIE L* over 100). Small marks need twice what areas need, for
#: which 0.1 is several times a just noticeable difference (about 0.01 to 0.02 side by side).
MARKS, AREAS = 0.2, 0.1


def lightness(color):
    """CIE 1976 L*, over 100, from sRGB (IEC 61966-2-1), of a color on white."""
    *rgb, alpha = to_rgba(color)
    rgb = 1 - alpha + alpha * np.array(rgb)
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    light = linear @ (0.2126, 0.7152, 0.0722)
    return 1.16 * np.cbrt(light) - 0.16 if light > 216 / 24389 else light * 24389 / 2700


def contrast(one, other):
    """Contrast ratio of WCAG 2.2: 4.5 is what its 1.4.3 asks of small text."""
    luminances = []
    for color in (one, other):
        rgb = np.array(to_rgb(color))
        linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
        luminances.append(linear @ (0.2126, 0.7152, 0.0722) + 0.05)
    return max(luminances) / min(luminances)


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
    if isinstance(handle, Patch):
        return ("area", handle.get_hatch()), lightness(handle.get_facecolor()), AREAS
    assert isinstance(handle, Collection), f"no rule for a legend's {type(handle).__name__}"
    (path, *_), (face, *_), edges = (
        handle.get_paths(),
        handle.get_facecolor() if len(handle.get_facecolor()) else [(1, 1, 1, 1)],
        handle.get_edgecolor(),
    )
    filled = lightness(face) < 0.95
    form = ("mark", path.vertices.round(6).tobytes(), filled, handle.get_hatch())
    return form, lightness(face if filled or not len(edges) else edges[0]), MARKS


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
