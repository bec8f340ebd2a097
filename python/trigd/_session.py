# SPDX-License-Identifier: Apache-2.0
"""The conversation with a daemon (docs/protocol.md), without waiting: Client and AsyncClient wait for it."""
from __future__ import annotations

import os
import time
from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Sequence, Union

import zmq
from google.protobuf.message import DecodeError

from . import trigd_pb2 as pb
from ._events import Events
from ._transport import Chunk, Gone, Transport, ZeroMQ
from .collections import Collection
from .rois import Rois

PROTOCOL = 1
BATCH_MAX = 256  # RoIs in one message
OPEN_S, WATCH_S, BUSY_S, NO_ROOM_S, HELLO_S = 0.05, 0.005, 0.005, 20e-6, 1.0  # pauses


class Unavailable(ConnectionError):
    """No daemon answers, or what answers is no trigd."""


@dataclass(frozen=True)
class Refused:
    """An RoI that the daemon will not take: a code of trigd.v1.Error, and its sentence."""
    token: int
    code: int
    text: str


Outcome = Union["pb.Decision", Refused]


@dataclass
class Stats:
    sent: int = 0
    decided: int = 0
    refused: int = 0
    busy: int = 0        # answers Busy: the RoI is sent again
    resent: int = 0      # sent again because the connection or the daemon ended
    errors: int = 0
    duplicates: int = 0  # answers to RoIs that had ended
    reconnects: int = 0
    events: int = 0          # of several RoIs that were begun
    events_decided: int = 0


def shard_endpoint(endpoint: str, shard: int) -> str:
    if endpoint.startswith("ipc://"):
        return f"{endpoint}.{shard}"
    host, colon, port = endpoint.rpartition(":")
    return f"{host}{colon}{int(port) + shard}"


