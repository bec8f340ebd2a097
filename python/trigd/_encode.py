# SPDX-License-Identifier: Apache-2.0
"""Rois as the two transports carry them.  Nothing here looks at a value of a column."""
from __future__ import annotations

import struct
from typing import Any, Callable, Dict, List, Sequence, Tuple

import numpy

from .collections import Array
from .rois import FLOATS, INTS, Columns, Rois
from .wire import blob, hash_field, varint

NUMBER = {"run": 2, "l1id": 3, "roi_id": 4, "bcid": 5, "lumi_block": 6, "l1_bits": 7, "eta": 8, "phi_rad": 9,
          "eta_half": 10, "phi_half_rad": 11, "z_min_mm": 12, "z_max_mm": 13, "deadline_us": 15, "type": 21, "event_rois": 22}
IS_REPEAT = b"\x70\x01"
COLUMNS_FIELD = varint(20 << 3 | 2)
SMALL = [varint(n) for n in range(1 << 14)]


def number(n: int) -> bytes:
    return SMALL[n] if n < 1 << 14 else varint(n)


# ---------------------------------------------------------------- messages

class _Head:
    """Of a collection of n items: tag, length and all else up to each column's bytes; and how many bytes it has.  Offsets and
    steps of the RoI follow the columns (sent_fields)."""

    def __init__(self, c: Columns, n: int, sent_bytes: int):
        own = 0 if c.is_encoded else c.collection.message
        field = 3 if c.is_encoded else 2
        tags = [varint((k + 1 if own else field) << 3 | 2) + varint(n * size) for k, size in enumerate(c.item_bytes)]
        start = b"" if own else hash_field(c.collection)
        inside = len(start) + sum(map(len, tags)) + n * sum(c.item_bytes) + sent_bytes
        self.before = [(varint(own << 3 | 2) if own else COLUMNS_FIELD) + varint(inside) + start + tags[0]] + tags[1:]
        self.size = sum(map(len, self.before)) + n * sum(c.item_bytes) + sent_bytes


def sent_fields(c: Columns) -> List[bytes]:
    """Fields 4 and 5 of Columns of each RoI."""
    k = c.sent.shape[1] // 2
    return [blob(4, row[:k].tobytes()) + blob(5, row[k:].tobytes()) if k else b"" for row in c.sent]


class Packer:
    """RoIs as bytes of message Roi behind token and is_repeat."""

    def __init__(self, rois: Rois):
        self.numbers = _pack_numbers(rois)
        self.collections: List[Tuple[Columns, List[int], Dict[int, _Head], List[Tuple[memoryview, int]], List[bytes]]] = []
        for c in rois.collections:
            views = [a.reshape(-1).view("u1").data for a in c.columns]
            self.collections.append((c, c.offsets.tolist(), {}, list(zip(views, c.item_bytes)), sent_fields(c)))

    def add(self, i: int, token: int, is_repeat: bool, parts: List[Any]) -> None:
        """Appends the field of RoiBatch that is RoI i."""
        place = len(parts)
        front = b"\x08" + varint(token) + (IS_REPEAT if is_repeat else b"") + self.numbers[i]
        parts.append(front)
        size = len(front)
        for c, offsets, heads, columns, sent in self.collections:
            a, b = offsets[i], offsets[i + 1]
            head = heads.get(b - a)
            if head is None:
                head = heads[b - a] = _Head(c, b - a, len(sent[i]))
            size += head.size
            for before, (view, item) in zip(head.before, columns):
                parts.append(before)
                parts.append(view[a * item:b * item])
            if sent[i]:
                parts.append(sent[i])
        parts[place] = b"\x0a" + number(size) + front

    def message(self, which: Sequence[int], tokens: Sequence[int], is_repeat: bool) -> bytes:
        """The ToDaemon message with these RoIs."""
        parts: List[Any] = []
        for i, token in zip(which, tokens):
            self.add(i, token, is_repeat, parts)
        batch = b"".join(parts)
        return b"\x12" + varint(len(batch)) + batch


def _pack_numbers(rois: Rois) -> List[bytes]:
    """Run, L1 id and so on of each RoI; what is the same for all is packed once."""
    common = b""
    each: List[List[bytes]] = []
    packers: Dict[bool, Callable[[Any], bytes]] = {True: varint, False: struct.Struct("<f").pack}
    for name, array in rois.numbers.items():
        tag = varint(NUMBER[name] << 3 | (0 if name in INTS else 5))
        pack = packers[name in INTS]
        if array.shape == ():
            common += tag + pack(array.item())
        else:
            each.append([tag + pack(v) for v in array.tolist()])
    if not each:
        return [common] * len(rois)
    return [common + b"".join(fields) for fields in zip(*each)]


