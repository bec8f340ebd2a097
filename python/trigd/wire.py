# SPDX-License-Identifier: Apache-2.0
"""An RoI as bytes of message Roi, and back.

Columns are copied as blocks: the generated classes would take every value through a Python number.  Everything else
of the protocol goes through them (trigd_pb2)."""
from __future__ import annotations

import struct
from typing import Container, Dict, List, Iterator, Mapping, Optional, Sequence, Tuple, Union

import numpy

from google.protobuf.message import DecodeError

from . import encoding
from . import trigd_pb2 as pb
from .collections import OWN, SPACEPOINTS, Array, Collection
from .roi import Roi

VARINTS = {2: "run", 3: "l1id", 4: "roi_id", 5: "bcid", 6: "lumi_block", 7: "l1_bits", 15: "deadline_us", 21: "type",
           22: "event_rois"}  # numbers in Roi
FLOATS = {8: "eta", 9: "phi_rad", 10: "eta_half", 11: "phi_half_rad", 12: "z_min_mm", 13: "z_max_mm"}
TOKEN, IS_REPEAT, QUANTIZED, COLUMNS, KEPT = 1, 14, 19, 20, 30
HASH, COLUMN, ENCODED, OFFSET, STEP = 1, 2, 3, 4, 5  # in Columns


def varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def blob(number: int, data: bytes) -> bytes:
    """A field of bytes."""
    return varint(number << 3 | 2) + varint(len(data)) + data


def pack_collection(c: Collection, array: Array) -> bytes:
    """The field of Roi that holds it."""
    if array.dtype != c.dtype:
        raise ValueError(f"{c.name} is an array of {array.dtype}; {c.dtype} is declared")
    columns = [array[k.name].tobytes() for k in c.columns]
    if c.message:
        return blob(c.message, b"".join(blob(n, data) for n, data in enumerate(columns, 1)))
    return blob(COLUMNS, hash_field(c) + b"".join(blob(COLUMN, data) for data in columns))


def hash_field(c: Collection) -> bytes:
    return varint(HASH << 3 | 1) + struct.pack("<Q", c.hash)


def pack_encoded(c: Collection, array: Array) -> bytes:
    """The same of an array whose columns with an encoding become 16-bit numbers."""
    if array.dtype != c.dtype:
        raise ValueError(f"{c.name} is an array of {array.dtype}; {c.dtype} is declared")
    c.check_encoding()
    parts, sent = [hash_field(c)], []
    for k in c.columns:
        data = array[k.name]
        if k.has_encoding:
            what, offset, step = f"column {k.name} of {c.name}", k.offset, k.step
            if k.is_sent:
                sent.append([float(v[0]) for v in encoding.fit(what, data, numpy.array([0, len(data)]))])
                offset, step = sent[-1]
            data = encoding.numbers(what, data, offset, step)
        parts.append(blob(ENCODED, data.tobytes()))
    if sent:
        parts += [blob(n, numpy.array(v, "<f4").tobytes()) for n, v in zip((OFFSET, STEP), zip(*sent))]
    return blob(COLUMNS, b"".join(parts))


def pack_roi(roi: Roi, declarations: Mapping[str, Collection], encoded: Container[str] = ()) -> bytes:
    """Message Roi without its token, with the collections of these names encoded."""
    parts = []
    for number, name in VARINTS.items():
        value = getattr(roi, name)
        if not 0 <= value <= 0xffffffff:
            raise ValueError(f"{name} is {value}; 0 to 4294967295 is allowed")
        if value:
            parts.append(varint(number << 3) + varint(value))
    for number, name in FLOATS.items():
        value = getattr(roi, name)
        if value:
            parts.append(varint(number << 3 | 5) + struct.pack("<f", value))
    for name, array in roi.collections.items():
        c = OWN.get(name) or declarations.get(name)
        if c is None:
            raise ValueError(f"{name} is not declared; there are {', '.join({**OWN, **declarations})}")
        parts.append((pack_encoded if name in encoded else pack_collection)(c, array))
    return b"".join(parts)


