#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_declare.py TRG_DECLARE: what trg_declare.py says of each bad declaration, and that it leaves its output alone."""
import importlib.util
import os
import random
import subprocess
import sys
import tempfile
import unittest

DECLARE = os.path.abspath(sys.argv.pop())
spec = importlib.util.spec_from_file_location("trg_declare", DECLARE)
declare = importlib.util.module_from_spec(spec)
spec.loader.exec_module(declare)
HEAD = "collection: towers\ndoc: Towers.\nroom: 8\n"
GOOD = HEAD + "columns:\n  - {name: et, type: f32, unit: GeV, min: 0, doc: energy}\n"


def column(text):
    return HEAD + "columns:\n  - {" + text + "}\n"


def coded(text):
    return column("name: et, type: f32, min: 0, max: 100, encoding: {" + text + "}, doc: e")


BAD = [  # declaration, line, sentence
    ("", 1, "the file is empty; the keys collection, doc, room, columns are needed"),
    ("a: [\n", 2, "not YAML: "),
    ("[1, 2]\n", 1, "a collection has the keys collection, doc, room, columns; this is 'a list'"),
    (GOOD + "rooms: 3\n", 6, "unknown key 'rooms' of a collection; did you mean 'room'? allowed are"),
    (GOOD + "zzz: 3\n", 6, "unknown key 'zzz' of a collection; allowed are collection, doc, room, columns"),
    (GOOD + "room: 3\n", 6, "key 'room' of a collection is there twice"),
    (GOOD.replace("room: 8\n", ""), 1, "a collection has no 'room'; needed are collection, doc, room, columns"),
    (GOOD.replace("room: 8", "room: 0"), 3, "room is '0'; a whole number of 1 to 16777216 is allowed"),
    (GOOD.replace("towers", "Towers"), 1, "a collection is called 'Towers'; allowed are lower-case letters"),
    (GOOD.replace("towers", "t_"), 1, "a collection is called 't_'; allowed are"),
    (GOOD.replace("towers", "t" * 32), 1, "a collection is called '" + "t" * 32),
    (GOOD.replace("Towers.", "'a */ b'"), 2, "doc is 'a */ b'; one line of 1 to 120 ASCII characters"),
    (GOOD.replace("Towers.", "\"two\\nlines\""), 2, "doc is"),
    (HEAD + "columns: {a: b}\n", 4, "columns is 'keys'; a list of 1 to 16 is allowed"),
    (HEAD + "columns: all\n", 4, "columns is 'all'; a list of 1 to 16 is allowed"),
    (HEAD + "columns: []\n", 4, "columns has 0 entries; a list of 1 to 16 is allowed"),
    (HEAD + "columns:\n" + "".join(f"  - {{name: c{n}, type: u8, doc: c}}\n" for n in range(17)), 5,
     "columns has 17 entries; a list of 1 to 16 is allowed"),
    (HEAD + "columns:\n  - 3\n", 5, "a column has the keys name, type, doc, unit, min, max, encoding; this is '3'"),
    (column("name: et, type: f32"), 5, "a column has no 'doc'; needed are name, type, doc"),
    (column("name: et_out, type: f32, doc: e"), 5, "a column is called 'et_out'; a name may not end in _out, _of"),
    (column("name: [a], type: f32, doc: e"), 5, "a column is called 'a list'"),
    (column("name: et, type: f64, doc: e"), 5, "unknown type 'f64'; allowed are u8, u16, u32, i8, i16, i32, f16, f32, "
     "and vectors of them such as f32[3]"),
    (column("name: et, type: 'f32[65]', doc: e"), 5, "a vector of 65 values; 2 to 64 are allowed"),
    (column("name: et, type: 'f32[1]', doc: e"), 5, "a vector of 1 values; 2 to 64 are allowed"),
    (column("name: et, type: u8, min: 256, doc: e"), 5, "min is '256'; a whole number of 0 to 255 is allowed"),
    (column("name: et, type: u8, min: 1.5, doc: e"), 5, "min is '1.5'; a whole number of 0 to 255 is allowed"),
    (column("name: et, type: i8, min: 5, max: 4, doc: e"), 5, "max is '4'; a whole number of 5 to 127 is allowed"),
    (column("name: et, type: f32, min: .nan, doc: e"), 5, "min is '.nan'; a number of"),
    (column("name: et, type: f32, min: nan, doc: e"), 5, "min is 'nan'; a number of"),
    (column("name: et, type: f32, max: inf, doc: e"), 5, "max is 'inf'; a number of"),
    (column("name: et, type: f32, max: max_layer, doc: e"), 5, "max is 'max_layer', which is for columns of the types "
     "u8 and u16"),
    (column("name: et, type: f16, encoding: u16, doc: e"), 5, "column et of type f16 has an encoding; columns of f32 may "
     "have one"),
    (column("name: et, type: f32, encoding: u8, doc: e"), 5, "encoding 'u8' of column et; u16, or {type: u16, offset: "),
    (coded("type: i16, offset: 0, step: 1"), 5, "encoding 'i16' of column et; u16, or"),
    (coded("type: u16"), 5, "an encoding has no 'offset'; needed are type, offset, step"),
    (coded("type: u16, offset: 0"), 5, "an encoding has no 'step'; needed are type, offset, step"),
    (coded("type: u16, offset: 0, step: 1, scale: 2"), 5, "unknown key 'scale' of an encoding"),
    (coded("type: u16, offset: 0, step: 0"), 5, "step is '0'; a number above 0 is allowed"),
    (coded("type: u16, offset: 0, step: -0.5"), 5, "step is '-0.5'; a number above 0 is allowed"),
    (coded("type: u16, offset: 0, step: 1e-50"), 5, "step is '1e-50'; a number above 0 is allowed"),
    (coded("type: u16, offset: .nan, step: 1"), 5, "offset is '.nan'; a number of -3.40282347e+38 to"),
    (coded("type: u16, offset: nan, step: 1"), 5, "offset is 'nan'; a number of -3.40282347e+38 to"),
    (coded("type: u16, offset: 0, step: inf"), 5, "step is 'inf'; a number of"),
    (coded("type: u16, offset: 1e39, step: 1"), 5, "offset is '1e39'; a number of -3.40282347e+38 to 3.40282347e+38"),
    (coded("type: u16, offset: 3e38, step: 1e34"), 5, "offset 3e+38 and step 1e+34 reach 9.5535e+38 in 65535 steps; at most "
     "3.40282e+38 is allowed"),
    (coded("type: u16, offset: -3e38, step: 1e34"), 5, "offset -3e+38 and step 1e+34 reach"),
    (coded("type: u16, offset: 101, step: 1"), 5, "offset 101 and step 1 reach from 101 to 65636; column et allows 0 to 100"),
    (coded("type: u16, offset: -70000, step: 1"), 5, "offset -70000 and step 1 reach from -70000 to -4465; column et allows"),
    (column("name: et, type: f32, unit: '', doc: e"), 5, "unit is ''; one line of 1 to 15 ASCII characters"),
    (GOOD + "  - {name: et, type: u8, doc: e}\n", 6, "column et is there twice"),
]


