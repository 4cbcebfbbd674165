"""`saddle study show`: what a study would run, and how long that takes here."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from rich.text import Text

from saddle.console import console
from saddle.learners import Layout, Precision
from saddle.study import presets, room
from saddle.study.parts import TaskPart, parts
from saddle.study.plan import Plan
from saddle.study.program import POPULATION
from saddle.study.rates import plan_notes
from saddle.study.status import duration
from saddle.study.until_decided import most_runs, rounds_words
from saddle.tables import Column, Content, print_table
from saddle.words import counted


def show(
    name: str | None,
    calibrate: bool,
    as_json: bool,
    layout: Layout | None = None,
    precision: Precision | None = None,
    program: str = POPULATION,
    until_decided: Mapping[str, Any] | None = None,
) -> None:
    """Print the plan's parts and their sum; without a name, the presets."""
    if name is None:
        _show_presets(as_json)
        return
    plan = presets.load(name, layout, precision)
    if until_decided is not None:
        plan = presets.with_seeds_added(plan, until_decided)
    found = parts(plan, calibrate, program)
    if as_json:
        facts = {
            "name": plan.name,
            "runs": sum(part.runs for part in found),
            "units": sum(part.units for part in found),
            "env_steps": sum(part.env_steps for part in found),
            "seconds": sum(part.seconds or 0.0 for part in found) if calibrate else None,
            "tasks": [asdict(part) for part in found],
        }
        if plan.until_decided is not None:
            facts["until_decided"] = {
                **asdict(plan.until_decided),
                "looks": plan.until_decided.looks(len(plan.seeds)),
                "most_runs": most_runs(plan),
            }
        print(json.dumps(facts, indent=2))
    else:
        _print(plan, found, calibrate)


def _print(plan: Plan, found: list[TaskPart], calibrate: bool) -> None:
    named = [stage.name for stage in plan.stages]
    numbers = (*named, "runs", "units", "env steps", "memory", "time here")
    columns = [Column("task", identifies=True)]
    columns += [Column(name, right=True) for name in numbers]
    rows: list[list[Content]] = []
    for part in found:
        stages = list(part.stages.values())
        cells = _cells(stages, part.runs, part.units, part.env_steps, part.memory, part.seconds)
        rows.append([part.task, *cells])
    stages = [sum(part.stages[stage.name] for part in found) for stage in plan.stages]
    runs = sum(part.runs for part in found)
    count = sum(part.units for part in found)
    steps = sum(part.env_steps for part in found)
    seconds = sum(part.seconds or 0.0 for part in found) if calibrate else None
    memory = max(part.memory for part in found)
    sums = ("all", *_cells(stages, runs, count, steps, memory, seconds))
    rows.append([Text(cell, style="bold") for cell in sums])
    screen = console()
    epochs = counted(plan.epochs_of(plan.learner), "epoch")
    screen.print(
        f"{plan.name}: {epochs} of {plan.learner.steps_per_epoch} env steps a run", markup=False
    )
    print_table(screen, columns, rows)
    for stage in plan.stages:
        if stage.lambda_star:
            here = stage.lambda_star in {other.name for other in plan.stages}
            where = "" if here else ", of another study: name it with --sweep"
            how = ", as published" if stage.lambda_star_method == "published" else ""
            what = "lambda* comes"
            if stage.limits_from_frontier:
                what = f"{counted(stage.limits_from_frontier, 'limit')} and lambda* come"
            screen.print(
                f"{stage.name}: {what} from the frontier of {stage.lambda_star}{how}{where}",
                markup=False,
            )
    if plan.until_decided is not None:
        screen.print(rounds_words(plan), markup=False)
    for note in plan_notes(plan):
        screen.print(note, markup=False)


def _cells(
    stages: list[int], runs: int, units: int, steps: int, memory: int, seconds: float | None
) -> list[str]:
    """Runs of each stage, then runs, units, env steps, memory of the largest unit, and time."""
    counts = [*map(str, stages), str(runs), str(units), f"{steps:.3g}"]
    return [*counts, room.gigabytes(memory), duration(seconds)]


def _show_presets(as_json: bool) -> None:
    if as_json:
        print(json.dumps({name: words for name, (words, _) in presets.PRESETS.items()}, indent=2))
        return
    columns = (Column("preset", identifies=True), Column("study", wraps=True))
    print_table(console(), columns, [(name, words) for name, (words, _) in presets.PRESETS.items()])
