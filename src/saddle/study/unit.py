"""A unit: a population of runs, carried from its last checkpoint to its end and saved chunk by
chunk.

The order of writes is what makes a kill harmless. A chunk's metrics come first, then the checkpoint
that covers them; so metrics never lack an epoch that a checkpoint has, and those that a checkpoint
does not cover are computed again, bit by bit the same, and replace themselves.
"""

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from saddle.errors import SaddleError
from saddle.files import TEMPORARY, WriteError, write_error
from saddle.study import dependent
from saddle.study.claims import Claim
from saddle.study.columns import metrics_frame
from saddle.study.listener import EpochDone, Listener
from saddle.study.pace import UNKNOWN, Pace
from saddle.study.plan import Chunking
from saddle.study.program import Factory, UnitProgram, load_checkpoint
from saddle.study.saver import Saver
from saddle.study.stop import Stop
from saddle.study.store import Study
from saddle.study.unit_clock import UnitClock
from saddle.study.unit_rows import make_program, steps_per_epoch
from saddle.study.writer import member_rows, write_chunk, write_progress, write_runs

EXPORT = 0.05  # seconds that writing one policy takes, rather too many


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
        self.chunking = chunking
        self.listener = listener
        self.frame = study.unit_runs(self.name)
        self.checkpoint = study.path / "checkpoints" / f"{self.name}.safetensors"
        self._make = make
        self._marked = 0  # failures that the runs table knows
        before = study.progress(self.name)
        self._spent: float = before.get("seconds", 0.0)
        self._clock = UnitClock(self.frame.height, expected, before.get("pace"))

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
        if program is None:
            program = make_program(self.frame, self._make)
        else:
            self._clock.is_compiled()
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
            self._clock.epoch_took(seconds)
            epoch += 1
            self._note_failures(program, metrics, epoch, failed)
            chunk.rows.append(self._with_steps(metrics, epoch))
            runs = tuple(self.frame["run"])
            done = EpochDone(self.name, epoch, program.epochs, runs, seconds, chunk.rows[-1])
            self.listener.epoch(done.copied())  # the row itself is what is stored
            if self._due(chunk) and not saver.busy:
                self._save(program, state, chunk, failed, saver)
                chunk = Chunk(epoch, time.monotonic(), [])
        if chunk.rows:
            self._save(program, state, chunk, failed, saver)
        return state

    def pace(self) -> Pace:
        """How fast it was."""
        return self._clock.pace()

    def _to_next_save(self, program: UnitProgram, state: Any, epoch: int, saver: Saver) -> float:
        """Seconds until one more epoch is done and saved, or exported if it is the last."""
        seconds = self._clock.to_next_epoch() + self._clock.save_seconds + saver.seconds(state)
        if epoch + 1 == program.epochs:
            seconds += EXPORT * self.frame.height
        return seconds

    def _due(self, chunk: Chunk) -> bool:
        """Whether to save now: often enough, but never so often that saving takes more than its
        share.
        """
        enough_epochs = len(chunk.rows) >= self.chunking.epochs
        enough_time = time.monotonic() - chunk.began >= self.chunking.seconds
        often = enough_epochs or enough_time
        return often and self._clock.may_save(self.chunking.share)

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
        self._clock.save_took(time.monotonic() - began)

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
        changes = []
        for run in self.frame["run"]:
            if run in failed:
                changes.append({"status": "failed", "reason": failed[run]})
            else:
                changes.append({"status": status, "reason": None})
        self.claim.check()
        write_runs(self.study.path, self.name, member_rows(self.frame, changes))
        self._marked = len(failed)

    def _progress(self, state: str, epoch: int, epochs: int) -> None:
        write_progress(
            self.study.path,
            self.name,
            state,
            epoch,
            epochs,
            self._spent,
            self._clock.epoch_seconds,
            start=self._clock.start_seconds,
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
    frame = study.unit_runs(unit)
    failed = [{"status": "failed", "reason": reason}] * frame.height
    write_runs(study.path, unit, member_rows(frame, failed))
    before = study.progress(unit)
    write_progress(
        study.path,
        unit,
        "failed",
        before.get("epoch", 0),
        before.get("epochs", 0),
        before.get("seconds", 0.0),
        error=reason,
    )
