"""One episode of one policy, kept step by step, so that it can be drawn."""

from typing import TYPE_CHECKING

import jax
import numpy as np
from jax import Array

from saddle.draw.course import Course
from saddle.draw.pictures import Pictures
from saddle.gym import programs
from saddle.policies import Policy
from saddle.tasks import HostTask, Task
from saddle.tasks.host import HostWorlds, PicturedWorlds
from saddle.tasks.velocity.engines import NativeTask

if TYPE_CHECKING:
    from saddle.draw.running import Run


def states(task: Task, policy: Policy, key: Array, steps: int) -> list:
    """The states of one episode, at most `steps` of it, the reset first; leaves are NumPy
    arrays.
    """
    run = programs.single(task)
    act = jax.jit(policy)
    state = run.reset(key)
    found = [state]
    for draw in _draws(key, steps):
        state, out = run.step(state, act(state.obs, draw))
        found.append(state)
        if out.terminated or out.truncated:
            break
    return jax.device_get(found)


def pictured(task: Task | HostTask) -> PicturedWorlds | None:
    """One world of the task that draws itself, if the task has such worlds."""
    member = getattr(task, "pictured", None)
    return None if member is None else member()


def course(
    worlds: HostWorlds,
    seen: PicturedWorlds | None,
    policy: Policy,
    name: str,
    seed: int,
    steps: int,
    every: int = 1,
) -> Course:
    """An episode of one world, at most `steps` of it. name: of the policy; seen: the same world,
    where it is to draw itself, every so many steps and at the end.
    """
    spec = worlds.spec
    act = jax.jit(policy)
    obs = worlds.reset(np.array([seed], np.uint64))
    rewards = [0.0]
    costs = [np.zeros(len(spec.constraints))]
    pictures = None
    if seen is not None:
        pictures = Pictures()
        pictures.keep(0, seen.picture())
    for step, draw in enumerate(_draws(jax.random.key(seed), steps), 1):
        action = np.asarray(act(np.asarray(obs[0], np.float32), draw), np.float32)
        now = worlds.step(action[None])
        obs = now.obs
        rewards.append(float(now.reward[0]))
        costs.append(np.asarray(now.cost[0]))
        ended = now.terminated[0] or now.truncated[0]
        if seen is not None and pictures is not None:
            is_last = ended or step == steps
            if is_last or step % every == 0:
                pictures.keep(step, seen.picture())
        if ended:
            break
    return Course(spec, name, seed, np.array(rewards), np.array(costs), pictures)


def body(task: NativeTask, policy: Policy, name: str, seed: int, steps: int) -> "Run":
    """One episode of a velocity task, at most `steps` of it, with the body's positions. name: of
    the policy.
    """
    from saddle.draw.running import Run

    worlds = task.worlds(1, 1)
    act = jax.jit(policy)
    obs = worlds.begin(np.array([seed]))
    positions = [worlds.qpos[0].copy()]
    speeds = [0.0]
    rewards = [0.0]
    costs = [0.0]
    for draw in _draws(jax.random.key(seed), steps):
        seen = obs[0].astype(np.float32)
        action = np.asarray(act(seen, draw), np.float32)
        now = worlds.advance(action[None])
        obs = now.obs
        velocity = now.velocity[0]
        speed = np.linalg.norm(velocity) if worlds.body.free else velocity[0]
        positions.append(worlds.qpos[0].copy())
        speeds.append(float(speed))
        rewards.append(float(now.reward[0]))
        costs.append(float(now.cost[0, 0]))
        if now.terminated[0] or now.truncated[0]:
            break
    return Run(
        worlds.body,
        name,
        seed,
        qpos=np.array(positions),
        speed=np.array(speeds),
        reward=np.array(rewards),
        cost=np.array(costs),
    )


def _draws(key: Array, steps: int) -> Array:
    """A key for each step's action. They do not come from the key that the world begins with."""
    of_actions = jax.random.fold_in(key, 1)
    return jax.random.split(of_actions, steps)
