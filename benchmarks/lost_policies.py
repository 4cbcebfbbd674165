"""How often do passes throw a policy far, and what is left of its return?

    python benchmarks/lost_policies.py STUDY

A burst is one or more epochs after the twentieth in which KL(old, new) exceeded 0.1, where 0.02 is
the limit; epochs that are at most ten apart are one burst. For each learner and multiplier of the
study's sweep: runs with bursts, bursts, return and cost of the last 5 % of training, and the
largest beta of an epoch. Then, for each learner, the frontier's hypervolume within the worst return
and cost of all of them, and the share of epochs after the twentieth in which beta lay above 10, of
those that cost more than 1 and of those that cost less.
"""

import argparse
from pathlib import Path

import numpy as np
import polars as pl

from saddle.analysis import Options
from saddle.analysis import frontier as pareto
from saddle.analysis.settings import name_settings
from saddle.analysis.summary import final_values
from saddle.analysis.sweep import IS_SWEEP
from saddle.study import Study, open_study

FAR = 0.1  # KL of an epoch's passes
LEARNED = 20  # epochs at the start, in which policies move far anyway
BOUND = 10  # of a beta that is bounded
LITTLE = 1  # cost of an epoch that counts as quiet
APART = 10  # epochs between two of the same burst, at most


def bursts(kl: pl.Series, epoch: pl.Series) -> int:
    """How many bursts a run has; its epochs in order."""
    far = epoch.filter((kl > FAR) & (epoch >= LEARNED)).to_numpy()
    if len(far) == 0:
        return 0
    return 1 + int((np.diff(far) > APART).sum())


def each_run(study: Study) -> pl.DataFrame:
    """The sweep's runs: learner, lambda, bursts, return, cost and the largest beta."""
    named = name_settings(study.runs)
    finals = final_values(named, study.scan_metrics(), Options()).frame.filter(IS_SWEEP)
    rows = []
    for (run,), epochs in study.metrics.sort("epoch").group_by("run", maintain_order=True):
        found = bursts(epochs["kl"], epochs["epoch"])
        later = epochs.filter(pl.col("epoch") >= LEARNED)
        costly, quiet = (later.filter((pl.col("cost") > LITTLE) == side) for side in (True, False))
        rows.append(
            {
                "run": run,
                "bursts": found,
                "beta": epochs["beta"].max(),
                "costly": costly.height,
                "costly_above": costly.filter(pl.col("beta") > BOUND).height,
                "quiet": quiet.height,
                "quiet_above": quiet.filter(pl.col("beta") > BOUND).height,
            }
        )
    return finals.join(pl.DataFrame(rows), on="run")


def spread(values: pl.Series) -> str:
    """Mean and SD over seeds."""
    sd = values.std()
    assert isinstance(sd, float)
    return f"{values.mean():.1f} ± {sd:.1f}"


def share(runs: pl.DataFrame, kind: str) -> str:
    """Of epochs of this kind, how many had a beta above the bound."""
    of = int(runs[kind].sum())
    return f"{int(runs[f'{kind}_above'].sum()) / of:.1%} of {of}" if of else "-"


def table(runs: pl.DataFrame) -> None:
    """A row for each multiplier and learner."""
    print("| lambda | learner | runs with bursts | bursts | return | cost | largest beta |")
    print("|---|---|---|---|---|---|---|")
    keys = ["lambda", "algorithm"]
    for (lam, learner), own in runs.sort(keys).group_by(keys, maintain_order=True):
        lost = own.filter(pl.col("bursts") > 0).height
        print(
            f"| {lam:.3g} | {learner} | {lost} of {own.height} | {own['bursts'].sum()} | "
            f"{spread(own['return'])} | {spread(own['cost'])} | {own['beta'].max():.2g} |"
        )


def volumes(runs: pl.DataFrame) -> None:
    """Of each learner: bursts in all, and the hypervolume of its means."""
    worst = (float(runs["cost"].to_numpy().max()), float(runs["return"].to_numpy().min()))
    print("\n| learner | runs with bursts | bursts | hypervolume | beta > 10: costly | quiet |")
    print("|---|---|---|---|---|---|")
    for (learner,), own in runs.sort("algorithm").group_by("algorithm", maintain_order=True):
        means = own.group_by("lambda").agg(pl.col("return").mean(), pl.col("cost").mean())
        cost, returns = means["cost"].to_numpy(), means["return"].to_numpy()
        kept = pareto.by_cost(pareto.nondominated(cost, returns), cost)
        volume = pareto.hypervolume(pareto.trace(cost[kept], returns[kept]), worst)
        lost = own.filter(pl.col("bursts") > 0).height
        print(
            f"| {learner} | {lost} of {own.height} | {own['bursts'].sum()} | {volume:.4g} | "
            f"{share(own, 'costly')} | {share(own, 'quiet')} |"
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("study", type=Path)
    found = each_run(open_study(parser.parse_args().study))
    table(found)
    volumes(found)