def read_varint(data: memoryview, at: int) -> Tuple[int, int]:
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise ValueError("the data is damaged: a number does not end")
        value |= (data[at] & 127) << shift
        shift += 7
        at += 1
        if data[at - 1] < 128:
            return value, at


def fields(data: memoryview) -> Iterator[Tuple[int, Union[int, memoryview]]]:
    """Number and value of each field of a message: an int for a varint, else its bytes."""
    at = 0
    while at < len(data):
        key, at = read_varint(data, at)
        if key & 7 == 0:
            value, at = read_varint(data, at)
            yield key >> 3, value
            continue
        size, at = {1: (8, at), 5: (4, at)}.get(key & 7) or read_varint(data, at)
        if at + size > len(data):
            raise ValueError("the data is damaged: a field does not end")
        yield key >> 3, data[at:at + size]
        at += size


def block(value: Union[int, memoryview]) -> memoryview:
    if isinstance(value, int):
        raise ValueError("the data is damaged: a number stands where bytes belong")
    return value


def gather(c: Collection, columns: Mapping[int, memoryview]) -> Array:
    """The array whose columns have these bytes."""
    sizes = {len(columns.get(n, b"")) / c.dtype[n].itemsize for n in range(len(c.columns))}
    if len(sizes) != 1 or len(columns) > len(c.columns) or not next(iter(sizes)).is_integer():
        raise ValueError(f"columns of {c.name} do not fit its declaration")
    array = c.array(int(sizes.pop()))
    for n, k in enumerate(c.columns):
        array[k.name] = numpy.frombuffer(columns.get(n, b""), c.dtype[n].base).reshape(array[k.name].shape)
    return array


def decode(c: Collection, columns: Sequence[memoryview], offsets: Sequence[float], steps: Sequence[float]) -> Array:
    """The array of an encoded collection."""
    items = {len(data) / k.encoded_bytes for data, k in zip(columns, c.columns)}
    if len(columns) != len(c.columns) or len(items) != 1 or not next(iter(items)).is_integer() \
            or not len(offsets) == len(steps) == len(c.sent):
        raise ValueError(f"encoded columns of {c.name} do not fit its declaration")
    array = c.array(int(items.pop()))
    sent = iter(zip(offsets, steps))
    for n, (k, data) in enumerate(zip(c.columns, columns)):
        if k.has_encoding:
            offset, step = next(sent) if k.is_sent else (k.offset, k.step)
            array[k.name] = encoding.values(numpy.frombuffer(data, "<u2"), offset, step).reshape(array[k.name].shape)
        else:
            array[k.name] = numpy.frombuffer(data, c.dtype[n].base).reshape(array[k.name].shape)
    return array


def floats(data: memoryview) -> List[float]:
    if len(data) % 4:
        raise ValueError("the data is damaged: a float does not end")
    return list(struct.unpack(f"<{len(data) // 4}f", data))


def unpack_columns(data: memoryview, by_hash: Mapping[int, Collection]) -> Tuple[str, Array]:
    parts = list(fields(data))
    number = next((struct.unpack("<Q", block(v))[0] for n, v in parts if n == HASH and len(block(v)) == 8), 0)
    c = SPACEPOINTS if number == SPACEPOINTS.hash else by_hash.get(number)
    if c is None:
        raise ValueError(f"an RoI holds a collection with the hash {number:016x}, which is not declared")
    of: Dict[int, List[memoryview]] = {n: [block(v) for m, v in parts if m == n] for n in (COLUMN, ENCODED, OFFSET, STEP)}
    if of[ENCODED]:
        return c.name, decode(c, of[ENCODED], *([f for v in of[n] for f in floats(v)] for n in (OFFSET, STEP)))
    return c.name, gather(c, dict(enumerate(of[COLUMN])))


def unpack_quantized(data: memoryview) -> Array:
    """Encoded spacepoints of older files."""
    of = dict(fields(data))
    empty = memoryview(b"")
    numbers = [floats(block(of.get(n, memoryview(bytes(4)))))[0] for n in range(1, 7)]
    return decode(SPACEPOINTS, [block(of.get(n, empty)) for n in range(7, 11)], numbers[0::2], numbers[1::2])


