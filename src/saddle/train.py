"""`saddle train`: one rule on one task, a few seeds. A training is a study of one unit: it resumes and reads as one."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from saddle.config import PPO, Member
from saddle.console import console
from saddle.errors import SaddleError
from saddle.extras import install
from saddle.multipliers import Fixed, Rule
from saddle.study.forecast import say_how_long
from saddle.study.local import Worker
from saddle.study.plan import Chunking, Plan, Stage
from saddle.study.prepare import prepare
from saddle.study.program import PopulationProgram
from saddle.study.run import FINISHED, SOME_FAILED
from saddle.study.status import duration
from saddle.study.stop import Stopper, seconds

EVERY = 5.0  # seconds between two lines of progress


def train(
    task: str,
    rule: Rule,
    limits: tuple[float, ...],
    seeds: int,
    steps: int,
    out: Path,
    ppo: PPO,
    resume: bool = False,
    limit_time: str | None = None,
    tensorboard: bool = False,
    began: float | None = None,
) -> int:
    """Train, or go on training, in the directory `out`; returns the exit code.

    A command gives the time at which its process began, by `time.monotonic`: the time limit counts from there, and
    ends the process if need be.
    """
    if seeds < 1:
        raise SaddleError(f"--seeds is {seeds}; it must be at least 1")
    Member(0, rule, limits)  # says what is wrong with a limit
    name = "train"
    stage = Stage(name, lambdas=(rule.init,)) if isinstance(rule, Fixed) else Stage(name, (), (rule,), limits=(limits,))
    plan = Plan("training", (task,), (stage,), range(seeds), steps, ppo=ppo, chunk=Chunking(5, 30.0, 0.05, True))
    limit = None if limit_time is None else seconds(limit_time)
    events = _event_writer(tensorboard)
    study = prepare(plan, out, resume)
    view = View(plan, limits, events and events(str(out / "tensorboard")))
    with Stopper(limit, began, watchdog=began is not None) as stop:
        worker = Worker(study, view.watch, plan.chunk, view, stop)
        say_how_long(worker, plan, stop)
        worker.work()
    view.close()
    failed = study.runs.filter(study.runs["status"] == "failed").height
    if any(study.progress(unit).get("state") != "done" for unit in study.units()):
        if not stop.refused:
            print("not finished")
            return SOME_FAILED
        print(f"stopped: {stop.why}; go on with the same command and --resume")
        return stop.exit_code
    print(f"done: {out} holds metrics and policies; next: saddle evaluate {out}")
    return SOME_FAILED if failed else FINISHED


class View:
    """Progress in figures: speed, time left, and how return, cost and lambda stand over the members."""

    def __init__(self, plan: Plan, limits: tuple[float, ...], tensorboard: Any) -> None:
        self._plan, self._limits, self._tensorboard = plan, np.array(limits), tensorboard
        self._metrics: dict[str, np.ndarray] = {}
        self._said, self._console = 0.0, console()

    def watch(self, task: str, ppo: PPO, members: tuple[Member, ...], steps: int) -> "_Watched":
        """A program that shows its metrics here."""
        return _Watched(task, ppo, members, steps, self._see)

    def _see(self, metrics: dict[str, np.ndarray]) -> None:
        self._metrics = metrics

    def epoch(self, unit: str, epoch: int, epochs: int, members: int, seconds: float) -> None:
        """Print a line now and then."""
        self._log(epoch)
        if epoch > 1 and epoch < epochs and time.monotonic() - self._said < EVERY:
            return
        self._said = time.monotonic()
        mean = {key: float(_mean(value)) for key, value in self._metrics.items()}
        over = np.mean(np.any(self._metrics["window_cost"] > self._limits, axis=-1))
        rate = members * self._plan.ppo.steps_per_epoch / seconds
        # The first epoch compiles, so that its time is no pace.
        pace = f"{rate:,.0f} steps/s, {duration(seconds * (epochs - epoch))} left" if epoch > 1 else "compiled"
        self.say(
            f"epoch {epoch}/{epochs}  {pace}  return {mean['window_return']:.2f}  cost {mean['window_cost']:.2f}  "
            f"lambda {mean['lambda']:.3g}  over the limit {over:.0%}"
        )

    def say(self, text: str) -> None:
        """Print it."""
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)

    def close(self) -> None:
        """Finish what is still being written."""
        if self._tensorboard is not None:
            self._tensorboard.close()

    def _log(self, epoch: int) -> None:
        if self._tensorboard is None:
            return
        for key, value in self._metrics.items():
            for i, member in enumerate(value):
                number = float(np.mean(member))
                if np.isfinite(number):
                    self._tensorboard.add_scalar(f"seed {i}/{key}", number, epoch * self._plan.ppo.steps_per_epoch)


class _Watched(PopulationProgram):
    def __init__(
        self, task: str, ppo: PPO, members: tuple[Member, ...], steps: int, see: Callable[[dict], None]
    ) -> None:
        super().__init__(task, ppo, members, steps)
        self._see = see

    def epoch(self, state: Any) -> tuple[Any, dict[str, np.ndarray]]:
        """One epoch of all members."""
        state, metrics = super().epoch(state)
        self._see(metrics)
        return state, metrics


def _mean(values: np.ndarray) -> float:
    """Over members that have a value; NaN without any."""
    real = values[np.isfinite(values)]
    return float(real.mean()) if real.size else float("nan")


def _event_writer(wanted: bool) -> Any:
    """The class that writes events, asked for before anything is written: it may not be installed."""
    if not wanted:
        return None
    try:
        from tensorboardX import SummaryWriter
    except ImportError:
        raise SaddleError(f"--tensorboard needs tensorboardX: run {install('tensorboard')}") from None
    return SummaryWriter
