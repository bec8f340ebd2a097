# SPDX-License-Identifier: Apache-2.0
"""farm.py - the processes of a storm: one daemon, its clients, and who watches them from outside."""
import http.client
import itertools
import json
import mmap
import os
import re
import signal
import socket
import struct
import subprocess
import threading
import time
from typing import NamedTuple, Optional

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
READY_S = 120  # sanitizers are slow
IDLE = 16  # RoIs in flight, or fewer: the daemon waits for its clients
LOOK_S = 0.02  # between two looks at the counters
TICKS_S = 0.06  # until /readyz knows what the last RoI did: a tick of its shard and one of the daemon


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


def tagged(number, data):
    """A field of bytes."""
    return varint(number << 3 | 2) + varint(len(data)) + data


def slow_roi(rng, n_points, token):
    """Spacepoints at one phi, from any vertex, seeded for the z-finder alone: pairs grow with their number to the second power."""
    layers = rng.choices(range(8), k=n_points)
    z0 = rng.choices([rng.uniform(-150, 150) for _ in range(200)], k=n_points)
    rho = [40.0 + 60 * layer for layer in layers]
    z = [at + r * rng.uniform(-1, 1) for at, r in zip(z0, rho)]
    columns = [struct.pack(f"<{n_points}f", *v) for v in ([0.3] * n_points, rho, z)]
    points = b"".join(tagged(i + 1, c) for i, c in enumerate(columns)) + tagged(4, bytes(layers))
    numbers = {1: token, 2: 1, 3: token, 6: 1, 7: 1 << SLOW_SEED}
    window = {9: 0.3, 10: 0.7, 11: 0.1, 12: -225.0, 13: 225.0}
    return (b"".join(varint(k << 3) + varint(v) for k, v in numbers.items()) +
            b"".join(varint(k << 3 | 5) + struct.pack("<f", v) for k, v in window.items()) + tagged(16, points))


def slow_rois(source, target, rng, sizes):
    """An RoI file with the header of another and a slow RoI of each size."""
    with open(source, "rb") as f:
        data = f.read()
    n, at = read_varint(data, 8)
    records = (tagged(1, slow_roi(rng, size, i + 1)) for i, size in enumerate(sizes))
    with open(target, "wb") as f:
        f.write(data[:at + n] + b"".join(varint(len(r)) + r for r in records))


CONFIG = """endpoints: ["ipc://{folder}/in", "shm://{folder}/shm"]
menu: menu.yaml
state_dir: state
plugin_path: ["{folder}/plugins", "{build}/plugins"]
backend_path: "{build}/{backends}"
control: {{socket: control}}
http: {{address: 127.0.0.1, port: 0}}
devices: [{devices}]
isolation: {isolation}
threads: {{shards: {shards}}}
batching: {{max_rois: 64, max_age_us: 500}}
limits: {{soft_ms: 1000, hard_ms: 10000}}
workers: {{hang_ms: {hang_ms}}}
debug_stream: {{max_mbytes: 1048576, wait_mbytes: 1}}
"""
MENU = """name: storm
streams: [physics]
steps: [{{name: f, plugin: fault, params: {{stall_ms: 20}}}}{step}]
chains:
  - {{name: c, id: 1, steps: [{{step: f, cuts: [{{value: n, min: 10}}]}}], prescale: 1, streams: [physics]}}
{chain}"""
FAULT_ONLY = MENU.format(step="", chain="")
ZFINDER_STEP = ", {name: z, plugin: zfinder, params: {preset: pure}}"
ZFINDER_CHAIN = "  - {{name: z, id: 2,{seeds} steps: [{{step: z, cuts: [{{value: n_vertices, min: 1}}]}}], prescale: 1, streams: [physics]}}\n"
WITH_KERNELS = MENU.format(step=ZFINDER_STEP, chain=ZFINDER_CHAIN.format(seeds=""))
SLOW_SEED = 31  # L1 bit of RoIs for the z-finder beside `fault`
WITH_SLOW = MENU.format(step=ZFINDER_STEP, chain=ZFINDER_CHAIN.format(seeds=f" seeds: [{SLOW_SEED}],"))
# Lanes on the CPU, without and with the z-finder, or on two "GPUs" that are lost on command (tests/e2e/fakegpu.c).
CPU = {"name": "two lanes on the CPU", "backends": "backends", "devices": "{backend: cpu, lanes: 2}", "menu": FAULT_ONLY}
SLOW = {**CPU, "name": "two lanes on the CPU, and z-finder", "menu": WITH_SLOW}
GPUS = {"name": "a lane on each of two devices", "backends": "test-backends",
        "devices": "{backend: cuda, index: 0, lanes: 1}, {backend: cuda, index: 1, lanes: 1}", "menu": FAULT_ONLY}


