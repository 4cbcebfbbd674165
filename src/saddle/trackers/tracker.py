"""What a tracker is, and how one listens to a study that runs."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

import numpy as np

from saddle.errors import first_line
from saddle.study.columns import NOT_STORED
from saddle.study.listener import EpochDone, Listener
from saddle.study.store import Study

_CHANGING = ("status", "reason")


class Tracker(Protocol):
    """Takes the metrics of runs. Made of a study, whose runs may also go on from where a killed
    process left them: a run may then begin again, and a step may come twice.
    """

    def begin(self, facts: Mapping[str, Any]) -> None:
        """A run comes. Its facts are its row of the runs table, but for what may still change, and
        its settings one by one: `learner.actor_lr`, `rule.lr`.
        """
        ...

    def log(self, run: str, env_steps: int, values: Mapping[str, float]) -> None:
        """A run's metrics after so many env steps. Those that are not finite are left out."""
        ...

    def close(self) -> None:
        """Nothing more comes."""
        ...


@contextmanager
def tracked(
    listener: Listener, study: Study, kinds: Sequence[Callable[[Study], Tracker]]
) -> Iterator[Listener]:
    """A listener that hands on what it hears, to trackers of these kinds too, which are closed in
    the end.
    """
    telling = _Telling(listener, study)
    try:
        for kind in kinds:
            telling.trackers.append(kind(study))
        yield telling
    finally:
        telling.close()


class _Telling:
    """A listener with trackers. A tracker that fails is left out from there: training goes on."""

    def __init__(self, listener: Listener, study: Study) -> None:
        self._listener = listener
        self._study = study
        self.trackers: list[Tracker] = []
        self._begun: set[str] = set()

    def epoch(self, done: EpochDone) -> None:
        """Hand on an epoch of a unit."""
        self._listener.epoch(done)
        if not done.metrics:
            return
        rows = []
        if done.unit not in self._begun:
            rows = [_facts(row) for row in self._study.unit_runs(done.unit).to_dicts()]
            self._begun.add(done.unit)
        logged = [_values(done.metrics, member) for member in range(len(done.runs))]
        for tracker in tuple(self.trackers):
            try:
                for row in rows:
                    tracker.begin(row)
                for run, values in zip(done.runs, logged, strict=True):
                    tracker.log(run, int(values["env_steps"]), values)
            except Exception as error:  # of somebody else's software or network
                self._left_out(tracker, error)

    def say(self, text: str) -> None:
        """Hand on a message."""
        self._listener.say(text)

    def close(self) -> None:
        """Close every tracker."""
        for tracker in tuple(self.trackers):
            try:
                tracker.close()
            except Exception as error:
                self._left_out(tracker, error)

    def _left_out(self, tracker: Tracker, error: Exception) -> None:
        self.trackers.remove(tracker)
        why = first_line(error)
        self.say(f"{type(tracker).__name__} takes no more metrics: {why}; training goes on")


def _facts(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row of the runs table, flat and without what is not known."""
    facts = {name: value for name, value in row.items() if name not in _CHANGING}
    facts |= _flat(json.loads(facts.pop("params") or "{}"))
    return {name: value for name, value in facts.items() if value is not None}


def _flat(settings: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """Nested settings under dotted names."""
    found: dict[str, Any] = {}
    for name, value in settings.items():
        if isinstance(value, dict):
            found |= _flat(value, f"{before}{name}.")
        else:
            found[f"{before}{name}"] = value
    return found


def _values(metrics: Mapping[str, np.ndarray], member: int) -> dict[str, float]:
    """One member's finite metrics, named as in the store: of further constraints `cost_1`."""
    found = {}
    for name, values in metrics.items():
        if name in NOT_STORED:
            continue
        for i, value in enumerate(np.atleast_1d(values[member])):
            if np.isfinite(value):
                found[name if i == 0 else f"{name}_{i}"] = float(value)
    return found
