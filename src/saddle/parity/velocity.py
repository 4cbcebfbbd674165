"""The velocity tasks against the reference: its rows stepped once on any engine, and how far they
end from it.
"""

import dataclasses
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from saddle.parity.agreement import Agreement, Decided
from saddle.parity.compare import Precision
from saddle.parity.golden import Golden
from saddle.parity.tolerances import Bound, Criterion
from saddle.parity.verdict import Report, line
from saddle.tasks import make
from saddle.tasks.velocity import models
from saddle.tasks.velocity.bodies import BODIES
from saddle.tasks.velocity.body import Body, observe

CROSSED = "the axes of two links cross, so that their contact has no direction"
NEAR = 1e-5  # m between two axes at which they count as crossing
_REWARD_SLACK = {"float32": 1e-5, "float64": 1e-6}  # the reference sums squared actions in float32


@dataclass(frozen=True)
class Outcome:
    """What an engine made of the rows, float64 arrays [N, ...]."""

    qpos: np.ndarray  # [N, nq]
    qvel: np.ndarray  # [N, nv]
    velocity: np.ndarray  # [N, k] m/s
    obs: np.ndarray  # [N, obs_dim]
    reward: np.ndarray
    cost: np.ndarray
    terminated: np.ndarray
    truncated: np.ndarray


def criteria(body: Body, engine: str) -> tuple[Criterion, ...]:
    """The lines that are judged. In float64 the engines have nothing but rounding to disagree
    about, but for links that touch each other, where MJX is held to the limits of float32.
    """
    task = body.spec.name
    same_contacts = engine == "native" or not body.links_touch

    def motion(quantity: str, limit: float, in_double: float) -> Criterion:
        exact = (Bound(99, limit),)
        double = (Bound(100, in_double),) if same_contacts else None
        return Criterion((task,), "all", quantity, exact, double=double)

    exact = (Bound(100, 2e-6),)
    double = (Bound(100, 1e-12),)
    return (
        Criterion((task,), "all", "observation formulas", exact, double=double),
        motion("qpos", 1e-5, 1e-10),
        motion("qvel", body.qvel_tolerance, 1e-8),
        motion("speed", 1e-3, 1e-9),
    )


def judge(golden: Golden, engine: str, precision: Precision) -> Report:
    """Step the rows on that engine and hold what comes out against the criteria.

    MuJoCo C is always float64, Warp always float32.
    """
    only: dict[str, Precision] = {"native": "float64", "mjx-warp": "float32"}
    precision = only.get(engine, precision)
    body = BODIES[golden.task]
    out = step_native(golden, body) if engine == "native" else step_mjx(golden, engine, precision)
    return report(golden, out, engine, precision)


def report(golden: Golden, out: Outcome, engine: str, precision: Precision) -> Report:
    """Every criterion, then the same quantities with and without contact."""
    body = BODIES[golden.task]
    found = errors(golden, body, out, np.dtype(precision))
    kept = ~crossed(golden)
    touching = golden["ncon"] > 0
    lines = []
    for criterion in criteria(body, engine):
        name = criterion.quantity
        lines.append(line(criterion, "all", name, found[name][kept], precision))
    regimes = {"contact": touching & kept, "no contact": ~touching & kept}
    for regime, rows in regimes.items():
        for name, values in found.items():
            if name != "observation formulas" and rows.any():
                lines.append(line(None, regime, name, values[rows], precision))
    counted = agreements(golden, out, found, kept, _REWARD_SLACK[precision])
    return Report(
        task=golden.task,
        precision=precision,
        rows=golden.rows,
        left_out=int((~kept).sum()),
        lines=tuple(lines),
        agreements=tuple(counted),
        engine=engine,
        why=CROSSED,
    )


def step_native(golden: Golden, body: Body) -> Outcome:
    """MuJoCo C."""
    from saddle.tasks.velocity.native import NativeWorlds

    worlds = NativeWorlds(body, golden.rows)
    worlds.reset(np.arange(golden.rows))
    steps = golden["step"].astype(np.int64)
    worlds.place(golden["qpos"], golden["qvel"], _seen(golden, body), steps)
    made = worlds.advance(golden["action"])
    return Outcome(
        qpos=worlds.qpos,
        qvel=worlds.qvel,
        velocity=made.velocity,
        obs=made.obs,
        reward=made.reward,
        cost=made.cost[:, 0],
        terminated=made.terminated,
        truncated=made.truncated,
    )


