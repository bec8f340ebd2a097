# SPDX-License-Identifier: Apache-2.0
"""Clients of a daemon.

    with Client("ipc:///run/trigd/rois.sock") as client:
        for decision in client.decide(rois):     # a Rois, or a list of Roi
            decision.accept, decision.chains

A client keeps to the credits that the daemon grants, sends again what was answered Busy or had no answer when the
connection or the daemon ended, and follows the daemon to its shard.  Each RoI has one outcome: a Decision (message
trigd.v1.Decision), or Refused.  The RoIs of an event follow each other in one call; an event of several has a decision of its own
(take_events).  A client belongs to one thread; the protocol is in docs/protocol.md."""
from __future__ import annotations

import time
from types import TracebackType
from typing import Any, AsyncIterator, Iterator, List, Optional, Sequence, Type, Union

from . import trigd_pb2 as pb
from ._session import Outcome, Refused, Session, Stats, Unavailable
from .collections import Collection
from .roi import Roi
from .rois import Rois

__all__ = ["AsyncClient", "Client", "Outcome", "Refused", "Stats", "Unavailable"]
Many = Union[Rois, Sequence[Roi]]


class _Client:
    """What both kinds share.

    endpoint     tcp://HOST:PORT, ipc://PATH, shm://PATH
    name         for people, 1 to 63 printable characters
    credits      to ask for; 0: as many as the daemon gives
    key          at most 64 bytes, the same after a restart: the daemon decides no RoI of this client twice
    batch        RoIs in one message
    collections  declared ones that RoIs will hold
    timeout      for Hello, and of the calls that have none, in seconds
    key_file, server_key_file
                 for encryption over tcp: files of `trigctl keygen`; else TRIGD_KEY and TRIGD_SERVER_KEY of the environment"""

    def __init__(self, endpoint: str, name: str = "python", *, credits: int = 0, key: bytes = b"", run: int = 0, batch: int = 64,
                 collections: Sequence[Collection] = (), timeout: float = 10.0, key_file: Optional[str] = None,
                 server_key_file: Optional[str] = None):
        self.timeout = timeout
        self.collections = tuple(collections)
        self._options = (endpoint, name, credits, key, run, batch, self.collections, key_file, server_key_file)
        self._open: Optional[Session] = None

    @property
    def _session(self) -> Session:
        if self._open is None:
            raise Unavailable("the client is not open")
        return self._open

    def _start(self) -> None:
        try:
            self._open = Session(*self._options)
        except (FileNotFoundError, ConnectionRefusedError) as e:
            raise Unavailable(f"cannot connect to {self._options[0]}: {e.strerror}") from e

    def _check_welcome(self, until: float) -> bool:
        s = self._session
        if s.is_welcome:
            return True
        if s.refusal:
            raise ConnectionRefusedError(s.refusal)
        if time.monotonic() >= until:
            raise Unavailable(f"no daemon answers at {s.endpoint} within {self.timeout:g} s")
        return False

    def _rois(self, rois: Many) -> Rois:
        return rois if isinstance(rois, Rois) else Rois.of(rois, self.collections)

    def _take(self) -> List[Outcome]:
        s = self._session
        taken = s.outcomes
        s.outcomes = []
        return taken

    @property
    def welcome(self) -> pb.Welcome:
        """What the daemon told: names of chains, streams, steps; limits."""
        w = self._session.welcome
        assert w is not None
        return w

    @property
    def stats(self) -> Stats:
        return self._session.stats

    @property
    def credits(self) -> int:
        """RoIs that may be unanswered."""
        return self._session.credits

    @property
    def room(self) -> int:
        """RoIs that may be sent now."""
        return self._session.room

    @property
    def unanswered(self) -> int:
        """RoIs without an answer, and events of several RoIs without a decision."""
        return self._session.missing

    def take_events(self) -> List["pb.EventDecision"]:
        """The decisions that have come on events of several RoIs since the last call."""
        events = self._session.events
        taken, events.decisions = events.decisions, []
        return taken


