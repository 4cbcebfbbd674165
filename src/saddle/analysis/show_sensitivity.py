"""What a rule's settings matter, in a terminal: `saddle sensitivity`."""

from collections.abc import Sequence

from rich.markup import escape

from saddle.analysis.findings import Sensitivity, SettingValue
from saddle.analysis.text import percent
from saddle.console import console
from saddle.tables import Column, print_table

COLUMNS = (
    Column("setting", identifies=True),
    Column("value", identifies=True, right=True),
    Column("runs", right=True),
    Column("gap to frontier, of its span"),
    Column("violation, of the limit"),
    Column(""),
)


def show_sensitivities(found: Sequence[Sensitivity], notes: Sequence[str]) -> None:
    """Print every value of each setting, and how far each setting is flat."""
    out = console()
    rows = []
    for one in found:
        for at in one.values:
            default = " (default)" if at.value == one.default else ""
            name = f"{one.setting}{default}"
            ends = percent(at.gap, 1), percent(at.violation, 1)
            rows.append([name, f"{at.value:g}", str(at.runs), *ends, _worse(at)])
    if rows:
        print_table(out, COLUMNS, rows)
    for one in found:
        out.print(f"  {escape(one.words)}", soft_wrap=not out.is_terminal)
    for note in notes:
        out.print(f"[yellow]note[/] {escape(note)}", soft_wrap=not out.is_terminal)


def _worse(at: SettingValue) -> str:
    told = []
    if at.less_return:
        told.append("less return")
    if at.violates_more:
        told.append("violates more")
    return ", ".join(told)
