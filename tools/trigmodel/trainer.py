# SPDX-License-Identifier: Apache-2.0
"""Discrete AdaBoost of stumps (Freund and Schapire 1997; Friedman, Hastie and Tibshirani 2000) on
histograms: every feature is an integer, so the weights of a feature's values hold all that a stump needs
to know, and thresholds are exact."""
import math

from model import FEATURES, ModelError, SCALE, Model


def compact(columns):
    """For each feature its distinct values, sorted, and the place of each row's value among them."""
    values = [sorted(set(column)) for column in columns]
    return values, [[place[v] for v in column] for column, place in
                    zip(columns, ({v: i for i, v in enumerate(vs)} for vs in values))]


def best_split(hist, sums):
    """(error, place, left, right) of the best stump of one feature: `hist` holds the weight of each value
    with the sign of its class, `sums` the same without.  Each side votes for its heavier class."""
    total = math.fsum(hist)
    weight = math.fsum(sums)
    best, left = (weight, 0, 1, 1), 0.0
    for place, h in enumerate(hist[:-1]):
        left += h
        # a side whose signed weight is h is wrong by (its weight - abs(h)) / 2
        error = (weight - abs(left) - abs(total - left)) / 2
        if error < best[0]:
            best = error, place, 1 if left > 0 else -1, 1 if total - left > 0 else -1
    return best


def best_stump(places, sizes, signed, weights):
    found = None
    for feature, column in enumerate(places):
        hist, sums = [0.0] * sizes[feature], [math.fsum(weights)]
        for place, weight in zip(column, signed):
            hist[place] += weight
        split = best_split(hist, sums)
        if found is None or split[0] < found[1][0]:
            found = feature, split
    return found


def train(rows, labels, rounds, name):
    """A model from rows of eight integer features and labels 0 or 1."""
    if len(set(labels)) != 2:
        raise ModelError("training needs voxels of both labels")
    values, places = compact(list(zip(*rows)))
    sizes = [len(v) for v in values]
    sign = [1 if label else -1 for label in labels]
    weights = [1 / len(rows)] * len(rows)
    stumps = []
    for _ in range(rounds):
        signed = [w * s for w, s in zip(weights, sign)]
        feature, (error, place, left, right) = best_stump(places, sizes, signed, weights)
        if error >= 0.5 - 1e-12:
            break  # no stump is better than a guess
        alpha = 0.5 * math.log((1 - error) / max(error, 1e-12))
        stumps.append((feature, values[feature][place], left * alpha, right * alpha))
        if error <= 1e-12:
            break
        right_by, wrong_by = 0.5 / (1 - error), 0.5 / error
        weights = [w * (right_by if (left if p <= place else right) == s else wrong_by)
                   for w, s, p in zip(weights, sign, places[feature])]
    total = math.fsum(abs(stump[3]) for stump in stumps)
    fixed = SCALE / total if stumps else 0
    return Model(name, 0, [(FEATURES[f], t, round(l * fixed), round(r * fixed))
                           for f, t, l, r in stumps])
