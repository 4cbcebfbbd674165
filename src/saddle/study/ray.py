"""Run a study on a Ray cluster: each unit a task that Ray retries elsewhere when its worker or node
dies.

All nodes see the study's directory (a shared filesystem, or one machine). What survives a dead node
is what is in the store: a retried task takes the unit over and goes on from its checkpoint.
"""

import logging
import os
import secrets
import socket
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import ray
from ray.exceptions import RayError, RayTaskError

from saddle.errors import SaddleError, first_line
from saddle.files import WriteError, write
from saddle.machine import show_cores_to_jax
from saddle.study import claims
from saddle.study.listener import EpochDone, Listener, Messages
from saddle.study.local import POLL, Worker
from saddle.study.plan import Chunking, Plan
from saddle.study.prepare import Capacities, survey_here
from saddle.study.program import factory
from saddle.study.stop import EXIT_SECONDS, Stopper
from saddle.study.store import Study
from saddle.study.sweep import open_sweep

WAIT_FOR_STOPPED = 60.0  # seconds that tasks have to save what they did
ANSWER_WITHIN = 10.0  # seconds in which a cluster's address has to answer


def connect(address: str | None) -> None:
    """Join the cluster at `address` ('auto': the one this machine belongs to), or start one
    here.
    """
    if ray.is_initialized():
        return
    if address not in (None, "auto"):
        host, _, port = address.removeprefix("ray://").rpartition(":")
        try:
            socket.create_connection((host, int(port)), ANSWER_WITHIN).close()
        except (OSError, ValueError) as error:
            raise SaddleError(
                f"no Ray cluster answers at {address} ({error}); start one with 'ray start "
                f"--head', or leave --address "
                "away to use this machine"
            ) from None
    try:
        ray.init(
            address=address,
            log_to_driver=False,
            logging_level=logging.ERROR,
            include_dashboard=False,
        )
    except (ConnectionError, RuntimeError, RayError) as error:
        raise SaddleError(
            f"cannot use the Ray cluster at {address or 'this machine'}: {first_line(error)}"
        ) from None


def survey(plan: Plan) -> tuple[Capacities, dict[str, Any]]:
    """Members that a worker's memory has room for, and the worker's hardware.

    Asked of a worker, because asking JAX here would take the GPU that a worker on this machine
    needs.
    """
    look = ray.remote(max_calls=1, **resources())(survey_there)
    return ray.get(look.remote(plan, current_folder()))


def survey_there(plan: Plan, folder: str) -> tuple[Capacities, dict[str, Any]]:
    """The task that looks."""
    go_to(folder)
    return survey_here(plan)


def current_folder() -> str:
    """The folder that the study is started from; empty where it was removed."""
    with suppress(OSError):
        return str(Path.cwd())
    return ""


def go_to(folder: str) -> None:
    """Work in that folder, where this node has it: the modules and interpreters that a task's
    reference names are looked for there.
    """
    with suppress(OSError):
        os.chdir(folder)


def resources() -> dict[str, Any]:
    """What one unit asks for: a GPU where the cluster has any, else all cores of its smallest
    node.
    """
    nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    if any(node.get("GPU") for node in nodes):
        return {"num_gpus": 1}
    return {"num_cpus": min((node["CPU"] for node in nodes if node.get("CPU")), default=1)}


class StopFile:
    """A stop that reaches every node: the driver makes a file, and says when the time is over."""

    def __init__(self, file: Path, deadline: float | None) -> None:
        """`deadline` is a time of the wall clock, which machines share; None for no limit."""
        self.file = file
        self.deadline = deadline
        self.refused = False

    def before(self, seconds: float) -> bool:
        """Whether the driver said stop, or work of so many seconds does not fit any more."""
        late = self.deadline is not None and time.time() + seconds + EXIT_SECONDS >= self.deadline
        stopping = late or self.file.exists()
        self.refused = self.refused or stopping
        return stopping


