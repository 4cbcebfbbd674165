"""How figures look: a column's width, small plain type, hues that the colour-blind can tell apart
(Okabe and Ito).
"""

import io
import re
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from saddle import files, multipliers, palette
from saddle.analysis.constraints import title
from saddle.analysis.findings import TaskFindings
from saddle.palette import INK as INK
from saddle.palette import MUTED as MUTED

COLUMN, PAGE = 3.4, 7.0  # inches
RETURN = palette.BLUE
COST = palette.VERMILLION
FRONTIER = INK
LAMBDAS = "viridis"  # colour map of log lambda
KINDS: dict[str, str] = {
    "restrictive": palette.VERMILLION,
    "unrestrictive": palette.SKY_BLUE,
    "even": "#c9ced6",
}
ALGORITHMS = (palette.BLUE, palette.VERMILLION, palette.GREEN, palette.PURPLE)

RC: dict[Any, Any] = {
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.labelsize": 8,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "legend.fontsize": 7,
    "legend.frameon": False,
    "legend.handlelength": 1.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": MUTED,
    "axes.linewidth": 0.7,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "text.color": INK,
    "axes.labelcolor": INK,
    "lines.linewidth": 1.3,
    "pdf.fonttype": 42,  # text stays text
    "savefig.dpi": 220,
}


def figure(width: float = COLUMN, height: float = 2.4) -> Figure:
    """An empty figure that lays itself out."""
    return Figure(figsize=(width, height), layout="constrained")


def styled() -> Any:
    """Context in which figures are drawn and saved."""
    return matplotlib.rc_context(RC)


def save(drawn: Figure, out: Path, name: str) -> list[Path]:
    """Write NAME.pdf and NAME.png; the PDF carries no date, so that the same study gives the same
    file.
    """
    drawn.draw_without_rendering()
    drawn.set_layout_engine("none")  # laid out once, for both files
    # Into memory first: on a full disk the PDF's writer fails with an error of its own making.
    written = []
    for ending, facts in (("pdf", {"CreationDate": None}), ("png", None)):
        file = out / f"{name}.{ending}"
        drawing = io.BytesIO()
        drawn.savefig(drawing, format=ending, metadata=facts)
        files.write(file, drawing.getvalue(), files.AGAIN)
        written.append(file)
    return written


def rule_name(rule: str) -> str:
    """A rule as a legend writes it."""
    return multipliers.label(rule).replace("λ*", "$\\lambda^*$")


def short(task: str) -> str:
    """'SafetyPointCircle1-v0' as 'PointCircle1', a reference without its options."""
    return re.sub(r"^Safety|-v\d+$", "", task.partition("?")[0])


def heading(part: TaskFindings, between: str = ": ") -> str:
    """What findings are about, above a figure: the task, and the constraint where there are
    several.
    """
    looked_at = title(part.constraint)
    return f"{short(part.task)}{between}{looked_at}" if looked_at else short(part.task)


def say(axes: Axes, text: str) -> None:
    """A line of muted words in the middle of empty axes."""
    axes.text(
        0.5, 0.5, text, ha="center", va="center", transform=axes.transAxes, color=MUTED, wrap=True
    )
    axes.set(xticks=[], yticks=[])
