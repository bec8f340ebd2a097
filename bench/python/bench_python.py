#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench_python.py BUILD [--json FILE] [--runs N]: the Python client and a daemon with the plugin `nothing`.

1. From `import trigd` to the first decision, in a new interpreter, the daemon running.
2. Lowlum RoIs a second from flat numpy arrays to decisions, the client held to one core; each run makes its Rois anew, so
   that nothing is packed before the clock starts.  The time is the client's wall clock, and its processor time."""
import argparse
import datetime
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

import numpy
import trigd

ROIS, DISTINCT = 40000, 500
CONFIG = """endpoints: ["ipc://{folder}/in", "shm://{folder}/shm"]
menu: menu.yaml
plugin_path: ["{build}/plugins"]
backend_path: "{build}/backends"
cache_dir: cache
control: {{socket: control}}
http: {{address: ""}}
log: {{level: warn}}
limits: {{soft_ms: 0, hard_ms: 0}}
clients: {{credits: 4096, heartbeat_ms: 60000, shm_mbytes: 128}}
devices: [{{backend: cpu, index: 0, lanes: 1}}]
"""
MENU = """name: bench
streams: [physics]
steps: [{name: step, plugin: nothing}]
chains: [{name: all, id: 1, steps: [{step: step}], streams: [physics]}]
"""
FIRST = """
import time
start, work = time.perf_counter(), time.process_time()
import trigd, sys
with trigd.Client(sys.argv[1]) as client:
    array = trigd.SPACEPOINTS.array(300)
    decision, = client.decide([trigd.Roi(l1id=1, phi_half_rad=4, collections={"spacepoints": array})])
    print(time.perf_counter() - start, time.process_time() - work)
"""


def flat(path):
    """The spacepoints of a file's RoIs as flat columns, repeated to ROIS RoIs."""
    arrays = [roi.collections["spacepoints"] for roi in trigd.RoiFile(path)]
    arrays = [arrays[i % len(arrays)] for i in range(ROIS)]
    items = numpy.concatenate(arrays)
    offsets = numpy.concatenate(([0], numpy.cumsum([len(a) for a in arrays])))
    return {name: numpy.ascontiguousarray(items[name]) for name in items.dtype.names}, offsets


def decide(endpoint, columns, offsets):
    """Wall-clock and processor time of one run."""
    with trigd.Client(endpoint) as client:
        client.decide(trigd.Rois(1, collections={"spacepoints": ({k: v[:offsets[1]] for k, v in columns.items()}, offsets[:2])}))
        wall, cpu = time.perf_counter(), time.process_time()
        rois = trigd.Rois(ROIS, run=1, l1id=numpy.arange(ROIS), phi_half_rad=4, z_min_mm=-225, z_max_mm=225,
                          collections={"spacepoints": (columns, offsets)})
        decisions = client.decide(rois, timeout=60)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        assert len(decisions) == ROIS and all(d.accept for d in decisions)
    return wall, cpu


class Results:
    def __init__(self, path):
        self.path, self.lines = path, []

    def add(self, figure, values, unit, better, goal=None):
        value = statistics.median(values)
        print(f"{figure:72} {value:12.4g} {unit:4} ({min(values):.4g} to {max(values):.4g}" + (f"; goal {goal:g})" if goal else ")"))
        line = {"bench": "python", "figure": figure, "value": round(value, 6), "unit": unit, "better": better, "goal": goal,
                "runs": len(values), "spread": round(max(values) - min(values), 6), "machine": os.environ.get("TRIGD_MACHINE", "epyc-2core"),
                "device": "cpu", "commit": os.environ.get("TRIGD_COMMIT", ""),
                "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"), "command": "bench/python/run"}
        self.lines.append({k: v for k, v in line.items() if v is not None})

    def write(self):
        if self.path:
            with open(self.path, "w", encoding="ascii") as out:
                out.writelines(json.dumps(line) + "\n" for line in self.lines)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("build")
    p.add_argument("--json")
    p.add_argument("--runs", type=int, default=7)
    a = p.parse_args()
    results = Results(a.json)
    with tempfile.TemporaryDirectory(prefix="trigd-py-", dir="/tmp") as folder:
        for name, text in (("trigd.yaml", CONFIG.format(folder=folder, build=a.build)), ("menu.yaml", MENU)):
            with open(f"{folder}/{name}", "w", encoding="ascii") as f:
                f.write(text)
        subprocess.run([f"{a.build}/bin/trigreplay", "generate", "--preset", "lowlum", "--rois", str(DISTINCT), "--seed", "1", "--out",
                        f"{folder}/x.roi"], check=True, stdout=subprocess.DEVNULL)
        daemon = subprocess.Popen([f"{a.build}/bin/trigd", "--config", f"{folder}/trigd.yaml"])
        try:
            measure(a, folder, results)
        finally:
            daemon.terminate()
            daemon.wait()
    results.write()


def measure(a, folder, results):
    ends = {"ipc": f"ipc://{folder}/in", "shm": f"shm://{folder}/shm"}
    with trigd.Client(ends["ipc"]):
        pass  # the daemon is up
    for way, endpoint in ends.items():
        told = [subprocess.run([sys.executable, "-c", FIRST, endpoint], check=True, stdout=subprocess.PIPE, text=True).stdout.split()
                for _ in range(2 * a.runs + 1)]
        results.add(f"import to first decision, {way}", [float(wall) for wall, _ in told], "s", "lower", 0.2)
        results.add(f"import to first decision, {way}: processor time", [float(cpu) for _, cpu in told], "s", "lower")
    columns, offsets = flat(f"{folder}/x.roi")
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    runs = {way: [] for way in ends}
    for _ in range(a.runs):
        for way, endpoint in ends.items():  # interleaved: the load of the machine is the same for both
            runs[way].append(decide(endpoint, columns, offsets))
    for way, goal in (("ipc", 50000), ("shm", 200000)):
        results.add(f"lowlum from numpy arrays, {way}, client on one core: RoIs/s", [ROIS / w for w, _ in runs[way]], "1/s", "higher", goal)
        results.add(f"lowlum from numpy arrays, {way}: processor time of an RoI in the client", [1e6 * c / ROIS for _, c in runs[way]], "us", "lower")


if __name__ == "__main__":
    main()
