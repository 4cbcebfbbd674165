"""What this machine's memory has room for, in runs and in members."""

import itertools
import os
from collections.abc import Sequence
from pathlib import Path

from saddle.config import PPO

BYTES_OF_A_RUN = 4_000  # a planned run takes 600, and its row in the tables 1,500, which are read as a whole
SHARE_OF_PLAN = 0.5  # of free memory that a plan may take
LARGE_TASK = (256, 16, 2, 4096)  # a task's sizes, and a block of samples, as `member_bytes` takes them
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


def member_bytes(ppo: PPO, obs: int, act: int, constraints: int, block: int) -> int:
    """Device memory that one more member of a population takes, roughly.

    Networks with Adam and an epoch's rollout, both twice; and what passes between a network's layers: for a minibatch
    about ten arrays on the way there and back, for a block of so many samples two. obs, act: sizes of an observation
    and an action.
    """
    sizes = (obs, *ppo.hidden, 1)
    weights = sum((a + 1) * b for a, b in itertools.pairwise(sizes))
    networks = (2 + constraints) * weights * 3
    row = 2 * obs + 3 * act + 8 * (1 + constraints)
    between = max(ppo.hidden) * max(10 * ppo.batch, 2 * block)
    return 4 * (2 * networks + 2 * ppo.steps_per_epoch * row + between)


def surely(ppo: PPO, members: int) -> bool:
    """Whether so many members fit into any machine, whatever their task."""
    return members * member_bytes(ppo, *LARGE_TASK) < SMALL


def count(values: Sequence[int]) -> int:
    """How many there are, also of a range that is longer than Python's `len` can say."""
    if isinstance(values, range):
        return max(0, values.stop - values.start) if values.step == 1 else len(values)
    return len(values)


def gigabytes(size: float) -> str:
    """Bytes for a person."""
    return f"{size / 1e9:.3g} GB"
