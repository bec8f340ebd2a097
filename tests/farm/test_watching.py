#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_watching.py BUILD: a supervisor with two nodes, one of them with two shards, on its page and in `trigctl --farm top`:
each number is that of `show`, also while a node is drained and after one was killed.  It runs for some three seconds: five
processes begin, and a node is lost after a second without heartbeats."""
import html.parser
import os
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "watching"))
import daemon  # noqa: E402

LIMIT_S = 60
MOVES = {"clock_ms", "rate_per_s"}  # of `show nodes`, also when no RoI comes


class Program(daemon.Daemon):
    """trigsup or trigd in a folder of the farm."""

    def __init__(self, build, folder, name, program, config):
        self.build, self.folder = build, folder
        self.socket = os.path.join(folder.name, f"{name}.ctl")
        self.log = open(os.path.join(folder.name, f"{name}.log"), "w+b")
        path = os.path.join(folder.name, f"{name}.yaml")
        with open(path, "w") as out:
            out.write(f"menu: menu.yaml\ncontrol: {{socket: {name}.ctl}}\nstate_dir: {name}.state\n{config}")
        self.process = subprocess.Popen([self.program(program), "--config", path], stderr=self.log)

    def close(self):
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait(LIMIT_S)
        self.log.close()


class Page(html.parser.HTMLParser):
    """Tables by caption, as rows of cells, and the heat map: class and lines of each node."""

    def __init__(self, text):
        super().__init__()
        self.tables, self.heat = {}, []
        self.rows = self.caption = self.cell = self.node = None
        self.is_heat = False
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        if tag == "table":
            self.rows, self.caption = [], None
        elif tag == "caption":
            self.caption = ""
        elif tag == "tr" and self.rows is not None:
            self.rows.append([])
        elif tag in ("td", "th") and self.rows:
            self.cell = ""
        elif tag == "ol":
            self.is_heat = attributes.get("class") == "heat"
        elif tag == "li" and self.is_heat:
            self.node = [attributes["class"], ""]
            self.heat.append(self.node)
        elif tag == "br" and self.node:
            self.node.append("")
        elif tag == "meter" and self.node:
            self.node[-1] = (attributes["value"], attributes["max"])  # after a break

    def handle_endtag(self, tag):
        if tag == "caption":
            self.tables[self.caption] = self.rows
            self.caption = None
        elif tag in ("td", "th") and self.cell is not None:
            self.rows[-1].append(self.cell)
            self.cell = None
        elif tag == "li":
            self.node = None
        elif tag == "ol":
            self.is_heat = False

    def handle_data(self, data):
        if self.cell is not None:
            self.cell += data
        elif self.caption is not None:
            self.caption += data
        elif self.node and isinstance(self.node[-1], str):
            self.node[-1] += data


class Farm(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        build, cls.folder = os.path.abspath(sys.argv[1]), tempfile.TemporaryDirectory(prefix="trigd-farm-")
        cls.addClassCleanup(cls.folder.cleanup)
        at = cls.folder.name
        with open(os.path.join(at, "menu.yaml"), "w") as out:
            out.write(daemon.MENU)
        cls.supervisor = Program(build, cls.folder, "s", "trigsup", f"""endpoints: ["ipc://{at}/in"]
http: {{address: 127.0.0.1, port: 0}}
farm: {{name: s, endpoint: "ipc://{at}/nodes", heartbeat_ms: 50, lost_beats: 20, forget_ms: 600000}}
""")
        cls.addClassCleanup(cls.supervisor.close)
        cls.nodes = []
        for i, name in enumerate(("n1", "n2"), 1):
            cls.nodes.append(Program(build, cls.folder, name, "trigd", f"""endpoints: ["ipc://{at}/{name}"]
