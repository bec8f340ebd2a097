# SPDX-License-Identifier: Apache-2.0
"""Volumes in NIfTI-1 files, their integer features, and labelled volumes.  Files that are not compressed are mapped, and what
is written goes plane by plane, so volumes may be larger than the memory."""
import gzip
import itertools
import mmap
import os
import struct

from model import ModelError

HEADER = 348


class Volume:
    """n = (nx, ny, nz), values = bytes with x fastest (None: only the place is known), header = the first 348 bytes of NIfTI."""

    def __init__(self, n, values, header):
        self.n, self.values, self.header = n, values, header

    def features(self, i):
        """The eight integer features of voxel i, edge values repeated."""
        nx, ny, nz = self.n
        v, plane = self.values, nx * ny
        x, y, z = i % nx, i // nx % ny, i // plane
        dx = v[i - (x > 0)] - v[i + (x + 1 < nx)]
        dy = v[i - nx * (y > 0)] - v[i + nx * (y + 1 < ny)]
        dz = v[i - plane * (z > 0)] - v[i + plane * (z + 1 < nz)]
        return x, y, z, v[i], dx, dy, dz, dx * dx + dy * dy + dz * dz


def mapped(path):
    """The bytes of a file, or of what it holds compressed; those are in memory."""
    try:
        if path.endswith(".gz"):
            with gzip.open(path, "rb") as f:
                return memoryview(f.read())
        with open(path, "rb") as f:
            return memoryview(mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ) if os.path.getsize(path) else b"")
    except (gzip.BadGzipFile, EOFError) as error:
        raise ModelError(f"{path}: {error}") from None


def beginning(path, size):
    try:
        with (gzip.open if path.endswith(".gz") else open)(path, "rb") as f:
            return f.read(size)
    except (gzip.BadGzipFile, EOFError) as error:
        raise ModelError(f"{path}: {error}") from None


def parse_header(path, data):
    """(Volume without values, datatype, where the values begin) from the first bytes of NIfTI-1."""
    order = {348: "<", 0x5c010000: ">"}.get(struct.unpack_from("<I", bytes(data[:4]) + bytes(4))[0])
    if len(data) < HEADER or not order or data[344:347] != b"n+1":
        raise ModelError(f"{path}: it is not a single file of NIfTI-1")
    dims, (kind,) = struct.unpack_from(order + "8h", data, 40), struct.unpack_from(order + "h", data, 70)
    (offset,) = struct.unpack_from(order + "f", data, 108)
    n = dims[1:4]
    if dims[0] < 3 or min(n) < 1 or any(d > 1 for d in dims[4:dims[0] + 1]):
        raise ModelError(f"{path}: it is not one volume of three dimensions")
    return Volume(n, None, bytes(data[:HEADER])), kind, int(offset)


def read(path):
    """A volume of uint8; ModelError with one sentence."""
    data = mapped(path)
    volume, kind, offset = parse_header(path, data)
    if kind != 2:
        raise ModelError(f"{path}: it is not one volume of uint8 (datatype {kind})")
    n = volume.n
    volume.values = data[offset:offset + n[0] * n[1] * n[2]]
    if len(volume.values) < n[0] * n[1] * n[2]:
        raise ModelError(f"{path}: it is truncated")
    return volume


# ---------------------------------------------------------------- where a volume is


def metaimage(path):
    """The size and the place in space of a volume in MetaImage, as a header of NIfTI-1.  MetaImage counts x to the left and y to
    the back, NIfTI to the right and to the front."""
    keys = {}
    for line in beginning(path, 1 << 16).split(b"\n"):
        key, equals, value = line.partition(b"=")
        if not equals:
            break
        keys[key.strip().decode("latin-1")] = value.split()
        if key.strip() == b"ElementDataFile":
            break

    def numbers(names, count, otherwise):
        for name in names:
            if name in keys:
                try:
                    found = [float(word) for word in keys[name]]
                except ValueError:
                    found = []
                if len(found) != count:
                    raise ModelError(f"{path}: {name} has {count} numbers in MetaImage")
                return found
        return otherwise

    size = numbers(("DimSize",), 3, None)
    if not size or any(v != int(v) or v < 1 for v in size):
        raise ModelError(f"{path}: it is not MetaImage of three dimensions: DimSize is wanted")
    n = tuple(int(v) for v in size)
    spacing = numbers(("ElementSpacing", "ElementSize"), 3, [1.0] * 3)
    origin = numbers(("Offset", "Position", "Origin"), 3, None)
    axes = numbers(("TransformMatrix", "Rotation", "Orientation"), 9, [1.0, 0, 0, 0, 1.0, 0, 0, 0, 1.0])
    header = bytearray(plain_header(n))
    struct.pack_into("<8f", header, 76, 1.0, *spacing, *[1.0] * 4)
    if origin:
        struct.pack_into("<hh", header, 252, 0, 1)  # rows to space, of the scanner
        for row, side in enumerate((-1, -1, 1)):
            step = [side * axes[3 * axis + row] * spacing[axis] for axis in range(3)]
            struct.pack_into("<4f", header, 280 + 16 * row, *step, side * origin[row])
    return Volume(n, None, bytes(header))


