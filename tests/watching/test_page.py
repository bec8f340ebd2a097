#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_page.py BUILD [--shots FOLDER]: the page of a running daemon in a headless Chromium: numbers as `show` has
them, nothing from elsewhere, no JavaScript, keyboard, screen reader.  Exit code 77: there is no Chromium."""
import os
import sys
import unittest

import chromium
import daemon

SHOTS = sys.argv[sys.argv.index("--shots") + 1] if "--shots" in sys.argv else None
# the tables whose numbers stand still when nothing comes, and are all of the page's own daemon
TABLES = ["ledger", "chains", "lanes", "latency", "streams", "devices", "workers"]
CELLS = """(() => { const table = [...document.querySelectorAll('table')].find((t) => t.caption?.textContent === 'show NAME');
  return [...table.rows].map((row) => [...row.cells].map((cell) =>
    [...cell.childNodes].filter((n) => n.nodeType === 3).map((n) => n.data).join(''))); })()"""


class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = daemon.Daemon(sys.argv[1])
        cls.addClassCleanup(cls.daemon.close)
        cls.daemon.replay(500)
        cls.browser = chromium.Browser().__enter__()
        cls.addClassCleanup(cls.browser.__exit__)

    def compare(self, why):
        for name in TABLES:
            wanted = self.daemon.show(f"show {name} csv")
            if wanted[1:]:
                self.assertEqual(self.browser.evaluate(CELLS.replace("NAME", name)), wanted, f"{why}: show {name}")

    def problems(self):
        """What the browser complained of, policy and exceptions included."""
        return [e["params"] for e in self.browser.events if e.get("method") in ("Log.entryAdded", "Runtime.exceptionThrown")]

    def test_1_numbers_are_those_of_show(self):
        browser = self.browser
        browser.open(self.daemon.url + "/")
        browser.wait("document.getElementById('live').textContent === 'live'")
        self.compare("after a second")
        self.daemon.replay(300)  # the page follows
        browser.wait(CELLS.replace("NAME", "ledger") + "[1][0] === '800'")
        self.compare("after more")
        self.assertEqual(browser.evaluate("document.title"), "trigd: ready")
        self.assertEqual(browser.evaluate("document.querySelectorAll('svg').length"), 3)
        self.assertIn("low", browser.evaluate("[...document.querySelectorAll('td.low')].map((e) => e.textContent)"))
        self.assertEqual(self.problems(), [])
        hosts = {e["params"]["request"]["url"].split("/")[2] for e in browser.events
                 if e.get("method") == "Network.requestWillBeSent" and e["params"]["request"]["url"].startswith("http")}
        self.assertEqual(hosts, {self.daemon.url.split("/")[2]})
        if SHOTS:
            browser.screenshot(os.path.join(SHOTS, "page.png"), 1000)

    def test_2_the_policy_holds(self):
        browser = self.browser
        browser.open(self.daemon.url + "/")
        browser.evaluate("{ const s = document.createElement('script'); s.textContent = 'window.ran = 1'; document.body.append(s); 0 }")
        self.assertIsNone(browser.evaluate("window.ran"))
        self.assertTrue(any("Content Security Policy" in str(p) for p in self.problems()))

    def test_3_readable_without_javascript(self):
        browser = self.browser
        browser.scripts(False)
        self.addCleanup(browser.scripts, True)
        browser.open(self.daemon.url + "/?window=60s")
        self.compare("without JavaScript")
        self.assertTrue(browser.evaluate("document.getElementById('pause').hidden"))
        self.assertEqual(browser.evaluate("document.querySelector('nav [aria-current]').textContent"), "60s")

    def test_4_keyboard(self):
        browser = self.browser
        browser.open(self.daemon.url + "/")
        browser.key("Tab")
        self.assertEqual(browser.evaluate("document.activeElement.className"), "skip")
        seen = []
        for _ in range(6):
            browser.key("Tab")
            seen.append(browser.evaluate("document.activeElement.id || document.activeElement.textContent.slice(0, 9)"))
        self.assertEqual(seen[:4], ["1s", "10s", "60s", "pause"])
        browser.evaluate("document.getElementById('pause').focus(); 0")
        browser.key("Enter")
        browser.evaluate("document.getElementById('pause').click(); 0")
        self.assertEqual(browser.evaluate("document.getElementById('pause').getAttribute('aria-pressed')"), "true")
        self.assertEqual(browser.evaluate("document.getElementById('live').textContent"), "paused")

    def test_5_screen_reader(self):
        browser = self.browser
        browser.open(self.daemon.url + "/")
        tree = browser.call("Accessibility.getFullAXTree")["nodes"]
        named = {}
        for node in tree:
            if not node.get("ignored"):
                named.setdefault(node["role"]["value"], []).append(node.get("name", {}).get("value", ""))
        for role, least in (("table", 10), ("image", 3), ("region", 10), ("heading", 8), ("navigation", 1), ("status", 0)):
            self.assertGreaterEqual(len(named.get(role, [])), least, role)
            if role != "status":
                self.assertTrue(all(named[role]), f"{role} without a name: {named[role]}")
        self.assertIn("main", named)
        self.assertGreater(len(named["rowheader"]), 5)
        self.assertTrue(any("received" in name and "at most" in name for name in named["image"]))

    def test_6_an_end_is_said(self):
        browser = self.browser
        browser.open(self.daemon.url + "/")
        self.daemon.stop()
        browser.wait("document.getElementById('live').textContent.startsWith('no answer since')")
        self.assertTrue(browser.evaluate("document.getElementById('live').classList.contains('alert')"))


if __name__ == "__main__":
    if not chromium.find():
        print("skipped: there is no chromium (tools/setup check installs it)")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1], verbosity=2)
