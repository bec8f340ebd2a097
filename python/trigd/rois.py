# SPDX-License-Identifier: Apache-2.0
"""Many RoIs as flat columns: what a client sends without touching a value."""
from __future__ import annotations

import copy
from typing import Any, Dict, List, Mapping, Sequence, Tuple, Union

import numpy

from . import encoding
from .collections import OWN, Array, Collection
from .roi import Roi

INTS = ("run", "l1id", "roi_id", "bcid", "lumi_block", "l1_bits", "type", "deadline_us", "event_rois")
FLOATS = ("eta", "phi_rad", "eta_half", "phi_half_rad", "z_min_mm", "z_max_mm")
Numbers = Union[int, float, Sequence[int], Sequence[float], Array]


class Columns:
    """A collection of n RoIs: RoI i has the items offsets[i] to offsets[i + 1] of every column."""

    def __init__(self, collection: Collection, columns: Mapping[str, Any], offsets: Array, is_encoded: bool = False):
        self.collection = collection
        self.is_encoded = False
        self.sent: Array = numpy.zeros((len(offsets) - 1, 0), "<f4")  # of encoded ones: offsets, then steps of each RoI
        self.offsets = numpy.ascontiguousarray(offsets, "i8")
        self.columns: List[Array] = []
        if set(columns) != {c.name for c in collection.columns}:
            raise ValueError(f"{collection.name} is given {', '.join(columns)}; "
                             f"{', '.join(c.name for c in collection.columns)} is declared")
        if not len(self.offsets) or self.offsets[0] or (numpy.diff(self.offsets) < 0).any():
            raise ValueError(f"the offsets of {collection.name} begin with 0 and never fall; these do not")
        for n, c in enumerate(collection.columns):
            array = numpy.ascontiguousarray(columns[c.name], collection.dtype[n].base)
            if len(array) != self.offsets[-1] or array.size != len(array) * c.length:
                raise ValueError(f"column {c.name} of {collection.name} has the shape {array.shape}; the offsets end with "
                                 f"{self.offsets[-1]}, and an item has {c.length} values")
            self.columns.append(array)
        self.item_bytes = [collection.dtype[n].itemsize for n in range(len(collection.columns))]
        if is_encoded:
            self._encode()

    def _encode(self) -> None:
        """Makes 16-bit numbers of the columns with an encoding."""
        self.collection.check_encoding()
        self.is_encoded = True
        self.item_bytes = [c.encoded_bytes for c in self.collection.columns]
        sent: List[Tuple[Array, Array]] = []
        for n, c in enumerate(self.collection.columns):
            if not c.has_encoding:
                continue
            what, array = f"column {c.name} of {self.collection.name}", self.columns[n]
            offset, step = numpy.asarray(c.offset), numpy.asarray(c.step)
            if c.is_sent:
                sent.append(encoding.fit(what, array, self.offsets))
                of_items = [numpy.repeat(v, numpy.diff(self.offsets)) for v in sent[-1]]
                offset, step = (v.reshape((-1,) + (1,) * (array.ndim - 1)) for v in of_items)
            self.columns[n] = encoding.numbers(what, array, offset, step)
        if sent:
            self.sent = numpy.ascontiguousarray(numpy.stack([v for k in (0, 1) for v in (s[k] for s in sent)], axis=1), "<f4")


