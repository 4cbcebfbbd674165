"""Saddle's tasks as Gymnasium environments, by the names `saddle/SafetyPointGoal1-v0` and so on.

    import gymnasium
    import saddle

    env = gymnasium.make("saddle/SafetyPointGoal1-v0", render_mode="rgb_array")
    worlds = gymnasium.make_vec("saddle/SafetyPointGoal1-v0", num_envs=64)

Both return Gymnasium's five values with the cost in `info["cost"]`. `make_safe` and `make_safe_vec`
return Safety-Gymnasium's six: observation, reward, cost, terminated, truncated, info. Tasks of
installed packages, and those that `saddle.register` made known, have such names too; `make`,
`make_vec`, `make_safe` and `make_safe_vec` also take a reference 'module:attribute'.

Importing this module registers the names and no more: a task is imported when an environment of it
is made.
"""

import contextlib
from typing import TYPE_CHECKING, Any

from gymnasium import Env
from gymnasium.envs import registration
from gymnasium.error import RegistrationError
from gymnasium.vector import VectorEnv

from saddle.tasks import registry

if TYPE_CHECKING:
    from saddle.gym.env import SafeEnv
    from saddle.gym.host import SafeHostEnv, SafeHostVectorEnv
    from saddle.gym.native import SafeNativeEnv, SafeNativeVectorEnv
    from saddle.gym.vector import SafeVectorEnv

__all__ = ["make", "make_safe", "make_safe_vec", "make_vec"]


def make(task: str, **options: Any) -> Env:
    """One world of a task. Options are those of the environment (`saddle.gym.env.TaskEnv`), and the
    task's own.
    """
    from saddle.gym.choose import choose

    chosen = choose(task, options)
    return chosen.forms.single(chosen.task, **chosen.options)


def make_vec(task: str, num_envs: int = 1, **options: Any) -> VectorEnv:
    """Many worlds of a task. Options are those of `saddle.gym.vector.TaskVectorEnv`, and the task's
    own.
    """
    from saddle.gym.choose import choose

    chosen = choose(task, options)
    return chosen.forms.many(chosen.task, num_envs, **chosen.options)


def make_safe(task: str, **options: Any) -> "SafeEnv | SafeNativeEnv | SafeHostEnv":
    """One world in Safety-Gymnasium's form: `step` returns six values. Options as for `make`."""
    from saddle.gym.choose import choose

    chosen = choose(task, options)
    return chosen.forms.safe_single(chosen.task, **chosen.options)


def make_safe_vec(
    task: str, num_envs: int = 1, **options: Any
) -> "SafeVectorEnv | SafeNativeVectorEnv | SafeHostVectorEnv":
    """Many worlds in Safety-Gymnasium's form. Options as for `make_vec`."""
    from saddle.gym.choose import choose

    chosen = choose(task, options)
    return chosen.forms.safe_many(chosen.task, num_envs, **chosen.options)


def _tell_gymnasium(known: registry.Entry) -> None:
    name = f"saddle/{known.name}"
    if name in registration.registry:
        return
    # Gymnasium refuses a name without a version beside one with a version; the task is known to
    # Saddle all the same.
    with contextlib.suppress(RegistrationError):
        registration.register(
            id=name,
            entry_point="saddle.gym:make",
            vector_entry_point="saddle.gym:make_vec",
            max_episode_steps=None if known.spec is None else known.spec.episode_length,
            kwargs={"task": known.name},
        )


registry.watch(_tell_gymnasium)
