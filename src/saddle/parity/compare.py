"""One env step of every reference row in our world, and how far it ends from the reference."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from saddle.parity import inject
from saddle.parity.golden import Golden
from saddle.tasks import State

Precision = Literal["float32", "float64"]

SENSORS = 3  # the accelerometer is the first three entries of the observation
MOVED = 1e-4  # m, a body that moved less has no displacement to compare with


@dataclass(frozen=True)
class Outcome:
    """What our world made of the rows, as float64 arrays [N, ...]; `info` holds the entries of
    task.info.
    """

    agent: np.ndarray  # [N, 6]
    bodies: np.ndarray  # [N, B, 13]
    obs: np.ndarray  # [N, obs_dim], after the reference's new goal was taken over
    formulas: np.ndarray  # [N, obs_dim], observed in the reference's own final state
    reward: np.ndarray
    cost: np.ndarray
    terminated: np.ndarray
    truncated: np.ndarray
    goal_met: np.ndarray
    timer: np.ndarray
    info: Mapping[str, np.ndarray]


def step(golden: Golden, task: Any, precision: Precision) -> Outcome:
    """Inject the rows, step once, take the reference's new goal over where it drew one, and observe
    again.
    """
    with jax.enable_x64(precision == "float64"):
        dtype = jnp.dtype(precision)
        before = inject.inject(golden, task, dtype)
        stepped = jax.jit(jax.vmap(task.step))(before, jnp.asarray(golden["action"], dtype))
        info = jax.jit(jax.vmap(task.info))(stepped)
        observe = jax.jit(jax.vmap(task.observe))
        obs = observe(_take_goal_over(golden, stepped))
        formulas = observe(inject.inject(golden, task, dtype, after=True))
        return _outcome(golden, stepped, obs, formulas, info)


def _take_goal_over(golden: Golden, stepped: State) -> State:
    """After a success both sides drew a new goal at random: put the reference's in place of
    ours.
    """
    met = golden["goal_met"]
    new = {}
    for name in ("goal", "goal_button"):
        ours = getattr(stepped, name, None)
        if ours is not None:
            theirs = jnp.asarray(golden[name + "2"], ours.dtype)
            new[name] = jnp.where(met.reshape(-1, *[1] * (ours.ndim - 1)), theirs, ours)
    return dataclasses.replace(stepped, **new)


def _outcome(
    golden: Golden, stepped: State, obs: Array, formulas: Array, info: dict[str, Any]
) -> Outcome:
    zeros = np.zeros(golden.rows)
    free = np.zeros((golden.rows, 0, 13))
    for name in ("vase", "gremlins", "box"):
        if hasattr(stepped, name):
            free = np.asarray(getattr(stepped, name), np.float64)
    return Outcome(
        agent=np.asarray(stepped.agent, np.float64),  # type: ignore[attr-defined]
        bodies=free.reshape(golden.rows, golden.bodies, 13),
        obs=np.asarray(obs, np.float64),
        formulas=np.asarray(formulas, np.float64),
        reward=np.asarray(stepped.reward, np.float64),
        cost=np.asarray(stepped.cost, np.float64).sum(axis=-1),
        terminated=np.asarray(stepped.terminated),
        truncated=np.asarray(stepped.truncated),
        goal_met=np.asarray(getattr(stepped, "goal_met", zeros)) != 0,
        timer=np.asarray(getattr(stepped, "timer", zeros)),
        info={name: np.asarray(value, np.float64) for name, value in info.items()},
    )


def errors(golden: Golden, out: Outcome) -> dict[str, np.ndarray]:
    """Error per row of every continuous quantity: name -> [N]; infinite where our state is not
    finite.

    NaN marks rows that have no such quantity (a displacement where nothing moved).
    """
    agent = out.agent - inject.agents(golden, after=True)
    agent[:, 2] = inject.wrap(agent[:, 2])
    seen = np.abs(out.obs - golden["obs2"])
    formulas = np.abs(out.formulas - golden["obs2"])
    found = {
        "pose": np.abs(agent[:, :3]).max(axis=1),
        "velocity": np.abs(agent[:, 3:]).max(axis=1),
        "linear velocity": np.abs(agent[:, 3:5]).max(axis=1),
        "accelerometer": seen[:, :SENSORS].max(axis=1),
        "observation": seen[:, SENSORS:].max(axis=1),
        "observation formulas": formulas[:, SENSORS:].max(axis=1),
        "reward": np.abs(out.reward - golden["reward"]),
    }
    if golden.bodies:
        found |= _body_errors(golden, out)
    found = {name: np.where(np.isnan(error), np.inf, error) for name, error in found.items()}
    if golden.bodies:
        moved = _displacement(golden) > MOVED
        found["displacement"] = np.where(moved, found["displacement"], np.nan)
    return found


def _body_errors(golden: Golden, out: Outcome) -> dict[str, np.ndarray]:
    """The worst of a row's free bodies; `displacement` is the first one's planar error over its
    displacement.
    """
    ours = out.bodies
    theirs = inject.bodies(golden, after=True)
    planar = np.linalg.norm(ours[:, 0, :2] - theirs[:, 0, :2], axis=-1)
    return {
        "body position": np.linalg.norm(ours[..., :3] - theirs[..., :3], axis=-1).max(axis=1),
        "body angle": _angle(ours[..., 3:7], theirs[..., 3:7]).max(axis=1),
        "body velocity": np.abs(ours[..., 7:10] - theirs[..., 7:10]).max(axis=(1, 2)),
        "body spin": np.abs(ours[..., 10:13] - theirs[..., 10:13]).max(axis=(1, 2)),
        "displacement": planar / np.maximum(_displacement(golden), MOVED),
    }


def _displacement(golden: Golden) -> np.ndarray:
    """[N] metres that the reference's first free body moved in the plane."""
    moved = inject.bodies(golden, after=True) - inject.bodies(golden)
    return np.linalg.norm(moved[:, 0, :2], axis=-1)


def _angle(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Rotation angle between quaternions [..., 4], exact for small angles."""
    a = a / np.linalg.norm(a, axis=-1, keepdims=True)
    b = b / np.linalg.norm(b, axis=-1, keepdims=True)
    gap = np.minimum(np.linalg.norm(a - b, axis=-1), np.linalg.norm(a + b, axis=-1))
    return 4 * np.arcsin(np.minimum(gap / 2, 1))
