# SPDX-License-Identifier: Apache-2.0
"""load - offers RoIs to a daemon at one rate after another, and reports each rate once its windows agree.

A rate is open loop: RoIs are due at times that do not depend on answers, and latency counts from then.  Windows of equal
length follow each other until rate and latency of the last `stable` ones lie within the tolerance of their mean, or
`most` windows are over; then the rate is reported as unstable.  A rate is missed when less than 95 % of it was decided."""
from __future__ import annotations

import argparse
import json
import time
from dataclasses import asdict, dataclass, field
from typing import Dict, Iterator, List, Optional, Sequence, Tuple

import numpy

from . import trigd_pb2 as pb
from .client import Client
from .collections import Array
from .roifile import RoiFile
from .rois import Rois

QUANTILES = (0.5, 0.9, 0.99, 0.999)
SLICE = 64  # RoIs that are sent at a time at most
MET = 0.95


@dataclass
class Window:
    seconds: float
    decided: int
    accepted: int
    refused: int
    latency_us: Dict[str, float]  # quantiles by name: p50
    behind_s: float  # how long after its time the last RoI was sent

    @property
    def rate(self) -> float:
        return self.decided / self.seconds


@dataclass
class Report:
    """Of one rate; means over the stable windows, or the last ones."""
    wanted: Optional[float]  # None: as fast as credits allow
    rate: float
    accepted: float  # part
    refused: int
    latency_us: Dict[str, float]
    is_stable: bool
    is_met: bool
    windows: List[Window] = field(default_factory=list)


def is_steady(values: Sequence[float], tolerance: float) -> bool:
    mean = sum(values) / len(values)
    return all(abs(v - mean) <= tolerance * mean for v in values)


def are_steady(windows: Sequence[Window], stable: int, tolerance: float) -> bool:
    """Whether rate and median latency of the last windows agree; the latency to 0.1 ms at least, which a wake-up costs."""
    last = windows[-stable:]
    if len(last) < stable:
        return False
    medians = [w.latency_us["p50"] for w in last]
    return is_steady([w.rate for w in last], tolerance) and \
        (is_steady(medians, tolerance) or max(medians) - min(medians) <= 100)


class Load:
    """Runs windows over one client.  `pace` is poisson or even."""

    def __init__(self, client: Client, rois: Rois, pace: str = "poisson", seed: Optional[int] = None):
        if pace not in ("poisson", "even"):
            raise ValueError(f"pace is {pace}; poisson and even are allowed")
        if not len(rois):
            raise ValueError("there are no RoIs to send")
        if rois.numbers.get("event_rois", numpy.int64(0)).max() > 1:
            raise ValueError("RoIs of events of several RoIs cannot be sent again and again; trigreplay gives them new numbers")
        self.client, self.rois, self.pace = client, rois, pace
        self.random = numpy.random.default_rng(seed)
        self.singles = Slices(rois)
        self.due: Dict[int, float] = {}  # by token: when it was to be sent
        self.latency: List[float] = []
        self.accepted = self.refused = 0

    def times(self, rate: float, n: int) -> Array:
        """When n RoIs are due, in seconds from the first window's start."""
        gaps = self.random.exponential(1 / rate, n) if self.pace == "poisson" else numpy.full(n, 1 / rate)
        return numpy.cumsum(gaps)

    def take(self, timeout: float) -> None:
        outcomes = self.client.receive(timeout)
        now = time.perf_counter()
        for o in outcomes:
            at = self.due.pop(o.token, None)
            if at is None:
                continue
            if isinstance(o, pb.Decision):
                self.latency.append(now - at)
                self.accepted += o.accept
            else:
                self.refused += 1

    def window(self, seconds: float, due: Optional[Iterator[float]], next_due: float) -> Tuple[Window, float]:
        """Offers RoIs for so long: without `due` as many as credits allow."""
        self.latency, self.accepted, self.refused = [], 0, 0
        start = time.perf_counter()
        end = start + seconds
        behind = 0.0
        while (now := time.perf_counter()) < end:
            room = min(self.client.room, SLICE)
            times: List[float] = []
            if due is None:
                times = [now] * room
            else:
                while len(times) < room and next_due <= now:
                    times.append(next_due)
                    next_due = next(due)
            if times:
                behind = now - times[0]
                self.send(times)
            wait = (end if due is None or self.client.room == 0 else min(next_due, end)) - time.perf_counter()
            self.take(0 if times and due is None else max(min(wait, 0.05), 0))
        took = time.perf_counter() - start
        q = [0.0] * len(QUANTILES)
        if self.latency:
            q = [float(v) * 1e6 for v in numpy.quantile(numpy.array(self.latency), QUANTILES)]
        names = [f"p{100 * p:g}".replace(".", "") for p in QUANTILES]
        return Window(took, len(self.latency), self.accepted, self.refused, dict(zip(names, q)), behind), next_due

    def send(self, times: List[float]) -> None:
        while times:
            part = self.singles.take(len(times))
            tokens = self.client.send(part)
            self.due.update(zip(tokens, times))
            times = times[len(tokens):]

    def run(self, rate: Optional[float], seconds: float = 1.0, stable: int = 3, most: int = 10, tolerance: float = 0.1) -> Report:
        """One rate (None: as fast as credits allow), after a window that does not count."""
        due = None
        next_due = time.perf_counter()
        if rate:
            due = self.arrivals(rate, next_due)
            next_due = next(due)
        windows: List[Window] = []
        _, next_due = self.window(min(seconds, 0.5), due, next_due)
        while len(windows) < most and not are_steady(windows, stable, tolerance):
            w, next_due = self.window(seconds, due, next_due)
            windows.append(w)
        while self.client.unanswered:  # the next rate begins with an idle daemon
            self.take(1.0)
        return summary(rate, windows, stable, tolerance)

    def arrivals(self, rate: float, start: float) -> Iterator[float]:
        while True:
            times = start + self.times(rate, 4096)
            yield from times.tolist()
            start = float(times[-1])


