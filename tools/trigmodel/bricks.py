# SPDX-License-Identifier: Apache-2.0
"""Volumes put together from bricks: of RoI files that hold their voxels, or of streams with the labels that a
step made.  Needs the package trigd (docs/python.md) and numpy.  The volume lies in a mapped file meanwhile, so it may be larger
than the memory."""
import tempfile

from model import ModelError


def package():
    try:
        import numpy
        import trigd
    except ImportError as error:
        raise ModelError(f"it needs numpy and the package trigd ({error}): docs/python.md tells where it is, for example "
                         "PYTHONPATH=build/release/python") from None
    return numpy, trigd


def where(roi):
    return f"RoI {roi.roi_id} of run {roi.run}, l1id {roi.l1id}"


def labels_of(numpy, roi, step):
    """The row of the brick, and its labels as bytes 0 and 1 in the order z, y, x."""
    rows, bits = roi.products[step, "labelled_bricks"], roi.products[step, "brick_labels"]
    if not len(rows):
        raise ModelError(f"{where(roi)} could not be labelled: the log of the daemon says why")
    nx, ny, nz = (int(n) for n in rows[0]["n"])
    lines = numpy.unpackbits(bits["bits"].reshape(nz, ny, (nx + 7) // 8), axis=2, bitorder="little")
    return rows[0], lines[:, :, :nx]


def values_of(numpy, roi):
    """The row of the brick, and its voxels without halo."""
    rows, data = roi.collections.get("bricks"), roi.collections.get("brick_values")
    if rows is None or data is None or len(rows) != 1:
        raise ModelError(f"{where(roi)} does not hold the voxels of a brick")
    row = rows[0]
    low = [int(o > 0) for o in row["origin"]]
    high = [int(o + n < v) for o, n, v in zip(*(row[c].astype(int) for c in ("origin", "n", "volume")))]
    size = [int(n) + a + b for n, a, b in zip(row["n"], low, high)]
    values = data["byte"].view(("u1", "<u2", "<i2")[row["type"]])
    if len(values) != size[0] * size[1] * size[2]:
        raise ModelError(f"{where(roi)}: its brick has {len(values)} voxels; with its halo there are "
                         f"{size[0] * size[1] * size[2]}")
    values = values.reshape(size[::-1])
    x, y, z = (slice(a, a + int(n)) for a, n in zip(low, row["n"]))
    return row, values[z, y, x]


def rois_of(trigd, path, step):
    """RoIs that hold what is wanted, each once; those of other chains may be among them."""
    met, others = set(), set()
    for file in trigd.Stream(path).files():
        for roi in file:
            key = (roi.run, roi.l1id, roi.roi_id)
            if step and (step, "brick_labels") not in roi.products:
                others.update(s for s, _ in roi.products)
            elif key not in met:
                met.add(key)
                yield roi
    if not met and step:
        raise ModelError(f"{path} has no labels of a step {step} (steps with products: {', '.join(sorted(others)) or 'none'}); "
                         "the menu has to keep them: keep: [{stream: S, products: [STEP]}]")


def room(numpy, folder, shape, dtype):
    """An array of zeros in a file of the folder that has no name."""
    with tempfile.TemporaryFile(dir=folder) as file:
        return numpy.memmap(file, dtype, "w+", shape=tuple(shape))


def assemble(path, step, volume, folder):
    """Values in the order z, y, x of volume number `volume` in the order of the file; step None: the voxels."""
    numpy, trigd = package()
    whole, there, number, missing = None, None, 0, 0
    try:
        for roi in rois_of(trigd, path, step):
            row, part = labels_of(numpy, roi, step) if step else values_of(numpy, roi)
            n, at = [int(v) for v in row["volume"]], [int(o) for o in row["origin"]]
            here = tuple(slice(o, o + size) for o, size in zip(at[::-1], part.shape))
            if whole is None:
                whole, there = room(numpy, folder, n[::-1], part.dtype), room(numpy, folder, n[::-1], bool)
                missing = whole.size
            elif list(whole.shape[::-1]) != n:
                raise ModelError(f"{where(roi)} is of a volume of {n[0]} x {n[1]} x {n[2]} voxels, those before it are not")
            known = int(there[here].sum())
            if known and number == volume:
                raise ModelError(f"{where(roi)}: its brick at {at[0]}, {at[1]}, {at[2]} is there twice")
            if number == volume:
                whole[here] = part
            there[here] = True
            missing -= part.size - known
            if not missing:
                if number == volume:
                    return whole
                number, there[:], missing = number + 1, False, whole.size
    except ValueError as error:
        raise ModelError(str(error)) from None
    if whole is None:
        raise ModelError(f"{path} holds no bricks")
    raise ModelError(f"{path}: {missing} voxels of volume {number} are in no brick; a stream holds accepted RoIs only")
