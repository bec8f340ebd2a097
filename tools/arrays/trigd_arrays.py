# SPDX-License-Identifier: Apache-2.0
"""Declared collections as numpy arrays, and RoI files that hold them.

    towers = declared("towers.yaml")            # from the declaration, as the C headers are
    towers.dtype                                # one field a column; vectors are sub-arrays
    with Writer("events.roi", [towers], creator="me") as out:
        out.append({"run": 1, "l1id": 7}, towers=array)
    for roi in Reader("events.roi"):            # declarations come from the file
        roi["l1id"], roi.collections["towers"]["et"].sum()

A file holds collections as Columns (docs/protocol.md), little-endian, one column behind the other; an array is of
structures, which numpy calls records.  What the messages of trigd's own collections hold (Spacepoints, Hits, Tracks) is not
read.  Mistakes are ValueErrors of one sentence."""
import importlib.util
import os
import struct

import numpy

TYPES = {1: "u1", 2: "<u2", 3: "<u4", 4: "<i4", 5: "<f4", 6: "i1", 7: "<i2", 8: "<f2"}  # enum trg_type
HEADER, END = b"TRGROI1\n", b"TRGEND1\n"
ROI = {"token": 1, "run": 2, "l1id": 3, "roi_id": 4, "bcid": 5, "lumi_block": 6, "l1_bits": 7, "eta": 8, "phi_rad": 9,
       "eta_half": 10, "phi_half_rad": 11, "z_min_mm": 12, "z_max_mm": 13}  # numbers of the fields of Roi
FLOATS = range(8, 14)
COLUMNS = 20


class Collection:
    """A declaration: name, hash, columns (name, type, length, unit, min, max, flags, doc)."""

    def __init__(self, name, number, columns, doc="", room=0):
        self.name, self.hash, self.columns, self.doc, self.room = name, number, columns, doc, room
        self.dtype = numpy.dtype([(c["name"], TYPES[c["type"]], (c["length"],)) if c["length"] > 1 else
                                  (c["name"], TYPES[c["type"]]) for c in columns])

    def array(self, n):
        return numpy.zeros(n, self.dtype)


def trg_declare():
    here = os.path.dirname(os.path.realpath(__file__))
    for folder in (here, os.path.join(here, "..", "..", "cmake")):
        path = os.path.join(folder, "trg_declare.py")
        if os.path.exists(path):
            spec = importlib.util.spec_from_file_location("trg_declare", path)
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            return module
    raise ValueError("trg_declare.py is neither beside trigd_arrays.py nor in cmake/")


def declared(path):
    """The collection that a YAML file declares."""
    module = trg_declare()
    try:
        d = module.declaration(path)
    except module.Wrong as e:
        raise ValueError(str(e)) from e
    columns = [{**c, "type": module.TYPE_NUMBER[c["type"]]} for c in d["columns"]]
    return Collection(d["name"], module.hash_of(d), columns, d["doc"], d["room"])


# ---------------------------------------------------------------- protobuf

def varint(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out) + bytes([value])


def field(number, value):
    """A field of a message: bytes and text as they are, floats as double, whole numbers as varint."""
    if isinstance(value, float):
        return varint(number << 3 | 1) + struct.pack("<d", value)
    if isinstance(value, (bytes, str)):
        value = value.encode() if isinstance(value, str) else value
        return varint(number << 3 | 2) + varint(len(value)) + value
    return varint(number << 3) + varint(int(value))


def read_varint(data, at):
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise ValueError("the file is damaged: a number does not end")
        value |= (data[at] & 127) << shift
        shift += 7
        at += 1
        if data[at - 1] < 128:
            return value, at


def fields(data):
    """(number, value) of all fields of a message: bytes for those of a length, and of 4 and 8 bytes."""
    at = 0
    while at < len(data):
        key, at = read_varint(data, at)
        if key & 7 == 0:
            value, at = read_varint(data, at)
        else:
            size, at = {1: (8, at), 5: (4, at)}.get(key & 7) or read_varint(data, at)
            value, at = data[at:at + size], at + size
            if at > len(data):
                raise ValueError("the file is damaged: a field does not end")
        yield key >> 3, value


def unpacked(unpack, data, *more):
    """unpack(data, ...); a field of another type than it should have, and the like, is a damaged file."""
    try:
        return unpack(data, *more)
    except (TypeError, KeyError, IndexError, struct.error, UnicodeDecodeError) as e:
        raise ValueError(f"the file is damaged: {e}") from e


def pack_collection(c):
    out = field(1, c.name) + varint(2 << 3 | 1) + struct.pack("<Q", c.hash)
    for k in c.columns:
        out += field(3, field(1, k["name"]) + field(2, k["type"]) + field(3, k["length"]) + field(4, k["unit"]) +
                     field(5, float(k["min"])) + field(6, float(k["max"])) + field(7, k["flags"]) + field(8, k["doc"]))
    return out + field(4, c.doc) + field(5, c.room)


