"""Whether training had come to rest when it ended."""

import numpy as np
import polars as pl

from saddle.analysis.epochs import epoch, epochs_in, is_last

SHARE = 0.1
"""Of training: its last part is compared with the part before that is as long."""

STANDARD_ERRORS = 2.5
"""A mean change beyond so many is no noise."""

LEAST = 0.02
"""Of the span over the sweep: smaller changes move no conclusion."""

FEWEST = 3
"""Trained policies whose scatter says anything."""


def gain(name: str) -> pl.Expr:
    """Of a run: how much its last tenth of training had more of this than the tenth before."""
    last = is_last(SHARE)
    before = ~last & (epoch > epoch.max() - 2 * epochs_in(SHARE))
    values = pl.col(name).cast(pl.Float64).fill_nan(None)
    return values.filter(last).mean() - values.filter(before).mean()


def still_moving(swept: pl.DataFrame) -> list[str]:
    """A note where return or cost of the sweep's runs still moved. swept: the columns of finals."""
    moved = []
    for name in ("return", "cost"):
        by_lambda = swept.group_by("lambda", maintain_order=True)
        means = by_lambda.agg(pl.col(name).mean())[name].to_numpy()
        span = float(np.ptp(means)) if len(means) else 0.0
        # The strata of a dial are one policy, whose noise they share.
        policies = swept.group_by("trained", maintain_order=True)
        gains = policies.agg(pl.col(f"{name}_gain").mean())[f"{name}_gain"].drop_nulls().to_numpy()
        if len(gains) < FEWEST or not span > 0:
            continue
        change = float(gains.mean())
        noise = float(gains.std(ddof=1)) / np.sqrt(len(gains))
        if abs(change) > max(STANDARD_ERRORS * noise, LEAST * span):
            verb = "rose" if change > 0 else "fell"
            share = abs(change) / span
            compared = f"{share:.0%} of" if share < 1 else "more than"
            moved.append(f"{name} {verb} by {abs(change):.3g}, {compared} its span")
    if not moved:
        return []
    return [
        f"Training was still under way when it ended: over its last tenth the mean "
        f"{' and the mean '.join(moved)} over the sweep. Longer runs move the frontier."
    ]
