"""Rules over all tasks and limits in a terminal: what `saddle map` prints below the maps."""

from collections.abc import Sequence

from rich.markup import escape

from saddle.analysis.findings import Aggregate, RuleScore
from saddle.analysis.text import percent
from saddle.console import console
from saddle.multipliers import label
from saddle.tables import Column, print_table

GAP_COLUMNS = (
    Column("rule", identifies=True),
    Column("runs", right=True),
    Column("gap to frontier, of its span"),
    Column("higher gap than"),
)
VIOLATION_COLUMNS = (
    Column("rule", identifies=True),
    Column("runs", right=True),
    Column("violation, of the limit"),
    Column("runs within limit"),
    Column("violates less than"),
)


def show_aggregates(found: Sequence[Aggregate]) -> None:
    """Print each algorithm's rules over all tasks and limits, and what the runs decide."""
    out = console()
    for one in found:
        sure = 1 - one.level
        tasks = f"{len(one.tasks)} tasks" if len(one.tasks) > 1 else "".join(one.tasks)
        out.print(f"\n[bold]{escape(tasks)}, all limits[/] · {escape(one.algorithm)}")
        rows = []
        for rule in one.gap.rules:
            beaten = ", ".join(map(label, one.gap.better_than(rule.rule, sure)))
            rows.append([label(rule.rule), str(rule.runs), percent(rule.iqm, 1), beaten or "-"])
        if rows:
            print_table(out, GAP_COLUMNS, rows)
        out.print(f"  {escape(one.gap.words)}", soft_wrap=not out.is_terminal)
        rows = []
        for rule in one.violation.rules:
            beaten = ", ".join(map(label, one.violation.better_than(rule.rule, sure)))
            head = [label(rule.rule), str(rule.runs), percent(rule.iqm, 1)]
            rows.append([*head, within_limit(rule), beaten or "-"])
        if rows:
            print_table(out, VIOLATION_COLUMNS, rows)
        out.print(f"  {escape(one.violation.words)}", soft_wrap=not out.is_terminal)


def within_limit(rule: RuleScore) -> str:
    """Share of a rule's runs whose final cost is within the limit: its profile of violations at
    0.
    """
    share = rule.profile.value[0]
    return "-" if share is None else f"{share:.0%}"
