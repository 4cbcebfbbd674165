"""How many seeds at the joint lambda* break any limit: counted among runs that have it.

It cannot be read from the runs around it. What their seeds cost is between them, but whether one
seed breaks two limits or two seeds break one each is not.
"""

import math
from collections.abc import Sequence

import numpy as np
import polars as pl
from scipy.special import betaincinv

from saddle.analysis import findings as f
from saddle.analysis.summary import estimate
from saddle.multipliers.fixed import Fixed

NEAR = 0.05  # of each multiplier: runs within that of lambda* count as being there


def violating_any(
    finals: pl.DataFrame,
    limits: Sequence[float],
    multipliers: Sequence[f.JointMultiplier],
    level: float,
) -> f.JointViolation:
    """The share of seeds with any cost above its limit, at the runs of fixed lambdas that are
    nearest to the joint lambda*.
    """
    at = [one.train_at for one in multipliers if one.binds is not None and one.train_at is not None]
    if len(at) < len(multipliers):
        return _nothing("there is no lambda* that keeps all limits")
    fixed = finals.filter(pl.col("rule") == Fixed.name)
    points = fixed["lambdas"].to_list()
    if not points:
        return _nothing("no run has fixed lambdas")
    away = np.array([_away(point, at) for point in points])
    nearest = points[int(away.argmin())]
    if away.min() > NEAR:
        wanted = ", ".join(f"{lam:.3g}" for lam in at)
        return _nothing(f"no run has lambdas within {NEAR:.0%} of ({wanted}): train some there")
    here = fixed.filter(pl.Series([point == nearest for point in points]))
    costs = np.array(here["costs"].to_list(), float)
    seed = here["seed"].to_numpy()
    breaking = np.asarray((costs > limits).any(1))
    seeds = len(np.unique(seed))
    broke = len(np.unique(seed[breaking]))
    share = estimate(broke / seeds, *share_interval(broke, seeds, level))
    lambdas = ", ".join(f"{lam:.3g}" for lam in nearest)
    reason = f"{broke} of {seeds} seeds at lambda ({lambdas}) break a limit"
    return f.JointViolation(share, tuple(nearest), seeds, reason)


def share_interval(count: int, total: int, level: float) -> tuple[float, float]:
    """The exact interval of a share of which `count` of `total` were seen (Clopper and Pearson)."""
    tail = (1 - level) / 2
    lo = float(betaincinv(count, total - count + 1, tail)) if count else 0.0
    hi = float(betaincinv(count + 1, total - count, 1 - tail)) if count < total else 1.0
    return lo, hi


def _away(point: Sequence[float], at: Sequence[float]) -> float:
    """How far lambdas are from the wanted ones: the largest distance, as a share of what is
    wanted.
    """
    parts = []
    for lam, wanted in zip(point, at, strict=True):
        if wanted:
            parts.append(abs(lam - wanted) / wanted)
        else:
            parts.append(math.inf if lam else 0.0)
    return max(parts)


def _nothing(reason: str) -> f.JointViolation:
    return f.JointViolation(f.Estimate(None), (), 0, reason)
