# SPDX-License-Identifier: Apache-2.0
"""What the plots of the docs share: one style (mplhep's, with the project's size of text), SVG files that do not change
without reason, lines of results files, axes zoomed to where the values are, and saving."""
import json
import sys

try:
    import matplotlib
    import mplhep
except ImportError as e:
    sys.exit(f"plots need matplotlib and mplhep ({e}): pip install mplhep")

matplotlib.use("svg")
import matplotlib.pyplot as plt  # noqa: E402

mplhep.style.use(mplhep.style.ATLAS)
plt.rcParams.update({"svg.hashsalt": "trigd", "svg.fonttype": "path", "font.family": "DejaVu Sans", "font.size": 9,
                     "axes.labelsize": 9, "axes.titlesize": 9, "xtick.labelsize": 8, "ytick.labelsize": 8, "legend.fontsize": 8,
                     "legend.frameon": False, "lines.markersize": 4, "lines.linewidth": 1.2, "figure.figsize": (7, 4),
                     "axes.grid": True, "grid.linewidth": 0.3, "grid.color": "#bbbbbb", "axes.formatter.useoffset": False,
                     # M. A. Petroff, arXiv:2107.02270: told apart by all readers
                     "axes.prop_cycle": plt.cycler(color=["#3f90da", "#ffa90e", "#bd1f01", "#94a4a2", "#832db6", "#a96b59"])})


def entries(*paths):
    """The lines of results files (docs/results/*.jsonl)."""
    for path in paths:
        with open(path, encoding="utf-8") as f:
            yield from map(json.loads, f)


def zoom(axis, most=None):
    """The vertical range is that of the drawn values with their errors and a tenth more, up to `most`, which they cannot exceed."""
    values = [y for c in axis.containers for path in c[2][-1].get_segments() for _, y in path] if axis.containers else \
        [y for line in axis.get_lines() for y in line.get_ydata() if y == y]
    low, high = min(values), max(values)
    room = (high - low) / 10 or 0.05 * abs(high) or 1
    axis.set_ylim(low - room, high + room if most is None else most + room / 2)
    if most is not None:
        axis.axhline(most, color="#888888", linewidth=0.6)


def save(figure, path, **layout):
    figure.tight_layout(**layout)
    figure.savefig(path, metadata={"Date": None})
    with open(path, encoding="utf-8") as f:
        text = "".join(line.rstrip() + "\n" for line in f)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


__all__ = ["entries", "plt", "save", "zoom"]
