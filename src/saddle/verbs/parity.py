"""`saddle parity`: the reference's transitions replayed, and how far the results are from them."""

import json
from pathlib import Path

from saddle.console import console
from saddle.parity import report
from saddle.parity.compare import Precision
from saddle.parity.replay import replay
from saddle.verbs.exit_codes import FINISHED, SOME_FAILED


def parity(
    golden: Path | None = None,
    tasks: tuple[str, ...] = (),
    precision: Precision = "float32",
    as_json: bool = False,
    as_markdown: bool = False,
    engine: str | None = None,
) -> int:
    """Replay and print; returns the exit code, which says whether every tolerance holds."""
    reports = replay(golden, tasks, precision, engine)
    passed = all(one.passed for one in reports)
    if as_json:
        found = [one.as_dict() for one in reports]
        print(json.dumps({"passed": passed, "precision": precision, "tasks": found}, indent=2))
    elif as_markdown:
        print(report.markdown(reports))
    else:
        report.print_tables(reports, console())
    return FINISHED if passed else SOME_FAILED
