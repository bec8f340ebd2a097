#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""adds, shows and converts the histograms of a menu, and adds latencies of nodes

FILE is what trigd writes to histograms_dir, or `trigctl dump histograms` (docs/histograms.md); of the command latency what
`trigctl dump latency` writes (docs/operations.md).  As a module:
read(path), merge(lists), to_hist(histogram), which needs hist."""
import argparse
import json
import os
import sys

import jsonfile
import latencies

FORMAT = "trigd histograms"
VERSION = 1
COUNTS = ("underflow", "overflow", "nan")


class Wrong(Exception):
    """A file that is no file of histograms, or two that cannot be added: one sentence."""


def rows_of(h):
    """The counts as a list of rows: one, or with a second axis one from under y to over y."""
    return h.get("counts") if "y" in h else [h.get("counts")]


def others(h):
    """What is counted beside the rows; with a second axis they hold what is under and over."""
    return [h.get(k) for k in (("nan",) if "y" in h else COUNTS)]


def has_shape(h, rows):
    n_rows, n = (h["y"].get("bins", 0) + 2, h.get("bins", 0) + 2) if "y" in h else (1, h.get("bins"))
    return isinstance(rows, list) and len(rows) == n_rows and all(isinstance(row, list) and len(row) == n for row in rows)


def check(h, path):
    if not isinstance(h.get("name"), str) or not isinstance(h.get("key"), str):
        raise Wrong(f"{path}: a histogram has no name or key")
    rows = rows_of(h)
    if not has_shape(h, rows) or not all(isinstance(n, int) and n >= 0 for row in rows + [others(h)] for n in row):
        raise Wrong(f"{path}: histogram {h['name']} has not as many counts as bins, or one is no whole number")


def read(path):
    """The contents of a file, checked."""
    found = jsonfile.read(path, FORMAT, VERSION, Wrong)
    for h in found["histograms"]:
        check(h, path)
    return found


def definition(h):
    """All but the counts."""
    return {k: v for k, v in h.items() if k not in COUNTS + ("counts", "key")}


def difference(a, b):
    """In what two histograms of one name differ: "bins is 4 in one and 2 in the other"."""
    one, other = definition(a), definition(b)
    said = [f"{k} is {json.dumps(one.get(k))} and {json.dumps(other.get(k))}" for k in {**one, **other}
            if one.get(k) != other.get(k)]
    return ", ".join(said) or f"key is {a['key']} and {b['key']}"


def add(to, h):
    for k in COUNTS:
        if k in h:
            to[k] += h[k]
    rows = [[a + b for a, b in zip(*pair)] for pair in zip(rows_of(to), rows_of(h))]
    to["counts"] = rows if "y" in h else rows[0]


def merge(files, split=False):
    """The sum of what read() returned, a list of (path, contents).  Histograms of one name must be the same in all
    but the counts; with `split` others get a name of their own."""
    runs, by_name = [], {}
    for path, contents in files:
        runs += contents["runs"]
        for h in contents["histograms"]:
            name = h["name"]
            if split and name in by_name and by_name[name][1]["key"] != h["key"]:
                name = f"{name}@{h['key']}"
            if name not in by_name:
                by_name[name] = (path, {**h, "name": name, "counts": list(h["counts"])})
                continue
            first, to = by_name[name]
            if to["key"] != h["key"] or definition(to) != {**definition(h), "name": name}:
                raise Wrong(f"histogram {h['name']} of {first} and of {path} cannot be added: {difference(to, h)}")
            add(to, h)
    return {"format": FORMAT, "version": VERSION, "runs": [min(runs), max(runs)] if runs else [],
            "histograms": [h for _, h in by_name.values()]}


def write(path, contents):
    """A file appears whole; one line a histogram."""
    head = {k: v for k, v in contents.items() if k != "histograms"}
    lines = ",\n".join("  " + json.dumps(h) for h in contents["histograms"])
    with open(path + ".partial", "w", encoding="utf-8") as f:
        f.write(json.dumps(head)[:-1] + ', "histograms": [\n' + lines + "\n]}\n")
    os.replace(path + ".partial", path)


def entries(h):
    return sum(map(sum, rows_of(h))) + sum(others(h))


def edges(h):
    width = (h["max"] - h["min"]) / h["bins"]
    return [h["min"] + i * width for i in range(h["bins"])] + [h["max"]]


def axes_of(h):
    """Its axes, each with what a histogram of one axis has."""
    common = {k: h[k] for k in ("step", "collection") if k in h}
    return [h, {**common, **h["y"]}] if "y" in h else [h]


def axis_label(h):
    what = h.get("value") or f"{h['collection']}.{h['column']}"
    return f"{h['step']} {what}" + (f" [{h['unit']}]" if h.get("unit") else "")


def with_flow(h):
    """The counts as a list of rows of x, each from under to over."""
    return h["counts"] if "y" in h else [[h["underflow"], *h["counts"], h["overflow"]]]


def to_hist(h):
    """A hist.Hist with flow bins; hist has no place for NaN."""
    import hist
    import numpy as np

    axes = [hist.axis.Regular(a["bins"], a["min"], a["max"], name=name, label=axis_label(a))
            for name, a in zip("xy", axes_of(h))]
    made = hist.Hist(*axes, storage=hist.storage.Int64(), name=h["name"])
    made.view(flow=True)[...] = np.array(with_flow(h)).T.reshape([a["bins"] + 2 for a in axes_of(h)])
    return made


def to_th(h):
    """A TH1D or TH2D for uproot, with flow bins; as ROOT does it, the sums are of what is inside."""
    import numpy as np
    from uproot.writing import identify

    rows = np.array(with_flow(h), dtype=np.float64)
    inside = rows[1:-1, 1:-1] if "y" in h else rows[:, 1:-1]
    axes = [identify.to_TAxis(name, axis_label(a), a["bins"], a["min"], a["max"])
            for name, a in zip(("xaxis", "yaxis"), axes_of(h))]
    x, *y = [np.array([(a + b) / 2 for a, b in zip(edges(axis), edges(axis)[1:])]) for axis in axes_of(h)]
    sums = [inside.sum(), inside.sum(), (inside * x).sum(), (inside * x**2).sum()]
    if "y" not in h:
        return identify.to_TH1x(h["name"], axis_label(h), rows[0], rows.sum(), *sums, rows[0], axes[0])
    y = y[0][:, None]
    sums += [(inside * y).sum(), (inside * y**2).sum(), (inside * x * y).sum()]
    flat = rows.flatten()
    return identify.to_TH2x(h["name"], axis_label(h), flat, rows.sum(), *sums, flat, *axes)


def to_root(path, contents):
    """Each as TH1D or TH2D."""
    import uproot

    with uproot.recreate(path) as out:
        for h in contents["histograms"]:
            out[h["name"]] = to_th(h)


def draw(h):
    """A line a bin; of two axes a line for each of y, from the top, with digits up to 9 for the most."""
    most = max(max(row) for row in rows_of(h)) or 1
    if "y" not in h:
        for low, n in zip(edges(h), h["counts"]):
            print(f"{low:12g} {n:10} {'#' * round(60 * n / most)}")
        return
    for low, row in reversed(list(zip(edges(h["y"]), h["counts"][1:-1]))):
        print(f"{low:12g} " + "".join(" " if n == 0 else str(n * 9 // most) for n in row[1:-1]))


def show(contents, name):
    for h in contents["histograms"]:
        if name is None:
            axes = " by ".join(f"{a['bins']:6} bins from {a['min']:g} to {a['max']:g}" for a in axes_of(h))
            flow = "" if "y" in h else f"under {h['underflow']}, over {h['overflow']}, "
            print(f"{h['name']:32} {axes}  {entries(h):12} entries  {flow}NaN {h['nan']}  "
                  f"{' against '.join(axis_label(a) for a in axes_of(h))}")
        elif h["name"] == name:
            draw(h)
            return
    if name is not None:
        raise Wrong(f"there is no histogram '{name}'; there are {', '.join(h['name'] for h in contents['histograms'])}")


def parser():
    p = argparse.ArgumentParser(prog="trighist", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = p.add_subparsers(required=True, metavar="COMMAND")
    c = commands.add_parser("merge", help="adds the histograms of files: of shards, nodes, runs")
    c.add_argument("--split", action="store_true",
                   help="keep histograms of one name that cannot be added, as NAME and NAME@KEY")
    c.add_argument("out", metavar="OUT")
    c.add_argument("file", metavar="FILE", nargs="+")
    c.set_defaults(run=lambda o: write(o.out, merge([(f, read(f)) for f in o.file], o.split)))
    c = commands.add_parser("show", help="lists them, or draws one")
    c.add_argument("file", metavar="FILE")
    c.add_argument("name", metavar="NAME", nargs="?")
    c.set_defaults(run=lambda o: show(read(o.file), o.name))
    c = commands.add_parser("root", help="writes them as TH1D and TH2D; needs uproot")
    c.add_argument("out", metavar="OUT.root")
    c.add_argument("file", metavar="FILE")
    c.set_defaults(run=lambda o: to_root(o.out, read(o.file)))
    c = commands.add_parser("latency", help="quantiles over several nodes, from their counts")
    c.add_argument("--window", choices=latencies.WINDOWS, default="60s", help="seconds before the dump (default 60s)")
    c.add_argument("file", metavar="FILE", nargs="+")
    c.set_defaults(run=lambda o: latencies.show(o.file, o.window, Wrong))
    return p


def main():
    o = parser().parse_args()
    try:
        o.run(o)
    except Wrong as e:
        sys.exit(f"trighist: {e}")
    except ImportError as e:
        sys.exit(f"trighist: Python has no module {e.name}: pip install uproot")


if __name__ == "__main__":
    main()
