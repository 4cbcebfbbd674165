"""`saddle bench learner`: how fast a population trains, as a table or as JSON."""

import dataclasses
import json
from pathlib import Path

from saddle.bench import stops as replay
from saddle.bench.learner import Result, measure
from saddle.console import console
from saddle.learners import LearnerSettings, learner_to_dict
from saddle.tables import Column, print_table


def bench_learner(
    task: str,
    members: int,
    epochs: int,
    learner: LearnerSettings,
    as_json: bool,
    stops: Path | None = None,
) -> None:
    """Measure and print; with the stops of a study, what regrouping gains."""
    if stops is not None:
        found = replay.measure(task, members, epochs, learner, stops)
        _print_stops(found, learner, as_json)
        return
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


def _print_stops(result: replay.Result, learner: LearnerSettings, as_json: bool) -> None:
    if as_json:
        gains = {"gain": result.gain, "unstopped_gain": result.unstopped_gain}
        facts = dataclasses.asdict(result) | gains | {"learner": learner_to_dict(learner)}
        print(json.dumps(facts, indent=2))
        return
    passes = f"mean {result.mean_passes:.1f}, slowest member {result.slowest_passes:.1f}"
    rows = (
        (f"passes in {result.epochs} epochs of {result.study}", passes),
        ("an epoch, all waiting for the slowest", f"{result.together_s:.3f} s"),
        ("an epoch, regrouped between passes", f"{result.regrouped_s:.3f} s"),
        ("times faster", f"{result.gain:.2f}"),
        ("where nobody stops: all together", f"{result.unstopped_together_s:.3f} s"),
        ("where nobody stops: regrouped", f"{result.unstopped_regrouped_s:.3f} s"),
        ("times faster there", f"{result.unstopped_gain:.2f}"),
    )
    columns = (Column("what", identifies=True), Column("measured"))
    title = f"{result.members} x {result.task} on {result.device}, {result.precision}"
    print_table(console(), columns, rows, title=title)
