"""How far a long call is, in a cell of a notebook. Elsewhere nothing here is of use, and IPython is
not imported.
"""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape
from typing import Any

EVERY = 0.2  # seconds between two pictures of a bar


def running() -> bool:
    """Whether this program is a notebook's kernel, which shows HTML."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    return getattr(shell, "kernel", None) is not None


class Bar:
    """A bar below the cell that is running."""

    def __init__(self, title: str, total: int) -> None:
        from IPython.display import display  # pyright: ignore[reportMissingImports]

        self._title, self._total = title, total
        self._drawn = time.monotonic()
        self._handle: Any = display(self._picture(0, ""), raw=True, display_id=True)

    def __call__(self, done: int, text: str = "") -> None:
        """So much is through; `text` stands behind it."""
        if done < self._total and time.monotonic() - self._drawn < EVERY:
            return
        self._drawn = time.monotonic()
        self._handle.update(self._picture(done, text), raw=True)

    def _picture(self, done: int, text: str) -> dict[str, str]:
        """Both forms of it, of which the notebook takes the richer one."""
        words = f"{self._title}: {done}/{self._total}"
        if text:
            words += f", {text}"
        bar = f'<progress value="{done}" max="{self._total}"></progress>'
        return {"text/plain": words, "text/html": f"<div>{bar} {escape(words)}</div>"}


@contextmanager
def counting(title: str, total: int) -> Iterator[Callable[[int], None]]:
    """In a notebook a bar of how many of `total` are through, elsewhere nothing."""
    yield Bar(title, total) if running() else _nobody


def _nobody(done: int) -> None:
    """Tells nobody how far things are."""
