#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_top.py BUILD: `trigctl top` once, and in a terminal: what it shows, its keys, its end."""
import os
import pty
import select
import subprocess
import sys
import time
import unittest

import daemon


class Terminal:
    """trigctl top in a terminal of its own; `text` has all that came."""

    def __init__(self, node):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ.update(TERM="xterm", LINES="40", COLUMNS="140", LC_ALL="C.UTF-8")
            os.execv(node.program("trigctl"), ["trigctl", "--socket", node.socket, "top"])
        self.text = ""

    def wait(self, what, since=0):
        end = time.monotonic() + 20
        while what not in self.text[since:]:
            if time.monotonic() > end:
                raise TimeoutError(f"{what!r} did not come: {self.text[-2000:]!r}")
            if select.select([self.fd], [], [], 0.2)[0]:
                self.text += os.read(self.fd, 1 << 16).decode(errors="replace")

    def key(self, keys):
        seen = len(self.text)
        os.write(self.fd, keys)
        return seen

    def end(self):
        status = os.waitpid(self.pid, 0)[1]
        os.close(self.fd)
        return os.waitstatus_to_exitcode(status)


class Top(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.node = daemon.Daemon(sys.argv[1])
        cls.addClassCleanup(cls.node.close)
        cls.node.replay(300)

    def test_once(self):
        for _ in range(100):  # its first second has to end
            lines = self.node.ask("top --once").splitlines()
            if any(line.endswith("low") for line in lines):
                break
            time.sleep(0.1)
        ledger = dict(zip(*self.node.show("show ledger csv")))
        self.assertRegex(lines[0], r"^trigd \S+  ready  up \d+ s  window 10s$")
        self.assertIn(f"ledger    {ledger['received']} received = {ledger['accepted']} accepted", "\n".join(lines))
        chains = {line.split()[0]: line.split()[-1] for line in lines if line.startswith("HLT_")}
        self.assertEqual(chains["HLT_none"], "low")  # its band is 50 to 60 a second, its prescale 0
        self.assertRegex("\n".join(lines), r"(?m)^nvml:0 .* 42 % +3072 MiB +51 C +250\.5 W *$")
        self.assertTrue(any(line.startswith("count@cpu:0/0") and line.endswith("..") for line in lines), lines)

    def test_in_a_terminal(self):
        top = Terminal(self.node)
        top.wait("q quit")
        top.wait("window 1s")
        top.wait("window 60s", top.key(b"ww\x0c"))
        top.wait("sort by name", top.key(b"s\x0c"))
        top.wait(": HLT_none", top.key(b"/HLT_none\n\x0c"))
        top.wait("p go on", top.key(b"p\x0c"))
        top.key(b"q")
        self.assertEqual(top.end(), 0)

    def test_without_a_daemon(self):
        for words, code, sentence in ((["top", "--once"], 69, "no daemon answers"), (["top", "now"], 2, "top takes options only, not")):
            run = subprocess.run([self.node.program("trigctl"), "--socket", "/nonexistent", *words], capture_output=True, text=True)
            self.assertEqual(run.returncode, code)
            self.assertIn(sentence, run.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
