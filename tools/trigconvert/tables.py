# SPDX-License-Identifier: Apache-2.0
"""RoIs as a table, one row each, and back.

Columns: the numbers of the RoI; its decision (decisions.py); `COLLECTION.COLUMN`, a list; `STEP/COLLECTION.COLUMN` of
products.  Where some RoIs lack a collection, `has.COLLECTION` or `has.STEP/COLLECTION` says which have it: an absent one
fails a chain, an empty one does not.  `header` (a FileHeader) has the names and declarations that the way back needs."""
import awkward
import decisions
import numpy
import trigd
from trigd import trigd_pb2 as pb

WHOLE = ["run", "l1id", "roi_id", "bcid", "lumi_block", "l1_bits", "type", "event_rois", "deadline_us"]
REAL = ["eta", "phi_rad", "eta_half", "phi_half_rad", "z_min_mm", "z_max_mm"]
OWN = {c.name: c for c in (trigd.SPACEPOINTS, trigd.HITS, trigd.TRACKS)}


class Table:
    def __init__(self, columns, header):
        self.columns, self.header = columns, header  # awkward arrays by name


def declarations_of(header):
    return {**OWN, **{c.name: c for c in map(trigd.Collection.unpack, header.collections)}}


def merged(headers):
    """One header for the RoIs of several files, which must have been decided by menus of the same names: with the
    declarations of all, and what they have in common."""
    whole = pb.FileHeader()
    whole.CopyFrom(headers[0])
    known = {c.name: c.hash for c in whole.collections}
    for h in headers[1:]:
        if (list(h.chains), list(h.streams), h.steps) != (list(whole.chains), list(whole.streams), whole.steps):
            raise ValueError("the files are of menus with other chains, streams or steps: convert them one by one")
        for c in h.collections:
            if known.setdefault(c.name, c.hash) != c.hash:
                raise ValueError(f"the files declare {c.name} differently: convert them one by one")
        whole.collections.extend(c for c in h.collections if c.name not in {k.name for k in whole.collections})
    for field in ("run", "menu_key", "lumi_block", "has_lumi_block", "preset", "seed"):
        if len({getattr(h, field) for h in headers}) > 1:
            whole.ClearField(field)
    if len({h.stream for h in headers}) > 1:
        whole.stream = "several"
    return whole


def add(columns, more):
    """A step and a collection may have the same name: no column replaces another."""
    for name, column in more.items():
        if name in columns:
            raise ValueError(f"two columns would be called {name}: rename the step in the menu")
        columns[name] = column


# ---------------------------------------------------------------- to a table

def jagged(arrays, c, column):
    """The column of all RoIs' collections; None: the RoI has none, an empty list then."""
    n = c.columns[[k.name for k in c.columns].index(column)]
    parts = [numpy.zeros((0, n.length) if n.length > 1 else 0, c.dtype[column].base) if a is None else a[column] for a in arrays]
    flat = numpy.concatenate(parts)
    if flat.dtype == numpy.float16:
        flat = flat.astype(numpy.float32)
    return awkward.unflatten(awkward.from_numpy(flat), [len(p) for p in parts])


def collection_columns(name, c, arrays):
    """`arrays`: one for each RoI, None where it has none."""
    has = numpy.array([a is not None for a in arrays], bool)
    columns = {} if has.all() else {f"has.{name}": has}
    columns.update({f"{name}.{k.name}": jagged(arrays, c, k.name) for k in c.columns})
    return columns


def table_of(rois, headers):
    """The table of some RoIs."""
    rois = list(rois)
    header = merged(headers)
    declarations = declarations_of(header)
    columns = {n: numpy.array([getattr(r, n) for r in rois], numpy.uint32) for n in WHOLE}
    columns.update({n: numpy.array([getattr(r, n) for r in rois], numpy.float32) for n in REAL})
    add(columns, decisions.columns_of(rois, header))
    for name in dict.fromkeys(name for r in rois for name in r.collections):
        add(columns, collection_columns(name, declarations[name], [r.collections.get(name) for r in rois]))
    for key in dict.fromkeys(key for r in rois for key in r.products):
        add(columns, collection_columns("/".join(key), declarations[key[1]], [r.products.get(key) for r in rois]))
    return Table(columns, header)


# ---------------------------------------------------------------- and back

class Lists:
    """A collection of all RoIs of a table: of theirs, or a product."""

    def __init__(self, name, c, columns):
        lacking = [k.name for k in c.columns if f"{name}.{k.name}" not in columns]
        if lacking:
            raise ValueError(f"the table has no column {name}.{lacking[0]}; all columns of {name} are wanted")
        self.collection, self.has = c, columns.get(f"has.{name}")
        self.columns = {k.name: columns[f"{name}.{k.name}"] for k in c.columns}

    @staticmethod
    def are_in(name, c, columns):
        first = columns.get(f"{name}.{c.columns[0].name}")
        return first is not None and awkward.Array(first).ndim > 1  # else a value of a step

    def of(self, i):
        """That of RoI i; None: it has none."""
        if self.has is not None and not self.has[i]:
            return None
        array = self.collection.array(len(self.columns[self.collection.columns[0].name][i]))
        for name, column in self.columns.items():
            array[name] = awkward.to_numpy(column[i])
        return array


def rois_of(table):
    """The RoIs of a table with their collections, decisions and products."""
    declarations = declarations_of(table.header)
    steps = [s.name for s in table.header.steps]
    own = {n: Lists(n, c, table.columns) for n, c in declarations.items() if Lists.are_in(n, c, table.columns)}
    made = {(s, n): Lists(f"{s}/{n}", c, table.columns) for s in steps for n, c in declarations.items()
            if Lists.are_in(f"{s}/{n}", c, table.columns)}
    numbers = {n: numpy.asarray(table.columns[n]) for n in WHOLE + REAL if n in table.columns}
    if "l1id" not in numbers:
        raise ValueError("the table has no column l1id; RoIs are known by it")
    decided = decisions.Reader(table.columns, table.header)
    for i in range(len(numbers["l1id"])):
        roi = trigd.Roi(**{n: (int if n in WHOLE else float)(v[i]) for n, v in numbers.items()})
        for to, lists in ((roi.collections, own), (roi.products, made)):
            to.update({key: array for key, array in ((key, x.of(i)) for key, x in lists.items()) if array is not None})
        decided.give(i, roi)
        yield roi
