"""A name for whatever a program calls a task: studies, stores and policies hold names."""

import sys
from collections.abc import Callable, Sequence
from typing import Any

from saddle import references
from saddle.errors import SaddleError
from saddle.tasks import registry
from saddle.tasks.gymnasium.costs import CostLike
from saddle.tasks.gymnasium.environment import Environment

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

    What a module defines is named by a reference, which other processes find too. What only this
    program knows (a function of a notebook, a task that was made) is registered under its own
    name, in place of what had that name in this program before.
    """
    options = {
        "cost": cost,
        "reward": reward,
        "length": length,
        "imports": tuple(imports),
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
    if not callable(task):
        raise SaddleError(
            f"a task is {task!r}; give a name, a reference, an environment's function, or a task"
        )
    source = _reference(task) or task
    if given:
        return _environment(Environment(source, **given))
    if isinstance(source, str):
        return source
    return _registered(task.__qualname__.rpartition(".")[2], task)


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
    functions = [cost.function for cost in environment.costs if cost.function is not None]
    if isinstance(environment.source, str) and not functions:
        return str(environment)
    name = environment.name.rpartition(":")[2].rpartition(".")[2]
    return _registered(name, environment)


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


def _registered(name: str, thing: Any) -> str:
    """The name, under which this program now knows the thing."""
    clean = "".join(letter if letter.isalnum() else "_" for letter in name.strip("<>"))
    return registry.put(clean, thing)
