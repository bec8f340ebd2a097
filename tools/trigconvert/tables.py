# SPDX-License-Identifier: Apache-2.0
"""RoIs as a table, one row each, and back.

Columns: the numbers of the RoI; accept, status, late and latency_us of its decision; `chain.NAME` and `stream.NAME`, true
or false; `STEP.VALUE`, not a number where the step did not run; `COLLECTION.COLUMN`, a list; `STEP/COLLECTION.COLUMN` of
products.  `header` (a FileHeader) has the names and declarations that the way back needs."""
import awkward
import numpy
import trigd
from trigd import trigd_pb2 as pb

WHOLE = ["run", "l1id", "roi_id", "bcid", "lumi_block", "l1_bits", "type"]
REAL = ["eta", "phi_rad", "eta_half", "phi_half_rad", "z_min_mm", "z_max_mm"]
OWN = {c.name: c for c in (trigd.SPACEPOINTS, trigd.HITS, trigd.TRACKS)}


class Table:
    def __init__(self, columns, header):
        self.columns, self.header = columns, header  # awkward arrays by name


def merged(headers):
    """One header for the RoIs of several files, which must have been decided by menus of the same names."""
    first = headers[0]
    for h in headers[1:]:
        if (list(h.chains), list(h.streams), [s.name for s in h.steps]) != \
                (list(first.chains), list(first.streams), [s.name for s in first.steps]):
            raise ValueError("the files are of menus with other chains, streams or steps: convert them one by one")
    return first


def jagged(arrays, c, column):
    """The column of all RoIs' collections; None: the RoI has none, an empty list then."""
    n = c.columns[[k.name for k in c.columns].index(column)]
    parts = [numpy.zeros((0, n.length) if n.length > 1 else 0, c.dtype[column].base) if a is None else a[column] for a in arrays]
    flat = numpy.concatenate(parts)
    if flat.dtype == numpy.float16:
        flat = flat.astype(numpy.float32)
    return awkward.unflatten(awkward.from_numpy(flat), [len(p) for p in parts])


def add_collections(columns, prefix, arrays, declarations):
    """`arrays`: by name of the collection, one for each RoI."""
    for name, list_ in arrays.items():
        for column in declarations[name].columns:
            columns[f"{prefix}{name}.{column.name}"] = jagged(list_, declarations[name], column.name)


def table_of(rois, headers):
    """The table of some RoIs."""
    rois = list(rois)
    header = merged(headers)
    declarations = {**OWN, **{c.name: c for h in headers for c in map(trigd.Collection.unpack, h.collections)}}
    columns = {n: numpy.array([getattr(r, n) for r in rois], numpy.uint32) for n in WHOLE}
    columns.update({n: numpy.array([getattr(r, n) for r in rois], numpy.float32) for n in REAL})
    if any(r.decision for r in rois):
        none = pb.Decision()
        d = [r.decision or none for r in rois]
        for name, kind in (("accept", bool), ("status", numpy.uint8), ("late", bool), ("latency_us", numpy.uint32)):
            columns[name] = numpy.array([getattr(x, name) for x in d], kind)
        for name in header.chains:
            columns[f"chain.{name}"] = numpy.array([name in r.chains for r in rois])
        for name in header.streams:
            columns[f"stream.{name}"] = numpy.array([name in r.streams for r in rois])
        for key in [f"{s.name}.{v}" for s in header.steps for v in s.values]:
            columns[key] = numpy.array([r.values.get(key, numpy.nan) for r in rois], numpy.float32)
    names = dict.fromkeys(name for r in rois for name in r.collections)
    add_collections(columns, "", {n: [r.collections.get(n) for r in rois] for n in names}, declarations)
    for step, name in dict.fromkeys(key for r in rois for key in r.products):
        add_collections(columns, f"{step}/", {name: [r.products.get((step, name)) for r in rois]}, declarations)
    return Table(columns, header)


def rois_of(table):
    """The RoIs of a table with their collections; decisions and products stay behind."""
    declarations = {**OWN, **{c.name: c for c in map(trigd.Collection.unpack, table.header.collections)}}
    here = {n: c for n, c in declarations.items() if f"{n}.{c.columns[0].name}" in table.columns}
    for n, c in here.items():
        lacking = [k.name for k in c.columns if f"{n}.{k.name}" not in table.columns]
        if lacking:
            raise ValueError(f"the table has no column {n}.{lacking[0]}; all columns of {n} are wanted")
    numbers = {n: numpy.asarray(table.columns[n]) for n in WHOLE + REAL if n in table.columns}
    if "l1id" not in numbers:
        raise ValueError("the table has no column l1id; RoIs are known by it")
    for i in range(len(numbers["l1id"])):
        roi = trigd.Roi(**{n: (int if n in WHOLE else float)(v[i]) for n, v in numbers.items()})
        for n, c in here.items():
            array = c.array(len(table.columns[f"{n}.{c.columns[0].name}"][i]))
            for k in c.columns:
                array[k.name] = awkward.to_numpy(table.columns[f"{n}.{k.name}"][i])
            roi.collections[n] = array
        yield roi, [c for c in here.values() if c.name not in OWN]
