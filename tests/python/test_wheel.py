#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_wheel.py SOURCE BUILD: the wheel installs into a clean virtual environment, where all of the package is there."""
import glob
import os
import subprocess
import sys
import tempfile

BUILD, SOURCE = sys.argv.pop(), sys.argv.pop()
PROGRAM = """
import sys, trigd
assert trigd.__file__.startswith(sys.prefix), trigd.__file__
import trigd.control, trigd.load, trigd._shm
slow = [m for m in ("asyncio", "awkward", "pyarrow", "yaml") if m in sys.modules]
assert not slow, f"import trigd brings in {slow}"
assert trigd.RoiFile and trigd.Client.__doc__ and trigd.declared(sys.argv[1]).dtype.names
"""

with tempfile.TemporaryDirectory() as folder:
    subprocess.run([os.path.join(SOURCE, "python", "make_wheel"), os.path.join(BUILD, "python"), folder], check=True)
    wheel, = glob.glob(f"{folder}/trigd-*-py3-none-any.whl")
    # numpy and the others are the system's: nothing is fetched
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    subprocess.run([sys.executable, "-m", "venv", "--system-site-packages", "--without-pip", f"{folder}/venv"], check=True)
    python = f"{folder}/venv/bin/python"
    subprocess.run([python, "-m", "pip", "-q", "install", "--no-index", "--no-deps", "--no-build-isolation", wheel], check=True, env=environment)
    subprocess.run([python, "-c", PROGRAM, os.path.join(SOURCE, "examples", "jets", "towers.yaml")], check=True, env=environment, cwd=folder)
    subprocess.run([python, "-m", "trigd", "--help"], check=True, env=environment, cwd=folder, stdout=subprocess.DEVNULL)
    marker = subprocess.run([python, "-c", "import os, trigd; print(os.path.exists(os.path.join(os.path.dirname(trigd.__file__), 'py.typed')))"],
                            check=True, env=environment, cwd=folder, stdout=subprocess.PIPE, text=True).stdout
    assert marker.strip() == "True", marker
