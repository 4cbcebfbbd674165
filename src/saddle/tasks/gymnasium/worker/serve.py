"""What a worker does: it makes environments as its configuration says, and carries out commands."""

from __future__ import annotations

import os
import sys
import traceback
from typing import Any, Dict, Mapping, Union

import numpy as np

from . import pictures
from .batch import BatchWorlds
from .making import Maker, batch_size
from .probe import probe
from .problem import Problem
from .signals import Signals
from .wire import (
    DRAW,
    DRAWING,
    FAILED,
    FRAME,
    IDLE,
    LOAD,
    MAKING,
    NOTE,
    PHASE,
    RESET,
    SAVE,
    SAVING,
    STEP,
    TICKS,
    WORLD,
    Wire,
    shared_arrays,
)
from .worlds import STANDARD_OUTPUT, Beat, SingleWorlds

Worlds = Union[SingleWorlds, BatchWorlds]


def main(replies: int) -> None:
    """Serve until the pipe of commands, which is standard input, closes."""
    wire = Wire(os.dup(0), replies)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)  # an environment that reads input gets none, and no commands
    wire.die_with_the_other_end()
    _let_others_finish()
    at: dict[str, Any] = {}
    try:
        config = wire.line()
        _find_modules(config)
        if config["mode"] == "probe":

            def at_phase(phase: int) -> None:
                wire.tell(NOTE, {"phase": phase})

            wire.tell(FRAME, probe(Maker(config), config, at_phase))
            return
        _serve(wire, config, at)
    except BaseException as error:
        wire.tell(FAILED, _described(error, at))
        os._exit(1)


def _let_others_finish() -> None:
    """Have the system not run this process the moment it gets a command, in place of the process
    that gives it and has commands for others.
    """
    if hasattr(os, "SCHED_BATCH"):
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))


def _find_modules(config: Mapping[str, Any]) -> None:
    """Look for modules where the other process does, if it runs the same interpreter, and in the
    current folder.
    """
    if config["path"] is not None:
        sys.path[:] = config["path"]
    if config["folder"] and config["folder"] not in sys.path:
        sys.path.insert(0, config["folder"])


def _serve(wire: Wire, config: Mapping[str, Any], at: dict[str, Any]) -> None:
    arrays = shared_arrays(config["memory"], config["arrays"])
    first, count = config["first"], config["count"]
    own = {name: array[first : first + count] for name, array in arrays.items()}
    beats = arrays["beats"][config["number"]]
    spent = arrays["spent"]
    at.update(beats=beats, taken=arrays["taken"])

    def printed(world: int, step: int) -> None:
        wire.tell(NOTE, {"printed": True, "world": world, "step": step})

    worlds = _made(config, own, Beat(beats, first, printed), beats)
    os.ftruncate(STANDARD_OUTPUT, 0)  # the greetings of packages, which do not count as printing
    wire.done()
    while True:
        beats[PHASE] = IDLE
        command = wire.command()
        if not command:
            return
        if command == STEP:
            worlds.step()
        elif command == RESET:
            worlds.reset()
        elif command == SAVE:
            beats[PHASE] = SAVING
            wire.send(FRAME, worlds.save(config["way"]))
        elif command == LOAD:
            worlds.load(config["way"], wire.frame())
        elif command == DRAW:
            beats[PHASE] = DRAWING
            wire.send(FRAME, pictures.to_bytes(worlds.picture()))
        spent[config["number"]] = worlds.spent
        if command not in (SAVE, DRAW):
            wire.done()


def _made(
    config: Mapping[str, Any], own: Dict[str, np.ndarray], beat: Beat, beats: np.ndarray
) -> Worlds:
    """The worlds that are this process's."""
    beats[WORLD] = config["first"]
    beats[PHASE] = MAKING
    maker = Maker(config)
    count = config["count"]
    signals = Signals(config["costs"], config["reward"], maker.functions, config["counts"])
    env = maker(count)
    size = batch_size(env)
    if size:
        if size != count:
            raise Problem(
                f"it steps {size} worlds at once, but {count} are wanted; name a function with a "
                f"parameter num_envs"
            )
        return BatchWorlds(env, signals, own, config["limit"], beat)
    envs = [env]
    while len(envs) < count:
        beats[TICKS] += 1
        beats[WORLD] += 1
        envs.append(maker(1))
    return SingleWorlds(envs, signals, own, config["limit"], beat, config["pictured"])


def _described(error: BaseException, at: Mapping[str, Any]) -> dict[str, Any]:
    """An error as plain values: what it says, where it was raised, in which world and step."""
    found: dict[str, Any] = {"phase": MAKING, "problem": isinstance(error, Problem)}
    if at:
        world = int(at["beats"][WORLD])
        found["phase"] = int(at["beats"][PHASE])
        found["world"] = world
        found["step"] = int(at["taken"][world])
    said = next(iter(str(error).splitlines()), "")
    if found["problem"]:
        found["error"] = said
        return found
    kind = type(error).__name__
    found["error"] = f"{kind}: {said}" if said else kind
    found["missing"] = getattr(error, "name", None) if isinstance(error, ImportError) else None
    own = __name__.rpartition(".")[0]
    for frame, line in traceback.walk_tb(error.__traceback__):
        module = frame.f_globals.get("__name__", "?")
        if not module.startswith(own) and not module.startswith("importlib"):
            found["where"] = f"{module}:{line}"
    return found
