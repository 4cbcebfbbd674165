"""One env step of every reference row in our world, and how far it ends from the reference."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from saddle.parity import inject, motion
from saddle.parity.golden import Golden
from saddle.parity.point.registry import reference_of
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
        step_each = jax.jit(jax.vmap(task.step))
        info_each = jax.jit(jax.vmap(task.info))
        observe_each = jax.jit(jax.vmap(task.observe))
        before = inject.inject(golden, task, dtype)
        stepped = step_each(before, jnp.asarray(golden["action"], dtype))
        info = info_each(stepped)
        obs = observe_each(_take_goal_over(golden, stepped))
        formulas = observe_each(inject.inject(golden, task, dtype, after=True))
        return _outcome(golden, stepped, obs, formulas, info)


def _take_goal_over(golden: Golden, stepped: State) -> State:
    """After a success both sides drew a new goal at random: put the reference's in place of
    ours.
    """
    new = {}
    for name in reference_of(golden).drawn_after_success:
        ours = getattr(stepped, name)
        theirs = jnp.asarray(golden[f"{name}2"], ours.dtype)
        met = golden["goal_met"].reshape(-1, *[1] * (ours.ndim - 1))
        new[name] = jnp.where(met, theirs, ours)
    return dataclasses.replace(stepped, **new)


def _outcome(
    golden: Golden, stepped: State, obs: Array, formulas: Array, info: dict[str, Any]
) -> Outcome:
    zeros = np.zeros(golden.rows)
    return Outcome(
        agent=_real(stepped.agent),  # type: ignore[attr-defined]
        bodies=_real(reference_of(golden).free_bodies(stepped)),
        obs=_real(obs),
        formulas=_real(formulas),
        reward=_real(stepped.reward),
        cost=_real(stepped.cost).sum(axis=-1),
        terminated=np.asarray(stepped.terminated),
        truncated=np.asarray(stepped.truncated),
        goal_met=np.asarray(getattr(stepped, "goal_met", zeros)) != 0,
        timer=np.asarray(getattr(stepped, "timer", zeros)),
        info={name: _real(value) for name, value in info.items()},
    )


def _real(value: Any) -> np.ndarray:
    return np.asarray(value, np.float64)


def errors(golden: Golden, out: Outcome) -> dict[str, np.ndarray]:
    """Error per row of every continuous quantity: name -> [N]; infinite where our state is not
    finite.

    NaN marks rows that have no such quantity (a displacement where nothing moved).
    """
    off = out.agent - motion.agents(golden, after=True)
    off[:, 2] = motion.wrap(off[:, 2])
    observed = out.obs - golden["obs2"]
    formulas = out.formulas - golden["obs2"]
    found = {
        "pose": _worst(off[:, :3]),
        "velocity": _worst(off[:, 3:]),
        "linear velocity": _worst(off[:, 3:5]),
        "accelerometer": _worst(observed[:, :SENSORS]),
        "observation": _worst(observed[:, SENSORS:]),
        "observation formulas": _worst(formulas[:, SENSORS:]),
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
    theirs = motion.bodies(golden, after=True)
    off = out.bodies - theirs
    planar = np.linalg.norm(off[:, 0, :2], axis=-1)
    return {
        "body position": np.linalg.norm(off[..., :3], axis=-1).max(axis=1),
        "body angle": _angle(out.bodies[..., 3:7], theirs[..., 3:7]).max(axis=1),
        "body velocity": _worst(off[..., 7:10]),
        "body spin": _worst(off[..., 10:13]),
        "displacement": planar / np.maximum(_displacement(golden), MOVED),
    }


def _worst(off: np.ndarray) -> np.ndarray:
    """The largest entry of each row [N, ...] of differences: [N]."""
    return np.abs(off).reshape(len(off), -1).max(axis=1)


def _displacement(golden: Golden) -> np.ndarray:
    """[N] metres that the reference's first free body moved in the plane."""
    moved = motion.bodies(golden, after=True) - motion.bodies(golden)
    return np.linalg.norm(moved[:, 0, :2], axis=-1)


def _angle(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Rotation angle between quaternions [..., 4], exact for small angles."""
    a = a / np.linalg.norm(a, axis=-1, keepdims=True)
    b = b / np.linalg.norm(b, axis=-1, keepdims=True)
    # A quaternion and its opposite are the same rotation.
    chord = np.minimum(np.linalg.norm(a - b, axis=-1), np.linalg.norm(a + b, axis=-1))
    return 4 * np.arcsin(np.minimum(chord / 2, 1))
