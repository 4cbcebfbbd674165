"""`saddle dial`: where to set a trained policy's dial for a cost limit."""

import json
from dataclasses import asdict
from pathlib import Path

from saddle.analysis.findings import Estimate
from saddle.console import console
from saddle.dial_search import DialSetting
from saddle.dial_search import dial as settings_of
from saddle.streams import note
from saddle.tables import Column, print_table
from saddle.words import plus_minus

EXPLAINED = {
    "does not bind": "does not bind: the least lambda keeps the limit already",
    "not reached": "not reached: no setting keeps the limit; shown is the nearest",
    "undecided": "undecided: so few episodes do not show that a setting keeps it; use more "
    "--episodes",
}


def dial(
    path: Path,
    limits: tuple[tuple[float, ...], ...],
    episodes: int,
    seed: int,
    as_trained: bool,
    task: str | None,
    as_json: bool,
) -> None:
    """Find the settings and print them."""
    found = settings_of(
        path, limits, episodes=episodes, seed=seed, as_trained=as_trained, task=task
    )
    if as_json:
        print(json.dumps([asdict(one) for one in found], indent=2))
    else:
        print_settings(found)


def print_settings(found: list[DialSetting]) -> None:
    """A row for each, and a line for each kind of answer that is not a setting."""
    columns = [Column("run", identifies=True)]
    for name in ("limit", "lambda", "95 % interval", "return", "cost", "limit is"):
        columns.append(Column(name, right=name != "limit is"))
    rows = []
    for one in found:
        between = "-" if one.interval is None else "{:.3g} to {:.3g}".format(*one.interval)
        rows.append(
            (
                one.run,
                _numbers(one.limits),
                _numbers(one.multipliers),
                between,
                _shown(one.returns),
                ", ".join(_shown(cost) for cost in one.costs),
                one.verdict,
            )
        )
    title = f"{found[0].episodes} fresh episodes each"
    print_table(console(), columns, rows, title=title)
    for verdict, text in EXPLAINED.items():
        if any(one.verdict == verdict for one in found):
            note(text)


def _numbers(values: tuple[float, ...]) -> str:
    return ", ".join(f"{value:.3g}" for value in values)


def _shown(value: Estimate) -> str:
    """A mean and half the width of its interval."""
    assert value.value is not None and value.hi is not None
    return plus_minus(value.value, value.hi - value.value)
