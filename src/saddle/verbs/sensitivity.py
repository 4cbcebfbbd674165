"""`saddle sensitivity`: sweep the numbers of a rule, and say how much each matters."""

import json
from collections.abc import Sequence
from pathlib import Path

from saddle import streams
from saddle.analysis import Options
from saddle.analysis.findings.study import plain_values
from saddle.analysis.from_store import analyze_store
from saddle.analysis.sensitivity import sensitivities
from saddle.analysis.show_sensitivity import show_sensitivities
from saddle.study.local import Worker
from saddle.study.prepare import prepare
from saddle.study.program import POPULATION, factory
from saddle.study.sensitivity import FACTORS, adaptive_rule, sensitivity_plan, swept
from saddle.study.stop import Stopper, seconds
from saddle.study.view import view
from saddle.verbs.ending import told_failures, unfinished


def sensitivity(
    rule: str,
    out: Path,
    task: str,
    limits: Sequence[tuple[float, ...]],
    seeds: int,
    factors: Sequence[float] = (),
    steps: int | None = None,
    resume: bool = False,
    limit_time: str | None = None,
    as_json: bool = False,
    began: float | None = None,
    program: str = POPULATION,
) -> int:
    """Train a rule with its settings swept in the directory `out`, then say how flat it is.

    Returns the exit code. A command gives the time at which its process began, by
    `time.monotonic`: the time limit counts from there, and ends the process if need be.
    """
    chosen = sorted({*(factors or FACTORS), 1.0})
    plan = sensitivity_plan(rule, task, limits, seeds, chosen, steps)
    limit = None if limit_time is None else seconds(limit_time)
    study = prepare(plan, out, resume)
    stopper = Stopper(limit, began, watchdog=began is not None, tell=streams.note_at_once)
    with stopper as stop, view(as_json) as listener:
        Worker(study, factory(program), plan.chunk, listener, stop, None).work()
    if not study.finished or stop.before(0):
        return unfinished(study, stop)
    default = adaptive_rule(rule)
    with stop.in_time():
        found = sensitivities(analyze_store(out, Options()), study.runs, default)
    notes = swept(default, chosen).notes
    if as_json:
        told = {
            "event": "sensitivity",
            "rule": rule,
            "settings": plain_values(found),
            "notes": notes,
        }
        print(json.dumps(told, allow_nan=False))
    else:
        show_sensitivities(found, notes)
    return told_failures(study)
