"""Settings of PPO with a Lagrange multiplier. Defaults are as published. Without JAX."""

import dataclasses
import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, Self

from tyro.conf import arg

from saddle.checks import a_share, at_least, layers, positive
from saddle.learners.settings import LearnerSettings, ScaleInvariance, check_scale

if TYPE_CHECKING:
    from saddle.learners.ppo.learner import PPOLearner
    from saddle.tasks.spec import TaskSpec

BLOCK = 4096  # samples that a network evaluates at a time, outside a minibatch
SAMPLED_MINIBATCHES = 2  # of a pass, where the speed of learning is measured

EPOCHS = (400, 1750)
SHARE_OF_PASSES = (0.8, 0.45)
"""Of the most that an epoch may take, as members stop by their KL; means over trainings of so many
epochs. The runs in results/ took 0.94 (Circle1) and 0.69 (Goal1) in 400, 0.53 and 0.38 in 1750;
HalfCheetah 0.73 in 200, and short runs of Circle1 0.98 in 100.
"""


def usual_share_of_passes(epochs: int) -> float:
    """What share of the passes that they may take runs of so many epochs took: the recorded shares,
    and a straight line in the logarithm of epochs between them.
    """
    (short, long), (most, least) = EPOCHS, SHARE_OF_PASSES
    way = math.log(epochs / short) / math.log(long / short)
    return most + (least - most) * min(max(way, 0.0), 1.0)


