#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tidy.py SOURCE BUILD: clang-tidy (.clang-tidy) over the project's own C files in
compile_commands.json, as many at a time as there are cores."""
import concurrent.futures
import json
import os
import shutil
import subprocess
import sys
import tempfile

FOLDERS = ("common", "daemon", "plugins", "tools", "bench")


def commands(source, build):
    """The project's own files, each once, with the options that gcc has and clang has not taken out."""
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as f:
        entries = json.load(f)
    chosen = {}
    for entry in entries:
        path = os.path.realpath(os.path.join(entry["directory"], entry["file"]))
        where = os.path.relpath(path, source)
        if path.endswith(".c") and where.split(os.sep)[0] in FOLDERS:
            chosen.setdefault(path, dict(entry, file=path))
    return chosen


def run(tidy, database, path):
    r = subprocess.run([tidy, "-quiet", "-p", database, "--extra-arg=-Wno-unknown-warning-option", path],
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    return path, r.returncode, r.stdout, r.stderr


def main():
    source, build = os.path.realpath(sys.argv[1]), sys.argv[2]
    tidy = shutil.which("clang-tidy-14") or shutil.which("clang-tidy")
    if not tidy:
        print("skipped: clang-tidy is not installed")
        return 77
    chosen = commands(source, build)
    if not chosen:
        print("no C files in compile_commands.json", file=sys.stderr)
        return 1
    failed = 0
    with tempfile.TemporaryDirectory() as database, \
            concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        with open(os.path.join(database, "compile_commands.json"), "w", encoding="utf-8") as f:
            json.dump(list(chosen.values()), f)
        for path, code, out, err in pool.map(lambda p: run(tidy, database, p), sorted(chosen)):
            if code:
                failed += 1
                print(f"== {os.path.relpath(path, source)}\n{out or err}")
    print(f"{len(chosen)} files, {failed} with findings")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
