# SPDX-License-Identifier: Apache-2.0
"""A voxel model: a weighted sum of stumps over integer features; the label is 1 where it is above 0.

The text form, one item a line, `#` begins a comment:

    trigd-voxel-model 1
    name mni-white
    bias -12345
    stump FEATURE AT_MOST LEFT RIGHT      LEFT where the value is <= AT_MOST, else RIGHT
    hash 0123456789abcdef                 FNV-1a of the lines above it, each with a newline

Features are integers: x, y, z (position), v (value, 0 to 255), dx, dy, dz (differences of the two
neighbours: twice the gradient, -255 to 255), s = dx^2 + dy^2 + dz^2 (four times the square of its
magnitude, 0 to 195075).  dx is left - right, dy up - down, dz behind - in front, where left, up and
behind are the neighbours with the smaller coordinate (Amoros 2010, section 3.3).  Weights and bias are
integers, 2^29 for the sum of the larger weight of each stump and the bias."""
import math
import struct

FORMAT = "trigd-voxel-model 1"
FEATURES = ("x", "y", "z", "v", "dx", "dy", "dz", "s")
SCALE = 1 << 29
S_MAX = 3 * 255 * 255
POSITION_MAX = 65535
LOWEST = {"dx": -255, "dy": -255, "dz": -255}
HIGHEST = {"v": 255, "dx": 255, "dy": 255, "dz": 255, "s": S_MAX}
# how a trainer sees the features, in this order; gradients are half of the differences
TRAINER_FEATURES = ("x", "y", "z", "v", "gx", "gy", "gz", "g")


class ModelError(Exception):
    """A model that cannot be taken, in one sentence."""


def lowest(feature):
    return LOWEST.get(feature, 0)


def highest(feature):
    return HIGHEST.get(feature, POSITION_MAX)


def fnv1a(data):
    h = 14695981039346656037
    for byte in data:
        h = (h ^ byte) * 1099511628211 % (1 << 64)
    return h


class Model:
    """name, bias, and stumps as (feature, at_most, left, right) with integers throughout."""

    def __init__(self, name, bias, stumps):
        self.name, self.bias, self.stumps = name, bias, stumps

    def lines(self):
        yield FORMAT
        yield f"name {self.name}"
        yield f"bias {self.bias}"
        for stump in self.stumps:
            yield "stump %s %d %d %d" % stump

    def text(self):
        body = "".join(line + "\n" for line in self.lines())
        return f"{body}hash {fnv1a(body.encode()):016x}\n"

    def constant(self):
        """The stumps whose vote does not depend on the voxel."""
        return [s for s in self.stumps
                if s[2] == s[3] or s[1] >= highest(s[0]) or s[1] < lowest(s[0])]

    def collapsed(self):
        """The same sum with one stump for each threshold: constants in the bias, votes of equal
        thresholds added up, and 0 on the left."""
        bias, steps = self.bias, {}
        for feature, at_most, left, right in self.stumps:
            if at_most >= highest(feature):
                bias += left
            elif at_most < lowest(feature):
                bias += right
            else:
                bias += left
                key = (FEATURES.index(feature), at_most)
                steps[key] = steps.get(key, 0) + right - left
        return Model(self.name, bias, [(FEATURES[f], t, 0, w)
                                       for (f, t), w in sorted(steps.items()) if w])

    def merged(self):
        """The same sum with one stump for each threshold and constants in the bias; no weight is larger than those
        that it is made of, so the model still fits."""
        bias, stumps, constant = self.bias, {}, self.constant()
        for stump in self.stumps:
            feature, at_most, left, right = stump
            if stump in constant:
                bias += left if at_most >= highest(feature) or left == right else right
            else:
                key = (FEATURES.index(feature), at_most)
                before = stumps.get(key, (0, 0))
                stumps[key] = before[0] + left, before[1] + right
        return Model(self.name, bias, [(FEATURES[f], t, *w) for (f, t), w in sorted(stumps.items())])

    def sum(self, voxel):
        """The sum for one voxel, its eight integer features."""
        return self.bias + sum(left if voxel[FEATURES.index(f)] <= t else right
                               for f, t, left, right in self.stumps)


def integer(word, number, what):
    try:
        return int(word)
    except ValueError:
        raise ModelError(f"line {number}: {what} is '{word}', which is not an integer") from None


def parse_stump(words, number):
    if len(words) != 5:
        raise ModelError(f"line {number}: a stump is 'stump FEATURE AT_MOST LEFT RIGHT'")
    if words[1] not in FEATURES:
        raise ModelError(f"line {number}: there is no feature '{words[1]}'; "
                         f"there are {' '.join(FEATURES)}")
    return (words[1], *(integer(w, number, what)
                        for w, what in zip(words[2:], ("a threshold", "a weight", "a weight"))))


def parse(text):
    """A model from its text form; ModelError says what is wrong and where."""
    model = Model("", 0, [])
    stated, first = None, True
    for number, line in enumerate(text.split("\n"), 1):
        words = line.split("#")[0].split()
        if not words:
            continue
        if first:
            if " ".join(words) != FORMAT:
                raise ModelError(f"line {number}: a model begins with '{FORMAT}'")
            first = False
        elif stated is not None:
            raise ModelError(f"line {number}: nothing comes after the hash")
        elif words[0] == "stump":
            model.stumps.append(parse_stump(words, number))
        elif len(words) != 2 or words[0] not in ("name", "bias", "hash"):
            raise ModelError(f"line {number}: '{words[0]}': a line is name, bias, stump or hash")
        elif words[0] == "name":
            model.name = words[1]
        elif words[0] == "bias":
            model.bias = integer(words[1], number, "the bias")
        else:
            stated = words[1]
    if first:
        raise ModelError("it is empty")
    actual = model.text().split()[-1]
    if stated != actual:
        raise ModelError(f"the hash is {actual}, and the file says {stated or 'none'}")
    return model


