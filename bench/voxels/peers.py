# SPDX-License-Identifier: Apache-2.0
"""peers.py: models of other trainers on a volume with truth; their labels and speed beside ours.

    train TISSUE T1 TRUTH FOLDER     AdaBoost of scikit-learn as the committed models were made, XGBoost and
                                     LightGBM of as many stumps beside it
    labels FOLDER T1 TRUTH           all labels of trigvoxels against each trainer's own, Dice on the right
    speed FOLDER T1                  rows per second of each on one core, and of trigvoxels' core
    golden FOLDER                    tests/voxels/golden anew

The left half, x < 98, is for training and for the choice of the recipe, the right half is the judge."""
import gzip
import json
import os
import pickle
import subprocess
import sys
import time

import lightgbm
import numpy as np
import treelite
import xgboost
from sklearn.ensemble import AdaBoostClassifier
from sklearn.tree import DecisionTreeClassifier

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")
TRIGMODEL = os.path.join(ROOT, "tools", "trigmodel", "trigmodel")
MIDDLE, STUMPS, SEED = 98, 240, 14
# voxels drawn, and from which value on: of four recipes the one with the best Dice on the left half
RECIPES = {"white": (60000, 1), "grey": (200000, 0)}
ROWS = 200000  # for speed


def volume(path):
    with gzip.open(path) as f:
        data = f.read()
    n = np.frombuffer(data, "<i2", 3, 42)
    offset = int(np.frombuffer(data, "<f4", 1, 108)[0])
    return np.frombuffer(data, np.uint8, int(n.prod(dtype=np.int64)), offset).reshape(n[::-1])


def features(v, kind=np.float32):
    """x y z v gx gy gz g, gradients with the sign of the thesis, as floats."""
    p = np.pad(v.astype(np.int32), 1, mode="edge")
    d = [p[1:-1, 1:-1, :-2] - p[1:-1, 1:-1, 2:], p[1:-1, :-2, 1:-1] - p[1:-1, 2:, 1:-1],
         p[:-2, 1:-1, 1:-1] - p[2:, 1:-1, 1:-1]]
    z, y, x = np.indices(v.shape, dtype=np.int32)
    g = np.sqrt(sum(a * a for a in d).astype(np.float64)) / 2
    return np.stack([x, y, z, v, *(a / 2 for a in d), g], -1).reshape(-1, 8).astype(kind)


def dice(labels, truth):
    return 2 * np.sum(labels & truth) / (np.sum(labels) + np.sum(truth))


def to_ours(trainer, source, name, out):
    subprocess.run([sys.executable, TRIGMODEL, f"from-{trainer}", source, "--name", name, "--sign", "thesis",
                    "-o", out], check=True)


def train(tissue, t1, truth, folder):
    v, t = volume(t1), volume(truth).ravel() >= 128
    rows = features(v)
    n, value_from = RECIPES[tissue]
    allowed = np.flatnonzero((rows[:, 0] < MIDDLE) & (rows[:, 3] >= value_from))
    chosen = np.random.default_rng(SEED).choice(allowed, n, replace=False)
    x, y = rows[chosen], t[chosen].astype(int)
    ada = AdaBoostClassifier(DecisionTreeClassifier(max_depth=1), n_estimators=STUMPS, random_state=SEED).fit(x, y)
    with open(os.path.join(folder, "sklearn.pkl"), "wb") as f:
        pickle.dump(ada, f)
    xgboost.XGBClassifier(n_estimators=STUMPS, max_depth=1, learning_rate=0.3, n_jobs=1).fit(x, y).save_model(
        os.path.join(folder, "xgboost.json"))
    lightgbm.LGBMClassifier(n_estimators=STUMPS, num_leaves=2, verbose=-1, n_jobs=1).fit(
        features(v, np.float64)[chosen], y).booster_.save_model(os.path.join(folder, "lightgbm.txt"))
    for trainer, name in (("sklearn", "sklearn.pkl"), ("xgboost", "xgboost.json"), ("lightgbm", "lightgbm.txt")):
        to_ours(trainer, os.path.join(folder, name), f"mni-{tissue}", os.path.join(folder, trainer + ".model"))


