"""One task under several algorithms: their frontiers and profiles in one figure."""

import itertools
from collections.abc import Sequence

from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from saddle.analysis.findings import TaskFindings
from saddle.report import style
from saddle.report.figures_sweep import array, fill, line


def overlay(parts: Sequence[TaskFindings]) -> Figure:
    """Frontiers on top, then return and cost against lambda, one colour per algorithm."""
    drawn = style.figure(height=4.6)
    top, middle, bottom = drawn.subplots(3, 1, height_ratios=(1.4, 1, 1))
    for part, colour in zip(parts, itertools.cycle(style.ALGORITHMS), strict=False):
        assert part.frontier and part.profile
        line(top, part, colour, part.algorithm)
        means = [(group.cost.value, group.return_.value) for group in part.groups]
        top.plot(*zip(*means, strict=True), ".", color=colour, markersize=3.5, alpha=0.7)
        for axes, curve in ((middle, part.profile.return_), (bottom, part.profile.cost)):
            fill(axes, part.profile.lambda_, curve, colour)
            axes.plot(part.profile.lambda_, array(curve.value), color=colour)
            axes.yaxis.set_major_locator(MaxNLocator(4))
    top.set(xlabel="cost", ylabel="return", title=style.heading(parts[0]))
    middle.set(xscale="log", ylabel="return", xticklabels=[])
    bottom.set(xscale="log", ylabel="cost", xlabel="$\\lambda$")
    middle.sharex(bottom)
    bottom.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    middle.tick_params(labelbottom=False)
    drawn.align_ylabels([top, middle, bottom])
    drawn.legend(loc="outside lower center", ncols=3)
    return drawn
