"""`saddle bench tasks`: env steps per second of the tasks, as a table or as JSON."""

import dataclasses
import json
import sys
from typing import Any

from saddle.bench import engine as yardstick
from saddle.bench import tasks as measuring
from saddle.console import console
from saddle.errors import SaddleError
from saddle.tables import Column, print_table

# Columns of a result in the terminal: title -> field and form.
COLUMNS = {
    "random steps/s": ("random", "{:,.0f}"),
    "scripted": ("scripted", "{:,.0f}"),
    "MuJoCo C": ("mujoco", "{:,.0f}"),
    "1 thread": ("one_thread", "{:,.0f}"),
    "all threads": ("all_threads", "{:,.0f}"),
    "ratio": ("ratio", "{:.2f}x"),
    "scripted ratio": ("ratio_scripted", "{:.2f}x"),
    "Python": ("overhead", "{:.1%}"),
    "compile s": ("compile_s", "{:.1f}"),
    "state B/world": ("state_bytes", "{:,.0f}"),
    "peak B/world": ("peak_bytes", "{:,.0f}"),
    "diverged": ("diverged", "{:d}"),
}


def bench_tasks(
    tasks: tuple[str, ...] = (), worlds: int = 512, as_json: bool = False, engine: str | None = None
) -> None:
    """Measure, and print each result as soon as there is one. No tasks means all, or with an engine
    all that have it.

    As JSON the whole comes at the end; each result is then also a line on stderr, so that none is
    lost to a time limit.
    """
    if worlds < 1:
        raise SaddleError(f"--worlds is {worlds}; it must be at least 1")
    chosen = measuring.chosen(tasks, engine)
    settings = measuring.settings(worlds)
    if not as_json:
        _say(_title(settings))
    results = []
    before = None
    for name in chosen:
        result = measuring.measure_named(name, worlds, engine)
        results.append(result)
        if as_json:
            print(json.dumps(dataclasses.asdict(result)), file=sys.stderr, flush=True)
        else:
            _say_result(result, before)
        before = result
    if as_json:
        found = [dataclasses.asdict(result) for result in results]
        print(json.dumps({"settings": settings, "tasks": found}, indent=2))
    else:
        _say_what_ratios_are(results, settings)


def _say_what_ratios_are(results: list[Any], settings: dict[str, Any]) -> None:
    jax_tasks = any(isinstance(result, measuring.Result) for result in results)
    if jax_tasks and not yardstick.available():
        _say("No ratios: MuJoCo is not installed (pip install mujoco).")
    elif any(getattr(result, "ratio", None) is not None for result in results):
        _say(
            f"Ratios are to MuJoCo {settings['mujoco']} on one core under random actions, in this "
            "run."
        )


def _title(settings: dict[str, Any]) -> str:
    words = "{worlds} worlds on {device} ({platform}, {cores} cores), jax {jax}, mujoco {mujoco}"
    return words.format(**settings)


def _say_result(result: Any, before: Any) -> None:
    """One row; a heading first where the columns change."""
    columns = [Column("task", identifies=True, least=28)]
    cells = [result.task]
    for title, (field, form) in COLUMNS.items():
        if not hasattr(result, field):
            continue
        value = getattr(result, field)
        columns.append(Column(title, right=True, least=14))
        cells.append("-" if value is None else form.format(value))
    columns_change = type(before) is not type(result)
    if columns_change:
        _say("")
    print_table(console(), columns, [cells], heading=columns_change)


def _say(line: str) -> None:
    print(line, flush=True)
