"""What the runs of a rule at a limit did during training, over their seeds."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import polars as pl
from scipy.special import bdtr

from saddle.analysis.findings import Cell, Estimate, OverTraining
from saddle.analysis.summary import cost_estimate, estimate


def of_seeds(rows: pl.DataFrame, level: float) -> OverTraining:
    """The runs of a rule at a limit together; rows: one of each run,
    with the columns OVER_TRAINING.
    """
    settled = rows["settled_after"].to_numpy()
    return OverTraining(
        epochs_above=_share(rows["epochs_above"], level),
        episodes_above=_share(rows["shares_above"], level),
        excess=_mean(rows["excess"], level),
        settled_share=float(np.isfinite(settled).mean()),
        settled_after=median(np.nan_to_num(settled, nan=np.inf), level),
        within_share=1 - rows["overshoot"].null_count() / rows.height,
        overshoot=_mean(rows["overshoot"], level),
        oscillation=_mean(rows["oscillation"], level),
        tail_cost=_mean(rows["tail_cost"], level),
    )


def _mean(values: pl.Series, level: float) -> Estimate:
    known = values.drop_nulls().to_numpy()
    return cost_estimate(known, level) if len(known) else Estimate(None)


def _share(values: pl.Series, level: float) -> Estimate:
    found = _mean(values, level)
    return found if found.hi is None else replace(found, hi=min(found.hi, 1.0))


def notes(cells: Sequence[Cell]) -> list[str]:
    """What the runs' metrics do not tell of their training."""
    found = [cell.over_training for cell in cells if cell.over_training is not None]
    missing = []
    if any(one.episodes_above.value is None for one in found):
        missing.append("the share of episodes above the limit")
    if any(one.tail_cost.value is None for one in found):
        missing.append("the cost of the worst episodes")
    if not missing:
        return []
    return [
        f"Of some rules {' and '.join(missing)} cannot be told: their runs were stored without "
        f"episodes_above and window_cvar."
    ]


def median(values: np.ndarray, level: float) -> Estimate:
    """The median of values, of which some may be infinite, and the interval between two of them
    that holds it whatever their distribution; too few have none.
    """
    ordered = np.sort(values)
    n = len(ordered)
    middle = (ordered[(n - 1) // 2] + ordered[n // 2]) / 2
    out = int(np.searchsorted(bdtr(np.arange(n), n, 0.5), (1 - level) / 2, side="right"))
    if out == 0 or not np.isfinite(middle):
        return estimate(middle, np.nan, np.nan)
    return estimate(middle, ordered[out - 1], ordered[n - out])