class _Answers:
    """Outcomes of the RoIs of one decide, in their order; others are given back."""

    def __init__(self, tokens: range):
        self.tokens = tokens
        self.list: List[Any] = [None] * len(tokens)
        self.left = len(tokens)

    def take(self, outcomes: List[Outcome]) -> List[Outcome]:
        others = []
        for o in outcomes:
            if o.token in self.tokens:
                self.list[o.token - self.tokens.start] = o
                self.left -= 1
            else:
                others.append(o)
        return others

    @property
    def lacking(self) -> str:
        return f"{self.left} of {len(self.list)} RoIs have no answer" if self.left else "an event has no decision"


class Client(_Client):
    """A client that waits."""

    def __init__(self, endpoint: str, name: str = "python", **options: Any):
        super().__init__(endpoint, name, **options)
        self._start()
        until = time.monotonic() + self.timeout
        try:
            while not self._check_welcome(until):
                self._go(until)
        except Exception:
            self.close()
            raise

    def _go(self, until: float) -> None:
        """One step, with a sleep before when nothing is there."""
        s = self._session
        room = s.room
        s.step()
        if not s.outcomes and s.room <= room and s.transport:
            left = int((until - time.monotonic()) * 1000) + 1
            s.transport.wait(max(min(left, s.pause_ms), 0))
            s.step()
        elif not s.transport:
            time.sleep(0.005)

    def send(self, rois: Many, timeout: Optional[float] = None) -> range:
        """Sends RoIs, waiting for credits: their tokens.  TimeoutError: some were not sent."""
        s = self._session
        until = time.monotonic() + (self.timeout if timeout is None else timeout)
        chunk = s.begin(self._rois(rois))
        n = len(chunk.rois)
        sent = s.send(chunk, 0)
        while sent < n:
            outcomes, s.outcomes = s.outcomes, []
            self._go(until)
            s.outcomes = outcomes + s.outcomes if outcomes else s.outcomes
            before, sent = sent, s.send(chunk, sent)
            if sent == before and time.monotonic() >= until:
                s.give_up(chunk, sent)
                raise TimeoutError(f"{n - sent} of {n} RoIs could not be sent: the daemon gives no credits")
        return range(chunk.base, chunk.base + n)

    def receive(self, timeout: Optional[float] = None) -> List[Outcome]:
        """What has come; waits for something if nothing has.  [] when nothing came in time, or only decisions of events."""
        s = self._session
        until = time.monotonic() + (self.timeout if timeout is None else timeout)
        decided = s.stats.events_decided
        s.step()
        while not s.outcomes and s.stats.events_decided == decided:
            if time.monotonic() >= until:
                break
            if s.transport:
                left = int((until - time.monotonic()) * 1000) + 1
                s.transport.wait(min(left, s.pause_ms))
            else:
                time.sleep(0.005)
            s.step()
        return self._take()

    def decide(self, rois: Many, timeout: Optional[float] = None) -> List[Outcome]:
        """Sends RoIs and waits for all of them: their outcomes, in their order.  TimeoutError."""
        s = self._session
        until = time.monotonic() + (self.timeout if timeout is None else timeout)
        answers = _Answers(self.send(rois, timeout))
        others = answers.take(self._take())
        while answers.left or s.events.are_open(answers.tokens):
            got = self.receive(until - time.monotonic())
            others += answers.take(got)
            if not got and time.monotonic() >= until:
                raise TimeoutError(answers.lacking)
        s.outcomes = others + s.outcomes
        return answers.list

    def __iter__(self) -> Iterator[Outcome]:
        """Outcomes until none is missing."""
        while self.unanswered or self._session.outcomes:
            yield from self.receive()

    def close(self) -> None:
        """Says Bye; RoIs without an answer have none."""
        if self._open:
            self._open.close()
        self._open = None

    def __enter__(self) -> Client:
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], value: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self.close()


