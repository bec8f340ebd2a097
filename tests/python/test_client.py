#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_client.py SOURCE BUILD: clients in Python and a real daemon: each RoI has one outcome, over each transport."""
import asyncio
import contextlib
import io
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import numpy
import trigd
import trigd.__main__
from trigd import trigd_pb2 as pb
from trigd.control import CommandFailed, Control, metrics, parse_metrics
from trigd.load import Load, Window, are_steady, summary
from trigd._encode import Packer
from trigd.wire import unpack_roi

BUILD, SOURCE = sys.argv.pop(), sys.argv.pop()
SEED = int(os.environ.get("TRIGD_SEED", time.time_ns() % 2**32))
MENU = """name: python
streams: [physics]
steps: [{name: z, plugin: zfinder, params: {preset: pure}}]
chains:
  - {name: HLT_z, id: 1, steps: [{step: z, cuts: [{value: n_vertices, min: 1}]}], streams: [physics]}
"""
CONFIG = """endpoints: ["ipc://in", "shm://shm"]
menu: menu.yaml
plugin_path: ["{build}/plugins"]
backend_path: "{build}/backends"
cache_dir: cache
devices: [{{backend: cpu, lanes: 1}}]
clients: {{credits: 128, shm_mbytes: 4}}
control: {{socket: control}}
http: {{address: 127.0.0.1, port: {port}}}
log: {{level: warn}}
"""


def free_port():
    import socket
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def spacepoints(n, most=200, seed=SEED):
    """n RoIs of random spacepoints, all of the same z in every second one."""
    random = numpy.random.default_rng(seed)
    offsets = numpy.concatenate(([0], numpy.cumsum(random.integers(0, most, n))))
    m = int(offsets[-1])
    columns = {"phi": random.uniform(-3, 3, m), "rho": random.uniform(30, 500, m), "z": random.uniform(-200, 200, m),
               "layer": random.integers(0, 8, m)}
    return trigd.Rois(n, run=3, l1id=numpy.arange(n), eta=random.uniform(-2, 2, n).astype("f4"), phi_half_rad=4, z_min_mm=-225,
                      z_max_mm=225, collections={"spacepoints": (columns, offsets)})


class Daemon:
    def __init__(self, menu=MENU):
        self.folder = tempfile.TemporaryDirectory(prefix="trigd-py-", dir="/tmp")  # a short path: sockets take 107 bytes
        self.port = free_port()
        path = self.folder.name
        with open(f"{path}/trigd.yaml", "w") as f:
            f.write(CONFIG.format(build=BUILD, port=self.port).replace("ipc://in", f"ipc://{path}/in").replace("shm://shm", f"shm://{path}/shm"))
        with open(f"{path}/menu.yaml", "w") as f:
            f.write(menu)
        self.ipc, self.shm = f"ipc://{path}/in", f"shm://{path}/shm"
        self.control = Control(f"{path}/control")
        self.start()

    def start(self):
        self.process = subprocess.Popen([f"{BUILD}/bin/trigd", "--config", f"{self.folder.name}/trigd.yaml"], stderr=subprocess.DEVNULL)
        for _ in range(400):
            with contextlib.suppress(OSError):
                if self.control.show("ledger"):
                    return
            time.sleep(0.025)
        raise AssertionError("the daemon does not start")

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self):
        self.process.terminate()
        assert self.process.wait(20) == 0
        self.folder.cleanup()


