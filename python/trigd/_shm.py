# SPDX-License-Identifier: Apache-2.0
"""The client's end of the memory that it shares with a daemon (common/shm.h, docs/protocol.md).

Positions in the rings are plain stores and loads: x86-64 keeps their order but for a store before a load, where a lock
is taken and released.  Other processors are refused."""
from __future__ import annotations

import mmap
import os
import platform
import select
import socket
import struct
import threading
import time
from typing import List, Optional, Sequence

import numpy

from ._encode import ENTRY, LEAST_SHIFT, Layout
from ._transport import Chunk, Gone

PACKET_MAX = 131072
HEAD = struct.Struct("<8sII4Q")  # magic, entries, down_bytes, up_at, down_at, data_at, data_bytes
UP_HEAD, UP_TAIL, DAEMON_SLEEPS, DOWN_HEAD, DOWN_TAIL, CLIENT_SLEEPS = range(64, 448, 64)
WRAP = 0xffffffff
LOOK_S = 200e-6  # between two looks at the socket while the ring is used


class Region:
    """The mapping, its rings and its room."""

    def __init__(self, fd: int):
        self.map = mmap.mmap(fd, os.fstat(fd).st_size)
        magic, self.entries, self.down_bytes, up_at, down_at, data_at, self.data_bytes = HEAD.unpack_from(self.map)
        size = len(self.map)
        if magic != b"TRGSHM1\0" or max(data_at + self.data_bytes, down_at + self.down_bytes, up_at + 128 * self.entries) > size:
            raise ConnectionError("the daemon's memory has another layout than this client's")
        view = memoryview(self.map)
        self.u32, self.u64 = view.cast("I"), view.cast("Q")
        self.up = numpy.frombuffer(self.map, ENTRY, self.entries, up_at)
        self.down = view[down_at:down_at + self.down_bytes]
        self.data = view[data_at:data_at + self.data_bytes]
        self.up_head = self.up_seen = self.down_tail = 0
        self.fence = threading.Lock()
        self.free: List[List[int]] = [[] for _ in range(64)]
        self.untouched = 0

    def store_and_fence(self, at: int, value: int) -> None:
        self.u32[at // 4] = value
        with self.fence:
            pass

    def cut(self, k: int, size: int) -> int:
        """A piece of room of class k that none had before: its offset | its class; -1: not now."""
        room = 1 << (LEAST_SHIFT + k)
        if self.untouched + room > self.data_bytes:
            if room > self.data_bytes:
                raise ValueError(f"an RoI has {size} bytes of columns; the daemon shares {self.data_bytes} with this client")
            return -1
        at = self.untouched
        self.untouched += room
        return at | k

    def put(self, entries: numpy.typing.NDArray[numpy.void]) -> None:
        first = self.up_head % self.entries
        n = min(len(entries), self.entries - first)
        self.up[first:first + n] = entries[:n]
        if n < len(entries):
            self.up[:len(entries) - n] = entries[n:]
        self.up_head = (self.up_head + len(entries)) & 0xffffffff

    def room(self) -> int:
        """Entries that the ring has room for."""
        used = (self.up_head - self.up_seen) & 0xffffffff
        if used + 256 > self.entries:
            self.up_seen = int(self.u32[UP_TAIL // 4])
            used = (self.up_head - self.up_seen) & 0xffffffff
        return int(self.entries) - used

    def next_answer(self) -> Optional[bytes]:
        head: int = self.u64[DOWN_HEAD // 8]
        if head == self.down_tail:
            return None
        at = self.down_tail % self.down_bytes
        n = int.from_bytes(self.down[at:at + 4], "little")
        if n == WRAP:
            self.down_tail += self.down_bytes - at
            at = 0
            n = int.from_bytes(self.down[:4], "little")
        answer = bytes(self.down[at + 4:at + 4 + n])
        self.down_tail += (n + 4 + 7) & ~7
        self.u64[DOWN_TAIL // 8] = self.down_tail
        return answer

    def close(self) -> None:
        for view in (self.u32, self.u64, self.down, self.data):
            view.release()
        # the mapping ends with the last array that looks into it


class SharedMemory:
    def __init__(self, endpoint: str):
        if platform.machine() != "x86_64":
            raise ValueError(f"shm:// from Python needs x86_64; this is {platform.machine()}: use ipc://")
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            self.socket.connect(endpoint[len("shm://"):])
        except OSError:
            self.socket.close()
            raise
        self.socket.setblocking(False)
        self.fd = self.socket.fileno()
        self.region: Optional[Region] = None
        self.looked = 0.0
        self.most_bytes = 0

    def tell(self, message: bytes) -> None:
        try:
            self.socket.send(message)
        except (BlockingIOError, BrokenPipeError, ConnectionResetError):
            pass  # it has packets of ours to read: that is a beat; if it is gone receiving tells

    def send(self, chunk: Chunk, which: range, is_repeat: bool) -> int:
        r = self.region
        assert r is not None  # there are credits
        if chunk.layout is None:
            chunk.layout = Layout(chunk.rois)
            chunk.slots = [-1] * len(chunk.rois)
        which = which[:r.room()]
        slots: List[int] = []
        free = r.free
        for k in chunk.layout.classes[which.start:which.stop]:
            slot = free[k].pop() if free[k] else r.cut(k, chunk.layout.sizes[which.start + len(slots)])
            if slot < 0:
                break
            slots.append(slot)
        a, b = which.start, which.start + len(slots)
        chunk.slots[a:b] = slots
        at = numpy.array(slots, "i8") & -1024
        tokens = numpy.arange(chunk.base + a, chunk.base + b, dtype="u8")
        r.put(chunk.layout.write(r.data, a, b, at, tokens, is_repeat))
        r.store_and_fence(UP_HEAD, r.up_head)
        if r.u32[DAEMON_SLEEPS // 4]:
            self.tell(b"\0")
        return len(slots)

    def release(self, chunks: Sequence[Chunk], tokens: Sequence[int]) -> None:
        if not self.region:
            return
        free = self.region.free
        for chunk, token in zip(chunks, tokens):
            slots, i = chunk.slots, token - chunk.base
            slot = slots[i]
            if slot >= 0:
                free[slot & 1023].append(slot)
                slots[i] = -1

    def receive(self) -> Optional[bytes]:
        if self.region:
            answer = self.region.next_answer()
            if answer is not None:
                return answer
            now = time.monotonic()
            if now < self.looked + LOOK_S:
                return None
            self.looked = now
        while True:
            try:
                packet, fds, _, _ = socket.recv_fds(self.socket, PACKET_MAX, 1)
            except BlockingIOError:
                return None
            except ConnectionResetError:
                packet, fds = b"", []
            for fd in fds:
                if not self.region:
                    self.region = Region(fd)
                os.close(fd)
            if not packet:  # what it wrote before it went is still there
                answer = self.region.next_answer() if self.region else None
                if answer is None:
                    raise Gone
                return answer
            if len(packet) > 1:  # the others only wake
                return packet

    def is_lost(self) -> bool:
        return False  # receive tells

    def wait(self, ms: int) -> None:
        if self.sleep():
            select.select([self.fd], [], [], ms / 1000)
        if self.region:
            self.region.u32[CLIENT_SLEEPS // 4] = 0

    def sleep(self) -> bool:
        self.looked = 0.0
        if not self.region:
            return True
        self.region.store_and_fence(CLIENT_SLEEPS, 1)
        return self.region.u64[DOWN_HEAD // 8] == self.region.down_tail

    def close(self) -> None:
        self.socket.close()
        if self.region:
            self.region.close()
            self.region = None