def place(path, size=None):
    """The size and the place in space of what trigvoxels labels: NIfTI-1 or MetaImage of 8 or 16 bits, or raw voxels of (nx,
    ny, nz).  None of its values is read."""
    if size:
        return Volume(size, None, plain_header(size))
    if path.endswith((".mha", ".mhd")):
        return metaimage(path)
    volume, kind, _ = parse_header(path, beginning(path, HEADER))
    if kind not in (2, 4, 512):
        raise ModelError(f"{path}: its voxels are not uint8, int16 or uint16 (datatype {kind})")
    return volume


# ---------------------------------------------------------------- labels


BITS = [bytes(b >> k & 1 for b in range(256)) for k in range(8)]


def unpack_bits(bits, n):
    """Labels as bytes 0 and 1, plane by plane, from rows of bits that end with a whole byte."""
    row = (n[0] + 7) // 8
    if len(bits) != row * n[1] * n[2]:
        raise ModelError(f"it has {len(bits)} bytes; labels of {n[0]} x {n[1]} x {n[2]} voxels as bits have "
                         f"{row * n[1] * n[2]}")
    return (unpack_plane(bytes(bits[at:at + row * n[1]]), 8 * row, n[0]) for at in range(0, len(bits), row * n[1]))


def unpack_plane(bits, room, nx):
    plane = bytearray(8 * len(bits))
    for k in range(8):
        plane[k::8] = bits.translate(BITS[k])
    return plane if room == nx else b"".join(plane[at:at + nx] for at in range(0, len(plane), room))


def plain_header(n):
    """Of a volume of voxels of 1 mm."""
    if max(n) > 32767:
        raise ModelError(f"NIfTI-1 has room for 32767 voxels along an axis; there are {n[0]} x {n[1]} x {n[2]}")
    header = bytearray(HEADER)
    struct.pack_into("<i", header, 0, HEADER)
    struct.pack_into("<8h", header, 40, 3, *n, 1, 1, 1, 1)
    struct.pack_into("<8f", header, 76, *[1.0] * 8)
    header[344:348] = b"n+1\0"
    return bytes(header)


def write_array(path, array, like):
    """An array in the order z, y, x of uint8, uint16 or int16, with the place in space of `like` (None: voxels of 1 mm)."""
    n = array.shape[::-1]
    if like and like.n != n:
        raise ModelError(f"the volume has {n[0]} x {n[1]} x {n[2]} voxels, the one that it is to be like "
                         f"{like.n[0]} x {like.n[1]} x {like.n[2]}")
    order = "<" if not like or like.header[0] == 0x5c else ">"
    kind = {"u1": 2, "u2": 512, "i2": 4}[array.dtype.str[1:]]
    write(path, like or Volume(n, None, plain_header(n)),
          (plane.astype(array.dtype.newbyteorder(order)).tobytes() for plane in array), kind,
          float(max(1, *(plane.max() for plane in array))))


def write(path, source, planes, kind=2, shown=1.0):
    """Planes of labels, or of values of another datatype, as NIfTI-1 with the sizes and the place in space of the source; gzip
    where the name says so."""
    header = bytearray(source.header)
    order = "<" if header[0] == 0x5c else ">"
    struct.pack_into(order + "hh", header, 70, kind, 8 if kind == 2 else 16)
    struct.pack_into(order + "f", header, 108, 352.0)
    struct.pack_into(order + "ff", header, 112, 1.0, 0.0)  # values as they are
    struct.pack_into(order + "ff", header, 124, shown, 0.0)  # shown from 0 to that
    with (gzip.open if path.endswith(".gz") else open)(path, "wb") as f:
        for part in itertools.chain((bytes(header) + bytes(4),), planes):
            f.write(part)


def dice(labels, truth, first):
    """Twice what both label over what each labels, among voxels whose x is at least `first`; truth is
    a map of probabilities, 128 and more counts."""
    nx, both, all_of = truth.n[0], 0, 0
    for at in range(0, len(labels), nx):
        for a, b in zip(labels[at + first:at + nx], truth.values[at + first:at + nx]):
            b = b >= 128
            both += a and b
            all_of += a + b
    return 2 * both / all_of if all_of else 0.0
