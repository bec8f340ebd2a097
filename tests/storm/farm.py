# SPDX-License-Identifier: Apache-2.0
"""farm.py - the processes of a storm: one daemon, its clients, and who watches them from outside."""
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import threading
import time

READY_S = 120  # sanitizers are slow
LOOK_S = 0.02  # between two looks at the counters


def varint(n):
    out = b""
    while n >= 128:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def read_varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def number_rois(source, target, roi_ids):
    """Copies an RoI file; RoI k gets the roi_id that stands in roi_ids[k], if there is one: it tells `fault` what to do."""
    with open(source, "rb") as f:
        data = f.read()
    n, at = read_varint(data, 8)
    out = [data[:at + n]]
    at += n
    for roi_id in roi_ids:
        n, at = read_varint(data, at)
        if not n:
            break
        _, inner = read_varint(data, at + 1)  # behind the tag of the RoI
        roi = data[inner:at + n]
        at += n
        if roi_id:
            roi += b"\x20" + varint(roi_id)  # the last of two values counts
        record = b"\x0a" + varint(len(roi)) + roi
        out.append(varint(len(record)) + record)
    with open(target, "wb") as f:
        f.write(b"".join(out))


class Daemon:
    """trigd in a folder of its own."""

    def __init__(self, build, folder):
        self.build, self.folder = build, folder
        self.endpoint = f"ipc://{folder}/in"
        self.control = f"{folder}/control"
        self.process = self.log = None
        self.reading = threading.Event()  # of stderr
        self.reading.set()
        self.port = 0
        with open(f"{folder}/trigd.yaml", "w", encoding="utf-8") as f:
            f.write(f'endpoints: ["{self.endpoint}"]\nmenu: menu.yaml\n'
                    f'plugin_path: ["{build}/test-plugins", "{build}/plugins"]\nbackend_path: "{build}/backends"\n'
                    "control: {socket: control}\nhttp: {address: 127.0.0.1, port: 0}\n"
                    "devices: [{backend: cpu, lanes: 2}]\nbatching: {max_rois: 64, max_age_us: 500}\n"
                    "limits: {soft_ms: 1000, hard_ms: 10000}\nworkers: {hang_ms: 300}\n")
        with open(f"{folder}/menu.yaml", "w", encoding="utf-8") as f:
            f.write("name: storm\nstreams: [physics]\nsteps: [{name: f, plugin: fault, params: {stall_ms: 20}}]\nchains:\n"
                    "  - {name: c, id: 1, steps: [{step: f, cuts: [{value: n, min: 10}]}], prescale: 1, streams: [physics]}\n")

    def start(self):
        self.process = subprocess.Popen([f"{self.build}/bin/trigd", "--config", f"{self.folder}/trigd.yaml"],
                                        stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
        self.port = 0
        threading.Thread(target=self._read_log, args=(self.process.stderr,), daemon=True).start()
        end = time.monotonic() + READY_S
        while not (self.port and self.readyz() == 200):
            if self.process.poll() is not None:
                raise RuntimeError(f"the daemon ended with {self.process.returncode}")
            if time.monotonic() > end:
                raise RuntimeError("the daemon is not ready in time")
            time.sleep(LOOK_S)

    def _read_log(self, stderr):
        with open(f"{self.folder}/log", "ab") as out:
            for line in stderr:
                out.write(line)
                out.flush()
                found = re.search(rb"url=http://127\.0\.0\.1:(\d+)", line)
                if found and not self.port:
                    self.port = int(found[1])
                self.reading.wait()

    def ask(self, command):
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(20)
            s.connect(self.control)
            s.sendall(command.encode() + b"\n")
            s.shutdown(socket.SHUT_WR)
            out = b""
            while part := s.recv(1 << 16):
                out += part
        return out.decode()

    def table(self, command):
        return json.loads(self.ask(command + " json"))

    def info(self):
        out = self.table("show info")
        return out[0] if isinstance(out, list) else out

    def debug(self):
        """The counters of the debug stream."""
        row = next(r for r in self.table("show streams") if r["stream"] == "debug")
        return {k: int(v) for k, v in row.items() if k != "stream"}

    def readyz(self):
        try:
            c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=1)
            c.request("GET", "/readyz")
            status = c.getresponse().status
            c.close()
            return status
        except (OSError, http.client.HTTPException):
            return 0

    def workers(self):
        return [int(w["pid"]) for w in self.table("show workers") if int(w["pid"])]

    def kill(self):
        """kill -9"""
        self.process.kill()
        self.process.wait()

    def size(self):
        """Threads, descriptors and resident KiB of the daemon itself."""
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as f:
            status = dict(line.split(":", 1) for line in f if ":" in line)
        return {"threads": int(status["Threads"]), "descriptors": len(os.listdir(f"/proc/{self.process.pid}/fd")),
                "kbytes": int(status["VmRSS"].split()[0])}

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60)


