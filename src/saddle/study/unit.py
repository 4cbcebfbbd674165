"""A unit: a population of runs, carried from its last checkpoint to its end and saved chunk by
chunk.

The order of writes is what makes a kill harmless. A chunk's metrics come first, then the checkpoint
that covers them; so metrics never lack an epoch that a checkpoint has, and those that a checkpoint
does not cover are computed again, bit by bit the same, and replace themselves.
"""

import json
import time
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
import polars as pl

from saddle.config import Member
from saddle.errors import SaddleError
from saddle.files import TEMPORARY, WriteError, write_error, write_json
from saddle.learners import learner_from
from saddle.multipliers import rule_from
from saddle.study import dependent
from saddle.study.claims import Claim
from saddle.study.columns import metrics_frame
from saddle.study.pace import UNKNOWN, Pace
from saddle.study.params import facts_of, learner_fields, rule_fields
from saddle.study.plan import Chunking
from saddle.study.program import Factory, UnitProgram, load_checkpoint
from saddle.study.saver import Saver
from saddle.study.store import Study
from saddle.study.writer import member_rows, write_chunk, write_runs

FIRST_SAVE = 0.1  # seconds that epochs wait for a save, before the first one was timed
EXPORT = 0.05  # seconds that writing one policy takes, rather too many
RECENT = 5  # epochs whose longest tells how long the next one may take
SCATTER = 1.2  # and that times this


class EpochDone(NamedTuple):
    """What a listener learns of an epoch."""

    unit: str
    epoch: int
    """Epochs done."""
    epochs: int
    """Epochs in all."""
    runs: tuple[str, ...]
    """The unit's members, in their order."""
    seconds: float
    """That the epoch took."""
    metrics: dict[str, np.ndarray]
    """Of every member [members], or [members, m] where there is one per constraint; {} where a unit
    runs in another process, whose metrics are in the store.
    """


class Listener(Protocol):
    """Who watches a study run."""

    def epoch(self, done: "EpochDone") -> None:
        """A unit finished an epoch."""
        ...

    def say(self, text: str) -> None:
        """Something a person should know."""
        ...


