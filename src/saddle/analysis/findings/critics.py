"""What critics said of episodes as these began, beside what they came to."""

from dataclasses import dataclass, field

from saddle.analysis.findings.values import IF_ANY, Estimate


@dataclass(frozen=True)
class CriticBias:
    """Of one rule at one lambda or limit, at the end of training: means over seeds."""

    rule: str
    lambda_: float | None
    limit: float | None
    signal: str
    """'reward', or the name of a constraint."""
    seeds: int
    said: Estimate
    """By the critics that the actor goes by, of an episode's first action; discounted."""
    came: Estimate
    """What the episodes came to, discounted alike."""
    bias: Estimate
    """Said minus came, seed by seed. An interval without 0 shows critics that are off."""
    share: float | None
    """Bias as a share of what came; None where that is 0."""
    others: tuple[float, ...] = field(default=(), metadata=IF_ANY)
    """Lambdas of the other constraints."""
