#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""trg_declare.py header OUT.h FILE.yaml...: makes the C header of declared collections.
trg_declare.py python OUT.py FILE.yaml...: makes the module from which the package trigd has those of trigd.
trg_declare.py docs [--check] PAGE.md FILE.yaml...: writes their tables into a page between two marks.

A declaration is a YAML file with the keys of COLLECTION; a column has those of COLUMN (docs/collections.md).
What is wrong in one is a sentence with file and line."""
import difflib
import os
import re
import struct
import sys

try:
    import yaml
except ImportError:
    sys.exit("trg_declare.py: Python has no module yaml; install python3-yaml (tools/setup build does)")

COLLECTION = {"collection": True, "doc": True, "room": True, "columns": True}  # whether needed
COLUMN = {"name": True, "type": True, "doc": True, "unit": False, "min": False, "max": False, "encoding": False}
ENCODING = {"type": True, "offset": True, "step": True}
NUMBERS = 2**16  # of an encoded column
FLT_MAX = struct.unpack("<f", b"\xff\xff\x7f\x7f")[0]
TYPES = {  # name: enumerator, type on the host, type in kernels, bytes, least and largest value
    "u8": ("TRG_U8", "uint8_t", "trg_u8", 1, 0, 2**8 - 1),
    "u16": ("TRG_U16", "uint16_t", "trg_u16", 2, 0, 2**16 - 1),
    "u32": ("TRG_U32", "uint32_t", "trg_u32", 4, 0, 2**32 - 1),
    "i8": ("TRG_I8", "int8_t", "trg_i8", 1, -2**7, 2**7 - 1),
    "i16": ("TRG_I16", "int16_t", "trg_i16", 2, -2**15, 2**15 - 1),
    "i32": ("TRG_I32", "int32_t", "trg_i32", 4, -2**31, 2**31 - 1),
    "f16": ("TRG_F16", "uint16_t", "trg_f16", 2, -65504, 65504),
    "f32": ("TRG_F32", "float", "float", 4, -FLT_MAX, FLT_MAX),
}
ENCODED, LAYER = 1, 2  # enum trg_column_flag
COLUMNS_MAX = 16  # TRG_COLUMNS_MAX
LENGTH_MAX = 64  # TRG_LENGTH_MAX
ROOM_MAX = 2**24
NAME = re.compile(r"[a-z](_?[a-z0-9])*")
ENDINGS = ("_out", "_of", "_column", "_length")  # of the macros
MARKS = ("<!-- collections: made by `make docs-collections` -->", "<!-- end of collections -->")


class Wrong(Exception):
    """A declaration that is not allowed: file, line, sentence."""

    def __init__(self, node, sentence):
        super().__init__(f"{node.start_mark.name}:{node.start_mark.line + 1}: " + sentence.replace("\n", " "))


def said(node):
    return node.value if isinstance(node, yaml.ScalarNode) else {"sequence": "a list", "mapping": "keys"}[node.id]


def members(node, keys, what):
    """The values of a mapping by key; all keys are known, none is twice, none needed is missing."""
    if not isinstance(node, yaml.MappingNode):
        raise Wrong(node, f"{what} has the keys {', '.join(keys)}; this is '{said(node)}'")
    found = {}
    for key, value in node.value:
        if not isinstance(key, yaml.ScalarNode) or key.value not in keys:
            near = difflib.get_close_matches(said(key), keys, 1)
            raise Wrong(key, f"unknown key '{said(key)}' of {what}; "
                        + (f"did you mean '{near[0]}'? " if near else "") + f"allowed are {', '.join(keys)}")
        if key.value in found:
            raise Wrong(key, f"key '{key.value}' of {what} is there twice")
        found[key.value] = value
    for key, needed in keys.items():
        if needed and key not in found:
            raise Wrong(node, f"{what} has no '{key}'; needed are {', '.join(k for k in keys if keys[k])}")
    return found


def a_name(node, what):
    name = said(node)
    if not isinstance(node, yaml.ScalarNode) or not NAME.fullmatch(name) or len(name) > 31:
        raise Wrong(node, f"{what} is called '{name}'; allowed are lower-case letters, digits and single _ "
                    "between them, 31 at most")
    if name.endswith(ENDINGS):
        raise Wrong(node, f"{what} is called '{name}'; a name may not end in {', '.join(ENDINGS)}")
    return name


def a_text(node, what, longest):
    text = said(node)
    if not isinstance(node, yaml.ScalarNode) or not 0 < len(text) <= longest or not text.isascii() \
            or not text.isprintable() or re.search(r'["\\]|\*/', text):
        raise Wrong(node, f"{what} is '{text}'; one line of 1 to {longest} ASCII characters without \", \\ and */ "
                    "is allowed")
    return text


def a_number(node, what, least, most, whole):
    try:
        value = (int if whole else float)(said(node))
    except ValueError:
        value = None
    if value is None or not least <= value <= most:
        raise Wrong(node, f"{what} is '{said(node)}'; {'a whole number' if whole else 'a number'} of "
                    f"{least:.9g} to {most:.9g} is allowed")
    return value


def a_type(node):
    """Type and length: f32, or f32[3]."""
    match = re.fullmatch(r"(\w+)(?:\[(\d{1,4})\])?", said(node))
    if not match or match.group(1) not in TYPES:
        raise Wrong(node, f"unknown type '{said(node)}'; allowed are {', '.join(TYPES)}, and vectors of them such as f32[3]")
    length = int(match.group(2) or 1)
    if match.group(2) and not 2 <= length <= LENGTH_MAX:
        raise Wrong(node, f"a vector of {length} values; 2 to {LENGTH_MAX} are allowed")
    return match.group(1), length


def single(v):
    """The nearest number of single precision."""
    return struct.unpack("<f", struct.pack("<f", v))[0]


def an_encoding(node, c):
    """Offset and step of an encoded column; 0 and 0: they come with each RoI."""
    if c["type"] != "f32":
        raise Wrong(node, f"column {c['name']} of type {c['type']} has an encoding; columns of f32 may have one")
    m = members(node, ENCODING, "an encoding") if isinstance(node, yaml.MappingNode) else {"type": node}
    if said(m["type"]) != "u16":
        raise Wrong(m["type"], f"encoding '{said(m['type'])}' of column {c['name']}; u16, or "
                    "{type: u16, offset: ..., step: ...} is allowed")
    if "step" not in m:
        return 0.0, 0.0
    offset, step = (single(a_number(m[key], key, -FLT_MAX, FLT_MAX, False)) for key in ("offset", "step"))
    if step <= 0:
        raise Wrong(m["step"], f"step is '{said(m['step'])}'; a number above 0 is allowed")
    last = offset + step * (NUMBERS - 1)
    if max(last, step * (NUMBERS - 1)) > FLT_MAX:
        raise Wrong(m["step"], f"offset {offset:g} and step {step:g} reach {last:g} in {NUMBERS - 1} steps; at most "
                    f"{FLT_MAX:g} is allowed")
    if last < c["min"] or offset > c["max"]:
        raise Wrong(m["offset"], f"offset {offset:g} and step {step:g} reach from {offset:g} to {last:g}; column "
                    f"{c['name']} allows {c['min']:g} to {c['max']:g}")
    return offset, step


def declared_column(node):
    m = members(node, COLUMN, "a column")
    c = {"name": a_name(m["name"], "a column"), "doc": a_text(m["doc"], "doc", 120), "flags": 0,
         "unit": a_text(m["unit"], "unit", 15) if "unit" in m else ""}
    c["type"], c["length"] = a_type(m["type"])
    least, most = TYPES[c["type"]][4:]
    whole = c["type"][0] != "f"
    c["min"] = a_number(m["min"], "min", least, most, whole) if "min" in m else least
    if "max" in m and said(m["max"]) == "max_layer":
        if c["type"] not in ("u8", "u16") or c["length"] > 1:
            raise Wrong(m["max"], "max is 'max_layer', which is for columns of the types u8 and u16")
        c["flags"] |= LAYER
        c["max"] = most
    else:
        c["max"] = a_number(m["max"], "max", c["min"], most, whole) if "max" in m else most
    c["encoding"] = (0.0, 0.0)
    if "encoding" in m:
        c["encoding"] = an_encoding(m["encoding"], c)
        c["flags"] |= ENCODED
    return c


def declaration(path):
    """One file, checked."""
    try:
        with open(path, encoding="utf-8") as f:
            root = yaml.compose(f)
    except OSError as e:
        sys.exit(f"{path}: {e.strerror}")
    except (yaml.YAMLError, UnicodeDecodeError) as e:
        mark = getattr(e, "problem_mark", None)
        why = getattr(e, "problem", None) or str(e).split("\n", 1)[0]
        sys.exit(f"{path}:{mark.line + 1 if mark else 1}: not YAML: {why}")
    if root is None:
        sys.exit(f"{path}:1: the file is empty; the keys {', '.join(COLLECTION)} are needed")
    m = members(root, COLLECTION, "a collection")
    d = {"name": a_name(m["collection"], "a collection"), "doc": a_text(m["doc"], "doc", 120),
         "room": a_number(m["room"], "room", 1, ROOM_MAX, True), "file": os.path.basename(path)}
    nodes = m["columns"].value
    if not isinstance(m["columns"], yaml.SequenceNode) or not 1 <= len(nodes) <= COLUMNS_MAX:
        what = f"has {len(nodes)} entries" if isinstance(m["columns"], yaml.SequenceNode) else \
            f"is '{said(m['columns'])}'"
        raise Wrong(m["columns"], f"columns {what}; a list of 1 to {COLUMNS_MAX} is allowed")
    d["columns"] = []
    for node in nodes:
        c = declared_column(node)
        if any(c["name"] == other["name"] for other in d["columns"]):
            raise Wrong(node, f"column {c['name']} is there twice")
        d["columns"].append(c)
    return d


def hash_of(d):
    """FNV-1a of what a reader of the data must know; trg_collection_hash computes the same."""
    text = d["name"] + "".join(
        f"\n{c['name']} {TYPE_NUMBER[c['type']]} {c['length']} {c['unit']} {c['min']:.9g} {c['max']:.9g} {c['flags']}"
        + (" {:.9g} {:.9g}".format(*c["encoding"]) if c["encoding"][1] else "") for c in d["columns"])
    h = 0xcbf29ce484222325
    for byte in text.encode():
        h = (h ^ byte) * 0x100000001b3 % 2**64
    return h


TYPE_NUMBER = {"u8": 1, "u16": 2, "u32": 3, "i32": 4, "f32": 5, "i8": 6, "i16": 7, "f16": 8}  # enum trg_type


def value(v, kind):
    return f"{v:.9g}" if kind[0] == "f" else f"{v}.0"


def accessors(d):
    for n, c in enumerate(d["columns"]):
        name = f"TRG_{d['name']}_{c['name']}".upper()
        yield f"/* {c['doc']}{', ' + c['unit'] if c['unit'] else ''} */"
        yield f"#define {name}_COLUMN {n}"
        if c["length"] > 1:
            yield f"#define {name}_LENGTH {c['length']} /* value v of item i is [i * {c['length']} + v] */"
        yield f"#define {name}(data, span) TRG_COLUMN({TYPES[c['type']][2]}, data, span, {n})"
        yield f"#define {name}_OUT(data, span) TRG_COLUMN_OUT({TYPES[c['type']][2]}, data, span, {n})"
        yield f"#define {name}_OF(set) (({TYPES[c['type']][1]} *)(set)->column[{n}])"


def header(d):
    upper = d["name"].upper()
    yield f"/* ---- {d['name']}: {d['doc']} */"
    yield f"#ifndef TRG_COLLECTION_{upper}"
    yield f"#define TRG_COLLECTION_{upper} 0x{hash_of(d):016x}u"
    yield from accessors(d)
    yield f"#define TRG_{upper}_COLUMNS {len(d['columns'])}u"
    yield "#if !defined(__OPENCL_VERSION__) && !defined(__CUDACC__)"
    yield f"__attribute__((unused)) static const struct trg_column trg_{d['name']}_columns[] = {{"
    for c in d["columns"]:
        yield (f"    {{\"{c['name']}\", \"{c['unit']}\", \"{c['doc']}\", {TYPES[c['type']][0]}, {c['length']}, "
               f"{value(c['min'], c['type'])}, {value(c['max'], c['type'])}, {c['flags']}}},")
    yield "};"
    if any(c["encoding"][1] for c in d["columns"]):
        yield f"__attribute__((unused)) static const struct trg_encoding trg_{d['name']}_encodings[] = {{"
        yield from (f"    {{{c['encoding'][0]:.9e}f, {c['encoding'][1]:.9e}f}}," for c in d["columns"])
        yield "};"
        encodings = f"trg_{d['name']}_encodings"
    else:
        encodings = "0"
    yield (f"__attribute__((unused)) static const struct trg_collection trg_{d['name']} = {{\n"
           f"    sizeof(struct trg_collection), {len(d['columns'])}, \"{d['name']}\", \"{d['doc']}\", {d['room']}u, "
           f"sizeof(struct trg_column),\n    0x{hash_of(d):016x}u, trg_{d['name']}_columns, {encodings}}};")
    yield "#endif"
    yield f"#elif TRG_COLLECTION_{upper} != 0x{hash_of(d):016x}u"
    yield f"#error collection {d['name']} is declared otherwise in another header"
    yield "#endif"


def file_text(declared):
    yield "/* made by trg_declare.py: do not edit */"
    yield "#if !defined(__OPENCL_VERSION__) && !defined(__CUDACC__)"
    yield "#include <trigd/collection.h>"
    yield "#endif"
    for d in declared:
        yield from header(d)


def module(declared):
    yield "# made by trg_declare.py: do not edit"
    yield "from typing import Any, List, Tuple"
    yield ""
    yield "# name, hash, doc, room, and of each column what Column takes"
    yield "COLLECTIONS: List[Tuple[str, int, str, int, List[Tuple[Any, ...]]]] = ["
    for d in declared:
        yield f"    ({d['name']!r}, 0x{hash_of(d):016x}, {d['doc']!r}, {d['room']}, ["
        for c in d["columns"]:
            column = (c["name"], TYPE_NUMBER[c["type"]], c["length"], c["unit"], float(c["min"]), float(c["max"]), c["flags"], c["doc"],
                      *c["encoding"])
            yield f"        {column!r},"
        yield "    ]),"
    yield "]"


def write(path, lines):
    """Writes the file, unless it has this text already: what depends on it is then not built again."""
    text = "\n".join(lines) + "\n"
    try:
        with open(path, encoding="utf-8") as f:
            if f.read() == text:
                return
    except OSError:
        pass
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


def allowed(c):
    least, most = TYPES[c["type"]][4:]
    if c["flags"] & LAYER:
        return "0 to `max_layer`"
    if c["min"] == least and c["max"] == most:
        return "finite" if c["type"][0] == "f" else "all"
    if c["max"] == most:
        return f"{c['min']:g} or more"
    return f"{c['min']:g} to {c['max']:g}"


def encoding_text(c):
    if not c["flags"] & ENCODED:
        return ""
    return ", u16 with {:g} + {:g} n".format(*c["encoding"]) if c["encoding"][1] else ", may be encoded"


def docs(declared):
    for d in declared:
        yield from ("", f"### {d['name']}", "", d["doc"], "",
                    "| column | type | unit | allowed | meaning |", "| --- | --- | --- | --- | --- |")
        for c in d["columns"]:
            kind = c["type"] + (f"[{c['length']}]" if c["length"] > 1 else "")
            yield (f"| `{c['name']}` | {kind}{encoding_text(c)} | {c['unit']} | "
                   f"{allowed(c)} | {c['doc']} |")
    yield ""


def deliver_docs(page, declared, check):
    with open(page, encoding="utf-8") as f:
        text = f.read()
    head, begin, rest = text.partition(MARKS[0] + "\n")
    _, end, tail = rest.partition(MARKS[1])
    if not begin or not end:
        sys.exit(f"{page} lacks the lines '{MARKS[0]}' and '{MARKS[1]}'")
    made = head + begin + "\n".join(docs(declared)) + "\n" + end + tail
    if made == text:
        return
    if check:
        sys.exit(f"{page} is out of date: run `make docs-collections`")
    with open(page, "w", encoding="utf-8") as f:
        f.write(made)


def main(arguments):
    what, *rest = arguments or [""]
    check = "--check" in rest
    paths = [a for a in rest if a != "--check"]
    if what not in ("header", "python", "docs") or len(paths) < 2 or (check and what != "docs"):
        sys.exit(__doc__)
    try:
        declared = [declaration(p) for p in paths[1:]]
    except Wrong as e:
        sys.exit(str(e))
    for n, d in enumerate(declared):
        if any(d["name"] == other["name"] for other in declared[:n]):
            sys.exit(f"{paths[n + 1]}:1: collection {d['name']} is declared in another of these files, too")
    if what == "docs":
        deliver_docs(paths[0], declared, check)
    else:
        write(paths[0], module(declared) if what == "python" else file_text(declared))


if __name__ == "__main__":
    main(sys.argv[1:])
