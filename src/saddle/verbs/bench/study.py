"""`saddle bench study`: how fast studies train with everything on, as a table or as JSON."""

import dataclasses
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from saddle import tasks
from saddle.bench import study as measuring
from saddle.bench.study import Result
from saddle.console import console
from saddle.errors import SaddleError
from saddle.learners import LearnerSettings, Precision, learner_to_dict
from saddle.streams import note
from saddle.tables import Column, print_table
from saddle.words import counted


def bench_study(
    names: Sequence[str],
    members: int,
    epochs: int,
    precisions: Sequence[Precision],
    learner: LearnerSettings,
    out: Path | None = None,
    as_json: bool = False,
) -> None:
    """Measure each task in each precision, and print each result as soon as there is one. No tasks
    means all.

    As JSON the whole comes at the end; each result is then also a line on stderr, so that none is
    lost to a time limit.
    """
    if members < 1 or epochs < 1 or not precisions:
        raise SaddleError(
            "--members and --epochs must be at least 1, and --precision must name at least one"
        )
    chosen = tuple(names) or tasks.names()
    for name in chosen:
        tasks.make(name)
    results = []
    for name in chosen:
        for precision in dict.fromkeys(precisions):
            settings = dataclasses.replace(learner, precision=precision)
            result = measuring.measure_in(out, name, members, epochs, settings, note)
            results.append(result)
            _say(result, as_json, first=len(results) == 1)
    hours = measuring.gpu_hours(results)
    if as_json:
        found = [dataclasses.asdict(result) for result in results]
        facts = {"learner": learner_to_dict(learner), "results": found, "study_hours": hours}
        print(json.dumps(facts, indent=2))
        return
    steps = sum(measuring.study_steps().values())
    for precision, value in hours.items():
        print(
            f"the whole published study, {steps:.3g} env steps, in {precision}: {value:.1f} hours"
        )


def _say(result: Result, as_json: bool, first: bool) -> None:
    """One line of JSON on stderr, or of the table on stdout; its heading before the first."""
    if as_json:
        print(json.dumps(dataclasses.asdict(result)), file=sys.stderr, flush=True)
        return
    if first:
        runs = counted(result.members, "run")
        cores = counted(result.cores, "core")
        print(f"{runs} of {result.algorithm}, {result.device}, {cores}")
    measured = {
        "env steps/s": f"{result.steps_per_second:,.0f}",
        "epoch s": f"{result.epoch_s:.2f}",
        "rollout": f"{result.rollout_share:.1%}",
        "update": f"{result.update_share:.1%}",
        "waiting": f"{result.waiting_share:.1%}",
        "TFLOP/s": f"{result.update_flops / 1e12:.3g}",
        "compile s": f"{result.first_epoch_s:.1f}",
    }
    columns = [Column("task", identifies=True, least=28), Column("precision", identifies=True)]
    columns += [Column(title, right=True, least=11) for title in measured]
    cells = [result.task, result.precision, *measured.values()]
    print_table(console(), columns, [cells], heading=first)
