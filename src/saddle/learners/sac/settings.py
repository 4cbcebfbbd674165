"""Settings of SAC with a Lagrange multiplier. Defaults are those of the published study. Without
JAX.
"""

import dataclasses
import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, Self

from tyro.conf import Suppress, arg

from saddle.checks import a_share, at_least, layers, positive
from saddle.errors import SaddleError
from saddle.learners.settings import Clock, LearnerSettings, ScaleInvariance, check_scale

if TYPE_CHECKING:
    from saddle.learners.sac.learner import SACLearner
    from saddle.tasks.spec import TaskSpec

SAMPLED_CYCLES = 4  # of an epoch, where the speed of learning is measured


@dataclass(frozen=True)
class SAC(LearnerSettings):
    """Soft actor-critic with a Lagrange multiplier."""

    algorithm: ClassVar[str] = "sac"
    metrics: ClassVar[Mapping[str, type[int] | type[float]]] = {
        "beta": float,
        "entropy": float,
        "std": float,
        "alpha": float,
        "loss_pi": float,
        "loss_q": float,
        "loss_qc": float,
        "q_r": float,
        "q_c": float,
        "grad_r": float,
        "grad_c": float,
        "grad_pi": float,
        "start_q_r": float,
        "start_q_c": float,
        "start_mc_r": float,
        "start_mc_c": float,
    }

    steps_per_epoch: int = 2_000
    """Env steps a member collects per epoch, over all its worlds."""
    obs_norm: Annotated[bool, Suppress] = False
    """Off: the replay keeps observations as they are, and so the networks see them."""
    window: int = 10
    """Finished episodes whose mean cost the multiplier sees."""
    cycle: int = 20
    """Env steps of a member, over all its worlds, between two times of learning. The layout 'wide'
    has that many worlds unless told, 'study' one.
    """
    updates: int = 1
    """Updates after each cycle."""
    random_steps: int = 10_000
    """Env steps up to which actions are uniform and nothing is learned: each cycle that begins
    there.
    """
    replay: int = 1_000_000
    """Transitions that a member keeps; the oldest give way."""
    replay_type: Literal["float32", "bf16"] = "float32"
    """Of observations and actions in the replay; bf16 rounds them to 7 bits and halves it. Rewards
    and costs are float32.
    """
    batch: int = 256
    """Transitions in an update."""
    delay: int = 2
    """Every so many updates the actor and all targets move."""
    hidden: tuple[int, ...] = (512, 512)
    """Widths of the hidden layers of actor and critics."""
    activation: Literal["elu", "tanh", "relu"] = "elu"
    """Of the hidden layers."""
    actor_lr: float = 5e-6
    """Adam's; stays."""
    critic_lr: float = 1e-3
    """Adam's, also that of a tuned temperature; stays."""
    gamma: float = 0.99
    """Discount of rewards. 1 has no horizon where a time limit cuts episodes, since values go on
    behind the cut.
    """
    cost_gamma: float = 0.99
    """Discount of costs. Below 1 where a time limit cuts episodes, as that of rewards."""
    polyak: float = 0.005
    """Share of the networks in their targets, each time these move."""
    alpha: float = 1e-5
    """Entropy's temperature, unless it is tuned."""
    tune_alpha: Annotated[
        bool,
        arg(
            help="Tune the temperature, from 1, to an entropy of minus the number of actions.",
            help_behavior_hint="(default: it stays)",
        ),
    ] = False
    """Move the temperature, from 1, until the entropy is minus the number of actions."""
    cost_target: Literal["mean", "sampled"] = "mean"
    """Next action in the cost critics' targets: the policy's mean, as in the published study, or a
    draw, as in the reward critics' target. Choices are always weighed by their probabilities.
    """
    cost_critics: int = 1
    """Critics of each constraint, which begin differently and learn each from its own target."""
    cost_caution: float = 0.0
    """Where the actor is priced, a cost is the mean of its critics plus this many standard
    deviations among them: an upper confidence bound.
    """
    layer_norm: Annotated[
        bool,
        arg(
            help="Normalise what enters the critics' hidden activations, sample by sample.",
            help_behavior_hint="(default: as it is)",
        ),
    ] = False
    """Bring what enters each hidden activation of the critics to mean 0 and variance 1, sample by
    sample.
    """
    max_grad_norm: float = 40.0
    """Gradients of the actor, of both reward critics together and of each cost critic are scaled
    down to this norm.
    """
    rsi: ScaleInvariance = "published"
    """Reward-scale invariance: costs are weighed by beta, the mean of |grad of return| / |grad of
    cost|. 'published' has no bound, 'bounded' keeps each ratio within [1 / rsi_max, rsi_max], 'off'
    makes beta 1.
    """
    rsi_every: int = 50
    """Actor updates between two looks at the gradients' norms."""
    rsi_batch: int = 128
    """Observations of an update, drawn with replacement, that such a look takes."""
    rsi_ema: float = 0.9
    """Weight of the past in beta."""
    rsi_max: float = 10.0
    """Of each ratio before the mean, where rsi is 'bounded': beta then begins at 1. Without a bound
    beta is the inverse of noise where a cost critic is flat.
    """
    clock: Literal["epoch", "update"] = "epoch"
    """When rules move lambda: once an epoch in which an episode ended, or after every cycle's
    updates, as OmniSafe does. Never while actions are random.
    """
    warmup_epochs: int = 0
    """Epochs at the start in which lambda stays. OmniSafe's are 101."""

    def __post_init__(self) -> None:
        super().__post_init__()
        whole = ("cycle", "updates", "replay", "batch", "delay", "cost_critics")
        for field in (*whole, "rsi_every", "rsi_batch"):
            at_least(self, field, 1)
        for field in (
            "random_steps",
            "actor_lr",
            "critic_lr",
            "alpha",
            "cost_caution",
            "warmup_epochs",
        ):
            at_least(self, field, 0)
        for field in ("gamma", "cost_gamma", "polyak"):
            a_share(self, field)
        positive(self, "max_grad_norm")
        check_scale(self)
        layers(self, "hidden")
        if self.cost_caution and self.cost_critics == 1:
            raise SaddleError(
                f"cost_caution is {self.cost_caution}, but one cost critic does not differ from "
                f"itself; set cost_critics to 2 or more"
            )
        self._check_cycles()
        self._check_replay()

    def _check_cycles(self) -> None:
        if self.steps_per_epoch % self.cycle:
            raise SaddleError(
                f"a cycle of {self.cycle} steps does not divide {self.steps_per_epoch} steps per "
                f"epoch; choose a divisor"
            )
        if self.worlds is not None and self.cycle % self.worlds:
            raise SaddleError(
                f"{self.worlds} worlds do not divide a cycle of {self.cycle} steps; choose a "
                f"divisor of cycle, or a multiple as cycle"
            )
        if self.obs_norm:
            raise SaddleError(
                "sac learns from observations as they are; leave obs_norm off, and scale them in "
                "the task if need be"
            )

    def _check_replay(self) -> None:
        for field, what in (("batch", "a batch"), ("cycle", "a cycle")):
            if self.replay < getattr(self, field):
                raise SaddleError(
                    f"replay is {self.replay}, less than {what} of {getattr(self, field)}; raise "
                    f"replay or lower {field}"
                )

    @property
    def steps_per_cycle(self) -> int:
        """Env steps that a member collects before it learns from them."""
        return self.cycle

    @property
    def in_cycles(self) -> bool:
        """Always, be it one."""
        return True

    @property
    def goes_on(self) -> bool:
        """Episodes outlast cycles and epochs in both layouts."""
        return True

    @property
    def rule_clock(self) -> Clock:
        """When rules move lambda."""
        rest = max(self._random_until, self.warmup_epochs * self.steps_per_epoch)
        return Clock(each_cycle=self.clock == "update", rest=rest)

    def worlds_for(self, episode_length: int) -> int:
        """Worlds per member: one in the layout 'study'; in 'wide' as many as take a cycle in one
        step.
        """
        del episode_length
        if self.worlds is not None:
            return self.worlds
        return 1 if self.layout == "study" else self.cycle

    def check_steps(self, steps: int) -> None:
        """Refuse a training that ends before the first update."""
        if steps < self._random_until + self.cycle:
            raise SaddleError(
                f"steps is {steps}, but actions are random for {self._random_until}, and the first "
                f"update follows {self.cycle} more; raise steps or lower random_steps"
            )

    @property
    def _random_until(self) -> int:
        """Env steps at the end of the last cycle that is random."""
        return (self.random_steps // self.cycle + 1) * self.cycle

    def learner(self, spec: "TaskSpec") -> "SACLearner":
        """SAC with these settings, for a task."""
        from saddle.learners.sac.learner import SACLearner

        return SACLearner(self, spec)

    def member_bytes(self, obs_dim: int, action_dim: int, constraints: int) -> int:
        """Device memory that one more member of a population takes, roughly.

        The replay, which cycles write in place, and its copy while a run begins or is saved;
        networks with targets and Adam, twice; and what passes between a network's layers, about ten
        arrays forward and backward.
        """
        actor, critic = self._weights(obs_dim, action_dim)
        networks = 3 * actor + 4 * (2 + constraints * self.cost_critics) * critic
        between = 10 * self.batch * max(self.hidden)
        row = self._row_bytes(obs_dim, action_dim, constraints)
        return 2 * self.replay * row + 4 * (2 * networks + between)

    def room_advice(self, there: int, obs_dim: int, action_dim: int, constraints: int) -> str:
        """The replay that would fit, where it is the replay that does not."""
        dims = (obs_dim, action_dim, constraints)
        each = 2 * self._row_bytes(*dims)
        most = (there - (self.member_bytes(*dims) - self.replay * each)) // each
        if most < max(self.batch, self.cycle):
            return super().room_advice(there, *dims)
        return f"lower the learner's replay to at most {most:,}"

    def _row_bytes(self, obs_dim: int, action_dim: int, constraints: int) -> int:
        """Of a transition in the replay, next observations at ends left out."""
        wide = 2 if self.replay_type == "bf16" else 4
        return wide * (obs_dim + action_dim) + 4 * (2 + constraints)

    def flop(self, obs_dim: int, action_dim: int, constraints: int) -> float:
        """Floating-point operations of one member's updates in an epoch, matrix products alone.

        A layer of a x b weights takes 2 a b a sample forward, as much for its gradient, and as much
        to go on backward. Critics go forward three times for each sample, once as targets; the
        actor's way leads through all critics every `delay` updates. Beta's own gradients, which are
        rare, are left out.
        """
        actor, critic = self._weights(obs_dim, action_dim)
        critics = (2 + constraints * self.cost_critics) * critic
        update = actor + 4 * critics + (3 * actor + 2 * critics) / self.delay
        updates = self.updates * self.steps_per_epoch / self.cycle
        return 2.0 * self.batch * updates * update

    def _weights(self, obs_dim: int, action_dim: int) -> tuple[int, int]:
        """Weights of the actor, and of a critic."""

        def count(inputs: int, outputs: int) -> int:
            widths = (inputs, *self.hidden, outputs)
            return sum((before + 1) * after for before, after in itertools.pairwise(widths))

        return count(obs_dim, 2 * action_dim), count(obs_dim + action_dim, 1)

    @classmethod
    def for_machine(cls, accelerated: bool) -> "SAC":
        """Small networks on a CPU, many worlds and large batches on an accelerator. The published
        actor would hardly move in the epochs of a frontier.
        """
        from saddle.learners.sac.sizes import FAST, LAPTOP

        return FAST if accelerated else LAPTOP

    def for_bench(self) -> Self:
        """The same where all cycles but the first are learned from."""
        return dataclasses.replace(self, random_steps=0)

    def sample(self, epochs: int) -> tuple[Self, float]:
        """A few cycles that are learned from, with a small replay."""
        del epochs
        cycles = min(SAMPLED_CYCLES * self.delay, self.steps_per_epoch // self.cycle)
        steps = cycles * self.cycle
        small = dataclasses.replace(
            self,
            steps_per_epoch=steps,
            replay=min(self.replay, max(self.batch, 2 * steps)),
            random_steps=0,
        )
        return small, self.steps_per_epoch / steps
