#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""trigctl check-plugin on voxels: random columns are no bricks, so its RoIs come from a file."""

import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

BIN = Path(os.environ["TRIGD_BUILD"], "bin")
PLUGIN = Path(os.environ["TRIGD_BUILD"], "plugins", "voxels.so")
SIZE = (20, 21, 17)


def conditions(path: Path, seed: int) -> None:
    """Models at both limits of the parameter, of any stumps."""
    rng = random.Random(seed)
    rows = [[model, rng.randrange(8), rng.randrange(1, 200), rng.randrange(-1000, 0), rng.randrange(1000)]
            for model in (0, 255) for _ in range(30)]
    columns = zip(("model", "feature", "at_most", "left", "right"), zip(*rows))
    lines = [f"    {title}: {list(values)}" for title, values in columns]
    path.write_text("\n".join(["conditions:", "  voxel_models:", *lines, ""]))


def bricks(folder: Path, seed: int) -> Path:
    """As small as the least of max_edge, which is tried as well."""
    rng, (x, y, z) = random.Random(seed), SIZE
    volume, out = folder / "volume.raw", folder / "bricks.roi"
    volume.write_bytes(rng.randbytes(x * y * z))
    subprocess.run([BIN / "trigreplay", "import", "raw", volume, "--size", f"{x},{y},{z}", "--edge", "8",
                    "--out", out], check=True, stdout=subprocess.DEVNULL)
    return out


def check(*arguments: object) -> subprocess.CompletedProcess:
    return subprocess.run([BIN / "trigctl", "check-plugin", PLUGIN, *map(str, arguments)], capture_output=True,
                          text=True, check=False)


def expect(what: bool, answer: subprocess.CompletedProcess) -> None:
    if not what:
        sys.exit(f"{answer.args}\n{answer.stdout}{answer.stderr}")


def main() -> None:
    seed = random.SystemRandom().randrange(1 << 32)
    print("seed", seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        models = folder / "models.yaml"
        conditions(models, seed)
        given = ("--conditions", models)
        good = check(*given, "--file", bricks(folder, seed))
        expect(good.returncode == 0 and "PASS  cpu:0     the largest RoI of the file" in good.stdout, good)
        made_up = check(*given, "--backend", "cpu")
        expect(made_up.returncode == 1 and "status FAILED for an RoI that is allowed" in made_up.stdout, made_up)
        none = check(*given, "--file", folder / "none.roi")
        expect(none.returncode == 2 and "none.roi: No such file or directory" in none.stderr, none)
        other = folder / "other.roi"
        subprocess.run([BIN / "trigreplay", "generate", "--rois", "3", "--out", other], check=True,
                       stdout=subprocess.DEVNULL)
        wrong = check(*given, "--file", other)
        expect(wrong.returncode == 2 and "no RoI has what the plugin consumes" in wrong.stderr, wrong)
        worst = check(*given, "--file", other, "--worst")
        expect(worst.returncode == 2 and "--worst makes its RoIs by itself" in worst.stderr, worst)


main()