def run_unit(
    store: str,
    unit: str,
    program: str,
    chunking: Chunking,
    sweep: str | None,
    stop_file: str,
    deadline: float | None,
    folder: str,
) -> tuple[list[str], bool]:
    """The task: wait until a dead owner's claim is void, then run the unit.

    Returns what was said, and whether the unit was left because it did not fit into the time limit.
    """
    go_to(folder)
    show_cores_to_jax()
    messages = Messages()
    stop = StopFile(Path(stop_file), deadline)
    study = Study(Path(store))
    other = open_sweep(Path(sweep) if sweep else None)
    worker = Worker(study, factory(program), chunking, messages, stop, other)
    while not stop.before(worker.start_seconds(unit)) and worker.ready(unit):
        claim = claims.take(study.path, unit)
        if claim is not None:
            worker.run_claimed(claim)
            break
        time.sleep(POLL)
    return messages.said, stop.refused


class RayEngine:
    """Hands ready units to the cluster and follows them."""

    def __init__(
        self,
        study: Study,
        program: str,
        chunking: Chunking,
        listener: Listener,
        stop: Stopper,
        sweep: Path | None,
    ) -> None:
        self.study = study
        self.program = program
        self.chunking = chunking
        self.listener = listener
        self.stop = stop
        self.sweep = sweep
        self._stop_file = study.path.absolute() / "claims" / f"{secrets.token_hex(8)}.stop"
        left = stop.left
        self._deadline = None if left is None else time.time() + left
        self._folder = current_folder()
        self._shown: dict[str, int] = {}

    def work(self) -> None:
        """Until every unit is finished or has failed, or it is time to stop."""
        task = ray.remote(max_retries=-1, max_calls=1, **resources())(run_unit)
        worker = Worker(
            self.study,
            factory(self.program),
            self.chunking,
            self.listener,
            self.stop,
            open_sweep(self.sweep),
        )
        running: dict[Any, str] = {}
        tried: set[str] = set()
        try:
            while True:
                self._stop_in_time()
                for unit in self.study.units():
                    if unit not in tried and not self._stop_file.exists() and worker.ready(unit):
                        tried.add(unit)
                        running[task.remote(*self._arguments(unit))] = unit
                if not running:
                    if not self.stop.refused:
                        worker.say_what_waits()
                    return
                ended, _ = ray.wait(list(running), timeout=POLL / 2)
                self._show(running.values())
                for reference in ended:
                    running.pop(reference)
                    self._collect(reference)
        finally:
            self._say_stop()
            if running:
                ray.wait(list(running), num_returns=len(running), timeout=self._patience())
            self._stop_file.unlink(missing_ok=True)

    def _patience(self) -> float:
        """Seconds to wait for tasks that were told to stop."""
        left = self.stop.left
        return WAIT_FOR_STOPPED if left is None else min(WAIT_FOR_STOPPED, max(0.0, left))

    def _arguments(self, unit: str) -> tuple[Any, ...]:
        sweep = str(self.sweep.absolute()) if self.sweep else None
        store = str(self.study.path.absolute())
        stop_file = str(self._stop_file)
        chunking, deadline = self.chunking, self._deadline
        return store, unit, self.program, chunking, sweep, stop_file, deadline, self._folder

    def _stop_in_time(self) -> None:
        if self.stop.before(max((self._pace(unit) for unit in self._shown), default=0.0)):
            self._say_stop()

    def _say_stop(self) -> None:
        write(self._stop_file, b"")

    def _pace(self, unit: str) -> float:
        """Seconds of an epoch."""
        return self.study.progress(unit).get("pace") or 0.0

    def _show(self, units: Any) -> None:
        for unit in units:
            progress = self.study.progress(unit)
            epoch = progress.get("epoch", 0)
            if epoch and self._shown.get(unit) != epoch:
                self._shown[unit] = epoch
                runs = tuple(self.study.unit_runs(unit)["run"])
                self.listener.epoch(
                    EpochDone(unit, epoch, progress["epochs"], runs, self._pace(unit), metrics={})
                )

    def _collect(self, reference: Any) -> None:
        try:
            said, refused = ray.get(reference)
            for text in said:
                self.listener.say(text)
            self.stop.refused = self.stop.refused or refused
        except RayTaskError as error:
            if isinstance(error.cause, WriteError):
                raise WriteError(str(error.cause)) from None
            raise
