"""How long a unit's epochs and saves take, by which its run knows when it has to stop."""

import time
from collections import deque

from saddle.study.pace import Pace

FIRST_SAVE = 0.1  # seconds that epochs wait for a save, before the first one was timed
RECENT = 5  # epochs whose longest tells how long the next one may take
SCATTER = 1.2  # and that times this


class UnitClock:
    """The times of one unit of so many members, from when it is made."""

    def __init__(self, members: int, expected: Pace, last_pace: float | None) -> None:
        """`expected` is how fast the unit will probably be, `last_pace` the seconds that an epoch
        took when it ran before.
        """
        self._members = members
        self._began = time.monotonic()
        self._compiles = True
        self._started = False  # whether the first epoch is through
        self._start_seconds = expected.seconds(members, epochs=1)
        self._expected_epoch = expected.member_epoch * members
        self._recent: deque[float] = deque(maxlen=RECENT)
        self._saving = 0.0
        self.save_seconds = FIRST_SAVE
        """That epochs waited for the last save."""
        self.epoch_seconds = last_pace
        """Of an epoch lately; None before one was timed."""

    @property
    def start_seconds(self) -> float | None:
        """From the start to the end of the first epoch, compiling included; None before that."""
        return self._start_seconds if self._started else None

    def is_compiled(self) -> None:
        """The program is there already, so that its first epoch says nothing about compiling."""
        self._compiles = False

    def epoch_took(self, seconds: float) -> None:
        """Note how long an epoch took. The first one compiles, and says nothing about the
        others.
        """
        if not self._started:
            self._started = True
            if self._compiles:
                self._start_seconds = time.monotonic() - self._began
            if self._expected_epoch == 0:
                self._expected_epoch = seconds  # none takes longer than the one that compiled
            return
        if self.epoch_seconds is None:
            self.epoch_seconds = seconds
        else:
            self.epoch_seconds = 0.8 * self.epoch_seconds + 0.2 * seconds
        self._recent.append(seconds)

    def save_took(self, seconds: float) -> None:
        """Note how long epochs waited for a save."""
        self.save_seconds = seconds
        self._saving += seconds

    def may_save(self, share: float) -> bool:
        """Whether with one more save no more than this share of the time has gone into saving."""
        allowed = share * (time.monotonic() - self._began)
        return self._saving + self.save_seconds <= allowed

    def to_next_epoch(self) -> float:
        """Seconds until one more epoch is done, rather too many."""
        if not self._started:
            elapsed = time.monotonic() - self._began
            return max(self._start_seconds - elapsed, 0.0)
        return SCATTER * max(self._recent, default=self._expected_epoch)

    def pace(self) -> Pace:
        """How fast the unit was."""
        epoch = self.epoch_seconds or 0.0
        compiling = max(self._start_seconds - epoch, 0.0)
        return Pace(compiling, epoch / self._members)