class Messages:
    """A listener that keeps what was said, for whoever asks afterwards."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def epoch(self, done: EpochDone) -> None:
        """Nothing: progress is in the store."""

    def say(self, text: str) -> None:
        """Remember it."""
        self.said.append(text)


class Stop(Protocol):
    """When to stop."""

    refused: bool
    """Whether work was left undone because it did not fit any more."""

    def before(self, seconds: float) -> bool:
        """Whether work that takes so many seconds should not begin any more."""
        ...


@dataclass
class Chunk:
    """The metrics since the last save."""

    start: int
    began: float
    rows: list[dict[str, np.ndarray]]


class UnitRun:
    """One unit under a claim."""

    def __init__(
        self,
        study: Study,
        claim: Claim,
        make: Factory,
        chunking: Chunking,
        listener: Listener,
        expected: Pace = UNKNOWN,
    ) -> None:
        """`expected` is how fast it will probably be."""
        self.study = study
        self.claim = claim
        self.name = claim.unit
        self.chunking, self.listener = chunking, listener
        self.frame = unit_runs(study, self.name)
        self.checkpoint = study.path / "checkpoints" / f"{self.name}.safetensors"
        self._make = make
        members = self.frame.height
        self._start_seconds = expected.seconds(members, epochs=1)  # to the end of the first epoch
        self._epoch_seconds = expected.member_epoch * members  # of an epoch, before one was timed
        self._recent: deque[float] = deque(maxlen=RECENT)  # seconds of epochs, without the first
        self._compiles = True  # in the first epoch
        self._started = False  # whether that is through
        self._save_seconds, self._saving = FIRST_SAVE, 0.0
        self._marked = 0  # failures that the runs table knows
        self._began = time.monotonic()
        before = study.progress(self.name)
        self._spent, self._pace = before.get("seconds", 0.0), before.get("pace")

    def run(
        self, stop: Stop, sweep: Study | None = None, program: UnitProgram | None = None
    ) -> bool:
        """Go on from the last checkpoint. True when the unit is finished, False when it had to
        stop.

        `program` is the unit's own, if it is compiled already.
        """
        self._clear_remains()
        if dependent.waits(self.frame):
            self.frame = dependent.resolve(self.study, self.frame, sweep, self.listener.say)
        self._compiles = program is None
        if program is None:
            program = make_program(self.frame, self._make)
        state, facts, warned = load_checkpoint(program, self.checkpoint)
        for warning in warned:
            self.listener.say(warning)
        failed: dict[str, str] = facts.get("failed", {})
        self._mark("running", failed)
        saver = Saver(program, self.checkpoint)
        try:
            state = self._epochs(program, state, failed, stop, saver)
        finally:
            saver.join()  # the claim must outlive the writing
        saver.wait()
        if program.epoch_of(state) < program.epochs:
            self._progress("stopped", program.epoch_of(state), program.epochs)
            return False
        self._finish(program, state, failed)
        return True

    def _epochs(
        self, program: UnitProgram, state: Any, failed: dict[str, str], stop: Stop, saver: Saver
    ) -> Any:
        """To the end, or until it is time to stop; saved either way."""
        epoch = program.epoch_of(state)
        chunk = Chunk(epoch, time.monotonic(), [])
        self._progress("running", epoch, program.epochs)
        while epoch < program.epochs and not stop.before(
            self._to_next_save(program, state, epoch, saver)
        ):
            began = time.monotonic()
            state, metrics = program.epoch(state)
            seconds = time.monotonic() - began
            self._time(seconds)
            epoch += 1
            self._note_failures(program, metrics, epoch, failed)
            chunk.rows.append(self._with_steps(metrics, epoch))
            runs = tuple(self.frame["run"])
            self.listener.epoch(
                EpochDone(self.name, epoch, program.epochs, runs, seconds, chunk.rows[-1])
            )
            if self._due(chunk) and not saver.busy:
                self._save(program, state, chunk, failed, saver)
                chunk = Chunk(epoch, time.monotonic(), [])
        if chunk.rows:
            self._save(program, state, chunk, failed, saver)
        return state

    def pace(self) -> Pace:
        """How fast it was."""
        epoch = self._pace or 0.0
        return Pace(max(self._start_seconds - epoch, 0.0), epoch / self.frame.height)

    def _to_next_save(self, program: UnitProgram, state: Any, epoch: int, saver: Saver) -> float:
        """Seconds until one more epoch is done and saved, or exported if it is the last."""
        saving = self._save_seconds + saver.seconds(state)
        if epoch + 1 == program.epochs:
            saving += EXPORT * self.frame.height
        if not self._started:
            return max(self._start_seconds - (time.monotonic() - self._began), 0.0) + saving
        return SCATTER * max(self._recent, default=self._epoch_seconds) + saving

    def _time(self, seconds: float) -> None:
        """Note how long an epoch took. The first one compiles, and says nothing about the
        others.
        """
        if not self._started:
            self._started = True
            if self._compiles:
                self._start_seconds = time.monotonic() - self._began
            if self._epoch_seconds == 0:
                self._epoch_seconds = seconds  # no epoch takes longer than the one that compiled
            return
        self._pace = seconds if self._pace is None else 0.8 * self._pace + 0.2 * seconds
        self._recent.append(seconds)

    def _due(self, chunk: Chunk) -> bool:
        """Whether to save now: often enough, but never so often that saving takes more than its
        share.
        """
        now = time.monotonic()
        often = (
            len(chunk.rows) >= self.chunking.epochs or now - chunk.began >= self.chunking.seconds
        )
        return often and self._saving + self._save_seconds <= self.chunking.share * (
            now - self._began
        )

    def _save(
        self, program: UnitProgram, state: Any, chunk: Chunk, failed: dict[str, str], saver: Saver
    ) -> None:
        """Metrics first, then the checkpoint that covers them. The time counted is what epochs wait
        for.
        """
        began = time.monotonic()
        self._spent += began - chunk.began
        epoch = chunk.start + len(chunk.rows)
        frame = metrics_frame(self.frame["run"].to_list(), chunk.start, chunk.rows)
        self.claim.check()
        write_chunk(self.study.path, self.name, chunk.start, epoch, frame)
        if epoch < program.epochs or self.chunking.keep:  # a unit that is through needs none
            saver.start(state, {"unit": self.name, "epoch": epoch, "failed": dict(failed)})
        if len(failed) > self._marked:
            self._mark("running", failed)
        self._progress("running", epoch, program.epochs)
        self._save_seconds = time.monotonic() - began
        self._saving += self._save_seconds

    def _finish(self, program: UnitProgram, state: Any, failed: dict[str, str]) -> None:
        self.claim.check()
        try:
            for i, run in enumerate(self.frame["run"]):
                if run not in failed:
                    self.study.policy_folder(run).mkdir(parents=True, exist_ok=True)
                    program.export(state, i, self.study.policy_folder(run))
        except OSError as error:
            raise write_error(self.study.path / "policies", error) from None
        except SaddleError as error:
            raise WriteError(str(error)) from None
        self._mark("done", failed)
        self._progress("done", program.epochs, program.epochs)
        if not self.chunking.keep:
            for file in self.checkpoint.parent.glob(f"{self.checkpoint.name}*"):
                file.unlink(missing_ok=True)

    def _note_failures(
        self, program: UnitProgram, metrics: dict, epoch: int, failed: dict[str, str]
    ) -> None:
        for i in np.flatnonzero(metrics.get("failed", np.zeros(0))):
            run = self.frame["run"][int(i)]
            if run not in failed:
                failed[run] = f"epoch {epoch - 1}: {program.reason(int(metrics['failed'][i]))}"
                self.listener.say(f"run {run} failed in {failed[run]}")
        if broken := int(np.sum(metrics.get("diverged", 0))):
            self.listener.say(
                f"{self.name}: {broken} worlds broke down in epoch {epoch - 1}; they start anew"
            )

    def _with_steps(self, metrics: dict[str, np.ndarray], epoch: int) -> dict[str, np.ndarray]:
        if "env_steps" in metrics:
            return metrics
        each = steps_per_epoch(self.frame)
        return {"env_steps": np.full(self.frame.height, epoch * each), **metrics}

    def _mark(self, status: str, failed: dict[str, str]) -> None:
        """Bring the runs table up to date."""
        changes = [
            {"status": "failed", "reason": failed[run]}
            if run in failed
            else {"status": status, "reason": None}
            for run in self.frame["run"]
        ]
        self.claim.check()
        write_runs(self.study.path, self.name, member_rows(self.frame, changes))
        self._marked = len(failed)

    def _progress(self, state: str, epoch: int, epochs: int) -> None:
        start = self._start_seconds if self._started else None
        write_progress(
            self.study.path, self.name, state, epoch, epochs, self._spent, self._pace, start=start
        )

    def _clear_remains(self) -> None:
        """Remove files that a killed owner was still writing."""
        checkpoints = self.checkpoint.parent.glob(f"{self.checkpoint.name}.*{TEMPORARY}")
        metrics = (self.study.path / "metrics" / self.name).glob(f"*{TEMPORARY}")
        for file in (*checkpoints, *metrics):
            file.unlink(missing_ok=True)


def fail(study: Study, unit: str, reason: str) -> None:
    """Mark a unit whose program broke: all its runs, and the unit, which a resumed study tries
    again.
    """
    frame = unit_runs(study, unit)
    write_runs(
        study.path,
        unit,
        member_rows(frame, [{"status": "failed", "reason": reason}] * frame.height),
    )
    before = study.progress(unit)
    epoch = before.get("epoch", 0)
    epochs = before.get("epochs", 0)
    write_progress(
        study.path, unit, "failed", epoch, epochs, before.get("seconds", 0.0), error=reason
    )


def unit_runs(study: Study, unit: str) -> pl.DataFrame:
    """The unit's rows of the runs table."""
    return study.unit_runs(unit)


