"""Whether critics tell what episodes come to.

A rule that misses its limit may be at fault itself, or its critics may: with these the frontier
and the profile of fixed multipliers are off already, and no rule can mend that.
"""

from typing import Any

import numpy as np
import polars as pl

from saddle.analysis import findings as f
from saddle.analysis.constraints import CAME_C, POINT, SAID_C, View
from saddle.analysis.summary import CAME_R, CRITICS, SAID_R, mean_estimate


def critic_biases(finals: pl.DataFrame, view: View, level: float) -> tuple[f.CriticBias, ...]:
    """For each rule, its lambdas and limit, of runs that log what their critics say: of the reward,
    and of the constraint whose cost `finals` shows.
    """
    if SAID_R not in finals.columns:
        return ()
    looked_at = view.finding()
    cost = looked_at.name if looked_at else "cost"
    found = []
    setting = ["rule", "lambda", "point", "limit"]
    known = finals.drop_nulls(list(CRITICS)).with_columns(POINT)
    known = known.sort(*setting, "seed", nulls_last=True)
    for (rule, lam, _, limit), runs in known.group_by(setting, maintain_order=True):
        others = ()
        if lam is not None:
            lambdas = runs["lambdas"][0].to_list()
            others = tuple(lambdas[i] for i in view.places)
        for signal, said, came in (("reward", SAID_R, CAME_R), (cost, SAID_C, CAME_C)):
            place = {
                "rule": rule,
                "lambda_": lam,
                "others": others,
                "limit": limit,
                "signal": signal,
            }
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
