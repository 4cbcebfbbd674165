"""Figures of a sweep: frontier, profile, slope and regimes, seeds, and all tasks at once."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator, NullFormatter

from saddle.analysis.findings import Curve, TaskFindings
from saddle.multipliers.fixed import Fixed
from saddle.report import style

LABEL_SHARE = 0.08  # of an axis' height that a limit's label takes


def plain(value: float, _: float) -> str:
    """A number on an axis: 0.1 and 100, not powers of ten."""
    return f"{value:g}"


def array(values: Sequence[float | None]) -> np.ndarray:
    """Floats, NaN for what is not known."""
    return np.array([np.nan if value is None else value for value in values], float)


def fill(
    axes: Axes, x: Sequence[float], curve: Curve, colour: str, alpha: float = 0.2, zorder: float = 1
) -> None:
    """A curve's band."""
    axes.fill_between(
        x, array(curve.lo), array(curve.hi), color=colour, linewidth=0, alpha=alpha, zorder=zorder
    )


def lambda_norm(tasks: Sequence[TaskFindings]) -> LogNorm:
    """The colours of log lambda, shared by these tasks."""
    lambdas = [group.lambda_ for task in tasks for group in task.groups if group.lambda_ > 0]
    return LogNorm(min(lambdas), max(lambdas))


def frontier(task: TaskFindings) -> Figure:
    """Return against cost: one point per lambda with +-1 SD, the frontier dashed, its band."""
    drawn = style.figure()
    whole_frontier(drawn.subplots(), task)
    return drawn


def whole_frontier(axes: Axes, task: TaskFindings) -> None:
    """The frontier on given axes, with everything that explains it."""
    norm = lambda_norm([task])
    draw_frontier(axes, task, norm)
    axes.set(xlabel="cost", ylabel="return", title=style.heading(task))
    _lambda_bar(norm, axes, pad=0.02, aspect=30)
    axes.legend(loc="lower right")


def _lambda_bar(norm: LogNorm, beside: Any, pad: float, aspect: float) -> None:
    """What the colours of lambda mean, beside the axes."""
    drawn = np.ravel(beside)[0].figure
    bar = drawn.colorbar(ScalarMappable(norm, style.LAMBDAS), ax=beside, pad=pad, aspect=aspect)
    # Above: beside the ticks it would lie on one of them.
    bar.ax.set_title("$\\lambda$", fontsize="medium")
    bar.ax.yaxis.set_major_formatter(plain)
    bar.ax.yaxis.set_minor_formatter(NullFormatter())
    bar.outline.set_visible(False)  # pyright: ignore[reportCallIssue]


def draw_frontier(axes: Axes, task: TaskFindings, norm: LogNorm, size: float = 14) -> None:
    """Points, bars, frontier and band on given axes."""
    groups = [group for group in task.groups if group.lambda_ > 0]
    cost = array([group.cost.value for group in groups])
    returns = array([group.return_.value for group in groups])
    axes.errorbar(
        cost,
        returns,
        yerr=array([group.return_sd for group in groups]),
        xerr=array([group.cost_sd for group in groups]),
        fmt="none",
        ecolor="#9aa5b1",
        elinewidth=0.5,
        alpha=0.8,
        zorder=2,
    )
    axes.scatter(
        cost,
        returns,
        size,
        [group.lambda_ for group in groups],
        norm=norm,
        cmap=style.LAMBDAS,
        zorder=4,
        linewidth=0,
    )
    if task.frontier:
        line(axes, task, style.FRONTIER, "frontier, 95 % band", dashes="--")
    axes.set_xlim(left=min(0.0, *cost) if len(cost) else None)
    axes.xaxis.set_major_locator(MaxNLocator(5))
    axes.yaxis.set_major_locator(MaxNLocator(5))


def line(axes: Axes, task: TaskFindings, colour: str, label: str | None, dashes: str = "-") -> None:
    """A task's frontier with its band."""
    assert task.frontier
    fill(axes, task.frontier.grid, task.frontier.curve, colour, alpha=0.18, zorder=1)
    curve = array(task.frontier.curve.value)
    axes.plot(task.frontier.grid, curve, dashes, color=colour, label=label, zorder=3, linewidth=1.1)


