# SPDX-License-Identifier: Apache-2.0
"""Slices of a volume beside the same with labels in colours, as PNG."""
import zlib

from model import ModelError

COLOURS = ((255, 220, 120), (90, 170, 255), (240, 110, 110))
GAP = 6


def pixel(volume, labels, at, after):
    """Grey, or after labelling half of it with the colour of the last labels there."""
    value = volume.values[at]
    grey = (value // 2 if after else value,) * 3
    for colour, labelled in zip(COLOURS, labels):
        if after and labelled.values[at]:
            grey = colour
    return bytes(grey)


def slices(volume, cut):
    """Columns and rows of voxel numbers through a place: along z, y and x, with the larger z on top."""
    (nx, ny, nz), (cx, cy, cz) = volume.n, cut
    number = lambda x, y, z: (z * ny + y) * nx + x  # noqa: E731
    yield [[number(x, y, cz) for x in range(nx)] for y in reversed(range(ny))]
    yield [[number(x, cy, z) for x in range(nx)] for z in reversed(range(nz))]
    yield [[number(cx, y, z) for y in range(ny)] for z in reversed(range(nz))]


def band(volume, labels, cut, after):
    """The three slices side by side, lines of one length."""
    parts = list(slices(volume, cut))
    height = max(len(rows) for rows in parts)
    lines = [b""] * height
    for rows in parts:
        width = len(rows[0])
        for i in range(height):
            line = b"".join(pixel(volume, labels, at, after) for at in rows[i]) if i < len(rows) else bytes(3 * width)
            lines[i] += line + bytes(3 * GAP)
    return lines


def write(path, volume, labels, cut):
    if len(labels) > len(COLOURS):
        raise ModelError(f"{len(labels)} labelled volumes; {len(COLOURS)} are allowed")
    for other in labels:
        if other.n != volume.n:
            raise ModelError(f"the volume is {volume.n}, its labels {other.n}: they must be of one size")
    cut = cut or tuple(n // 2 for n in volume.n)
    if any(not 0 <= at < n for at, n in zip(cut, volume.n)):
        raise ModelError(f"a cut through {cut} is not within the volume, {volume.n}")
    lines = band(volume, labels, cut, False) + band(volume, labels, cut, True)

    def chunk(kind, data):
        return len(data).to_bytes(4, "big") + kind + data + zlib.crc32(kind + data).to_bytes(4, "big")

    head = (len(lines[0]) // 3).to_bytes(4, "big") + len(lines).to_bytes(4, "big") + bytes([8, 2, 0, 0, 0])
    with open(path, "wb") as f:
        f.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) +
                chunk(b"IDAT", zlib.compress(b"".join(b"\0" + line for line in lines), 9)) + chunk(b"IEND", b""))
