"""`saddle check`: what a task is, what a random policy meets in it, and what would make a training
wrong or slow.
"""

import dataclasses
import json
from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.text import Text

from saddle import tasks, trial
from saddle.console import console
from saddle.errors import SaddleError
from saddle.inspection import Problem, bounds_of, of_actions, of_size, problems
from saddle.learners import PPO
from saddle.study import estimate
from saddle.study.frontier import Wish, first_plan
from saddle.study.program import POPULATION
from saddle.study.status import duration
from saddle.tables import Column, print_table
from saddle.tasks import TaskSpec
from saddle.tasks.gymnasium.facts import Facts
from saddle.trial import Trial
from saddle.verbs.exit_codes import FINISHED

WRONG = 1  # exit code
COLUMNS = (Column("", identifies=True), Column("", wraps=True))

Row = tuple[str, str]


@dataclass(frozen=True)
class Forecast:
    """How long `saddle frontier` takes here."""

    seconds: float
    seeds: int
    steps: int
    """Env steps of each run."""


@dataclass(frozen=True)
class Report:
    """What was found; None where it could not be."""

    task: str
    facts: Facts | None
    """Of an environment."""
    spec: TaskSpec | None
    trial: Trial | None
    forecast: Forecast | None
    problems: list[Problem]

    @property
    def is_wrong(self) -> bool:
        """Whether a training would be."""
        return any(problem.wrong for problem in self.problems)


def check(task: str, quick: bool, as_json: bool) -> int:
    """Look at a task, print what there is to say, and return the exit code: 1 where a training
    would be wrong.
    """
    report = examine(task)
    if not as_json:
        _print(report)
    if not quick and not report.is_wrong:
        report = with_forecast(report)
        if not as_json:
            _print_forecast(report)
    if as_json:
        print(json.dumps(_facts(report), indent=2))
    return WRONG if report.is_wrong else FINISHED


def examine(task: str) -> Report:
    """Make the task, and play a random policy in it.

    Epochs are those of `saddle train`.
    """
    made = tasks.make(task)
    facts: Facts | None = None
    spec: TaskSpec | None = None
    seen: Trial | None = None
    found: list[Problem] = []
    try:
        facts = getattr(made, "facts", None)
        spec = made.spec
        assert spec is not None
        seen = trial.play(made)
        found = problems(spec, seen, PPO(), bounds_of(made))
        found += of_size(spec, facts is not None and facts.pixels, _frontier_memory(task, spec))
        if facts is not None and not spec.choices:
            found += of_actions(facts.action_low, facts.action_high)
    except SaddleError as error:
        found.append(Problem(str(error), wrong=True))
    return Report(task, facts, spec, seen, None, found)


def _frontier_memory(task: str, spec: TaskSpec) -> int:
    """Bytes that the default frontier's policies take together here, roughly."""
    wish = Wish(task)
    learner = first_plan(wish, spec).learner
    each = learner.member_bytes(spec.obs_dim, spec.action_dim, len(spec.constraints))
    return wish.seeds * each


def with_forecast(report: Report) -> Report:
    """The same with how long a frontier takes here, by timing the parts of an epoch.

    `saddle frontier` sizes its own epochs.
    """
    assert report.spec is not None
    wish = Wish(report.task)
    try:
        plan = first_plan(wish, report.spec)
        pace = estimate.of_task(wish.task, plan.learner, wish.seeds, POPULATION, plan.steps)
    except SaddleError as error:
        wrong = Problem(str(error), wrong=True)
        return dataclasses.replace(report, problems=[*report.problems, wrong])
    training = pace.seconds(wish.seeds, plan.epochs_of(plan.learner))
    forecast = Forecast(training, wish.seeds, plan.steps)
    return dataclasses.replace(report, forecast=forecast)


def _print(report: Report) -> None:
    print_table(console(), COLUMNS, _rows(report), title=report.task, heading=False)
    if not report.problems:
        console().print("\nnothing that would make a training wrong or slow")
        return
    console().print("")
    _print_problems(report.problems)


def _print_problems(found: list[Problem]) -> None:
    lines = []
    for problem in found:
        mark = Text("wrong", style="red") if problem.wrong else Text("note", style="yellow")
        lines.append((mark, problem.text))
    print_table(console(), COLUMNS, lines, heading=False)


