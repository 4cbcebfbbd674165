"""Run a study in this process: unit after unit, next to whoever else works on the same store."""

import time
import traceback
from dataclasses import dataclass, field
from functools import partial

from saddle.errors import SaddleError
from saddle.study import claims, dependent
from saddle.study.atomic import StoreError
from saddle.study.plan import Chunking
from saddle.study.program import Factory
from saddle.study.store import Study
from saddle.study.unit import Listener, Stop, UnitRun, fail, unit_runs

POLL = 2.0  # seconds between looks at units that others hold


@dataclass
class Worker:
    """What a process needs to work on a study, and what it has tried."""

    study: Study
    make: Factory
    chunking: Chunking
    listener: Listener
    stop: Stop
    sweep: Study | None = None
    lease: float = claims.LEASE
    starts: dict[str, float] = field(default_factory=dict)
    """Seconds from a claim to the end of the first epoch, which compiles, by task."""
    broken: set[str] = field(default_factory=set)
    stopped: set[str] = field(default_factory=set)
    """Units that had to stop here; to begin them again would mean to compile them again."""

    def work(self) -> None:
        """Until every unit is finished, or has failed here, or it is time to stop. Waits for units that others hold."""
        waited = False
        while not self.stop.before(0):
            claim = self._next()
            if claim is not None:
                self.run_claimed(claim)
                waited = False
            elif self.stop.refused or not self._others_work():
                return
            else:
                if not waited:
                    self.listener.say("waiting for units that other processes work on")
                waited = True
                time.sleep(min(POLL, self.lease / 4))

    def run_claimed(self, claim: claims.Claim) -> bool:
        """Run one unit. A unit that breaks is marked and left; a store that cannot be written ends everything."""
        with claim:
            if self.study.progress(claim.unit).get("state") == "done":
                return True  # finished by another between our look and our claim
            start = self.start_seconds(claim.unit)
            run = UnitRun(self.study, claim, self.make, self.chunking, self.listener, start)
            try:
                finished = run.run(self.stop, self.sweep)
                self._note(run, finished)
                return finished
            except claims.ClaimLost as lost:
                self.listener.say(f"{lost}; leaving it to them")
            except StoreError:
                raise
            except Exception as error:
                self._broke(claim.unit, error)
        return False

    def ready(self, unit: str) -> bool:
        """Whether the unit is unfinished and has all it waits for."""
        if self.study.progress(unit).get("state") == "done":
            return False
        frame = unit_runs(self.study, unit)
        return not dependent.waits(frame) or dependent.ready(self.study, frame, self.sweep)

    def start_seconds(self, unit: str) -> float:
        """How long the unit probably takes to the end of its first epoch here.

        By what this process saw of the task, or expects of it; else by what others wrote into the store.
        """
        task = self._task(unit)
        if task in self.starts:
            return self.starts[task]
        progress = [self.study.progress(other) for other in self.study.units() if self._task(other) == task]
        return max((facts.get("start") or 0.0 for facts in progress), default=0.0)

    def _task(self, unit: str) -> str:
        return str(unit_runs(self.study, unit)["task"][0])

    def _note(self, run: UnitRun, finished: bool) -> None:
        self.starts[self._task(run.name)] = run.start_seconds
        if not finished:
            self.stopped.add(run.name)

    def _next(self) -> claims.Claim | None:
        left_alone = self.broken | self.stopped
        for unit in self.study.units():
            if unit in left_alone or not self.ready(unit):
                continue
            if not self.stop.before(self.start_seconds(unit)):
                claim = claims.take(self.study.path, unit, self.lease, partial(self.ready, unit))
                if claim is not None:
                    return claim
        return None

    def _others_work(self) -> bool:
        holders = (claims.look(self.study.path, unit, self.lease) for unit in self.study.units())
        return any(holder is not None and holder.alive for holder in holders)

    def _broke(self, unit: str, error: Exception) -> None:
        self.broken.add(unit)
        reason = next(iter(str(error).splitlines()), "") or type(error).__name__
        fail(self.study, unit, reason)
        self.listener.say(f"unit {unit} failed: {reason}")
        if not isinstance(error, SaddleError):
            log = self.study.path / "units" / f"{unit}.traceback.txt"
            log.write_text("".join(traceback.format_exception(error)), encoding="utf-8")
            self.listener.say(f"its traceback is in {log}")
