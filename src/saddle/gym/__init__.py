"""Saddle's tasks as Gymnasium environments, by the names `saddle/SafetyPointGoal1-v0` and so on.

    import gymnasium
    import saddle

    env = gymnasium.make("saddle/SafetyPointGoal1-v0", render_mode="rgb_array")
    worlds = gymnasium.make_vec("saddle/SafetyPointGoal1-v0", num_envs=64)

Both return Gymnasium's five values with the cost in `info["cost"]`. `make_safe` and `make_safe_vec` return
Safety-Gymnasium's six: observation, reward, cost, terminated, truncated, info.

Importing this module registers the names and no more: JAX is imported when an environment is made.
"""

from typing import TYPE_CHECKING, Any

from gymnasium.envs import registration

if TYPE_CHECKING:
    from saddle.gym.env import SafeEnv
    from saddle.gym.native import SafeNativeEnv, SafeNativeVectorEnv
    from saddle.gym.vector import SafeVectorEnv

__all__ = ["EPISODE_LENGTHS", "make_safe", "make_safe_vec", "register"]

# Written out because asking the tasks would import JAX.
EPISODE_LENGTHS = {
    "SafetyPointCircle1-v0": 500,
    "SafetyPointGoal1-v0": 1000,
    "SafetyPointButton1-v0": 1000,
    "SafetyPointPush1-v0": 1000,
    "SafetyHopperVelocity-v1": 1000,
    "SafetyWalker2dVelocity-v1": 1000,
    "SafetyHalfCheetahVelocity-v1": 1000,
    "SafetyAntVelocity-v1": 1000,
}


_IN_JAX = ("env:TaskEnv", "vector:TaskVectorEnv")


def register() -> None:
    """Tell Gymnasium about every task. Done once, on import."""
    for name, length in EPISODE_LENGTHS.items():
        single, many = ("native:NativeEnv", "native:NativeVectorEnv") if _native(name) else _IN_JAX
        if f"saddle/{name}" not in registration.registry:
            registration.register(
                id=f"saddle/{name}",
                entry_point=f"saddle.gym.{single}",
                vector_entry_point=f"saddle.gym.{many}",
                max_episode_steps=length,
                kwargs={"task": name},
            )


def make_safe(task: str, **options: Any) -> "SafeEnv | SafeNativeEnv":
    """The task in Safety-Gymnasium's form: `step` returns six values. Options are those of `saddle.gym.env.TaskEnv`."""
    if _native(task):
        from saddle.gym.native import SafeNativeEnv

        return SafeNativeEnv(task, **options)
    from saddle.gym.env import SafeEnv

    return SafeEnv(task, **options)


def make_safe_vec(task: str, num_envs: int = 1, **options: Any) -> "SafeVectorEnv | SafeNativeVectorEnv":
    """Many worlds in Safety-Gymnasium's form. Options are those of `saddle.gym.vector.TaskVectorEnv`."""
    if _native(task):
        from saddle.gym.native import SafeNativeVectorEnv

        return SafeNativeVectorEnv(task, num_envs, **options)
    from saddle.gym.vector import SafeVectorEnv

    return SafeVectorEnv(task, num_envs, **options)


def _native(task: str) -> bool:
    """Does this task step in MuJoCo C? The others step in JAX."""
    return task in EPISODE_LENGTHS and "Velocity" in task


register()
