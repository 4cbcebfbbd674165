"""Adam's numbers, as PyTorch has them. Learners step networks with it, a rule steps lambda."""

BETA_1 = 0.9
"""Weight of the past in the first moment."""
BETA_2 = 0.999
"""Weight of the past in the second moment."""
EPSILON = 1e-8
"""Added to the root of the second moment."""
