# SPDX-License-Identifier: Apache-2.0
"""A slow model of menus, by the words of docs/menus.md and docs/events.md: it reads the menu's file and decides RoIs and
events chain by chain.  Chains and steps are called by their numbers in the menu."""
import ast
import math

import yaml

# What the plugins of tests/config read of the RoI itself, and the values that they report.
READS = {"good": {"spacepoints"}, "maker": {"hits"}, "eater": set(), "relay": {"spacepoints"}, "taker": set()}
VALUES = {"n_points": 1, "z_mm": 2}  # their place in a result; at 0: truncated


def mix(x):
    """As docs/menus.md has it."""
    x = (x + 0x9e3779b97f4a7c15) % 2**64
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9 % 2**64
    x = (x ^ x >> 27) * 0x94d049bb133111eb % 2**64
    return x ^ x >> 31


class Chain:
    def __init__(self, number, entry, steps):
        self.number = number
        self.id = entry["id"]
        self.seeds = entry.get("seeds", [])
        self.types = entry.get("types")
        self.regions = entry.get("regions")
        self.steps = [(steps[s["step"]], s.get("cuts", [])) for s in entry.get("steps", [])]
        self.combine = ast.parse(entry["combine"], mode="eval").body if "combine" in entry else None
        self.prescale = entry.get("prescale", 1)
        self.multiplicity = entry.get("multiplicity", 1)
        self.pass_through = entry.get("pass_through", False)
        self.cuts_truncated = entry.get("truncated", "pass") == "cut"
        self.skips = entry.get("fallback", "debug") == "skip"
        self.streams = entry["streams"]

    def fired(self, event):
        """Whether the event's level-1 items and number of RoIs seed it."""
        return (self.multiplicity <= len(event["rois"])
                and (not self.seeds or any(event["l1_bits"] >> bit & 1 for bit in self.seeds)))

    def looks_at(self, roi):
        return ((self.types is None or roi["type"] in self.types)
                and (self.regions is None or any(is_in(region, roi) for region in self.regions)))

    def taken(self, event):
        """Whether the prescale lets it run."""
        if self.prescale in (0, 1):
            return self.prescale == 1
        crossing = event["bcid"] << 32 | event["l1id"]
        return mix(mix(self.id << 32 | event["run"]) ^ crossing) < 2**64 / self.prescale


def is_in(region, roi):
    eta, phi = roi["eta"], roi["phi_rad"]
    if "eta_min" in region and not region["eta_min"] <= eta < region["eta_max"]:
        return False
    if "phi_min_rad" not in region:
        return True
    low, high = region["phi_min_rad"], region["phi_max_rad"]
    return low <= phi < high if low < high else phi >= low or phi < high


def holds(cuts, result):
    """Whether all cuts hold; a value that is no number fails them."""
    for cut in cuts:
        value = result[VALUES[cut["value"]]]
        if cut.get("absolute"):
            value = abs(value)
        if not cut.get("min", -math.inf) <= value <= cut.get("max", math.inf):
            return False
    return True


class Menu:
    def __init__(self, text):
        file = yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        names = {step["name"]: i for i, step in enumerate(file["steps"])}
        self.streams = file["streams"]
        self.reads = [READS[step["plugin"]] for step in file["steps"]]
        self.sources = []  # of each step: itself, and those that feed it
        self.heads = []  # in whose batches it runs
        for i, step in enumerate(file["steps"]):
            inputs = [names[name] for name in step.get("inputs", [])]
            self.sources.append({i}.union(*(self.sources[k] for k in inputs)))
            self.heads.append(self.heads[inputs[0]] if step.get("on_device") else i)
        self.chains = [Chain(i, entry, names) for i, entry in enumerate(file["chains"])]
        self.by_name = {entry["name"]: chain for entry, chain in zip(file["chains"], self.chains)}
        self.operands = {c: self.find_operands(c.combine) for c in self.chains if c.combine}

    def find_operands(self, node):
        """The chains that a combination is made of, and those that these are made of."""
        found = {self.by_name[n.id] for n in ast.walk(node) if isinstance(n, ast.Name)}
        return found.union(*(self.find_operands(c.combine) for c in found if c.combine))

    def needed(self, event):
        """Chains that run for a combination, whatever their own prescale."""
        return set().union(*(operands for c, operands in self.operands.items() if c.fired(event) and c.taken(event)))