class Declare(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name, text=None):
        path = os.path.join(self.folder.name, name)
        if text is not None:
            with open(path, "w", encoding="utf-8") as f:
                f.write(text)
        return path

    def run_it(self, *arguments):
        return subprocess.run([sys.executable, DECLARE, *arguments], capture_output=True, text=True, check=False)

    def test_bad(self):
        for text, line, sentence in BAD:
            with self.subTest(text=text):
                path = self.path("towers.yaml", text)
                with self.assertRaises((declare.Wrong, SystemExit)) as caught:
                    declare.declaration(path)
                self.assertIn(f"{path}:{line}: {sentence}", str(caught.exception))
                self.assertNotIn("\n", str(caught.exception))

    def test_any_text(self):
        """Random changes of a good declaration are taken or refused with file and line, never anything else."""
        seed = int(os.environ.get("TRIGD_SEED") or random.SystemRandom().getrandbits(64))
        print(f"TRIGD_SEED={seed}")
        numbers = random.Random(seed)
        pieces = ["{", "}", "[", "]", ": ", "- ", "\n", "  ", "#", "&a", "*a", "!!int ", "1e999", "-1", "nan", "\u00e9", "\x07", "'", '"',
                  "f32[3]", "f16[99999]", "max_layer", "min: ", "columns:", "? ", "%", "@", "<<: ", "0x7f", "1_000", "~"]
        for _ in range(400):
            text = GOOD
            for _ in range(numbers.randint(1, 4)):
                at, n = numbers.randrange(len(text) + 1), numbers.choice((0, 0, 1, 5))
                text = text[:at] + numbers.choice(pieces) + text[at + n:]
            path = self.path("towers.yaml", text)
            try:
                d = declare.declaration(path)
                self.assertEqual(len("\n".join(declare.file_text([d]))) > 0, True)
            except (declare.Wrong, SystemExit) as e:
                self.assertRegex(str(e), r"towers\.yaml:\d+: .", text)
                self.assertNotIn("\n", str(e), text)

    def test_refused(self):
        done = self.run_it("header", self.path("out.h"), self.path("towers.yaml", column("name: et, type: u9, doc: e")))
        self.assertEqual(done.returncode, 1)
        self.assertIn("towers.yaml:5: unknown type 'u9'", done.stderr)
        self.assertFalse(os.path.exists(self.path("out.h")))

    def test_twice(self):
        done = self.run_it("header", self.path("out.h"), self.path("a.yaml", GOOD), self.path("b.yaml", GOOD))
        self.assertIn("b.yaml:1: collection towers is declared in another of these files, too", done.stderr)

    def test_no_file(self):
        done = self.run_it("header", self.path("out.h"), self.path("none.yaml"))
        self.assertIn("none.yaml: No such file", done.stderr)

    def test_unchanged_output_is_left_alone(self):
        path, out = self.path("towers.yaml", GOOD), self.path("out.h")
        self.assertEqual(self.run_it("header", out, path).returncode, 0)
        os.utime(out, (1, 1))
        self.assertEqual(self.run_it("header", out, path).returncode, 0)
        self.assertEqual(os.stat(out).st_mtime, 1)
        self.path("towers.yaml", GOOD.replace("GeV", "MeV"))
        self.assertEqual(self.run_it("header", out, path).returncode, 0)
        self.assertNotEqual(os.stat(out).st_mtime, 1)

    def test_encoding(self):
        """Its place among columns is free; only offset and step change the hash of what was declared before."""
        plain = declare.declaration(self.path("a.yaml", column("name: et, type: f32, encoding: u16, doc: e")))
        d = declare.declaration(self.path("b.yaml", GOOD + "  - {name: n, type: 'f32[2]', encoding: {type: u16, offset: "
                                          "-1.5, step: 0.0001}, doc: e}\n"))
        self.assertEqual(plain["columns"][0]["encoding"], (0.0, 0.0))
        self.assertEqual(d["columns"][1]["encoding"], (-1.5, 9.999999747378752e-05))  # of single precision
        text = "\n".join(declare.file_text([d]))
        self.assertIn("{-1.500000000e+00f, 9.999999747e-05f},", text)
        self.assertIn("{0.000000000e+00f, 0.000000000e+00f},", text)
        self.assertNotIn("trg_encoding", "\n".join(declare.file_text([plain])))
        self.assertIn("| `n` | f32[2], u16 with -1.5 + 0.0001 n |", "\n".join(declare.docs([d])))
        hashes = {declare.hash_of(d)}
        d["columns"][1]["encoding"] = (-1.5, 0.5)
        hashes.add(declare.hash_of(d))
        d["columns"][1]["encoding"] = (0.0, 0.0)
        hashes.add(declare.hash_of(d))
        self.assertEqual(len(hashes), 3)

    def test_page(self):
        path = self.path("towers.yaml", GOOD)
        page = self.path("page.md", "no marks\n")
        self.assertIn("lacks the lines", self.run_it("docs", page, path).stderr)
        marks = "<!-- collections: made by `make docs-collections` -->\n<!-- end of collections -->\n"
        page = self.path("page.md", "before\n" + marks + "after\n")
        self.assertIn("is out of date", self.run_it("docs", "--check", page, path).stderr)
        self.assertEqual(self.run_it("docs", page, path).returncode, 0)
        self.assertEqual(self.run_it("docs", "--check", page, path).returncode, 0)
        with open(page, encoding="utf-8") as f:
            text = f.read()
        self.assertIn("| `et` | f32 | GeV | 0 or more | energy |", text)
        self.assertTrue(text.startswith("before\n") and text.endswith("after\n"))


if __name__ == "__main__":
    unittest.main()
