# SPDX-License-Identifier: Apache-2.0
"""RoI files, which trigreplay and the debug stream write.

    with RoiFileWriter("events.roi", [towers]) as out:
        out.append(Roi(run=1, l1id=7, collections={"towers": array}))
    for roi in RoiFile("events.roi"):            # declarations come from the file
        roi.l1id, roi.collections["towers"]["et"].sum()

A file that was not closed is read up to its last complete record.  Mistakes are ValueErrors of one sentence."""
from __future__ import annotations

import os
import struct
from types import TracebackType
from typing import Iterator, Optional, Sequence, Type, Union

from google.protobuf.message import DecodeError

from . import trigd_pb2 as pb
from .collections import Collection
from .roi import Roi
from .wire import block, blob, fields, pack_roi, read_varint, unpack_roi, varint

HEADER, END = b"TRGROI1\n", b"TRGEND1\n"
Path = Union[str, os.PathLike]


class RoiFileWriter:
    """Writes an RoI file that must not exist, one RoI a record."""

    def __init__(self, path: Path, collections: Sequence[Collection] = (), creator: str = "python3-trigd"):
        self.collections = {c.name: c for c in collections}
        self._file = open(path, "xb")
        self._index = pb.FileIndex()
        header = pb.FileHeader(version=1, creator=creator, collections=[c.pack() for c in collections]).SerializeToString()
        self._file.write(HEADER + varint(len(header)) + header)

    def append(self, roi: Roi) -> None:
        record = blob(1, pack_roi(roi, self.collections))
        self._index.offset.append(self._file.tell())
        self._index.rois.append(1)
        self._file.write(varint(len(record)) + record)

    def close(self) -> None:
        end = self._file.tell()
        index = self._index.SerializeToString()
        self._file.write(b"\0" + varint(len(index)) + index + struct.pack("<Q", end) + END)
        self._file.close()

    def __enter__(self) -> RoiFileWriter:
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], value: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self.close()


class RoiFile:
    """The RoIs of a file; `header` is its FileHeader, `collections` its declarations by name."""

    def __init__(self, path: Path):
        with open(path, "rb") as f:
            self._data = memoryview(f.read())
        if bytes(self._data[:8]) != HEADER:
            raise ValueError(f"{os.fspath(path)} is no RoI file")
        size, at = read_varint(self._data, 8)
        self._begin = at + size
        try:
            self.header = pb.FileHeader.FromString(bytes(self._data[at:self._begin]))
        except DecodeError as e:
            raise ValueError(f"{os.fspath(path)}: the header is damaged: {e}") from e
        self.collections = {c.name: c for c in map(Collection.unpack, self.header.collections)}

    def __iter__(self) -> Iterator[Roi]:
        by_hash = {c.hash: c for c in self.collections.values()}
        at = self._begin
        while at < len(self._data):
            size, at = read_varint(self._data, at)
            if not size or at + size > len(self._data):  # the index, or a record that is not complete
                return
            for n, value in fields(self._data[at:at + size]):
                if n == 1:
                    yield unpack_roi(block(value), by_hash)
            at += size