class AsyncClient(_Client):
    """The same for asyncio: `async with AsyncClient(endpoint) as client`, and await its calls."""

    async def __aenter__(self) -> AsyncClient:
        import asyncio
        self._start()
        self._loop = asyncio.get_running_loop()
        self._news = asyncio.Event()
        self._fd = -1
        self._timer: Any = None
        self._failure: Optional[Exception] = None
        self._pump()
        until = time.monotonic() + self.timeout
        try:
            while not self._check_welcome(until):
                await self._wait(until)
        except BaseException:
            await self.__aexit__(None, None, None)
            raise
        return self

    async def __aexit__(self, kind: Optional[Type[BaseException]], value: Optional[BaseException],
                        trace: Optional[TracebackType]) -> None:
        if self._timer:
            self._timer.cancel()
        if self._fd >= 0:
            self._loop.remove_reader(self._fd)
        self._fd = -1
        if self._open:
            self._open.close()
        self._open = None

    def _pump(self) -> None:
        """All that can be done now; called when something comes, when the timer ends, and after sending."""
        s = self._open
        if s is None:
            return
        try:
            s.step()
            while s.transport and not s.transport.sleep():
                s.step()
        except Exception as e:  # goes to whoever waits
            self._failure = e
        fd = s.transport.fd if s.transport else -1
        if fd != self._fd:
            if self._fd >= 0:
                self._loop.remove_reader(self._fd)
            if fd >= 0:
                self._loop.add_reader(fd, self._pump)
            self._fd = fd
        if self._timer:
            self._timer.cancel()
        self._timer = self._loop.call_later(s.pause_ms / 1000, self._pump)
        self._news.set()

    async def _wait(self, until: float) -> None:
        import asyncio
        self._news.clear()
        try:
            await asyncio.wait_for(self._news.wait(), max(until - time.monotonic(), 0.001))
        except asyncio.TimeoutError:
            pass
        if self._failure:
            raise self._failure

    async def send(self, rois: Many, timeout: Optional[float] = None) -> range:
        """As Client.send."""
        s = self._session
        until = time.monotonic() + (self.timeout if timeout is None else timeout)
        chunk = s.begin(self._rois(rois))
        n = len(chunk.rois)
        sent = s.send(chunk, 0)
        while sent < n:
            await self._wait(until)
            before, sent = sent, s.send(chunk, sent)
            if sent == before and time.monotonic() >= until:
                s.give_up(chunk, sent)
                raise TimeoutError(f"{n - sent} of {n} RoIs could not be sent: the daemon gives no credits")
        self._loop.call_soon(self._pump)  # libzmq's descriptor tells of an edge only
        return range(chunk.base, chunk.base + n)

    async def receive(self, timeout: Optional[float] = None) -> List[Outcome]:
        """As Client.receive."""
        until = time.monotonic() + (self.timeout if timeout is None else timeout)
        decided = self._session.stats.events_decided
        while not self._session.outcomes and self._session.stats.events_decided == decided and time.monotonic() < until:
            await self._wait(until)
        return self._take()

    async def decide(self, rois: Many, timeout: Optional[float] = None) -> List[Outcome]:
        """As Client.decide."""
        until = time.monotonic() + (self.timeout if timeout is None else timeout)
        answers = _Answers(await self.send(rois, timeout))
        others = answers.take(self._take())
        while answers.left or self._session.events.are_open(answers.tokens):
            got = await self.receive(until - time.monotonic())
            others += answers.take(got)
            if not got and time.monotonic() >= until:
                raise TimeoutError(answers.lacking)
        self._session.outcomes = others + self._session.outcomes
        return answers.list

    async def __aiter__(self) -> AsyncIterator[Outcome]:
        while self.unanswered or self._session.outcomes:
            for outcome in await self.receive():
                yield outcome
