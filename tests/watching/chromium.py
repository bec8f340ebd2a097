# SPDX-License-Identifier: Apache-2.0
"""A headless Chromium, driven over its DevTools pipe: no ports, no libraries."""
import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time


def find():
    """The program, or None."""
    return shutil.which("chromium") or shutil.which("chromium-browser")


class Browser:
    """One window of its own profile.  `events` has what the page did: requests, log lines, exceptions."""

    def __init__(self, width=1280, height=1000):
        self.folder = tempfile.TemporaryDirectory(prefix="trigd-browser-")
        to_child, self.out = os.pipe()
        self.into, from_child = os.pipe()

        def hand_over():  # DevTools reads descriptor 3 and writes 4
            a, b = os.dup(to_child), os.dup(from_child)
            os.dup2(a, 3)
            os.dup2(b, 4)

        self.process = subprocess.Popen(
            [find(), "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
             "--disable-background-networking", "--disable-extensions", "--hide-scrollbars", f"--window-size={width},{height}",
             f"--user-data-dir={self.folder.name}", "--remote-debugging-pipe"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, close_fds=False, preexec_fn=hand_over)
        os.close(to_child)
        os.close(from_child)
        self.number, self.rest, self.events, self.session = 0, b"", [], None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log", "Accessibility"):
            self.call(domain + ".enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.out)
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.into)
        for _ in range(20):  # its children may still write there
            try:
                self.folder.cleanup()
                break
            except OSError:
                time.sleep(0.1)

    def receive(self, timeout):
        while b"\0" not in self.rest:
            if not select.select([self.into], [], [], timeout)[0]:
                raise TimeoutError("the browser does not answer")
            got = os.read(self.into, 1 << 16)
            if not got:
                raise RuntimeError("the browser ended")
            self.rest += got
        message, self.rest = self.rest.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, **parameters):
        self.number += 1
        request = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            request["sessionId"] = self.session
        os.write(self.out, json.dumps(request).encode() + b"\0")
        while True:
            message = self.receive(30)
            if message.get("id") != self.number:
                self.events.append(message)
            elif "error" in message:
                raise RuntimeError(f"{method}: {message['error']['message']}")
            else:
                return message["result"]

    def evaluate(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(result["exceptionDetails"]["exception"].get("description", "it threw"))
        return result["result"].get("value")

    def open(self, url):
        self.events.clear()
        self.call("Page.navigate", url=url)
        self.wait("document.readyState === 'complete' && location.href !== 'about:blank'")

    def wait(self, condition, timeout=20):
        end = time.monotonic() + timeout
        while not self.evaluate(condition):
            if time.monotonic() > end:
                raise TimeoutError(f"not within {timeout} s: {condition}")
            time.sleep(0.05)

    def scripts(self, allowed):
        self.call("Emulation.setScriptExecutionDisabled", value=not allowed)

    def key(self, name):
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=name, code=name, windowsVirtualKeyCode={"Tab": 9, "Enter": 13}[name])

    def screenshot(self, path, height=None):
        clip = {"clip": {"x": 0, "y": 0, "width": 1280, "height": height, "scale": 1}} if height else {}
        with open(path, "wb") as out:
            out.write(base64.b64decode(self.call("Page.captureScreenshot", format="png", captureBeyondViewport=bool(height), **clip)["data"]))
