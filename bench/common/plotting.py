# SPDX-License-Identifier: Apache-2.0
"""What the plots of the measurements share: matplotlib set up for SVG files that do not change without reason, lines of
results files, and saving."""
import json

import matplotlib

matplotlib.use("svg")
matplotlib.rcParams["svg.hashsalt"] = "trigd"
import matplotlib.pyplot as plt  # noqa: E402


def entries(*paths):
    """The lines of results files (docs/results/*.jsonl)."""
    for path in paths:
        with open(path, encoding="utf-8") as f:
            yield from map(json.loads, f)


def save(figure, path, **layout):
    figure.tight_layout(**layout)
    figure.savefig(path, metadata={"Date": None})
    with open(path, encoding="utf-8") as f:
        text = "".join(line.rstrip() + "\n" for line in f)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


__all__ = ["entries", "plt", "save"]
