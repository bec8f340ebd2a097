# SPDX-License-Identifier: Apache-2.0
"""RoI files in blocks (docs/streams.md): heads, check sums and contents."""
from __future__ import annotations

import struct
import warnings
import zlib
from dataclasses import dataclass
from typing import Iterator, Optional, Tuple

from .wire import read_varint

MAGIC = b"TRGROI2\n"
HEAD = struct.Struct("<4sBBHIIII")  # mark, kind, codec, 0, RoIs, bytes, bytes when unpacked, CRC-32
HEAD_BYTES = HEAD.size + 4  # its own CRC-32
HEADER, RECORDS, INDEX = range(3)
PLAIN, ZSTD = range(2)


@dataclass(frozen=True)
class Block:
    kind: int
    rois: int
    contents: Optional[memoryview]  # None: they are damaged
    end: int  # where the next one begins


def _unpack(codec: int, contents: memoryview, size: int) -> memoryview:
    if codec == PLAIN:
        return contents
    try:
        import zstandard
    except ImportError as e:
        raise ValueError("the file is compressed: the module zstandard is needed") from e
    try:
        return memoryview(zstandard.ZstdDecompressor().decompress(contents, max_output_size=size))
    except zstandard.ZstdError as e:
        raise ValueError(f"the file is damaged: {e}") from e


def read(data: memoryview, at: int) -> Optional[Block]:
    """The block at a place; None: the file ends before its end."""
    if at + HEAD_BYTES > len(data):
        return None
    head = data[at:at + HEAD.size]
    mark, kind, codec, _, rois, size, unpacked, check = HEAD.unpack(head)
    if mark != b"TRGB" or zlib.crc32(head) != struct.unpack("<I", data[at + HEAD.size:at + HEAD_BYTES])[0]:
        raise ValueError(f"the file is damaged: no block begins at byte {at}")
    end = at + HEAD_BYTES + size
    if end > len(data):
        return None
    contents = data[at + HEAD_BYTES:end]
    whole = zlib.crc32(contents) == check
    return Block(kind, rois, _unpack(codec, contents, unpacked) if whole else None, end)


def header(data: memoryview) -> Tuple[bytes, int]:
    """The packed FileHeader, and where the next block begins."""
    first = read(data, len(MAGIC))
    if first is None or first.kind != HEADER or first.contents is None:
        raise ValueError("the file is damaged: it has no header")
    return bytes(first.contents), first.end


def records(data: memoryview, at: int) -> Iterator[memoryview]:
    """The records behind the header; those of damaged blocks are left out with a warning."""
    while (b := read(data, at)) is not None and b.kind != INDEX:
        if b.contents is None:
            warnings.warn(f"a block is damaged: its {b.rois} RoIs are left out", stacklevel=2)
        else:
            here = 0
            while here < len(b.contents):
                size, here = read_varint(b.contents, here)
                if here + size > len(b.contents):
                    raise ValueError("the file is damaged: a record does not end in its block")
                yield b.contents[here:here + size]
                here += size
        at = b.end
