#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""shape.py SOURCE: prints the shape of the tracked C files as the table of docs/conventions.md counts it.

A function is counted from the first line of its head to its closing brace, as clang-format leaves it.  Depth is
the number of nested if, else, for, while, do and switch; an `else if` is not deeper than its `if`."""
import collections
import os
import re
import subprocess
import sys

COUNTED = ("bench/", "common/", "daemon/", "include/", "plugins/", "supervisor/", "tools/")


def c_files(source):
    names = subprocess.run(["git", "-C", source, "ls-files", "*.c", "*.h"], stdout=subprocess.PIPE, text=True,
                           check=True).stdout.split()
    return {name: open(os.path.join(source, name), encoding="utf-8").read() for name in names}


def functions(text):
    """(head, body, lines) of each function."""
    lines = text.split("\n")
    for i, line in enumerate(lines):
        if line != "{" or not i or lines[i - 1].startswith(("struct", "enum", "union")):
            continue
        first, last = i - 1, lines.index("}", i) if "}" in lines[i:] else len(lines) - 1
        while first and lines[first - 1].strip() and not lines[first - 1].rstrip().endswith((";", "}", "*/")) \
                and not lines[first - 1].startswith("#"):
            first -= 1
        yield " ".join(lines[first:i]), "\n".join(lines[i:last + 1]), last - first + 1


def parameters(head):
    m = re.search(r"\b(\w+)\s*\((.*)\)[^()]*$", head, re.S)
    if not m or m.group(1).startswith("TRG_KERNEL") or m.group(2).strip() in ("", "void"):
        return 0
    return len(re.sub(r"\([^()]*\)", "", m.group(2)).split(","))


def tokens(body):
    body = re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', "0", body, flags=re.S)
    body = re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", "", body, flags=re.M)
    return re.findall(r"\w+|[^\s\w]", body)


class Depth:
    def __init__(self, body):
        self.t, self.most = tokens(body), 0
        self.statement(0, 0)

    def balanced(self, i, ends):
        """Behind the first of `ends` outside of brackets, or at a bracket that closes more than is open."""
        level = 0
        while i < len(self.t):
            level += (self.t[i] in "({[") - (self.t[i] in ")}]")
            if level < 0:
                return i
            i += 1
            if level == 0 and self.t[i - 1] in ends:
                return i
        return i

    def statement(self, i, depth):
        self.most = max(self.most, depth)
        word = self.t[i] if i < len(self.t) else ";"
        if word == "{":
            i += 1
            while i < len(self.t) and self.t[i] != "}":
                i = self.statement(i, depth)
            return i + 1
        if word in ("case", "default"):
            return self.balanced(i, ":")
        if word in ("if", "for", "while", "switch"):
            i = self.statement(self.balanced(i + 1, ")"), depth + 1)
            if word == "if" and i < len(self.t) and self.t[i] == "else":
                is_chain = i + 1 < len(self.t) and self.t[i + 1] == "if"
                i = self.statement(i + 1, depth + (not is_chain))
            return i
        if word == "do":
            return self.balanced(self.statement(i + 1, depth + 1), ";")
        return self.balanced(i, ";")


def main():
    files = c_files(sys.argv[1])
    found = [f for name, text in files.items() if name.startswith(COUNTED) for f in functions(text)]
    length = sorted(lines for _, _, lines in found)
    folders = collections.Counter(os.path.dirname(name) for name in files if name.startswith("daemon/"))
    longest = max((text.count("\n"), name) for name, text in files.items())
    rows = [("files in the fullest folder of daemon/", max(folders.values())),
            ("functions", len(found)),
            ("their lines: median, 90 %, longest", f"{length[len(length) // 2]}, {length[len(length) * 9 // 10]}, {length[-1]}"),
            ("functions of more than six parameters", sum(parameters(head) > 6 for head, _, _ in found)),
            ("functions of depth four and more", sum(Depth(body).most >= 4 for _, body, _ in found)),
            ("longest file", f"{longest[0]} lines ({longest[1]})")]
    for folder in ("bench/", "tools/", "tests/common/", "daemon/", "plugins/"):
        rows.append((f"lines of {folder}", sum(t.count("\n") for n, t in files.items() if n.startswith(folder))))
    for what, value in rows:
        print(f"| {what} | {value} |")


if __name__ == "__main__":
    main()
