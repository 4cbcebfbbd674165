"""Training speed where members stop early, as those of a study did: with the others gathered into
smaller groups between passes, and with all of them waiting for the slowest.
"""

import dataclasses
import statistics
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import polars as pl
from jax import Array
from jaxtyping import Int

from saddle.bench.population import Timed, check_asked, device, runs_at
from saddle.errors import SaddleError
from saddle.learners import PPO, LearnerSettings
from saddle.learners.ppo.learner import PPOLearner
from saddle.machine import cores_to_use
from saddle.population import Population
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
    if type(learner) is not PPO:
        raise SaddleError("--stops replays how PPO's members stop; leave --learner:NAME out")
    check_asked(task, learner, members, epochs)
    recorded = recorded_passes(open_study(study), task)
    if recorded.max() > learner.passes:
        raise SaddleError(
            f"runs of {study} take up to {recorded.max()} passes an epoch; use "
            f"--learner.passes {recorded.max()} or more"
        )
    stops = replayed(recorded, members, epochs)
    unstopped = np.full_like(stops, learner.passes)
    schedule = np.concatenate([unstopped[:1], stops, unstopped])
    regrouped = _replaying(task, learner, schedule, together=False)
    together = _replaying(task, learner, schedule, together=True)
    for _ in schedule:
        regrouped.epoch()
        together.epoch()
    with_stops = slice(1, 1 + epochs)  # the first epoch compiles
    without_stops = slice(1 + epochs, None)
    return Result(
        task=task,
        device=device(),
        cores=cores_to_use(),
        members=members,
        precision=learner.precision,
        study=str(study),
        epochs=epochs,
        mean_passes=float(stops.mean()),
        slowest_passes=float(stops.max(1).mean()),
        regrouped_s=statistics.mean(regrouped.seconds[with_stops]),
        together_s=statistics.mean(together.seconds[with_stops]),
        unstopped_regrouped_s=statistics.mean(regrouped.seconds[without_stops]),
        unstopped_together_s=statistics.mean(together.seconds[without_stops]),
    )


def recorded_passes(study: Study, task: str) -> Int[np.ndarray, "epochs runs"]:
    """Passes of every run of a task that logs any, in the epochs that all of them have."""
    runs, metrics = study.runs, study.metrics
    if "passes" not in metrics.columns:
        raise SaddleError(f"{study.path} has no run that takes passes; name a study of PPO's")
    of_task = runs.filter(pl.col("task") == task).get_column("run")
    rows = metrics.filter(pl.col("run").is_in(of_task.implode())).drop_nulls("passes")
    by_run = rows.pivot(on="run", index="epoch", values="passes").sort("epoch")
    passes = by_run.drop("epoch").drop_nulls()
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
    first_epoch = ((np.arange(epochs) + 0.5) * count / epochs).astype(int)
    member = np.arange(members)
    epoch = (first_epoch[:, None] + member // runs) % count
    return recorded[epoch, member % runs]


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


def _replaying(
    task: str, learner: PPO, schedule: Int[np.ndarray, "epochs members"], *, together: bool
) -> Timed:
    """A population whose members stop by the schedule."""
    own: dict[str, Any] = {}
    for field in dataclasses.fields(learner):
        own[field.name] = getattr(learner, field.name)
    own["target_kl"] = 1e9
    rows = tuple(tuple(row) for row in schedule.tolist())
    settings = ReplayedPPO(**own, schedule=rows, together=together, epochs=EPOCHS)
    members = schedule.shape[1]
    runs = runs_at([1.0] * members, task)
    return Timed(Population(task, settings, runs, EPOCHS * settings.steps_per_epoch, cores=1))
