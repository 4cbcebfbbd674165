"""What every learner's settings have in common, without JAX: command lines, study files and
analyses read them.

A learner is one folder: a frozen dataclass with its settings, derived from `LearnerSettings`, and a
class with the protocol of `api.py`, which `LearnerSettings.learner` imports when a population is
made.
"""

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ClassVar,
    Literal,
    NamedTuple,
    Protocol,
    Self,
)

from tyro.conf import Suppress

from saddle.checks import a_share, at_least
from saddle.collect.settings import CollectSettings
from saddle.errors import SaddleError
from saddle.multipliers.ascent import GradientAscent
from saddle.multipliers.rule import Rule

if TYPE_CHECKING:
    from saddle.learners.api import Learner
    from saddle.tasks.spec import TaskSpec

Precision = Literal["highest", "tf32", "bf16"]

ScaleInvariance = Literal["published", "bounded", "off"]
"""How costs are weighed so that at lambda = 1 reward and cost pull equally hard."""


class ScaleSettings(Protocol):
    """What learners with reward-scale invariance have in their settings."""

    @property
    def rsi(self) -> ScaleInvariance:
        """Whether there is a beta, and whether it is bounded."""
        ...

    @property
    def rsi_ema(self) -> float:
        """Weight of the past in beta."""
        ...

    @property
    def rsi_max(self) -> float:
        """Of each ratio, where it is bounded; 1 / rsi_max is its least."""
        ...


def check_scale(settings: ScaleSettings) -> None:
    """Refuse settings of reward-scale invariance that mean nothing."""
    a_share(settings, "rsi_ema")
    if not settings.rsi_max >= 1:
        raise SaddleError(f"rsi_max is {settings.rsi_max}; it must be 1 or more")


class Clock(NamedTuple):
    """When rules move lambda, for learners whose epochs are divided into cycles."""

    each_cycle: bool = False
    """After each cycle, also while no further episode ends; else after each epoch in which one
    ended.
    """
    rest: int = 0
    """Env steps of a member that have to be exceeded before anything moves."""


@dataclass(frozen=True)
class LearnerSettings(CollectSettings):
    """Settings that a population and a study need, whatever the algorithm. All fields have
    defaults.
    """

    algorithm: ClassVar[str]
    """In command lines, study files, stores and run names: one lower-case word."""
    metrics: ClassVar[Mapping[str, type[int] | type[float]]] = {}
    """What the learner logs of every epoch, beside what a population logs by itself: name -> int or
    float.
    """

    usual_rule: ClassVar[type[Rule]] = GradientAscent
    """What moves lambda where nobody says."""

    window: int = 100
    """Finished episodes whose mean cost the multiplier sees."""
    start: Annotated[str | None, Suppress] = None
    """Folder of an exported policy to begin from; None begins with random weights. Critics and
    Adam's moments begin anew.
    """
    precision: Precision = "highest"
    """Of the factors of the networks' products: float32, 10 bits of mantissa, or 7. Sums and all
    else are float32; but with bf16 on a GPU the gradients of the weights between hidden layers have
    7 bits too, and anywhere Adam's first moments of weights.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least(self, "window", 1)

    @property
    def rule_clock(self) -> Clock:
        """When rules move lambda. A learner that learns once an epoch has no choice: before it
        learns.
        """
        return Clock()

    def updates_of_lambda(self, steps: int) -> int:
        """How often a rule may move lambda in a training of so many env steps, and at least once:
        not before the clock's `rest` is over.
        """
        whole = steps // self.steps_per_epoch * self.steps_per_epoch
        every = self.steps_per_cycle if self.rule_clock.each_cycle else self.steps_per_epoch
        return max(1, whole // every - self.rule_clock.rest // every)

    def check_steps(self, steps: int) -> None:
        """Refuse a training of so many env steps where nothing would be learned in it."""
        del steps

    def check_rule(self, rule: Rule) -> None:
        """Refuse a rule that this learner cannot be trained with."""
        if rule.drawn:
            raise SaddleError(
                f"the rule {rule.name!r} needs a learner that takes lambda as an input, such as "
                f"'conditioned'; {self.algorithm!r} does not"
            )

    def learner(self, spec: "TaskSpec") -> "Learner":
        """The algorithm with these settings, for a task."""
        raise NotImplementedError

    def member_bytes(self, obs_dim: int, action_dim: int, constraints: int) -> int:
        """Device memory that one more member of a population takes, roughly: here that of an
        epoch's rollout, twice.
        """
        row = 2 * obs_dim + 3 * action_dim + 8 * (1 + constraints)
        return 4 * 2 * self.steps_per_epoch * row

    def room_advice(self, there: int, obs_dim: int, action_dim: int, constraints: int) -> str:
        """What to do about a member that does not fit into so many bytes."""
        del there, obs_dim, action_dim, constraints
        return "lower the learner's hidden, steps_per_epoch or batch"

    def flop(self, obs_dim: int, action_dim: int, constraints: int) -> float:
        """Floating-point operations that one member's learning takes in an epoch, matrix products
        alone; 0: unknown.
        """
        return 0.0

    @classmethod
    def for_machine(cls, accelerated: bool) -> Self:
        """Settings with which a frontier is found in minutes, on a CPU or on an accelerator."""
        del accelerated
        return cls()

    def looked_at(self, lambdas: int) -> Self:
        """The same where a policy that takes lambda as an input is logged at so many of each
        constraint.
        """
        raise SaddleError(
            f"{self.algorithm!r} cannot be looked at in {lambdas} parts of its range; leave "
            f"lambdas out"
        )

    def for_bench(self) -> Self:
        """The same where every epoch takes all its work: no member stops early."""
        return self

    def sample(self, epochs: int) -> tuple[Self, float]:
        """Settings whose epoch is a typical sample of what this one learns in an epoch of so many,
        and how many of it make up the whole.

        A machine's speed is measured with it before a study begins. A learner whose epochs take
        seconds need not have one of its own.
        """
        del epochs
        return self, 1.0


def begun_from(settings: LearnerSettings, policy: str | None) -> LearnerSettings:
    """The settings, with training begun from that policy if one is named."""
    if policy in ("random", "scripted"):
        raise SaddleError(
            f"the {policy} policy has no network to begin from; give the path of an exported policy"
        )
    return settings if policy is None else dataclasses.replace(settings, start=policy)


def differences(settings: LearnerSettings, base: LearnerSettings) -> dict[str, Any]:
    """The settings that are not as in `base`; those of another algorithm that are not its
    defaults.
    """
    if type(settings) is not type(base):
        base = type(settings)()
    found: dict[str, Any] = {}
    for field in dataclasses.fields(settings):
        value = getattr(settings, field.name)
        if value != getattr(base, field.name):
            found[field.name] = value
    return found


def plain(settings: Any) -> dict[str, Any]:
    """Plain JSON of a dataclass with settings: lists instead of tuples, "inf" instead of
    infinity.
    """
    fields = dataclasses.fields(settings)
    return {field.name: _plain_value(getattr(settings, field.name)) for field in fields}


def _plain_value(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain_value(item) for item in value]
    if isinstance(value, float) and math.isinf(value):
        return "inf"
    return value
