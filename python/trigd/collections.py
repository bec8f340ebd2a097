# SPDX-License-Identifier: Apache-2.0
"""Declared collections as numpy arrays.

    towers = declared("towers.yaml")            # from the declaration, as the C headers are
    towers.dtype                                # one field a column; vectors are sub-arrays

An array is of structures, which numpy calls records.  Mistakes are ValueErrors of one sentence."""
from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, Dict, Sequence, Tuple, Union

import numpy
import numpy.typing

from . import _own  # made by the build from collections/*.yaml
from . import trigd_pb2 as pb

ENCODED = 1  # flag of a column that may travel as 16-bit numbers (encoding.py)
TYPES = {1: "u1", 2: "<u2", 3: "<u4", 4: "<i4", 5: "<f4", 6: "i1", 7: "<i2", 8: "<f2"}  # enum trg_type
Array = numpy.typing.NDArray[Any]


@dataclass(frozen=True)
class Column:
    name: str
    type: int  # a key of TYPES
    length: int = 1  # values of one item
    unit: str = ""
    min: float = 0.0
    max: float = 0.0
    flags: int = 0
    doc: str = ""
    offset: float = 0.0  # of its encoding
    step: float = 0.0  # 0: they come with each RoI

    @property
    def item(self) -> Tuple[Any, ...]:
        """Its field in a dtype."""
        return (self.name, TYPES[self.type], (self.length,)) if self.length > 1 else (self.name, TYPES[self.type])

    @property
    def has_encoding(self) -> bool:
        return bool(self.flags & ENCODED)

    @property
    def is_sent(self) -> bool:
        """Whether offset and step come with each RoI."""
        return self.has_encoding and not self.step

    @property
    def encoded_bytes(self) -> int:
        """Of an item of an encoded collection."""
        return self.length * (2 if self.has_encoding else numpy.dtype(TYPES[self.type]).itemsize)


class Collection:
    """A declaration: name, hash and columns; `message` is the number of its field in Roi if it has one of its own."""

    def __init__(self, name: str, hash: int, columns: Sequence[Column], doc: str = "", room: int = 0, message: int = 0):
        self.name, self.hash, self.columns, self.doc, self.room = name, hash, tuple(columns), doc, room
        self.message = message
        self.dtype = numpy.dtype([c.item for c in self.columns])
        self.sent = [n for n, c in enumerate(self.columns) if c.is_sent]  # columns with offset and step of each RoI

    def check_encoding(self) -> None:
        if not any(c.has_encoding for c in self.columns):
            raise ValueError(f"{self.name} cannot be encoded: no column of its declaration has an encoding")

    def array(self, n: int) -> Array:
        return numpy.zeros(n, self.dtype)

    def pack(self) -> pb.Collection:
        return pb.Collection(name=self.name, hash=self.hash, doc=self.doc, room=self.room, columns=[
            pb.Column(name=c.name, type=c.type, length=c.length, unit=c.unit, min=c.min, max=c.max, flags=c.flags, doc=c.doc,
                      offset=c.offset, step=c.step)
            for c in self.columns])

    @staticmethod
    def unpack(m: pb.Collection) -> Collection:
        for c in m.columns:
            if c.type not in TYPES or not 1 <= c.length <= 64:
                raise ValueError(f"column {c.name} of {m.name} has type {c.type} and length {c.length}; "
                                 "types 1 to 8 and lengths 1 to 64 are allowed")
        return Collection(m.name, m.hash, [Column(c.name, c.type, c.length, c.unit, c.min, c.max, c.flags, c.doc,
                                                 c.offset, c.step)
                                           for c in m.columns], m.doc, m.room)


# The collections with messages of their own: column c is field c + 1 of the message, which is this field of Roi.
_MESSAGES = {"spacepoints": 16, "hits": 17, "tracks": 18}
OWN: Dict[str, Collection] = {name: Collection(name, hash, [Column(*c) for c in columns], doc, room, _MESSAGES[name])
                              for name, hash, doc, room, columns in _own.COLLECTIONS}
SPACEPOINTS, HITS, TRACKS = (OWN[name] for name in _MESSAGES)


def declared(path: Union[str, os.PathLike[str]]) -> Collection:
    """The collection that a YAML file declares (needs the module yaml)."""
    from . import trg_declare
    try:
        d = trg_declare.declaration(os.fspath(path))
    except (trg_declare.Wrong, SystemExit) as e:  # it is a program of the build, too
        raise ValueError(str(e)) from e
    columns = [Column(c["name"], trg_declare.TYPE_NUMBER[c["type"]], c["length"], c["unit"], float(c["min"]),
                      float(c["max"]), c["flags"], c["doc"], *c["encoding"]) for c in d["columns"]]
    return Collection(d["name"], trg_declare.hash_of(d), columns, d["doc"], d["room"])