def profile(task: TaskFindings) -> Figure:
    """Return and cost against lambda, limits dashed, lambda* marked on them."""
    drawn = style.figure(height=2.6)
    handles = draw_profile(drawn.subplots(), task)
    if handles:
        drawn.legend(handles=handles, loc="outside lower center", ncols=2, columnspacing=1.0)
    return drawn


def draw_profile(left: Axes, task: TaskFindings) -> list[Line2D]:
    """Return on given axes and cost on a twin of theirs. Returns the legend's handles."""
    right = left.twinx()
    right.spines["right"].set_visible(True)
    found = task.profile
    assert found
    lambdas = [group.lambda_ for group in task.groups]
    returns = array([group.return_.value for group in task.groups])
    costs = array([group.cost.value for group in task.groups])
    for axes, curve, means, name, colour in (
        (left, found.return_, returns, "return", style.RETURN),
        (right, found.cost, costs, "cost", style.COST),
    ):
        fill(axes, found.lambda_, curve, colour)
        axes.plot(found.lambda_, array(curve.value), color=colour)
        axes.plot(lambdas, means, ".", color=colour, markersize=3.5, alpha=0.7)
        axes.set_ylabel(name, color=colour)
        axes.tick_params(axis="y", labelcolor=colour)
        axes.yaxis.set_major_locator(MaxNLocator(5))
    handles = _mark_limits(right, task)
    left.set(xscale="log", xlabel="$\\lambda$", title=style.heading(task))
    left.xaxis.set_major_formatter(plain)
    return handles


def _mark_limits(axes: Axes, task: TaskFindings) -> list[Line2D]:
    """Each limit within the cost axis as a dashed line, with lambda* and its interval on it.
    Returns the legend's.
    """
    top = axes.get_ylim()[1]
    within = [finding for finding in task.limits if finding.limit <= top]
    dashed: dict[str, Any] = {"color": style.MUTED, "linestyle": "--", "linewidth": 0.8}
    bar: dict[str, Any] = {"color": style.INK, "linewidth": 2.2, "solid_capstyle": "butt"}
    circle: dict[str, Any] = {
        "marker": "o",
        "markerfacecolor": "white",
        "markeredgecolor": style.INK,
        "markersize": 4,
    }
    for finding in within:
        axes.axhline(finding.limit, **dashed)
        star = finding.lambda_
        if star.value is not None:
            assert task.profile
            lo = task.profile.lambda_[0] if star.lo is None else star.lo
            hi = task.profile.lambda_[-1] if star.hi is None else star.hi
            axes.plot([lo, hi], [finding.limit] * 2, **bar)
            axes.plot(star.value, finding.limit, linestyle="", **circle)
    _label_limits(axes, sorted(finding.limit for finding in within))
    handles = [Line2D([], [], label="limit $d$", **dashed)] if within else []
    if any(finding.lambda_.value is not None for finding in within):
        handles.append(Line2D([], [], label="$\\lambda^*$ with its 95 % interval", **circle, **bar))
    return handles


def _label_limits(axes: Axes, limits: Sequence[float]) -> None:
    """Names of rising limits at the left, above their lines; neighbours too close for two labels
    share one.
    """
    low, high = axes.get_ylim()
    near = LABEL_SHARE * (high - low)
    together: list[list[float]] = []
    for limit in limits:
        if together and limit - together[-1][-1] < near:
            together[-1].append(limit)
        else:
            together.append([limit])
    for own in together:
        axes.annotate(
            "$d$ = " + ", ".join(f"{limit:g}" for limit in own),
            (0, own[-1]),
            (3, 1.5),
            xycoords=("axes fraction", "data"),
            textcoords="offset points",
            fontsize=6.5,
            color=style.MUTED,
        )


