"""Training speed where members stop early, as those of a study did: with the others gathered into
smaller groups between passes, and with all of them waiting for the slowest.
"""

import dataclasses
import os
import statistics
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import polars as pl
from jax import Array
from jaxtyping import Int

from saddle.config import USUAL_LIMIT, Member
from saddle.errors import SaddleError
from saddle.learners import PPO, LearnerSettings
from saddle.learners.ppo.learner import PPOLearner
from saddle.multipliers import Fixed
from saddle.population import Population
from saddle.study.prepare import check_members, constraints
from saddle.study.store import Study, open_study
from saddle.tasks.spec import TaskSpec


@dataclass(frozen=True)
class Result:
    """Seconds are means over epochs."""

    task: str
    device: str
    cores: int
    members: int
    precision: str
    study: str
    epochs: int  # replayed, evenly over those of the study
    mean_passes: float
    slowest_passes: float  # of a member, mean over epochs
    regrouped_s: float  # an epoch with the study's stops
    together_s: float  # the same while all wait for the slowest
    unstopped_regrouped_s: float  # an epoch in which nobody stops
    unstopped_together_s: float

    @property
    def gain(self) -> float:
        """How many times faster an epoch is, with the study's stops."""
        return self.together_s / self.regrouped_s

    @property
    def unstopped_gain(self) -> float:
        """The same where nobody stops: what regrouping costs there."""
        return self.unstopped_together_s / self.unstopped_regrouped_s


def measure(task: str, members: int, epochs: int, learner: LearnerSettings, study: Path) -> Result:
    """Two populations that differ in their groups alone, epoch by epoch in turn."""
    if members < 1 or epochs < 1:
        raise SaddleError("--members and --epochs must be at least 1")
    if type(learner) is not PPO:
        raise SaddleError("--stops replays how PPO's members stop; leave --learner:NAME out")
    check_members(task, learner, members)
    recorded = recorded_passes(open_study(study), task)
    if recorded.max() > learner.passes:
        raise SaddleError(
            f"runs of {study} take up to {recorded.max()} passes an epoch; use "
            f"--learner.passes {recorded.max()} or more"
        )
    stops = replayed(recorded, members, epochs)
    unstopped = np.full_like(stops, learner.passes)
    schedule = np.concatenate([unstopped[:1], stops, unstopped])
    regrouped = _Timed(task, members, _settings(learner, schedule, together=False))
    together = _Timed(task, members, _settings(learner, schedule, together=True))
    for _ in schedule:
        regrouped.epoch()
        together.epoch()
    device = jax.devices()[0]
    return Result(
        task=task,
        device=f"{device.platform} {device.device_kind}",
        cores=os.cpu_count() or 1,
        members=members,
        precision=learner.precision,
        study=str(study),
        epochs=epochs,
        mean_passes=float(stops.mean()),
        slowest_passes=float(stops.max(1).mean()),
        regrouped_s=statistics.mean(regrouped.seconds[1 : 1 + epochs]),
        together_s=statistics.mean(together.seconds[1 : 1 + epochs]),
        unstopped_regrouped_s=statistics.mean(regrouped.seconds[1 + epochs :]),
        unstopped_together_s=statistics.mean(together.seconds[1 + epochs :]),
    )


def recorded_passes(study: Study, task: str) -> Int[np.ndarray, "epochs runs"]:
    """Passes of every run of a task that logs any, in the epochs that all of them have."""
    runs, metrics = study.runs, study.metrics
    if "passes" not in metrics.columns:
        raise SaddleError(f"{study.path} has no run that takes passes; name a study of PPO's")
    of_task = runs.filter(pl.col("task") == task).get_column("run")
    rows = metrics.filter(pl.col("run").is_in(of_task.implode()))
    wide = rows.drop_nulls("passes").pivot(on="run", index="epoch", values="passes").sort("epoch")
    passes = wide.drop("epoch").drop_nulls()
    if passes.is_empty():
        there = ", ".join(sorted(set(runs["task"])))
        raise SaddleError(f"{study.path} has no passes of {task}; it has runs of {there}")
    return passes.to_numpy()


def replayed(
    recorded: Int[np.ndarray, "recorded runs"], members: int, epochs: int
) -> Int[np.ndarray, "epochs members"]:
    """The stops of so many members. Epochs are spread evenly over the recorded ones; where there
    are more members than runs, the next ones do as the same runs did in the epochs that followed.
    """
    count, runs = recorded.shape
    first = ((np.arange(epochs) + 0.5) * count / epochs).astype(int)
    member = np.arange(members)
    return recorded[(first[:, None] + member // runs) % count, member % runs]


@dataclass(frozen=True)
class ReplayedPPO(PPO):
    """PPO whose members stop by a schedule, and not by their KL."""

    schedule: tuple[tuple[int, ...], ...] = ()
    """Passes of each member, epoch by epoch."""
    together: bool = False
    """All members take every pass, until the last one has stopped."""
    epochs: int = 0
    """Of the population, most of which nobody trains."""

    def learner(self, spec: TaskSpec) -> "ReplayedLearner":
        """The learner that keeps to the schedule."""
        return ReplayedLearner(self, spec)


class ReplayedLearner(PPOLearner):
    """PPO by a schedule of stops, for one task."""

    settings: ReplayedPPO

    def most_passes(self, members: int, progress: Array) -> Array:
        """Those of the epoch that `progress` tells."""
        del members
        epoch = jnp.round(progress * self.settings.epochs).astype(jnp.int32)
        return jnp.asarray(self.settings.schedule)[epoch]

    def group_sizes(self, members: int) -> tuple[int, ...]:
        """As ever, or a single one."""
        return (members,) if self.settings.together else super().group_sizes(members)


EPOCHS = 100_000  # of a population: the learning rate is as at the beginning in all that are timed


def _settings(learner: PPO, schedule: Int[np.ndarray, "epochs members"], *, together: bool) -> PPO:
    """The learner, replaying."""
    settings: dict[str, Any] = {}
    for field in dataclasses.fields(learner):
        settings[field.name] = getattr(learner, field.name)
    settings["target_kl"] = 1e9
    rows = tuple(tuple(row) for row in schedule.tolist())
    return ReplayedPPO(**settings, schedule=rows, together=together, epochs=EPOCHS)


class _Timed:
    """A population, and the seconds of each of its epochs."""

    def __init__(self, task: str, members: int, learner: PPO) -> None:
        limits = (USUAL_LIMIT,) * constraints(task)
        runs = [Member(i, Fixed(1.0), limits) for i in range(members)]
        self._population = Population(task, learner, runs, EPOCHS * learner.steps_per_epoch)
        self._state: Any = self._population.init()
        self.seconds: list[float] = []

    def epoch(self) -> None:
        """One more, timed."""
        start = time.perf_counter()
        self._state, _ = self._population.epoch(self._state)
        self.seconds.append(time.perf_counter() - start)
