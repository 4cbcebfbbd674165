"""Parity with the reference: its transitions replayed one env step at a time."""

import json
from pathlib import Path

from saddle.console import console
from saddle.errors import SaddleError
from saddle.parity import golden as recorded
from saddle.parity import report, velocity
from saddle.parity.compare import Precision, step
from saddle.parity.golden import Golden
from saddle.parity.verdict import Report, judge
from saddle.tasks import known_spec, make
from saddle.tasks.registry import entry
from saddle.tasks.velocity import engines
from saddle.tasks.velocity.bodies import BODIES


def run(
    golden: Path | None = None,
    tasks: tuple[str, ...] = (),
    precision: Precision = "float32",
    as_json: bool = False,
    as_markdown: bool = False,
    engine: str | None = None,
) -> bool:
    """Replay, print, and say whether every tolerance we claim holds. No tasks means all that have a
    file.

    engine: of the velocity tasks, the best one here by default; given without tasks, it means the
    velocity tasks.
    """
    if engine is not None:
        engines.check(engine)
        tasks = tasks or tuple(BODIES)
        for task in tasks:
            spec = known_spec(entry(task).name)
            if spec is None or engine not in spec.engines:
                raise SaddleError(
                    f"{task} has no choice of engines; leave --engine out, or name a velocity task"
                )
    reports = [_replay(rows, precision, engine) for rows in recorded.load(golden, tasks)]
    passed = all(r.passed for r in reports)
    if as_json:
        print(
            json.dumps(
                {"passed": passed, "precision": precision, "tasks": [r.as_dict() for r in reports]},
                indent=2,
            )
        )
    elif as_markdown:
        print(report.markdown(reports))
    else:
        report.print_tables(reports, console())
    return passed


def _replay(rows: Golden, precision: Precision, engine: str | None) -> Report:
    if rows.velocity:
        return velocity.judge(rows, engine or engines.default(), precision)
    return judge(rows, step(rows, make(rows.task), precision), precision)