# ---------------------------------------------------------------- as a condition


TABLE = "voxel_models"
TABLE_HASH = 0xb31d077af9d5bcc6  # of its declaration, collections/voxel_models.yaml
COLUMNS = (("model", "B"), ("feature", "B"), ("at_most", "i"), ("left", "i"), ("right", "i"))


def rows_of(number, m):
    """The stumps of model `number`, merged; the bias is a constant stump."""
    c = m.merged()
    if not c.stumps and not c.bias:
        raise ModelError(f"the model {m.name} has no stump that is not 0")
    return [(number, FEATURES.index("v"), HIGHEST["v"], c.bias, c.bias),
            *((number, FEATURES.index(f), at_most, left, right) for f, at_most, left, right in c.stumps)]


def conditions_key(rows):
    """The key that decisions carry where a menu needs no other conditions (docs/conditions.md)."""
    data = struct.pack("<QI", TABLE_HASH, len(rows))
    for (_, kind), column in zip(COLUMNS, zip(*rows)):
        data += struct.pack(f"<{len(rows)}{kind}", *column)
    return fnv1a(b"%s %016x\n" % (TABLE.encode(), fnv1a(data)))


def conditions(models):
    """A file of conditions with the stumps of models 0, 1, ..."""
    rows = [row for number, m in enumerate(models) for row in rows_of(number, m)]
    lines = ["# SPDX-License-Identifier: Apache-2.0", "# Made by trigmodel conditions.",
             f"#   conditions_key of decisions, without other conditions: {conditions_key(rows):016x}"]
    lines += [f"#   model {number}: {m.name}, hash {m.text().split()[-1]}" for number, m in enumerate(models)]
    lines += ["conditions:", f"  {TABLE}:"]
    for (name, _), column in zip(COLUMNS, zip(*rows)):
        lines.append(f"    {name}: [{', '.join(map(str, column))}]")
    return "\n".join(lines) + "\n"


def parse_conditions(text):
    """The rows of a file that `trigmodel conditions`, `trigctl dump conditions` or a daemon wrote."""
    found, inside = {}, False
    for line in text.split("\n"):
        name, colon, values = line.strip().partition(":")
        if colon and not values.strip():
            inside = name == TABLE
        elif inside and colon:
            try:
                found[name] = [int(word) for word in values.strip().strip("[]").split(",")]
            except ValueError:
                raise ModelError(f"{TABLE}.{name} is no list of whole numbers") from None
    if sorted(found) != sorted(name for name, _ in COLUMNS) or len({len(column) for column in found.values()}) != 1:
        raise ModelError(f"it has no conditions {TABLE} with columns of one length: {' '.join(name for name, _ in COLUMNS)}")
    rows = list(zip(*(found[name] for name, _ in COLUMNS)))
    try:
        conditions_key(rows)
    except struct.error:
        raise ModelError(f"{TABLE} has a number that its column does not hold") from None
    return rows


# ---------------------------------------------------------------- from a trainer's floats


def float32(x):
    return struct.unpack("<f", struct.pack("<f", x))[0]


def as_trained(feature, value, single):
    """The feature as the trainer's float: gradients are half of the differences."""
    if feature == "s":
        value = math.sqrt(value) / 2
    elif feature in LOWEST:
        value = value / 2
    return float32(value) if single else float(value)


def at_most(feature, threshold, single, strict):
    """The largest integer value that goes left: value <= threshold, or < where `strict`.  Tried in
    the trainer's own arithmetic, so that nothing depends on how a square root is rounded."""
    low, high = lowest(feature) - 1, highest(feature)
    while low < high:
        middle = (low + high + 1) // 2
        value = as_trained(feature, middle, single)
        if value < threshold or (not strict and value == threshold):
            low = middle
        else:
            high = middle - 1
    return low


def from_floats(name, bias, stumps, single, strict, sign):
    """A model from a trainer's stumps (number of the feature, threshold, left, right)."""
    total = abs(bias) + sum(max(abs(left), abs(right)) for _, _, left, right in stumps)
    if not math.isfinite(total) or total <= 0:
        raise ModelError("its weights add up to nothing")
    fixed, model = SCALE / total, Model(name, 0, [])
    model.bias = round(bias * fixed)
    for number, threshold, left, right in stumps:
        left, right = round(left * fixed), round(right * fixed)
        if not 0 <= number < len(FEATURES):
            raise ModelError(f"it uses feature {number}; there are 0 to {len(FEATURES) - 1}: "
                             f"{' '.join(TRAINER_FEATURES)}")
        feature = FEATURES[number]
        if feature in LOWEST and sign == "usual":
            # -d <= T: what goes left for the trainer goes right here
            reach = at_most(feature, threshold, single, strict)
            model.stumps.append((feature, -reach - 1, right, left))
        else:
            model.stumps.append((feature, at_most(feature, threshold, single, strict), left, right))
    return model
