"""`saddle evaluate`: what trained policies do, as a table or as JSON."""

import json
from dataclasses import asdict
from pathlib import Path

from saddle.console import console
from saddle.evaluation import Score
from saddle.evaluation import evaluate as scores_of
from saddle.multipliers import lambda_name, lambda_of
from saddle.progress import counting
from saddle.streams import note
from saddle.tables import Column, print_table
from saddle.words import counted, plus_minus


def evaluate(
    path: Path,
    episodes: int,
    limits: tuple[float, ...],
    seed: int,
    as_json: bool,
    task: str | None = None,
    multipliers: tuple[float, ...] = (),
) -> None:
    """Play the policies of a study or of a folder, and print how they fare."""
    scores = scores_of(
        path,
        episodes=episodes,
        limits=limits,
        seed=seed,
        task=task,
        multipliers=multipliers,
        on_message=_say,
        counting=counting,
    )
    if as_json:
        print(json.dumps([asdict(one) for one in scores], indent=2))
    else:
        print_scores(scores)


def _say(text: str) -> None:
    note(f"note: {text}")


def print_scores(scores: list[Score]) -> None:
    """A row for each score. Constraints are named where a task has several."""
    constraints = {(one.task, one.constraint) for one in scores}
    several = len(constraints) > len({task for task, _ in constraints})
    dials = any(one.multipliers is not None for one in scores)
    columns = [Column("run", identifies=True), Column("policy", identifies=True)]
    if dials:
        columns.append(Column("lambda", right=True))
    if several:
        columns.append(Column("constraint", identifies=True))
    for name in ("return", "cost", "length", "limit", "violating"):
        columns.append(Column(name, right=True))
    if several:
        columns.append(Column("any of them", right=True))
    rows = []
    for one in scores:
        which = [_setting(one)] if dials else []
        if several:
            which.append(one.constraint)
        row = (
            one.run,
            one.mode,
            *which,
            plus_minus(one.return_mean, one.return_sd),
            plus_minus(one.cost_mean, one.cost_sd),
            f"{one.length_mean:.0f}",
            "-" if one.limit is None else f"{one.limit:g}",
            _share(one.violating),
        )
        if several:
            row += (_share(one.violating_any),)
        rows.append(row)
    print_table(console(), columns, rows, title=f"{counted(scores[0].episodes, 'episode')} each")


def _setting(score: Score) -> str:
    """Where the dial is set."""
    return "-" if score.multipliers is None else f"{lambda_name(lambda_of(score.multipliers))}"


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.0%}"