class Roi:
    """The chains of a menu on one RoI."""

    def __init__(self, menu, event, roi):
        self.menu, self.event, self.roi = menu, event, roi
        self.prescaled, self.missing, self.ran, self.raw, self.skipped = set(), set(), set(), set(), set()
        self.passed, self.steps, self.fails = set(), set(), False
        everything = range(len(menu.sources))
        short = {i for i in everything if roi["results"][i][0]}
        self.short = {i for i in everything if menu.sources[i] & short}  # a limit was met, there or above
        self.gone = {i for i in everything if any(menu.heads[k] in roi["gone"] for k in menu.sources[i])}
        self.without_data = {i for i in everything if any(menu.reads[k] - roi["holds"] for k in menu.sources[i])}
        self.decide()

    def decide(self):
        needed = self.menu.needed(self.event)
        alone = len(self.event["rois"]) == 1
        for chain in self.menu.chains:
            if chain.fired(self.event) and chain.looks_at(self.roi) and (alone or not chain.combine):
                self.run(chain, chain in needed)
        self.accepted = {c.number for c in self.menu.chains
                         if c.number in self.ran and (self.passes(c) or c.pass_through)}
        self.steps |= {i for i, head in enumerate(self.menu.heads) if head in self.steps}
        self.raw = set(self.passed)
        self.raw |= {c.number for c in self.menu.chains if c.combine and c.number in self.ran and self.passes(c)}
        self.raw |= {i for i in self.prescaled if self.would_pass(self.menu.chains[i])}

    def run(self, chain, is_needed):
        taken = chain.taken(self.event)
        if (taken or is_needed) and any(step in self.without_data for step, _ in chain.steps):
            self.missing.add(chain.number)
            return
        (self.ran if taken else self.prescaled).add(chain.number)
        if (taken or is_needed) and not chain.combine and self.run_steps(chain):
            if self.roi["may_pass_short"] or self.holds_all(chain):
                self.passed.add(chain.number)

    def run_steps(self, chain):
        """Its steps in order, up to the first that fails its cuts."""
        for step, cuts in chain.steps:
            self.steps |= self.menu.sources[step] - self.gone
            if step not in self.gone:
                if not self.step_passes(chain, step, cuts):
                    return False
            elif chain.skips:
                self.skipped |= {chain.number} & self.ran
            else:
                self.fails = True
                return False
        return True

    def step_passes(self, chain, step, cuts):
        return holds(cuts, self.roi["results"][step]) or (step in self.short and not chain.cuts_truncated)

    def holds_all(self, chain):
        """Whether it passes without the help of truncation."""
        return all(step in self.gone or holds(cuts, self.roi["results"][step]) for step, cuts in chain.steps)

    def would_pass(self, chain):
        """A prescaled chain, as far as its steps ran for others."""
        return not chain.combine and all(step in self.steps and step not in self.without_data
                                         and self.step_passes(chain, step, cuts) for step, cuts in chain.steps)

    def passes(self, chain):
        if chain.combine:
            return counts_as(self.menu, self.event, [self], chain, chain.cuts_truncated)[0]
        return chain.number in self.passed

    def streams(self):
        return streams_of(self.menu, self.accepted)


def streams_of(menu, accepted):
    return {menu.streams.index(stream) for i in accepted for stream in menu.chains[i].streams}


def counts_as(menu, event, rois, chain, cuts_truncated):
    """Whether a chain can count as passed, and whether as failed: one, both or neither."""
    if not chain.fired(event):
        return False, True
    if chain.combine:
        return evaluate(chain.combine, lambda name: counts_as(menu, event, rois, menu.by_name[name], cuts_truncated))
    passed = [roi for roi in rois if chain.number in roi.passed]
    surely = sum(roi.holds_all(chain) for roi in passed)
    missing = sum(chain.number in roi.missing for roi in rois)
    return ((surely if cuts_truncated else len(passed)) >= chain.multiplicity, surely + missing < chain.multiplicity)


def evaluate(node, value):
    """An expression of pairs (can count as passed, can count as failed); Python binds not, and, or as menus do."""
    if isinstance(node, ast.Name):
        return value(node.id)
    if isinstance(node, ast.UnaryOp):
        passed, failed = evaluate(node.operand, value)
        return failed, passed
    passed, failed = zip(*(evaluate(operand, value) for operand in node.values))
    return (all(passed), any(failed)) if isinstance(node.op, ast.And) else (any(passed), all(failed))


class Event:
    """The chains of a menu on an event of several RoIs."""

    def __init__(self, menu, event):
        self.menu = menu
        self.rois = [Roi(menu, event, roi) for roi in event["rois"]]
        self.raw, self.accepted = set(), set()
        for chain in menu.chains:
            if not chain.fired(event) or not chain.taken(event):
                continue
            ran = chain.combine or any(chain.number in roi.ran for roi in self.rois)
            passes = counts_as(menu, event, self.rois, chain, bool(chain.combine) and chain.cuts_truncated)[0]
            if passes:
                self.raw.add(chain.number)
            if ran and (passes or chain.pass_through):
                self.accepted.add(chain.number)

    def streams(self):
        return streams_of(self.menu, self.accepted)
