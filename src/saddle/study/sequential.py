"""Seeds that are added until rules are told apart: what is asked for, and the groups of seeds that
a plan has got so far.

Plain values, as a study file and a manifest hold them.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from saddle.errors import SaddleError
from saddle.hints import bring_to_hints

ScoreOf = Literal["gap", "return", "violation"]
ErrorOver = Literal["limit", "study"]

USUAL_GROUPS = 5
"""Where nobody says how many seeds are the most: so many times those of the plan."""


OPTIONS = {
    "--most-seeds": "most",
    "--group": "group",
    "--error": "error",
    "--error-over": "error_over",
    "--score": "score",
}
"""Of a command line, and the settings that they give."""


@dataclass(frozen=True)
class UntilDecided:
    """Rules at a limit get more seeds while it is open which of them to use."""

    most: int | None = None
    """Most seeds of a rule; None: five times those of the plan."""
    group: int | None = None
    """Seeds that are added at a time; None: as many as the plan has."""
    error: float = 0.05
    """Chance of telling apart any two rules that are equal."""
    error_over: ErrorOver = "limit"
    """Whether that holds for the rules of a task at a limit, or of the whole study."""
    score: ScoreOf = "gap"
    """What rules are compared by: gap (return beside the frontier's at equal cost), return, or
    violation (cost above the limit).
    """

    def __post_init__(self) -> None:
        bring_to_hints(self, "until decided: ")
        if not 0 < self.error < 1 or not math.isfinite(self.error):
            raise SaddleError(f"the error is {self.error:g}; it must lie between 0 and 1")
        if self.group is not None and self.group < 1:
            raise SaddleError(f"a group has {self.group} seeds; it must be at least 1")

    @property
    def options(self) -> str:
        """As a command line says it."""
        words = ["--until-decided"]
        for option, setting in OPTIONS.items():
            value = getattr(self, setting)
            if value != getattr(UntilDecided, setting):
                words.append(f"{option} {value}")
        return " ".join(words)

    def looks(self, first: int) -> tuple[int, ...]:
        """Seeds at each look, if the plan has so many."""
        most = self.most_of(first)
        step = self.group or first
        return (*range(first, most, step), most)

    def most_of(self, first: int) -> int:
        """Most seeds of a rule, if the plan has so many."""
        return USUAL_GROUPS * first if self.most is None else self.most


@dataclass(frozen=True)
class Round:
    """A group of seeds that was added, and to what."""

    seeds: tuple[int, ...]
    cells: tuple[str, ...]
    """Runs without their seed: `Run.cell`."""


@dataclass(frozen=True)
class Design:
    """What was asked for, and which seeds each group so far has."""

    wish: UntilDecided
    groups: tuple[tuple[int, ...], ...]

    @property
    def looks(self) -> tuple[int, ...]:
        """Seeds at each look that there may be."""
        return self.wish.looks(len(self.groups[0]))

    def next_seeds(self) -> tuple[int, ...]:
        """Those of the next group; empty after the last."""
        there = sum(map(len, self.groups))
        later = [seeds for seeds in self.looks if seeds > there]
        if not later:
            return ()
        start = 1 + max(seed for group in self.groups for seed in group)
        return tuple(range(start, start + later[0] - there))


def design_of(manifest: Mapping[str, Any]) -> Design | None:
    """The design of a study that adds seeds until decided; None of others."""
    plan = manifest.get("plan") or {}
    wish = plan.get("until_decided")
    if not wish:
        return None
    rounds = [tuple(added["seeds"]) for added in plan.get("rounds", ())]
    return Design(UntilDecided(**wish), (tuple(plan["seeds"]), *rounds))
