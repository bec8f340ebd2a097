#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_daemon.py SOURCE BUILD: a volume in, a labelled NIfTI out, with real processes: trigreplay makes a phantom and
imports it from NIfTI, trigd labels its bricks, trigmodel puts the labels together.  They are those of trigvoxels, which
takes the whole volume, and meet the truth.  And what is said of wrong input."""
import base64
import glob
import gzip
import os
import re
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest
import zlib

import numpy
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

    def labels(self, run):
        """The file of the stream with the labels of a run."""
        (path,) = glob.glob(self.path(f"labels/labels-r{run:06}-*"))
        return path

    def same(self, nifti, values):
        with open(self.path(nifti), "rb") as f:
            self.assertEqual(f.read()[352:], values)

    def test_volumes(self):
        """One daemon, a run for each kind of input."""
        self.make_phantom()
        self.make_ct()
        self.make_bad()
        self.start()
        ipc, shm = f"ipc://{self.folder}/sock", f"shm://{self.folder}/shm"
        self.assertRegex(self.run_file("run1.roi", ipc), r"HLT_phantom_labels +18 \(100.00 %\)")
        self.assertRegex(self.run_file("run2.roi", shm), r"HLT_phantom_labels +18 \(100.00 %\)")
        self.assertRegex(self.run_file("run3.roi", ipc), r"HLT_phantom_labels +12 \(100.00 %\)")
        self.assertRegex(self.run_file("run4.roi", ipc), r"stream +debug +1 ")
        self.stop()
        self.check_phantom()
        self.check_models()
        self.check_pictures()
        self.check_values()
        self.check_ct()
        self.check_bad()

    def make_phantom(self):
        """As NIfTI, cut to bricks of another size than the generator's; run 2 is the same once more."""
        for preset in ("phantom", "phantom-truth"):
            self.generate(preset, preset + ".roi")
            self.done("trigmodel", "assemble", self.path(preset + ".roi"), self.path(preset + ".nii.gz"))
        self.done("trigreplay", "import", "nifti", self.path("phantom.nii.gz"), "--edge", "48", "--out",
                  self.path("run1.roi"))
        self.copy("run1.roi", "run2.roi", lambda i, roi: setattr(roi, "run", 2))

    def check_phantom(self):
        said = self.done("trigvoxels", MODEL, self.path("phantom.nii.gz"), self.path("bits"))
        self.done("trigmodel", "volume", self.path("phantom.nii.gz"), self.path("bits"), self.path("library.nii"))
        with open(self.path("library.nii"), "rb") as f:
            library = f.read()[352:]
        for run in (1, 2):
            self.done("trigmodel", "assemble", self.labels(run), self.path("one.nii"), "--step", "phantom")
            self.same("one.nii", library)
            self.done("trigmodel", "assemble", self.labels(run), self.path("labels.nii"), "--step", "phantom", "--like",
                      self.path("phantom.nii.gz"))
            self.same("labels.nii", library)
        self.refused("has no labels of a step white (steps with products: phantom)", "trigmodel", "assemble",
                     self.labels(1), self.path("none.nii"), "--step", "white")
        # the largest component across bricks
        counted = self.done("trigvoxels", "components", self.path("labels.nii")).split("\n")
        self.assertEqual([line.split() for line in counted[1:3]],
                         [line.split() for line in said.split("\n") if line.startswith(("components", "largest"))])
        dice = float(self.done("trigmodel", "dice", self.path("labels.nii"), self.path("phantom-truth.nii.gz")))
        print(f"phantom: Dice {dice}")
        self.assertGreaterEqual(dice, FLOOR)
        self.done("trigmodel", "picture", self.path("phantom.nii.gz"), self.path("labels.nii"), self.path("slices.png"))
        with open(self.path("slices.png"), "rb") as f:
            self.assertEqual(struct.unpack(">4sII", f.read(24)[12:]), (b"IHDR", 3 * 128 + 18, 2 * 128))

    def check_models(self):
        """From a decision to the models that made it."""
        (key,) = {f"{roi.decision.conditions_key:016x}" for roi in trigd.RoiFile(self.labels(1))}
        out = self.done("trigmodel", "which", self.path(f"state/sets/conditions-{key}.yaml"), MODEL)
        self.assertEqual(out.split("\n")[0], f"conditions_key  {key} without other conditions")
        with open(MODEL, encoding="utf-8") as f:
            self.assertEqual(out.split("\n")[3], f"model 2         phantom, hash {f.read().split()[-1]} ({MODEL})")
        with open(self.path("conditions.yaml"), encoding="utf-8") as f:
            self.assertIn(f"conditions: {key}", f.read())

    def slices(self, path):
        """The images of `trigctl event` of the first volume, as arrays of RGB, rows from below."""
        for text in re.findall(r"base64,([A-Za-z0-9+/=]+)'", self.done("trigctl", "event", path, "1")):
            png = base64.b64decode(text)
            self.assertEqual(png[:8], b"\x89PNG\r\n\x1a\n")
            chunks, at = {}, 8
            while at < len(png):
                (n,) = struct.unpack(">I", png[at:at + 4])
                chunks[png[at + 4:at + 8]] = png[at + 8:at + 8 + n]
                self.assertEqual(zlib.crc32(png[at + 4:at + 8 + n]), *struct.unpack(">I", png[at + 8 + n:at + 12 + n]))
                at += 12 + n
            width, height = struct.unpack(">II", chunks[b"IHDR"][:8])
            rows = numpy.frombuffer(zlib.decompress(chunks[b"IDAT"]), "u1").reshape(height, 1 + 3 * width)
            yield rows[::-1, 1:].reshape(height, width, 3)

    def check_slices(self, path, values, colour):
        """`values` in the order z, y, x; each is the grey, or where it is 1 the colour."""
        z, y, x = (n // 2 for n in values.shape)
        wanted = (values[:, :, x], values[:, y], values[z])
        seen = list(self.slices(path))
        self.assertEqual(len(seen), 3)
        for image, plane in zip(seen, wanted):
            numpy.testing.assert_array_equal(image, plane[..., None] * numpy.array(colour, "u1"))

    def check_pictures(self):
        with gzip.open(self.path("phantom.nii.gz")) as f:
            voxels = f.read()[352:]
        self.check_slices(self.path("run1.roi"), numpy.frombuffer(voxels, "u1").reshape(96, 128, 128), (1, 1, 1))
        with open(self.path("library.nii"), "rb") as f:
            labels = numpy.frombuffer(f.read()[352:], "u1").reshape(96, 128, 128)
        self.check_slices(self.labels(1), labels, (127, 100, 0))  # half of yellow: the stream has no voxels
        ct = numpy.fromfile(self.path("ct.bin"), "<i2").reshape(40, 33, 70).astype(int)
        self.check_slices(self.path("mha.roi"), numpy.clip((ct + 1000) * 255 // 2000, 0, 255).astype("u1"), (1, 1, 1))
        self.refused("is damaged at event", "trigctl", "event", self.path("run4.roi"), "1")

    def check_values(self):
        """What the decisions say of the bricks is what is in the labels."""
        for roi in trigd.RoiFile(self.labels(1)):
            place, values = roi.products["phantom", "labelled_bricks"][0], roi.values
            ones = sum(bin(b).count("1") for b in roi.products["phantom", "brick_labels"]["bits"].tobytes())
            self.assertEqual(values["phantom.n_labelled"], ones)
            self.assertAlmostEqual(values["phantom.fraction"] * values["phantom.n_voxels"], ones, delta=0.1)
            self.assertTrue(min(ones, 1) <= values["phantom.n_largest"] <= ones)
            for axis, (o, n) in zip("xyz", zip(place["origin"].tolist(), place["n"].tolist())):
                low, high = values[f"phantom.{axis}_min"], values[f"phantom.{axis}_max"]
                self.assertTrue(o <= low <= high < o + n if ones else low == high == -1)

    def make_ct(self):
        """Values of 16 bits as raw voxels and as MetaImage, cut to bricks and put together again, are the same."""
        values = numpy.random.default_rng(5).integers(-1200, 1300, (40, 33, 70)).astype("<i2")
        values.tofile(self.path("ct.bin"))
        with open(self.path("ct.mha"), "wb") as f:
            f.write(b"NDims = 3\nDimSize = 70 33 40\nElementType = MET_SHORT\nElementDataFile = LOCAL\n" + values.tobytes())
        options = ("--window", "-1000,2000", "--edge", "32", "--out")
        self.done("trigreplay", "import", "raw", self.path("ct.bin"), "--size", "70,33,40", "--voxel", "int16", *options,
                  self.path("raw.roi"))
        self.done("trigreplay", "import", "metaimage", self.path("ct.mha"), *options, self.path("mha.roi"))
        for name in ("raw", "mha"):
            self.done("trigmodel", "assemble", self.path(name + ".roi"), self.path(name + ".nii"))
            self.same(name + ".nii", values.tobytes())
        self.copy("mha.roi", "run3.roi", lambda i, roi: setattr(roi, "run", 3))

    def check_ct(self):
        """Bricks of 16 bits, and the same file out of core: raw, MetaImage, and NIfTI made of it."""
        self.done("trigmodel", "assemble", self.labels(3), self.path("bricks.nii"), "--step", "phantom", "--like",
                  self.path("ct.mha"))
        with open(self.path("bricks.nii"), "rb") as f:
            labels = f.read()[352:]
        self.assertTrue(0 < sum(labels) < len(labels))
        for name in ("ct.mha", "mha.nii"):
            self.done("trigvoxels", "--low", "-1000", "--width", "2000", MODEL, self.path(name), self.path("bits"))
            self.done("trigmodel", "volume", self.path(name), self.path("bits"), self.path("labels.nii"))
            self.same("labels.nii", labels)
        self.done("trigmodel", "volume", self.path("ct.bin"), self.path("bits"), self.path("labels.nii"), "--size", "70,33,40")
        self.same("labels.nii", labels)

    def make_bad(self):
        """One brick has lost its halo."""
        def cut(i, roi):
            roi.run = 4
            if i == 5:
                n = int(roi.collections["bricks"][0]["n"].prod())
                roi.collections["brick_values"] = roi.collections["brick_values"][:n].copy()

        self.copy("phantom.roi", "run4.roi", cut)
        self.refused("RoI 5 of run 4, l1id 0: its brick has 131072 voxels; with its halo there are 139425", "trigmodel",
                     "assemble", self.path("run4.roi"), self.path("bad.nii"))

    def check_bad(self):
        """It failed alone; the log says why."""
        self.assertRegex(self.log(), r"RoI 5 of run 4, l1id \d+ cannot be labelled: its brick at 64, 0, 64 of 64 x 64 x 32 "
                                     "voxels has 131072 bytes; with its halo there are 139425")
        self.refused("131072 voxels of volume 0 are in no brick", "trigmodel", "assemble", self.labels(4), self.path("l.nii"),
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
