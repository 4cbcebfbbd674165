"""Whether critics tell what episodes come to.

A rule that misses its limit may be at fault itself, or its critics may: with these the frontier
and the profile of fixed multipliers are off already, and no rule can mend that.
"""

from typing import Any

import numpy as np
import polars as pl

from saddle.analysis import findings as f
from saddle.analysis.constraints import CAME_C, SAID_C
from saddle.analysis.summary import CAME_R, CRITICS, SAID_R, mean_estimate


def critic_biases(finals: pl.DataFrame, constraint: str, level: float) -> tuple[f.CriticBias, ...]:
    """For each rule, lambda and limit of runs that log what their critics say: of the reward, and
    of the constraint whose cost `finals` shows.
    """
    if SAID_R not in finals.columns:
        return ()
    found = []
    setting = ["rule", "lambda", "limit"]
    known = finals.drop_nulls(list(CRITICS)).sort(*setting, "seed", nulls_last=True)
    for (rule, lam, limit), runs in known.group_by(setting, maintain_order=True):
        for signal, said, came in (("reward", SAID_R, CAME_R), (constraint, SAID_C, CAME_C)):
            place = {"rule": rule, "lambda_": lam, "limit": limit, "signal": signal}
            found.append(_bias(place, runs[said].to_numpy(), runs[came].to_numpy(), level))
    return tuple(found)


def _bias(place: dict[str, Any], said: np.ndarray, came: np.ndarray, level: float) -> f.CriticBias:
    bias = mean_estimate(said - came, level)
    mean = float(came.mean())
    return f.CriticBias(
        **place,
        seeds=len(said),
        said=mean_estimate(said, level),
        came=mean_estimate(came, level),
        bias=bias,
        share=None if mean == 0 or bias.value is None else bias.value / abs(mean),
    )
