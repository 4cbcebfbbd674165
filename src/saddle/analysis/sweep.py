"""Which runs are a sweep of fixed lambdas and which compare rules, and a sweep as arrays."""

import numpy as np
import polars as pl

from saddle.analysis.options import Options
from saddle.analysis.profile import Sweep
from saddle.analysis.smooth import LEAST_NEIGHBOURS
from saddle.multipliers.fixed import Fixed
from saddle.words import counted

IS_SWEEP = (
    (pl.col("rule") == Fixed.name)
    & pl.col("lambda").is_not_null()
    & ((pl.col("stage") == "sweep") | pl.col("limit").is_null())
)
IS_COMPARISON = pl.col("limit").is_not_null() & ~IS_SWEEP


def sweep_of(finals: pl.DataFrame, options: Options) -> tuple[Sweep | None, list[str]]:
    """The sweep of one task and algorithm as arrays, and what there is to say about it."""
    rows = finals.filter(IS_SWEEP)
    notes = []
    if options.scale == "log" and (rows["lambda"] <= 0).any():
        rows = rows.filter(pl.col("lambda") > 0)
        notes.append(
            "Lambda 0 has no logarithm: its runs are in the groups but not in the profile."
        )
    count = rows["lambda"].n_unique()
    if count < 2:
        what = (
            "There is no sweep of fixed lambdas" if count == 0 else "There is only one fixed lambda"
        )
        notes.append(
            f"{what}: no profile, frontier, lambda*, regime or recommended limit can be given."
        )
        return None, notes
    if rows.select("lambda", "seed").is_duplicated().any():
        notes.append(
            "Some seeds were run more than once at the same lambda: in the profile their means "
            "count as one seed, in tables of groups every run counts."
        )
    means = rows.group_by("lambda", "seed", maintain_order=True).agg(
        pl.col("return").mean(), pl.col("cost").mean()
    )
    lambdas, seeds = (np.sort(means[name].unique().to_numpy()) for name in ("lambda", "seed"))
    index = np.searchsorted(lambdas, means["lambda"]), np.searchsorted(seeds, means["seed"])
    returns, costs = np.full((2, len(lambdas), len(seeds)), np.nan)
    returns[index], costs[index] = means["return"], means["cost"]
    return Sweep(lambdas, seeds, returns, costs), notes + sweep_notes(costs)


def sweep_notes(costs: np.ndarray) -> list[str]:
    """costs [lambdas, seeds]."""
    notes = []
    seeds = np.isfinite(costs).sum(1)
    if len(costs) < LEAST_NEIGHBOURS:
        notes.append(
            f"The sweep has only {len(costs)} lambdas: between them lines are drawn where nothing "
            f"was run."
        )
    if seeds.max() == 1:
        notes.append("Every lambda has one seed: there are no intervals, no regimes and no margin.")
    elif seeds.min() == 1:
        alone = int((seeds == 1).sum())
        have = counted(alone, "lambda has", "lambdas have")
        notes.append(f"{have} one seed: no scatter is known there, so bands nearby are too narrow.")
    elif seeds.min() != seeds.max():
        notes.append(f"Lambdas have between {seeds.min()} and {seeds.max()} seeds.")
    if 1 < seeds.max() < 5:
        notes.append(
            f"With {seeds.max()} seeds intervals are wide: they allow for how little such a sample "
            f"shows."
        )
    if np.nanmin(costs) < 0:
        notes.append(
            "Some final costs are negative, and a cost is 0 or more: what is said of limits, "
            "regimes and margins may be wrong. 'saddle check TASK' says what to do."
        )
    elif not np.nanmax(costs) > 0:
        notes.append(
            "Every final cost of the sweep is 0: no limit binds, and there is no trade-off to show."
        )
    return notes
