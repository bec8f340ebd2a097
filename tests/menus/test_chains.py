#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_chains.py PROGRAM PLUGIN_FOLDER [MENUS CHAINS STEPS EVENTS]: what the chains of the daemon decide on random events
of random menus (menu_decisions) against the slow model of model.py.  EVENTS are those of one menu."""
import collections
import json
import subprocess
import sys
import time

import model

ROI = ["prescaled", "missing", "ran", "raw", "accepted", "skipped"]


def members(number):
    """The members of a set: bits of a hexadecimal number."""
    bits = bin(int(number, 16))[:1:-1]
    return {i for i, bit in enumerate(bits) if bit == "1"}


def same(what, decided, wanted):
    decided = members(decided)
    if decided != wanted:
        raise AssertionError(f"{what}: the daemon's alone {sorted(decided - wanted)}, the model's alone "
                             f"{sorted(wanted - decided)}")


def check_roi(roi, wanted, counts):
    if roi.get("fails", False) or wanted.fails:
        assert roi.get("fails", False) == wanted.fails, f"fails: the model says {wanted.fails}"
        counts["RoIs that fail"] += 1
        return
    same("streams", roi["streams"], wanted.streams())
    for name in ROI:
        if name != "raw" or not roi["gone"]:
            same(name, roi[name], getattr(wanted, name))
    if roi["gone"]:  # the order decides which steps of chains that skip them run before
        assert members(roi["steps"]) <= wanted.steps, "steps ran that the model does not run"
        counts["RoIs that skip"] += bool(wanted.skipped)
    else:
        same("steps", roi["steps"], wanted.steps)
    if "early" in roi:
        same("streams of an early decision", roi["early"], wanted.streams())
        counts["early decisions"] += 1
    assert wanted.accepted or not roi.get("accepts_early"), "an early accept, where the model rejects"


def check_event(menu, event, counts):
    for roi in event["rois"]:
        roi["gone"], roi["holds"] = members(roi["gone"]), set(roi["holds"])
    counts["RoIs"] += len(event["rois"])
    counts["events"] += 1
    if len(event["rois"]) == 1:
        wanted = model.Roi(menu, event, event["rois"][0])
        check_roi(event["rois"][0], wanted, counts)
        counts["accepted"] += bool(wanted.accepted)
        return
    wanted = model.Event(menu, event)
    for name in "raw", "accepted":
        same(f"{name} of the event", event[name], getattr(wanted, name))
    same("streams of the event", event["streams"], wanted.streams())
    for roi, wanted_roi in zip(event["rois"], wanted.rois):
        check_roi(roi, wanted_roi, counts)
    counts["accepted"] += bool(wanted.accepted)
    counts["events of several RoIs"] += 1
    counts["events that were settled early"] += event["late"] > 0


def check(lines, counts):
    menu = None
    for number, text in enumerate(lines, 2):
        line = json.loads(text)
        if "menu" in line:
            menu = model.Menu(line["menu"])
            continue
        try:
            check_event(menu, line, counts)
        except AssertionError as error:
            sys.exit(f"line {number}, {len(menu.chains)} chains: {error}\n{text}")


def main():
    size = sys.argv[3:] or ["8", "500", "60", "400"]
    counts, began = collections.Counter(), time.monotonic()
    with subprocess.Popen([*sys.argv[1:3], *size], stdout=subprocess.PIPE, text=True) as program:
        print(program.stdout.readline(), end="", flush=True)  # the seed
        check(program.stdout, counts)
    if program.returncode:
        sys.exit(f"{sys.argv[1]} ended with {program.returncode}")
    print(f"{time.monotonic() - began:.0f} s:", ", ".join(f"{count} {name}" for name, count in counts.items()))
    wanted = ["accepted", "RoIs that fail", "RoIs that skip", "early decisions", "events that were settled early"]
    rare = [name for name in wanted if not counts[name]]
    if counts["events"] != int(size[0]) * int(size[3]) or (not sys.argv[3:] and rare):
        sys.exit(f"too few events, or none of these: {', '.join(rare)}")


main()
