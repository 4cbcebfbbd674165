"""How a study stands: units, progress, time left, failures; and that as a table."""

from dataclasses import dataclass
from typing import Any

import polars as pl
from rich.console import Console, Group
from rich.text import Text

from saddle.study import claims, dependent
from saddle.study.sequential import design_of
from saddle.study.store import Study
from saddle.tables import Column, Content, print_table, table_lines
from saddle.words import counted

COLOURS = {
    "done": "green",
    "running": "cyan",
    "failed": "red",
    "interrupted": "yellow",
    "stopped": "yellow",
}


@dataclass(frozen=True)
class UnitStatus:
    """One unit."""

    unit: str
    task: str
    members: int
    state: str
    """planned, waits (for lambda*), running, stopped, interrupted (its process died), done or
    failed.
    """
    epoch: int
    epochs: int | None
    """None before the start."""
    seconds: float
    """Spent on it so far."""
    pace: float | None
    """Seconds of an epoch."""
    left: float | None
    """Seconds to its end at that pace; None before a second epoch."""
    holder: str | None
    """Who works on it."""
    error: str | None


@dataclass(frozen=True)
class Failure:
    """A run that failed."""

    run: str
    unit: str
    reason: str


@dataclass(frozen=True)
class Status:
    """The whole study."""

    name: str
    runs: dict[str, int]
    """How many are planned, running, stopped, interrupted, done, failed."""
    units: list[UnitStatus]
    failures: list[Failure]
    left: float | None
    """Seconds to the end with as many workers as now (one, if there is none); None before a first
    epoch.
    """
    damaged: list[str]
    """Files that cannot be read, each with what to do."""
    seeds_added: str | None = None
    """Of a study that adds seeds until decided: how many rules have by now, in words."""


def status(study: Study) -> Status:
    """Read how the study stands."""
    units = [_unit(study, unit) for unit in study.units()]
    counts = _run_counts(study.runs, units)
    return Status(
        study.manifest["name"],
        counts,
        units,
        failures(study),
        _left(units),
        study.damage(),
        _seeds_added(study),
    )


def _seeds_added(study: Study) -> str | None:
    design = design_of(study.manifest)
    if design is None:
        return None
    sizes = [len(group) for group in design.groups]
    most = design.looks[-1]
    return (
        f"until decided: group {len(sizes)} of at most {len(design.looks)}, {sum(sizes)} seeds of "
        f"at most {most}; 'saddle analyze' says what is decided"
    )


def _run_counts(runs: pl.DataFrame, units: list[UnitStatus]) -> dict[str, int]:
    """How many runs have each status. A begun run is as its unit is: nothing runs in one that was
    stopped.
    """
    states = {unit.unit: unit.state for unit in units}
    counts: dict[str, int] = {}
    for status, unit in runs.select("status", "unit").iter_rows():
        state = states[unit] if status == "running" else status
        counts[state] = counts.get(state, 0) + 1
    return dict(sorted(counts.items()))


def failures(study: Study) -> list[Failure]:
    """The runs that failed."""
    failed = study.runs.filter(status="failed").select("run", "unit", "reason")
    return [Failure(run, unit, reason or "unknown") for run, unit, reason in failed.iter_rows()]


def headline(now: Status) -> str:
    """The study in one line."""
    total = sum(now.runs.values())
    counts = ", ".join(f"{count} {name}" for name, count in now.runs.items())
    done = sum(u.members * u.epoch / u.epochs for u in now.units if u.epochs) / max(total, 1)
    left = f", {duration(now.left)} left" if now.left and not is_over(now) else ""
    return f"{now.name}: {counted(total, 'run')} ({counts}), {done:.0%}{left}"


UNIT_COLUMNS = (
    Column("unit", identifies=True),
    Column("runs", right=True),
    Column("state"),
    Column("epochs", right=True),
    Column("left", right=True),
    Column("by", wraps=True),
)


def print_status(now: Status, screen: Console) -> None:
    """The table of units, and below it what failed."""
    screen.print(Text(headline(now), style="bold"), soft_wrap=not screen.is_terminal)
    print_table(screen, UNIT_COLUMNS, _unit_rows(now))
    if now.seeds_added is not None:
        screen.print(Text(now.seeds_added), soft_wrap=not screen.is_terminal)
    for line in failure_lines(now.failures):
        screen.print(Text(line, style="red"), soft_wrap=True)


