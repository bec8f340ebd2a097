#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_dashboards.py BUILD: every metric and label of the alert rules and of the Grafana dashboard is one of a
running daemon's /metrics, which promtool accepts."""
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import time
import unittest
import urllib.request

import daemon

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

METRIC = re.compile(r"\b(trigd_[a-z0-9_]+)(?:\{([^}]*)\})?")
FROM_SCRAPE = {"instance", "job"}  # Prometheus's own labels


def rules():
    """(where, expression) of each rule."""
    for path in glob.glob(os.path.join(SOURCE, "packaging", "prometheus", "*.yml")):
        with open(path) as text:
            for line in text:
                if line.strip().startswith("expr: "):
                    yield os.path.basename(path), line.split("expr: ", 1)[1].strip()


def panels():
    for path in glob.glob(os.path.join(SOURCE, "packaging", "grafana", "*.json")):
        with open(path) as text:
            board = json.load(text)
        for panel in board["panels"]:
            for target in panel["targets"]:
                yield f"{os.path.basename(path)}: {panel['title']}", target["expr"]
        for variable in board["templating"]["list"]:
            if variable["type"] == "query":
                yield f"{os.path.basename(path)}: ${variable['name']}", variable["query"]


class Dashboards(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = daemon.Daemon(sys.argv[1])
        cls.addClassCleanup(cls.daemon.close)
        client = cls.daemon.client()
        cls.page = ""
        for _ in range(200):  # until the client is among the rates
            with urllib.request.urlopen(cls.daemon.url + "/metrics", timeout=20) as answer:
                cls.page = answer.read().decode()
            if "trigd_client_received_rate{" in cls.page:
                break
            time.sleep(0.1)
        client.kill()
        client.wait()
        cls.labels = {}
        for line in cls.page.splitlines():
            if not line.startswith("#"):
                name, labels = re.match(r"([a-z0-9_]+)(?:\{(.*)\})? ", line).groups()
                cls.labels.setdefault(name, set()).update(re.findall(r'(\w+)="', labels or ""))

    def test_metrics_are_those_of_the_daemon(self):
        for expressions, least in ((rules, 15), (panels, 25)):
            known = 0
            for where, expression in expressions():
                for name, matchers in METRIC.findall(expression):
                    self.assertIn(name, self.labels, f"{where}: the daemon has no such metric")
                    used = set(re.findall(r"(\w+)\s*(?:=|!=|=~|!~)\s*\"", matchers))
                    self.assertLessEqual(used - FROM_SCRAPE, self.labels[name], f"{where}: {name} has no such label")
                    known += 1
            self.assertGreaterEqual(known, least)

    def test_a_wrong_name_is_found(self):
        self.assertNotIn("trigd_recieved_total", self.labels)
        self.assertEqual(METRIC.findall('rate(trigd_recieved_total{stage="x"}[1m])'), [("trigd_recieved_total", 'stage="x"')])

    def test_promtool_accepts_both(self):
        if not shutil.which("promtool"):
            self.skipTest("there is no promtool (tools/setup check installs it)")
        subprocess.run(["promtool", "check", "metrics"], input=self.page, text=True, check=True, stdout=subprocess.DEVNULL)
        for path in glob.glob(os.path.join(SOURCE, "packaging", "prometheus", "*.yml")):
            subprocess.run(["promtool", "check", "rules", path], check=True, stdout=subprocess.DEVNULL)

    def test_units_and_places_of_panels(self):
        for path in glob.glob(os.path.join(SOURCE, "packaging", "grafana", "*.json")):
            with open(path) as text:
                places = [p["gridPos"] for p in json.load(text)["panels"]]
            cells = [(x, y) for p in places for x in range(p["x"], p["x"] + p["w"]) for y in range(p["y"], p["y"] + p["h"])]
            self.assertEqual(len(cells), len(set(cells)), f"{path}: panels overlap")
            self.assertLess(max(x for x, _ in cells), 24)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