devices: [{{backend: cpu, lanes: 1}}]
http: {{address: ""}}
threads: {{shards: {i}}}
clients: {{credits: {100 * i}}}
supervisor: {{name: {name}, endpoints: "ipc://{at}/nodes"}}
"""))
            cls.addClassCleanup(cls.nodes[-1].close)
        cls.url = cls.supervisor.wait_for(rb"url=(http://\S+)/metrics").decode()
        cls.until(lambda: cls.state_of("n1") == cls.state_of("n2") == "serving")
        cls.supervisor.replay(300)

    @staticmethod
    def until(is_so):
        end = time.monotonic() + LIMIT_S
        while not is_so():
            if time.monotonic() > end:
                raise TimeoutError("it did not come about")
            time.sleep(0.05)

    @classmethod
    def table(cls, name):
        """Rows of `show NAME` as dictionaries."""
        head, *rows = cls.supervisor.show(f"show {name} csv")
        return [dict(zip(head, row)) for row in rows]

    @classmethod
    def state_of(cls, node):
        return next((row["state"] for row in cls.table("nodes") if row["node"] == node), "")

    def same_twice(self, look):
        """What `look` gives, from between two equal answers of `show nodes`: nothing changed meanwhile."""
        end = time.monotonic() + LIMIT_S
        while time.monotonic() < end:
            before, seen, after = self.table("nodes"), look(), self.table("nodes")
            still = [[{k: v for k, v in row.items() if k not in MOVES} for row in t] for t in (before, after)]
            if still[0] == still[1]:
                return still[0], seen
        raise TimeoutError("the nodes do not stand still")

    def check_page(self, states):
        def load():
            with urllib.request.urlopen(self.url + "/", timeout=LIMIT_S) as answer:
                return Page(answer.read().decode())
        nodes, page = self.same_twice(load)
        self.assertEqual({n["node"]: n["state"] for n in nodes}, states)
        head, *rows = page.tables["show nodes"]
        shown = [{k: v for k, v in zip(head, row) if k not in MOVES} for row in rows]
        self.assertEqual(shown, nodes)
        head, *rows = page.tables["show farm"]
        self.assertEqual([dict(zip(head, row)) for row in rows], self.table("farm"))
        self.assertEqual(page.tables["show ledger"], self.supervisor.show("show ledger csv"))
        self.assertEqual(page.heat, [["free" if n["state"] == "serving" else "down", n["node"],
                                      f"{n['state']}, {n['in_flight']} of {n['credits']}", (n["in_flight"], n["credits"])] for n in nodes])

    def check_top(self):
        def look():
            text = subprocess.run([self.supervisor.program("trigctl"), "--farm", "top", "--once"], check=True, capture_output=True,
                                  text=True, env={**os.environ, "TRIGSUP_SOCKET": self.supervisor.socket}).stdout
            return text.splitlines()
        nodes, lines = self.same_twice(look)
        shown = {line.split()[0]: line.split() for line in lines if line.split()[:1] in (["n1"], ["n2"])}
        self.assertEqual(sorted(shown), sorted(n["node"] for n in nodes))
        for n in nodes:
            row = shown[n["node"]]
            self.assertEqual([row[1], row[2], row[3]], [n["state"], n["in_flight"], n["credits"]])
            self.assertEqual([float(v) for v in row[-2:]], [float(n["answered"]), float(n["lost"])], row)  # below 1,000: as they are
        ledger = self.table("ledger")[0]
        self.assertIn(f"{ledger['received']} received = {ledger['accepted']} accepted", "\n".join(lines))

    def check(self, **states):
        for node, state in states.items():
            self.until(lambda: self.state_of(node) == state)
        self.check_page(states)
        self.check_top()

    def test_1_nodes_serve(self):
        self.check(n1="serving", n2="serving")
        nodes = {n["node"]: n for n in self.table("nodes")}
        self.assertEqual([nodes["n1"]["shards"], nodes["n2"]["shards"]], ["1", "2"])
        self.assertEqual(sum(int(n["answered"]) for n in nodes.values()), 300)

    def test_2_a_node_is_drained(self):
        self.supervisor.ask("drain node n1")
        self.check(n1="drained", n2="serving")
        self.supervisor.replay(200)
        self.check(n1="drained", n2="serving")
        self.supervisor.ask("resume node n1")
        self.check(n1="serving", n2="serving")

    def test_3_a_node_is_killed(self):
        self.nodes[1].process.kill()
        self.check(n1="serving", n2="lost")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
