#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_trigconvert.py SOURCE BUILD: RoI files to Parquet and ROOT and back; HepMC3 and EDM4hep in.  Needs the packages of
tools/trigconvert/requirements.txt: `make convert-check` installs them and runs it."""
import csv
import os
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

BUILD, SOURCE = sys.argv.pop(), sys.argv.pop()
TOWERS = os.path.join(SOURCE, "examples", "jets", "towers.yaml")
SAMPLES = os.path.join(SOURCE, "tests", "collections", "samples.yaml")


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
