"""Parts of a run's training, as expressions over its rows of metrics: one per epoch."""

import polars as pl

epoch = pl.col("epoch").cast(pl.Int64)
length = epoch.max() - epoch.min() + 1
"""How many epochs a run has."""


def epochs_in(share: float) -> pl.Expr:
    """How many epochs a share of a run's are, rounded up, and at least one."""
    rounding = 1e-9  # of the product, which must not make an epoch more
    return (share * length - rounding).ceil().clip(lower_bound=1)


def is_last(share: float) -> pl.Expr:
    """Whether an epoch is in the last such share of its run."""
    return epoch > epoch.max() - epochs_in(share)
