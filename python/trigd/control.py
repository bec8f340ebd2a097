# SPDX-License-Identifier: Apache-2.0
"""The operator's side: commands to a daemon's control socket, and its metrics.

    control = Control("/run/trigd/trigd.sock")
    control.show("chains")          # a list of rows
    control.ask("prescale HLT_z 10")
    {s.name: s.value for s in metrics("http://127.0.0.1:9464/metrics") if not s.labels}
"""
from __future__ import annotations

import json
import os
import re
import socket
from dataclasses import dataclass
from typing import Any, Dict, Iterator, List, Union


class CommandFailed(RuntimeError):
    """The daemon's sentence."""


class Control:
    """One command is one connection, so any thread may ask."""

    def __init__(self, path: Union[str, "os.PathLike[str]"], timeout: float = 10.0):
        self.path, self.timeout = os.fspath(path), timeout

    def ask(self, command: str) -> str:
        """The answer to a command of docs/operations.md; CommandFailed."""
        if "\n" in command:
            raise ValueError("a command is one line")
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(self.timeout)
            s.connect(self.path)
            s.sendall(command.encode() + b"\n")
            answer = b""
            while not answer.endswith(b"\n\n") and answer != b"\n":
                part = s.recv(65536)
                if not part:
                    raise ConnectionError(f"the daemon hung up before its answer to '{command}' ended")
                answer += part
        text = "".join(line for line in answer.decode().splitlines(keepends=True) if not line.startswith("# ")).rstrip("\n")
        if text.startswith("error:") or "\nerror:" in text:
            raise CommandFailed(text)
        return text

    def show(self, what: str) -> Any:
        """The rows of `show WHAT`, as dicts."""
        return json.loads(self.ask(f"show {what} json"))


@dataclass(frozen=True)
class Sample:
    name: str
    labels: Dict[str, str]
    value: float


_SAMPLE = re.compile(r"([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)(?: \d+)?")
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


def parse_metrics(text: str) -> Iterator[Sample]:
    """The samples of a page in Prometheus's text format; ValueError with the line."""
    for n, line in enumerate(text.splitlines(), 1):
        if not line or line.startswith("#"):
            continue
        m = _SAMPLE.fullmatch(line)
        if not m:
            raise ValueError(f"line {n} of the metrics is no sample: {line}")
        labels = {k: v.replace('\\"', '"').replace("\\n", "\n").replace("\\\\", "\\") for k, v in _LABEL.findall(m[2] or "")}
        yield Sample(m[1], labels, float(m[3]))


def metrics(url: str, timeout: float = 10.0) -> List[Sample]:
    """What a daemon's /metrics holds now."""
    from urllib.request import urlopen
    with urlopen(url, timeout=timeout) as answer:
        return list(parse_metrics(answer.read().decode()))
