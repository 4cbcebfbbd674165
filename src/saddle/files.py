"""Files that are there whole or not at all: write beside, sync, rename."""

import errno
import json
import os
import secrets
from pathlib import Path
from typing import Any

from saddle.errors import SaddleError

TEMPORARY = ".tmp"  # ends the name of every file that is still being written
RESUME = "free some and go on with --resume, what was saved is safe"  # what to do about a full disk
AGAIN = "free some and try again"  # where there is nothing to resume


class StoreError(SaddleError):
    """The store cannot be written. Stops the whole study, where another unit's error would not."""


class NoSpace(StoreError):
    """The disk is full."""


def write(path: Path, data: bytes, advice: str = RESUME) -> None:
    """Write a file so that readers, and a crash at any moment, see the old content or the new,
    never a part.

    advice: what to do when the disk is full.
    """
    beside = path.with_name(f"{path.name}.{secrets.token_hex(4)}{TEMPORARY}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with beside.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
        sync_folder(path.parent)
    except OSError as error:
        forget(beside)
        raise store_error(path, error, advice) from None
    except BaseException:
        forget(beside)
        raise


def write_json(path: Path, value: Any) -> None:
    """Write a value as JSON, atomically."""
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


def sync_folder(folder: Path) -> None:
    """Make a rename in this folder survive a power cut."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def store_error(path: Path, error: OSError, advice: str = RESUME) -> StoreError:
    """The error for a person, of a write that failed; `advice` on what to do when the disk is
    full.
    """
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return NoSpace(f"no space left to write {path}; {advice}")
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return StoreError(
            f"may not write {path} ({error.strerror}); choose a folder that you can write"
        )
    return StoreError(f"cannot write {path}: {error.strerror or error}")


def forget(path: Path) -> None:
    """Remove what was being written, if that can be done."""
    try:
        path.unlink(missing_ok=True)
    except OSError:
        return  # the folder may be what failed; the first error is the one to report
