"""What a run is, as frozen dataclasses: the command line, study files, manifests and checkpoints all use these.

Every field is checked on construction, so that a config that exists is one that can run. Defaults are as
published.
"""

import dataclasses
import math
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from tyro.conf import arg

from saddle.errors import SaddleError
from saddle.multipliers.fixed import Fixed
from saddle.multipliers.rule import Rule, at_least

Precision = Literal["highest", "tf32", "bf16"]
Layout = Literal["study", "wide"]


def whole(name: str, value: float) -> int:
    """The option's value as a whole number, which may be written as 1e6."""
    if not math.isfinite(value) or value != int(value):
        raise SaddleError(f"{name} is {value}; it must be a whole number, such as 20000 or 1e6")
    return int(value)


@dataclass(frozen=True)
class PPO:
    """Proximal policy optimisation with a Lagrange multiplier."""

    steps_per_epoch: int = 20_000
    """Env steps a member collects per epoch, over all its worlds."""
    layout: Layout = "study"
    """'study': few worlds, reset every epoch, whole episodes. 'wide': many worlds, whose episodes outlast an epoch."""
    worlds: int | None = None
    """Worlds per member; None lets the layout choose: whole episodes in 'study', segments of 100 steps in 'wide'."""
    passes: int = 20
    """Passes over an epoch's data at most."""
    batch: int = 1024
    """Samples in a minibatch; the last one of a pass takes what is left."""
    target_kl: float = 0.02
    """A member stops its passes when KL(old, new), taken after each pass, exceeds this."""
    clip: float = 0.2
    """Of the probability ratio."""
    entropy: float = 0.0
    """Weight of the entropy bonus."""
    gamma: float = 0.99
    """Discount of rewards."""
    lam: float = 0.95
    """Of GAE, for rewards."""
    cost_gamma: float = 0.99
    """Discount of costs."""
    cost_lam: float = 0.95
    """Of GAE, for costs."""
    standardise: Annotated[
        bool,
        arg(
            help="Only centre the reward's advantages.",
            help_behavior_hint="(default: they are scaled to standard deviation 1)",
        ),
    ] = True
    """Scale the reward's advantages to standard deviation 1. Costs are only centred: lambda prices their scale."""
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
    window: int = 100
    """Finished episodes whose mean cost the multiplier sees."""
    rsi: Annotated[
        bool,
        arg(
            help="No reward-scale invariance: beta is 1.",
            help_behavior_hint="(default: costs are weighed by |grad of return| / |grad of cost|)",
        ),
    ] = True
    """Reward-scale invariance: weigh costs by beta = |grad of return| / |grad of cost|."""
    rsi_ema: float = 0.9
    """Weight of the past in beta."""
    rsi_max: float = math.inf
    """Largest beta. The published study has none; with no cost in a batch beta explodes."""
    precision: Precision = "highest"
    """Of the factors of the networks' products: float32, 10 bits of mantissa, or 7. Sums and all else are float32; but
    with bf16 on a GPU the gradients of the weights between hidden layers have 7 bits too, and anywhere Adam's first
    moments of weights."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "hidden", tuple(self.hidden))
        for field in ("steps_per_epoch", "passes", "batch", "window"):
            at_least(self, field, 1)
        for field in ("clip", "entropy", "actor_lr", "critic_lr", "critic_l2", "target_kl"):
            at_least(self, field, 0.0)
        for field in ("gamma", "lam", "cost_gamma", "cost_lam", "rsi_ema"):
            if not 0 <= getattr(self, field) <= 1:
                raise SaddleError(f"{field} is {getattr(self, field)}; it must lie in [0, 1]")
        for field in ("max_grad_norm", "obs_clip", "rsi_max"):
            if not getattr(self, field) > 0:
                raise SaddleError(f"{field} is {getattr(self, field)}; it must be positive")
        if not self.hidden or min(self.hidden) < 1:
            raise SaddleError(f"hidden is {self.hidden}; it must name at least one layer, each of width 1 or more")
        if self.worlds is not None and (self.worlds < 1 or self.steps_per_epoch % self.worlds):
            raise SaddleError(
                f"{self.worlds} worlds do not divide {self.steps_per_epoch} steps per epoch; choose a divisor"
            )

    def in_layout(self, layout: Layout) -> "PPO":
        """The same in that layout, with as many worlds as it chooses unless it is this one's already."""
        return self if layout == self.layout else dataclasses.replace(self, layout=layout, worlds=None)

    def worlds_for(self, episode_length: int) -> int:
        """Worlds per member on a task with episodes of that many steps."""
        if self.worlds is not None:
            return self.worlds
        steps = min(episode_length if self.layout == "study" else 100, self.steps_per_epoch)
        while self.steps_per_epoch % steps:
            steps -= 1
        return self.steps_per_epoch // steps


@dataclass(frozen=True)
class Member:
    """One run of a population. `limits` has one entry per constraint; a fixed rule does not use it."""

    seed: int = 0
    rule: Rule = Fixed()
    limits: tuple[float, ...] = (25.0,)

    def __post_init__(self) -> None:
        if not 0 <= self.seed < 2**31:
            raise SaddleError(f"seed is {self.seed}; it must lie in [0, 2**31)")
        if not all(limit >= 0 and math.isfinite(limit) for limit in self.limits):
            raise SaddleError(f"the cost limit is {self.limits}; limits must be 0 or more")


def to_dict(config: Any) -> dict[str, Any]:
    """Plain JSON of a config."""
    return {field.name: _plain(getattr(config, field.name)) for field in dataclasses.fields(config)}


def ppo_from(fields: dict[str, Any]) -> PPO:
    """The PPO that `to_dict` described."""
    known: dict[str, Any] = {key: math.inf if value == "inf" else value for key, value in fields.items()}
    return PPO(**known)


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value):
        return to_dict(value)
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return "inf" if isinstance(value, float) and math.isinf(value) else value
