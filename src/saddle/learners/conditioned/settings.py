"""Settings of PPO with the multipliers as inputs. Without JAX."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, Self

from saddle.checks import positive
from saddle.errors import SaddleError
from saddle.learners.ppo.settings import PPO
from saddle.multipliers.counts import usual_count
from saddle.multipliers.dial import Dial
from saddle.multipliers.rule import Rule

if TYPE_CHECKING:
    from saddle.learners.conditioned.learner import ConditionedLearner
    from saddle.tasks.spec import TaskSpec


KLStop = Literal["mean", "worst"]
"""Whose KL ends passes: all samples', or that of the stratum which moved furthest."""


@dataclass(frozen=True)
class Conditioned(PPO):
    """PPO with the multipliers as inputs of policy and critics: one run learns the whole frontier.

    Every episode has multipliers of its own, drawn from a range on a logarithmic scale.
    """

    algorithm: ClassVar[str] = "conditioned"
    metrics: ClassVar[Mapping[str, type[int] | type[float]]] = {
        **PPO.metrics,
        "dial_lambda": float,
        "dial_return": float,
        "dial_cost": float,
        "dial_episodes": int,
    }

    usual_rule: ClassVar[type[Rule]] = Dial

    lambda_low: float = 0.08
    """Least multiplier of an episode."""
    lambda_high: float = 12.5
    """Largest multiplier of an episode."""
    strata: int | None = None
    """Parts of the range, for each constraint, that episodes are spread over evenly. Advantages are
    scaled in each part apart, and returns and costs are logged for each. None: 9; of two
    constraints 5 each, of more 3 each.
    """
    kl_stop: KLStop = "mean"
    """Whose KL ends a member's passes where it exceeds `target_kl`: the 'mean' of all samples, or
    that of the 'worst' of the strata.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        positive(self, "lambda_low")
        if not self.lambda_high > self.lambda_low:
            raise SaddleError(
                f"lambda_high is {self.lambda_high}; it must be above lambda_low, {self.lambda_low}"
            )
        if self.strata is not None and self.strata < 2:
            raise SaddleError(f"strata is {self.strata}; the range has at least 2 parts")

    def check_rule(self, rule: Rule) -> None:
        """Multipliers are drawn, so no rule moves them."""
        if not rule.drawn:
            raise SaddleError(
                f"the learner 'conditioned' draws lambda for each episode, so it cannot follow the "
                f"rule {rule.name!r}; use the rule 'dial'"
            )

    def strata_of(self, constraints: int) -> int:
        """Parts of each constraint's range."""
        return self.strata or usual_count(constraints)

    def looked_at(self, lambdas: int) -> Self:
        """The same with as many strata."""
        return dataclasses.replace(self, strata=lambdas)

    def learner(self, spec: "TaskSpec") -> "ConditionedLearner":
        """The algorithm with these settings, for a task."""
        from saddle.learners.conditioned.learner import ConditionedLearner

        return ConditionedLearner(self, spec)

    @classmethod
    def for_machine(cls, accelerated: bool) -> "Conditioned":
        """Small networks on a CPU, the published ones on an accelerator."""
        from saddle.learners.conditioned.sizes import ACCELERATOR, LAPTOP

        return ACCELERATOR if accelerated else LAPTOP

    def member_bytes(self, obs_dim: int, action_dim: int, constraints: int) -> int:
        """As PPO's, with an input for each multiplier."""
        return super().member_bytes(obs_dim + constraints, action_dim, constraints)

    def flop(self, obs_dim: int, action_dim: int, constraints: int) -> float:
        """As PPO's, with an input for each multiplier."""
        return super().flop(obs_dim + constraints, action_dim, constraints)
