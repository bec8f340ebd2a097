# SPDX-License-Identifier: Apache-2.0
"""Decisions as columns of a table, and back.

Numbers of the message Decision by name, `unix_s`, and `reason` where one is given; `chain_raw.NAME`, `chain.NAME`,
`stream.NAME` and `ran.STEP`, true or false; `STEP.VALUE`, not a number where the step did not run.  `unfinished.CHAIN`,
`skipped.STEP` and `missing.COLLECTION.CHAIN` are there where one is true, `has.decision` where an RoI has none."""
import numpy
from trigd import trigd_pb2 as pb

NUMBERS = {"accept": bool, "status": numpy.uint8, "late": bool, "repeated": bool, "latency_us": numpy.uint32, "lane_us": numpy.uint32,
           "wanted": numpy.uint32, "kept": numpy.uint32, "menu_generation": numpy.uint32, "menu_key": numpy.uint64,
           "prescale_key": numpy.uint64, "conditions_key": numpy.uint64}
LISTS = {"chains_raw": ("chain_raw", "chains"), "chains": ("chain", "chains"), "streams": ("stream", "streams"),
         "unfinished": ("unfinished", "chains"), "skipped": ("skipped", "steps")}  # prefix, names in the header
SELDOM = ("unfinished", "skipped")


def names_of(header, what):
    return [s.name for s in header.steps] if what == "steps" else list(getattr(header, what))


def is_known(numbers, n, what):
    if any(k >= n for k in numbers):
        raise ValueError(f"a decision has the number {max(numbers)} in {what}; the header names {n}")
    return numbers


def list_columns(decisions, field, header):
    """A column of true and false for each name."""
    prefix, what = LISTS[field]
    names = names_of(header, what)
    there = numpy.zeros((len(names), len(decisions)), bool)
    for i, d in enumerate(decisions):
        there[is_known(list(getattr(d, field)), len(names), field), i] = True
    return {f"{prefix}.{name}": there[k] for k, name in enumerate(names) if field not in SELDOM or there[k].any()}


def result_columns(decisions, header):
    names = names_of(header, "steps")
    ran = numpy.zeros((len(names), len(decisions)), bool)
    values = [numpy.full((len(s.values), len(decisions)), numpy.nan, numpy.float32) for s in header.steps]
    for i, d in enumerate(decisions):
        is_known([r.step for r in d.results], len(names), "results")
        for r in d.results:
            if len(r.values) != len(values[r.step]):
                raise ValueError(f"{names[r.step]} has {len(r.values)} values; the header names {len(values[r.step])}")
            ran[r.step, i] = True
            values[r.step][:, i] = r.values
    columns = {f"ran.{name}": ran[k] for k, name in enumerate(names)}
    columns.update({f"{s.name}.{v}": values[k][n] for k, s in enumerate(header.steps) for n, v in enumerate(s.values)})
    return columns


def missing_columns(decisions, header):
    columns = {}
    for i, d in enumerate(decisions):
        for m in d.missing:
            for chain in is_known(list(m.chains), len(header.chains), "missing"):
                name = f"missing.{m.collection}.{header.chains[chain]}"
                columns.setdefault(name, numpy.zeros(len(decisions), bool))[i] = True
    return columns


def columns_of(rois, header):
    """The columns of the RoIs' decisions; none where no RoI has one."""
    has = numpy.array([r.decision is not None for r in rois], bool)
    if not has.any():
        return {}
    none = pb.Decision()
    decisions = [r.decision or none for r in rois]
    columns = {} if has.all() else {"has.decision": has}
    columns.update({n: numpy.array([getattr(d, n) for d in decisions], kind) for n, kind in NUMBERS.items()})
    columns["unix_s"] = numpy.array([r.unix_s for r in rois], numpy.uint64)
    for field in LISTS:
        columns.update(list_columns(decisions, field, header))
    columns.update(result_columns(decisions, header))
    columns.update(missing_columns(decisions, header))
    if any(r.reason for r in rois):
        columns["reason"] = [r.reason for r in rois]
    return columns


class Reader:
    """Gives RoIs the decisions of a table."""

    def __init__(self, columns, header):
        self.header = header
        self.is_there = set(NUMBERS) <= set(columns)
        if not self.is_there:
            return
        there = {name: numpy.asarray(columns[name]) for name in NUMBERS}
        self.numbers = {name: values.tolist() for name, values in there.items()}
        self.has = numpy.asarray(columns["has.decision"]) if "has.decision" in columns else numpy.ones(len(there["accept"]), bool)
        self.unix_s = numpy.asarray(columns["unix_s"]).tolist() if "unix_s" in columns else [0] * len(self.has)
        self.reason = columns.get("reason")
        self.lists = {field: self.flags(columns, [f"{prefix}.{n}" for n in names_of(header, what)])
                      for field, (prefix, what) in LISTS.items()}
        self.ran = self.flags(columns, [f"ran.{s.name}" for s in header.steps])
        self.values = [numpy.stack([numpy.asarray(columns[f"{s.name}.{v}"], numpy.float32) for v in s.values], axis=1)
                       if s.values and f"ran.{s.name}" in columns else None for s in header.steps]
        self.missing = [(c, n, numpy.asarray(columns[f"missing.{c}.{chain}"])) for c in self.collections(columns)
                        for n, chain in enumerate(header.chains) if f"missing.{c}.{chain}" in columns]

    @staticmethod
    def collections(columns):
        return dict.fromkeys(name.split(".")[1] for name in columns if name.startswith("missing."))

    def flags(self, columns, names):
        """Columns of true and false, side by side; all false where a column is not there."""
        none = numpy.zeros(len(self.has), bool)
        return numpy.stack([numpy.asarray(columns.get(name, none), bool) for name in names] or [none], axis=1)

    def give(self, i, roi):
        """RoI i of the table its decision, if it has one."""
        if not self.is_there or not self.has[i]:
            return
        d = roi.decision = pb.Decision(run=roi.run, l1id=roi.l1id, roi_id=roi.roi_id,
                                       **{name: values[i] for name, values in self.numbers.items()})
        for field, flags in self.lists.items():
            getattr(d, field).extend(numpy.flatnonzero(flags[i]).tolist())
        for step in numpy.flatnonzero(self.ran[i]).tolist():
            values = self.values[step]
            d.results.add(step=step, values=[] if values is None else values[i].tolist())
        of = {}
        for collection, chain, there in self.missing:
            if there[i]:
                of.setdefault(collection, []).append(chain)
        for collection, chains in of.items():
            d.missing.add(collection=collection, chains=chains)
        roi.unix_s = self.unix_s[i]
        if self.reason is not None:
            text = self.reason[i]
            roi.reason = text if isinstance(text, str) else bytes(text.to_list()).decode()  # ROOT holds bytes
