# SPDX-License-Identifier: Apache-2.0
"""A daemon in a folder of its own, for tests that look at it over HTTP."""
import csv
import io
import os
import re
import subprocess
import tempfile
import time

MENU = """streams: [physics]
steps: [{name: count, plugin: example}]
chains:
  - {name: HLT_all, id: 1, steps: [{step: count}], streams: [physics], expected: {of: run, min: 0.9}}
  - {name: HLT_none, id: 2, steps: [{step: count}], prescale: 0, streams: [physics], expected: {of: second, min: 50, max: 60}}
"""


class Daemon:
    """Ready, with a free port (`url`) and a socket; `close` ends it."""

    def __init__(self, build):
        self.build = os.path.abspath(build)
        self.folder = tempfile.TemporaryDirectory(prefix="trigd-page-")
        self.socket = os.path.join(self.folder.name, "ctl")
        self.log = open(os.path.join(self.folder.name, "log"), "w+b")
        for name, text in (("menu.yaml", MENU), ("trigd.yaml", "\n".join((
                f"endpoints: [\"ipc://{self.folder.name}/in\"]", "menu: menu.yaml", "devices: [{backend: cpu}]", "control: {socket: ctl, gpus: on}",
                "http: {address: 127.0.0.1, port: 0}", ""))), ("gpus", "still")):
            with open(os.path.join(self.folder.name, name), "w") as out:
                out.write(text)
        self.process = subprocess.Popen([self.program("trigd"), "--config", os.path.join(self.folder.name, "trigd.yaml")], stderr=self.log,
                                        env={**os.environ, "LD_LIBRARY_PATH": os.path.join(self.build, "fake-nvml"),
                                             "FAKE_NVML": os.path.join(self.folder.name, "gpus")})
        self.url = self.wait_for(rb"url=(http://\S+)/metrics").decode()
        self.wait_for(rb"to=(ready)")
        for _ in range(1200):  # GPUs are read by another process (tests/gpus/fake_nvml.c)
            if "nvml:1" in self.ask("show devices"):
                break
            time.sleep(0.05)

    def program(self, name):
        return os.path.join(self.build, "bin", name)

    def wait_for(self, pattern):
        for _ in range(1200):
            with open(self.log.name, "rb") as log:
                found = re.search(pattern, log.read())
            if found:
                return found.group(1)
            if self.process.poll() is not None:
                break
            time.sleep(0.05)
        with open(self.log.name, "rb") as log:
            raise RuntimeError(log.read().decode())

    def replay(self, rois):
        subprocess.run([self.program("trigreplay"), "run", "--connect", f"ipc://{self.folder.name}/in", "--rois", str(rois), "--distinct", "50"],
                       check=True, stdout=subprocess.DEVNULL)

    def client(self):
        """A client that stays until it is killed."""
        return subprocess.Popen([self.program("trigreplay"), "run", "--connect", f"ipc://{self.folder.name}/in", "--rois", "1000000",
                                 "--distinct", "50", "--pace", "rate:50"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def ask(self, what):
        return subprocess.run([self.program("trigctl"), "--socket", self.socket, *what.split()], check=True, capture_output=True, text=True).stdout

    def show(self, what):
        return list(csv.reader(io.StringIO(self.ask(what))))

    def stop(self):
        self.process.terminate()
        self.process.wait(20)

    def close(self):
        if self.process.poll() is None:
            self.stop()
        self.log.close()
        self.folder.cleanup()
