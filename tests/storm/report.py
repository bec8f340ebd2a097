# SPDX-License-Identifier: Apache-2.0
"""report.py - what a storm did and found, as a table for people and as figures for docs/results."""
import collections
import json
import os
import resource
import statistics
import sys
import time

import phases

ROUNDS_LEAST = 3  # for a median: a machine may be busy with something else


class Phase:
    """The sums of all rounds of one phase; a few numbers for each round, so that a storm of hours stays small."""

    def __init__(self):
        self.rounds = self.rois = self.faults = self.failed = self.resent = self.unknown = 0
        self.back_s, self.part = [], []


class Report:
    """The sums of a storm."""

    def __init__(self, options):
        self.options, self.start = options, time.monotonic()
        self.phases = collections.defaultdict(Phase)
        self.findings, self.capacity, self.bad_rois, self.peaks = [], {}, 0, collections.Counter()
        self.kbytes = self.own_kbytes()

    @staticmethod
    def own_kbytes():
        with open("/proc/self/statm", encoding="ascii") as f:
            return int(f.read().split()[1]) * resource.getpagesize() >> 10

    def add(self, name, result, faults, back_s, part, failed):
        p = self.phases[name]
        p.rounds += 1
        p.rois += result["decided"]
        p.resent += result["resent"]
        p.faults += faults
        p.failed += failed
        p.part.append(part)
        if back_s is None:
            p.unknown += 1
        else:
            p.back_s.append(back_s)

    @staticmethod
    def back(p):
        """Median and worst time from the last fault of a phase to the full rate; one later than the tail is the worst."""
        s = sorted(p.back_s) + [float("inf")] * p.unknown
        return [f"{x:.2f}" if x < float("inf") else "later" for x in (s[len(s) // 2], s[-1])]

    def undisturbed(self):
        return statistics.median(self.phases["nothing"].part or [1])

    def slowed(self):
        """Findings: phases that break other clients only, in which the good one had less than 0.9 of its undisturbed rate."""
        parts = {p.__name__: self.phases[p.__name__].part for p in phases.OTHER_CLIENTS if p.__name__ in self.phases}
        return [(name, f"{statistics.median(part) / self.undisturbed():.2f} of the undisturbed rate")
                for name, part in parts.items() if len(part) >= ROUNDS_LEAST and statistics.median(part) < 0.9 * self.undisturbed()]

    def lines(self):
        """The report for people, as Markdown."""
        o, seconds = self.options, time.monotonic() - self.start
        everything = self.phases.values()
        yield f"    {os.path.relpath(sys.argv[0])} {' '.join(sys.argv[1:])}"
        yield ""
        yield f"| {'storm':34} | |"
        yield "| --- | --- |"
        yield f"| seed | {o.seed} |"
        yield f"| machine, commit, date | {machine()}, {os.environ.get('TRIGD_COMMIT', '')}, {now()} |"
        yield f"| time | {seconds:.0f} s |"
        for devices, rate in self.capacity.items():
            yield f"| capacity measured before, {devices} | {rate:.0f} RoI/s |"
        yield f"| load | {o.load * o.low:.3g} to {o.load * o.high:.3g} of it |"
        yield f"| phases | {sum(p.rounds for p in everything)} |"
        yield f"| faults | {sum(p.faults for p in everything)} |"
        yield f"| RoIs of the good client, each with one decision | {sum(p.rois for p in everything)} |"
        yield f"| of them sent again by the client | {sum(p.resent for p in everything)} |"
        yield f"| RoIs of other clients that lived, each with one decision | {self.bad_rois} |"
        yield (f"| most threads, descriptors, MiB of the daemon after a phase | {self.peaks['threads']}, {self.peaks['descriptors']}, "
               f"{self.peaks['kbytes'] >> 10} |")
        yield f"| memory of the storm itself, begin and end | {self.kbytes >> 10} and {self.own_kbytes() >> 10} MiB |"
        yield f"| findings | {len(self.findings)} |"
        yield ""
        yield ("| phase | rounds | faults | RoIs | failed | full rate again, s: median | worst "
               "| rate, of what was asked | of undisturbed |")
        yield "| --- | --: | --: | --: | --: | --: | --: | --: | --: |"
        for name, p in self.phases.items():
            median, worst = self.back(p)
            part = statistics.median(p.part)
            yield (f"| `{name}` | {p.rounds} | {p.faults} | {p.rois} | {p.failed} | {median} | {worst} | {part:.2f} "
                   f"| {part / self.undisturbed():.2f} |")
        for n, (name, error, log) in enumerate(self.findings, 1):
            yield from ["", f"Finding {n}, in `{name}`: {error}", ""]
            yield from ("    " + line.rstrip() for line in log)

    def write(self, path):
        with open(path, "w", encoding="utf-8") as f:
            f.writelines(line.rstrip() + "\n" for line in self.lines())

    def figures(self, path):
        """The same for docs/results; times are the medians over all faults."""
        common = {"machine": machine(), "device": "cpu", "commit": os.environ.get("TRIGD_COMMIT", ""), "date": now(),
                  "command": f"{os.path.relpath(sys.argv[0])} {' '.join(sys.argv[1:])}"}
        with open(path, "w", encoding="utf-8") as f:
            def put(figure, values, unit, better):
                f.write(json.dumps({"bench": "storm", "figure": figure, "value": round(statistics.median(values), 4), "unit": unit,
                                    "better": better, "runs": len(values), "spread": round(max(values) - min(values), 4),
                                    **common}) + "\n")
            for name, p in self.phases.items():
                if not p.unknown:
                    put(f"{name}: full rate again after", p.back_s, "s", "lower")
                if {n.__name__ for n in phases.OTHER_CLIENTS} & {name}:
                    put(f"{name}: rate, of undisturbed", [x / self.undisturbed() for x in p.part], "", "higher")
            put("RoIs of the good client, each decided once", [sum(p.rois for p in self.phases.values())], "", "higher")
            put("faults", [sum(p.faults for p in self.phases.values())], "", "higher")
            put("findings", [len(self.findings)], "", "lower")


def machine():
    return os.environ.get("TRIGD_MACHINE", os.uname().nodename)


def now():
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