class Slices:
    """Views of consecutive RoIs, made once and used again: what the clock should not count."""

    def __init__(self, rois: Rois):
        self.rois, self.next = rois, 0
        self.made: Dict[Tuple[int, int], Rois] = {}

    def take(self, n: int) -> Rois:
        """The next RoIs, at most n: 1, 2, 4 ... of them, so that few different slices are made."""
        n = min(n, len(self.rois) - self.next)
        n = 1 << (n.bit_length() - 1)
        while self.next % n:
            n //= 2
        key = (self.next, n)
        part = self.made.get(key)
        if part is None:
            part = self.made[key] = self.rois.slice(self.next, self.next + n)
        self.next = (self.next + n) % len(self.rois)
        return part


def summary(rate: Optional[float], windows: List[Window], stable: int, tolerance: float) -> Report:
    last = windows[-stable:]
    seconds, decided = sum(w.seconds for w in last), sum(w.decided for w in last)
    return Report(wanted=rate, rate=decided / seconds, accepted=sum(w.accepted for w in last) / max(decided, 1),
                  refused=sum(w.refused for w in windows),
                  latency_us={q: sum(w.latency_us[q] for w in last) / len(last) for q in last[0].latency_us},
                  is_stable=are_steady(windows, stable, tolerance), is_met=not rate or decided / seconds >= MET * rate,
                  windows=windows)


def print_report(reports: Sequence[Report]) -> None:
    print(f"{'wanted/s':>10} {'decided/s':>10} {'accepted':>9} {'p50 us':>9} {'p90 us':>9} {'p99 us':>9} {'p99.9 us':>9}  ")
    for r in reports:
        q = list(r.latency_us.values())
        print(f"{'most' if r.wanted is None else f'{r.wanted:.0f}':>10} {r.rate:10.0f} {100 * r.accepted:7.1f} % " +
              " ".join(f"{v:9.0f}" for v in q) + ("" if r.is_met else "  not met") + ("" if r.is_stable else "  not stable"))


def main(arguments: Sequence[str]) -> int:
    p = argparse.ArgumentParser(prog="python3 -m trigd load", description="Offers RoIs of a file at given rates, and reports "
                                "each rate once rate and latency of its last windows agree.")
    p.add_argument("endpoint", help="tcp://HOST:PORT, ipc://PATH or shm://PATH of the daemon")
    p.add_argument("file", help="RoI file (trigreplay generate makes one)")
    p.add_argument("--rate", type=float, action="append", metavar="HZ", help="RoIs a second, open loop; may be given "
                   "several times (default: as fast as credits allow)")
    p.add_argument("--pace", choices=("poisson", "even"), default="poisson", help="arrivals (default poisson)")
    p.add_argument("--window", type=float, default=1.0, metavar="S", help="length of a window (default 1)")
    p.add_argument("--stable", type=int, default=3, metavar="N", help="windows that have to agree (default 3)")
    p.add_argument("--windows", type=int, default=10, metavar="N", help="windows at most (default 10)")
    p.add_argument("--tolerance", type=float, default=0.1, help="of rate and median latency (default 0.1)")
    p.add_argument("--rois", type=int, default=1000, metavar="N", help="different RoIs at most (default 1000)")
    p.add_argument("--credits", type=int, default=0, help="to request (default: those granted by the daemon)")
    p.add_argument("--json", metavar="FILE", help="write the reports, with every window")
    a = p.parse_args(arguments)
    if min(a.window, a.stable, a.windows, a.tolerance, a.rois, *(a.rate or [1])) <= 0:
        p.error("rates, windows, tolerance and numbers of RoIs are above 0")
    file = RoiFile(a.file)
    some = [roi for roi, _ in zip(file, range(a.rois))]
    declarations = list(file.collections.values())
    with Client(a.endpoint, "load", credits=a.credits, collections=declarations) as client:
        load = Load(client, Rois.of(some, declarations), a.pace)
        reports = [load.run(rate, a.window, a.stable, a.windows, a.tolerance) for rate in a.rate or [None]]
    print_report(reports)
    if a.json:
        with open(a.json, "w", encoding="ascii") as out:
            json.dump([asdict(r) for r in reports], out, indent=1)
    return 0 if all(r.is_met and r.is_stable and not r.refused for r in reports) else 1
