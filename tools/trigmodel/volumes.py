# SPDX-License-Identifier: Apache-2.0
"""Volumes of 8 bits in NIfTI-1 files, their integer features, and labelled volumes."""
import gzip
import struct

from model import ModelError

HEADER = 348


class Volume:
    """n = (nx, ny, nz), values = bytes with x fastest, header = the file's first 348 bytes."""

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


def read(path):
    """A volume of uint8; ModelError with one sentence."""
    try:
        with (gzip.open if path.endswith(".gz") else open)(path, "rb") as f:
            data = f.read()
    except (OSError, EOFError) as error:
        raise ModelError(f"{path}: {error}") from None
    order = {348: "<", 0x5c010000: ">"}.get(struct.unpack_from("<I", data + bytes(4))[0])
    if len(data) < HEADER or not order or data[344:347] != b"n+1":
        raise ModelError(f"{path}: it is not a single file of NIfTI-1")
    dims, (kind,) = struct.unpack_from(order + "8h", data, 40), struct.unpack_from(order + "h", data, 70)
    (offset,) = struct.unpack_from(order + "f", data, 108)
    n = dims[1:4]
    if dims[0] < 3 or min(n) < 1 or any(d > 1 for d in dims[4:dims[0] + 1]) or kind != 2:
        raise ModelError(f"{path}: it is not one volume of uint8 (datatype {kind})")
    values = data[int(offset):int(offset) + n[0] * n[1] * n[2]]
    if len(values) < n[0] * n[1] * n[2]:
        raise ModelError(f"{path}: it is truncated")
    return Volume(n, values, data[:HEADER])


def unpack_bits(bits, n):
    """Labels as bytes 0 and 1 from rows of bits that end with a whole byte."""
    row = (n[0] + 7) // 8
    if len(bits) != row * n[1] * n[2]:
        raise ModelError(f"it has {len(bits)} bytes; labels of {n[0]} x {n[1]} x {n[2]} voxels as bits have "
                         f"{row * n[1] * n[2]}")
    eight = [bytes(b >> k & 1 for k in range(8)) for b in range(256)]
    return b"".join(b"".join(eight[b] for b in bits[at:at + row])[:n[0]]
                    for at in range(0, len(bits), row))


def plain_header(n):
    """Of a volume of voxels of 1 mm."""
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
    write(path, like or Volume(n, b"", plain_header(n)), array.astype(array.dtype.newbyteorder(order)).tobytes(), kind,
          float(max(1, array.max())))


def write(path, source, labels, kind=2, shown=1.0):
    """Labels, or values of another datatype, as NIfTI-1 with the sizes and the place in space of the source; gzip where
    the name says so."""
    header = bytearray(source.header)
    order = "<" if header[0] == 0x5c else ">"
    struct.pack_into(order + "hh", header, 70, kind, 8 if kind == 2 else 16)
    struct.pack_into(order + "f", header, 108, 352.0)
    struct.pack_into(order + "ff", header, 112, 1.0, 0.0)  # values as they are
    struct.pack_into(order + "ff", header, 124, shown, 0.0)  # shown from 0 to that
    with (gzip.open if path.endswith(".gz") else open)(path, "wb") as f:
        f.write(bytes(header) + bytes(4) + labels)


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
