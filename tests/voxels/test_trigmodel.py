#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""trigmodel: imported models give the labels of their trainers' own predictions (golden/, made by
`bench/voxels/peers VENV golden FOLDER`), what is refused and how, the trainer against exhaustive search, volumes."""
import gzip
import json
import math
import os
import random
import struct
import subprocess
import sys
import tempfile
import types
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
TOOL = os.path.join(HERE, "..", "..", "tools", "trigmodel")
sys.path.insert(0, TOOL)
sys.dont_write_bytecode = True

import importers  # noqa: E402
import model  # noqa: E402
import trainer  # noqa: E402
import volumes  # noqa: E402


def golden(name, mode="r"):
    with open(os.path.join(HERE, "golden", name), mode) as f:
        return f.read()


PREDICTIONS = json.loads(golden("predictions.json"))


class AdaBoostClassifier:
    """What from_sklearn reads of scikit-learn's class of that name."""

    def __init__(self):
        self.classes_ = [0, 1]
        self.estimator_weights_ = PREDICTIONS["sklearn_weights"]
        self.estimators_ = [types.SimpleNamespace(tree_=types.SimpleNamespace(
            feature=[f], threshold=[t], value=[[v] for v in values], node_count=len(values),
            children_left=left, children_right=right))
            for f, t, values, left, right in PREDICTIONS["sklearn_trees"]]


class Imports(unittest.TestCase):
    def expect(self, m, trainer_name):
        for text in (m.text(), m.collapsed().text()):
            again = model.parse(text)
            labels = [int(again.sum(row) > 0) for row in PREDICTIONS["rows"]]
            self.assertEqual(labels, PREDICTIONS[trainer_name])
        self.assertTrue(0 < sum(labels) < len(labels))

    def test_xgboost(self):
        self.expect(importers.from_xgboost(golden("xgboost.json"), "x", "usual"), "xgboost")

    def test_lightgbm(self):
        self.expect(importers.from_lightgbm(golden("lightgbm.txt"), "l", "usual"), "lightgbm")

    def test_treelite(self):
        for name in ("xgboost", "lightgbm"):
            self.expect(importers.from_treelite(golden(name + ".tl", "rb"), "t", "usual"), name)

    def test_sklearn(self):
        self.expect(importers.from_sklearn(AdaBoostClassifier(), "s", "usual"), "sklearn")

    def test_sign(self):
        usual = importers.from_xgboost(golden("xgboost.json"), "x", "usual")
        thesis = importers.from_xgboost(golden("xgboost.json"), "x", "thesis")
        for row in PREDICTIONS["rows"]:
            turned = row[:4] + [-d for d in row[4:7]] + row[7:]
            self.assertEqual(usual.sum(row), thesis.sum(turned))

    def test_thesis(self):
        rng = random.Random(3)
        columns = [(rng.choice((0, 0.5, 1.25, 3)), rng.choice((4, 7.5, -3, 20.25)), rng.choice((1, -1)))
                   for _ in range(240)]
        text = "\n".join(",".join(repr(c[k]) for c in columns) for k in range(3)) + "\n"
        m = importers.from_thesis(text, "t", "thesis")
        for row in PREDICTIONS["rows"]:
            x = row[:4] + [d / 2 for d in row[4:7]] + [model.float32(math.sqrt(row[7]) / 2)]
            exact = sum(a if p * x[i % 8] < p * t else -a for i, (a, t, p) in enumerate(columns))
            self.assertEqual(m.sum(row) > 0, exact > 0, row)


