"""How much is collected, and how: settings that every learner has, without JAX."""

import dataclasses
import math
from dataclasses import dataclass
from typing import Annotated, Literal, Self

from tyro.conf import arg

from saddle.checks import at_least, positive
from saddle.errors import SaddleError
from saddle.hints import bring_to_hints

Layout = Literal["study", "wide"]

WIDE_SEGMENT = 100  # steps of a world in an epoch of the wide layout


@dataclass(frozen=True)
class CollectSettings:
    """What collectors need to know."""

    steps_per_epoch: int = 20_000
    """Env steps a member collects per epoch, over all its worlds."""
    layout: Layout = "study"
    """'study': few worlds, reset every epoch, whole episodes. 'wide': many worlds, whose episodes
    outlast an epoch.
    """
    worlds: int | None = None
    """Worlds per member; None lets the layout choose: whole episodes in 'study', segments of 100
    steps in 'wide'.
    """
    obs_norm: Annotated[
        bool,
        arg(
            help="Give the networks observations as they are.",
            help_behavior_hint="(default: normalised by running mean and standard deviation)",
        ),
    ] = True
    """Normalise observations by running mean and standard deviation."""
    obs_clip: float = 5.0
    """Normalised observations stay within this."""

    def __post_init__(self) -> None:
        bring_to_hints(self)
        at_least(self, "steps_per_epoch", 1)
        positive(self, "obs_clip")
        if self.worlds is not None and (self.worlds < 1 or self.steps_per_epoch % self.worlds):
            raise SaddleError(
                f"{self.worlds} worlds do not divide {self.steps_per_epoch} steps per epoch; "
                f"choose a divisor"
            )

    @property
    def steps_per_cycle(self) -> int:
        """Env steps that a member collects before it learns from them: those of a whole epoch,
        unless a learner divides its epochs.
        """
        return self.steps_per_epoch

    @property
    def in_cycles(self) -> bool:
        """Whether an epoch is made of cycles, instead of being one rollout."""
        return self.steps_per_cycle < self.steps_per_epoch

    @property
    def goes_on(self) -> bool:
        """Whether episodes outlast an epoch, instead of all worlds being reset."""
        return self.layout == "wide"

    def in_layout(self, layout: Layout) -> Self:
        """The same in that layout, with as many worlds as it chooses unless it is this one's
        already.
        """
        if layout == self.layout:
            return self
        return dataclasses.replace(self, layout=layout, worlds=None)

    def worlds_for(self, episode_length: int) -> int:
        """Worlds per member on a task with episodes of that many steps.

        In the layout 'study' each has room for a whole episode, where an epoch has.
        """
        if self.worlds is not None:
            return self.worlds
        each = self.steps_per_epoch
        if self.layout == "study":
            return largest_divisor(each, max(1, each // episode_length))
        steps = min(WIDE_SEGMENT, each)
        while each % steps:
            steps -= 1
        return each // steps


def largest_divisor(number: int, most: int) -> int:
    """The largest divisor of a positive number that is at most `most`, which is at least 1."""
    best = 1
    for small in range(1, math.isqrt(number) + 1):
        if number % small == 0:
            usable = [one for one in (small, number // small) if one <= most]
            best = max([best, *usable])
    return best
