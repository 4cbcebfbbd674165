"""What an agent faces: tasks with a reward and a vector of costs, by name."""

from saddle.tasks.registry import make, names
from saddle.tasks.task import State, Task, TaskSpec

__all__ = ["State", "Task", "TaskSpec", "make", "names"]
