"""What a Python program gives to Saddle's functions, checked before anything is made of it."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from saddle.errors import SaddleError


def of_kind(name: str, value: Any, kind: Any, wanted: str) -> None:
    """Refuse an argument that is not of that kind."""
    if not isinstance(value, kind):
        raise SaddleError(f"{name} is {value!r}; give {wanted}")


def path_of(name: str, value: Any, wanted: str = "a path") -> Path:
    """An argument as the path that it should be."""
    of_kind(name, value, str | os.PathLike, wanted)
    return Path(value)


def callback(name: str, value: Any) -> None:
    """Refuse what is there to be called and cannot be; None is called by nobody."""
    of_kind(name, value, Callable | None, "a function")
