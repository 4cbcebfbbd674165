"""`saddle study show`: what a study would run, and how long that takes here."""

import json
from collections.abc import Iterator, Mapping
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
from saddle.study.whole_episodes import episode_notes
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
        print(json.dumps(_facts(plan, found, calibrate), indent=2))
    else:
        _print(plan, found, calibrate)


def _facts(plan: Plan, found: list[TaskPart], calibrate: bool) -> dict[str, Any]:
    """The plan's parts and their sum as plain values."""
    whole = _whole(found, calibrate)
    facts: dict[str, Any] = {
        "name": plan.name,
        "runs": whole.runs,
        "units": whole.units,
        "env_steps": whole.env_steps,
        "seconds": whole.seconds,
        "tasks": [asdict(part) for part in found],
    }
    if plan.until_decided is not None:
        facts["until_decided"] = {
            **asdict(plan.until_decided),
            "looks": plan.until_decided.looks(len(plan.seeds)),
            "most_runs": most_runs(plan),
        }
    return facts


def _whole(found: list[TaskPart], calibrate: bool) -> TaskPart:
    """The parts of all tasks as one, with the memory of the largest unit."""
    one = found[0]
    return TaskPart(
        task="all",
        stages={stage: sum(part.stages[stage] for part in found) for stage in one.stages},
        runs=sum(part.runs for part in found),
        units=sum(part.units for part in found),
        epochs=one.epochs,
        env_steps=sum(part.env_steps for part in found),
        memory=max(part.memory for part in found),
        seconds=sum(part.seconds or 0.0 for part in found) if calibrate else None,
    )


def _print(plan: Plan, found: list[TaskPart], calibrate: bool) -> None:
    """The plan's parts and their sum as a table, and what there is to know beside the numbers."""
    stages = [stage.name for stage in plan.stages]
    numbers = (*stages, "runs", "units", "env steps", "memory", "time here")
    columns = [Column("task", identifies=True)]
    columns += [Column(name, right=True) for name in numbers]
    rows: list[list[Content]] = [[*_cells(part, stages)] for part in found]
    whole = _whole(found, calibrate)
    rows.append([Text(cell, style="bold") for cell in _cells(whole, stages)])
    screen = console()
    epochs = counted(plan.epochs_of(plan.learner), "epoch")
    screen.print(
        f"{plan.name}: {epochs} of {plan.learner.steps_per_epoch} env steps a run", markup=False
    )
    print_table(screen, columns, rows)
    for line in _origins_of_lambda_star(plan):
        screen.print(line, markup=False)
    if plan.until_decided is not None:
        screen.print(rounds_words(plan), markup=False)
    for note in (*plan_notes(plan), *episode_notes(plan)):
        screen.print(note, markup=False)


def _cells(part: TaskPart, stages: list[str]) -> list[str]:
    """The task, runs of each stage, then runs, units, env steps, memory of the largest unit, and
    time.
    """
    return [
        part.task,
        *(str(part.stages[name]) for name in stages),
        str(part.runs),
        str(part.units),
        f"{part.env_steps:.3g}",
        room.gigabytes(part.memory),
        duration(part.seconds),
    ]


def _origins_of_lambda_star(plan: Plan) -> Iterator[str]:
    """A line for each stage that takes lambda* from a frontier."""
    own = {stage.name for stage in plan.stages}
    for stage in plan.stages:
        source = stage.lambda_star
        if not source:
            continue
        what = "lambda* comes"
        if stage.limits_from_frontier:
            what = f"{counted(stage.limits_from_frontier, 'limit')} and lambda* come"
        how = ", as published" if stage.lambda_star_method == "published" else ""
        where = "" if source in own else ", of another study: name it with --sweep"
        yield f"{stage.name}: {what} from the frontier of {source}{how}{where}"


def _show_presets(as_json: bool) -> None:
    described = {name: words for name, (words, _) in presets.PRESETS.items()}
    if as_json:
        print(json.dumps(described, indent=2))
        return
    columns = (Column("preset", identifies=True), Column("study", wraps=True))
    print_table(console(), columns, list(described.items()))
