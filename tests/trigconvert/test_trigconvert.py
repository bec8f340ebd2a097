#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_trigconvert.py SOURCE BUILD: RoI files and streams to Parquet and ROOT and back; HepMC3 and EDM4hep in."""
import csv
import os
import signal
import subprocess
import sys
import tempfile
import unittest

import awkward
import numpy
import pyarrow.parquet
import pyhepmc
import trigd
import uproot
from trigd import trigd_pb2 as pb

BUILD, SOURCE = sys.argv.pop(), sys.argv.pop()
sys.path.insert(0, os.path.join(SOURCE, "tools", "trigconvert"))
import tables

TOWERS = os.path.join(SOURCE, "examples", "jets", "towers.yaml")
SAMPLES = os.path.join(SOURCE, "tests", "collections", "samples.yaml")
# of events of three RoIs, of which the last has no hits
MENU = """name: convert
streams: [physics, express]
keep: [{stream: physics, products: [pairs]}]
steps:
  - {name: z, plugin: zfinder, params: {preset: pure}}
  - {name: pairs, plugin: doublets}
  - {name: other, plugin: zfinder, params: {preset: dense}}
chains:
  - {name: HLT_z, id: 1, multiplicity: 2, steps: [{step: z, cuts: [{value: n_vertices, min: 1}]}], streams: [physics]}
  - {name: HLT_hits, id: 2, steps: [{step: pairs}], streams: [physics]}
  - {name: HLT_some, id: 3, prescale: 3, steps: [{step: other}], streams: [express]}
"""
CONFIG = """endpoints: ["ipc://{folder}/in"]
menu: menu.yaml
plugin_path: ["{build}/plugins"]
backend_path: "{build}/backends"
cache_dir: cache
state_dir: state
devices: [{{backend: cpu, lanes: 1}}]
streams: [{{stream: physics, folder: streams}}, {{stream: express, folder: streams}}]
control: {{socket: control}}
log: {{level: warn}}
"""