@dataclass(frozen=True)
class PPO(LearnerSettings):
    """Proximal policy optimisation with a Lagrange multiplier."""

    algorithm: ClassVar[str] = "ppo"
    metrics: ClassVar[Mapping[str, type[int] | type[float]]] = {
        "beta": float,
        "kl": float,
        "passes": int,
        "entropy": float,
        "std": float,
        "loss_pi": float,
        "loss_vr": float,
        "loss_vc": float,
        "ev_r": float,
        "ev_c": float,
        "grad_r": float,
        "grad_c": float,
        "grad_pi": float,
    }

    passes: int = 20
    """Passes over an epoch's data at most."""
    batch: int = 1024
    """Samples in a minibatch; the last one of a pass takes what is left."""
    target_kl: float = 0.02
    """A member stops its passes when KL(old, new), taken after each pass, exceeds this."""
    clip: float = 0.2
    """Of the probability ratio."""
    clip_apart: bool = False
    """Clip the surrogates of reward and costs apart and add them up, instead of that of their
    weighed sum: a sample that has moved far for its reward may still move for its cost.
    """
    entropy: float = 0.0
    """Weight of the entropy bonus."""
    gamma: float = 0.99
    """Discount of rewards. 1 has no horizon where a time limit cuts episodes, since values go on
    behind the cut.
    """
    lam: float = 0.95
    """Of GAE, for rewards."""
    cost_gamma: float = 0.99
    """Discount of costs. Below 1 where a time limit cuts episodes, as that of rewards."""
    cost_lam: float = 0.95
    """Of GAE, for costs."""
    standardise: Annotated[
        bool,
        arg(
            help="Only centre the reward's advantages.",
            help_behavior_hint="(default: they are scaled to standard deviation 1)",
        ),
    ] = True
    """Scale the reward's advantages to standard deviation 1. Costs are only centred: lambda prices
    their scale.
    """
    hidden: tuple[int, ...] = (512, 512)
    """Widths of the hidden layers of actor and critics."""
    activation: Literal["elu", "tanh", "relu"] = "elu"
    """Of the hidden layers."""
    actor_lr: float = 3e-4
    """Adam's, at the start; falls linearly to 0 over training unless `lr_decay` is off."""
    critic_lr: float = 3e-4
    """Adam's; stays."""
    lr_decay: Annotated[
        bool,
        arg(
            help="Keep the actor's learning rate where it starts.",
            help_behavior_hint="(default: it falls linearly to 0)",
        ),
    ] = True
    """Let the actor's learning rate fall to 0."""
    max_grad_norm: float = 40.0
    """Each network's gradient is scaled down to this norm."""
    critic_l2: float = 1e-3
    """Weight of the critics' sum of squared parameters."""
    log_std: float = 0.0
    """Initial log of the policy's standard deviation."""
    rsi: ScaleInvariance = "published"
    """Reward-scale invariance: costs are weighed by beta, the mean of |grad of return| / |grad of
    cost|. 'published' has no bound, 'bounded' keeps each ratio within [1 / rsi_max, rsi_max] with
    costs in units of those that were met, 'off' makes beta 1.
    """
    rsi_ema: float = 0.9
    """Weight of the past in beta."""
    rsi_max: float = 10.0
    """Of each ratio before the mean, where rsi is 'bounded': beta then begins at 1. Without a bound
    beta explodes where there is no cost in a batch.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        for field in ("passes", "batch"):
            at_least(self, field, 1)
        for field in ("clip", "entropy", "actor_lr", "critic_lr", "critic_l2", "target_kl"):
            at_least(self, field, 0.0)
        for field in ("gamma", "lam", "cost_gamma", "cost_lam"):
            a_share(self, field)
        positive(self, "max_grad_norm")
        check_scale(self)
        layers(self, "hidden")

    def learner(self, spec: "TaskSpec") -> "PPOLearner":
        """PPO with these settings, for a task."""
        from saddle.learners.ppo.learner import PPOLearner

        return PPOLearner(self, spec)

    def member_bytes(self, obs_dim: int, action_dim: int, constraints: int) -> int:
        """Device memory that one more member of a population takes, roughly.

        Networks with Adam and an epoch's rollout, both twice; and what passes between a network's
        layers: for a minibatch about ten arrays forward and backward, for a block of samples two.
        """
        widths = (obs_dim, *self.hidden, 1)
        weights = sum((before + 1) * after for before, after in itertools.pairwise(widths))
        networks = (2 + constraints) * weights * 3
        row = 2 * obs_dim + 3 * action_dim + 8 * (1 + constraints)
        between = max(self.hidden) * max(10 * self.batch, 2 * BLOCK)
        return 4 * (2 * networks + 2 * self.steps_per_epoch * row + between)

    def flop(self, obs_dim: int, action_dim: int, constraints: int) -> float:
        """Floating-point operations of one member's passes in an epoch, matrix products alone.

        A layer of a x b weights takes 2 a b a sample forward, as much for its gradient, and as much
        to go on backward, which the first layer does not need. With scale invariance the actor has
        2 + m gradients from one backward pass.
        """
        hidden = sum(before * after for before, after in itertools.pairwise(self.hidden))
        first = obs_dim * self.hidden[0]
        last = self.hidden[-1]
        gradients = 1 if self.rsi == "off" else 2 + constraints
        actor = (1 + gradients) * (first + hidden + last * action_dim) + hidden + last * action_dim
        critic = 2 * (first + hidden + last) + hidden + last
        return 2.0 * self.passes * self.steps_per_epoch * (actor + (1 + constraints) * critic)

    @classmethod
    def for_machine(cls, accelerated: bool) -> "PPO":
        """Small networks on a CPU, the published ones on an accelerator."""
        from saddle.learners.ppo.sizes import ACCELERATOR, LAPTOP

        return ACCELERATOR if accelerated else LAPTOP

    def for_bench(self) -> Self:
        """The same where no member stops its passes early."""
        return dataclasses.replace(self, target_kl=1e9)

    def sample(self, epochs: int) -> tuple[Self, float]:
        """As many passes as an epoch usually takes, over a few minibatches of one world."""
        samples = min(self.steps_per_epoch, SAMPLED_MINIBATCHES * self.batch)
        passes = max(1, round(usual_share_of_passes(epochs) * self.passes))
        small = dataclasses.replace(
            self, steps_per_epoch=samples, worlds=1, passes=passes, target_kl=1e9, layout="study"
        )
        return small, self.steps_per_epoch / samples
