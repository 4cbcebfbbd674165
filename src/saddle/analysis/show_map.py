"""A map of rules in a terminal: `saddle map`."""

from collections.abc import Sequence

from rich.markup import escape
from rich.text import Text

from saddle.analysis.findings import MapCell, TaskMap
from saddle.analysis.text import percent, text
from saddle.console import console
from saddle.multipliers import label
from saddle.tables import Column, Content, print_table

COLUMNS = (
    Column("limit", identifies=True, right=True),
    Column("rule", identifies=True),
    Column("seeds", right=True),
    Column("gap to frontier"),
    Column("of its span"),
    Column("cost"),
    Column("seeds violating"),
    Column("limit is"),
    Column(""),
)


def show_map(maps: Sequence[TaskMap]) -> None:
    """Print each task's rules by limits, and which to use where."""
    out = console()
    for found in maps:
        whose = " · ".join(filter(None, [found.algorithm, found.constraint]))
        out.print(f"[bold]{escape(found.task)}[/] · {escape(whose)}")
        use = {limit.limit: limit.use for limit in found.limits}
        rows = [_row(cell, cell.rule in use[cell.limit]) for cell in found.cells]
        print_table(out, COLUMNS, rows)
        for limit in found.limits:
            regime = f" ({limit.regime})" if limit.regime else ""
            line = f"  {limit.limit:g}{regime}: {limit.words}"
            out.print(escape(line), soft_wrap=not out.is_terminal)
        for words in found.words:
            out.print(f"  {escape(words)}", soft_wrap=not out.is_terminal)


def _row(cell: MapCell, use: bool) -> list[Content]:
    return [
        f"{cell.limit:g}",
        label(cell.rule),
        str(cell.seeds),
        text(cell.gap),
        percent(cell.gap_normalised),
        text(cell.cost),
        percent(cell.violating),
        cell.keeps,
        Text("use", style="green") if use else Text(),
    ]
