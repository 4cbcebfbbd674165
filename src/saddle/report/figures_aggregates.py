"""A figure of rules over all tasks and limits: performance profiles."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from saddle import multipliers
from saddle.analysis.findings import Aggregate, Score
from saddle.report import style


def profiles(found: Aggregate) -> Figure:
    """Two panels with a line for each rule: the share of runs whose gap is at least so high, and of
    those whose violation is at most so large, with pointwise bands.
    """
    drawn = style.figure(height=4.2)
    above, below = drawn.subplots(2, 1)
    _panel(above, found.gap)
    _panel(below, found.violation)
    above.set_title("all tasks and limits")
    above.set_xlabel("gap to the frontier, % of its span")
    above.set_ylabel("% of runs at or above")
    below.set_xlabel("violation, % of the limit")
    below.set_ylabel("% of runs at or below")
    handles, labels = (above if found.gap.rules else below).get_legend_handles_labels()
    drawn.legend(handles, labels, loc="outside lower center", ncols=3, columnspacing=1.0)
    return drawn


def _panel(axes: Axes, score: Score) -> None:
    looks = multipliers.looks([rule.rule for rule in score.rules])
    taus = 100 * np.array(score.taus)
    for rule in score.rules:
        colour, _ = looks[rule.rule]
        profile = rule.profile
        share = 100 * np.array(profile.value, float)
        axes.plot(taus, share, color=colour, label=style.rule_name(rule.rule))
        lo, hi = 100 * np.array(profile.lo, float), 100 * np.array(profile.hi, float)
        axes.fill_between(taus, lo, hi, color=colour, alpha=0.12, linewidth=0)
    axes.set_ylim(0, 103)
