"""Parity with the reference: its transitions replayed one env step at a time."""

import json
from pathlib import Path

from saddle.console import console
from saddle.parity import report
from saddle.parity.compare import Precision, step
from saddle.parity.golden import load
from saddle.parity.verdict import judge
from saddle.tasks import make


def run(
    golden: Path | None = None,
    tasks: tuple[str, ...] = (),
    precision: Precision = "float32",
    as_json: bool = False,
    as_markdown: bool = False,
) -> bool:
    """Replay, print, and say whether every tolerance we claim holds. No tasks means all that have a file."""
    reports = [judge(rows, step(rows, make(rows.task), precision), precision) for rows in load(golden, tasks)]
    passed = all(r.passed for r in reports)
    if as_json:
        print(json.dumps({"passed": passed, "precision": precision, "tasks": [r.as_dict() for r in reports]}, indent=2))
    elif as_markdown:
        print(report.markdown(reports))
    else:
        report.print_tables(reports, console())
    return passed
