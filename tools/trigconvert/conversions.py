# SPDX-License-Identifier: Apache-2.0
"""The conversions of trigconvert, which need the packages of requirements.txt."""
import base64
import csv
import os

import awkward
import numpy
import pyarrow
import pyarrow.parquet
import tables
import trigd
import uproot
from trigd import trigd_pb2 as pb

TREE, HEADER = "rois", "trigd_header"  # a FileHeader, in base64
FLOATS = {pyarrow.list_(pyarrow.float16()): pyarrow.list_(pyarrow.float32())}


def packed(header):
    return base64.b64encode(header.SerializeToString()).decode()


def unpacked(text, path):
    if text is None:
        raise ValueError(f"{path} was not made by trigconvert: it has no {HEADER}")
    return pb.FileHeader.FromString(base64.b64decode(text))


# ---------------------------------------------------------------- RoI files

def read_rois(paths):
    stream = trigd.Stream(paths)
    return tables.table_of(stream, [file.header for file in stream.files()])


def write_rois(table, path):
    n = 0
    collections = [trigd.Collection.unpack(c) for c in table.header.collections]
    with trigd.RoiFileWriter(path, collections, creator="trigconvert", header=table.header) as out:
        for n, roi in enumerate(tables.rois_of(table), 1):
            out.append(roi)
    return n


# ---------------------------------------------------------------- Parquet

def read_parquet(paths):
    parts = [pyarrow.parquet.read_table(path) for path in paths]
    meta = parts[0].schema.metadata or {}
    header = unpacked(meta.get(HEADER.encode()), paths[0])
    whole = pyarrow.concat_tables(parts)
    return tables.Table({n: awkward.from_arrow(whole.column(n).combine_chunks()) for n in whole.column_names}, header)


def write_parquet(table, path):
    columns = {n: awkward.to_arrow(awkward.Array(c), extensionarray=False) for n, c in table.columns.items()}
    whole = pyarrow.table(columns).replace_schema_metadata({HEADER: packed(table.header)})
    pyarrow.parquet.write_table(whole, path, compression="zstd")
    return whole.num_rows


# ---------------------------------------------------------------- ROOT

def branch(name):
    """ROOT reads a point and a slash in the name of a branch as parts of an object."""
    return "".join(c if c.isalnum() else "_" for c in name)


def split(columns):
    """Vectors of fixed length as a column for each component, NAME[0] and so on: a TTree holds no lists of vectors."""
    for name, values in columns.items():
        values = awkward.Array(values)
        if name == "reason":  # nor text
            values = awkward.Array([list(text.encode()) for text in values.to_list()])
            yield name, awkward.values_astype(values, numpy.uint8)
        elif values.ndim < 3:
            yield name, values
        else:
            for i in range(values.type.content.content.size):
                yield f"{name}[{i}]", values[:, :, i]


def join(columns):
    parts = {}
    for name, values in columns.items():
        parts.setdefault(name.split("[")[0], []).append(values)
    return {n: v[0] if len(v) == 1 else awkward.concatenate([x[:, :, numpy.newaxis] for x in v], axis=2) for n, v in parts.items()}


def read_root(paths):
    with uproot.open(paths[0]) as f:
        header = unpacked(str(f[HEADER]) if HEADER in f else None, paths[0])
        names = str(f["trigd_columns"]).split("\n")
        arrays = f[TREE].arrays()
    return tables.Table(join({n: arrays[branch(n)] for n in names}), header)


def write_root(table, path):
    columns = dict(split(table.columns))
    names = {n: branch(n) for n in columns}
    if len(set(names.values())) != len(names):
        raise ValueError("two columns have the same name in ROOT, where only letters, digits and _ count")
    with uproot.create(path) as f:
        f[HEADER] = packed(table.header)
        f["trigd_columns"] = "\n".join(columns)
        tree = f.mktree(TREE, {names[n]: str(c.type.content) for n, c in columns.items()})
        tree.extend({names[n]: c for n, c in columns.items()})
    return len(columns["l1id"])


def read_edm4hep(paths, hits, layer_bits):
    """Tracker hits of EDM4hep: x, y, z in mm and the layer from bits of cellID; an event is an RoI that covers everything."""
    offset, width = (int(n) for n in layer_bits.split(":"))
    with uproot.open(paths[0]) as f:
        tree = f["events"]
        known = tree.keys(recursive=True, full_paths=False)
        wanted = [f"{hits}.{n}" for n in ("position.x", "position.y", "position.z", "cellID")]
        lacking = [n for n in wanted if n not in known]
        if lacking:
            there = sorted({n.split(".")[0] for n in known if n.endswith(".cellID")})
            raise ValueError(f"{paths[0]} has no {lacking[0]}; collections with cellID: {', '.join(there) or 'none'}")
        x, y, z, cell = (tree[n].array() for n in wanted)
    n = len(x)
    layer = awkward.values_astype((cell >> offset) & ((1 << width) - 1), numpy.uint16)
    columns = {"run": numpy.ones(n, numpy.uint32), "l1id": numpy.arange(n, dtype=numpy.uint32),
               "l1_bits": numpy.ones(n, numpy.uint32), "eta_half": numpy.full(n, 10.0), "phi_half_rad": numpy.full(n, numpy.pi),
               "z_min_mm": numpy.full(n, -300.0), "z_max_mm": numpy.full(n, 300.0),
               "hits.layer": layer, "hits.id": awkward.values_astype(awkward.local_index(x), numpy.uint32)}
    for name, values in (("x", x), ("y", y), ("z", z)):
        columns[f"hits.{name}"] = awkward.values_astype(values, numpy.float32)
    return tables.Table(columns, pb.FileHeader())


# ---------------------------------------------------------------- HepMC3

def write_particles(paths, path):
    """Charged stable particles by the vertex that they come from, as `trigreplay import particles` reads them."""
    import hepmc
    with open(path, "x", newline="") as f:
        out = csv.writer(f)
        out.writerow(hepmc.COLUMNS)
        n = 0
        for n, rows in enumerate(hepmc.events(paths), 1):
            out.writerows([n - 1, *row] for row in rows)
    return n


# ---------------------------------------------------------------- from kind to kind

def kind_of(path):
    name = os.path.basename(os.path.normpath(path)).removesuffix(".gz")
    if os.path.isdir(path) or name.endswith((".roi", ".roi.part")):
        return "roi"
    end = name.rsplit(".", 1)[-1]
    return {"parquet": "parquet", "root": "root", "csv": "csv", "hepmc": "hepmc", "hepmc3": "hepmc"}.get(end, end)


READ = {"roi": read_rois, "parquet": read_parquet, "root": read_root}
WRITE = {"roi": write_rois, "parquet": write_parquet, "root": write_root}


def convert(o):
    kinds = {kind_of(path) for path in o.input}
    to = kind_of(o.output)
    if len(kinds) != 1:
        raise ValueError("the inputs are of several formats")
    kind = kinds.pop()
    if os.path.exists(o.output):
        raise ValueError(f"{o.output} exists")
    if (kind, to) == ("hepmc", "csv"):
        return write_particles(o.input, o.output)
    if to not in WRITE or (kind not in READ):
        raise ValueError(f"from {kind} to {to} there is no way; --help lists them")
    if kind != "roi" and len(o.input) > 1 and kind == "root":
        raise ValueError("one ROOT file at a time is allowed")
    table = read_edm4hep(o.input, o.hits, o.layer_bits) if o.hits else READ[kind](o.input)
    return WRITE[to](table, o.output)
