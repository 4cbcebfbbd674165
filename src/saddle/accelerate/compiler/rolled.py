"""Whether code is being traced for a kernel, where short axes are better written as loops."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_rolled: ContextVar[bool] = ContextVar("rolled", default=False)


@contextmanager
def rolled() -> Iterator[None]:
    """What is traced inside is for a kernel."""
    token = _rolled.set(True)
    try:
        yield
    finally:
        _rolled.reset(token)


def is_rolled() -> bool:
    """Whether this is inside `rolled`."""
    return _rolled.get()
