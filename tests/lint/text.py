#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""text.py SOURCE: rules that can be read off the text of the tracked files.

Each rule is a function of (path, text) that gives (line, sentence) pairs.  A line that must break a
rule ends in a comment `lint: why`, which allows it."""
import os
import re
import subprocess
import sys

CODE = (".c", ".h")
WITH_SPDX = (".c", ".h", ".proto", ".cmake", ".py", ".sh", "CMakeLists.txt", "Makefile", ".yaml")
FILE_LINES = 600
MACRO_LINES = 24  # a screen; longer ones are functions
# The folders of the daemon: a file includes headers of its own folder and of those before it.
FOLDERS = ["base", "config", "memory", "plugin", "conditions", "menu", "stream", "transport", "exec", "flow", "monitor", ""]
# The way of an RoI: a stage knows stages further down the way, never one behind it.
STAGES = ["ingress", "dispatch", "decide", "egress"]
BANNED = {"sprintf": "snprintf", "vsprintf": "vsnprintf", "strcpy": "snprintf or memcpy",
          "strcat": "snprintf", "strtok": "strtok_r or strchr", "atoi": "strtol", "atof": "strtod",
          "gets": "fgets", "rand": "a generator with its own seed", "system": "posix_spawn"}
# printf is for programs that talk to people, not for the daemon's stages.
SHARED_BY_PLUGINS = ("plugins/kdtree/",)
PRINTF_FOLDERS = ("tools/", "tests/", "bench/")
PRINTF_FILES = ("daemon/main.c", "supervisor/main.c", "daemon/config/config_table.c", "common/log.c", "common/args.c", "common/args_help.c", "examples/client/send_rois.c")
REGISTRY = re.compile(r"\b(pypi|crates|npmjs|registry|proxy\.golang|deb\.debian|archive\.ubuntu|ghcr|docker)"
                      r"\.(org|io|com)\b")
OUTSIDE = re.compile(r"(?<![\w.])/(work|home|root|Users|mnt)/\w")


def lines(text):
    return enumerate(text.split("\n"), 1)


def blank(match):
    return re.sub(r"[^\n]", " ", match.group(0))


def code_only(text):
    """The text without comments, strings and characters, line numbers kept."""
    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', blank, text,
                  flags=re.S)


def rule_spdx(path, text):
    if path.endswith(WITH_SPDX) or text.startswith("#!"):
        if not any("SPDX-License-Identifier: Apache-2.0" in l for _, l in list(lines(text))[:3]):
            yield 1, "no SPDX-License-Identifier: Apache-2.0 in the first three lines"


def rule_space(path, text):
    if path.endswith(".md"):
        return
    for n, line in lines(text):
        if line != line.rstrip():
            yield n, "space at the end of the line"
        if path.endswith(CODE) and "\t" in line:
            yield n, "tab"
    if text and not text.endswith("\n"):
        yield len(text.split("\n")), "no newline at the end of the file"


def rule_size(path, text):
    n = text.count("\n")
    if path.endswith(CODE) and n > FILE_LINES:
        yield FILE_LINES, f"{n} lines: a file has one subject and at most {FILE_LINES} lines"


def rule_macros(path, text):
    if not path.endswith(CODE) or not path.startswith(("plugins/", "include/")):
        return
    for match in re.finditer(r"^[ \t]*#[ \t]*define[ \t]+(\w+)(?:[^\n]*\\\n)*[^\n]*", text, flags=re.M):
        n = match.group(0).count("\n") + 1
        if n > MACRO_LINES:
            yield text.count("\n", 0, match.start()) + 1, \
                f"macro {match.group(1)} of {n} lines: write a function, or at most {MACRO_LINES} lines"


def rule_banned(path, text):
    if not path.endswith(CODE):
        return
    for n, line in lines(code_only(text)):
        for word in re.findall(r"(?<![\w>.])(\w+)\s*\(", line):
            if word in BANNED:
                yield n, f"{word}(): use {BANNED[word]}"
            if word in ("printf", "puts") and path.startswith(("daemon/", "supervisor/", "common/", "plugins/", "examples/")) \
                    and path not in PRINTF_FILES and not os.path.basename(path).startswith("test_"):
                yield n, f"{word}(): write through the log"
            if word == "abort" or (word == "exit" and path != "daemon/main.c"
                                   and not path.startswith(PRINTF_FOLDERS)):
                yield n, f"{word}(): only main.c ends the process"


def rule_pipes(path, text):
    """In sh a pipe has the exit status of its last program, and these take anything."""
    if not path.startswith("tests/") or not text.startswith("#!/bin/sh"):
        return
    for n, line in lines(text):
        if re.search(r'/bin/trig\w+"? .*\|\s*(tail|head|cat|sed|cut)\b', line):
            yield n, "the exit status of the program before the pipe is lost: write to a file, and show that"


def rule_folders(path, text):
    """The direction of includes between the daemon's folders, and the folder in each name."""
    m = re.fullmatch(r"daemon/(?:(\w+)/)?\w+\.[ch]", path)
    folder = m and (m.group(1) or "")
    if folder not in FOLDERS:
        return
    beside = os.path.dirname(path)
    for n, line in lines(text):
        m = re.match(r'\s*#\s*include\s+"(?:(\w+)/)?(\w+\.h)"', line)
        other = m and m.group(1)
        if m and not other and folder and os.path.exists(os.path.join(beside, m.group(2))):
            yield n, f"the name lacks its folder: {folder}/{m.group(2)}"
        elif other in FOLDERS and FOLDERS.index(other) > FOLDERS.index(folder):
            yield n, f"{other}/ comes after {folder}/: includes go up the list {' '.join(FOLDERS)}"


