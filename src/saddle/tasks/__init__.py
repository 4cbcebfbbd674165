"""What an agent faces: tasks with a reward and a vector of costs, by name."""

from saddle.tasks.registry import host_worlds, make, names
from saddle.tasks.task import State, Task, TaskSpec
from saddle.tasks.velocity.engines import on_host

__all__ = ["State", "Task", "TaskSpec", "host_worlds", "make", "names", "on_host"]
