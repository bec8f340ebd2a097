#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_roifile.py SOURCE BUILD: arrays from declarations; files that trigd wrote are read, files that Python wrote are taken."""
import os
import subprocess
import sys
import tempfile
import unittest

import numpy
import trigd

BUILD, SOURCE = sys.argv.pop(), sys.argv.pop()
SAMPLES = os.path.join(SOURCE, "tests", "collections", "samples.yaml")
TOWERS = os.path.join(SOURCE, "examples", "jets", "towers.yaml")


class Arrays(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "x.roi")

    def tool(self, name, *arguments):
        return subprocess.run([os.path.join(BUILD, "bin", name), *arguments], check=True, stdout=subprocess.PIPE, text=True).stdout

    def test_types(self):
        samples = trigd.declared(SAMPLES)
        kinds = {name: (f[0].base, f[0].shape) for name, f in samples.dtype.fields.items()}
        self.assertEqual(kinds["e"], (numpy.dtype("<f4"), ()))
        self.assertEqual(kinds["momentum"], (numpy.dtype("<f4"), (3,)))
        self.assertEqual(kinds["pulse"], (numpy.dtype("<f2"), (5,)))

    def test_own(self):
        """Those of trigd are what their files declare."""
        for own in (trigd.SPACEPOINTS, trigd.HITS, trigd.TRACKS):
            d = trigd.declared(os.path.join(SOURCE, "collections", f"{own.name}.yaml"))
            self.assertEqual((own.hash, own.columns, own.doc, own.room, own.dtype), (d.hash, d.columns, d.doc, d.room, d.dtype))

    def test_round_trip(self):
        samples, towers = trigd.declared(SAMPLES), trigd.declared(TOWERS)
        random = numpy.random.default_rng()
        wrote = []
        with trigd.RoiFileWriter(self.path, [samples, towers]) as out:
            for n in (0, 1, 300):
                arrays = {c.name: numpy.frombuffer(random.bytes(n * c.dtype.itemsize), c.dtype) for c in (samples, towers)}
                out.append(trigd.Roi(run=3, l1id=n + 1, eta=0.5, collections=arrays))
                wrote.append(arrays)
        reader = trigd.RoiFile(self.path)
        self.assertEqual(reader.collections["samples"].dtype, samples.dtype)
        for roi, arrays in zip(reader, wrote, strict=True):
            self.assertEqual((roi.run, roi.l1id, roi.eta), (3, len(arrays["towers"]) + 1, 0.5))
            for name, array in arrays.items():
                self.assertEqual(roi.collections[name].tobytes(), array.tobytes())
        told = self.tool("trigreplay", "show", self.path)
        self.assertIn(f"declares towers {towers.hash:016x}: et, eta, phi", told)
        self.assertIn(", 300 samples, 300 towers", told)
        self.assertIn("3 RoIs in 3 records", told)

    def test_what_trigctl_wrote(self):
        self.tool("trigctl", "make-rois", os.path.join(BUILD, "examples", "jets.so"), self.path, "--rois", "100")
        rois = list(trigd.RoiFile(self.path))
        towers = numpy.concatenate([roi.collections["towers"] for roi in rois])
        self.assertEqual(len(rois), 100)
        self.assertEqual(towers.dtype, trigd.declared(TOWERS).dtype)
        self.assertGreater(len(towers), 1000)
        self.assertTrue((abs(towers["eta"].astype(int)) <= 32000).all() and (towers["et"] > 0).all())
        self.assertEqual(trigd.RoiFile(self.path).collections["towers"].hash, trigd.declared(TOWERS).hash)

    def test_collections_of_trigd(self):
        """What the generator wrote as Spacepoints and Hits is written again byte for byte."""
        for preset, name in (("lowlum", "spacepoints"), ("velo", "hits"), ("velo-tracks", "tracks")):
            self.tool("trigreplay", "generate", "--preset", preset, "--rois", "3", "--seed", "1", "--out", self.path)
            again = self.path + ".again"
            with trigd.RoiFileWriter(again) as out:
                rois = list(trigd.RoiFile(self.path))
                for roi in rois:
                    out.append(roi)
            self.assertEqual(len(rois), 3)
            for roi, copy in zip(rois, trigd.RoiFile(again)):
                self.assertGreater(len(roi.collections[name]), 10)
                self.assertEqual((roi.l1id, roi.phi_half_rad), (copy.l1id, copy.phi_half_rad))
                self.assertEqual(roi.collections[name].tobytes(), copy.collections[name].tobytes())
            self.assertIn("3 RoIs in 3 records", self.tool("trigreplay", "show", again))
            os.remove(self.path)
            os.remove(again)

    def test_what_is_refused(self):
        towers = trigd.declared(TOWERS)
        with trigd.RoiFileWriter(self.path, [towers]) as out:
            with self.assertRaisesRegex(ValueError, "jets is not declared; there are spacepoints, hits, tracks, towers"):
                out.append(trigd.Roi(collections={"jets": towers.array(1)}))
            with self.assertRaisesRegex(ValueError, "is declared"):
                out.append(trigd.Roi(collections={"towers": numpy.zeros(3)}))
            with self.assertRaisesRegex(ValueError, "lumi_block is -1; 0 to 4294967295 is allowed"):
                out.append(trigd.Roi(lumi_block=-1))
        with self.assertRaisesRegex(ValueError, "is no RoI file"):
            trigd.RoiFile(SAMPLES)

    def test_damaged_files(self):
        """Cut anywhere, or with a wrong byte, a file is read up to there or refused with a sentence."""
        towers = trigd.declared(TOWERS)
        with trigd.RoiFileWriter(self.path, [towers]) as out:
            out.append(trigd.Roi(run=1, collections={"towers": towers.array(3)}))
        with open(self.path, "rb") as f:
            good = f.read()
        for at in range(8, len(good), 3):
            for bad in (good[:at], good[:at] + bytes([good[at] ^ 0xff]) + good[at + 1:]):
                with open(self.path, "wb") as f:
                    f.write(bad)
                try:
                    list(trigd.RoiFile(self.path))
                except ValueError:
                    pass


if __name__ == "__main__":
    unittest.main()
