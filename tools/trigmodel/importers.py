# SPDX-License-Identifier: Apache-2.0
"""Models of other trainers: sets of trees with one split each, over the features
x y z v gx gy gz g in this order."""
import json
import math
import struct

from model import ModelError, float32, from_floats

DEEPER = "tree {} has {} splits: only trees of one split (depth 1) are taken, because deeper ones do " \
         "not collapse to step functions"


def one_split(tree, splits):
    if splits > 1:
        raise ModelError(DEEPER.format(tree, splits))


# ---------------------------------------------------------------- scikit-learn


def from_sklearn(classifier, name, sign):
    """An AdaBoostClassifier of DecisionTreeClassifiers of depth 1, with two classes."""
    if type(classifier).__name__ != "AdaBoostClassifier":
        raise ModelError(f"it is a {type(classifier).__name__}, not an AdaBoostClassifier")
    if len(classifier.classes_) != 2:
        raise ModelError(f"it has {len(classifier.classes_)} classes; there must be two")
    bias, stumps = 0.0, []
    for i, (estimator, weight) in enumerate(zip(classifier.estimators_,
                                                classifier.estimator_weights_)):
        tree = estimator.tree_
        one_split(i, (tree.node_count - 1) // 2)
        votes = [float(weight) if counts[0][1] > counts[0][0] else -float(weight)
                 for counts in tree.value]
        if tree.node_count == 1:
            bias += votes[0]
        else:
            stumps.append((int(tree.feature[0]), float(tree.threshold[0]),
                           votes[tree.children_left[0]], votes[tree.children_right[0]]))
    return from_floats(name, bias, stumps, single=True, strict=False, sign=sign)


# ---------------------------------------------------------------- XGBoost


def from_xgboost(text, name, sign):
    """save_model("x.json") of a binary classifier: left is value < threshold, in single precision."""
    try:
        learner = json.loads(text)["learner"]
        parameters, booster = learner["learner_model_param"], learner["gradient_booster"]
        trees, objective = booster["model"]["trees"], learner["objective"]["name"]
    except (ValueError, KeyError, TypeError):
        raise ModelError("it is not a model that XGBoost saved as JSON") from None
    if objective not in ("binary:logistic", "binary:logitraw"):
        raise ModelError(f"its objective is {objective}; binary:logistic and binary:logitraw are taken")
    base = float(str(parameters["base_score"]).strip("[]"))
    bias = math.log(base / (1 - base)) if objective == "binary:logistic" else base
    stumps = []
    for i, tree in enumerate(trees):
        one_split(i, sum(1 for child in tree["left_children"] if child >= 0))
        votes = [float32(v) for v in tree["split_conditions"]]  # written as the shortest decimal
        if tree["left_children"][0] < 0:
            bias += votes[0]
        else:
            stumps.append((tree["split_indices"][0], votes[0], votes[tree["left_children"][0]],
                           votes[tree["right_children"][0]]))
    return from_floats(name, bias, stumps, single=True, strict=True, sign=sign)


# ---------------------------------------------------------------- LightGBM


def lightgbm_tree(block, number):
    values = dict(line.split("=", 1) for line in block.split("\n") if "=" in line)
    leaves = int(values["num_leaves"])
    one_split(number, leaves - 1)
    votes = [float(v) for v in values["leaf_value"].split()]
    if leaves == 1:
        return None, votes[0]
    kind = int(values["decision_type"].split()[0])
    if kind & 1:
        raise ModelError(f"tree {number} splits on categories; only thresholds are taken")
    if kind >> 2 == 1:
        raise ModelError(f"tree {number} takes zero for a missing value, which no voxel is")
    return (int(values["split_feature"].split()[0]), float(values["threshold"].split()[0]),
            votes[0], votes[1]), 0.0


def from_lightgbm(text, name, sign):
    """save_model("x.txt") of a binary classifier: left is value <= threshold, in double precision."""
    head, *blocks = text.split("\nTree=")
    if not head.startswith("tree\n"):
        raise ModelError("it is not a model that LightGBM saved as text")
    if "\nobjective=binary" not in head:
        raise ModelError("its objective is not binary")
    bias, stumps = 0.0, []
    for i, block in enumerate(blocks):
        try:
            stump, constant = lightgbm_tree(block.split("\n\n")[0], i)
        except (KeyError, IndexError, ValueError):
            raise ModelError(f"tree {i} cannot be read") from None
        bias += constant
        if stump:
            stumps.append(stump)
    return from_floats(name, bias, stumps, single=False, strict=False, sign=sign)


# ---------------------------------------------------------------- the thesis's layout


def from_thesis(text, name, sign):
    """Amoros (2010), section 3.1: three rows of 8 M numbers (alpha, threshold, polarity); column i
    belongs to feature i mod 8, alpha 0 means an unused place.  A stump votes alpha where
    polarity * value < polarity * threshold, else -alpha."""
    try:
        rows = [[float(word) for word in line.replace(",", " ").split()]
                for line in text.split("\n") if line.split("#")[0].strip()]
    except ValueError as error:
        raise ModelError(f"three rows of numbers are allowed: {error}") from None
    if len(rows) != 3 or len({len(row) for row in rows}) != 1 or not rows[0] or len(rows[0]) % 8:
        raise ModelError(f"it has rows of {[len(row) for row in rows]} numbers; three of 8 M each are "
                         "allowed: alpha, threshold, polarity")
    stumps = []
    for i, (alpha, threshold, polarity) in enumerate(zip(*rows)):
        if not alpha:
            continue
        if polarity not in (1.0, -1.0):
            raise ModelError(f"column {i} has polarity {polarity:g}; 1 and -1 are allowed")
        # -x < -T is x > T: what is at most T goes the other way
        if polarity > 0:
            stumps.append((i % 8, threshold, alpha, -alpha))
        else:
            stumps.append((i % 8, math.nextafter(threshold, math.inf), -alpha, alpha))
    return from_floats(name, 0.0, stumps, single=True, strict=True, sign=sign)


# ---------------------------------------------------------------- Treelite


class Reader:
    """Scalars and arrays of a checkpoint, little-endian; an array begins with its length."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def scalar(self, kind):
        try:
            (value,) = struct.unpack_from("<" + kind, self.data, self.at)
        except struct.error:
            raise ModelError("it ends in the middle") from None
        self.at += struct.calcsize("<" + kind)
        return value

    def array(self, kind):
        n, size = self.scalar("Q"), struct.calcsize("<" + kind)
        if n > (len(self.data) - self.at) // size:
            raise ModelError("it ends in the middle")
        values = struct.unpack_from(f"<{n}{kind}", self.data, self.at)
        self.at += n * size
        return values

    def no_extension(self):
        if self.scalar("i"):
            raise ModelError("it has optional fields, which this reader does not know")


def treelite_tree(data, real, number):
    """(stump or None, constant) of a tree."""
    data.scalar("i")
    if data.scalar("?"):
        raise ModelError(f"tree {number} splits on categories; only thresholds are taken")
    data.array("b")  # node_type
    left, right, split = data.array("i"), data.array("i"), data.array("i")
    data.array("?")  # default_left
    leaf, threshold, compare = data.array(real), data.array(real), data.array("b")
    for kind in "?" + real + "QQIQQQ?d?d?":  # categories, leaf vectors, statistics
        data.array(kind)
    data.no_extension()
    data.no_extension()
    one_split(number, sum(1 for child in left if child >= 0))
    if left[0] < 0:
        return None, leaf[0]
    votes = leaf[left[0]], leaf[right[0]]
    operators = {2: (True, votes), 3: (False, votes), 4: (False, votes[::-1]), 5: (True, votes[::-1])}
    if compare[0] not in operators:
        raise ModelError(f"tree {number} compares in a way that is not a threshold")
    strict, votes = operators[compare[0]]
    return (split[0], threshold[0], *votes, strict), 0.0


def treelite_header(data):
    """Kind of its floats, number of trees, bias."""
    if data.scalar("i") != 4:
        raise ModelError("it is not a Treelite checkpoint of version 4")
    data.at += 8
    real = {2: "f", 3: "d"}.get(data.scalar("B"))
    if not real or data.scalar("B") != {"f": 2, "d": 3}[real]:
        raise ModelError("its thresholds and leaves are not of one type of floats")
    n_trees = data.scalar("Q")
    data.scalar("i")
    task, is_mean = data.scalar("B"), data.scalar("?")
    n_targets, classes, shape = data.scalar("i"), data.array("i"), data.array("i")
    if task != 0 or is_mean or n_targets != 1 or classes != (1,) or shape != (1, 1):
        raise ModelError("it is not a binary classifier that adds up one value a tree")
    for kind in "iib":  # targets and classes of trees, name of the transformation
        data.array(kind)
    data.at += 8  # its parameters
    scores = data.array("d")
    data.array("b")  # attributes
    data.no_extension()
    return real, n_trees, scores[0]


def from_treelite(checkpoint, name, sign):
    """Model.serialize("x.tl"): single or double precision as the model's thresholds are."""
    data = Reader(checkpoint)
    real, n_trees, bias = treelite_header(data)
    stumps, ways = [], set()
    for i in range(n_trees):
        stump, constant = treelite_tree(data, real, i)
        bias += constant
        if stump:
            ways.add(stump[4])
            stumps.append(stump[:4])
    if len(ways) > 1:
        raise ModelError("some of its trees compare with <, some with <=; one way is allowed")
    return from_floats(name, bias, stumps, single=real == "f", strict=True in ways, sign=sign)
