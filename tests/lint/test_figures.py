#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_figures.py REPORT: tools/report/figures finds what it is for, and docs/figures.toml is checked."""
import importlib.machinery
import importlib.util
import os
import sys
import tempfile
import unittest

REPORT = sys.argv.pop(1)
sys.dont_write_bytecode = True
sys.path.insert(0, REPORT)
import results  # noqa: E402

LOADER = importlib.machinery.SourceFileLoader("figures", os.path.join(REPORT, "figures"))
figures = importlib.util.module_from_spec(importlib.util.spec_from_loader("figures", LOADER))
LOADER.exec_module(figures)

LINE = ('{"bench": "b", "figure": "f", "value": %s, "unit": "us", "better": "lower", "machine": "m", "device": "d", '
        '"commit": "c", "date": "%s", "command": "x", "baseline": {"name": "n", "value": 500}}\n')
NAMES = '[a.f]\nfigure = ["b", "m", "d", "f"]\n'


class Folder(unittest.TestCase):
    """A results folder of two lines of one figure, of which the second is newer."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.write("r.jsonl", LINE % (100, "2026-01-01") + LINE % (2004.7, "2026-01-02"))
        self.write("t.txt", "measured 42 once\n")

    def tearDown(self):
        self.folder.cleanup()

    def write(self, name, text):
        path = os.path.join(self.folder.name, name)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        return path

    def read(self, names=NAMES):
        return results.Figures(self.folder.name, self.write("figures.toml", names))

    def value(self, lines):
        return self.read(NAMES + "[a.x]\n" + lines).find("", "a.x").value

    def findings(self, text, path="docs/a.md"):
        return list(figures.check(path, text, self.read()))


class Results(Folder):
    def test_newest(self):
        self.assertEqual(self.read().find("", "a.f").value, 2004.7)

    def newest(self, *dates):
        """Which of some lines counts: its value is its number."""
        self.write("r.jsonl", "".join(LINE % (n, date) for n, date in enumerate(dates, 1)))
        return self.read().find("", "a.f").value

    def test_days_without_a_time(self):
        """Of one day, with a time or without, the later line counts."""
        self.assertEqual(self.newest("2026-01-01T10:00:00Z", "2026-01-01"), 2)
        self.assertEqual(self.newest("2026-01-01", "2026-01-01T10:00:00Z"), 2)
        self.assertEqual(self.newest("2026-01-02", "2026-01-01T10:00:00Z"), 1)
        self.assertEqual(self.newest("2026-01-01T10:00:00Z", "2026-01-01T09:00:00Z"), 1)
        with self.assertRaisesRegex(results.Wrong, "r.jsonl:1: 'date' is 'yesterday'"):
            self.newest("yesterday")

    def test_derived(self):
        self.assertEqual(self.value('value = 8\nsource = "s"\nover = "a.f"'), 8 / 2004.7)
        self.assertEqual(self.value('figure = ["b", "m", "d", "f"]\nover = "baseline"'), 2004.7 / 500)
        self.assertEqual(self.value('figure = ["b", "m", "d", "f"]\nbaseline = true\ntimes = 2'), 1000)
        self.assertEqual(self.value('value = 42\nfile = "t.txt"'), 42)

    def test_wrong(self):
        for lines in ('value = 43\nfile = "t.txt"', 'value = 1', 'figure = ["b", "m", "d", "g"]', 'over = "a.x"',
                      'value = 1\nsource = "s"\nover = "a.x"', 'value = 1\nsource = "s"\ngoal = "g"',
                      'value = 1\nsource = "s"\nspeling = 1'):
            with self.assertRaises(results.Wrong, msg=lines):
                self.value(lines)

    def test_goal(self):
        for bar, met in (("at_least = 2004", True), ("at_least = 2005", False), ("at_most = 2005", True)):
            figure = self.read(NAMES + 'goal = "g"\n' + bar).find("", "a.f")
            self.assertEqual(figure.met(), met)


class Pages(Folder):
    def test_rounding(self):
        for text in ("2,004.7", "2,005", "2,000", "2005"):
            self.assertEqual(self.findings(f"{text}<!--a.f--> us"), [], text)
        for text in ("2,004", "2,006", "2,100", "1,900", "2,004.6"):
            self.assertEqual(len(self.findings(f"{text}<!--a.f--> us")), 1, text)

    def test_unknown(self):
        with self.assertRaises(results.Wrong):
            self.findings("1<!--a.g-->")

    def test_closed(self):
        self.assertEqual(len(self.findings("it takes 3 us and 5 ms", "README.md")), 2)
        self.assertEqual(self.findings("it takes 3 us <!--no figure: an example-->", "README.md"), [])
        self.assertEqual(self.findings("    output of 3 us", "README.md"), [])
        self.assertEqual(self.findings("it takes 3 us", "docs/a.md"), [])

    def test_written(self):
        for value, like, text in ((2004.7, "1,900", "2,000"), (2004.7, "1,903", "2,005"), (0.24743, "0.30", "0.25"),
                                  (469200.0, "478,000", "469,000"), (12.34, "9.9", "12")):
            self.assertEqual(figures.written(value, like), text)


if __name__ == "__main__":
    unittest.main()
