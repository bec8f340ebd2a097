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

import latencies

FORMAT = "trigd histograms"
VERSION = 1
COUNTS = ("underflow", "overflow", "nan")


class Wrong(Exception):
    """A file that is no file of histograms, or two that cannot be added: one sentence."""


def check(h, path):
    counts = h.get("counts")
    if not isinstance(h.get("name"), str) or not isinstance(h.get("key"), str):
        raise Wrong(f"{path}: a histogram has no name or key")
    if not isinstance(counts, list) or len(counts) != h.get("bins") or \
            not all(isinstance(n, int) and n >= 0 for n in counts + [h.get(k) for k in COUNTS]):
        raise Wrong(f"{path}: histogram {h['name']} has not as many counts as bins, or one is no whole number")


def read(path):
    """The contents of a file, checked."""
    try:
        with open(path, encoding="utf-8") as f:
            found = json.load(f)
    except OSError as e:
        raise Wrong(f"{path}: {e.strerror}") from e
    except ValueError as e:
        raise Wrong(f"{path}: not JSON: {e}") from e
    if not isinstance(found, dict) or found.get("format") != FORMAT or found.get("version") != VERSION:
        raise Wrong(f"{path}: this is no file of the format '{FORMAT}', version {VERSION}")
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
        to[k] += h[k]
    to["counts"] = [x + y for x, y in zip(to["counts"], h["counts"])]


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
    return sum(h["counts"]) + sum(h[k] for k in COUNTS)


def edges(h):
    width = (h["max"] - h["min"]) / h["bins"]
    return [h["min"] + i * width for i in range(h["bins"])] + [h["max"]]


def axis_label(h):
    what = h.get("value") or f"{h['collection']}.{h['column']}"
    return f"{h['step']} {what}" + (f" [{h['unit']}]" if h.get("unit") else "")


def to_hist(h):
    """A hist.Hist with flow bins; hist has no place for NaN."""
    import hist
    import numpy as np

    made = hist.Hist(hist.axis.Regular(h["bins"], h["min"], h["max"], name="x", label=axis_label(h)),
                     storage=hist.storage.Int64(), name=h["name"])
    made.view(flow=True)[...] = np.array([h["underflow"]] + h["counts"] + [h["overflow"]])
    return made


def to_root(path, contents):
    """TH1D of each, with flow bins."""
    import numpy as np
    import uproot

    with uproot.recreate(path) as out:
        for h in contents["histograms"]:
            sums = np.array([h["underflow"]] + h["counts"] + [h["overflow"]], dtype=np.float64)
            axis = uproot.writing.identify.to_TAxis("xaxis", axis_label(h), h["bins"], h["min"], h["max"])
            centres = np.array([(a + b) / 2 for a, b in zip(edges(h), edges(h)[1:])])
            inside = sums[1:-1]
            out[h["name"]] = uproot.writing.identify.to_TH1x(
                h["name"], axis_label(h), sums, sums.sum(), inside.sum(), inside.sum(), (inside * centres).sum(),
                (inside * centres**2).sum(), sums, axis)


def show(contents, name):
    for h in contents["histograms"]:
        if name is None:
            print(f"{h['name']:32} {h['bins']:6} bins from {h['min']:g} to {h['max']:g}  {entries(h):12} entries  "
                  f"under {h['underflow']}, over {h['overflow']}, NaN {h['nan']}  {axis_label(h)}")
        elif h["name"] == name:
            most = max(h["counts"] + [1])
            for low, n in zip(edges(h), h["counts"]):
                print(f"{low:12g} {n:10} {'#' * round(60 * n / most)}")
            return
    if name is not None:
        raise Wrong(f"there is no histogram '{name}'; there are {', '.join(h['name'] for h in contents['histograms'])}")


def parser():
    p = argparse.ArgumentParser(prog="trighist", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = p.add_subparsers(required=True, metavar="COMMAND")
    c = commands.add_parser("merge", help="adds the histograms of files: of shards, nodes, runs")
    c.add_argument("--split", action="store_true",
                   help="those of one name that cannot be added stay beside each other as NAME and NAME@KEY")
    c.add_argument("out", metavar="OUT")
    c.add_argument("file", metavar="FILE", nargs="+")
    c.set_defaults(run=lambda o: write(o.out, merge([(f, read(f)) for f in o.file], o.split)))
    c = commands.add_parser("show", help="lists them, or draws one")
    c.add_argument("file", metavar="FILE")
    c.add_argument("name", metavar="NAME", nargs="?")
    c.set_defaults(run=lambda o: show(read(o.file), o.name))
    c = commands.add_parser("root", help="writes them as TH1D; needs uproot")
    c.add_argument("out", metavar="OUT.root")
    c.add_argument("file", metavar="FILE")
    c.set_defaults(run=lambda o: to_root(o.out, read(o.file)))
    c = commands.add_parser("latency", help="quantiles over several nodes, from the counts of each")
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
