"""A process in which environments live, seen from here. Whatever happens to it or to us, it does
not stay.
"""

import fcntl
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
import weakref
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np

from saddle.errors import SaddleError
from saddle.tasks.gymnasium.worker import wire

WORKER = Path(__file__).parent / "worker"
MAKING_SECONDS = 300.0  # that an environment's package may take to be imported, and it to be made
GLANCE_SECONDS = 1.0  # between two looks at what a process is at
BYTES_AT_ONCE = 1 << 20
LAST_WORDS = 2000  # bytes of what a process printed that are looked at when it died

# One process a core: threads of their own would only get in each other's way.
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")

DISPLAYS = ("DISPLAY", "WAYLAND_DISPLAY")
WITHOUT_DISPLAY = {"MUJOCO_GL": "egl"}
"""How environments draw themselves where there is no screen."""


class Process:
    """Starts a worker, gives it commands and waits for its answers.

    called: what the environment is called. timeout: seconds that a step or a reset may take.
    beats [3]: where the process says what it is at; without, it says that in notes.
    """

    def __init__(
        self,
        config: Mapping[str, Any],
        called: str,
        python: str | None,
        timeout: float,
        beats: np.ndarray | None = None,
    ) -> None:
        self._called = called
        self._timeout = timeout
        self._beats = np.zeros(3, np.int64) if beats is None else beats
        self.printed: tuple[int, int] | None = None
        """World and step in which the environment printed something first."""
        self._output = _file_for_output()
        self._errors = _file_for_output()
        self._replies, theirs = os.pipe()
        passed = [theirs]
        if "memory" in config:
            passed.append(config["memory"])
        try:
            self._process = _started(
                python or sys.executable, theirs, passed, self._files(), config["pictured"]
            )
        except OSError as error:
            os.close(self._replies)
            self._output.close()
            self._errors.close()
            raise SaddleError(
                f"cannot start {python!r} for {called}: {error.strerror or error}; give "
                f"the path of a Python interpreter"
            ) from None
        finally:
            os.close(theirs)
        self._poll = select.poll()
        self._poll.register(self._replies, select.POLLIN)
        self.close = weakref.finalize(self, _end, self._process, self._replies, self._files())
        self.send(b"", json.dumps(config).encode())

    def _files(self) -> tuple[IO[bytes], IO[bytes]]:
        return self._output, self._errors

    def send(self, command: bytes, frame: bytes | None = None) -> None:
        """Give a command. That the process is gone is told by what waits for its answer."""
        data = command
        if frame is not None:
            data += wire.LENGTH.pack(len(frame)) + frame
        assert self._process.stdin is not None
        left = memoryview(data)
        try:
            while left:
                left = left[os.write(self._process.stdin.fileno(), left[:BYTES_AT_ONCE]) :]
        except BrokenPipeError:
            return

    def answer(self) -> bytes:
        """Wait until the command is carried out; returns the bytes that came with that."""
        while True:
            kind = self._read(1)
            if kind == wire.DONE:
                return b""
            (length,) = wire.LENGTH.unpack(self._read(wire.LENGTH.size))
            data = self._read(length)
            if kind == wire.FRAME:
                return data
            if kind == wire.FAILED:
                raise SaddleError(self._failure(json.loads(data)))
            note = json.loads(data)
            if "phase" in note:
                self._beats[wire.PHASE] = note["phase"]
                self._beats[wire.TICKS] += 1
            else:
                self.printed = (note["world"], note["step"])

    def _read(self, length: int) -> bytes:
        parts = []
        while length:
            self._wait()
            part = os.read(self._replies, min(length, BYTES_AT_ONCE))
            if not part:
                raise SaddleError(self._death())
            parts.append(part)
            length -= len(part)
        return b"".join(parts)

    def _wait(self) -> None:
        """Until there is something to read. Whoever steps no world within the timeout hangs."""
        glance = min(GLANCE_SECONDS, self._timeout / 4)
        ticks = int(self._beats[wire.TICKS])
        since = time.monotonic()
        while not self._poll.poll(1000 * glance):
            if int(self._beats[wire.TICKS]) != ticks:
                ticks = int(self._beats[wire.TICKS])
                since = time.monotonic()
            # What it is at may have changed since the last glance: first it gets the command.
            making = int(self._beats[wire.PHASE]) in (wire.IDLE, wire.MAKING)
            patience = max(self._timeout, MAKING_SECONDS) if making else self._timeout
            if time.monotonic() - since >= patience:
                raise SaddleError(
                    f"{self._where()} did not return within {patience:g} s; if it is only slow, "
                    f"give it a longer timeout (--timeout SECONDS, or timeout=SECONDS of "
                    f"saddle.Environment)"
                )

    def _failure(self, facts: Mapping[str, Any]) -> str:
        """What a worker says about an error, in one line."""
        where = self._where(facts.get("step")) if "world" in facts else self._called
        if facts.get("missing"):
            return (
                f"{where}: {facts['error']}; install its package for the Python that runs it, name "
                f"what to import first (--import MODULE, or imports=MODULE), or run from the "
                f"folder that holds it"
            )
        if facts["problem"]:
            return f"{where}: {facts['error']}"
        at = f" ({facts['where']})" if facts.get("where") else ""
        return f"{where}: {facts['error']}{at}"

    def _death(self) -> str:
        """How it died, and the last that it said."""
        code = self._process.wait()
        how = f"its process ended with exit code {code}"
        if code < 0:
            how = f"its process died of {signal.Signals(-code).name}"
        said = self._last_words()
        return f"{self._where()}: {how}{f', saying: {said}' if said else ''}"

    def _last_words(self) -> str:
        size = os.fstat(self._errors.fileno()).st_size
        data = os.pread(self._errors.fileno(), LAST_WORDS, max(0, size - LAST_WORDS))
        lines = data.decode(errors="replace").strip().splitlines()
        return lines[-1].strip() if lines else ""

    def first_output(self) -> str:
        """The first line that the environment printed."""
        data = os.pread(self._output.fileno(), LAST_WORDS, 0)
        return next(iter(data.decode(errors="replace").strip().splitlines()), "")

    def _where(self, step: int | None = None) -> str:
        """The world at hand, and what it is at."""
        world = int(self._beats[wire.WORLD])
        phase = int(self._beats[wire.PHASE])
        if phase == wire.STEPPING:
            return (
                f"{self._called}, world {world}, step {step}" if step else self._of(world, "step")
            )
        if phase == wire.RESETTING:
            return self._of(world, "reset")
        if phase == wire.DRAWING:
            return self._of(world, "render")
        if phase == wire.SAVING:
            return f"{self._called}, saving its worlds"
        return self._called

    def _of(self, world: int, what: str) -> str:
        return f"{self._called}, world {world}, {what}"


