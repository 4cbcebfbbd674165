"""An environment as a task whose worlds step on the host."""

from dataclasses import dataclass
from typing import Any

from saddle.errors import SaddleError
from saddle.tasks.gymnasium.environment import GYM, Environment
from saddle.tasks.gymnasium.facts import Facts, facts_of
from saddle.tasks.gymnasium.worlds import EnvironmentWorlds
from saddle.tasks.spec import TaskSpec


@dataclass(frozen=True)
class EnvironmentTask:
    """A HostTask; a process is asked about the environment when somebody first wants to know."""

    environment: Environment

    @property
    def facts(self) -> Facts:
        """What the environment is."""
        return facts_of(self.environment)

    @property
    def world_bytes(self) -> int:
        """Memory that a world takes beside what the learner needs, roughly."""
        return self.facts.world_bytes

    @property
    def spaces(self) -> dict[str, Any]:
        """What the environment shows and takes, for policies that are played there without
        Saddle's worlds.
        """
        return self.facts.spaces

    @property
    def spec(self) -> TaskSpec:
        """The task's facts, or a line that says what is still missing."""
        facts = self.facts
        name = self.environment.name.removeprefix(GYM)
        if facts.problems:
            raise SaddleError(f"{name}: {facts.problems[0]}")
        length = self.environment.length or facts.limit
        if length is None:
            raise SaddleError(
                f"{name} does not tell its time limit; say after how many steps an episode is cut "
                f"(--episode-length N, or length=N of saddle.Environment)"
            )
        constraints = facts.constraints
        for constraint in constraints:
            if constraints.count(constraint) > 1:
                raise SaddleError(
                    f"{name}: two costs are called {constraint!r}; write one as NAME=SOURCE"
                )
        return TaskSpec(
            name=name,
            obs_dim=facts.obs_dim,
            action_dim=facts.action_dim,
            episode_length=length,
            dt=facts.dt,
            constraints=constraints,
            summary=", ".join(constraints),
            choices=facts.choices,
        )

    def worlds(self, n: int, threads: int | None = None) -> EnvironmentWorlds:
        """N worlds, stepped in as many processes as `threads` says, one a core unless given."""
        return EnvironmentWorlds(self.environment, self.facts, self.spec, n, threads)

    def pictured(self) -> EnvironmentWorlds | None:
        """One world that can be seen, where the environment says that it draws itself."""
        if not self.facts.pictures:
            return None
        return EnvironmentWorlds(self.environment, self.facts, self.spec, 1, 1, pictured=True)
