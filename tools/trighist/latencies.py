# SPDX-License-Identifier: Apache-2.0
"""Latencies of several nodes added up: what `trigctl dump latency` writes on each (docs/operations.md).

Nodes have the same buckets, so that a sum of their counts is what one node would have counted: a quantile of the sum is as
right as one of a node, to half of a bucket, 0.8 %.  Quantiles themselves cannot be added."""
import jsonfile

FORMAT, VERSION = "trigd latency", 1
QUANTILES = (0.5, 0.9, 0.99, 0.999)
WINDOWS = ("1s", "10s", "60s")


def read(path, wrong):
    """The counts of a file: {(kind, name, window): {lower end of the bucket, ns: durations}}; and buckets a factor of two."""
    found = jsonfile.read(path, FORMAT, VERSION, wrong)
    try:
        counts = {(h["of"], h["name"], h["window"]): {int(low): int(n) for low, n in h["buckets"]} for h in found["histograms"]}
        fine = int(found["buckets_a_factor_of_two"])
    except (KeyError, TypeError, ValueError) as e:
        raise wrong(f"{path}: a histogram lacks a name or counts: {e!r}") from e
    return counts, fine


def merge(paths, wrong):
    """The sum of files; those with other buckets cannot be added."""
    whole, first = {}, None
    for path in paths:
        counts, fine = read(path, wrong)
        first = first or (path, fine)
        if fine != first[1]:
            raise wrong(f"{first[0]} and {path} cannot be added: {first[1]} and {fine} buckets a factor of two")
        for key, buckets in counts.items():
            to = whole.setdefault(key, {})
            for low, n in buckets.items():
                to[low] = to.get(low, 0) + n
    return whole, first[1]


def quantile(buckets, fine, q):
    """The duration in ns below which a part q of all lie: the middle of its bucket; None of nothing."""
    total, seen = sum(buckets.values()), 0
    for low, n in sorted(buckets.items()):
        seen += n
        if seen >= q * total:
            width = 1 if low < fine else 1 << (low.bit_length() - fine.bit_length())
            return low + width / 2
    return None


def show(paths, window, wrong):
    """A row for each node's part, stage, chain, lane and so on, in us."""
    whole, fine = merge(paths, wrong)
    print(f"{'of':8} {'name':32} {'durations':>12}" + "".join(f" {f'p{100 * q:g}_us':>10}" for q in QUANTILES))
    for (kind, name, its), buckets in sorted(whole.items()):
        if its == window and buckets:
            values = "".join(f" {quantile(buckets, fine, q) / 1e3:10.1f}" for q in QUANTILES)
            print(f"{kind:8} {name:32} {sum(buckets.values()):12}{values}")
