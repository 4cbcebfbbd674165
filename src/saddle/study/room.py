"""What this machine's memory has room for, in runs and in members."""

import os
from collections.abc import Sequence
from pathlib import Path

from saddle.learners.settings import LearnerSettings

# A planned run takes 600, and its row in the tables 1,500, which are read as a whole
BYTES_OF_A_RUN = 4_000
SHARE_OF_PLAN = 0.5  # of free memory that a plan may take
LARGE_TASK = (256, 16, 2)  # sizes of an observation and an action, and constraints
SMALL = 2**30  # bytes that every machine has
UNKNOWN = 4 * 2**30  # bytes, where the system does not tell


def free() -> int:
    """Bytes that the machine has free, what it caches of files among them."""
    try:
        facts = Path("/proc/meminfo").read_text(encoding="utf-8")
        return 1024 * int(facts.partition("MemAvailable:")[2].split()[0])
    except (OSError, ValueError, IndexError):
        return _physical()


def _physical() -> int:
    """Bytes that the machine has, where it does not say how many are free."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (OSError, ValueError):
        return UNKNOWN


def most_runs() -> int:
    """Runs that a plan can hold here."""
    return int(SHARE_OF_PLAN * free()) // BYTES_OF_A_RUN


def surely(learner: LearnerSettings, members: int) -> bool:
    """Whether so many members fit into any machine, whatever their task."""
    return members * learner.member_bytes(*LARGE_TASK) < SMALL


def count(values: Sequence[int]) -> int:
    """How many there are, also of a range that is longer than Python's `len` can say."""
    if isinstance(values, range):
        return max(0, values.stop - values.start) if values.step == 1 else len(values)
    return len(values)


def gigabytes(size: float) -> str:
    """Bytes for a person."""
    return f"{size / 1e9:.3g} GB"
