"""Figures in notebooks and programs: `saddle.plot.frontier(findings.task())` and others.

Each function draws into the axes that it is given as `ax`, or else into new ones of
matplotlib.pyplot, and returns them. `saddle figures` draws the same as files.
"""

import difflib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from saddle import multipliers
from saddle.analysis.findings import TaskFindings
from saddle.analysis.settings import name_settings
from saddle.arguments import of_kind
from saddle.errors import SaddleError
from saddle.report import figures_rules, figures_sweep, style
from saddle.study.store import Study, folder_of

SIZE = (5.0, 3.4)  # inches, of a figure of one's own
NAMED = 8  # curves at most that a legend names


@contextmanager
def _drawing(ax: Axes | None) -> Iterator[Axes]:
    """The axes to draw into. Those of the caller keep his style."""
    of_kind("ax", ax, Axes | None, "axes of matplotlib")
    if ax is not None:
        yield ax
        return
    # The first figure of a program makes its backend's settings, which are to outlast the style.
    figure = pyplot.figure(figsize=SIZE, layout="constrained")
    with style.styled():
        yield figure.subplots()


def _of_task(task: Any) -> None:
    of_kind("task", task, TaskFindings, "what is found of one, as saddle.analyze(study).task()")


def _wanted(task: TaskFindings, found: object, what: str) -> None:
    if not found:
        why = f": {task.notes[0]}" if task.notes else ""
        raise SaddleError(f"the study of {task.task} has no {what} to draw{why}")


def frontier(task: TaskFindings, *, ax: Axes | None = None) -> Axes:
    """Return against cost: one point per lambda with +-1 SD, the frontier dashed, its band."""
    _of_task(task)
    _wanted(task, task.frontier, "frontier")
    with _drawing(ax) as axes:
        figures_sweep.whole_frontier(axes, task)
    return axes


def profile(task: TaskFindings, *, ax: Axes | None = None) -> Axes:
    """Return (left) and cost (right) against lambda, with limits and lambda* marked. Returns the
    axes of the return.
    """
    _of_task(task)
    _wanted(task, task.profile, "profile")
    with _drawing(ax) as axes:
        handles = figures_sweep.draw_profile(axes, task)
        if handles:
            axes.legend(handles=handles, loc="upper right")
    return axes


def seeds(task: TaskFindings, *, ax: Axes | None = None) -> Axes:
    """Every seed of the sweep, and the frontiers that a quarter, half and three quarters of the
    seeds attain.
    """
    _of_task(task)
    _wanted(task, task.frontier, "sweep")
    with _drawing(ax) as axes:
        figures_sweep.draw_seeds(axes, task)
    return axes


def rules(task: TaskFindings, limit: float, *, ax: Axes | None = None) -> Axes:
    """The rules that were trained at a limit, over the part of the frontier around them."""
    _of_task(task)
    cells = [cell for cell in task.comparison if cell.limit == limit]
    if not cells:
        trained = ", ".join(f"{one:g}" for one in sorted({cell.limit for cell in task.comparison}))
        raise SaddleError(
            f"no rule was trained at the limit {limit:g}; there is {trained or 'no comparison'}"
        )
    looks = multipliers.looks([cell.rule for cell in task.comparison])
    with _drawing(ax) as axes:
        figures_rules.draw_rules(axes, task, cells, limit, looks)
        handles = figures_rules.rules_legend(task, looks)
        axes.legend(handles.values(), handles.keys(), fontsize="small")
        axes.set(xlabel="cost", title=style.heading(task))
    return axes


def training(
    study: Study | Path | str,
    quantity: str = "return",
    *,
    task: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """A column of the metrics along training, mean and SD over the seeds of each setting. Runs that
    failed are left out.

    `study` is one, or its directory; `task` is which of several tasks of it.
    """
    if not isinstance(study, Study):
        study = Study(folder_of(study))
    runs = name_settings(study.runs)
    names = runs["task"].unique(maintain_order=True).to_list()
    if (task is None and len(names) > 1) or (task is not None and task not in names):
        raise SaddleError(f"task has to be one of the study's: {', '.join(names)}")
    with study.reading():
        metrics = study.scan_metrics()
        columns = metrics.collect_schema().names()
        if quantity not in columns[2:]:
            near = difflib.get_close_matches(quantity, columns, n=3, cutoff=0) or columns
            raise SaddleError(f"metrics have no column {quantity!r}; try {', '.join(near)}")
        numbers = [name for name in runs.columns if name.startswith(("lambda", "limit"))]
        setting = ["algorithm", "rule", *numbers]
        usable = runs.filter(pl.col("status") != "failed", task=task or names[0])
        chosen = usable.select("run", *setting)
        value = pl.col(quantity).cast(pl.Float64)
        rows = metrics.select("run", "env_steps", value=value)
        rows = rows.join(chosen.lazy(), on="run", maintain_order="left").collect()
    # Collected first: a lazy SD differs in its last bits from one time to the next.
    curves = (
        rows.group_by(*setting, "env_steps", maintain_order=True)
        .agg(mean=pl.col("value").mean(), sd=pl.col("value").std().fill_null(0.0))
        .sort("env_steps")
    )
    groups = sorted(curves.group_by(setting), key=lambda group: _order(group[0]))
    algorithms = curves["algorithm"].n_unique()
    with _drawing(ax) as axes:
        if len(groups) > NAMED:  # by rising lambda, as in the other figures
            shades = pyplot.get_cmap(style.LAMBDAS)(np.linspace(0, 1, len(groups)))
            axes.set_prop_cycle(color=shades)
        for own, rows in groups:
            label = _label(dict(zip(setting, own, strict=True)))
            if algorithms > 1:
                label = f"{label} ({own[0]})"
            _curve(axes, label, rows)
        if len(groups) <= NAMED:
            axes.legend()
        axes.set(xlabel="env steps", ylabel=quantity, title=style.short(task or names[0]))
        axes.xaxis.set_major_locator(MaxNLocator(5))
    return axes


def _order(setting: tuple[Any, ...]) -> list[tuple[bool, Any]]:
    """By algorithm and rule, then by rising lambdas and limits; what has none comes last."""
    return [(value is None, value if value is not None else 0.0) for value in setting]


def _curve(axes: Axes, label: str, rows: pl.DataFrame) -> None:
    steps = rows["env_steps"].to_numpy()
    mean = rows["mean"].to_numpy()
    spread = np.nan_to_num(rows["sd"].to_numpy())
    (drawn,) = axes.plot(steps, mean, label=label)
    axes.fill_between(
        steps, mean - spread, mean + spread, color=drawn.get_color(), alpha=0.15, linewidth=0
    )


def _label(setting: dict[str, object]) -> str:
    """A rule with the lambdas and limits that it was run at."""
    words = [style.rule_name(str(setting["rule"]))]
    for name, sign in (("lambda", "$\\lambda$"), ("limit", "$d$")):
        own = [value for key, value in setting.items() if key.startswith(name)]
        numbers = [f"{value:.3g}" for value in own if value is not None]
        if numbers:
            words.append(f"{sign} = {', '.join(numbers)}")
    return ", ".join(words)