def step_mjx(golden: Golden, engine: str, precision: Precision) -> Outcome:
    """MJX, all rows in one batch."""
    with jax.enable_x64(precision == "float64"):
        task: Any = make(golden.task, engine=engine)
        before = _inject(golden, task, jnp.dtype(precision))
        action = jnp.asarray(golden["action"])
        options: Any = None
        if jax.default_backend() == "cpu":
            # Of one call of one step compiling is nearly all the time, and optimising most of that.
            options = {"xla_backend_optimization_level": 0}
        lowered = jax.jit(jax.vmap(task.step)).lower(before, action)
        after = lowered.compile(compiler_options=options)(before, action)
        return Outcome(
            qpos=_real(after.qpos),
            qvel=_real(after.qvel),
            velocity=_real(after.velocity),
            obs=_real(after.obs),
            reward=_real(after.reward),
            cost=_real(after.cost)[:, 0],
            terminated=np.asarray(after.terminated),
            truncated=np.asarray(after.truncated),
        )


def _real(value: Any) -> np.ndarray:
    return np.asarray(value, np.float64)


def errors(golden: Golden, body: Body, out: Outcome, dtype: Any) -> dict[str, np.ndarray]:
    """Error per row of every quantity: name -> [N]; infinite where our state is not finite."""
    qpos = golden["qpos2"].astype(dtype)
    qvel = golden["qvel2"].astype(dtype)
    theirs = golden["obs2"]
    formulas = observe(body, qpos, qvel, np).astype(np.float64)
    speeds = np.stack([golden["x_velocity"], golden["y_velocity"]], axis=1)
    found = {
        "qpos": _worst(out.qpos - golden["qpos2"]),
        "qvel": _worst(out.qvel - golden["qvel2"]),
        "speed": _worst(out.velocity - speeds[:, : body.travels]),
        "observation": _worst(out.obs - theirs),
        "observation formulas": _worst(formulas - theirs) / np.maximum(1, _worst(theirs)),
    }
    return {name: np.where(np.isnan(error), np.inf, error) for name, error in found.items()}


def _worst(off: np.ndarray) -> np.ndarray:
    """The largest entry of each row [N, k] of differences: [N]."""
    return np.abs(off).max(axis=1)


def agreements(
    golden: Golden, out: Outcome, found: dict[str, np.ndarray], kept: np.ndarray, slack: float
) -> list[Agreement]:
    """Reward, cost and the two ends of an episode over the rows `kept`; a cost at its threshold may
    differ.
    """
    body = BODIES[golden.task]
    speed = golden["x_velocity"]
    if body.free:
        speed = np.hypot(golden["x_velocity"], golden["y_velocity"])
    same_reward = np.abs(out.reward - golden["reward"]) <= slack + found["speed"]
    never = np.full(golden.rows, np.inf)
    compared = {
        "reward": Decided(same_reward, never),
        "cost": Decided(out.cost == golden["cost"], np.abs(speed - body.threshold)),
        "terminated": Decided(out.terminated == golden["terminated"], never),
        "truncated": Decided(out.truncated == golden["truncated"], never),
    }
    return [
        decided.agreement("all", event, kept, required=1.0) for event, decided in compared.items()
    ]


def crossed(golden: Golden) -> np.ndarray:
    """[N] rows in which two links of the body cross at either end of the step (Hopper's links all
    lie in one plane).
    """
    mujoco = models.mujoco()
    model = models.compiled(BODIES[golden.task].model())
    data = mujoco.MjData(model)
    found = np.zeros(golden.rows, bool)
    for name in ("qpos", "qpos2"):
        for row, qpos in enumerate(golden[name]):
            data.qpos[:] = qpos
            mujoco.mj_kinematics(model, data)
            mujoco.mj_collision(model, data)
            found[row] |= _links_cross(model, data)
    return found


def _links_cross(model: Any, data: Any) -> bool:
    """Whether the axes of two links in contact cross, as MuJoCo has them in collision."""
    pairs = data.contact.geom
    if not len(pairs):
        return False
    radii = model.geom_size[pairs, 0]
    of_links = (pairs > 0).all(axis=1)  # the floor is geom 0
    axes_meet = data.contact.dist < NEAR - radii.sum(axis=1)
    return bool((of_links & axes_meet).any())


def _seen(golden: Golden, body: Body) -> np.ndarray:
    """[N, k]: the position before the step that speeds are taken from."""
    return golden["xpos_torso" if body.free else "qpos"][:, : body.travels]


def _inject(golden: Golden, task: Any, dtype: Any) -> Any:
    """The rows as one batched state of a task on MJX."""
    fresh = jax.vmap(task.reset)(jax.random.split(jax.random.key(0), golden.rows))
    lag = _seen(golden, task.body) - golden["qpos"][:, : task.body.travels]
    return dataclasses.replace(
        fresh,
        qpos=jnp.asarray(golden["qpos"], dtype),
        qvel=jnp.asarray(golden["qvel"], dtype),
        lag=jnp.asarray(lag, dtype),
        steps=jnp.asarray(golden["step"], jnp.int32),
    )
