"""What an agent faces: tasks with a reward and a vector of costs, by name. Importing this loads no
JAX.
"""

from typing import TYPE_CHECKING, Any

from saddle.tasks import builtin as builtin
from saddle.tasks.host import HostStep, HostTask, HostWorlds
from saddle.tasks.naming import make
from saddle.tasks.registry import known_spec, names, register, spec_of
from saddle.tasks.spec import TaskSpec

if TYPE_CHECKING:
    from saddle.tasks.task import State, Task, pytree

__all__ = [
    "HostStep",
    "HostTask",
    "HostWorlds",
    "State",
    "Task",
    "TaskSpec",
    "known_spec",
    "make",
    "names",
    "pytree",
    "register",
    "spec_of",
]

_WITH_JAX = ("State", "Task", "pytree")


def __getattr__(name: str) -> Any:
    """What needs JAX, loaded when it is first used."""
    if name in _WITH_JAX:
        from saddle.tasks import task

        return getattr(task, name)
    raise AttributeError(f"module 'saddle.tasks' has no attribute {name!r}")
