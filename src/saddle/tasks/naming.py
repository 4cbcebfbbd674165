"""A name for whatever a program calls a task: studies, stores and policies hold names."""

import dataclasses
import sys
from collections.abc import Callable, Sequence
from typing import Any

from saddle import references
from saddle.errors import SaddleError
from saddle.tasks import registry
from saddle.tasks.gymnasium.costs import CostLike
from saddle.tasks.gymnasium.environment import Environment
from saddle.tasks.likeness import sum_of

TaskLike = str | Environment | Callable[..., Any] | Any
"""A task's name or reference, an environment, a function or class that makes either, or a task."""


def name_of(
    task: TaskLike,
    *,
    cost: CostLike | Sequence[CostLike] = (),
    reward: str | int | None = None,
    length: int | None = None,
    imports: Sequence[str] = (),
    python: str | None = None,
) -> str:
    """The name of a task, or the reference of an environment with these options.

    An environment that is made already is refused: training makes many of it, and again in other
    processes.

    What a module defines is named by a reference, which other processes find too. What only this
    program knows is registered under its own name: a function or class of a notebook with a short
    sum of what it is made of, so that another of that name is another task; a task that was made
    in place of what had that name in this program before.
    """
    options = {
        "cost": cost,
        "reward": reward,
        "length": length,
        "imports": imports,
        "python": python,
    }
    given = {key: value for key, value in options.items() if value not in ((), [], None)}
    if isinstance(task, Environment):
        _refuse(given, "an Environment has its own")
        return _environment(task)
    if isinstance(task, str) and not given:
        return task
    if isinstance(task, str):
        return _environment(_with_options(task, given))
    if _is_task(task):
        _refuse(given, f"the task {task.spec.name} has its own")
        return _registered(task.spec.name, task)
    if registry.is_made_environment(task):
        kind = type(task).__qualname__
        raise SaddleError(
            f"a task is an environment that is made already, of the class {kind}; give a function "
            f"or class that makes it, since training takes many, as {kind} itself"
        )
    if not callable(task):
        raise SaddleError(
            f"a task is {task!r}; give a name, a reference, an environment's function, or a task"
        )
    if given:
        return _environment(Environment(task, **given))
    name = getattr(task, "__qualname__", type(task).__qualname__)
    return _reference(task) or _told_apart(name, task)


def make(task: TaskLike, **options: Any) -> Any:
    """A task by whatever it is called: a `Task` of JAX, or a `HostTask`. Options are the task's own
    fields.

    Velocity tasks take engine="native" (MuJoCo C on the host, the default without a GPU), "mjx-jax"
    or "mjx-warp".
    """
    return registry.make(name_of(task), **options)


def _refuse(given: dict[str, Any], why: str) -> None:
    if given:
        raise SaddleError(f"{', '.join(given)} belong to an environment's function, but {why}")


def _with_options(task: str, given: dict[str, Any]) -> Environment:
    if not references.is_reference(task):
        raise SaddleError(
            f"{task} has costs and a length of its own; {', '.join(given)} belong to "
            f"environments: gym:ID or module:attribute"
        )
    return Environment(task, **given)


def _environment(environment: Environment) -> str:
    """A reference where one can be written, else the name that it is registered under."""
    if not isinstance(environment.source, str):
        known = _reference(environment.source)
        environment = dataclasses.replace(environment, source=known or environment.source)
    if environment.nameless is None:
        return environment.reference()
    return _told_apart(environment.name.rpartition(":")[2], environment)


def _is_task(thing: Any) -> bool:
    return not isinstance(thing, type) and registry.is_task(thing)


def _reference(thing: Any) -> str | None:
    """The reference by which another process finds a function or class, if it would."""
    module = getattr(thing, "__module__", "__main__")
    name = getattr(thing, "__qualname__", "<locals>")
    if module == "__main__" or "<" in name:
        return None
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return references.reference_to(thing) if found is thing else None


def _told_apart(name: str, thing: Any) -> str:
    """The last part of a dotted name with a short sum, under which this program now knows the
    thing.
    """
    last = name.rpartition(".")[2].strip("<>")
    return _registered(f"{last}_{sum_of(thing)}", thing)


def _registered(name: str, thing: Any) -> str:
    """The name, under which this program now knows the thing."""
    clean = "".join(letter if letter.isalnum() else "_" for letter in name)
    return registry.put(clean, thing)