class Session:
    def __init__(self, endpoint: str, name: str, credits: int, key: bytes, run: int, batch: int,
                 collections: Sequence[Collection], key_file: Optional[str], server_key_file: Optional[str]):
        if not endpoint.startswith(("tcp://", "ipc://", "shm://")):
            raise ValueError(f"the endpoint is \"{endpoint}\"; tcp://HOST:PORT, ipc://PATH and shm://PATH are allowed")
        if not 1 <= batch <= BATCH_MAX:
            raise ValueError(f"batch is {batch}; 1 to {BATCH_MAX} are allowed")
        self.endpoint, self.batch = endpoint, batch
        self.keys = (key_file or os.environ.get("TRIGD_KEY"), server_key_file or os.environ.get("TRIGD_SERVER_KEY"))
        self.hello = pb.Hello(protocol=PROTOCOL, name=name, want_credits=credits, run=run, key=key,
                              collections=[c.pack() for c in collections])
        self.welcome: Optional[pb.Welcome] = None
        self.is_welcome = False  # by the daemon of this connection
        self.refusal = ""  # of Hello
        self.credits = 0
        self.flights: Dict[int, Chunk] = {}
        self.repeats: set[int] = set()
        self.waiting: List[int] = []  # tokens of flights to be sent again
        self.outcomes: List[Any] = []
        self.events = Events()
        self.stats = Stats()
        self.next_token = 1
        self.context: Any = None
        self.transport: Optional[Transport] = None
        self.spoken = self.again = self.hello_at = self.open_at = self.watched = 0.0
        self.heartbeat_s = 1.0
        self.open(endpoint, True)

    # ---- the connection

    def open(self, endpoint: str, may_move: bool) -> None:
        self.open_at = time.monotonic() + OPEN_S
        if endpoint.startswith("shm://"):
            from ._shm import SharedMemory
            self.transport = SharedMemory(endpoint)
        else:
            self.context = self.context or zmq.Context.instance()
            self.transport = ZeroMQ(endpoint, self.context, *self.keys)
        self.say_hello(may_move)

    def close(self) -> None:
        if self.transport:
            self.tell(pb.ToDaemon(bye=pb.Bye()))
            self.transport.close()
        self.transport = None

    def tell(self, message: pb.ToDaemon) -> None:
        assert self.transport
        self.transport.tell(message.SerializeToString())
        self.spoken = time.monotonic()

    def say_hello(self, may_move: bool) -> None:
        self.hello.may_move = may_move
        self.tell(pb.ToDaemon(hello=self.hello))
        self.hello_at = self.spoken

    def lose(self) -> None:
        """The daemon is gone, or the connection to it: what it had not answered goes to the next one."""
        if self.transport:
            self.transport.close()
        self.transport = None
        waits = set(self.waiting)
        told = self.events.again()
        self.flights.update(told)
        again = [token for token in (sorted(self.flights) if told else self.flights) if token not in waits]
        self.stats.resent += len(again)
        self.repeats.update(again)
        for token in again:
            self.flights[token].slots = [-1] * len(self.flights[token].rois)
        self.waiting += again
        self.is_welcome, self.credits, self.open_at = False, 0, 0.0

    # ---- sending

    @property
    def room(self) -> int:
        return max(self.credits - len(self.flights) - len(self.events.told), 0) if self.is_welcome else 0

    @property
    def missing(self) -> int:
        """RoIs without an answer, and events without a decision."""
        return len(self.flights) + len(self.events.open)

    def begin(self, rois: Rois) -> Chunk:
        chunk = Chunk(rois, self.next_token)
        if chunk.groups:
            self.events.check(chunk.groups)
        self.next_token += len(rois)
        return chunk

    def send(self, chunk: Chunk, first: int) -> int:
        """Sends RoIs of a chunk from `first` on, as many as there is room for: the next one."""
        while first < len(chunk.rois):
            n = min(self.room, len(chunk.rois) - first, self.batch)
            if chunk.groups and n:
                n = chunk.groups.whole(first, min(self.batch, len(chunk.rois) - first), self.room)
            if not n:
                break
            assert self.transport
            base = chunk.base + first
            self.flights.update(dict.fromkeys(range(base, base + n), chunk))
            try:
                sent = self.transport.send(chunk, range(first, first + n), False)
            except ValueError:
                for token in range(base, base + n):
                    del self.flights[token]
                self.give_up(chunk, first)
                raise
            for token in range(base + sent, base + n):  # shared memory is full now
                del self.flights[token]
            if chunk.groups and sent:
                self.stats.events += self.events.begin(chunk.groups, chunk.base, first, first + sent)
            self.stats.sent += sent
            first += sent
            if sent < n:
                break
        self.spoken = time.monotonic()
        return first

    def give_up(self, chunk: Chunk, first: int) -> None:
        """RoIs of a chunk from `first` on will not be sent."""
        if chunk.groups:
            self.events.cut(chunk.groups, chunk.base, first)

    def send_again(self, now: float) -> None:
        while self.waiting and self.is_welcome and now >= self.again and len(self.flights) - len(self.waiting) < self.credits:
            assert self.transport
            token = self.waiting[-1]
            chunk = self.flights.get(token)
            if chunk:
                i = token - chunk.base
                try:
                    if not self.transport.send(chunk, range(i, i + 1), token in self.repeats):
                        self.again = now + NO_ROOM_S
                        return
                except ValueError as e:  # another daemon than its first takes less
                    self.end(token, Refused(token, pb.Error.TOO_LARGE, str(e)))
            self.waiting.pop()

    # ---- receiving

    def end(self, token: int, outcome: Any) -> None:
        chunk = self.flights.pop(token, None)
        if chunk is None:
            self.stats.duplicates += 1
            return
        if self.transport:
            self.transport.release([chunk], [token])
        if self.events.answer(token, chunk, True):
            self.outcomes.append(outcome)

    def take_decisions(self, decisions: Any) -> None:
        end = self.flights.pop
        tokens = [d.token for d in decisions]
        chunks = [end(token, None) for token in tokens]
        known = [c for c in chunks if c is not None]
        if len(known) < len(chunks):
            decisions = [d for d, c in zip(decisions, chunks) if c is not None]
            tokens = [d.token for d in decisions]
            self.stats.duplicates += len(chunks) - len(known)
        if self.transport:
            self.transport.release(known, tokens)
        if self.events.open:
            decisions = [d for d, c in zip(decisions, known) if self.events.answer(d.token, c, False)]
        self.outcomes.extend(decisions)
        self.stats.decided += len(chunks)

    def take_events(self, decisions: Any) -> None:
        """Those of events of several RoIs."""
        before = len(self.events.decisions)
        for d in decisions:
            self.stats.duplicates += not self.events.decide(d)
        self.stats.events_decided += len(self.events.decisions) - before

    def take_busy(self, busy: pb.Busy) -> None:
        for token in busy.tokens:
            chunk = self.flights.get(token)
            if chunk is None:
                self.stats.duplicates += 1
                continue
            if self.transport:
                self.transport.release([chunk], [token])
            self.stats.busy += 1
            self.waiting.append(token)
        self.again = time.monotonic() + BUSY_S
        if busy.reason == pb.Busy.NO_HELLO and self.is_welcome:
            self.is_welcome = False
            self.say_hello(False)

    def take_error(self, error: pb.Error) -> None:
        self.stats.errors += 1
        if error.has_token:
            self.stats.refused += 1
            self.end(error.token, Refused(error.token, error.code, error.text))
        elif self.welcome is None:
            self.refusal = error.text

    def take_welcome(self, welcome: pb.Welcome) -> None:
        assert self.transport
        if welcome.shard and not self.endpoint.startswith("shm://"):
            self.transport.close()
            self.open(shard_endpoint(self.endpoint, welcome.shard), False)
            return
        self.stats.reconnects += self.welcome is not None and not self.is_welcome
        self.welcome, self.is_welcome = welcome, True
        self.credits = welcome.credits
        self.heartbeat_s = (welcome.heartbeat_ms or 1000) / 1000
        if isinstance(self.transport, ZeroMQ):
            self.transport.most_bytes = welcome.max_message_bytes

    def take(self, data: bytes) -> None:
        try:
            m = pb.FromDaemon.FromString(data)
        except DecodeError as e:
            raise Unavailable(f"what answers at {self.endpoint} is no trigd: {e}") from e
        body = m.WhichOneof("body")
        if body == "decisions":
            self.take_decisions(m.decisions.decisions)
            if m.decisions.events:
                self.take_events(m.decisions.events)
        elif body == "busy":
            self.take_busy(m.busy)
        elif body == "credit":
            self.credits = m.credit.credits
        elif body == "error":
            self.take_error(m.error)
        elif body == "welcome":
            self.take_welcome(m.welcome)

    # ---- all that can be done without waiting

    def step(self) -> None:
        try:
            for _ in range(64):
                data = self.transport.receive() if self.transport else None
                if data is None:
                    break
                self.take(data)
        except Gone:
            self.lose()
        self.tick(time.monotonic())

    def tick(self, now: float) -> None:
        if self.transport and now > self.watched + WATCH_S:
            self.watched = now
            if self.transport.is_lost():
                self.lose()
        if not self.transport:
            if now >= self.open_at:
                try:
                    self.open(self.endpoint, True)
                except (FileNotFoundError, ConnectionRefusedError):
                    pass  # nobody is there yet
            return
        if not self.is_welcome and now > self.hello_at + HELLO_S:
            self.say_hello(False)
        if self.waiting:
            self.send_again(now)
        if now > self.spoken + self.heartbeat_s / 2:
            self.tell(pb.ToDaemon(heartbeat=pb.Heartbeat(sent_ns=time.monotonic_ns())))

    @property
    def pause_ms(self) -> int:
        """Longest sleep until the next step."""
        return 50 if self.is_welcome and not self.waiting else 5