class Conversions(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def convert(self, *arguments, code=0):
        done = subprocess.run([sys.executable, os.path.join(SOURCE, "tools", "trigconvert", "trigconvert.py"), *arguments],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stdout + done.stderr

    def make_rois(self):
        """Three kinds of collections, one of them with vectors and half-precision floats; empty ones."""
        towers, samples = trigd.declared(TOWERS), trigd.declared(SAMPLES)
        random = numpy.random.default_rng(1)
        wrote = []
        with trigd.RoiFileWriter(self.path("a.roi"), [towers, samples]) as out:
            for n in (0, 1, 40):
                t, s, h = towers.array(n), samples.array(n), trigd.HITS.array(2 * n)
                for array in (t, s, h):
                    for name in array.dtype.names:
                        array[name] = random.integers(0, 100, array[name].shape)
                roi = trigd.Roi(run=7, l1id=100 + n, lumi_block=3, eta=0.25, collections={"towers": t, "samples": s, "hits": h})
                out.append(roi)
                wrote.append(roi)
        return wrote

    def check_back(self, path, wrote):
        for roi, want in zip(trigd.RoiFile(path), wrote, strict=True):
            self.assertEqual((roi.run, roi.l1id, roi.lumi_block, roi.eta), (7, want.l1id, 3, 0.25))
            for name, array in want.collections.items():
                self.assertEqual(roi.collections[name].tobytes(), array.tobytes(), name)

    def test_there_and_back(self):
        wrote = self.make_rois()
        for end in ("parquet", "root"):
            self.assertIn("3 RoIs in", self.convert(self.path("a.roi"), "-o", self.path(f"a.{end}")))
            self.convert(self.path(f"a.{end}"), "-o", self.path(f"{end}.roi"))
            self.check_back(self.path(f"{end}.roi"), wrote)
        self.assertEqual(pyarrow.parquet.read_table(self.path("a.parquet"))["hits.x"][2].as_py(),
                         wrote[2].collections["hits"]["x"].tolist())
        with uproot.open(self.path("a.root")) as f:
            self.assertEqual(f["rois"]["towers_et"].array()[1].tolist(), wrote[1].collections["towers"]["et"].tolist())

    def check_same(self, path, want):
        """All but the token and the truth, which no table holds."""
        for roi, was in zip(trigd.RoiFile(path), want, strict=True):
            for name in (*tables.WHOLE, *tables.REAL, "reason", "unix_s", "chains", "streams", "values"):
                self.assertEqual(getattr(roi, name), getattr(was, name), name)
            for name in ("collections", "products"):
                self.assertEqual({k: a.tobytes() for k, a in getattr(roi, name).items()},
                                 {k: a.tobytes() for k, a in getattr(was, name).items()}, name)
            if was.decision:
                was.decision.token = 0
            self.assertEqual(roi.decision, was.decision)

    def convert_and_back(self, source, want):
        for end in ("parquet", "root"):
            self.convert(source, "-o", self.path(f"there.{end}"))
            self.convert(self.path(f"there.{end}"), "-o", self.path(f"{end}-back.roi"))
            self.check_same(self.path(f"{end}-back.roi"), want)

    def test_absent_is_not_empty(self):
        """A chain fails where its collection is absent, and runs where it is empty."""
        towers = trigd.declared(TOWERS)
        kinds = [{}, {"towers": towers.array(0)}, {"towers": towers.array(3)}, {"hits": trigd.HITS.array(0)},
                 {"towers": towers.array(0), "hits": trigd.HITS.array(2)}]
        want = [trigd.Roi(run=1, l1id=5 + n // 2, roi_id=n % 2, event_rois=2, deadline_us=900 * n, collections=c) for n, c in enumerate(kinds)]
        with trigd.RoiFileWriter(self.path("a.roi"), [towers]) as out:
            for roi in want:
                out.append(roi)
        self.convert_and_back(self.path("a.roi"), want)
        self.assertEqual(pyarrow.parquet.read_table(self.path("there.parquet"))["has.towers"].to_pylist(), [False, True, True, False, True])

    def test_no_rois(self):
        with trigd.RoiFileWriter(self.path("a.roi")):
            pass
        self.convert_and_back(self.path("a.roi"), [])

    def header(self):
        steps = [pb.Step(name="hits", plugin="p", values=["x"]), pb.Step(name="empty", plugin="q")]
        return pb.FileHeader(stream="debug", run=4, menu_key=1 << 63, chains=["A", "B"], streams=["s", "debug"], steps=steps)

    def write_debug(self, rois):
        collections = [trigd.Collection("hits", 77, trigd.HITS.columns), trigd.declared(TOWERS)]
        with trigd.RoiFileWriter(self.path("d.roi"), collections, header=self.header()) as out:
            for roi in rois:
                out.append(roi)

    def test_every_part_of_a_decision(self):
        """Those of a debug stream too; a step that has the name of a collection."""
        full = pb.Decision(run=4, l1id=1, accept=True, status=pb.ALGO_FAILED, late=True, chains_raw=[0, 1], chains=[1], streams=[0, 1],
                           latency_us=5, wanted=9, kept=8, menu_generation=3, lane_us=2, repeated=True, menu_key=1 << 63,
                           prescale_key=(1 << 64) - 1, conditions_key=6, unfinished=[0], skipped=[1])
        full.results.add(step=0, values=[0.1])
        full.results.add(step=1)
        full.missing.add(collection="towers", chains=[1])
        less = pb.Decision(run=4, l1id=2, results=[pb.StepResult(step=1)])
        products = {("hits", "towers"): trigd.declared(TOWERS).array(2), ("empty", "towers"): trigd.declared(TOWERS).array(0)}
        self.write_debug([trigd.Roi(run=4, l1id=1, decision=full, reason="the step p f\u00fcllt", unix_s=12, products=products),
                          trigd.Roi(run=4, l1id=2, decision=less, unix_s=13), trigd.Roi(run=4, l1id=3)])
        want = list(trigd.RoiFile(self.path("d.roi")))
        self.assertEqual((want[0].decision, want[1].decision, want[2].decision), (full, less, None))
        self.assertEqual(set(want[0].products), set(products))
        self.convert_and_back(self.path("d.roi"), want)
        for name in ("stream", "run", "menu_key", "chains", "streams", "steps"):
            self.assertEqual(getattr(trigd.RoiFile(self.path("root-back.roi")).header, name), getattr(self.header(), name), name)

    def test_two_columns_of_one_name(self):
        d = pb.Decision(run=4, l1id=1, results=[pb.StepResult(step=0, values=[1])])
        self.write_debug([trigd.Roi(run=4, l1id=1, decision=d, collections={"hits": trigd.HITS.array(1)})])
        self.assertIn("two columns would be called hits.x", self.convert(self.path("d.roi"), "-o", self.path("x.root"), code=1))

    def replay(self, *arguments):
        done = subprocess.run([os.path.join(BUILD, "bin", "trigreplay"), *arguments], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def make_events(self):
        self.replay("generate", "--preset", "lowlum", "--rois", "90", "--event-rois", "3", "--seed", "5", "--out", self.path("points.roi"))
        with trigd.RoiFileWriter(self.path("some.roi")) as out:
            for roi in trigd.RoiFile(self.path("points.roi")):
                p = roi.collections["spacepoints"]
                if roi.roi_id < 2:
                    hits = roi.collections["hits"] = trigd.HITS.array(len(p))
                    hits["x"], hits["y"] = p["rho"] * numpy.cos(p["phi"]), p["rho"] * numpy.sin(p["phi"])
                    hits["z"], hits["layer"] = p["z"], p["layer"]
                out.append(roi)

    def decide(self):
        """Streams of a daemon."""
        self.make_events()
        config = self.path("trigd.yaml")
        for name, text in ((config, CONFIG.format(folder=self.folder, build=BUILD)), (self.path("menu.yaml"), MENU)):
            with open(name, "w", encoding="utf-8") as f:
                f.write(text)
        with open(self.path("log"), "wb") as log:
            daemon = subprocess.Popen([os.path.join(BUILD, "bin", "trigd"), "--config", config], stderr=log)
        try:
            self.replay("run", "--connect", f"ipc://{self.folder}/in", "--file", self.path("some.roi"), "--truth", "none")
        finally:
            daemon.send_signal(signal.SIGTERM)
            daemon.wait(20)
        return config

    def test_stream_of_a_daemon(self):
        """What came back from a table is decided as the stream was."""
        config = self.decide()
        want = list(trigd.Stream(self.path("streams")))
        self.assertGreater(len(want), 30)
        self.assertEqual({r.event_rois for r in want}, {3})
        self.assertTrue(any(r.products for r in want))
        self.assertTrue(any(r.decision.missing for r in want))
        self.assertNotEqual(len({tuple(r.streams) for r in want}), 1)
        self.convert_and_back(self.path("streams"), want)
        for end in ("parquet", "root"):
            self.assertEqual(self.replay("reproduce", self.path(f"{end}-back.roi"), "--config", config),
                             f"{len(want)} RoIs decided as before, 0 otherwise\n")

    def test_mistakes(self):
        self.make_rois()
        self.assertIn("from roi to csv there is no way", self.convert(self.path("a.roi"), "-o", self.path("x.csv"), code=1))
        self.assertIn("exists", self.convert(self.path("a.roi"), "-o", self.path("a.roi"), code=1))
        pyarrow.parquet.write_table(pyarrow.table({"x": [1]}), self.path("x.parquet"))
        self.assertIn("was not made by trigconvert", self.convert(self.path("x.parquet"), "-o", self.path("x.roi"), code=1))

    def test_edm4hep(self):
        x = awkward.Array([[1.0, 2.0], [], [3.0]])
        cell = awkward.values_astype(awkward.Array([[5 << 7, 9 << 7], [], [63 << 7 | 127]]), numpy.uint64)
        with uproot.create(self.path("e.root")) as f:
            columns = {"VXD.position.x": x, "VXD.position.y": 2 * x, "VXD.position.z": 3 * x, "VXD.cellID": cell}
            f.mktree("events", {n: str(c.type.content) for n, c in columns.items()}).extend(columns)
        self.convert(self.path("e.root"), "--hits", "VXD", "-o", self.path("e.roi"))
        rois = list(trigd.RoiFile(self.path("e.roi")))
        self.assertEqual([len(r.collections["hits"]) for r in rois], [2, 0, 1])
        self.assertEqual(rois[0].collections["hits"]["layer"].tolist(), [5, 9])
        self.assertEqual(rois[2].collections["hits"][["x", "y", "z", "layer"]].tolist(), [(3.0, 6.0, 9.0, 63)])
        told = self.convert(self.path("e.root"), "--hits", "ITK", "-o", self.path("f.roi"), code=1)
        self.assertIn("has no ITK.position.x; collections with cellID: VXD", told)

    def test_hepmc(self):
        """p p -> B+ pi-; B+ flies 3 mm and decays into K+ and pi0."""
        event = pyhepmc.GenEvent(pyhepmc.Units.GEV, pyhepmc.Units.MM)
        beams = [pyhepmc.GenParticle((0, 0, z, 7000), 2212, 4) for z in (7000, -7000)]
        b, pion = pyhepmc.GenParticle((1, 2, 30, 31), 521, 2), pyhepmc.GenParticle((0.5, 0, -3, 3.1), -211, 1)
        kaon, neutral = pyhepmc.GenParticle((1, 1, 20, 20.1), 321, 1), pyhepmc.GenParticle((0, 1, 10, 10.1), 111, 1)
        primary, decay = pyhepmc.GenVertex((0, 0, 10, 0)), pyhepmc.GenVertex((0.1, 0.2, 13, 0))
        for p in beams:
            primary.add_particle_in(p)
        for p in (b, pion):
            primary.add_particle_out(p)
        decay.add_particle_in(b)
        for p in (kaon, neutral):
            decay.add_particle_out(p)
        event.add_vertex(primary)
        event.add_vertex(decay)
        with pyhepmc.open(self.path("b.hepmc3"), "w") as f:
            f.write(event)
        self.convert(self.path("b.hepmc3"), "-o", self.path("b.csv"))
        with open(self.path("b.csv"), encoding="utf-8") as f:
            rows = list(csv.DictReader(f))
        self.assertEqual([(r["vertex"], r["kind"], r["parent"], r["pdg"]) for r in rows],
                         [("0", "0", "-1", "-211"), ("1", "1", "0", "321")])
        self.assertEqual([float(rows[1][n]) for n in ("x", "y", "z", "px", "pz")], [0.1, 0.2, 13.0, 1.0, 20.0])
        subprocess.run([os.path.join(BUILD, "bin", "trigreplay"), "import", "particles", self.path("b.csv"), "--out",
                        self.path("b.roi")], check=True, stdout=subprocess.DEVNULL)
        (roi,) = trigd.RoiFile(self.path("b.roi"))
        self.assertIn("hits", roi.collections)


if __name__ == "__main__":
    unittest.main()
