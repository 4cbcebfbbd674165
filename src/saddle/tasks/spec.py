"""The facts about a task, in plain Python: stores, analyses and command lines read them without
JAX.
"""

import math
from dataclasses import dataclass

from saddle.errors import SaddleError


@dataclass(frozen=True)
class TaskSpec:
    """The facts about a task that do not change from world to world, checked on construction."""

    name: str
    obs_dim: int
    action_dim: int
    episode_length: int
    """Env steps until truncation."""
    dt: float
    """Seconds per env step."""
    constraints: tuple[str, ...]
    """Names of the m cost entries."""
    summary: str = ""
    """The constraint, in words."""
    limits: tuple[float, ...] = ()
    """Cost limits at which the published study compares multiplier rules."""
    recommended_limits: tuple[float, ...] = ()
    """Those that it recommends: in steep and in flat stretches."""
    engines: tuple[str, ...] = ()
    """What `make(name, engine=...)` takes; none where there is no choice."""
    nickname: str = ""
    """What presets call it: 'paper-circle'."""
    choices: tuple[int, ...] = ()
    """How many choices each discrete action has. Actions are then whole numbers, 0 to one less than
    that, in rows of action_dim = len(choices); empty where actions are real numbers.
    """

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.strip():
            raise SaddleError(f"a task's name is {self.name!r}; give its spec a name")
        for field in ("obs_dim", "action_dim", "episode_length"):
            value = getattr(self, field)
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise SaddleError(
                    f"{self.name}: {field} is {value!r}; it must be a whole number of at least 1"
                )
        if not isinstance(self.dt, int | float) or not 0 < self.dt < math.inf:
            raise SaddleError(
                f"{self.name}: dt is {self.dt!r}; it must be a positive number of seconds"
            )
        self._check_choices()
        self._check_constraints()
        for field in ("limits", "recommended_limits"):
            for limit in getattr(self, field):
                if not 0 <= limit < math.inf:
                    raise SaddleError(
                        f"{self.name}: {field} has {limit!r}; a cost limit is finite and 0 or more"
                    )

    def _check_choices(self) -> None:
        choices = self.choices
        if not isinstance(choices, tuple) or not all(
            isinstance(count, int) and count >= 1 for count in choices
        ):
            raise SaddleError(
                f"{self.name}: choices is {choices!r}; say of each discrete action how many "
                f"choices it has, as in (3, 2)"
            )
        if choices and len(choices) != self.action_dim:
            raise SaddleError(
                f"{self.name}: choices has {len(choices)} entries, but action_dim is "
                f"{self.action_dim}; they must agree"
            )

    def _check_constraints(self) -> None:
        names = self.constraints
        if not isinstance(names, tuple) or not names:
            raise SaddleError(
                f"{self.name}: constraints is {names!r}; name each entry of the cost vector, as in "
                f"('speed',)"
            )
        if not all(isinstance(name, str) and name for name in names) or len(set(names)) < len(
            names
        ):
            raise SaddleError(
                f"{self.name}: constraints is {names!r}; each needs a name of its own"
            )