# ---------------------------------------------------------------- shared memory (common/shm.h)

ALIGN = 64
LEAST_SHIFT = 10
LISTED, REPEAT, DEADLINE = 1 << 30, 1 << 29, 1 << 28
ENCODED_AT = 16
DEADLINE_AT, DEADLINE_MAX = 6, (1 << 26) - 1
EVENT_AT, EVENT_MAX = 8, 255
KINDS = {"spacepoints": 1, "hits": 2, "tracks": 3}
ENTRY = numpy.dtype([("token", "<u8"), *((n, "<u4") for n in INTS[:6]), *((n, "<f4") for n in FLOATS), ("kinds", "<u4"),
                     ("type", "<u4"), ("in", [("at", "<u8"), ("n", "<u4"), ("hash", "<u4")], (4,))])
assert ENTRY.itemsize == 128


class Layout:
    """RoIs as columns in the memory: sizes, and where each column begins."""

    def __init__(self, rois: Rois):
        self.is_listed = any(not c.collection.message for c in rois.collections)
        self.places = [k if self.is_listed else KINDS[c.collection.name] - 1 for k, c in enumerate(rois.collections)]
        self.entries = self._entries(rois)
        ends = numpy.zeros(len(rois), "i8")
        self.copies: List[Tuple[memoryview, List[int], List[int], Array, Array]] = []  # source from and to, place and its end
        self.starts: List[Array] = []  # of each collection
        for c in rois.collections:
            n = numpy.diff(c.offsets)
            self.starts.append(ends)
            if c.sent.shape[1]:  # an encoded one begins with its offsets and steps
                size = c.sent.shape[1] * 4
                at = [size * i for i in range(len(rois) + 1)]
                self.copies.append((c.sent.reshape(-1).view("u1").data, at[:-1], at[1:], ends, ends + size))
                ends = ends + (size + ALIGN - 1) // ALIGN * ALIGN
            for column, item in zip(c.columns, c.item_bytes):
                view = column.reshape(-1).view("u1").data
                self.copies.append((view, (c.offsets[:-1] * item).tolist(), (c.offsets[1:] * item).tolist(), ends, ends + n * item))
                ends = ends + (n * item + ALIGN - 1) // ALIGN * ALIGN
        self.sizes = ends
        # an RoI's piece of room is 1 KiB << its class
        pieces = numpy.maximum(ends, 1 << LEAST_SHIFT).astype("f8")
        self.classes: List[int] = (numpy.ceil(numpy.log2(pieces)).astype("i8") - LEAST_SHIFT).tolist()

    def write(self, data: memoryview, a: int, b: int, at: Array, tokens: Any, is_repeat: bool) -> Array:
        """Copies RoIs a to b - 1 to their places, and gives their entries."""
        entries = self.entries[a:b].copy()
        entries["token"] = tokens
        if is_repeat:
            entries["kinds"] |= REPEAT
        for place, starts in zip(self.places, self.starts):
            entries["in"]["at"][:, place] = at + starts[a:b]
        for view, begin, end, to, to_end in self.copies:
            for p, q, x, y in zip(begin[a:b], end[a:b], (at + to[a:b]).tolist(), (at + to_end[a:b]).tolist()):
                data[x:y] = view[p:q]
        return entries

    def _entries(self, rois: Rois) -> Array:
        entries = numpy.zeros(len(rois), ENTRY)
        for name, array in rois.numbers.items():
            if name not in ("deadline_us", "event_rois"):
                entries[name] = array
        deadline = numpy.minimum(rois.numbers.get("deadline_us", numpy.int64(0)), DEADLINE_MAX)
        entries["type"] |= (deadline << DEADLINE_AT).astype("u4")
        entries["kinds"] = numpy.where(deadline > 0, DEADLINE, 0) + (LISTED if self.is_listed else 0)
        event_rois = numpy.minimum(rois.numbers.get("event_rois", numpy.int64(0)), EVENT_MAX)
        entries["kinds"] |= (event_rois << EVENT_AT).astype("u4")
        for place, c in zip(self.places, rois.collections):
            entries["in"]["n"][:, place] = numpy.diff(c.offsets)
            entries["kinds"] |= (1 << (ENCODED_AT + place)) if c.is_encoded else 0
            if self.is_listed:
                entries["in"]["hash"][:, place] = c.collection.hash & 0xffffffff
            else:
                entries["kinds"] |= 1 << KINDS[c.collection.name]
        return entries