def name_of(names: Sequence[str], number: int) -> str:
    return names[number] if number < len(names) else str(number)


def take_decision(roi: Roi, data: memoryview, header: pb.FileHeader) -> None:
    try:
        d = roi.decision = pb.Decision.FromString(bytes(data))
    except DecodeError as e:
        raise ValueError(f"the data is damaged: {e}") from e
    roi.chains = [name_of(header.chains, n) for n in d.chains]
    roi.streams = [name_of(header.streams, n) for n in d.streams]
    for result in d.results:
        step = header.steps[result.step] if result.step < len(header.steps) else pb.Step(name=str(result.step))
        for n, value in enumerate(result.values):
            roi.values[f"{step.name}.{name_of(step.values, n)}"] = value


def pack_kept(roi: Roi, header: pb.FileHeader, declarations: Mapping[str, Collection]) -> bytes:
    """The field of Roi with its decision and products, numbered as in the header."""
    assert roi.decision is not None
    kept = pb.Kept(status=roi.decision.status, reason=roi.reason, unix_s=roi.unix_s, menu_key=roi.decision.menu_key,
                   decision=roi.decision)
    steps = [s.name for s in header.steps]
    parts = [kept.SerializeToString()]
    for (step, name), array in roi.products.items():
        c = declarations.get(name)
        if c is None or step not in steps:
            raise ValueError(f"the product {name} of {step} is not declared, or the header does not name the step")
        if array.dtype != c.dtype:
            raise ValueError(f"{name} of {step} is an array of {array.dtype}; {c.dtype} is declared")
        columns = hash_field(c) + b"".join(blob(COLUMN, array[k.name].tobytes()) for k in c.columns)
        parts.append(blob(6, varint(1 << 3) + varint(steps.index(step)) + blob(2, columns)))
    return blob(KEPT, b"".join(parts))


def take_kept(roi: Roi, data: memoryview, by_hash: Mapping[int, Collection], header: pb.FileHeader) -> None:
    """Message Kept: what the daemon made of the RoI."""
    for n, value in fields(data):
        if n == 2:
            roi.reason = bytes(block(value)).decode()
        elif n == 3:
            roi.unix_s = value if isinstance(value, int) else 0
        elif n == 5:
            take_decision(roi, block(value), header)
        elif n == 6:
            parts = dict(fields(block(value)))
            step = parts.get(1, 0)
            number = step if isinstance(step, int) else 0
            name, array = unpack_columns(block(parts.get(2, 0)), by_hash)
            roi.products[name_of([s.name for s in header.steps], number), name] = array


def unpack_roi(data: memoryview, by_hash: Mapping[int, Collection], header: Optional[pb.FileHeader] = None) -> Roi:
    """The RoI of a message; a field of another type than it should have, and the like, is a ValueError."""
    roi = Roi()
    own: Dict[int, Collection] = {c.message: c for c in OWN.values()}
    for n, value in fields(data):
        if n in VARINTS or n in (TOKEN, IS_REPEAT):
            setattr(roi, VARINTS.get(n) or ("token" if n == TOKEN else "is_repeat"), value)
        elif n in FLOATS:
            if isinstance(value, int) or len(value) != 4:
                raise ValueError(f"the data is damaged: {FLOATS[n]} is no float")
            setattr(roi, FLOATS[n], struct.unpack("<f", value)[0])
        elif n == KEPT:
            take_kept(roi, block(value), by_hash, header or pb.FileHeader())
        elif n == QUANTIZED:
            roi.collections[SPACEPOINTS.name] = unpack_quantized(block(value))
        elif n == COLUMNS:
            name, array = unpack_columns(block(value), by_hash)
            roi.collections[name] = array
        elif n in own:
            columns = {number - 1: block(v) for number, v in fields(block(value))}
            roi.collections[own[n].name] = gather(own[n], columns)
    return roi
