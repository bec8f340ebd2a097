#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_daemon.py SOURCE BUILD: a volume in, a labelled NIfTI out, with real processes: trigreplay makes a phantom and
imports it from NIfTI, trigd labels its bricks, trigmodel puts the labels together.  They are those of trigvoxels, which
takes the whole volume, and meet the truth.  And what is said of wrong input."""
import os
import re
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

import trigd

BUILD, SOURCE = sys.argv.pop(), sys.argv.pop()
MODEL = os.path.join(SOURCE, "plugins", "voxels", "models", "phantom.model")
FLOOR = 0.96  # Dice; the model was trained on seed 1
CONFIG = """endpoints: ["ipc://{0}/sock", "shm://{0}/shm"]
menu: {1}/configs/menus/voxels.yaml
conditions: {0}/conditions.yaml
devices: [{{backend: cpu, lanes: 1}}]
clients: {{max_items: 600000, credits: 64}}
pool: {{mbytes: 512, rois: 1024}}
batching: {{max_rois: 8, max_kbytes: 4096}}
streams: [{{stream: labels, folder: {0}/labels}}]
state_dir: {0}/state
accounts_dir: ""
histograms_dir: ""
cache_dir: {0}/cache
debug_stream: {{folder: {0}/debug}}
control: {{socket: {0}/control}}
http: {{address: ""}}
"""


def program(name):
    return os.path.join(BUILD, "bin", name)


def call(*args):
    return subprocess.run(args, text=True, capture_output=True, check=False)


class Daemon(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.folder = self.temporary.name
        self.daemon = None
        self.done("trigmodel", "conditions", os.path.join(SOURCE, "plugins/voxels/models/mni-white.model"),
                  os.path.join(SOURCE, "plugins/voxels/models/mni-grey.model"), MODEL, "-o", self.path("conditions.yaml"))
        with open(self.path("trigd.yaml"), "w", encoding="utf-8") as f:
            f.write(CONFIG.format(self.folder, SOURCE))

    def tearDown(self):
        if self.daemon:
            self.stop()
        self.temporary.cleanup()

    def path(self, name):
        return os.path.join(self.folder, name)

    def command(self, name, *args):
        if name == "trigmodel":
            return call(sys.executable, "-B", os.path.join(SOURCE, "tools", "trigmodel", "trigmodel"), *args)
        return call(program(name), *args)

    def done(self, name, *args):
        r = self.command(name, *args)
        self.assertEqual(r.returncode, 0, r.stdout + r.stderr)
        return r.stdout

    def refused(self, sentence, name, *args):
        r = self.command(name, *args)
        self.assertNotEqual(r.returncode, 0)
        self.assertRegex(r.stderr, re.escape(sentence))

    def start(self):
        with open(self.path("log"), "w", encoding="utf-8") as log:
            self.daemon = subprocess.Popen([program("trigd"), "--config", self.path("trigd.yaml")], stdout=log, stderr=log)
        for _ in range(600):
            if 'to=ready' in self.log():
                return
            self.assertIsNone(self.daemon.poll(), self.log())
            time.sleep(0.1)
        self.fail(self.log())

    def stop(self):
        self.daemon.send_signal(signal.SIGTERM)
        code, self.daemon = self.daemon.wait(60), None
        self.assertEqual(code, 0, self.log())

    def log(self):
        with open(self.path("log"), encoding="utf-8") as f:
            return f.read()

    def generate(self, preset, name):
        self.done("trigreplay", "generate", "--preset", preset, "--rois", "8", "--seed", "2", "--out", self.path(name))

    def copy(self, name, to, change):
        file = trigd.RoiFile(self.path(name))
        with trigd.RoiFileWriter(self.path(to), list(file.collections.values())) as out:
            for i, roi in enumerate(file):
                change(i, roi)
                out.append(roi)

    def run_file(self, name, endpoint):
        return self.done("trigreplay", "run", "--connect", endpoint, "--file", self.path(name), "--type", "1",
                         "--truth", "none", "--timeout", "60000")

    def check_values(self):
        """What the decisions say of the bricks is what is in the labels."""
        for roi in trigd.Stream(self.path("labels")):
            place, values = roi.products["phantom", "labelled_bricks"][0], roi.values
            ones = sum(bin(b).count("1") for b in roi.products["phantom", "brick_labels"]["bits"].tobytes())
            self.assertEqual(values["phantom.n_labelled"], ones)
            self.assertAlmostEqual(values["phantom.fraction"] * values["phantom.n_voxels"], ones, delta=0.1)
            self.assertTrue(min(ones, 1) <= values["phantom.n_largest"] <= ones)
            for axis, (o, n) in zip("xyz", zip(place["origin"].tolist(), place["n"].tolist())):
                low, high = values[f"phantom.{axis}_min"], values[f"phantom.{axis}_max"]
                self.assertTrue(o <= low <= high < o + n if ones else low == high == -1)

    def test_volume(self):
        """As NIfTI, cut to bricks of another size than the generator's."""
        for preset in ("phantom", "phantom-truth"):
            self.generate(preset, preset + ".roi")
            self.done("trigmodel", "assemble", self.path(preset + ".roi"), self.path(preset + ".nii.gz"))
        self.done("trigreplay", "import", "nifti", self.path("phantom.nii.gz"), "--edge", "48", "--out",
                  self.path("bricks.roi"))
        self.done("trigmodel", "assemble", self.path("bricks.roi"), self.path("again.nii.gz"))
        self.start()
        self.copy("bricks.roi", "again.roi", lambda i, roi: setattr(roi, "run", 2))
        for name, endpoint in (("bricks.roi", f"ipc://{self.folder}/sock"), ("again.roi", f"shm://{self.folder}/shm")):
            self.assertRegex(self.run_file(name, endpoint), r"HLT_phantom_labels +18 \(100.00 %\)")
        self.stop()
        for volume in ("0", "1"):
            self.done("trigmodel", "assemble", self.path("labels"), self.path(f"labels-{volume}.nii"), "--step", "phantom",
                      "--volume", volume)
        self.refused("labels has no labels of a step white (steps with products: phantom)", "trigmodel", "assemble",
                     self.path("labels"), self.path("none.nii"), "--step", "white")
        self.done("trigmodel", "picture", self.path("phantom.nii.gz"), self.path("labels-0.nii"), self.path("slices.png"))
        with open(self.path("slices.png"), "rb") as f:
            self.assertEqual(struct.unpack(">4sII", f.read(24)[12:]), (b"IHDR", 3 * 128 + 18, 2 * 128))
        self.check_values()
        said = self.done("trigvoxels", MODEL, self.path("phantom.nii.gz"), self.path("bits"))
        self.done("trigmodel", "volume", self.path("phantom.nii.gz"), self.path("bits"), self.path("library.nii"))
        with open(self.path("library.nii"), "rb") as f:
            library = f.read()
        for volume in ("0", "1"):
            with open(self.path(f"labels-{volume}.nii"), "rb") as f:
                self.assertEqual(f.read()[352:], library[352:])
        # the largest component across bricks
        counted = self.done("trigvoxels", "components", self.path("labels-0.nii")).split("\n")
        self.assertEqual([line.split() for line in counted[1:3]],
                         [line.split() for line in said.split("\n") if line.startswith(("components", "largest"))])
        dice = float(self.done("trigmodel", "dice", self.path("labels-0.nii"), self.path("phantom-truth.nii.gz")))
        print(f"phantom: Dice {dice}")
        self.assertGreaterEqual(dice, FLOOR)

    def test_brick_without_halo(self):
        """It fails alone; the log says why."""
        def cut(i, roi):
            if i == 5:
                n = int(roi.collections["bricks"][0]["n"].prod())
                roi.collections["brick_values"] = roi.collections["brick_values"][:n].copy()

        self.generate("phantom", "good.roi")
        self.copy("good.roi", "bad.roi", cut)
        self.refused("RoI 5 of run 1, l1id 0: its brick has 131072 voxels; with its halo there are 139425", "trigmodel",
                     "assemble", self.path("bad.roi"), self.path("bad.nii"))
        self.start()
        self.assertIn("stream      debug                    1 ", self.run_file("bad.roi", f"ipc://{self.folder}/sock"))
        self.stop()
        self.assertRegex(self.log(), r"RoI 5 of run 1, l1id \d+ cannot be labelled: its brick at 64, 0, 64 of 64 x 64 x 32 "
                                     "voxels has 131072 bytes; with its halo there are 139425")
        self.refused("of volume 0 are in no brick", "trigmodel", "assemble", self.path("labels"), self.path("l.nii"),
                     "--step", "phantom")

    def test_wrong_input(self):
        self.generate("phantom", "phantom.roi")
        self.done("trigmodel", "assemble", self.path("phantom.roi"), self.path("whole.nii"))
        with open(self.path("whole.nii"), "rb") as f:
            data = f.read()
        with open(self.path("cut.nii"), "wb") as f:
            f.write(data[:-1])
        importing = ("--out", self.path("x.roi"))
        self.refused("cut.nii: it is truncated: 128 x 128 x 96 voxels need 1572864 bytes behind byte 352, and it has 1573215 "
                     "in all", "trigreplay", "import", "nifti", self.path("cut.nii"), *importing)
        self.refused("whole.nii: --size X,Y,Z is wanted for raw voxels", "trigreplay", "import", "raw",
                     self.path("whole.nii"), *importing)
        self.refused("its voxels have 16 bits: --window LOW,WIDTH is wanted", "trigreplay", "import", "raw",
                     self.path("whole.nii"), "--size", "128,128,48", "--voxel", "int16", *importing)
        self.refused("the name of a MetaImage ends with .mha or .mhd", "trigreplay", "import", "metaimage",
                     self.path("whole.nii"), *importing)
        self.assertFalse(os.path.exists(self.path("x.roi")))
        with open(self.path("conditions.yaml"), encoding="utf-8") as f:
            text = f.read()
        with open(self.path("conditions.yaml"), "w", encoding="utf-8") as f:
            f.write(text.replace("feature: [3,", "feature: [8,"))
        self.refused('conditions.voxel_models.feature[0] is \\"8\\"; a whole number of 0 to 7 is allowed', "trigd", "--check",
                     self.path("trigd.yaml"))


if __name__ == "__main__":
    unittest.main()