def rule_stages(path, text):
    name = os.path.splitext(os.path.basename(path))[0]
    if os.path.dirname(path) != "daemon/flow" or name not in STAGES:
        return
    allowed = STAGES[STAGES.index(name):]
    for n, line in lines(text):
        m = re.match(r'\s*#\s*include\s+"flow/(\w+)\.h"', line)
        if m and m.group(1) in STAGES and m.group(1) not in allowed:
            yield n, f"{m.group(1)} comes before {name}: data goes down the list and never back up"


def rule_layers(path, text):
    """common knows nothing of the daemon, plugins nothing of either, public headers only themselves."""
    if not path.endswith(CODE):
        return
    if not path.startswith(("include/", "plugins/", "examples/")):
        return
    own = os.sep.join(path.split("/")[:2]) + "/"
    for n, line in lines(text):
        m = re.match(r'\s*#\s*include\s+"([^"]+)"', line)
        if not m:
            continue
        name = m.group(1)
        there = os.path.normpath(os.path.join(os.path.dirname(path), name))
        if path.startswith("include/"):
            right = name.startswith("trigd/")
        elif name.startswith("../"):
            right = there.startswith((own,) + SHARED_BY_PLUGINS)
        else:
            right = not name.startswith(("daemon/", "common/"))
        if not right:
            yield n, f'"{name}" is not for this folder'


def rule_outside(path, text):
    for n, line in lines(text):
        if path != "tests/lint/text.py" and REGISTRY.search(line):
            yield n, "host name of a package registry"
        if path not in ("tests/lint/text.py", "tests/lint/test_text.py") and OUTSIDE.search(line):
            yield n, "absolute path outside the project"


def slug(heading):
    heading = re.sub(r"[^\w\- ]", "", heading.strip().lower().replace("`", ""))
    return heading.replace(" ", "-")


def anchors(text):
    text = re.sub(r"```.*?```", "", text, flags=re.S)
    return {slug(m) for m in re.findall(r"^#+ +(.*?)\s*$", text, flags=re.M)}


def rule_links(path, text, root="."):
    if not path.endswith(".md"):
        return
    body = re.sub(r"```.*?```", blank, text, flags=re.S)
    for n, line in lines(re.sub(r"`[^`\n]*`", blank, body)):
        for target in re.findall(r"\]\(([^)\s]+)\)", line):
            if re.match(r"[a-z]+:", target):
                continue
            name, _, anchor = target.partition("#")
            there = os.path.join(root, os.path.dirname(path), name) if name else os.path.join(root, path)
            if not os.path.exists(there):
                yield n, f"link to {target}, which is not there"
            elif anchor and there.endswith(".md"):
                with open(there, encoding="utf-8") as f:
                    if anchor not in anchors(f.read()):
                        yield n, f"link to {target}: no such heading"


RULES = [rule_spdx, rule_space, rule_size, rule_macros, rule_banned, rule_pipes, rule_folders, rule_stages, rule_layers, rule_outside, rule_links]


def check(path, text, root="."):
    """All findings of one file, as (line, sentence), but those that their line allows."""
    source = text.split("\n")
    for rule in RULES:
        found = rule(path, text, root) if rule is rule_links else rule(path, text)
        for n, sentence in found:
            if "lint: " not in source[min(n, len(source)) - 1]:
                yield n, sentence


def main():
    root = sys.argv[1]
    out = subprocess.run(["git", "-c", "safe.directory=*", "-C", root, "ls-files", "-z"],
                         stdout=subprocess.PIPE, check=True).stdout.decode()
    count = failed = 0
    for path in filter(None, out.split("\0")):
        full = os.path.join(root, path)
        if path == "LICENSE" or not os.path.isfile(full):
            continue
        with open(full, "rb") as f:
            data = f.read()
        if b"\0" in data or path.startswith("tests/fuzz/corpus/"):
            continue
        try:
            text = data.decode()
        except UnicodeDecodeError:
            print(f"{path}:1: not UTF-8")
            failed += 1
            continue
        count += 1
        for n, sentence in check(path, text, root):
            print(f"{path}:{n}: {sentence}")
            failed += 1
    print(f"{count} files, {failed} findings")
    return 1 if failed or not count else 0


if __name__ == "__main__":
    sys.exit(main())
