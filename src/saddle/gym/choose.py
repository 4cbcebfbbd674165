"""Which environment a task becomes: of worlds inside JAX, of MuJoCo C, or of anybody's worlds on
the host.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from saddle import tasks
from saddle.tasks import HostTask
from saddle.tasks.velocity.engines import NativeTask

OF_THE_FORM = ("render_mode", "width", "height", "max_episode_steps", "threads")
"""Options of environments; all others are the task's own."""

FEW_WORLDS = "native"
"""The engine of these forms, where a task has a choice: outside a compiled loop MuJoCo C steps
fastest.
"""


class Forms(NamedTuple):
    """The environments of a kind of task."""

    single: Callable[..., Any]
    safe_single: Callable[..., Any]
    many: Callable[..., Any]
    safe_many: Callable[..., Any]


class Chosen(NamedTuple):
    """A task that was made, its environments, and the options that are theirs."""

    task: Any
    forms: Forms
    options: dict[str, Any]


def choose(name: str, options: dict[str, Any]) -> Chosen:
    """Make the task of that name, or reference, with its own share of the options."""
    own = {option: value for option, value in options.items() if option not in OF_THE_FORM}
    spec = tasks.known_spec(name)
    if spec is not None and FEW_WORLDS in spec.engines:
        own.setdefault("engine", FEW_WORLDS)
    task = tasks.make(name, **own)
    rest = {option: value for option, value in options.items() if option in OF_THE_FORM}
    return Chosen(task, _forms(task), rest)


def _forms(task: Any) -> Forms:
    if isinstance(task, NativeTask):
        from saddle.gym import native

        return Forms(
            native.NativeEnv,
            native.SafeNativeEnv,
            native.NativeVectorEnv,
            native.SafeNativeVectorEnv,
        )
    if isinstance(task, HostTask):
        from saddle.gym import host

        return Forms(host.HostEnv, host.SafeHostEnv, host.HostVectorEnv, host.SafeHostVectorEnv)
    from saddle.gym import env, vector

    return Forms(env.TaskEnv, env.SafeEnv, vector.TaskVectorEnv, vector.SafeVectorEnv)