def on(devices):
    """Lanes on devices of this machine, where the RoIs run through the z-finder's kernels as well."""
    return {"name": devices, "backends": "backends", "devices": devices, "menu": WITH_KERNELS} if devices else CPU


FOUND = re.compile(rb"(WARNING|ERROR): \w+Sanitizer|runtime error: ")
FOUND_LINES = 120
LOG_MBYTES = 16  # of stderr that are kept; older lines go
HANGS, IS_SLOW, FAILS = 1, 2, 3  # the disk, as in interpose.c


class Page:
    """What the daemon's preloaded storm_interpose.so reads: its wall clock and its disk."""

    def __init__(self, path):
        with open(path, "w+b") as f:
            f.truncate(4096)
            self.bytes = mmap.mmap(f.fileno(), 4096)

    def step_clock(self, seconds):
        struct.pack_into("=q", self.bytes, 0, int(seconds * 1e9))

    def disk(self, what, slow_ms=0):
        struct.pack_into("=II", self.bytes, 8, what, slow_ms)

    def hanging(self):
        """Calls that wait for the disk now."""
        return struct.unpack_from("=I", self.bytes, 16)[0]


class Daemon:
    """trigd in a folder of its own."""

    def __init__(self, build, folder, isolation, shards, hang_ms=300):
        self.build, self.folder, self.isolation, self.shards, self.hang_ms = build, folder, isolation, shards, hang_ms
        self.control = f"{folder}/control"
        self.process = self.port = self.setup = None
        self.found = []  # lines of sanitizers
        self.reading = threading.Event()  # of stderr
        self.reading.set()
        for name in ("plugins", "lost", "reports"):
            os.mkdir(f"{folder}/{name}")
        self.install(f"{build}/test-plugins/fault.so")
        self.page = Page(f"{folder}/page")
        self.for_clients = {**os.environ, **sanitizers()}
        mine = {"LD_PRELOAD": f"{build}/test-plugins/storm_interpose.so", "STORM_PAGE": f"{folder}/page",
                "STORM_DISK": f"{folder}/state", "FAKEGPU_LOST": f"{folder}/lost", "TRIGD_BUILD": build}
        self.environment = {**self.for_clients, **mine}

    def configure(self, setup):
        self.setup = setup
        with open(f"{self.folder}/menu.yaml", "w", encoding="utf-8") as f:
            f.write(setup["menu"])
        with open(f"{self.folder}/trigd.yaml", "w", encoding="utf-8") as f:
            f.write(CONFIG.format(folder=self.folder, build=self.build, isolation=self.isolation, shards=self.shards,
                                  hang_ms=self.hang_ms, **setup))

    def endpoint(self, transport):
        return f"{transport}://{self.folder}/{'in' if transport == 'ipc' else 'shm'}"

    def install(self, file, part=1):
        """Writes a plugin, or the first part of it, over the one that is used, in place."""
        with open(file, "rb") as f:
            data = f.read()
        with open(f"{self.folder}/plugins/fault.so", "wb") as f:
            f.write(data[:int(part * len(data))])

    def start(self):
        self.process = subprocess.Popen([f"{self.build}/bin/trigd", "--config", f"{self.folder}/trigd.yaml"],
                                        stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, env=self.environment)
        self.port = None
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
                if out.tell() > LOG_MBYTES << 20:
                    out.truncate(0)
                out.write(line)
                out.flush()
                if FOUND.search(line) or 0 < len(self.found) < FOUND_LINES:
                    self.found.append(line.decode(errors="replace"))
                found = re.search(rb"url=http://127\.0\.0\.1:(\d+)", line)
                if found and not self.port:
                    self.port = int(found[1])
                self.reading.wait()

    def ask(self, command):
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(60)
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
        """The status, 0 without an answer."""
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

    def version(self):
        """Of the plugin that runs."""
        return self.table("show plugins")[0]["version"]

    def kill(self):
        """kill -9"""
        self.process.kill()
        self.process.wait()

    def size(self):
        """Threads, descriptors and resident KiB of the daemon itself, without what it shares: the pool of RoIs, which stays touched."""
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as f:
            status = dict(line.split(":", 1) for line in f if ":" in line)
        return {"threads": int(status["Threads"]), "descriptors": len(os.listdir(f"/proc/{self.process.pid}/fd")),
                "kbytes": int(status["RssAnon"].split()[0])}

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60)


def sanitizers():
    """Options of sanitizers; a crash that a plugin was asked for is not theirs."""
    options = {"ASAN_OPTIONS": "detect_stack_use_after_return=1:strict_string_checks=1:allocator_may_return_null=1:intercept_tls_get_addr=0:"
                               "verify_asan_link_order=0:handle_segv=0:handle_abort=0:handle_sigbus=0",
               "UBSAN_OPTIONS": "print_stacktrace=1", "TSAN_OPTIONS": f"second_deadlock_stack=1:allocator_may_return_null=1:suppressions={TESTS}/tsan.supp",
               "LSAN_OPTIONS": f"suppressions={TESTS}/lsan.supp:print_suppressions=0"}
    return {k: f"{v}:{os.environ.get(k, '')}" for k, v in options.items()}


