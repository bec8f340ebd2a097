# SPDX-License-Identifier: Apache-2.0
"""How a client's messages travel: over ZeroMQ, or through memory shared with a daemon on this host."""
from __future__ import annotations

import errno
import os
from typing import Any, Dict, List, Optional, Protocol, Sequence

import zmq

from ._encode import Layout, Packer
from ._events import groups_of
from .rois import Rois

LINGER_MS = 500


class Gone(Exception):
    """The daemon closed the connection, and all that it had written is read."""


class Chunk:
    """RoIs of one call of send: RoI i has the token base + i."""
    __slots__ = ("rois", "base", "groups", "slots", "packer", "layout")

    def __init__(self, rois: Rois, base: int):
        self.rois, self.base = rois, base
        self.groups = groups_of(rois)
        self.slots: List[int] = []  # in shared memory
        self.packer: Optional[Packer] = None
        self.layout: Optional[Layout] = None


class Transport(Protocol):
    fd: int

    def tell(self, message: bytes) -> None:
        """Sends a control message."""

    def send(self, chunk: Chunk, which: range, is_repeat: bool) -> int:
        """Sends RoIs of a chunk: how many; the others find no room now."""

    def release(self, chunks: Sequence[Chunk], tokens: Sequence[int]) -> None:
        """RoIs of these chunks that were sent have had their end."""

    def receive(self) -> Optional[bytes]:
        """The next message, without waiting; Gone."""

    def is_lost(self) -> bool:
        """Whether the connection has ended since the last call."""

    def wait(self, ms: int) -> None:
        """Until something may have come."""

    def sleep(self) -> bool:
        """Before `fd` is waited for: False when something is there already."""

    def close(self) -> None: ...


def read_keys(path: str) -> Dict[str, bytes]:
    """The keys of a file of `trigctl keygen`."""
    with open(path, encoding="ascii") as f:
        lines = [line.split() for line in f if line.strip() and not line.startswith("#")]
        mode = os.fstat(f.fileno()).st_mode
    if any(len(words) != 2 or words[0] not in ("public", "secret") or len(words[1]) != 40 for words in lines):
        raise ValueError(f"{path}: a line is neither public nor secret with a key of 40 characters")
    keys = {words[0]: words[1].encode() for words in lines}
    if "secret" in keys and mode & 0o077:
        raise PermissionError(errno.EACCES, "it holds a secret key, and others than its owner may read it", path)
    return keys


class ZeroMQ:
    """A DEALER, and a monitor that tells of the end of a connection which libzmq makes anew by itself."""

    def __init__(self, endpoint: str, context: Any, key_file: Optional[str], server_key_file: Optional[str]):
        self.socket = context.socket(zmq.DEALER)
        self.socket.setsockopt(zmq.LINGER, 0)
        self.socket.setsockopt(zmq.SNDHWM, 0)
        self.socket.setsockopt(zmq.RCVHWM, 0)
        if endpoint.startswith("tcp://") and key_file and server_key_file:
            own = read_keys(key_file)
            self.socket.setsockopt(zmq.CURVE_SERVERKEY, read_keys(server_key_file)["public"])
            self.socket.setsockopt(zmq.CURVE_PUBLICKEY, own["public"])
            self.socket.setsockopt(zmq.CURVE_SECRETKEY, own["secret"])
        self.monitor = self.socket.get_monitor_socket(zmq.EVENT_DISCONNECTED)
        self.socket.connect(endpoint)
        self.poller = zmq.Poller()
        self.poller.register(self.socket, zmq.POLLIN)
        self.poller.register(self.monitor, zmq.POLLIN)
        self.fd: int = self.socket.getsockopt(zmq.FD)
        self.most_bytes = 0  # of a message; by the Welcome

    def tell(self, message: bytes) -> None:
        self.socket.send(message, zmq.DONTWAIT)

    def send(self, chunk: Chunk, which: range, is_repeat: bool) -> int:
        if chunk.packer is None:
            chunk.packer = Packer(chunk.rois)
        message = chunk.packer.message(which, range(chunk.base + which.start, chunk.base + which.stop), is_repeat)
        if self.most_bytes and len(message) > self.most_bytes:
            if len(which) == 1:
                raise ValueError(f"an RoI has {len(message)} bytes; the daemon takes at most {self.most_bytes}")
            half = len(which) // 2
            return self.send(chunk, which[:half], is_repeat) + self.send(chunk, which[half:], is_repeat)
        self.socket.send(message)
        return len(which)

    def release(self, chunks: Sequence[Chunk], tokens: Sequence[int]) -> None:
        pass

    def receive(self) -> Optional[bytes]:
        try:
            message: bytes = self.socket.recv(zmq.DONTWAIT)
        except zmq.Again:
            return None
        return message

    def is_lost(self) -> bool:
        lost = False
        while self.monitor.poll(0):
            self.monitor.recv_multipart()
            lost = True
        return lost

    def wait(self, ms: int) -> None:
        self.poller.poll(ms)

    def sleep(self) -> bool:
        return not self.socket.getsockopt(zmq.EVENTS) & zmq.POLLIN

    def close(self) -> None:
        self.socket.disable_monitor()
        self.monitor.close(0)
        self.socket.close(LINGER_MS)
