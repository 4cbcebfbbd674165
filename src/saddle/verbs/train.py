"""`saddle train`: one rule on one task, a few seeds. A training is a study of one unit: it resumes
and reads as one.
"""

import time
from pathlib import Path

import numpy as np

from saddle import streams
from saddle.console import console
from saddle.interface import training_plan
from saddle.learners import LearnerSettings
from saddle.multipliers import Rule
from saddle.study.forecast import say_how_long
from saddle.study.listener import EpochDone
from saddle.study.local import Worker
from saddle.study.plan import Plan
from saddle.study.prepare import prepare
from saddle.study.program import POPULATION, factory
from saddle.study.status import duration
from saddle.study.stop import Stopper, seconds
from saddle.trackers import tracked, tracker_kinds
from saddle.verbs.ending import told_failures, unfinished

EVERY = 5.0  # seconds between two lines of progress


def train(
    task: str,
    rule: Rule | None,
    limits: tuple[float, ...],
    seeds: int,
    steps: int,
    out: Path,
    learner: LearnerSettings,
    resume: bool = False,
    limit_time: str | None = None,
    log: tuple[str, ...] = (),
    began: float | None = None,
) -> int:
    """Train, or go on training, in the directory `out`; returns the exit code.

    A command gives the time at which its process began, by `time.monotonic`: the time limit counts
    from there, and ends the process if need be.
    """
    plan = training_plan(task, rule, limits, seeds, steps, learner)
    limit = None if limit_time is None else seconds(limit_time)
    kinds = tracker_kinds(log)
    study = prepare(plan, out, resume)
    listening = tracked(View(plan, limits), study, kinds)
    stopper = Stopper(limit, began, watchdog=began is not None, tell=streams.note_at_once)
    with stopper as stop, listening as listener:
        worker = Worker(study, factory(POPULATION), plan.chunk, listener, stop)
        say_how_long(worker, plan, stop)
        worker.work()
    if not study.finished:
        return unfinished(study, stop)
    if (study.runs["status"] == "done").any():
        print(f"done: {out} holds metrics and policies; next: saddle evaluate {out}")
    else:
        print(f"no run came to its end: {out} holds metrics and no policy")
    return told_failures(study)


class View:
    """Progress in figures: speed, time left, and how return, cost and lambda stand over the
    members.
    """

    def __init__(self, plan: Plan, limits: tuple[float, ...]) -> None:
        self._steps_per_epoch = plan.learner.steps_per_epoch
        self._limits = np.array(limits)
        self._said: float | None = None
        self._console = console()

    def epoch(self, done: EpochDone) -> None:
        """Print a line now and then."""
        first = self._said is None
        last = done.epoch == done.epochs
        if self._said is not None and not last and time.monotonic() - self._said < EVERY:
            return
        self._said = time.monotonic()
        mean = {key: _mean(value) for key, value in done.metrics.items()}
        words = [
            f"epoch {done.epoch}/{done.epochs}",
            "compiled" if first else self._pace(done),
            f"return {mean['window_return']:.2f}",
            f"cost {mean['window_cost']:.2f}",
        ]
        if np.isfinite(mean["lambda"]):  # a dial has none
            over = np.any(done.metrics["window_cost"] > self._limits, axis=-1)
            words += [f"lambda {mean['lambda']:.3g}", f"over the limit {over.mean():.0%}"]
        self.say("  ".join(words))

    def _pace(self, done: EpochDone) -> str:
        """Of an epoch that did not compile."""
        rate = len(done.runs) * self._steps_per_epoch / done.seconds
        left = done.seconds * (done.epochs - done.epoch)
        return f"{rate:,.0f} steps/s, {duration(left)} left"

    def say(self, text: str) -> None:
        """Print it."""
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)


def _mean(values: np.ndarray) -> float:
    """Over members that have a value; NaN without any."""
    real = values[np.isfinite(values)]
    return float(real.mean()) if real.size else float("nan")
