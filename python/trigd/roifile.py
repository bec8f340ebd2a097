# SPDX-License-Identifier: Apache-2.0
"""RoI files, which trigreplay and the streams of the daemon write.

    with RoiFileWriter("events.roi", [towers]) as out:
        out.append(Roi(run=1, l1id=7, collections={"towers": array}))
    for roi in RoiFile("events.roi"):            # declarations come from the file
        roi.l1id, roi.collections["towers"]["et"].sum()
    for roi in Stream("state/streams"):          # all files of a folder, every RoI once
        roi.chains, roi.values["vertex.b_score"], roi.products["vertex", "vertices"]["z"]

A file that was not closed is read up to its last complete record.  Mistakes are ValueErrors of one sentence."""
from __future__ import annotations

import os
import struct
from types import TracebackType
from typing import Iterator, List, Optional, Sequence, Set, Tuple, Type, Union

from google.protobuf.message import DecodeError

from . import blocks
from . import trigd_pb2 as pb
from .collections import Collection
from .roi import Roi
from .wire import block, blob, fields, pack_kept, pack_roi, read_varint, unpack_roi, varint

HEADER, END = b"TRGROI1\n", b"TRGEND1\n"
Path = Union[str, os.PathLike]


class RoiFileWriter:
    """Writes an RoI file that must not exist, one RoI a record; `encoded` names collections whose columns with an encoding
    become 16-bit numbers.  `header`, the FileHeader of a stream or of saved decisions, names the chains, streams and steps
    behind the numbers of decisions: with it, decisions and products are written too."""

    def __init__(self, path: Path, collections: Sequence[Collection] = (), creator: str = "python3-trigd",
                 encoded: Sequence[str] = (), header: Optional[pb.FileHeader] = None):
        self.collections = {c.name: c for c in collections}
        self.encoded = frozenset(encoded)
        self.header = pb.FileHeader()
        self._has_decisions = header is not None
        if header is not None:
            self.header.CopyFrom(header)
        del self.header.collections[:]
        self.header.MergeFrom(pb.FileHeader(version=1, creator=creator, collections=[c.pack() for c in collections]))
        self._file = open(path, "xb")
        self._index = pb.FileIndex()
        packed = self.header.SerializeToString()
        self._file.write(HEADER + varint(len(packed)) + packed)

    def append(self, roi: Roi) -> None:
        packed = pack_roi(roi, self.collections, self.encoded)
        if self._has_decisions and roi.decision is not None:
            packed += pack_kept(roi, self.header, self.collections)
        record = blob(1, packed)
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
    """The RoIs of a file, plain or in blocks; `header` is its FileHeader, `collections` its declarations by name."""

    def __init__(self, path: Path):
        with open(path, "rb") as f:
            self._data = memoryview(f.read())
        magic = bytes(self._data[:8])
        if magic not in (HEADER, blocks.MAGIC):
            raise ValueError(f"{os.fspath(path)} is no RoI file")
        self._has_blocks = magic == blocks.MAGIC
        try:
            if self._has_blocks:
                header, self._begin = blocks.header(self._data)
            else:
                size, at = read_varint(self._data, 8)
                header, self._begin = bytes(self._data[at:at + size]), at + size
            self.header = pb.FileHeader.FromString(header)
        except (DecodeError, ValueError) as e:
            raise ValueError(f"{os.fspath(path)}: the header is damaged: {e}") from e
        self.collections = {c.name: c for c in map(Collection.unpack, self.header.collections)}

    def _records(self) -> Iterator[memoryview]:
        at = self._begin
        while at < len(self._data):
            size, at = read_varint(self._data, at)
            if not size or at + size > len(self._data):  # the index, or a record that is not complete
                return
            yield self._data[at:at + size]
            at += size

    def __iter__(self) -> Iterator[Roi]:
        by_hash = {c.hash: c for c in self.collections.values()}
        for record in blocks.records(self._data, self._begin) if self._has_blocks else self._records():
            for n, value in fields(record):
                if n == 1:
                    yield unpack_roi(block(value), by_hash, self.header)


class Stream:
    """The RoIs of several files, or of all in a folder in the order of their names; of what is there twice the first copy."""

    def __init__(self, paths: Union[Path, Sequence[Path]]):
        paths = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
        self.paths = [file for path in paths for file in (self._folder(path) if os.path.isdir(path) else [path])]
        if not self.paths:
            raise ValueError(f"there are no RoI files in {', '.join(str(p) for p in paths)}")

    @staticmethod
    def _folder(path: Path) -> List[Path]:
        return [os.path.join(path, name) for name in sorted(os.listdir(path)) if name.endswith((".roi", ".roi.part"))]

    def files(self) -> Iterator[RoiFile]:
        return map(RoiFile, self.paths)

    def __iter__(self) -> Iterator[Roi]:
        met: Set[Tuple[int, int, int]] = set()
        for file in self.files():
            for roi in file:
                key = (roi.run, roi.l1id, roi.roi_id)
                if key not in met or file.header.stream in ("", "debug"):
                    yield roi
                met.add(key)
