# SPDX-License-Identifier: Apache-2.0
"""Events of several RoIs, from the sending of their first RoI until each RoI has its answer and the event its decision.

Until then all of them may have to go again: the next daemon needs them all, also those that have their answers."""
from __future__ import annotations

from bisect import bisect_right
from typing import Any, Dict, List, Optional, Set, Tuple

import numpy

from .rois import Rois

Key = Tuple[int, int]  # run, l1id


class Groups:
    """Which RoIs of a Rois are of one event: those of equal run and L1 id that follow each other."""

    def __init__(self, rois: Rois):
        n = len(rois)
        run, l1id, several = (numpy.broadcast_to(rois.numbers.get(k, numpy.int64(0)), n) for k in ("run", "l1id", "event_rois"))
        is_event = several > 1
        first = numpy.ones(n, bool)
        first[1:] = ~(is_event[1:] & is_event[:-1] & (run[1:] == run[:-1]) & (l1id[1:] == l1id[:-1]))
        starts = numpy.flatnonzero(first)
        self.bounds: List[int] = [*starts.tolist(), n]
        self.keys: List[Optional[Key]] = [(r, e) if s else None for r, e, s in zip(
            run[starts].tolist(), l1id[starts].tolist(), is_event[starts].tolist())]
        events = [k for k in self.keys if k]
        if len(set(events)) < len(events):
            twice = next(k for k in events if events.count(k) > 1)
            raise ValueError(f"the RoIs of event {twice[0]}/{twice[1]} (run/l1id) do not follow each other")

    def group(self, i: int) -> int:
        """That of RoI i."""
        return bisect_right(self.bounds, i) - 1

    def whole(self, first: int, most: int, room: int) -> int:
        """How many RoIs from `first` on may go in one message of `most`, where there is room for so many RoIs: no event begins
        without room for all of it."""
        last = self.bounds[self.group(first + min(most, room))]
        if last > first:
            return last - first
        rest = self.bounds[self.group(first) + 1] - first  # of an event that has begun, or is larger than a message
        return min(rest, most) if rest <= room else 0


def groups_of(rois: Rois) -> Optional[Groups]:
    """None: all are alone."""
    several = rois.numbers.get("event_rois")
    return Groups(rois) if several is not None and len(rois) and several.max() > 1 else None


class Event:
    def __init__(self, tokens: range):
        self.tokens = tokens
        self.met: Set[int] = set()  # tokens of RoIs that had an answer
        self.told = self.refused = 0  # RoIs that have an answer, an Error, since they were sent last
        self.is_decided = self.is_repeat = False

    @property
    def is_over(self) -> bool:
        return self.told == len(self.tokens) and (self.is_decided or self.refused == len(self.tokens))


class Events:
    """The open events of a client."""

    def __init__(self) -> None:
        self.open: Dict[Key, Event] = {}
        self.told: Dict[int, Any] = {}  # chunks of RoIs with an answer by token: their events are not over
        self.decisions: List[Any] = []  # messages EventDecision that have come

    def check(self, groups: Groups) -> None:
        for key in groups.keys:
            if key in self.open:
                raise ValueError(f"event {key[0]}/{key[1]} (run/l1id) is on its way; its RoIs go one after the other in one call")

    def begin(self, groups: Groups, base: int, first: int, end: int) -> int:
        """RoIs first to end - 1 of a call were sent, whose RoI 0 has the token `base`: how many events began."""
        n = 0
        for g in range(groups.group(first), groups.group(end - 1) + 1):
            key, start = groups.keys[g], groups.bounds[g]
            if key and start >= first:
                self.open[key] = Event(range(base + start, base + groups.bounds[g + 1]))
                n += 1
        return n

    def cut(self, groups: Groups, base: int, first: int) -> None:
        """RoIs from `first` on of a call will not be sent: an event that has begun consists of those before it."""
        key = groups.keys[groups.group(first)]
        e = self.open.get(key) if key else None
        if key and e and e.tokens.start < base + first:
            e.tokens = range(e.tokens.start, base + first)
            self.leave(key, e)

    def answer(self, token: int, chunk: Any, is_refused: bool) -> bool:
        """An RoI has its answer: whether it is the first."""
        key = chunk.groups.keys[chunk.groups.group(token - chunk.base)] if chunk.groups else None
        if key is None:
            return True
        e = self.open[key]
        is_first = token not in e.met
        e.met.add(token)
        e.told += 1
        e.refused += is_refused
        self.told[token] = chunk
        self.leave(key, e)
        return is_first

    def decide(self, d: Any) -> bool:
        """An EventDecision: False if nobody waits for it."""
        key = (d.run, d.l1id)
        e = self.open.get(key)
        if e is None or e.is_decided:
            return bool(d.repeated or (e and e.is_repeat))
        e.is_decided = True
        self.decisions.append(d)
        self.leave(key, e)
        return True

    def leave(self, key: Key, e: Event) -> None:
        if e.is_over:
            for token in e.tokens:
                self.told.pop(token, None)
            del self.open[key]

    def again(self) -> Dict[int, Any]:
        """The connection is lost: chunks of the RoIs with an answer that go again, by token."""
        told, self.told = self.told, {}
        for e in self.open.values():
            e.told = e.refused = 0
            e.is_repeat = True
        return told

    def are_open(self, tokens: range) -> bool:
        """Whether an event of these RoIs is open."""
        return any(e.tokens[0] in tokens for e in self.open.values())
