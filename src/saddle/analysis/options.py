"""How to analyse: every choice, with the default that this project recommends."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from saddle.config import LambdaStarMethod, check_limits
from saddle.errors import SaddleError


@dataclass(frozen=True)
class Options:
    """Settings of an analysis, checked on construction."""

    limits: tuple[float | tuple[float, ...], ...] = ()
    """Cost limits to look at, each with one number for each constraint; with one constraint every
    number is a limit. Empty: those of the runs, and the published ones of tasks that have some.
    """
    final_share: float = 0.05
    """Share of training, from its end, over which a run's return and cost are averaged."""
    scale: Literal["log", "linear"] = "log"
    """Lines, and smoothing, over log lambda, or over lambda. The published scripts smooth over
    lambda; lines between their smoothed points are over log lambda.
    """
    frac: float = 0.3
    """Share of the lambdas that LOWESS looks at for one point (at least five of them): for rises
    and scatter.
    """
    iterations: int = 0
    """Robust reweightings of LOWESS."""
    correct: bool = True
    """Add the smoothed residuals, which takes back most of the bias of LOWESS at bends."""
    construction: Literal["dominance", "published"] = "dominance"
    """Frontier: undominated ones of the means that fall with lambda, or running maxima over
    smoothed means.
    """
    level: float = 0.95
    """Of every interval and band."""
    replicates: int = 1000
    """Bootstrap replicates."""
    satisfied_share: float = 0.9
    """Share of seeds that should satisfy a limit, for the margin."""
    grid: int = 101
    """Points of the fine grids."""
    constraint: int | str | None = None
    """Which of several constraints to look at, by its place or its name; None: each of them."""
    unfinished: bool = False
    """Use runs that are still in progress."""
    seed: int = 0
    """Of the bootstrap."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "limits", tuple(map(_limit, self.limits)))
        for name in ("final_share", "frac"):
            if not 0 < getattr(self, name) <= 1:
                raise SaddleError(
                    f"{name} is {getattr(self, name)}; it must be above 0 and at most 1"
                )
        for name in ("level", "satisfied_share"):
            if not 0 < getattr(self, name) < 1:
                raise SaddleError(f"{name} is {getattr(self, name)}; it must lie between 0 and 1")
        for name, least in (
            ("iterations", 0),
            ("replicates", 100),
            ("grid", 11),
            ("seed", 0),
        ):
            self._check_at_least(name, least)
        if isinstance(self.constraint, int):
            self._check_at_least("constraint", 0)
        for limit in self.limits:
            check_limits(limit if isinstance(limit, tuple) else (limit,))

    def _check_at_least(self, name: str, least: int) -> None:
        if getattr(self, name) < least:
            raise SaddleError(f"{name} is {getattr(self, name)}; it must be {least} or more")

    @classmethod
    def of_command(
        cls,
        limits: Sequence[Sequence[float]],
        published: bool,
        constraint: int | str | None,
        unfinished: bool,
    ) -> "Options":
        """What a command line asks for; `limits` holds one sequence per --limit."""
        if isinstance(constraint, str) and constraint.lstrip("-").isdecimal():
            constraint = int(constraint)
        return cls.by_method(
            "published" if published else "profile",
            limits=tuple(map(tuple, limits)),
            constraint=constraint,
            unfinished=unfinished,
        )

    @classmethod
    def by_method(cls, method: LambdaStarMethod, **changes: Any) -> "Options":
        """Options that find lambda* in this way."""
        return cls.published(**changes) if method == "published" else cls(**changes)

    @classmethod
    def published(cls, **changes: Any) -> "Options":
        """The published way: LOWESS with frac 0.5 over linear lambda, uncorrected, lines over log
        lambda between the smoothed points, and running maxima.
        """
        return cls(
            **{
                "scale": "linear",
                "frac": 0.5,
                "correct": False,
                "construction": "published",
                **changes,
            }
        )


def _limit(limit: float | Sequence[float]) -> float | tuple[float, ...]:
    """A number, or one for each constraint."""
    if isinstance(limit, list | tuple):
        return tuple(map(float, limit))
    return float(limit)  # type: ignore[arg-type]