class Watcher(threading.Thread):
    """Looks at the daemon from outside all the time: decisions, and what /readyz says of them."""

    def __init__(self, daemon):
        super().__init__(daemon=True)
        self.daemon_, self.samples, self.is_over = daemon, [], False
        self.lock = threading.Lock()

    def run(self):
        while not self.is_over:
            try:
                info = self.daemon_.info()
                counts = [int(info["accepted"]) + int(info["rejected"])] + [int(info[k]) for k in ("failed", "in_flight", "clients")]
            except (OSError, ValueError, KeyError):
                counts = [None] * 4
            sample = Sample(time.monotonic(), *counts, self.daemon_.readyz())
            with self.lock:
                self.samples.append(sample)
            time.sleep(LOOK_S)

    def since(self, start):
        """The samples from then on; older ones are forgotten."""
        with self.lock:
            self.samples = [s for s in self.samples if s.at >= start]
            return self.samples[:]


class Sample(NamedTuple):
    """One look at the daemon: None when it did not answer, as a status 0."""
    at: float
    decided: Optional[int]  # by its plugin
    failed: Optional[int]
    in_flight: Optional[int]
    clients: Optional[int]
    readyz: int


def back_to_rate(samples, fault, rate, window=0.2):
    """Seconds from the fault to the end of the last window in which fewer than 0.9 of the RoIs asked for were decided although some
    waited, or their client was away; None: the samples end with such a one."""
    known = [s for s in samples if s.decided is not None and s.at >= fault]
    low, first, is_low = fault, 0, not known
    for i, s in enumerate(known):
        while known[first].at < s.at - window:
            first += 1
        past = known[min(first, max(i - 1, 0)):i + 1]
        seconds = s.at - past[0].at
        if i == 0 and s.at - fault > window:
            low = s.at  # the daemon did not answer
        if seconds > window / 2:
            before, now = (x.decided + x.failed for x in (past[0], s))
            decided = now - before if now >= before else now  # a new daemon counts from 0
            is_silent = seconds > 2 * window  # it did not answer
            is_low = decided / seconds < 0.9 * rate and (is_silent or all(x.in_flight > IDLE or x.clients < 2 for x in past))
            low = s.at if is_low else low
    return None if is_low else low - fault


def send_as_is(daemon, file):
    """RoIs with their own numbers, each answered before the next."""
    subprocess.run([f"{daemon.build}/bin/trigreplay", "resend", file, "--connect", daemon.endpoint("ipc")], check=True,
                   stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=60, env=daemon.for_clients)


class Client:
    """trigreplay: it accounts for each RoI that it sends."""
    count = itertools.count()

    def __init__(self, daemon, name, file, rate, seconds, transport="ipc", more=(), batch=4):
        self.name, self.file = name, file
        self.report = f"{daemon.folder}/reports/{next(self.count)}.json"
        self.rois = max(1, int(rate * seconds))
        self.process = subprocess.Popen(
            [f"{daemon.build}/bin/trigreplay", "run", "--connect", daemon.endpoint(transport), "--file", file, "--rois",
             str(self.rois), "--pace", f"rate:{rate}", "--connections", "2", "--batch", str(batch), "--timeout", "60000", "--truth", "none",
             "--quiet", "--name", name, "--json", self.report, *more],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=daemon.for_clients)

    def result(self, limit_s=180):
        """What it counted; raises unless every RoI had exactly one decision."""
        try:
            _, errors = self.process.communicate(timeout=limit_s)
        except subprocess.TimeoutExpired as e:
            self.end()
            raise AssertionError(f"client {self.name} did not end") from e
        said = errors.decode(errors="replace")[-4000:]
        if not os.path.exists(self.report):
            raise AssertionError(f"client {self.name}: exit code {self.process.returncode}, no report: {said}")
        with open(self.report, encoding="utf-8") as f:
            r = json.load(f)
        os.remove(self.report)
        wrong = {k: r[k] for k in ("lost", "duplicates", "unknown", "not_taken", "not_sent", "refused") if r[k]}
        if self.process.returncode or wrong or r["decided"] != self.rois:
            raise AssertionError(f"client {self.name}: exit code {self.process.returncode}, {wrong}, {self.rois} RoIs, "
                                 f"{r['decided']} decided: {said}")
        return r

    def end(self):
        """kill -9"""
        self.process.kill()
        self.process.wait()
        self.process.stderr.close()
