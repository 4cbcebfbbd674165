"""What is decided, in a terminal, of a study that adds seeds until that is known."""

from collections.abc import Sequence

from rich.markup import escape

from saddle.analysis.findings import TaskDecisions
from saddle.console import console


def show_decisions(found: Sequence[TaskDecisions]) -> None:
    """Print of each task that seeds were added, and what is decided at each limit."""
    out = console()
    for one in found:
        out.print(f"\n[bold]{escape(one.task)}, until decided[/] · {escape(one.algorithm)}")
        for line in decision_lines(one):
            out.print(f"  {escape(line)}", soft_wrap=not out.is_terminal)


def decision_lines(found: TaskDecisions) -> list[str]:
    """The sentences of a task's decisions."""
    limits = [f"{limit.limit:g}: {limit.words}" for limit in found.limits]
    return [found.words, *limits]
