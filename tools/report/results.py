# SPDX-License-Identifier: Apache-2.0
"""Results of the benchmarks (docs/results/*.jsonl) and the figures that the documentation quotes of them.

A line of a results file is one figure of one benchmark: bench, figure, value, unit, better, goal,
baseline {name, value}, runs, spread, machine, device, commit, date, command.  Of a figure measured several
times on one machine and device the newest line counts.

docs/figures.toml gives names to the figures that the documentation quotes.  [PART.NAME] holds one of
  figure = [bench, machine, device, figure]    a result, or
  value = X, source = "..."                    a number published elsewhere, with its source, or
  value = X, file = "..."                      a number that stands so in a text file of docs/results
and may hold
  over = "PART.NAME"                           divide by that figure ("baseline": by the result's own)
  baseline = true                              the result's baseline instead of its value
  times = X                                    factor of a change of units
  goal = "...", at_least = X or at_most = X    a row of the table of goals
  headline = "..."                             a row of the headline table of its part
  finds = "PART.NAME"                          what the same setting finds, told in both tables"""
import glob
import json
import os
import re
import tomllib

NEEDED = {"bench": str, "figure": str, "value": (int, float), "unit": str, "better": str,
          "machine": str, "device": str, "commit": str, "date": str, "command": str}
DATE = re.compile(r"\d{4}-\d\d-\d\d(T\d\d:\d\d:\d\dZ)?")
KEY = ("bench", "machine", "device", "figure")
ALLOWED = {"figure", "value", "source", "file", "unit", "over", "baseline", "times", "goal", "at_least",
           "at_most", "headline", "on", "finds"}


class Wrong(Exception):
    """A results file, or docs/figures.toml, is not as it must be: one sentence with the place."""


def check(where, entry):
    for key, kind in NEEDED.items():
        if not isinstance(entry.get(key), kind) or isinstance(entry.get(key), bool):
            raise Wrong(f"{where}: '{key}' is missing or of the wrong type")
    if entry["better"] not in ("higher", "lower"):
        raise Wrong(f"{where}: 'better' is neither 'higher' nor 'lower'")
    if not DATE.fullmatch(entry["date"]):
        raise Wrong(f"{where}: 'date' is '{entry['date']}'; 2026-01-31 and 2026-01-31T09:00:00Z are allowed")
    baseline = entry.get("baseline")
    if baseline is not None and not (isinstance(baseline, dict) and "name" in baseline and "value" in baseline):
        raise Wrong(f"{where}: 'baseline' needs 'name' and 'value'")


def is_newer(date, than):
    """Whether a result counts instead of one from a line above it: within a day, if one of them has no time, it does."""
    compared = len(date) if len(date) == len(than) else len("2026-01-01")
    return date[:compared] >= than[:compared]


def read(folder):
    """The newest line of each figure by (bench, machine, device, figure), in the order of first appearance."""
    newest = {}
    for path in sorted(glob.glob(os.path.join(folder, "*.jsonl"))):
        with open(path, encoding="utf-8") as f:
            for n, line in enumerate(f, 1):
                if not line.strip():
                    continue
                where = f"{os.path.basename(path)}:{n}"
                try:
                    entry = json.loads(line)
                except ValueError as e:
                    raise Wrong(f"{where}: not JSON: {e}") from e
                check(where, entry)
                entry["file"] = os.path.basename(path)
                key = tuple(entry[k] for k in KEY)
                if key not in newest or is_newer(entry["date"], newest[key]["date"]):
                    newest[key] = entry
    return newest


class Figure:
    """One named figure: `value`, `unit`, `on` (device and machine), `entry` (its result, or None) and `spec`."""

    def __init__(self, name, spec, figures):
        self.name, self.spec, self.part = name, spec, name.split(".", maxsplit=1)[0]
        where = f"figures.toml: {name}"
        if not isinstance(spec, dict) or set(spec) - ALLOWED:
            raise Wrong(f"{where}: allowed keys are {', '.join(sorted(ALLOWED))}")
        if "goal" in spec and ("at_least" in spec) == ("at_most" in spec):
            raise Wrong(f"{where}: a goal needs one of 'at_least' and 'at_most'")
        self.entry = self.result(where, figures.results) if "figure" in spec else None
        self.value = self.entry["value"] if self.entry else self.quoted(where, figures.folder)
        self.unit = spec.get("unit", self.entry["unit"] if self.entry else "")
        if spec.get("baseline") or spec.get("over") == "baseline":
            if not self.entry or "baseline" not in self.entry:
                raise Wrong(f"{where}: there is no baseline")
            beside = self.entry["baseline"]["value"]
            self.value = beside if spec.get("baseline") else self.value / beside
        elif "over" in spec:
            self.value /= figures.find(where, spec["over"]).value
        self.value *= spec.get("times", 1)
        if "over" in spec:
            self.unit = "x"
        self.on = spec.get("on", self.place())

    def result(self, where, results):
        key = tuple(self.spec["figure"])
        if key not in results:
            raise Wrong(f"{where}: no result is called {list(key)}")
        return results[key]

    def quoted(self, where, folder):
        if "value" not in self.spec or ("source" in self.spec) == ("file" in self.spec):
            raise Wrong(f"{where}: needs 'figure', or 'value' with one of 'source' and 'file'")
        if "file" in self.spec:
            with open(os.path.join(folder, self.spec["file"]), encoding="utf-8") as f:
                if str(self.spec["value"]) not in f.read():
                    raise Wrong(f"{where}: {self.spec['value']} does not stand in {self.spec['file']}")
        return self.spec["value"]

    def place(self):
        if not self.entry:
            return self.spec.get("source") or self.spec["file"]
        device, machine = self.entry["device"], self.entry["machine"]
        return device if machine == "any" else f"{device}, {machine}"

    def met(self):
        if "at_least" in self.spec:
            return self.value >= self.spec["at_least"]
        return self.value <= self.spec["at_most"]


class Figures:
    """All figures of a figures.toml, in its order; reads the results of `folder`."""

    def __init__(self, folder, names):
        self.folder, self.results, self.known = folder, read(folder), {}
        with open(names, "rb") as f:
            self.specs = {f"{part}.{name}": spec for part, group in tomllib.load(f).items()
                          for name, spec in group.items()}
        self.all = [self.find("figures.toml", name) for name in self.specs]

    def find(self, where, name):
        if name not in self.specs:
            raise Wrong(f"{where}: there is no figure '{name}'")
        if name not in self.known:
            self.known[name] = None
            self.known[name] = Figure(name, self.specs[name], self)
        if self.known[name] is None:
            raise Wrong(f"{where}: '{name}' is divided by itself")
        return self.known[name]


def number(x):
    """Four digits are enough for people; the files keep all."""
    if x is None:
        return ""
    if abs(x) >= 1000:
        return f"{float(f'{x:.4g}'):,.0f}"
    return f"{x:.4g}"