class Watcher(threading.Thread):
    """Looks at the daemon from outside all the time: decisions, and what /readyz says of them."""

    def __init__(self, daemon):
        super().__init__(daemon=True)
        self.daemon_, self.samples, self.is_over = daemon, [], False
        self.lock = threading.Lock()

    def run(self):
        while not self.is_over:
            before = time.monotonic()
            try:
                info = self.daemon_.info()
                decided = sum(int(info[k]) for k in ("accepted", "rejected", "failed"))
            except (OSError, ValueError, KeyError):
                decided = None
            sample = (before, decided, self.daemon_.readyz())
            with self.lock:
                self.samples.append(sample)
            time.sleep(LOOK_S)

    def since(self, start):
        with self.lock:
            return [s for s in self.samples if s[0] >= start]


def back_to_rate(samples, fault, rate, window=0.2):
    """Seconds from the fault to the end of the last window with less than 0.9 of the rate; None: it never came back."""
    known = [(t, d) for t, d, _ in samples if d is not None]
    low = fault
    first = 0
    for i, (t, d) in enumerate(known):
        while known[first][0] < t - window:
            first += 1
        t0, d0 = known[first]
        if t0 >= fault and t - t0 > window / 2 and (d - d0) / (t - t0) < 0.9 * rate:
            low = t
            if i == len(known) - 1:
                return None
    return low - fault


def send_as_is(daemon, file):
    """RoIs with their own numbers, each answered before the next."""
    subprocess.run([f"{daemon.build}/bin/trigreplay", "resend", file, "--connect", daemon.endpoint], check=True,
                   stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=60)


class Client:
    """trigreplay: it accounts for each RoI that it sends."""

    def __init__(self, daemon, name, file, rate, seconds, more=()):
        self.report = f"{daemon.folder}/{name}.json"
        self.name = name
        self.rois = max(1, int(rate * seconds))
        if os.path.exists(self.report):
            os.remove(self.report)
        self.process = subprocess.Popen(
            [f"{daemon.build}/bin/trigreplay", "run", "--connect", daemon.endpoint, "--file", file, "--rois", str(self.rois),
             "--pace", f"rate:{rate}", "--connections", "2", "--batch", "4", "--timeout", "30000", "--truth", "none",
             "--quiet", "--name", name, "--json", self.report, *more],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)

    def result(self, limit_s=90):
        """What it counted; raises unless every RoI had exactly one decision."""
        try:
            _, errors = self.process.communicate(timeout=limit_s)
        except subprocess.TimeoutExpired as e:
            self.process.kill()
            raise AssertionError(f"client {self.name} did not end") from e
        with open(self.report, encoding="utf-8") as f:
            r = json.load(f)
        wrong = {k: r[k] for k in ("lost", "duplicates", "unknown", "not_taken", "not_sent", "refused") if r[k]}
        if self.process.returncode or wrong or r["decided"] != self.rois:
            raise AssertionError(f"client {self.name}: exit code {self.process.returncode}, {wrong}, {self.rois} RoIs, "
                                 f"{r['decided']} decided: {errors.decode()[-400:]}")
        return r
