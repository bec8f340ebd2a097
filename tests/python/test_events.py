#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_events.py SOURCE BUILD: events of several RoIs: one decision each, over each transport, whatever happens to the daemon."""
import asyncio
import os
import time
import unittest
from collections import Counter

import numpy
import test_client
import trigd
from trigd import trigd_pb2 as pb
from trigd._session import Session

SEED = int(os.environ.get("TRIGD_SEED", time.time_ns() % 2**32))
MENU = """name: events
streams: [physics]
steps: [{name: z, plugin: zfinder, params: {preset: pure}}]
chains:
  - {name: HLT_2, id: 1, multiplicity: 2, steps: [{step: z, cuts: [{value: weight, min: 5}]}], streams: [physics]}
"""
POINTS = 60  # of one vertex


def make(events, first=0, **numbers):
    """RoIs of events: for each, a list that tells which of its RoIs have a vertex."""
    sizes = [len(e) for e in events]
    counts = [POINTS * has for e in events for has in e]
    random = numpy.random.default_rng(3)
    offsets = numpy.concatenate(([0], numpy.cumsum(counts)))
    n = int(offsets[-1])
    points = {"phi": numpy.repeat(random.uniform(-3, 3, n // 3 + 1), 3)[:n], "rho": numpy.tile([50, 90, 120], n // 3 + 1)[:n],
              "z": numpy.full(n, 10), "layer": numpy.tile([1, 2, 3], n // 3 + 1)[:n]}
    return trigd.Rois(sum(sizes), **{"run": 3, "l1id": numpy.repeat(numpy.arange(first, first + len(events)), sizes),
                                     "roi_id": numpy.concatenate([numpy.arange(s) for s in sizes]),
                                     "event_rois": numpy.repeat(sizes, sizes), "phi_half_rad": 4, "z_min_mm": -225, "z_max_mm": 225,
                                     **numbers}, collections={"spacepoints": (points, offsets)})


class Daemons(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        print(f"TRIGD_SEED={SEED}")
        cls.daemon = test_client.Daemon(MENU)

    @classmethod
    def tearDownClass(cls):
        cls.daemon.stop()

    def both(self):
        for endpoint in (self.daemon.ipc, self.daemon.shm):
            with self.subTest(endpoint=endpoint[:3]):
                yield endpoint

    def check(self, rois, events, outcomes, decisions):
        """Each event has one decision, right by the number of its RoIs with a vertex, and its RoIs have the same."""
        self.assertEqual(Counter(d.l1id for d in decisions), Counter(n for n, e in enumerate(events) if len(e) > 1))
        accept = {d.l1id: d.accept for d in decisions}
        for n, e in enumerate(events):
            self.assertEqual(accept.get(n, False), sum(e) > 1, f"event {n}: {e}, seed {SEED}")
        self.assertEqual([(d.l1id, d.roi_id) for d in outcomes], list(zip(rois.numbers["l1id"].tolist(), rois.numbers["roi_id"].tolist())))
        for d in outcomes:
            self.assertIn(d.status, (pb.OK, pb.SKIPPED))
            self.assertEqual(d.accept, accept.get(d.l1id, False))

    def test_one_decision_each(self):
        random = numpy.random.default_rng(SEED)
        events = [random.integers(0, 2, n).tolist() for n in random.integers(1, 7, 120)]
        rois = make(events)
        for endpoint in self.both():
            for batch in (1, 4, 64):  # smaller than an event, too
                with trigd.Client(endpoint, batch=batch) as client:
                    outcomes = client.decide(rois)
                    self.check(rois, events, outcomes, client.take_events())
                    several = sum(len(e) > 1 for e in events)
                    self.assertEqual((client.unanswered, client.stats.events, client.stats.events_decided), (0, several, several))
                    self.assertEqual((client.stats.duplicates, client.take_events()), (0, []))

    def test_single_rois(self):
        """As Roi, and as a file of them gives."""
        array = trigd.SPACEPOINTS.array(0)
        rois = [trigd.Roi(run=1, l1id=5, roi_id=k, event_rois=2, phi_half_rad=4, collections={"spacepoints": array}) for k in range(2)]
        with trigd.Client(self.daemon.ipc) as client:
            self.assertEqual([d.accept for d in client.decide(rois)], [False, False])
            (event,) = client.take_events()
            self.assertEqual((event.rois, event.came, event.status), (2, 2, pb.OK))

    def test_the_next_daemon(self):
        events = [[1, 0, 1]] * 40
        rois = make(events)
        for endpoint in self.both():
            with trigd.Client(endpoint, key=b"events") as client:
                client.send(rois.slice(0, 99))
                self.daemon.kill()
                self.daemon.start()
                client.send(rois.slice(99, 120))
                outcomes = sorted(client, key=lambda o: o.token)
                self.check(rois, events, outcomes, client.take_events())
                self.assertGreaterEqual(client.stats.reconnects, 1)

    def test_asyncio(self):
        async def run(endpoint):
            async with trigd.AsyncClient(endpoint) as client:
                events = [[1, 1], [1, 0, 0], [0]] * 30
                rois = make(events)
                self.check(rois, events, await client.decide(rois), client.take_events())
        for endpoint in self.both():
            asyncio.run(run(endpoint))

    def test_mistakes(self):
        with trigd.Client(self.daemon.ipc) as client:
            apart = make([[0], [0], [0]], l1id=[1, 2, 1], event_rois=2)
            with self.assertRaisesRegex(ValueError, "the RoIs of event 3/1 .run/l1id. do not follow each other"):
                client.decide(apart)
            client.send(make([[0, 0]], event_rois=3, roi_id=[0, 2]))  # one is missing
            with self.assertRaisesRegex(ValueError, "event 3/0 .run/l1id. is on its way"):
                client.send(make([[0, 0, 0]]))
            with self.assertRaisesRegex(TimeoutError, "200 of 200 RoIs could not be sent"):  # there are 128 credits
                client.send(make([[0] * 200], first=9), timeout=0.2)
        rois = make([[0] * 2])
        with trigd.Client(self.daemon.ipc) as client, self.assertRaisesRegex(ValueError, "cannot be sent again and again"):
            test_client.Load(client, rois)


class Recorder:
    """A transport that records, and answers nothing."""
    fd = -1

    def __init__(self):
        self.sent = []

    def send(self, chunk, which, is_repeat):
        self.sent += [(chunk.base + i, is_repeat) for i in which]
        return len(which)

    def tell(self, message): pass
    def release(self, chunks, tokens): pass
    def receive(self): return None
    def is_lost(self): return False
    def close(self): pass


class Narrow(Recorder):
    """Refuses the third RoI."""

    def send(self, chunk, which, is_repeat):
        if self.sent:
            raise ValueError("too large")
        return super().send(chunk, which, is_repeat)


class Recorded(Session):
    def open(self, endpoint, may_move):
        self.transport = Recorder()


class Lost(unittest.TestCase):
    """The connection ends when an event has its decision and one of its three RoIs an answer: the next daemon needs them all."""

    def setUp(self):
        self.session = Recorded("ipc://x", "lost", 0, b"", 0, 64, (), None, None)
        self.welcome()

    def welcome(self):
        self.session.take(pb.FromDaemon(welcome=pb.Welcome(credits=4)).SerializeToString())

    def answer(self, *tokens, event=None, repeated=False):
        batch = pb.DecisionBatch(decisions=[pb.Decision(token=t) for t in tokens])
        if event:
            batch.events.add(run=3, l1id=event, repeated=repeated)
        self.session.take(pb.FromDaemon(decisions=batch).SerializeToString())

    def test_all_go_again(self):
        s = self.session
        self.assertEqual(s.send(s.begin(make([[0, 0, 0], [0, 0]], first=8)), 0), 3)  # credits for the first event only
        self.answer(2, event=8)
        self.assertEqual((s.room, s.missing), (1, 3))  # that RoI may have to go again
        s.lose()
        s.open("", True)
        self.welcome()
        s.tick(time.monotonic())
        self.assertEqual(sorted(s.transport.sent), [(1, True), (2, True), (3, True)])
        self.answer(1, 2, 3, event=8, repeated=True)
        self.assertEqual([d.token for d in s.outcomes], [2, 1, 3])
        self.assertEqual(([d.l1id for d in s.events.decisions], s.missing, s.room, s.stats.duplicates), ([8], 0, 4, 0))

    def test_refused(self):
        """An event of which every RoI is refused has no decision."""
        s = self.session
        s.send(s.begin(make([[0, 0]])), 0)
        for token in (1, 2):
            s.take(pb.FromDaemon(error=pb.Error(code=pb.Error.EVENT, has_token=True, token=token)).SerializeToString())
        self.assertEqual(([o.code for o in s.outcomes], s.missing), ([pb.Error.EVENT] * 2, 0))

    def test_cut(self):
        """The rest of an event cannot be sent: it is over with what was."""
        s = self.session
        s.batch, s.transport = 2, Narrow()
        chunk = s.begin(make([[0, 0, 0]]))
        with self.assertRaisesRegex(ValueError, "too large"):
            s.send(chunk, 0)
        self.assertEqual(s.missing, 3)  # two RoIs and their event
        self.answer(1, 2)
        s.take(pb.FromDaemon(decisions=pb.DecisionBatch(events=[pb.EventDecision(run=3, status=pb.TIMEOUT)])).SerializeToString())
        self.assertEqual((s.missing, len(s.events.decisions)), (0, 1))

    def test_unknown(self):
        self.answer(event=77)
        self.assertEqual((self.session.stats.duplicates, self.session.events.decisions), (1, []))


if __name__ == "__main__":
    unittest.main()