def slope(task: TaskFindings) -> Figure:
    """Normalised slope along the frontier with its band, over a strip of regimes."""
    drawn = style.figure(height=2.3)
    axes, strip = drawn.subplots(2, 1, sharex=True, height_ratios=(7, 1))
    found = task.slope
    assert found
    top = 30.0

    def within(values: Sequence[float | None]) -> np.ndarray:
        """What is too steep to tell is at the top."""
        return np.clip(np.nan_to_num(array(values), nan=top), 1 / top, top)

    value = within(found.normalised.value)
    lo = within(found.normalised.lo)
    hi = within(found.normalised.hi)
    if any(end is not None for end in found.normalised.lo):
        axes.fill_between(found.cost, lo, hi, color=style.INK, alpha=0.15, linewidth=0)
    axes.plot(found.cost, value, color=style.INK)
    axes.axhline(1, color=style.MUTED, linestyle="--", linewidth=0.8)
    axes.set(
        yscale="log",
        ylim=(1 / top, top),
        ylabel="slope $dR/dC$\n(average = 1)",
        title=style.heading(task),
    )
    axes.yaxis.set_major_formatter(plain)
    for regime in task.regimes:
        strip.axvspan(regime.cost_from, regime.cost_to, color=style.KINDS[regime.kind], linewidth=0)
    kinds = list(dict.fromkeys(regime.kind for regime in task.regimes))
    for advice in task.recommended:
        strip.plot(advice.limit, 0.5, "v", color=style.INK, markersize=4)
    handles: list[Any] = [Patch(color=style.KINDS[kind], label=kind) for kind in kinds]
    if task.recommended:
        handles += strip.plot(
            [], [], "v", color=style.INK, markersize=4, linestyle="", label="recommended limit"
        )
    if handles:
        drawn.legend(handles=handles, loc="outside lower center", ncols=2, columnspacing=1.0)
    if min(found.cost) > 0 and max(found.cost) > 20 * min(found.cost):
        strip.set_xscale("log")
        strip.xaxis.set_major_formatter(plain)
    strip.set(yticks=[], ylim=(0, 1), xlabel="cost")
    strip.spines["left"].set_visible(False)
    return drawn


def seeds(task: TaskFindings) -> Figure:
    """Every seed of the sweep, and the frontiers that a quarter, half and three quarters of the
    seeds attain.
    """
    drawn = style.figure()
    draw_seeds(drawn.subplots(), task)
    return drawn


def draw_seeds(axes: Axes, task: TaskFindings) -> None:
    """Seeds and attained frontiers on given axes."""
    norm = lambda_norm([task])
    runs = []
    for seed in task.scatter:
        swept = seed.rule == Fixed.name and seed.limit is None
        if swept and (seed.lambda_ or 0) > 0:
            runs.append(seed)
    cost = array([seed.cost for seed in runs])
    returns = array([seed.return_ for seed in runs])
    lambdas = array([seed.lambda_ for seed in runs])
    axes.scatter(cost, returns, 6, lambdas, norm=norm, cmap=style.LAMBDAS, alpha=0.75, linewidth=0)
    if task.frontier:
        for level, dashes in zip(task.frontier.attainment, (":", "-", "--"), strict=True):
            axes.step(
                task.frontier.grid,
                array(level.return_),
                where="post",
                color=style.INK,
                linewidth=0.9,
                linestyle=dashes,
                label=f"attained by {level.share:.0%} of seeds",
            )
    _lambda_bar(norm, axes, pad=0.02, aspect=30)
    axes.set(xlabel="cost", ylabel="return", title=style.heading(task))
    axes.legend(loc="lower right")


def grid(tasks: Sequence[TaskFindings]) -> Figure:
    """The frontiers of all tasks, four a row, at a page's width."""
    columns = min(4, len(tasks))
    rows = -(-len(tasks) // columns)
    width = style.PAGE * columns / 4 if columns > 2 else style.COLUMN
    drawn = style.figure(width, height=1.75 * rows + 0.35)
    panels = drawn.subplots(rows, columns, squeeze=False)
    norm = lambda_norm(tasks)
    for i, axes in enumerate(panels.flat):
        if i >= len(tasks):
            axes.set_visible(False)
            continue
        draw_frontier(axes, tasks[i], norm, size=7)
        axes.xaxis.set_major_locator(MaxNLocator(4))
        axes.set_title(style.heading(tasks[i], between="\n"))
    drawn.supxlabel("cost", fontsize=8)
    drawn.supylabel("return", fontsize=8)
    _lambda_bar(norm, panels, pad=0.01, aspect=40)
    return drawn