class Rois:
    """n RoIs.  Numbers (Roi has the names) are one for all, or an array with one each; collections are pairs of columns by
    name and offsets.  Columns of the declared type are not copied: leave them unchanged until the RoIs have ended.

        Rois(2, run=1, l1id=[7, 8], phi_half_rad=4,
             collections={"spacepoints": ({"phi": phi, "rho": rho, "z": z, "layer": layer}, [0, 330, 700])})

    Collections that `encoded` names are sent with 16-bit numbers in their columns with an encoding, made here.
    """

    def __init__(self, n: int, collections: Mapping[str, Tuple[Mapping[str, Any], Any]] = {},
                 declarations: Sequence[Collection] = (), encoded: Sequence[str] = (), **numbers: Numbers):
        known = {**OWN, **{c.name: c for c in declarations}}
        self.n = n
        self.numbers: Dict[str, Array] = {}
        for name, value in numbers.items():
            if name not in INTS + FLOATS:
                raise ValueError(f"an RoI has no '{name}'; allowed are {', '.join(INTS + FLOATS)}")
            array = numpy.asarray(value, "i8" if name in INTS else "f4")
            if array.shape not in ((), (n,)):
                raise ValueError(f"{name} has the shape {array.shape}; one number, or {n} are allowed")
            most = 63 if name == "type" else 0xffffffff
            if name in INTS and array.size and not 0 <= array.min() <= array.max() <= most:
                raise ValueError(f"{name} is {array.min()} to {array.max()}; 0 to {most} is allowed")
            self.numbers[name] = array
        self.collections: List[Columns] = []
        for name, (columns, offsets) in collections.items():
            if name not in known:
                raise ValueError(f"{name} is not declared; there are {', '.join(known)}")
            c = Columns(known[name], columns, offsets, name in encoded)
            if len(c.offsets) != n + 1:
                raise ValueError(f"{name} has {len(c.offsets)} offsets; {n + 1} are needed for {n} RoIs")
            self.collections.append(c)
        if len(self.collections) > 4:
            raise ValueError(f"RoIs have {len(self.collections)} collections; at most 4 are allowed")

    def __len__(self) -> int:
        return self.n

    def slice(self, a: int, b: int) -> Rois:
        """RoIs a to b - 1, which look into the same columns."""
        part = Rois(b - a)
        part.numbers = {k: v if v.shape == () else v[a:b] for k, v in self.numbers.items()}
        for c in self.collections:
            first, last = int(c.offsets[a]), int(c.offsets[b])
            piece = copy.copy(c)
            piece.offsets, piece.sent = c.offsets[a:b + 1] - first, c.sent[a:b]
            piece.columns = [array[first:last] for array in c.columns]
            part.collections.append(piece)
        return part

    @staticmethod
    def of(rois: Sequence[Roi], declarations: Sequence[Collection] = (), encoded: Sequence[str] = ()) -> Rois:
        """The same from single ones, which hold the same collections."""
        known = {**OWN, **{c.name: c for c in declarations}}
        names = list(rois[0].collections) if rois else []
        collections = {}
        for roi in rois:
            if list(roi.collections) != names:
                raise ValueError(f"an RoI holds {list(roi.collections)} where the first one holds {names}")
        for name in names:
            if name not in known:
                raise ValueError(f"{name} is not declared; there are {', '.join(known)}")
            arrays = [roi.collections[name] for roi in rois]
            if any(a.dtype != known[name].dtype for a in arrays):
                raise ValueError(f"{name} is an array of {arrays[0].dtype}; {known[name].dtype} is declared")
            all_items = numpy.concatenate(arrays)
            offsets = numpy.cumsum([0] + [len(a) for a in arrays])
            collections[name] = ({c.name: all_items[c.name] for c in known[name].columns}, offsets)
        numbers = {name: [getattr(roi, name) for roi in rois] for name in INTS + FLOATS}
        return Rois(len(rois), collections, declarations, encoded, **numbers)

    @staticmethod
    def from_awkward(collections: Mapping[str, Any], declarations: Sequence[Collection] = (), encoded: Sequence[str] = (),
                     **numbers: Numbers) -> Rois:
        """From awkward arrays: for each collection a jagged array of records with its columns as fields."""
        import awkward
        flat = {}
        n = 0
        for name, jagged in collections.items():
            n = len(jagged)
            counts = awkward.to_numpy(awkward.num(jagged))
            items = awkward.flatten(jagged)
            flat[name] = ({f: awkward.to_numpy(items[f]) for f in items.fields}, numpy.concatenate(([0], numpy.cumsum(counts))))
        return Rois(n, flat, declarations, encoded, **numbers)
