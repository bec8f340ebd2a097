#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""symbols.py SOURCE BUILD: what the symbols of the object files say of the source.

Circles: a file of a target needs those that define what it calls.  Where the way back leads to the file itself,
neither can be understood, tested or replaced alone: what both need belongs in a third file.

Names for nobody: what a file defines for others and none of them needs is static, or dead."""
import collections
import json
import os
import re
import subprocess
import sys

# Found by dlsym, by the loader or by the C library.
FOUND_BY_NAME = {"accept4", "main", "trg_plugin", "trg_backend", "posix_memalign"}
OWN = ("bench", "client", "common", "daemon", "plugins", "supervisor", "tests", "tools")


def objects(build):
    """The object files of each target."""
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as f:
        paths = {re.search(r" -o (\S+)", entry["command"]).group(1) for entry in json.load(f)}
    found = collections.defaultdict(list)
    for path in sorted(paths):
        if path.split(os.sep)[0] in OWN and os.path.exists(os.path.join(build, path)):
            found[re.search(r"CMakeFiles/([^/]+)\.dir", path).group(1)].append(path)
    return found


def symbols(build, paths):
    """For each file what it defines for others, and what it needs."""
    text = subprocess.run(["nm", "-A", "--format=posix", *paths], stdout=subprocess.PIPE, text=True, check=True,
                          cwd=build).stdout
    defined, needed = collections.defaultdict(set), collections.defaultdict(set)
    for line in text.split("\n"):
        m = re.match(r"(.*): (\S+) ([A-Za-z])", line)
        if m and m.group(3) == "U":
            needed[m.group(1)].add(m.group(2))
        elif m and m.group(3) in "TDBRVWC":
            defined[m.group(1)].add(m.group(2))
    return defined, needed


def edges(paths, defined, needed):
    """{file: {other: names}}"""
    where = {name: path for path in paths for name in defined[path]}
    graph = {path: collections.defaultdict(set) for path in paths}
    for path in paths:
        for name in needed[path]:
            if where.get(name, path) != path:
                graph[path][where[name]].add(name)
    return graph


def reachable(graph, start):
    seen, left = set(), list(graph[start])
    while left:
        path = left.pop()
        if path not in seen:
            seen.add(path)
            left += graph[path]
    return seen


def circles(graph):
    """Sets of files that reach each other."""
    reach = {path: reachable(graph, path) for path in graph}
    return {frozenset(q for q in reach[path] if path in reach[q]) for path in graph if path in reach[path]}


def unneeded(defined, needed, public):
    """(name, file) of what only its own file can need: not of tests, generated files, and the public headers."""
    wanted = set().union(*needed.values()) | FOUND_BY_NAME | public
    for path, names in sorted(defined.items()):
        if not path.startswith("tests/") and not re.search(r"\.(host-\w+|program|embed|pb-c)\.[cS]\.o$", path):
            for name in sorted(names - wanted):
                yield name, path


def public_names(source_folder):
    folder = os.path.join(source_folder, "include", "trigd")
    return {name for header in os.listdir(folder) if header.endswith(".h")
            for name in re.findall(r"\w+", open(os.path.join(folder, header), encoding="utf-8").read())}


def source(path):
    return re.sub(r"CMakeFiles/[^/]+\.dir/|\.o$", "", path)


def main():
    build, public = os.path.realpath(sys.argv[2]), public_names(sys.argv[1])
    bad = 0
    targets = objects(build)
    if not targets:
        print(f"no object file of compile_commands.json is in {build}", file=sys.stderr)
        return 1
    defined, needed = symbols(build, [path for paths in targets.values() for path in paths])
    for target, paths in sorted(targets.items()):
        graph = edges(paths, defined, needed)
        for circle in circles(graph):
            bad += 1
            print(f"{target}: {len(circle)} files need each other")
            for path in sorted(circle):
                for other in sorted(circle & graph[path].keys()):
                    print(f"  {source(path)} needs "
                          f"{source(other)}: {' '.join(sorted(graph[path][other]))}")
    print(f"{bad} circles")
    for name, path in unneeded(defined, needed, public):
        bad += 1
        print(f"{source(path)}: {name} is for nobody: make it static, or delete it")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