def live_status(now: Status, width: int) -> Group:
    """The same for a picture that is drawn anew in its place, in a terminal of this width."""
    lines = table_lines(UNIT_COLUMNS, _unit_rows(now), width)
    failed = [Text(line, style="red") for line in failure_lines(now.failures)]
    return Group(Text(headline(now), style="bold"), *lines, *failed)


def _unit_rows(now: Status) -> list[tuple[Content, ...]]:
    rows: list[tuple[Content, ...]] = []
    for unit in now.units:
        state = Text(unit.state, style=COLOURS.get(unit.state, ""))
        epochs = f"{unit.epoch}/{unit.epochs}" if unit.epochs else "-"
        left = duration(unit.left) if unit.left else ""
        rows.append(
            (unit.unit, str(unit.members), state, epochs, left, unit.holder or unit.error or "")
        )
    return rows


def failure_lines(failures: list[Failure]) -> list[str]:
    """One line per reason within a unit, naming the runs, or some of them when they are many."""
    together: dict[tuple[str, str], list[str]] = {}
    for failure in failures:
        together.setdefault((failure.unit, failure.reason), []).append(failure.run)
    lines = []
    for (unit, reason), runs in together.items():
        names = ", ".join(runs[:3]) + (
            f" and {len(runs) - 3} more of {unit}" if len(runs) > 3 else ""
        )
        lines.append(f"failed: {names}: {reason}")
    return lines


def duration(seconds: float | None) -> str:
    """Seconds as a person says them: 45s, 12m30s, 3h05m, 2d04h."""
    if seconds is None:
        return "?"
    whole = round(seconds)
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m{whole % 60:02d}s"
    if whole < 86400:
        return f"{whole // 3600}h{whole % 3600 // 60:02d}m"
    return f"{whole // 86400}d{whole % 86400 // 3600:02d}h"


def _unit(study: Study, unit: str) -> UnitStatus:
    frame = study.unit_runs(unit)
    progress = study.progress(unit)
    holder = claims.look(study.path, unit)
    alive = holder is not None and holder.alive
    state = progress.get("state") or ("waits" if dependent.waits(frame) else "planned")
    if alive and state != "done":
        state = "running"
    elif state == "running":
        state = "interrupted"
    epoch = progress.get("epoch", 0)
    epochs = progress.get("epochs")
    seconds = progress.get("seconds", 0.0)
    pace = progress.get("pace")  # None after one epoch, which compiled
    left = pace * (epochs - epoch) if pace and epochs else None
    name = f"{holder.host.partition(' ')[0]}:{holder.pid}" if alive and holder else None
    error = progress.get("error")
    return UnitStatus(
        unit=unit,
        task=frame["task"][0],
        members=frame.height,
        state=state,
        epoch=epoch,
        epochs=epochs,
        seconds=seconds,
        pace=pace,
        left=left,
        holder=name,
        error=error,
    )


def _left(units: list[UnitStatus]) -> float | None:
    """From the mean pace of a member's epoch so far, and the workers there are."""
    begun = [unit for unit in units if unit.pace and unit.epochs]
    if not begun:
        return None
    members = sum(unit.members for unit in begun)
    pace = sum(unit.pace or 0.0 for unit in begun) / members
    epochs = max(unit.epochs or 0 for unit in begun)
    todo = sum(unit.members * ((unit.epochs or epochs) - unit.epoch) for unit in units)
    workers = sum(unit.state == "running" for unit in units)
    return pace * todo / max(1, workers)


def is_over(now: Status) -> bool:
    """Whether nothing is left to do."""
    return all(unit.state in ("done", "failed") for unit in now.units)


def counts(study: Study) -> dict[str, Any]:
    """How many runs are done, failed, and left to do."""
    states = study.runs["status"]
    done = int((states == "done").sum())
    failed = int((states == "failed").sum())
    return {
        "runs": states.len(),
        "done": done,
        "failed": failed,
        "left": states.len() - done - failed,
    }
