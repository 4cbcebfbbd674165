"""The published figures, as shipped in `data/`."""

import functools
from collections.abc import Sequence
from importlib import resources

import polars as pl

from saddle.config import PUBLISHED_STEPS
from saddle.tasks.builtin import SPECS
from saddle.words import scientific

SEEDS = 10  # behind every cell of the published table


@functools.cache
def table() -> pl.DataFrame:
    """The published comparison: task, limit, rule, return_mean, return_sd, cost_mean, cost_sd."""
    return _read("table1.csv").rename({"cost_limit": "limit", "method": "rule"})


def recommended_limits(task: str) -> tuple[float, ...]:
    """The cost limits that the published study recommends for this task; none where it does not
    have it.
    """
    return SPECS[task].recommended_limits if task in SPECS else ()


def comparison_limits(task: str) -> tuple[float, ...]:
    """The cost limits at which the published study compares rules on this task; none where it does
    not have it.
    """
    return SPECS[task].limits if task in SPECS else ()


def steps_beside_published(steps: Sequence[int]) -> str:
    """How many of the published env steps runs of these lengths had, as a sentence."""
    fewest = min(steps)
    most = max(steps)
    published = f"the published {scientific(PUBLISHED_STEPS)} env steps"
    if all(abs(count - PUBLISHED_STEPS) < 0.01 * PUBLISHED_STEPS for count in (fewest, most)):
        return f"The runs had all of {published}."
    counts = dict.fromkeys(scientific(count) for count in (fewest, most))
    shares = dict.fromkeys(_percent(count / PUBLISHED_STEPS) for count in (fewest, most))
    had, share = (" to ".join(parts) for parts in (counts, shares))
    return f"The runs had {had} of {published} ({share} %)."


def _percent(share: float) -> str:
    """Whole percents; one digit below 1 %."""
    percent = 100 * share
    return f"{percent:.0f}" if percent >= 1 else f"{percent:.1g}"


def _read(name: str) -> pl.DataFrame:
    return pl.read_csv((resources.files("saddle.analysis") / "data" / name).read_bytes())
