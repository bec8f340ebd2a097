# SPDX-License-Identifier: Apache-2.0
"""Pages that programs make: tables in Markdown, and a page that is written or compared with what would be written."""
import sys


def cell(text):
    return str(text).replace("|", "\\|").replace("\n", " ")


def table(columns, rows):
    """Lines of a table; a column whose name ends in ':' is aligned to the right."""
    out = ["| " + " | ".join(c.rstrip(":") for c in columns) + " |",
           "|" + "|".join(" ---: " if c.endswith(":") else " --- " for c in columns) + "|"]
    return out + ["| " + " | ".join(cell(c) for c in row) + " |" for row in rows]


def deliver(text, path, check, target):
    """Writes the page, or with `check` compares it; the exit status of the program.  `target` is make's."""
    if not check:
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        return 0
    with open(path, encoding="utf-8") as f:
        if f.read() == text:
            return 0
    print(f"{path} is out of date: run `make {target}`", file=sys.stderr)
    return 1
