"""What a command line says of an environment beside its name, for every verb that takes a task."""

from dataclasses import dataclass
from typing import Annotated

from tyro.conf import UseAppendAction, arg

from saddle import references
from saddle.errors import SaddleError


@dataclass(frozen=True)
class EnvironmentOptions:
    """Options that make a task of an environment: gym:ID, or module:attribute."""

    cost: Annotated[
        UseAppendAction[tuple[str, ...]],
        arg(
            metavar="[NAME=]SOURCE",
            help="Of an environment: where a cost comes from. info:KEY, reward:I or reward:-I, "
            "event:KEY, terminated, six, or module:function. Several are several constraints.",
            help_behavior_hint="(default: what it has itself)",
        ),
    ] = ()
    reward: Annotated[
        str | None,
        arg(
            metavar="I",
            help="Of an environment: component of a vector reward, -I for minus that.",
            help_behavior_hint="",
        ),
    ] = None
    imports: Annotated[
        UseAppendAction[tuple[str, ...]],
        arg(
            name="import",
            metavar="MODULE",
            help="Of an environment: what to import first, as what registers its id.",
            help_behavior_hint="",
        ),
    ] = ()
    python: Annotated[
        str | None,
        arg(
            metavar="PATH",
            help="Of an environment: another interpreter to run it in.",
            help_behavior_hint="(default: this one)",
        ),
    ] = None
    episode_length: Annotated[
        int | None,
        arg(
            metavar="N",
            help="Of an environment: steps after which an episode is cut.",
            help_behavior_hint="(default: its own limit)",
        ),
    ] = None
    timeout: Annotated[
        float | None,
        arg(
            metavar="SECONDS",
            help="Of an environment: that a step or a reset may take.",
            help_behavior_hint="(default: 60)",
        ),
    ] = None

    def applied_to_option(self, task: str | None) -> str | None:
        """The same for a task that need not be given; without one there is nothing to apply to."""
        if task is not None:
            return self.applied_to(task)
        if self != EnvironmentOptions():
            raise SaddleError("the options of an environment need one; name it with --task")
        return None

    def applied_to(self, task: str) -> str:
        """The task's name where no option is given, else a reference that holds them all.

        They win over what the reference says already; costs and imports are added to it.
        """
        if self == EnvironmentOptions():
            return task
        # Loaded here, since help shows the options and loads nothing heavy.
        from saddle.tasks.gymnasium.costs import costs_of
        from saddle.tasks.gymnasium.environment import Environment

        if not references.is_reference(task):
            raise SaddleError(
                f"{task} has costs and a length of its own; --cost, --reward, --import, --python, "
                f"--episode-length and --timeout are for environments: gym:ID or module:attribute"
            )
        given = Environment.parse(task)
        python = given.python if self.python is None else self.python
        joined = Environment(
            given.source,
            cost=[*given.costs, *costs_of(self.cost)],
            reward=given.reward if self.reward is None else self.reward,
            length=given.length if self.episode_length is None else self.episode_length,
            imports=[*given.imports, *self.imports],
            python=python,
            timeout=given.timeout if self.timeout is None else self.timeout,
        )
        return joined.reference()