def _print_forecast(report: Report) -> None:
    """What measuring it has added, which took some time."""
    console().print("")
    if report.forecast is None:
        _print_problems(report.problems[-1:])
        return
    shown = report.forecast
    runs = f"a policy with a dial, {shown.seeds} seeds of {shown.steps:,} steps"
    row = ("a frontier here", f"about {duration(shown.seconds)} ({runs})")
    print_table(console(), COLUMNS, [row], heading=False)


def _rows(report: Report) -> list[Row]:
    rows: list[Row] = []
    facts = report.facts
    if report.spec is not None:
        rows += _of_spec(report.spec, facts)
    elif facts is not None:
        rows.append(("observations", f"{facts.obs_dim} numbers"))
    if report.trial is not None and report.spec is not None:
        rows += _of_trial(report.spec, report.trial)
    if facts is not None:
        rows += _of_environment(facts)
    return rows


def _of_environment(facts: Facts) -> list[Row]:
    ways = {
        "state": "by its get_state and set_state",
        "pickle": "whole",
        "attributes": "by its attributes",
        None: "not at all: a training that is resumed goes on with its worlds' next episodes",
    }
    return [("can be saved", ways[facts.way]), ("runs on", f"Python {facts.python}")]


def _of_spec(spec: TaskSpec, facts: Facts | None) -> list[Row]:
    actions = f"{spec.action_dim} in [-1, 1]"
    if spec.choices:
        actions = f"one of {' x '.join(map(str, spec.choices))} choices"
    elif facts is not None:
        actions = f"{actions}{_spread(facts)}"
    return [
        ("observations", f"{spec.obs_dim} numbers"),
        ("actions", actions),
        ("constraints", ", ".join(spec.constraints)),
        ("time limit", f"{spec.episode_length} steps"),
    ]


def _spread(facts: Facts) -> str:
    """What [-1, 1] means to an environment."""
    low = facts.action_low
    high = facts.action_high
    if not (np.isfinite(low) & np.isfinite(high)).all():
        return ", passed on as they are where nothing bounds them"
    if (low == -1).all() and (high == 1).all():
        return ""
    return f", spread over {low.min():g} to {high.max():g}"


def _of_trial(spec: TaskSpec, seen: Trial) -> list[Row]:
    rows = [("seeds", "repeat" if seen.seeds_repeat else "do not repeat")]
    count = len(seen.returns)
    if count:
        rows.append(("a random policy", f"earns {_mean(seen.returns)} in {count} episodes"))
        rows.append(("", f"of {seen.lengths.mean():.0f} steps on average"))
    for i, name in enumerate(spec.constraints):
        share = float(np.mean(seen.step_costs[:, i] > 0))
        paid = f"pays {_mean(seen.costs[:, i])} an episode; " if count else ""
        rows.append((f"  {name}", f"{paid}{share:.1%} of all steps cost something"))
    rows.append(("speed", f"{seen.steps_per_second:,.0f} steps/s under random actions, all cores"))
    return rows


def _mean(values: np.ndarray) -> str:
    return f"{values.mean():.4g} ± {values.std():.2g}"


def _facts(report: Report) -> dict[str, Any]:
    """The report as plain values."""
    found: dict[str, Any] = {"task": report.task}
    if report.spec is not None:
        found["spec"] = dataclasses.asdict(report.spec)
    seen = report.trial
    if seen is not None:
        found["seeds_repeat"] = seen.seeds_repeat
        found["steps_per_second"] = seen.steps_per_second
        found["random_policy"] = {
            "episodes": len(seen.returns),
            "return": seen.returns.tolist(),
            "cost": seen.costs.tolist(),
            "length": seen.lengths.tolist(),
            "share_of_steps_with_cost": (seen.step_costs > 0).mean(axis=0).tolist(),
        }
    if report.facts is not None:
        found["saved"] = report.facts.way
        found["python"] = report.facts.python
    if report.forecast is not None:
        found["frontier"] = dataclasses.asdict(report.forecast)
    found["problems"] = [dataclasses.asdict(problem) for problem in report.problems]
    return found
