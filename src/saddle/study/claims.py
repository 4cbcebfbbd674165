"""Who works on which unit: claims as files, so that several processes, on several machines, share
one store.

A claim is `claims/<unit>.<generation>.json`. Creating a file that must not exist yet is atomic, on
network filesystems too, so each generation has exactly one owner, and the highest generation holds
the unit. The owner touches the file while it works; when it has not done so for a lease, or its
process is known to be dead, the next one creates the next generation. Claim files are never
removed: a slow process that decided on old facts then finds its number taken.
"""

import json
import os
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from saddle.files import write_error, write_json

LEASE = 90.0  # seconds without a sign of life after which a claim is void


class ClaimLost(Exception):
    """Somebody took the unit over, because this process showed no sign of life for a lease."""


@dataclass(frozen=True)
class Holder:
    """What a claim file says."""

    generation: int
    host: str
    pid: int
    age: float  # seconds since the last sign of life
    released: bool
    alive: bool  # works on the unit, as far as can be told from here


class Claim:
    """A unit that is ours. As a context it gives signs of life, and releases the unit at the
    end.
    """

    def __init__(self, store: Path, unit: str, generation: int, lease: float = LEASE) -> None:
        self.unit, self.lease = unit, lease
        self._store, self._generation = store, generation
        self._over = threading.Event()
        self._beat = threading.Thread(target=self._keep, daemon=True, name=f"claim on {unit}")

    def __enter__(self) -> "Claim":
        self._beat.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        tb: TracebackType | None,
    ) -> None:
        self._over.set()
        self._beat.join()
        if _newest(self._store, self.unit) == self._generation:
            write_json(_file(self._store, self.unit, self._generation), {**_me(), "released": True})

    def check(self) -> None:
        """Raise ClaimLost unless the unit is still ours. Called before every write to the unit's
        files.
        """
        if _newest(self._store, self.unit) != self._generation:
            raise ClaimLost(f"{self.unit} was taken over by another process")

    def _keep(self) -> None:
        while not self._over.wait(self.lease / 4):
            try:
                os.utime(_file(self._store, self.unit, self._generation))
            except OSError:
                # A filesystem that stumbles: the next beat may get through, and check() decides
                continue


def take(
    store: Path, unit: str, lease: float = LEASE, wanted: Callable[[], bool] = lambda: True
) -> Claim | None:
    """Claim a unit; None when somebody works on it, or was quicker, or it is not wanted any more.

    That is asked after the look at who holds it: whoever finished it before then has said so, and
    whoever takes it later is in the way.
    """
    holder = look(store, unit, lease)
    if (holder is not None and holder.alive) or not wanted():
        return None
    generation = holder.generation + 1 if holder else 0
    file = _file(store, unit, generation)
    try:
        file.parent.mkdir(exist_ok=True)
        with file.open("x", encoding="utf-8") as new:
            json.dump(_me(), new)
    except FileExistsError:
        return None
    except OSError as error:
        raise write_error(file, error) from None
    return Claim(store, unit, generation, lease)


def look(store: Path, unit: str, lease: float = LEASE) -> Holder | None:
    """Who holds, or last held, the unit."""
    generation = _newest(store, unit)
    if generation is None:
        return None
    file = _file(store, unit, generation)
    age = _now(store) - file.stat().st_mtime
    try:
        facts = json.loads(file.read_text(encoding="utf-8"))
    except ValueError:
        facts = {}  # being written in this moment; if its writer died then, age will tell
    released = bool(facts.get("released"))
    alive = not released and age < lease and not _dead_here(facts)
    return Holder(generation, facts.get("host", "?"), facts.get("pid", 0), age, released, alive)


def _newest(store: Path, unit: str) -> int | None:
    names = (file.stem.rpartition(".") for file in (store / "claims").glob(f"{unit}.*.json"))
    return max((int(number) for name, _, number in names if name == unit), default=None)


def _file(store: Path, unit: str, generation: int) -> Path:
    return store / "claims" / f"{unit}.{generation:04d}.json"


def _now(store: Path) -> float:
    """The time by the clock that stamps the store's files: a file server's may differ from this
    machine's.
    """
    probe = store / "claims" / f".clock-{os.getpid()}-{threading.get_ident()}.tmp"
    try:
        probe.touch()
        now = probe.stat().st_mtime
        probe.unlink(missing_ok=True)
    except OSError:
        return time.time()  # a reader that may not write
    return now


def _me() -> dict[str, Any]:
    return {"host": _host(), "pid": os.getpid(), "born": _birth(os.getpid()), "released": False}


def _host() -> str:
    """This machine and process namespace: only within one do process ids mean anything."""
    try:
        return f"{socket.gethostname()} {Path('/proc/self/ns/pid').readlink()}"
    except OSError:
        return socket.gethostname()


def _birth(pid: int) -> str | None:
    """When a process began, in the kernel's ticks; None when there is no such process."""
    try:
        after_name = (
            Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        )
    except OSError:
        return None
    return None if after_name[0] in "ZX" else after_name[19]


def _dead_here(facts: dict[str, Any]) -> bool:
    """Whether the claim is of a process of this machine that is gone."""
    return (
        facts.get("host") == _host()
        and Path("/proc/self/stat").exists()
        and _birth(facts["pid"]) != facts["born"]
    )
