#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_streams.py SOURCE BUILD: files of streams are read as trigreplay reads them, damaged ones too; saved decisions."""
import glob
import os
import subprocess
import sys
import tempfile
import unittest
import warnings

import trigd

BUILD, SOURCE = sys.argv.pop(), sys.argv.pop()
CORPUS = os.path.join(SOURCE, "tests", "fuzz", "corpus", "roifile")


def corpus(name):
    return os.path.join(CORPUS, f"blocks-{name}.roi")


class Blocks(unittest.TestCase):
    def test_good(self):
        file = trigd.RoiFile(corpus("good"))
        self.assertEqual((file.header.stream, file.header.run), ("physics", 1))
        rois = list(file)
        self.assertEqual([r.l1id for r in rois], [7, 8, *range(40)])
        self.assertTrue(all(r.decision.accept for r in rois))

    def test_torn(self):
        """Up to the last whole block."""
        self.assertEqual(len(list(trigd.RoiFile(corpus("open")))), 42)
        self.assertEqual(len(list(trigd.RoiFile(corpus("torn")))), 2)

    def test_damaged(self):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            self.assertEqual([r.l1id for r in trigd.RoiFile(corpus("bad-contents"))], [7, 8])
        self.assertIn("a block is damaged: its 40 RoIs are left out", str(caught[0].message))

    def test_all_end_well(self):
        """Whatever the file, the answer is RoIs or one sentence."""
        for path in glob.glob(os.path.join(CORPUS, "*.roi")):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    self.assertLess(len(list(trigd.RoiFile(path))), 1000)
                except ValueError as e:
                    self.assertNotIn("\n", str(e), path)

    def test_first_copy(self):
        rois = [r.l1id for r in trigd.Stream([corpus("good"), corpus("open")])]
        self.assertEqual(rois, [7, 8, *(i for i in range(40) if i not in (7, 8))])

    def test_folders(self):
        with tempfile.TemporaryDirectory() as folder:
            with self.assertRaisesRegex(ValueError, "there are no RoI files in"):
                trigd.Stream(folder)
            os.symlink(corpus("good"), os.path.join(folder, "a.roi"))
            os.symlink(corpus("open"), os.path.join(folder, "b.roi.part"))
            self.assertEqual(len(list(trigd.Stream(folder))), 40)

    def test_as_trigreplay(self):
        told = subprocess.run([os.path.join(BUILD, "bin", "trigreplay"), "show", corpus("good")], check=True,
                              stdout=subprocess.PIPE, text=True).stdout
        self.assertIn("42 RoIs in 2 records", told)
        self.assertIn("stream physics, run 1", told)


if __name__ == "__main__":
    unittest.main()
