"""Files that are there whole or not at all: written beside their place, synced, renamed.

Everything that Saddle writes is written by `write` or `replacing`, so a reader, and a crash at any
moment, meets the old content or the new, never a part of either.
"""

import contextlib
import errno
import json
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from saddle.errors import RESUMED, SaddleError

TEMPORARY = ".tmp"  # ends the name of every file that is still being written
# What to do about a full disk: while a study runs, and where there is nothing to resume
RESUME = f"free some and go on with {RESUMED}; what was saved is safe"
AGAIN = "free some and try again"


class WriteError(SaddleError):
    """A file cannot be written. Stops the whole study, where another unit's error would not."""


class NoSpace(WriteError):
    """The disk is full."""


def write(path: Path, data: bytes, advice: str = RESUME, durable: bool = True) -> None:
    """Write a file. advice, durable: see `replacing`."""
    with replacing(path, advice, durable=durable) as unfinished:
        unfinished.write_bytes(data)


@contextlib.contextmanager
def replacing(
    path: Path, advice: str = RESUME, durable: bool = True, previous: Path | None = None
) -> Iterator[Path]:
    """A file to write, which takes the place of `path` once the context ends well. Where it does
    not, that file is removed, and what was at `path` stays.

    The file is made at once, so that a place that takes none is found before the work. advice:
    what to do when the disk is full; durable: whether the file survives a power cut right after,
    which costs a disk some milliseconds; previous: where what was at `path` goes, if it is kept.
    """
    if not path.name:
        raise WriteError(f"cannot write {path}: it is a folder; give the name of a file")
    unfinished = beside(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished.touch()
        yield unfinished
        if durable:
            sync(unfinished)
        if previous is not None and path.exists():
            path.replace(previous)
        unfinished.replace(path)
        if durable:
            sync(path.parent)
    except OSError as error:
        raise write_error(path, error, advice) from None
    finally:
        _forget(unfinished)


def beside(path: Path) -> Path:
    """A name beside `path` that nobody else takes, for what is still being written."""
    return path.with_name(f"{path.name}.{secrets.token_hex(4)}{TEMPORARY}")


def write_json(path: Path, value: Any) -> None:
    """Write a value as JSON."""
    write(path, (json.dumps(value, indent=2, sort_keys=False) + "\n").encode())


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object; {} when the file is not there."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise SaddleError(f"cannot read {path}: {error}; restore it from a copy") from None
    if not isinstance(value, dict):
        raise SaddleError(f"cannot read {path}: it is not a JSON object; restore it from a copy")
    return value


def sync(path: Path) -> None:
    """Make a file's content, or the renames in a folder, survive a power cut."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_error(path: Path, error: OSError, advice: str = RESUME) -> WriteError:
    """The error for a person, of a write that failed; `advice` on what to do when the disk is
    full.
    """
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return NoSpace(f"no space left to write {path}; {advice}")
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return WriteError(
            f"may not write {path} ({error.strerror}); choose a folder that you can write"
        )
    return WriteError(f"cannot write {path}: {error.strerror or error}")


def _forget(path: Path) -> None:
    """Remove what was being written, if it is still there and can be removed."""
    with contextlib.suppress(OSError):  # the folder may be what failed; the first error is reported
        path.unlink(missing_ok=True)
