#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_files.py SOURCE: files of histograms are added, refused, and turned to ROOT and hist where these modules are, which they
must be in continuous integration."""
import copy
import importlib
import json
import math
import os
import random
import subprocess
import sys
import tempfile
import unittest

TOOL = os.path.join(sys.argv.pop(1), "tools", "trighist", "trighist.py")
sys.path.insert(0, os.path.dirname(TOOL))
import latencies
import trighist

H = {"name": "n", "key": "00000000000000aa", "step": "c", "plugin": "p", "value": "v", "unit": "mm", "cuts": [],
     "bins": 3, "min": -1.5, "max": 1.5, "underflow": 1, "overflow": 2, "nan": 3, "counts": [4, 5, 6]}

FLAT = {"name": "xy", "key": "00000000000000ab", "step": "c", "plugin": "p", "collection": "t", "column": "x", "unit": "mm",
        "cuts": [], "bins": 2, "min": 0, "max": 4, "y": {"column": "z", "unit": "mm", "bins": 1, "min": -1, "max": 1},
        "nan": 3, "counts": [[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12]]}


def contents(*histograms, runs=(7, 7)):
    return {"format": "trigd histograms", "version": 1, "runs": list(runs), "histograms": list(histograms)}


class Files(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()

    def tearDown(self):
        self.folder.cleanup()

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def put(self, name, what):
        with open(self.path(name), "w", encoding="utf-8") as f:
            f.write(what if isinstance(what, str) else json.dumps(what))
        return self.path(name)

    def run_tool(self, *words):
        return subprocess.run([sys.executable, TOOL, *words], capture_output=True, text=True, check=False)

    def module(self, name):
        """A module from PyPI."""
        try:
            return importlib.import_module(name)
        except ImportError:
            if os.environ.get("CI"):
                self.fail(f"Python has no {name}, which tools/setup check installs into build/trigconvert")
            self.skipTest(f"Python has no {name}")

    def test_sums(self):
        other = {**copy.deepcopy(H), "name": "m", "key": "00000000000000bb"}
        a = self.put("a", contents(H, runs=(3, 5)))
        b = self.put("b", contents(other, H, runs=(4, 9)))
        c = self.put("c", contents(runs=()))
        done = self.run_tool("merge", self.path("sum"), a, b, c, a)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        found = trighist.read(self.path("sum"))
        self.assertEqual(found["runs"], [3, 9])
        self.assertEqual([h["name"] for h in found["histograms"]], ["n", "m"])
        self.assertEqual(found["histograms"][0], {**H, "underflow": 3, "overflow": 6, "nan": 9, "counts": [12, 15, 18]})
        self.assertEqual(found["histograms"][1], other)
        self.assertEqual(trighist.entries(H), 21)
        again = self.run_tool("merge", self.path("again"), self.path("sum"), b)  # a sum is a file like the others
        self.assertEqual(again.returncode, 0)
        self.assertEqual(trighist.read(self.path("again"))["histograms"][0]["counts"], [16, 20, 24])

    def test_two_axes(self):
        a = self.put("a", contents(FLAT))
        done = self.run_tool("merge", self.path("sum"), a, a)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        found = trighist.read(self.path("sum"))["histograms"][0]
        self.assertEqual(found, {**FLAT, "nan": 6, "counts": [[2, 4, 6, 8], [10, 12, 14, 16], [18, 20, 22, 24]]})
        self.assertEqual(trighist.entries(FLAT), 81)
        self.assertIn("2 bins from 0 to 4 by      1 bins from -1 to 1            81 entries  NaN 3  c t.x [mm] against c t.z",
                      self.run_tool("show", a).stdout)
        self.assertEqual(self.run_tool("show", a, "xy").stdout, "          -1 45\n")
        wrong = self.put("b", contents({**FLAT, "counts": [[1, 2, 3, 4], [5, 6, 7, 8]]}))
        self.refused("has not as many counts as bins", wrong)
        wrong = self.put("b", contents({**FLAT, "counts": [[1, 2, 3], [5, 6, 7], [9, 10, 11]]}))
        self.refused("has not as many counts as bins", wrong)
        other = {**FLAT, "key": "00000000000000ac", "y": {**FLAT["y"], "max": 2}}
        self.refused("cannot be added: y is", a, self.put("b", contents(other)))

    def test_split(self):
        other = {**H, "key": "00000000000000cc", "bins": 2, "counts": [1, 2]}
        done = self.run_tool("merge", "--split", self.path("sum"), self.put("a", contents(H, other)),
                             self.put("b", contents(other)))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        found = trighist.read(self.path("sum"))["histograms"]
        self.assertEqual([h["name"] for h in found], ["n", "n@00000000000000cc"])
        self.assertEqual([h["counts"] for h in found], [[4, 5, 6], [2, 4]])

    def refused(self, sentence, *files):
        done = self.run_tool("merge", self.path("out"), *files)
        self.assertEqual(done.returncode, 1)
        self.assertIn(sentence, done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1)
        self.assertFalse(os.path.exists(self.path("out")))

    def test_refusals(self):
        a = self.put("a", contents(H))
        b = self.put("b", contents({**H, "key": "00000000000000cc", "bins": 2, "counts": [1, 2]}))
        self.refused(f"histogram n of {a} and of {b} cannot be added: bins is 3 and 2", a, b)
        b = self.put("b", contents({**H, "key": "00000000000000cc", "cuts": [{"value": "w", "min": 1}]}))
        self.refused('cuts is [] and [{"value": "w", "min": 1}]', a, b)
        self.refused("key is 00000000000000aa and 00000000000000dd", a, self.put("b", contents({**H, "key": "00000000000000dd"})))
        self.refused("has not as many counts as bins", self.put("b", contents({**H, "counts": [1, 2]})))
        self.refused("no whole number", self.put("b", contents({**H, "counts": [1, 2, -3]})))
        self.refused("no whole number", self.put("b", contents({**H, "nan": None})))
        self.refused("this is no file of the format", self.put("b", {"format": "trigd accounts", "version": 1}))
        self.refused("this is no file of the format", self.put("b", []))
        self.refused("not JSON", self.put("b", '{"format": '))
        self.refused("No such file", self.path("none"))

    def test_show(self):
        a = self.put("a", contents(H))
        self.assertIn("21 entries  under 1, over 2, NaN 3  c v [mm]", self.run_tool("show", a).stdout)
        self.assertIn("         0.5          6 " + 60 * "#", self.run_tool("show", a, "n").stdout)
        self.assertIn("there is no histogram 'x'; there are n", self.run_tool("show", a, "x").stderr)
        self.assertIn("usage: trighist merge", self.run_tool("merge", a).stderr)

    def test_latencies_of_nodes(self):
        """Quantiles over nodes whose durations differ by orders of magnitude, against all durations sorted: right to 1 %."""
        seed = random.randrange(1 << 32)
        draw = random.Random(seed)
        nodes = [[int(1e3 * 10 ** draw.gauss(mean, width)) + 64 for _ in range(n)]
                 for mean, width, n in ((2, 0.3, 4000), (2.5, 0.8, 9000), (4, 0.1, 500))]

        def dump(durations):  # as daemon/monitor/show_rates.c, with the buckets of common/latency.h
            counts = {}
            for ns in durations:
                shift = ns.bit_length() - 7
                low = ns >> shift << shift
                counts[low] = counts.get(low, 0) + 1
            return {"format": "trigd latency", "version": 1, "buckets_a_factor_of_two": 64, "histograms": [
                {"of": "node", "name": "node", "window": "60s", "buckets": sorted(counts.items())},
                {"of": "node", "name": "node", "window": "1s", "buckets": []}]}
        paths = [self.put(f"node{i}", dump(d)) for i, d in enumerate(nodes)]
        whole, fine = latencies.merge(paths, trighist.Wrong)
        every = sorted(sum(nodes, []))
        for q in (0.01, 0.25, *latencies.QUANTILES, 1):
            exact = every[max(math.ceil(q * len(every)), 1) - 1]
            found = latencies.quantile(whole["node", "node", "60s"], fine, q)
            self.assertLess(abs(found - exact), 0.01 * exact, f"quantile {q}, seed {seed}")
        done = self.run_tool("latency", *paths)
        self.assertRegex(done.stdout, r"(?m)^node +node +13500 +[\d.]+ +[\d.]+ +[\d.]+ +[\d.]+$")
        self.assertEqual(len(self.run_tool("latency", "--window", "1s", *paths).stdout.splitlines()), 1)
        coarse = self.put("coarse", {**dump([]), "buckets_a_factor_of_two": 32})
        self.assertIn("cannot be added: 64 and 32 buckets a factor of two", self.run_tool("latency", paths[0], coarse).stderr)
        self.assertIn("no file of the format 'trigd latency'", self.run_tool("latency", self.put("a", contents(H))).stderr)
        self.assertIn("lacks a name or counts", self.run_tool("latency", self.put("b", {**dump([]), "histograms": [{}]})).stderr)

    def test_root(self):
        uproot = self.module("uproot")
        done = self.run_tool("root", self.path("a.root"), self.put("a", contents(H, FLAT)))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        with uproot.open(self.path("a.root")) as f:
            self.assertEqual(list(f["n"].values(flow=True)), [1, 4, 5, 6, 2])
            self.assertEqual(list(f["n"].axis().edges()), [-1.5, -0.5, 0.5, 1.5])
            flat = f["xy"]
            self.assertEqual(flat.classname, "TH2D")
            self.assertEqual(flat.values(flow=True).T.tolist(), FLAT["counts"])
            self.assertEqual(list(flat.axis("y").edges()), [-1, 1])
            self.assertEqual(flat.member("fTsumw"), 13)
            self.assertEqual(flat.member("fTsumwx"), 6 * 1 + 7 * 3)

    def test_hist(self):
        hist = self.module("hist")
        made = trighist.to_hist(H)
        self.assertIsInstance(made, hist.Hist)
        self.assertEqual(list(made.values(flow=True)), [1, 4, 5, 6, 2])
        self.assertEqual(made.axes[0].label, "c v [mm]")
        flat = trighist.to_hist(FLAT)
        self.assertEqual(flat.values(flow=True).T.tolist(), FLAT["counts"])
        self.assertEqual([a.label for a in flat.axes], ["c t.x [mm]", "c t.z [mm]"])


if __name__ == "__main__":
    unittest.main()
