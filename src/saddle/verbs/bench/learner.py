"""`saddle bench learner`: how fast a population trains, as a table or as JSON."""

import dataclasses
import json

from saddle.bench.learner import Result, measure
from saddle.console import console
from saddle.learners import LearnerSettings, learner_to_dict
from saddle.tables import Column, print_table


def bench_learner(
    task: str, members: int, epochs: int, learner: LearnerSettings, as_json: bool
) -> None:
    """Measure and print."""
    result = measure(task, members, epochs, learner)
    if as_json:
        facts = dataclasses.asdict(result) | {"learner": learner_to_dict(learner)}
        print(json.dumps(facts, indent=2))
    else:
        _print(result)


def _print(result: Result) -> None:
    memory = "-" if result.peak_bytes is None else f"{result.peak_bytes / 2**30:.2f} GiB"
    settings = f"{result.algorithm}, {result.precision}"
    rows = (
        ("settings", settings),
        ("end to end", f"{result.steps_per_second:,.0f} env steps/s"),
        ("rollouts alone", f"{result.rollout_steps_per_second:,.0f} env steps/s"),
        (
            "an epoch",
            f"{result.epoch_s:.2f} s: rollout {result.rollout_s:.2f}, update {result.update_s:.2f}",
        ),
        (
            "update's matrix products",
            f"{result.flop_per_epoch / result.update_s / 1e12:.3g} TFLOP/s",
        ),
        ("compilation and first epoch", f"{result.compile_s:.1f} s"),
        ("memory", memory),
    )
    columns = (Column("what", identifies=True), Column("measured"))
    print_table(
        console(), columns, rows, title=f"{result.members} x {result.task} on {result.device}"
    )