def _file_for_output() -> IO[bytes]:
    """A file without a name. What is printed always comes at its end, also after it was cut."""
    file = tempfile.TemporaryFile()  # noqa: SIM115 (closed by `_end`)
    flags = fcntl.fcntl(file, fcntl.F_GETFL)
    fcntl.fcntl(file, fcntl.F_SETFL, flags | os.O_APPEND)
    return file


def _started(
    python: str,
    replies: int,
    passed: list[int],
    files: tuple[IO[bytes], IO[bytes]],
    pictured: bool,
) -> subprocess.Popen[bytes]:
    """In a session of its own: a Ctrl-C is ours to answer, and what it starts ends with it."""
    settings = dict.fromkeys(ONE_THREAD, "1")
    if pictured and not any(os.environ.get(name) for name in DISPLAYS):
        settings |= WITHOUT_DISPLAY
    return subprocess.Popen(
        [python, "-u", str(WORKER), str(replies)],
        stdin=subprocess.PIPE,
        stdout=files[0],
        stderr=files[1],
        pass_fds=passed,
        start_new_session=True,
        env=settings | os.environ,
        bufsize=0,
    )


def _end(process: subprocess.Popen[bytes], replies: int, files: tuple[IO[bytes], ...]) -> None:
    """Kill the process and all that it started, and close what it had."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        process.kill()
    process.wait()
    assert process.stdin is not None
    process.stdin.close()
    os.close(replies)
    for file in files:
        file.close()
