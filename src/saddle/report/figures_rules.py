"""Figures of the comparison: rules projected onto the frontier, and training curves."""

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from saddle import multipliers
from saddle.analysis.findings import Cell, TaskFindings
from saddle.report import style
from saddle.report.figures_sweep import array, line


def zoom(task: TaskFindings) -> Figure:
    """One panel per limit: the frontier near it, every rule's mean with +-1 SD, and its gap to the
    frontier dotted.
    """
    limits = sorted({cell.limit for cell in task.comparison})
    drawn = style.figure(height=1.9 * len(limits) + 0.45)
    looks = multipliers.looks([cell.rule for cell in task.comparison])
    panels = drawn.subplots(len(limits), 1, squeeze=False)[:, 0]
    for axes, limit in zip(panels, limits, strict=True):
        cells = [cell for cell in task.comparison if cell.limit == limit]
        draw_rules(axes, task, cells, limit, looks)
    handles = rules_legend(task, looks)
    drawn.legend(
        handles.values(), handles.keys(), loc="outside lower center", ncols=3, columnspacing=1.0
    )
    panels[0].set_title(style.heading(task))
    panels[-1].set_xlabel("cost")
    return drawn


def rules_legend(task: TaskFindings, looks: dict) -> dict[str, Line2D]:
    """What the legend shows, by its words."""
    handles = {}
    if task.frontier:
        handles["frontier"] = Line2D([], [], color=style.FRONTIER, linestyle="--")
    for rule in dict.fromkeys(cell.rule for cell in task.comparison):
        colour, marker = looks[rule]
        handles[style.rule_name(rule)] = Line2D(
            [], [], color=colour, marker=marker, markersize=5, linewidth=0.8
        )
    if any(cell.best for cell in task.comparison):
        handles["best within $d$"] = Line2D(
            [],
            [],
            marker="o",
            markersize=5,
            markerfacecolor="none",
            markeredgecolor=style.INK,
            linestyle="",
        )
    if any(cell.return_sd is not None or cell.cost_sd is not None for cell in task.comparison):
        handles["$\\pm$ 1 SD over seeds"] = Line2D(
            [], [], marker="+", markersize=8, color=style.MUTED, linestyle=""
        )
    if any(cell.gap.value is not None for cell in task.comparison):
        handles["gap to the frontier"] = Line2D(
            [], [], color=style.MUTED, linestyle=":", linewidth=1
        )
    return handles


def draw_rules(
    axes: Axes, task: TaskFindings, cells: list[Cell], limit: float, looks: dict
) -> None:
    """The rules at one limit, over the part of the frontier around them."""
    costs = array([c.cost.value for c in cells])
    cost_sd = np.nan_to_num(array([c.cost_sd for c in cells]))
    returns = array([c.return_.value for c in cells])
    return_sd = np.nan_to_num(array([c.return_sd for c in cells]))
    cheapest = (costs - 1.2 * cost_sd).min()
    dearest = (costs + 1.2 * cost_sd).max()
    low = max(min(cheapest, 0.6 * limit), 0.0)
    high = max(dearest, 1.4 * limit)
    bottom = (returns - 1.2 * return_sd).min()
    top = (returns + 1.2 * return_sd).max()
    if task.frontier:
        line(axes, task, style.FRONTIER, "frontier", dashes="--")
        grid = np.array(task.frontier.grid)
        curve = array(task.frontier.curve.value)
        near = curve[(grid >= low) & (grid <= high)]
        bottom = min([bottom, *near])
        top = max([top, *near])
    for cell, x, y in zip(cells, costs, returns, strict=True):
        colour, marker = looks[cell.rule]
        if cell.gap.value is not None:
            axes.plot([x, x], [y, y - cell.gap.value], color=colour, linestyle=":", linewidth=1)
        axes.errorbar(
            x,
            y,
            cell.return_sd,
            cell.cost_sd,
            fmt=marker,
            color=colour,
            markersize=5,
            markeredgecolor=style.INK if cell.best else colour,
            markeredgewidth=1.1,
            elinewidth=0.8,
            capsize=1.5,
            zorder=5,
        )
    axes.axvspan(limit, high * 2 + 1, color=style.COST, alpha=0.07, linewidth=0)
    axes.axvline(limit, color=style.COST, linestyle="--", linewidth=0.9)
    axes.text(
        limit,
        1.0,
        f" $d$ = {limit:g}",
        transform=axes.get_xaxis_transform(),
        va="top",
        color=style.COST,
    )
    pad = 0.06 * (top - bottom or 1.0)
    axes.set(xlim=(low, high), ylim=(bottom - pad, top + pad), ylabel="return")
    axes.xaxis.set_major_locator(MaxNLocator(5))
    axes.yaxis.set_major_locator(MaxNLocator(5))


def training(heading: str, limit: float, curves: pl.DataFrame) -> Figure:
    """Lambda, return and cost over training, mean and SD over seeds of every rule at this limit."""
    drawn = style.figure(height=3.6)
    panels = drawn.subplots(3, 1, sharex=True)
    rules = curves["rule"].unique(maintain_order=True).to_list()
    looks = multipliers.looks(rules)
    for rule in rules:
        rows = curves.filter(pl.col("rule") == rule).sort("steps")
        steps = rows["steps"].to_numpy() / 1e6
        for axes, name in zip(panels, ("lambda", "return", "cost"), strict=True):
            mean = rows[f"{name}_mean"].cast(pl.Float64).to_numpy()
            sd = rows[f"{name}_sd"].cast(pl.Float64).to_numpy()
            low = mean - sd
            if name != "return":  # neither lambda nor a cost is ever below 0
                low = np.maximum(low, 0)
            colour, _ = looks[rule]
            axes.fill_between(steps, low, mean + sd, color=colour, alpha=0.18, linewidth=0)
            axes.plot(steps, mean, color=colour, label=style.rule_name(rule), linewidth=1.1)
    panels[2].axhline(
        limit, color=style.COST, linestyle="--", linewidth=0.9, label=f"$d$ = {limit:g}"
    )
    for axes, name in zip(panels, ("$\\lambda$", "return", "cost"), strict=True):
        axes.set_ylabel(name)
        axes.yaxis.set_major_locator(MaxNLocator(4))
    panels[0].set_title(f"{heading}, limit {limit:g}")
    panels[2].set_xlabel("million env steps")
    handles, labels = panels[2].get_legend_handles_labels()
    drawn.legend(handles, labels, loc="outside lower center", ncols=4, columnspacing=1.0)
    drawn.align_ylabels(panels)
    return drawn
