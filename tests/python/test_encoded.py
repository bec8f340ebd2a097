#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_encoded.py SOURCE BUILD: the collection of the tutorial, plain and encoded: the same decisions of the same values from
Python, from files and from trigreplay, over ZeroMQ and shared memory."""
import contextlib
import os
import subprocess
import sys
import tempfile
import time
import unittest

import numpy
import trigd
from trigd import encoding
from trigd import trigd_pb2 as pb
from trigd.control import Control
from trigd.roifile import HEADER
from trigd.wire import varint

BUILD, SOURCE = sys.argv.pop(), sys.argv.pop()
SEED = int(os.environ.get("TRIGD_SEED", time.time_ns() % 2**32))
MENU = """name: encoded
streams: [physics]
steps: [{name: own, plugin: tut_own}, {name: pairs, plugin: doublets}]
chains:
  - {name: HLT_hits, id: 2, steps: [{step: pairs}], streams: [physics]}
  - {name: HLT_met, id: 1, steps: [{step: own, cuts: [{value: met_gev, min: 500}]}], streams: [physics]}
"""
CONFIG = """endpoints: ["ipc://{path}/in", "shm://{path}/shm"]
menu: menu.yaml
plugin_path: ["{build}/examples", "{build}/plugins"]
backend_path: "{build}/backends"
cache_dir: cache
devices: [{{backend: cpu, lanes: 1}}]
clients: {{credits: 128, shm_mbytes: 4}}
control: {{socket: control}}
http: {{address: ""}}
log: {{level: warn}}
"""
CELLS = trigd.declared(f"{SOURCE}/examples/tut_own/cells.yaml")


def cells(n, seed=SEED):
    """Columns and offsets of n RoIs, with values that numbers stand for."""
    random = numpy.random.default_rng(seed)
    offsets = numpy.concatenate(([0], numpy.cumsum(random.integers(0, 60, n))))
    m = int(offsets[-1])
    et, phi = CELLS.columns[:2]
    return {"et": encoding.values(random.integers(0, 60000, m), et.offset, et.step),
            "phi": encoding.values(random.integers(0, 65000, m), phi.offset, phi.step),
            "quality": random.integers(0, 4, m)}, offsets


class Encoded(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        print(f"TRIGD_SEED={SEED}")
        cls.folder = tempfile.TemporaryDirectory(prefix="trigd-en-", dir="/tmp")  # a short path: sockets take 107 bytes
        cls.path = cls.folder.name
        for name, text in (("trigd.yaml", CONFIG.format(path=cls.path, build=BUILD)), ("menu.yaml", MENU)):
            with open(f"{cls.path}/{name}", "w") as f:
                f.write(text)
        cls.endpoints = [f"ipc://{cls.path}/in", f"shm://{cls.path}/shm"]
        cls.control = Control(f"{cls.path}/control")
        cls.process = subprocess.Popen([f"{BUILD}/bin/trigd", "--config", f"{cls.path}/trigd.yaml"])
        for _ in range(400):
            with contextlib.suppress(OSError):
                if cls.control.show("ledger"):
                    return
            time.sleep(0.05)
        raise AssertionError("the daemon does not start")

    @classmethod
    def tearDownClass(cls):
        cls.process.terminate()
        assert cls.process.wait(60) == 0
        cls.folder.cleanup()

    def decide(self, endpoint, rois):
        with trigd.Client(endpoint, collections=[CELLS]) as client:
            return client.decide(rois)

    def tool(self, *arguments):
        return subprocess.run([f"{BUILD}/bin/trigreplay", *arguments], check=True, stdout=subprocess.PIPE, text=True).stdout

    def test_the_same_decisions(self):
        columns, offsets = cells(300)
        answers = []
        for endpoint in self.endpoints:
            for encoded in ((), ("cells",)):
                rois = trigd.Rois(300, {"cells": (columns, offsets)}, [CELLS], encoded, run=1, l1id=numpy.arange(300))
                self.assertEqual(sum(rois.collections[0].item_bytes), 5 if encoded else 9)
                answers.append([(d.status, d.accept, d.results[0].values[:]) for d in self.decide(endpoint, rois)])
        self.assertEqual({status for status, _, _ in answers[0]}, {0})
        self.assertEqual({accept for _, accept, _ in answers[0]}, {True, False})
        for other in answers[1:]:
            self.assertEqual(answers[0], other)

    def test_beside_own_collections(self):
        """An RoI with a declared collection lists all of its collections in shared memory, hits too."""
        columns, offsets = cells(40)
        hits = {"x": numpy.full(80, 30), "y": numpy.zeros(80), "z": numpy.zeros(80), "layer": numpy.tile([0, 1], 40), "id": numpy.arange(80)}
        rois = trigd.Rois(40, {"cells": (columns, offsets), "hits": (hits, numpy.arange(0, 81, 2))}, [CELLS], run=1, l1id=numpy.arange(40))
        for endpoint in self.endpoints:
            for d in self.decide(endpoint, rois):
                self.assertEqual((len(d.missing), sorted(r.step for r in d.results)), (0, [0, 1]), endpoint)

    def test_what_the_daemon_refuses(self):
        """Numbers reach beyond pi."""
        columns, offsets = cells(3)
        rois = trigd.Rois(3, {"cells": (columns, offsets)}, [CELLS], ["cells"])
        rois.collections[0].columns[1][int(offsets[2]) - 1] = 65535
        texts = set()
        for endpoint in self.endpoints:
            refused = [d.text for d in self.decide(endpoint, rois) if isinstance(d, trigd.Refused)]
            self.assertEqual(len(refused), 1)
            self.assertRegex(refused[0], "column phi of its cells is 3.1497[0-9]*; -3.1416 to 3.1416 rad is allowed")
            texts.add(refused[0].split(":", 1)[1])
        self.assertEqual(len(texts), 1)

    def test_what_python_refuses(self):
        for value, sentence in ((numpy.nan, "has the value nan; encoded it holds 0 to 1048.56"), (1050, "has the value 1050; "),
                                (-1, "column et of cells has the value -1"), (numpy.inf, "has the value inf")):
            columns, offsets = {"et": [1, value], "phi": [0, 0], "quality": [0, 0]}, [0, 2]
            with self.assertRaisesRegex(ValueError, sentence):
                trigd.Rois(1, {"cells": (columns, offsets)}, [CELLS], ["cells"])
        with self.assertRaisesRegex(ValueError, "hits cannot be encoded: no column of its declaration has an encoding"):
            trigd.Rois(1, {"hits": (dict.fromkeys(("x", "y", "z", "layer", "id"), [1]), [0, 1])}, encoded=["hits"])
        points = dict.fromkeys(("phi", "rho", "z", "layer"), numpy.array([1, numpy.nan], "f4"))
        with self.assertRaisesRegex(ValueError, "column phi of spacepoints has a value that is not finite"):
            trigd.Rois(1, {"spacepoints": (dict(points, layer=[0, 0]), [0, 2])}, encoded=["spacepoints"])

    def test_files(self):
        columns, offsets = cells(50, SEED + 1)
        plain, coded = f"{self.path}/plain.roi", f"{self.path}/coded.roi"
        array = CELLS.array(int(offsets[-1]))
        for name in columns:
            array[name] = columns[name]
        for path, encoded in ((plain, ()), (coded, ("cells",))):
            with trigd.RoiFileWriter(path, [CELLS], encoded=encoded) as out:
                for i in range(50):
                    out.append(trigd.Roi(run=1, l1id=i + 1, collections={"cells": array[offsets[i]:offsets[i + 1]]}))
        for a, b in zip(trigd.RoiFile(plain), trigd.RoiFile(coded), strict=True):
            self.assertEqual(a.collections["cells"].tobytes(), b.collections["cells"].tobytes())
        self.assertLess(os.path.getsize(coded), 0.75 * os.path.getsize(plain))
        self.assertIn(" cells, encoded", self.tool("show", coded))
        results = []
        for file, layout in ((plain, []), (coded, []), (plain, ["--layout", "encoded"]), (coded, ["--layout", "plain"])):
            for endpoint in self.endpoints:
                saved = f"{self.path}/saved{len(results)}.roi"
                self.tool("run", "--connect", endpoint, "--file", file, "--decisions", saved, *layout)
                results.append({roi.l1id: (roi.decision.accept, roi.values["own.met_gev"]) for roi in trigd.RoiFile(saved)})
        self.assertEqual(len(results[0]), 50)
        for other in results[1:]:
            self.assertEqual(results[0], other)

    def test_spacepoints(self):
        """Their offsets and steps come with each RoI: what is read is within half a step, and has the declaration's hash."""
        self.assertEqual(trigd.SPACEPOINTS.hash, trigd.declared(f"{SOURCE}/collections/spacepoints.yaml").hash)
        random = numpy.random.default_rng(SEED + 2)
        path = f"{self.path}/points.roi"
        arrays = []
        with trigd.RoiFileWriter(path, encoded=["spacepoints"]) as out:
            for n in (0, 1, 200):
                array = trigd.SPACEPOINTS.array(n)
                array["phi"], array["rho"] = random.uniform(-3, 3, n), random.uniform(30, 500, n)
                array["z"], array["layer"] = random.uniform(-200, 200, n), random.integers(0, 8, n)
                out.append(trigd.Roi(run=1, l1id=n + 1, collections={"spacepoints": array}))
                arrays.append(array)
        for array, roi in zip(arrays, trigd.RoiFile(path), strict=True):
            read = roi.collections["spacepoints"]
            self.assertEqual((len(read), read["layer"].tolist()), (len(array), array["layer"].tolist()))
            for name in ("phi", "rho", "z"):
                width = float(numpy.ptp(array[name])) if len(array) else 0
                self.assertTrue((abs(read[name] - array[name]) <= width / 65535 * 0.51 + 1e-4).all())
        self.assertIn("200 spacepoints, encoded", self.tool("show", path))

    def test_older_files(self):
        """Encoded spacepoints as files had them before other collections could be encoded: read, and taken by the daemon."""
        numbers = numpy.arange(40, dtype="<u2") * 1000
        old = pb.QuantizedSpacepoints(phi0_rad=-1, phi_step_rad=1e-5, rho0_mm=30, rho_step_mm=0.01, z0_mm=-200, z_step_mm=0.005,
                                      phi=numbers.tobytes(), rho=numbers.tobytes(), z=numbers.tobytes(), layer=bytes(40))
        record = pb.RoiBatch(rois=[pb.Roi(run=1, l1id=9, phi_half_rad=4, quantized_spacepoints=old)]).SerializeToString()
        header = pb.FileHeader(version=1).SerializeToString()
        path = f"{self.path}/older.roi"
        with open(path, "wb") as f:
            f.write(HEADER + varint(len(header)) + header + varint(len(record)) + record)
        roi, = trigd.RoiFile(path)
        want = numpy.float32(-200) + numpy.float32(0.005) * numbers.astype("f4")
        self.assertEqual(roi.collections["spacepoints"]["z"].tolist(), want.tolist())
        self.assertIn("40 spacepoints, encoded", self.tool("show", path))
        for endpoint in self.endpoints:
            for layout in ([], ["--layout", "encoded"], ["--layout", "plain"]):
                self.assertRegex(self.tool("run", "--connect", endpoint, "--file", path, *layout), "rejected +1 .*\n(.*\n)*errors +0")


if __name__ == "__main__":
    unittest.main()
