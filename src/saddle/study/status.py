"""How a study stands: units, progress, time left, failures; as a table, live, or as JSON."""

import json
import time
from dataclasses import asdict, dataclass
from typing import Any

import polars as pl
from rich.console import Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from saddle.console import console
from saddle.study import claims, dependent
from saddle.study.store import Study
from saddle.study.unit import unit_runs

COLOURS = {"done": "green", "running": "cyan", "failed": "red", "interrupted": "yellow", "stopped": "yellow"}


@dataclass(frozen=True)
class UnitStatus:
    """One unit."""

    unit: str
    task: str
    members: int
    state: str
    """planned, waits (for lambda*), running, stopped, interrupted (its process died), done or failed."""
    epoch: int
    epochs: int | None
    """None before the start."""
    seconds: float
    """Spent on it so far."""
    left: float | None
    """Seconds to its end at that pace; None before a first epoch."""
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
    """How many are planned, running, done, failed."""
    units: list[UnitStatus]
    failures: list[Failure]
    left: float | None
    """Seconds to the end with as many workers as now (one, if there is none); None before a first epoch."""


def status(study: Study) -> Status:
    """Read how the study stands."""
    units = [_unit(study, unit) for unit in study.units()]
    runs = study.runs
    failed = runs.filter(status="failed").select("run", "unit", "reason").iter_rows()
    counts = dict(runs.group_by("status").len().sort("status").iter_rows())
    failures = [Failure(run, unit, reason or "unknown") for run, unit, reason in failed]
    return Status(study.manifest["name"], counts, units, failures, _left(units))


def show(study: Study, as_json: bool) -> None:
    """Print it once."""
    now = status(study)
    if as_json:
        print(json.dumps(asdict(now), indent=2))
    else:
        console().print(render(now))


def watch(study: Study, every: float, as_json: bool) -> None:
    """Print it again and again until nothing is left to do: in place on a terminal, else a line each time."""
    screen = console()
    if screen.is_terminal and not as_json:
        with Live(console=screen, auto_refresh=False) as live:
            while True:
                now = status(study)
                live.update(render(now), refresh=True)
                if _over(now):
                    return
                time.sleep(every)
    while True:
        now = status(study)
        print(json.dumps(asdict(now)) if as_json else headline(now), flush=True)
        if _over(now):
            return
        time.sleep(every)


def headline(now: Status) -> str:
    """The study in one line."""
    total = sum(now.runs.values())
    counts = ", ".join(f"{count} {name}" for name, count in now.runs.items())
    done = sum(u.members * u.epoch / u.epochs for u in now.units if u.epochs) / max(total, 1)
    left = f", {duration(now.left)} left" if now.left and not _over(now) else ""
    return f"{now.name}: {total} runs ({counts}), {done:.0%}{left}"


def render(now: Status) -> Group:
    """The table of units, and below it what failed."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column, side in (
        ("unit", "left"),
        ("runs", "right"),
        ("state", "left"),
        ("epochs", "right"),
        ("left", "right"),
    ):
        table.add_column(column, justify=side, no_wrap=True)  # type: ignore[arg-type]
    table.add_column("by")
    for unit in now.units:
        state = Text(unit.state, style=COLOURS.get(unit.state, ""))
        epochs = f"{unit.epoch}/{unit.epochs}" if unit.epochs else "-"
        left = duration(unit.left) if unit.left else ""
        table.add_row(unit.unit, str(unit.members), state, epochs, left, unit.holder or unit.error or "")
    failures = [Text(f"failed: {failure.run}: {failure.reason}", style="red") for failure in now.failures]
    return Group(Text(headline(now), style="bold"), table, *failures)


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
    frame, progress = unit_runs(study, unit), study.progress(unit)
    holder = claims.look(study.path, unit)
    alive = holder is not None and holder.alive
    state = progress.get("state") or ("waits" if dependent.waits(frame) else "planned")
    if alive and state != "done":
        state = "running"
    elif state == "running":
        state = "interrupted"
    epoch, epochs, seconds = progress.get("epoch", 0), progress.get("epochs"), progress.get("seconds", 0.0)
    left = seconds / epoch * (epochs - epoch) if epoch and epochs else None
    name = f"{holder.host.partition(' ')[0]}:{holder.pid}" if alive and holder else None
    error = progress.get("error")
    return UnitStatus(unit, frame["task"][0], frame.height, state, epoch, epochs, seconds, left, name, error)


def _left(units: list[UnitStatus]) -> float | None:
    """From the mean pace of a member's epoch so far, and the workers there are."""
    begun = [unit for unit in units if unit.epoch and unit.epochs]
    done = sum(unit.members * unit.epoch for unit in begun)
    if not done:
        return None
    pace = sum(unit.seconds for unit in begun) / done
    epochs = max(unit.epochs or 0 for unit in begun)
    todo = sum(unit.members * ((unit.epochs or epochs) - unit.epoch) for unit in units)
    return pace * todo / max(1, sum(unit.state == "running" for unit in units))


def _over(now: Status) -> bool:
    return all(unit.state in ("done", "failed") for unit in now.units)


def counts(study: Study) -> dict[str, Any]:
    """How many runs are done, failed, and left to do."""
    states = study.runs["status"]
    done, failed = int((states == "done").sum()), int((states == "failed").sum())
    return {"runs": states.len(), "done": done, "failed": failed, "left": states.len() - done - failed}


def last_failures(study: Study, most: int = 5) -> list[str]:
    """Some failed runs with their reasons, one line each."""
    failed = study.runs.filter(pl.col("status") == "failed")
    return [f"{run}: {reason}" for run, reason in failed.select("run", "reason").head(most).iter_rows()]
