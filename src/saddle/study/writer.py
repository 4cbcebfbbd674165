"""How a study's directory is written: everything atomic, a unit's files by the unit's holder
alone.
"""

import importlib.metadata
import io
import os
import platform
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl

import saddle
from saddle.errors import SaddleError
from saddle.files import (
    AGAIN,
    TEMPORARY,
    NoSpace,
    WriteError,
    beside,
    sync,
    write,
    write_error,
    write_json,
)
from saddle.study.store import MANIFEST, SCHEMA, chunks

PACKAGES = ("jax", "jaxlib", "mujoco", "numpy", "polars")  # whose versions can move a result

MOVE_POLL = 0.1  # seconds between looks for the manifest of a study that is being moved in
MOVE_LOOKS = 50


class Taken(SaddleError):
    """Another process made the study's directory first."""


def create(path: Path, manifest: dict[str, Any], fill: Callable[[Path], None]) -> None:
    """Make a study's directory with all that `fill` puts into it, or nothing.

    It is filled beside its place and then renamed, so that two processes that start the same study
    at once do not mix: one wins, the other is told that the directory is taken. An empty directory
    is filled from within, since a mount point or the current folder cannot be replaced.
    """
    place = path.resolve()
    _check_free(path)
    is_there = place.is_dir()
    unfinished = beside(place / ".saddle" if is_there else place)
    try:
        unfinished.mkdir(parents=True)
        fill(unfinished)
        write_json(unfinished / MANIFEST, manifest)
        if is_there:
            _move_in(unfinished, place)
        else:
            unfinished.replace(place)
        sync(place if is_there else place.parent)
    except OSError as error:
        shutil.rmtree(unfinished, ignore_errors=True)
        _check_free(path)
        raise write_error(path, error, AGAIN) from None
    except NoSpace:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise NoSpace(
            f"no space left to write {path}; {AGAIN}"
        ) from None  # nothing of it stays to resume
    except BaseException:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise


def _check_free(path: Path) -> None:
    if (path / MANIFEST).exists():
        raise Taken(f"{path} holds a study already; choose another directory")
    if path.exists() and (not path.is_dir() or _entries(path)):
        raise SaddleError(f"{path} exists and is not empty; choose another directory for the study")


def _entries(path: Path) -> list[str]:
    """What is in a directory, but for what is still being written."""
    return sorted(entry.name for entry in path.iterdir() if entry.suffix != TEMPORARY)


def _move_in(unfinished: Path, place: Path) -> None:
    """Move all of a study into its directory, the manifest last. Whoever moves the first entry has
    won: a directory is not renamed onto one with something in it.
    """
    moved: list[Path] = []
    try:
        for name in _entries(unfinished):
            if name != MANIFEST:
                (unfinished / name).rename(place / name)
                moved.append(place / name)
        (unfinished / MANIFEST).rename(place / MANIFEST)
    except OSError:
        if not moved:
            _wait_for(place / MANIFEST)
        for entry in moved:
            shutil.rmtree(entry, ignore_errors=True)
        raise
    unfinished.rmdir()


def _wait_for(file: Path) -> None:
    """Until the file is there, or its writer must have been killed."""
    for _ in range(MOVE_LOOKS):
        if file.exists():
            return
        time.sleep(MOVE_POLL)


def manifest(
    name: str, precision: str | None, plan: dict[str, Any], machine: dict[str, Any] | None = None
) -> dict[str, Any]:
    """The facts about a new study."""
    return {
        "schema": SCHEMA,
        "name": name,
        "created": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "saddle": saddle.__version__,
        "versions": {"python": platform.python_version(), **_versions()},
        "git": _git_revision(),
        "hardware": machine or hardware(),
        "precision": precision,
        "plan": plan,
    }


def hardware() -> dict[str, Any]:
    """This machine, in the manifest's words."""
    devices = [d.device_kind for d in sys.modules["jax"].devices()] if "jax" in sys.modules else []
    return {
        "machine": platform.machine(),
        "system": platform.system(),
        "cores": os.cpu_count(),
        "devices": devices,
    }


def write_runs(path: Path, unit: str, frame: pl.DataFrame) -> None:
    """Replace the unit's rows of the runs table."""
    write(path / "runs" / f"{unit}.parquet", _parquet(frame))


def write_progress(
    path: Path,
    unit: str,
    state: str,
    epoch: int,
    epochs: int,
    seconds: float,
    pace: float | None = None,
    error: str | None = None,
    start: float | None = None,
) -> None:
    """Say how far a unit is: epochs done and in all, seconds spent, and seconds of an epoch lately.

    `start` is how long a process took to the end of its first epoch, compiling included.
    """
    facts = {
        "state": state,
        "epoch": epoch,
        "epochs": epochs,
        "seconds": round(seconds, 3),
        "pace": pace,
        "start": start,
        "updated": time.time(),
        "error": error,
    }
    write_json(path / "units" / f"{unit}.json", facts)


def write_chunk(path: Path, unit: str, start: int, stop: int, frame: pl.DataFrame) -> None:
    """Store the metrics of epochs start..stop-1 of a unit.

    A crash between a chunk and its checkpoint leaves a chunk that the resumed unit computes again.
    Where the new one has the same epochs it replaces the old; others that overlap are removed
    first, so that no epoch is there twice.
    """
    file = path / "metrics" / unit / f"{start:08d}-{stop:08d}.parquet"
    for first, end, old in chunks(path, unit):
        if first < stop and start < end and old != file:
            old.unlink(missing_ok=True)
    write(file, _parquet(frame))


def check_writable(path: Path) -> None:
    """Fail now rather than after the first hour: the directory, or what it will be made in, takes
    files.
    """
    folder = next(folder for folder in (path, *path.absolute().parents) if folder.exists())
    if not folder.is_dir():
        raise WriteError(f"{path} cannot be a study's directory: {folder} is a file")
    probe = beside(folder / ".saddle")
    try:
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise write_error(path, error) from None


def _parquet(frame: pl.DataFrame) -> bytes:
    buffer = io.BytesIO()
    frame.write_parquet(buffer, compression="zstd", compression_level=1)
    return buffer.getvalue()


def _versions() -> dict[str, str]:
    found = {}
    for package in PACKAGES:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def _git_revision() -> str | None:
    """Commit of the checkout that Saddle runs from, with '+changes' when files differ from it; None
    elsewhere.
    """
    here = Path(__file__).parent

    def git(*words: str) -> str:
        done = subprocess.run(
            ["git", "-C", str(here), *words], capture_output=True, text=True, timeout=20, check=True
        )
        return done.stdout.strip()

    try:
        if not git("ls-files", "--", __file__):
            return None  # installed into somebody else's repository
        return git("rev-parse", "HEAD") + (
            "+changes" if git("status", "--porcelain", "-uno") else ""
        )
    except (OSError, subprocess.SubprocessError):
        return None


def member_rows(frame: pl.DataFrame, changes: Sequence[dict[str, Any]]) -> pl.DataFrame:
    """The runs frame of a unit with, row by row, these cells changed."""
    rows = [{**row, **change} for row, change in zip(frame.to_dicts(), changes, strict=True)]
    return pl.DataFrame(rows, schema=frame.schema)