class Clients(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        print(f"TRIGD_SEED={SEED}")
        cls.daemon = Daemon()

    @classmethod
    def tearDownClass(cls):
        row = cls.daemon.control.show("ledger")
        cls.daemon.stop()
        values = {k: int(v) for k, v in (row[0] if isinstance(row, list) else row).items() if str(v).lstrip("-").isdigit()}
        assert values.get("imbalance", 0) == 0, row

    def both(self):
        for endpoint in (self.daemon.ipc, self.daemon.shm):
            with self.subTest(endpoint=endpoint[:3]):
                yield endpoint

    def test_every_roi_is_decided_alike(self):
        rois = spacepoints(700)
        answers = []
        for endpoint in self.both():
            with trigd.Client(endpoint, batch=16) as client:
                self.assertEqual(list(client.welcome.chains), ["HLT_z"])
                decisions = client.decide(rois)
                self.assertEqual([d.l1id for d in decisions], list(range(700)))  # more than there are credits
                self.assertTrue(all(d.status == pb.OK and d.run == 3 for d in decisions))
                self.assertEqual((client.unanswered, client.stats.sent, client.stats.decided), (0, 700, 700))
                again = client.decide(rois)
                self.assertEqual([d.accept for d in decisions], [d.accept for d in again])
                answers.append([(d.accept, d.results[0].values[:]) for d in decisions])
        self.assertEqual(answers[0], answers[1])
        self.assertEqual(len({a for a, _ in answers[0]}), 2)

    def test_single_rois_and_iteration(self):
        array = trigd.SPACEPOINTS.array(40)
        array["rho"], array["z"] = 50, 10
        for endpoint in self.both():
            with trigd.Client(endpoint, key=b"me") as client:
                tokens = client.send([trigd.Roi(l1id=i + 1, phi_half_rad=4, collections={"spacepoints": array}) for i in range(5)])
                self.assertEqual({d.token for d in client}, set(tokens))
                self.assertEqual(client.receive(timeout=0.01), [])

    def test_refusals(self):
        bad = spacepoints(3)
        bad.collections[0].columns[0][:] = 4  # phi
        for endpoint in self.both():
            with trigd.Client(endpoint) as client:
                good, refused = client.decide(spacepoints(1)), client.decide(bad)
                self.assertIsInstance(good[0], pb.Decision)
                full = [r for r, n in zip(refused, numpy.diff(bad.collections[0].offsets)) if n]
                self.assertTrue(full and all(isinstance(r, trigd.Refused) and "-3.1416 to 3.1416 rad is allowed" in r.text for r in full))
                huge = trigd.Rois(1, collections={"spacepoints": (dict.fromkeys(("phi", "rho", "z", "layer"), numpy.zeros(2000000)),
                                                                  [0, 2000000])})
                with self.assertRaisesRegex(ValueError, "an RoI has [0-9]+ bytes"):
                    client.decide(huge)
                self.assertEqual(len(client.decide(spacepoints(5))), 5)

    def test_the_next_daemon(self):
        for endpoint in self.both():
            with trigd.Client(endpoint, key=b"survivor") as client:
                sent = client.send(spacepoints(100))
                self.daemon.kill()
                self.daemon.start()
                sent = list(sent) + list(client.send(spacepoints(50)))
                self.assertEqual(sorted(o.token for o in client), sent)
                self.assertEqual(client.stats.duplicates, 0)
                self.assertGreaterEqual(client.stats.reconnects, 1)

    def test_busy(self):
        for endpoint in self.both():
            with trigd.Client(endpoint) as client:
                self.daemon.control.ask("drain")
                client.send(spacepoints(20))
                self.assertEqual(client.receive(timeout=0.05), [])
                self.daemon.control.ask("resume")
                self.assertEqual(len(list(client)), 20)
                self.assertGreaterEqual(client.stats.busy, 20)

    def test_asyncio(self):
        async def run(endpoint):
            async with trigd.AsyncClient(endpoint) as one, trigd.AsyncClient(endpoint) as two:
                a, b = await asyncio.gather(one.decide(spacepoints(300)), two.decide(spacepoints(300)))
                self.assertEqual([d.accept for d in a], [d.accept for d in b])
                tokens = await one.send(spacepoints(10))
                self.assertEqual({o.token async for o in one}, set(tokens))
                self.assertEqual(await one.receive(timeout=0.01), [])
            with self.assertRaises(trigd.Unavailable):
                await one.send(spacepoints(1))

        for endpoint in self.both():
            asyncio.run(run(endpoint))

    def test_who_is_not_there(self):
        with self.assertRaisesRegex(trigd.Unavailable, "no daemon answers at ipc:///nonexistent/x within 0.05 s"):
            trigd.Client("ipc:///nonexistent/x", timeout=0.05)
        with self.assertRaisesRegex(trigd.Unavailable, "cannot connect to shm:///nonexistent/x: No such file"):
            trigd.Client("shm:///nonexistent/x")
        with self.assertRaisesRegex(ValueError, "tcp://HOST:PORT, ipc://PATH and shm://PATH are allowed"):
            trigd.Client("udp://x")
        with self.assertRaisesRegex(ConnectionRefusedError, "the name in Hello has 0 bytes"):
            trigd.Client(self.daemon.ipc, "")

    def test_wrong_rois(self):
        for message, arguments in (
                ("an RoI has no 'events'; allowed are run", {"events": 1}), ("type is 64 to 64; 0 to 63 is allowed", {"type": 64}),
                ("one number, or 2 are allowed", {"l1id": [1, 2, 3]}),
                ("jets is not declared", {"collections": {"jets": ({}, [0, 0, 0])}}),
                ("offsets; 3 are needed for 2 RoIs", {"collections": {"hits": (dict.fromkeys("x y z layer id".split(), [1]), [0, 1])}}),
                ("never fall", {"collections": {"hits": (dict.fromkeys("x y z layer id".split(), [1]), [0, 2, 1])}}),
                ("spacepoints is given phi; phi, rho, z, layer is declared", {"collections": {"spacepoints": ({"phi": [1]}, [0, 1, 1])}})):
            with self.assertRaisesRegex(ValueError, message):
                trigd.Rois(2, **arguments)

    def test_messages(self):
        """What is packed without looking at values is what the generated classes read."""
        declared = trigd.declared(f"{SOURCE}/tests/collections/samples.yaml")
        n = 9
        columns = {c.name: numpy.zeros((n, c.length) if c.length > 1 else n, declared.dtype[i].base) for i, c in enumerate(declared.columns)}
        rois = trigd.Rois(2, run=7, l1id=[1, 2**32 - 1], eta=[0.5, -1], type=5, deadline_us=900, event_rois=[0, 300], declarations=[declared],
                          collections={"samples": (columns, [0, 4, 9]), **{k: v for k, v in self.plain(2).items()}})
        m = pb.ToDaemon.FromString(Packer(rois).message(range(2), [2**60, 5], True))
        self.assertEqual([(r.token, r.run, r.l1id, r.eta, r.type, r.deadline_us, r.is_repeat) for r in m.batch.rois],
                         [(2**60, 7, 1, 0.5, 5, 900, True), (5, 7, 2**32 - 1, -1, 5, 900, True)])
        self.assertEqual([r.event_rois for r in m.batch.rois], [0, 300])
        self.assertEqual(list(m.batch.rois[1].spacepoints.z_mm), [30.0, 40.0, 50.0])
        again = unpack_roi(memoryview(m.batch.rois[1].SerializeToString()), {declared.hash: declared})
        self.assertEqual((len(again.collections["samples"]), again.deadline_us), (5, 900))
        self.assertEqual(len(trigd.Rois.of([again], [declared])), 1)

    def plain(self, n):
        return {"spacepoints": ({"phi": [0, 1, 2, 3, 0], "rho": [5] * 5, "z": [10, 20, 30, 40, 50], "layer": [1] * 5}, [0, 2, 5])}

    def test_control_and_metrics(self):
        self.assertEqual(self.daemon.control.show("chains")[0]["chain"], "HLT_z")
        with self.assertRaisesRegex(CommandFailed, "error"):
            self.daemon.control.ask("prescale HLT_none 5")
        samples = metrics(f"http://127.0.0.1:{self.daemon.port}/metrics")
        self.assertTrue(any(s.name.startswith("trigd_") for s in samples))
        with self.assertRaisesRegex(ValueError, "line 1 of the metrics is no sample"):
            list(parse_metrics("nonsense\n"))

    def test_load(self):
        with trigd.Client(self.daemon.ipc) as client:
            load = Load(client, spacepoints(64), "even")
            report = load.run(400, seconds=0.1, stable=2, most=4, tolerance=0.5)
            self.assertTrue(0 < report.latency_us["p50"] <= report.latency_us["p99"], report)  # the machine may be busy
            self.assertTrue(2 <= len(report.windows) <= 4 and all(w.seconds >= 0.1 for w in report.windows))
            self.assertTrue(0 < sum(w.decided for w in report.windows) <= client.stats.decided)
            self.assertEqual(client.unanswered, 0)
        gaps = numpy.diff(load.times(1000, 50))
        self.assertTrue(numpy.allclose(gaps, 0.001))

        def window(rate, p50):
            return Window(1.0, rate, 0, 0, {"p50": p50}, 0)
        self.assertTrue(are_steady([window(1, 1), window(100, 900), window(104, 950), window(98, 880)], 3, 0.1))
        self.assertFalse(are_steady([window(100, 900), window(130, 900), window(100, 900)], 3, 0.1))
        self.assertFalse(are_steady([window(100, 900), window(100, 1900), window(100, 900)], 3, 0.1))
        self.assertFalse(are_steady([window(100, 900)] * 2, 3, 0.1))
        self.assertTrue(summary(104, [window(1, 1)] + [window(100, 900)] * 3, 3, 0.1).is_met)
        missed = summary(110, [window(100, 900), window(101, 920), window(99, 880)], 3, 0.1)
        self.assertEqual((missed.is_met, missed.is_stable, missed.rate, round(missed.latency_us["p50"])), (False, True, 100, 900))

    def test_load_command(self):
        path, report = f"{self.daemon.folder.name}/x.roi", f"{self.daemon.folder.name}/x.json"
        subprocess.run([f"{BUILD}/bin/trigreplay", "generate", "--preset", "lowlum", "--rois", "50", "--seed", "1", "--out", path], check=True,
                       stdout=subprocess.DEVNULL)
        sys.argv[1:] = ["load", self.daemon.shm, path, "--rate", "300", "--window", "0.1", "--stable", "2", "--tolerance", "0.9", "--json", report]
        with contextlib.redirect_stdout(io.StringIO()) as out:
            code = trigd.__main__.main()
        with open(report) as f:
            told = json.load(f)[0]
        self.assertEqual((told["wanted"], code), (300, 0 if told["is_met"] and told["is_stable"] else 1), out.getvalue())
        sys.argv[1:] = ["load", "ipc:///nonexistent/x", "/nonexistent.roi"]
        with contextlib.redirect_stderr(io.StringIO()) as err:
            self.assertEqual(trigd.__main__.main(), 3)
        self.assertIn("trigd load: ", err.getvalue())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