def predictors(folder):
    """For each trainer: the kind of floats, and labels of rows on one core."""
    with open(os.path.join(folder, "sklearn.pkl"), "rb") as f:
        ada = pickle.load(f)
    xgb = xgboost.Booster({"nthread": 1}, model_file=os.path.join(folder, "xgboost.json"))
    lgb = lightgbm.Booster(model_file=os.path.join(folder, "lightgbm.txt"))
    return {"sklearn": (np.float32, lambda x: ada.predict(x) > 0),
            "xgboost": (np.float32, lambda x: xgb.inplace_predict(x) > 0.5),
            "lightgbm": (np.float64, lambda x: lgb.predict(x, num_threads=1) > 0.5)}


def ours(folder, trainer, t1, shape):
    out = os.path.join(folder, trainer + ".bits")
    build = os.environ.get("TRIGD_BUILD", os.path.join(ROOT, "build", "release"))
    subprocess.run([os.path.join(build, "bin", "trigvoxels"), os.path.join(folder, trainer + ".model"), t1, out],
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    bits = np.fromfile(out, np.uint8).reshape(shape[0], shape[1], -1)
    return np.unpackbits(bits, axis=2, bitorder="little")[:, :, :shape[2]].ravel().astype(bool)


def line(bench, figure, value, unit, device, **more):
    """A line as the benches write it, if TRIGD_JSON names a file."""
    print(f"{figure:70s} {value:.6g} {unit}", flush=True)
    if "TRIGD_JSON" in os.environ:
        with open(os.environ["TRIGD_JSON"], "a", encoding="utf-8") as f:
            f.write(json.dumps({"bench": bench, "figure": figure, "value": value, "unit": unit, "better": "higher",
                                "runs": 1, "spread": 0, **more, "machine": os.environ.get("TRIGD_MACHINE", ""),
                                "device": device, "commit": os.environ.get("TRIGD_COMMIT", ""),
                                "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
                                "command": "bench/voxels/peers"}) + "\n")


def labels(folder, t1, truth):
    v, t = volume(t1), volume(truth).ravel() >= 128
    right = np.arange(v.size) % v.shape[2] >= MIDDLE
    name = os.path.basename(os.path.normpath(folder))
    for trainer, (kind, predict) in predictors(folder).items():
        rows, mine = features(v, kind), ours(folder, trainer, t1, v.shape)
        theirs = np.concatenate([predict(rows[i:i + 500000]) for i in range(0, len(rows), 500000)])
        line("physics-voxels", f"MNI {name}, {trainer}: labels that differ, of {v.size}", int(np.sum(mine != theirs)),
             "voxels", "cpu", better="lower")
        line("physics-voxels", f"MNI {name}, {trainer}: Dice on the half not trained on", dice(mine[right], t[right]),
             "", "cpu")


def speed(folder, t1):
    v = volume(t1)
    chosen = np.random.default_rng(SEED).choice(v.size, ROWS, replace=False)
    rates = {}
    for trainer, (kind, predict) in predictors(folder).items():
        x = features(v, kind)[chosen]
        took = []
        for _ in range(3):
            begin = time.thread_time()
            predict(x)
            took.append(time.thread_time() - begin)
        rates[trainer] = ROWS / sorted(took)[1]
    build = os.environ.get("TRIGD_BUILD", os.path.join(ROOT, "build", "release"))
    out = os.path.join(folder, "speed.jsonl")
    if os.path.exists(out):
        os.remove(out)
    subprocess.run([os.path.join(build, "bench", "bench_voxels"), "--device", "cpu", "--only", "labels as bits, one core",
                    "--model", os.path.join(folder, "sklearn.model"), "--volume", t1, "--json", out], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ, "TRIGD_BUILD": build})
    with open(out, encoding="utf-8") as f:
        mine = json.loads(f.readline())["value"] * 1e9
    line("voxels-peers", "240 stumps, MNI head, one core: trigd, gradients included", mine / 1e6, "Mvoxel/s", "cpu")
    for trainer, rate in rates.items():
        line("voxels-peers", f"240 stumps, MNI head, one core: {trainer}, on ready rows of features", rate / 1e6,
             "Mvoxel/s", "cpu")
        line("voxels-peers", f"240 stumps, MNI head, one core: trigd over {trainer}", mine / rate, "x", "cpu", goal=100)


