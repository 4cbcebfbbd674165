"""`saddle frontier`: a task's frontier, lambda* and regimes, from an environment to the page."""

import shlex
from functools import partial
from pathlib import Path

from saddle import streams, tasks
from saddle.analysis import Options
from saddle.config import USUAL_LIMIT
from saddle.console import console
from saddle.draw_episodes import draw_episodes
from saddle.study.frontier import Wish, method_of, open_frontier, train_frontier
from saddle.study.prepare import plan_of
from saddle.study.program import POPULATION
from saddle.study.stop import Stopper, seconds
from saddle.study.store import Study
from saddle.study.view import view
from saddle.trackers import tracked, tracker_kinds
from saddle.verbs.analyze import analyze
from saddle.verbs.ending import told_failures, unfinished
from saddle.verbs.figures import figures
from saddle.verbs.report import report


def frontier(
    wish: Wish,
    out: Path,
    resume: bool = False,
    limit_time: str | None = None,
    began: float | None = None,
    program: str = POPULATION,
    log: tuple[str, ...] = (),
) -> int:
    """Train what the frontier takes in the directory `out`, then say and draw what was found.

    Returns the exit code. A command gives the time at which its process began, by
    `time.monotonic`: the time limit counts from there, and ends the process if need be.
    """
    limit = None if limit_time is None else seconds(limit_time)
    spec = tasks.spec_of(wish.task)
    kinds = tracker_kinds(log)
    study = open_frontier(wish, spec, out, resume)
    with (
        Stopper(limit, began, watchdog=began is not None, tell=streams.note_at_once) as stop,
        view(as_json=False) as shown,
        tracked(shown, study, kinds) as listener,
    ):
        study = train_frontier(study, wish, spec.constraints, stop, listener, program)
    if not study.finished:
        return unfinished(study, stop)
    with stop.in_time():
        is_told = _tell(study, wish, stop)
    return told_failures(study) if is_told else unfinished(study, stop)


def _tell(study: Study, wish: Wish, stop: Stopper) -> bool:
    """Figures, the page, and words, which come last: they are what a person reads. False where
    there was no time left for them.
    """
    options = Options.of_command(wish.limits, False, None, False)
    steps = (
        partial(draw_episodes, study, streams.note),
        partial(figures, study.path, study.path / "figures", options),
        partial(report, study.path, study.path / "report.html", options),
        partial(analyze, study.path, options, as_json=False),
    )
    for step in steps:
        if stop.before(0):
            return False
        step()
    console().print(f"next: {_next(study, wish)}", soft_wrap=True)
    return True


def _next(study: Study, wish: Wish) -> str:
    """What can be done with the policies."""
    trained = [run for run in study.runs["run"] if study.policy_folder(run).is_dir()]
    policy = study.policy_folder(trained[0] if trained else "RUN")
    play = f"saddle play {shlex.quote(wish.task)} --policy {policy}"
    if method_of(plan_of(study).learner) == "sweep":
        return f"saddle evaluate {study.path}; or {play}"
    names = tasks.spec_of(wish.task).constraints
    sets = wish.limits_of(names) or [(USUAL_LIMIT,) * len(names)]
    asked = []
    for limits in sets:
        numbers = " ".join(f"{limit:g}" for limit in limits)
        asked.append(f"--limit {numbers}")
    return f"saddle dial {study.path} {' '.join(asked)}; or {play} {asked[0]}"