def make_program(frame: pl.DataFrame, make: Factory) -> UnitProgram:
    """The program that a unit's rows describe."""
    row = frame.row(0, named=True)
    learner = learner_from(learner_fields(row["params"]))
    return make(row["task"], learner, members(frame), row["steps"])


def steps_per_epoch(frame: pl.DataFrame) -> int:
    """Env steps that each of a unit's runs takes in an epoch."""
    return learner_fields(frame["params"][0])["steps_per_epoch"]


class Kind(NamedTuple):
    """What makes units alike: they run the same program, and a machine's pace is the same for all
    of them.
    """

    task: str
    learner: str  # its settings as JSON


def kind(frame: pl.DataFrame) -> Kind:
    """Of a unit's rows."""
    return Kind(
        str(frame["task"][0]), json.dumps(learner_fields(frame["params"][0]), sort_keys=True)
    )


def members(frame: pl.DataFrame) -> tuple[Member, ...]:
    """The population that a unit's rows describe."""
    found = []
    for params, seed in frame.select("params", "seed").iter_rows():
        limits = facts_of(params)["limits"]
        found.append(Member(seed=seed, rule=rule_from(rule_fields(params)), limits=tuple(limits)))
    return tuple(found)


def write_progress(
    store: Path,
    unit: str,
    state: str,
    epoch: int,
    epochs: int,
    seconds: float,
    pace: float | None = None,
    error: str | None = None,
    start: float | None = None,
) -> None:
    """Say how far a unit is: epochs done and in all, seconds spent, and seconds of an epoch lately.

    `start` is how long a process took to the end of its first epoch, compiling included.
    """
    facts = {
        "state": state,
        "epoch": epoch,
        "epochs": epochs,
        "seconds": round(seconds, 3),
        "pace": pace,
        "start": start,
        "updated": time.time(),
        "error": error,
    }
    write_json(store / "units" / f"{unit}.json", facts)