def golden(folder):
    """Small models and 600 rows with the trainers' labels; the usual sign."""
    rng = np.random.default_rng(5)
    value = rng.integers(0, 256, 5000)
    d = rng.integers(-60, 61, (5000, 3))
    rows = np.concatenate([rng.integers(0, 190, (5000, 3)), value[:, None], d], 1)
    s = np.sum(d * d, 1)
    truth = ((rows[:, 3] > 120) & (s < 3000) & (rows[:, 4] + rows[:, 0] // 4 > 0)).astype(int)
    x = np.concatenate([rows[:, :4], -d / 2, np.sqrt(s)[:, None] / 2], 1)
    x32 = x.astype(np.float32)
    train_on, shown = slice(0, 4400), slice(4400, 5000)
    xgb = xgboost.XGBClassifier(n_estimators=12, max_depth=1, learning_rate=0.8, n_jobs=1)
    deep = xgboost.XGBClassifier(n_estimators=1, max_depth=2, n_jobs=1)
    for name, m in (("xgboost", xgb), ("deep", deep)):
        m.fit(x32[train_on], truth[train_on]).save_model(os.path.join(folder, name + ".json"))
        treelite.frontend.from_xgboost(m.get_booster()).serialize(os.path.join(folder, name + ".tl"))
    lgb = lightgbm.LGBMClassifier(n_estimators=12, num_leaves=2, learning_rate=0.8, verbose=-1, n_jobs=1)
    booster = lgb.fit(x[train_on], truth[train_on]).booster_
    treelite.frontend.from_lightgbm(booster).serialize(os.path.join(folder, "lightgbm.tl"))
    with open(os.path.join(folder, "lightgbm.txt"), "w", encoding="utf-8") as f:
        text = booster.model_to_string().split("\nparameters:")[0]
        f.write("\n".join(one.rstrip() for one in text.split("\n")).rstrip() + "\n")
    ada = AdaBoostClassifier(DecisionTreeClassifier(max_depth=1), n_estimators=25, random_state=1)
    ada.fit(x32[train_on], truth[train_on])
    trees = [e.tree_ for e in ada.estimators_]
    predictions = {
        "rows": np.concatenate([rows, s[:, None]], 1)[shown].tolist(),
        "xgboost": (xgb.get_booster().inplace_predict(x32[shown]) > 0.5).astype(int).tolist(),
        "lightgbm": (booster.predict(x[shown]) > 0.5).astype(int).tolist(),
        "sklearn": ada.predict(x32[shown]).tolist(),
        "sklearn_weights": ada.estimator_weights_.tolist(),
        "sklearn_trees": [[int(t.feature[0]), float(t.threshold[0]), t.value[:, 0, :].tolist(),
                           t.children_left.tolist(), t.children_right.tolist()] for t in trees]}
    for name, what in (("predictions", predictions), ("xgboost", None), ("deep", None)):
        path = os.path.join(folder, name + ".json")
        if what is None:
            with open(path, encoding="utf-8") as f:
                what = json.load(f)
        with open(path, "w", encoding="utf-8") as f:
            f.write(json.dumps(what, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    commands = {f.__name__: f for f in (train, labels, speed, golden)}
    if len(sys.argv) < 3 or sys.argv[1] not in commands:
        sys.exit(__doc__)
    commands[sys.argv[1]](*sys.argv[2:])
