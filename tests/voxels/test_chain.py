#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The whole way: a phantom with truth, a model that trigmodel trains on it, another phantom that trigvoxels
labels with it, labels as NIfTI, Dice.  And the MNI head with the models of the project, where TRIGD_DATA names a
folder with mni/: every label is scikit-learn's (bench/voxels/peers labels), Dice on the half that was not
trained on.  TRIGD_BUILD is the build folder."""
import gzip
import hashlib
import math
import os
import random
import re
import struct
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")
TOOL = os.path.join(ROOT, "tools", "trigmodel")
sys.path.insert(0, TOOL)
sys.dont_write_bytecode = True

import model  # noqa: E402
import volumes  # noqa: E402

BUILD = os.environ["TRIGD_BUILD"]
EDGE = 36
MNI = "mni_icbm152_%s_tal_nlin_sym_09a_converted.nii.gz"
# of the bits of all labels; Dice of scikit-learn's model on x >= 98
HEADS = (("white", "wm", "f308a8fc84a1bb92915785ae4ed7590da1f3261d35bda8e1f790e44db6dd1231", 0.961),
         ("grey", "gm", "8782db94739a30d1656865817abe9c716143b0678d2a06476513bfac2d2abdc4", 0.964))


def run(*args):
    return subprocess.run(args, text=True, capture_output=True, check=True).stdout


def write_nifti(path, values, n):
    header = bytearray(352)
    struct.pack_into("<i", header, 0, 348)
    struct.pack_into("<8h", header, 40, 3, *n, 1, 1, 1, 1)
    struct.pack_into("<hh", header, 70, 2, 8)
    struct.pack_into("<f", header, 108, 352.0)
    header[344:348] = b"n+1\0"
    with gzip.open(path, "wb", 1) as f:
        f.write(bytes(header) + bytes(values))


def phantom(seed):
    """Values and truth: a ball in a shell of nearly its value, under noise of twice their difference."""
    rng, values, truth = random.Random(seed), bytearray(), bytearray()
    for z in range(EDGE):
        for y in range(EDGE):
            for x in range(EDGE):
                r = math.dist((x, y, z), [EDGE / 2 - 0.5] * 3) / EDGE
                clean = 150 if r < 0.27 else 110 if r < 0.42 else 40
                values.append(clean + rng.randrange(-40, 41))
                truth.append(200 if r < 0.27 else 0)
    return bytes(values), bytes(truth)


class Chain(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()

    def tearDown(self):
        self.folder.cleanup()

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def label(self, model_path, volume_path):
        out = run(os.path.join(BUILD, "bin", "trigvoxels"), "--planes", "7", "--threads", "2", model_path,
                  volume_path, self.path("labels.bits"))
        return {line.split()[0]: line.split()[1:] for line in out.splitlines() if line}

    def trigmodel(self, *args):
        return run(sys.executable, os.path.join(TOOL, "trigmodel"), *args)

    def test_phantom(self):
        n = (EDGE, EDGE, EDGE)
        for name, seed in (("train", 1), ("judge", 2)):
            values, truth = phantom(seed)
            write_nifti(self.path(name + ".nii.gz"), values, n)
            write_nifti(self.path(name + "-truth.nii.gz"), truth, n)
        self.trigmodel("train", self.path("train.nii.gz"), self.path("train-truth.nii.gz"), "--name", "ball",
                       "--stumps", "60", "--voxels", "6000", "-o", self.path("ball.model"))
        said = self.label(self.path("ball.model"), self.path("judge.nii.gz"))
        self.trigmodel("volume", self.path("judge.nii.gz"), self.path("labels.bits"), self.path("labels.nii"))
        labels = volumes.read(self.path("labels.nii")).values
        with open(self.path("ball.model"), encoding="utf-8") as f:
            text = f.read()
        ball, judge = model.parse(text).collapsed(), volumes.read(self.path("judge.nii.gz"))
        self.assertEqual(said["model"], ["ball", text.split()[-1]])
        self.assertEqual(int(said["labelled"][0]), sum(labels))
        self.assertEqual([int(ball.sum(judge.features(i)) > 0) for i in range(len(labels))], list(labels))
        dice = float(self.trigmodel("dice", self.path("labels.nii"), self.path("judge-truth.nii.gz")))
        print(f"phantom: Dice {dice}")
        self.assertGreaterEqual(dice, 0.88)

    def test_head(self):
        data = os.environ.get("TRIGD_DATA")
        if not data:
            self.skipTest("TRIGD_DATA is not set")
        for name, truth, digest, floor in HEADS:
            t1 = os.path.join(data, "mni", MNI % "t1")
            said = self.label(os.path.join(ROOT, "plugins", "voxels", "models", f"mni-{name}.model"), t1)
            with open(self.path("labels.bits"), "rb") as f:
                self.assertEqual(hashlib.sha256(f.read()).hexdigest(), digest)
            self.trigmodel("volume", t1, self.path("labels.bits"), self.path("labels.nii"))
            dice = float(self.trigmodel("dice", self.path("labels.nii"), os.path.join(data, "mni", MNI % truth),
                                        "--x-from", "98"))
            print(f"{name}: Dice {dice}, largest component {said['largest'][0]} of {said['labelled'][0]}")
            self.assertGreaterEqual(dice, floor)

    def test_refused(self):
        """What is wrong with the input is one sentence, and nothing is written."""
        white = os.path.join(ROOT, "plugins", "voxels", "models", "mni-white.model")
        for args, sentence in (((white, "/does/not/exist.nii"), "/does/not/exist.nii: No such file or directory"),
                               ((white, white), f"{white}: it is not NIfTI-1: it does not begin with 348"),
                               (("--planes", "0", white, white), '--planes "0": a whole number from 1 to 65535 is wanted'),
                               (("--device", "abacus:0", "--size", "9,9,9", white, white), "abacus")):
            done = subprocess.run([os.path.join(BUILD, "bin", "trigvoxels"), *args], text=True, check=False,
                                  capture_output=True)
            self.assertNotEqual(done.returncode, 0)
            self.assertRegex(done.stderr, re.escape(sentence))


if __name__ == "__main__":
    unittest.main()
