"""An episode of a task that has no scene, as a still: what it was paid and what it cost, in
time.
"""

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from saddle.draw import looks
from saddle.draw.page import DPI, SIZE
from saddle.tasks.spec import TaskSpec

COSTS = (looks.COST, looks.GREMLIN, looks.BUTTON, looks.PILLAR)  # colours of constraints, in turn


def write(
    spec: TaskSpec, policy: str, seed: int, rewards: np.ndarray, costs: np.ndarray, out: Path
) -> None:
    """Draw return and costs so far over env steps. rewards [T + 1], costs [T + 1, m], 0 at the
    reset.
    """
    figure = Figure(figsize=SIZE, dpi=DPI, facecolor="white")
    figure.text(0.03, 0.947, spec.name, size=19, weight="bold", color=looks.INK)
    figure.text(0.03, 0.917, f"{policy} policy, seed {seed}", size=12.5, color=looks.MUTED)
    steps = np.arange(len(rewards))
    above = figure.add_axes((0.1, 0.53, 0.86, 0.33))
    above.plot(steps, np.cumsum(rewards), color=looks.ROBOT, lw=1.6)
    _style(above, "return so far")
    below = figure.add_axes((0.1, 0.1, 0.86, 0.33))
    for i, constraint in enumerate(spec.constraints):
        colour = COSTS[i % len(COSTS)]
        below.plot(steps, np.cumsum(costs[:, i]), color=colour, lw=1.6, label=constraint)
    _style(below, "cost so far")
    below.set_xlabel("env steps", size=12, color=looks.MUTED)
    below.legend(frameon=False, fontsize=12, labelcolor=looks.INK)
    figure.savefig(out, dpi=DPI, format="png")


def _style(ax: Any, label: str) -> None:
    ax.set_ylabel(label, size=12, color=looks.MUTED)
    ax.margins(x=0)
    ax.tick_params(labelsize=11, colors=looks.MUTED)
    ax.spines[["top", "right"]].set_visible(False)