def unpack_collection(data):
    name, number, columns, doc, room = "", 0, [], "", 0
    for n, value in fields(data):
        if n == 1:
            name = bytes(value).decode()
        elif n == 2:
            number = struct.unpack("<Q", value)[0]
        elif n == 3:
            column = {"name": "", "type": 0, "length": 0, "unit": "", "min": 0.0, "max": 0.0, "flags": 0, "doc": ""}
            for m, v in fields(value):
                key = list(column)[m - 1] if 1 <= m <= 8 else None
                if key in ("min", "max"):
                    v = struct.unpack("<d", v)[0]
                if key:
                    column[key] = v if isinstance(v, (int, float)) else bytes(v).decode()
            columns.append(column)
        elif n == 4:
            doc = bytes(value).decode()
        elif n == 5:
            room = value
    return Collection(name, number, columns, doc, room)


# ---------------------------------------------------------------- files

class Writer:
    """Writes an RoI file that must not exist."""

    def __init__(self, path, collections, creator="trigd_arrays"):
        self.collections = {c.name: c for c in collections}
        self.file = open(path, "xb")
        self.offsets = []
        header = field(1, 1) + field(2, creator) + b"".join(field(6, pack_collection(c)) for c in collections)
        self.file.write(HEADER + varint(len(header)) + header)

    def append(self, info, **arrays):
        """One RoI: fields of ROI, and an array for each of its collections."""
        roi = b""
        for name, value in info.items():
            if name not in ROI:
                raise ValueError(f"an RoI has no '{name}'; allowed are {', '.join(ROI)}")
            number = ROI[name]
            roi += varint(number << 3 | 5) + struct.pack("<f", value) if number in FLOATS else field(number, value)
        for name, array in arrays.items():
            c = self.collections.get(name)
            if c is None or array.dtype != c.dtype:
                raise ValueError(f"{name} is {array.dtype}; " + (f"{c.dtype} is declared" if c else "it is not declared"))
            roi += field(COLUMNS, varint(1 << 3 | 1) + struct.pack("<Q", c.hash) +
                         b"".join(field(2, array[k["name"]].tobytes()) for k in c.columns))
        record = field(1, roi)
        self.offsets.append(self.file.tell())
        self.file.write(varint(len(record)) + record)

    def close(self):
        end = self.file.tell()
        index = b"".join(field(n, b"".join(map(varint, numbers)))
                         for n, numbers in ((1, self.offsets), (2, [1] * len(self.offsets))))
        self.file.write(b"\0" + varint(len(index)) + index + struct.pack("<Q", end) + END)
        self.file.close()

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.close()


class Roi(dict):
    """Fields of ROI that are not 0, and `collections`: arrays by name."""

    def __init__(self, data, declarations):
        super().__init__()
        self.collections = {}
        names = {number: name for name, number in ROI.items()}
        for n, value in fields(data):
            if n in names:
                self[names[n]] = struct.unpack("<f", value)[0] if n in FLOATS else value
            elif n == COLUMNS:
                self.take(value, declarations)

    def take(self, data, declarations):
        parts = list(fields(data))
        number = next((struct.unpack("<Q", v)[0] for n, v in parts if n == 1), 0)
        c = declarations.get(number)
        if c is None:
            raise ValueError(f"an RoI holds a collection with the hash {number:016x}, which the file does not declare")
        columns = [v for n, v in parts if n == 2]
        sizes = {len(v) / c.dtype[k].itemsize for k, v in enumerate(columns)}
        if len(columns) != len(c.columns) or len(sizes) > 1 or not all(s.is_integer() for s in sizes):
            raise ValueError(f"columns of {c.name} do not fit its declaration")
        array = c.array(int(sizes.pop()))
        for k, v in zip(c.columns, columns):
            array[k["name"]] = numpy.frombuffer(v, TYPES[k["type"]]).reshape(array[k["name"]].shape)
        self.collections[c.name] = array


class Reader:
    """The RoIs of a file; `collections` are its declarations by name."""

    def __init__(self, path):
        with open(path, "rb") as f:
            self.data = memoryview(f.read())
        if bytes(self.data[:8]) != HEADER:
            raise ValueError(f"{path} is no RoI file")
        size, at = read_varint(self.data, 8)
        self.begin = at + size
        known = [unpacked(unpack_collection, v) for n, v in fields(self.data[at:self.begin]) if n == 6]
        self.collections = {c.name: c for c in known}

    def __iter__(self):
        by_hash = {c.hash: c for c in self.collections.values()}
        at = self.begin
        while at < len(self.data):
            size, at = read_varint(self.data, at)
            if not size or at + size > len(self.data):  # the index, or a record that is not complete
                return
            for n, value in fields(self.data[at:at + size]):
                if n == 1:
                    yield unpacked(Roi, value, by_hash)
            at += size
