"""Pipes and shared memory between a worker and the process that it works for.

Commands are one byte, some with a frame behind it. Answers begin with one byte: DONE; or FRAME,
NOTE, or FAILED with a frame. A frame is its length and its bytes.
"""

from __future__ import annotations

import json
import mmap
import os
import select
import signal
import struct
import threading
from typing import Any, Mapping

import numpy as np

RESET, STEP, SAVE, LOAD, DRAW = b"r", b"s", b"p", b"l", b"d"
DONE, FRAME, NOTE, FAILED = b"k", b"b", b"n", b"e"
LENGTH = struct.Struct("<Q")
BYTES_AT_ONCE = 1 << 20

# What a process is at, in the column PHASE of the array `beats`
IDLE, MAKING, RESETTING, STEPPING, SAVING, DRAWING = range(6)
TICKS, WORLD, PHASE = range(3)


class Wire:
    """The worker's end."""

    def __init__(self, commands: int, replies: int) -> None:
        self._commands = commands
        self._replies = replies

    def command(self) -> bytes:
        """The next command; empty when there is nobody any more who could give one."""
        return os.read(self._commands, 1)

    def line(self) -> dict[str, Any]:
        """A frame of JSON."""
        return json.loads(self.frame())

    def frame(self) -> bytes:
        """A frame that follows a command."""
        (length,) = LENGTH.unpack(self._exactly(LENGTH.size))
        return self._exactly(length)

    def done(self) -> None:
        """The command is carried out."""
        os.write(self._replies, DONE)

    def send(self, kind: bytes, data: bytes) -> None:
        """An answer with a frame."""
        left = memoryview(kind + LENGTH.pack(len(data)) + data)
        while left:
            left = left[os.write(self._replies, left[:BYTES_AT_ONCE]) :]

    def tell(self, kind: bytes, facts: Mapping[str, Any]) -> None:
        """An answer in JSON."""
        self.send(kind, json.dumps(facts).encode())

    def die_with_the_other_end(self) -> None:
        """End this process, and all that it started, as soon as nobody holds the other end of the
        pipe of commands: whatever the environment is at, and however the other process died.
        """
        threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self) -> None:
        poll = select.poll()
        poll.register(self._commands, 0)
        poll.poll()
        if os.getpid() == os.getpgid(0):
            os.killpg(0, signal.SIGKILL)
        os._exit(1)

    def _exactly(self, length: int) -> bytes:
        parts = []
        while length:
            part = os.read(self._commands, min(length, BYTES_AT_ONCE))
            if not part:
                os._exit(1)
            parts.append(part)
            length -= len(part)
        return b"".join(parts)


def shared_arrays(
    descriptor: int, layout: Mapping[str, tuple[int, list[int], str]]
) -> dict[str, np.ndarray]:
    """Arrays by name, in the memory of a file: offset in bytes, shape and type of each."""
    memory = mmap.mmap(descriptor, 0)
    found = {}
    for name, (offset, shape, dtype) in layout.items():
        found[name] = np.ndarray(tuple(shape), dtype, buffer=memory, offset=offset)
    return found
