#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tidy.py SOURCE BUILD: clang-tidy (.clang-tidy) over the project's own C files in
compile_commands.json, as many at a time as there are cores.  Kernels are looked at in their form for the host, for
the size and complexity of their functions."""
import concurrent.futures
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

FOLDERS = ("client", "common", "daemon", "supervisor", "plugins", "tools", "bench")
# The analyzer stops after 5,000 states of a function, not 225,000: with 20,000 lint.tidy takes twice as long.
ANALYZER = [f"--extra-arg={word}" for word in ("-Xclang", "-analyzer-config", "-Xclang", "max-nodes=5000")]
KERNEL_CHECKS = "-*,readability-function-size,readability-function-cognitive-complexity"
# Functions of kernels that are over a limit, each with its reason.  The list only gets shorter: what is within the
# limits again must be taken off it.
OVER = {
    # of the installed header trigd/common/group.h: a struct instead of its parameters breaks plugins of others
    ("trg_group_radix_tile", "parameters"),
}


def commands(source, build):
    """The project's own files, each once, with the options that gcc has and clang has not taken out."""
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as f:
        entries = json.load(f)
    chosen = {}
    for entry in entries:
        path = os.path.realpath(os.path.join(entry["directory"], entry["file"]))
        where = os.path.relpath(path, source)
        if path.endswith(".c") and where.split(os.sep)[0] in FOLDERS or path.endswith(".host-base.c") and \
                os.path.relpath(path, build).split(os.sep)[0] in ("daemon", "plugins"):
            chosen.setdefault(path, dict(entry, file=path))
    return chosen


def run(tidy, database, path, *options):
    r = subprocess.run([tidy, "-quiet", "-p", database, "--extra-arg=-Wno-unknown-warning-option", *ANALYZER,
                        *options, path],
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    return path, r.returncode, r.stdout, r.stderr


def over(text):
    """(function, what) of all that clang-tidy says of a kernel file.  A kernel's body has the parameters of its
    launch, which the ABI limits."""
    found, name = set(), ""
    for line in text.split("\n"):
        function = re.search(r"error: function '(\w+)'", line)
        name = function.group(1) if function else name
        is_body, plain = name.endswith("_body_"), re.sub("_body_$", "", name)
        if "cognitive complexity of" in line:
            found.add((plain, "complexity"))
        what = re.search(r"note: \d+ (lines|statements|branches|parameters)", line)
        if what and not (is_body and what.group(1) == "parameters"):
            found.add((plain, what.group(1)))
    return found


def check_kernels(tidy, database, paths, pool):
    """Prints what is wrong; returns how much.  Copies of a kernel in tests come under the plugin's name."""
    found, failed = set(), 0
    for path, code, out, err in pool.map(lambda p: run(tidy, database, p, "--checks=" + KERNEL_CHECKS), paths):
        these = over(out)
        if code and "error: function" not in out:
            print(f"== {path}\n{out or err}")
            failed += 1
        found |= these
    for name, what in sorted(found - OVER):
        print(f"kernels: {name} has too much: {what} (.clang-tidy says how many are allowed)")
    for name, what in sorted(OVER - found):
        print(f"kernels: {name} is within the limit of {what} now: take it off OVER in tests/lint/tidy.py")
    return failed + len(found ^ OVER)


def main():
    source, build = os.path.realpath(sys.argv[1]), os.path.realpath(sys.argv[2])
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
        kernels = sorted(p for p in chosen if p.endswith(".host-base.c"))
        failed += check_kernels(tidy, database, kernels, pool) if kernels else 1
        for path, code, out, err in pool.map(lambda p: run(tidy, database, p), sorted(set(chosen) - set(kernels))):
            if code:
                failed += 1
                print(f"== {os.path.relpath(path, source)}\n{out or err}")
    print(f"{len(chosen)} files, {failed} with findings")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
