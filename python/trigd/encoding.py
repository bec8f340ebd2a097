# SPDX-License-Identifier: Apache-2.0
"""Columns as 16-bit numbers: value = offset + step * number, rounded to single precision after the product and after the
sum, as the daemon does it.  Offset and step are in the declaration, or each RoI has its own."""
from __future__ import annotations

from typing import Any, Tuple

import numpy
import numpy.typing

Array = numpy.typing.NDArray[Any]
MOST = 65535


def values(numbers: Array, offset: Any, step: Any) -> Array:
    """Floats of numbers; offset and step are one each, or one for each number."""
    f4 = numpy.float32
    return numpy.asarray(offset, f4) + numpy.asarray(step, f4) * numbers.astype(f4)


def numbers(what: str, array: Array, offset: Any, step: Any) -> Array:
    """The nearest numbers of floats, which they must reach."""
    step = numpy.asarray(step, "f8")
    steps = (array.astype("f8") - numpy.asarray(offset, "f8")) / numpy.where(step > 0, step, numpy.inf) + 0.5
    bad = ~((steps >= 0) & (steps < MOST + 1))  # NaN, too
    if bad.any():
        at = int(bad.reshape(-1).argmax())
        value = float(array.reshape(-1)[at])
        least = float(numpy.broadcast_to(numpy.asarray(offset, "f8"), array.shape).reshape(-1)[at])
        most = least + MOST * float(numpy.broadcast_to(step, array.shape).reshape(-1)[at])
        raise ValueError(f"{what} has the value {value:g}; encoded it holds {least:g} to {most:g}")
    result: Array = steps.astype("<u2")
    return result


def fit(what: str, array: Array, offsets: Array) -> Tuple[Array, Array]:
    """Offsets and steps of RoIs whose items are offsets[i] to offsets[i + 1]: over the range of each one's own values."""
    if not numpy.isfinite(array).all():
        raise ValueError(f"{what} has a value that is not finite, which no number stands for")
    n = len(offsets) - 1
    least, most = numpy.zeros(n, "f4"), numpy.zeros(n, "f4")
    full = numpy.flatnonzero(numpy.diff(offsets))
    if len(full):
        flat = array.reshape(len(array), -1)
        least[full] = numpy.minimum.reduceat(flat.min(axis=1), offsets[full])
        most[full] = numpy.maximum.reduceat(flat.max(axis=1), offsets[full])
    with numpy.errstate(over="ignore"):
        step = ((most.astype("f8") - least.astype("f8")) / MOST).astype("f4")
        if not numpy.isfinite(step * numpy.float32(MOST)).all():
            raise ValueError(f"{what} has values too far apart for {MOST} steps of single precision")
        while (over := values(numpy.full(n, MOST, "u2"), least, step) > most).any():  # by rounding
            step[over] = numpy.nextafter(step[over], numpy.float32(0))
    return least, step
