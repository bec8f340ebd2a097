# SPDX-License-Identifier: Apache-2.0
"""python3 -m trigd COMMAND ..."""
from __future__ import annotations

import importlib
import sys

COMMANDS = {  # module with main(arguments) -> exit code, one line
    "load": ("trigd.load", "offers RoIs at given rates: throughput and latency of a daemon"),
}


def main() -> int:
    if len(sys.argv) < 2 or sys.argv[1] not in COMMANDS:
        print("usage: python3 -m trigd COMMAND ...; commands:")
        for name, (_, line) in COMMANDS.items():
            print(f"  {name:10} {line}")
        return 0 if sys.argv[1:] in (["--help"], ["help"]) else 2
    try:
        code: int = importlib.import_module(COMMANDS[sys.argv[1]][0]).main(sys.argv[2:])
        return code
    except (OSError, ValueError, RuntimeError) as e:
        print(f"trigd {sys.argv[1]}: {e}", file=sys.stderr)
        return 3


if __name__ == "__main__":
    sys.exit(main())
