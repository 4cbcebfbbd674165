"""Run a study in this process: unit after unit, next to whoever else works on the same store."""

import time
import traceback
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial

from saddle.errors import OutputError, SaddleError, first_line
from saddle.files import WriteError, write
from saddle.study import claims, dependent, estimate
from saddle.study.listener import CallbackError, Listener
from saddle.study.pace import UNKNOWN, Pace
from saddle.study.plan import Chunking
from saddle.study.program import Factory, UnitProgram
from saddle.study.stop import Stop
from saddle.study.store import Study
from saddle.study.unit import UnitRun, fail
from saddle.study.unit_rows import Kind, kind

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
    paces: dict[Kind, Pace] = field(default_factory=dict)
    """How fast units are here, by their kind."""
    programs: dict[str, UnitProgram] = field(default_factory=dict)
    """Programs that are compiled already, by unit."""
    broken: set[str] = field(default_factory=set)
    stopped: set[str] = field(default_factory=set)
    """Units that had to stop here; to begin them again would mean to compile them again."""

    def work(self) -> None:
        """Until every unit is finished, or has failed here, or it is time to stop. Waits for units
        that others hold.
        """
        waited = False
        while not self.stop.before(0):
            claim = self._next()
            if claim is not None:
                self.run_claimed(claim)
                waited = False
            elif self.stop.refused:
                return
            elif not self._others_work():
                self.say_what_waits()
                return
            else:
                if not waited:
                    self.listener.say("waiting for units that other processes work on")
                waited = True
                time.sleep(min(POLL, self.lease / 4))

    def say_what_waits(self) -> None:
        """Which units are left although nothing works on what they need."""
        for line in dependent.waiting(self.study, self.sweep):
            self.listener.say(line)

    def run_claimed(self, claim: claims.Claim) -> bool:
        """Run one unit. A unit that breaks is marked and left; a store that cannot be written ends
        everything.
        """
        with claim:
            if self.study.progress(claim.unit).get("state") == "done":
                return True  # finished by another between our look and our claim
            own = kind(self.study.unit_runs(claim.unit))
            expected = self.known_paces().get(own, UNKNOWN)
            run = UnitRun(self.study, claim, self.make, self.chunking, self.listener, expected)
            try:
                finished = run.run(self.stop, self.sweep, self.programs.pop(claim.unit, None))
                self._note(run, finished)
                return finished
            except claims.ClaimLost as lost:
                self.listener.say(f"{lost}; leaving it to them")
            except (WriteError, OutputError, CallbackError):
                raise
            except Exception as error:
                self._broke(claim.unit, error)
        return False

    def ready(self, unit: str) -> bool:
        """Whether the unit is unfinished and has all it waits for."""
        if self.study.progress(unit).get("state") == "done":
            return False
        frame = self.study.unit_runs(unit)
        return not dependent.waits(frame) or dependent.ready(self.study, frame, self.sweep)

    def known_paces(self) -> dict[Kind, Pace]:
        """How fast units are, by their kind: as they were here, or else as the store says of
        them.
        """
        kinds = {kind(self.study.unit_runs(unit)) for unit in self.study.units()}
        if kinds <= set(self.paces):
            return self.paces
        return estimate.from_store(self.study) | self.paces

    def start_seconds(self, unit: str, paces: Mapping[Kind, Pace] | None = None) -> float:
        """How long the unit probably takes to the end of its first epoch, which compiles.

        paces: what `known_paces` gave, for who asks about many units and would look at the store
        for each.
        """
        frame = self.study.unit_runs(unit)
        known = self.known_paces() if paces is None else paces
        pace = known.get(kind(frame), UNKNOWN)
        return pace.seconds(frame.height, epochs=1)

    def _note(self, run: UnitRun, finished: bool) -> None:
        self.paces[kind(run.frame)] = run.pace()
        if not finished:
            self.stopped.add(run.name)

    def _next(self) -> claims.Claim | None:
        left_alone = self.broken | self.stopped
        paces = self.known_paces()
        for unit in self.study.units():
            if unit in left_alone or not self.ready(unit):
                continue
            if not self.stop.before(self.start_seconds(unit, paces)):
                claim = claims.take(self.study.path, unit, self.lease, partial(self.ready, unit))
                if claim is not None:
                    return claim
        return None

    def _others_work(self) -> bool:
        holders = (claims.look(self.study.path, unit, self.lease) for unit in self.study.units())
        return any(holder is not None and holder.alive for holder in holders)

    def _broke(self, unit: str, error: Exception) -> None:
        self.broken.add(unit)
        reason = first_line(error)
        fail(self.study, unit, reason)
        self.listener.say(f"unit {unit} failed: {reason}")
        if not isinstance(error, SaddleError):
            log = self.study.path / "units" / f"{unit}.traceback.txt"
            write(log, "".join(traceback.format_exception(error)).encode())
            self.listener.say(f"its traceback is in {log}")