class Refused(unittest.TestCase):
    def expect(self, sentence, f, *args):
        with self.assertRaises(model.ModelError) as caught:
            f(*args)
        self.assertEqual(str(caught.exception), sentence)

    def test_deeper(self):
        sentence = ("tree 0 has 3 splits: only trees of one split (depth 1) are taken, because deeper ones "
                    "do not collapse to step functions")
        self.expect(sentence, importers.from_xgboost, golden("deep.json"), "d", "usual")
        self.expect(sentence, importers.from_treelite, golden("deep.tl", "rb"), "d", "usual")

    def test_sklearn(self):
        self.expect("it is a SimpleNamespace, not an AdaBoostClassifier", importers.from_sklearn,
                    types.SimpleNamespace(), "s", "usual")

    def test_treelite_truncated(self):
        data = golden("xgboost.tl", "rb")
        self.expect("it ends in the middle", importers.from_treelite, data[:len(data) // 2], "t", "usual")
        self.expect("it is not a Treelite checkpoint of version 4", importers.from_treelite,
                    b"\3" + data[1:], "t", "usual")

    def test_thesis(self):
        self.expect("it has rows of [8, 8] numbers; three of 8 M each are allowed: alpha, threshold, "
                    "polarity", importers.from_thesis, "1 1 1 1 1 1 1 1\n" * 2, "t", "thesis")
        self.expect("column 1 has polarity 2; 1 and -1 are allowed", importers.from_thesis,
                    "0 1 0 0 0 0 0 0\n" * 2 + "1 2 1 1 1 1 1 1\n", "t", "thesis")

    def test_feature(self):
        self.expect("it uses feature 8; there are 0 to 7: x y z v gx gy gz g", model.from_floats, "f", 0.0,
                    [(8, 1.0, -1.0, 1.0)], True, False, "usual")

    def test_text(self):
        self.expect("it is empty", model.parse, "# nothing\n")
        good = model.Model("a", 1, [("v", 3, -4, 4)]).text()
        self.assertEqual(model.parse(good).text(), good)
        self.expect("line 4: there is no feature 'w'; there are x y z v dx dy dz s", model.parse,
                    good.replace("stump v", "stump w"))
        wrong = good.replace("bias 1", "bias 2")
        self.assertIn("and the file says", self.sentence(model.parse, wrong))

    def sentence(self, f, *args):
        with self.assertRaises(model.ModelError) as caught:
            f(*args)
        return str(caught.exception)


class Magnitude(unittest.TestCase):
    def test_neighbours(self):
        """s <= at_most exactly where the magnitude is <= (or <) a threshold, all around values that occur."""
        for s in (0, 1, 2, 3, 1000, 65536, model.S_MAX - 1):
            for single in (True, False):
                t = model.as_trained("s", s, single)
                self.assertEqual(model.at_most("s", t, single, False), s)
                self.assertEqual(model.at_most("s", t, single, True), s - 1)
                self.assertEqual(model.at_most("s", math.nextafter(t, math.inf), single, True), s)


class Conditions(unittest.TestCase):
    def setUp(self):
        self.models = [model.Model("a", 5, [("v", 3, -4, 4), ("v", 3, -1, 2), ("x", 70000, 1, 9)]),
                       model.Model("b", 0, [("s", 100, 7, -7)])]

    def test_rows(self):
        """Equal thresholds are one stump, constant ones are in the bias; what is written is what is read."""
        rows = [(0, 3, 255, 6, 6), (0, 3, 3, -5, 6), (1, 3, 255, 0, 0), (1, 7, 100, 7, -7)]
        text = model.conditions(self.models)
        self.assertEqual(model.parse_conditions(text), rows)
        other = "other:\n    model: [9]\n"
        self.assertEqual(model.parse_conditions(text + "  " + other), rows)
        self.assertIn(f"conditions: {model.conditions_key(rows):016x}", text)
        self.assertNotEqual(model.conditions_key(rows), model.conditions_key(rows[::-1]))
        for wrong in ("conditions: {}\n", text.replace("left: [6, ", "left: ["), text.replace("left: [6", "left: [6000000000"),
                      text.replace("left: [6", "left: [six")):
            with self.assertRaises(model.ModelError):
                model.parse_conditions(wrong)

    def test_which(self):
        with tempfile.TemporaryDirectory() as folder:
            paths = []
            for m in self.models:
                paths.append(os.path.join(folder, m.name + ".model"))
                with open(paths[-1], "w", encoding="utf-8") as f:
                    f.write(m.text())
            tool = [sys.executable, os.path.join(TOOL, "trigmodel")]
            file = os.path.join(folder, "c.yaml")
            subprocess.run([*tool, "conditions", *paths, "-o", file], check=True)
            out = subprocess.run([*tool, "which", file, paths[1]], text=True, capture_output=True, check=True).stdout
        self.assertRegex(out, r"conditions_key  [0-9a-f]{16} without other conditions\nmodel 0 +none of the given ones\n"
                              rf"model 1 +b, hash {self.models[1].text().split()[-1]} \(.*b\.model\)\n$")


class Training(unittest.TestCase):
    def test_first_stump(self):
        """The first stump is the best of all, by trying them all."""
        rng = random.Random(11)
        rows = [tuple(rng.randrange(9) for _ in range(8)) for _ in range(60)]
        labels = [int(r[3] + rng.randrange(4) > 6) for r in rows]
        m = trainer.train(rows, labels, 1, "one")
        (stump,) = m.stumps

        def errors(s):
            f = model.FEATURES.index(s[0])
            return sum((1 if (s[2] if r[f] <= s[1] else s[3]) > 0 else 0) != y for r, y in zip(rows, labels))

        least = min(errors((f, t, a, b)) for f in model.FEATURES for t in range(-1, 9)
                    for a in (-1, 1) for b in (-1, 1))
        self.assertEqual(errors(stump), least)

    def test_learns(self):
        """A ball: no single stump can find it; 60 of them do."""
        rng = random.Random(12)
        rows = [tuple(rng.randrange(-20, 21) for _ in range(8)) for _ in range(800)]
        labels = [int(r[3] ** 2 + r[4] ** 2 < 200) for r in rows]
        m = trainer.train(rows, labels, 60, "ball")
        wrong = sum((m.sum(r) > 0) != bool(y) for r, y in zip(rows, labels))
        self.assertLess(wrong, 0.06 * len(rows))

    def test_one_label(self):
        with self.assertRaises(model.ModelError):
            trainer.train([(0,) * 8], [1], 3, "none")


class Volumes(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        header = bytearray(348)
        struct.pack_into("<i", header, 0, 348)
        struct.pack_into("<8h", header, 40, 3, 9, 2, 3, 1, 1, 1, 1)
        struct.pack_into("<hh", header, 70, 2, 8)
        struct.pack_into("<f", header, 108, 352.0)
        header[344:348] = b"n+1\0"
        self.values = bytes(range(54))
        self.path = os.path.join(self.folder.name, "v.nii.gz")
        with gzip.open(self.path, "wb") as f:
            f.write(bytes(header) + bytes(4) + self.values)

    def tearDown(self):
        self.folder.cleanup()

    def run_tool(self, *args):
        return subprocess.run([sys.executable, os.path.join(TOOL, "trigmodel"), *args], text=True,
                              capture_output=True, check=False)

    def test_features(self):
        v = volumes.read(self.path)
        self.assertEqual(v.n, (9, 2, 3))
        # x = 0 repeats the edge; z = 1 has neighbours 18 away on both sides
        self.assertEqual(v.features(18), (0, 0, 1, 18, -1, -9, -36, 1 + 81 + 1296))

    def test_labels_to_nifti(self):
        bits = bytes([0b10000001, 1] + [0, 0] * 5)
        labels, out = os.path.join(self.folder.name, "l.bits"), os.path.join(self.folder.name, "l.nii")
        with open(labels, "wb") as f:
            f.write(bits)
        done = self.run_tool("volume", self.path, labels, out)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(volumes.read(out).values, b"\1\0\0\0\0\0\0\1\1" + bytes(45))
        with open(labels, "wb") as f:
            f.write(bits[:-1])
        done = self.run_tool("volume", self.path, labels, out)
        self.assertEqual(done.returncode, 1)
        self.assertIn("it has 11 bytes; labels of 9 x 2 x 3 voxels as bits have 12", done.stderr)

    def write(self, name, data):
        path = os.path.join(self.folder.name, name)
        with open(path, "wb") as f:
            f.write(data)
        return path

    def labelled(self, *args):
        """The file that `trigmodel volume` writes of a volume of 9 x 2 x 3 voxels, random labels, and its values."""
        rng = random.Random(13)
        want = bytes(rng.randrange(2) for _ in range(54))
        rows = [want[at:at + 9] + bytes(7) for at in range(0, 54, 9)]
        bits = bytes(sum(row[8 * b + k] << k for k in range(8)) for row in rows for b in range(2))
        out = os.path.join(self.folder.name, "l.nii")
        done = self.run_tool("volume", args[0], self.write("l.bits", bits), out, *args[1:])
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        made = volumes.read(out)
        self.assertEqual((made.n, made.values), ((9, 2, 3), want))
        return made.header

    def test_sources_of_labels(self):
        """Whatever trigvoxels labels: 16 bits in both byte orders, MetaImage, raw voxels.  The place in space is kept."""
        for order, kind in (("<", 4), (">", 512), (">", 4)):
            header = bytearray(348)
            struct.pack_into(order + "i", header, 0, 348)
            struct.pack_into(order + "8h", header, 40, 3, 9, 2, 3, 1, 1, 1, 1)
            struct.pack_into(order + "hh", header, 70, kind, 16)
            struct.pack_into(order + "8f", header, 76, 1, 0.5, 0.75, 2, 1, 1, 1, 1)
            struct.pack_into(order + "f", header, 108, 352.0)
            header[344:348] = b"n+1\0"
            made = self.labelled(self.write("w.nii", bytes(header) + bytes(4 + 108)))
            self.assertEqual(struct.unpack_from(order + "3f", made, 80), (0.5, 0.75, 2))
            self.assertEqual(struct.unpack_from(order + "hh", made, 70), (2, 8))
        self.assertEqual(self.labelled(self.write("v.raw", bytes(108)), "--size", "9,2,3")[40:48], struct.pack("<4h", 3, 9, 2, 3))
        # x along the patient's left, y upwards, z to the back: steps of 0.5, 0.75 and 2 mm
        text = (b"ObjectType = Image\nNDims = 3\nDimSize = 9 2 3\nElementSpacing = 0.5 0.75 2\nOffset = 10 20 30\n"
                b"TransformMatrix = 1 0 0 0 0 1 0 1 0\nElementType = MET_SHORT\nElementDataFile = LOCAL\n")
        made = self.labelled(self.write("v.mha", text + bytes(range(108))))
        self.assertEqual(struct.unpack_from("<3f", made, 80), (0.5, 0.75, 2))
        self.assertEqual(struct.unpack_from("<hh", made, 252), (0, 1))
        self.assertEqual(struct.unpack_from("<12f", made, 280), (-0.5, 0, 0, -10, 0, 0, -2, -20, 0, 0.75, 0, 30))

    def test_sources_refused(self):
        bits, out = self.write("l.bits", bytes(12)), os.path.join(self.folder.name, "l.nii")
        for path, sentence in ((self.write("a.mha", b"NDims = 3\n"), "it is not MetaImage of three dimensions: DimSize is wanted"),
                               (self.write("b.mhd", b"DimSize = 9 two 3\n"), "DimSize has 3 numbers in MetaImage"),
                               (self.write("c.nii", b""), "it is not a single file of NIfTI-1"),
                               (self.path + ".none", "No such file or directory")):
            done = self.run_tool("volume", path, bits, out)
            self.assertEqual(done.returncode, 1)
            self.assertIn(sentence, done.stderr)
        for size, sentence in (("9,2", "9,2: X,Y,Z is allowed, such as 128,128,128"),
                               ("32768,1,1", "NIfTI-1 has room for 32767 voxels along an axis; there are 32768 x 1 x 1")):
            self.assertIn(sentence, self.run_tool("volume", self.path, bits, out, "--size", size).stderr)
        self.assertFalse(os.path.exists(out))

    @unittest.skipUnless(sys.platform == "linux", "limits of memory are those of Linux")
    def test_more_than_memory(self):
        """A volume of 256 MiB, whose labels have 32 MiB, in 48 MiB of memory."""
        raw, bits = (os.path.join(self.folder.name, name) for name in ("big.raw", "big.bits"))
        for path, size in ((raw, 1 << 28), (bits, 1 << 25)):
            with open(path, "wb") as f:
                f.truncate(size)
        code = ("import resource, runpy, sys; resource.setrlimit(resource.RLIMIT_DATA, (48 << 20,) * 2); "
                "runpy.run_path(sys.argv[0], run_name='__main__')")
        tool, out = os.path.join(TOOL, "trigmodel"), os.path.join(self.folder.name, "big.nii")
        done = subprocess.run([sys.executable, "-c", f"import sys; sys.argv = sys.argv[1:]; sys.path.insert(0, {TOOL!r}); " + code, tool,
                               "volume", raw, bits, out, "--size", "512,512,1024"], text=True, capture_output=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(os.path.getsize(out), 352 + (1 << 28))

    def test_show(self):
        done = self.run_tool("show", os.path.join(HERE, "..", "..", "plugins", "voxels", "models",
                                                  "mni-grey.model"))
        self.assertEqual(done.returncode, 0)
        self.assertIn("stumps      240, constant 101", done.stdout)
        done = self.run_tool("show", os.path.join(HERE, "golden", "xgboost.json"))
        self.assertEqual(done.returncode, 1)
        self.assertIn("line 1: a model begins with 'trigd-voxel-model 1'", done.stderr)


if __name__ == "__main__":
    unittest.main()
