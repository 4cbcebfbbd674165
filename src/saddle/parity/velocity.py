"""The velocity tasks against the reference: its rows stepped once on any engine, and how far they
end from it.
"""

import dataclasses
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from saddle.parity.compare import Precision
from saddle.parity.events import Agreement
from saddle.parity.golden import Golden
from saddle.parity.tolerances import AT_THRESHOLD, Bound, Criterion
from saddle.parity.verdict import Report, line
from saddle.tasks import make
from saddle.tasks.velocity import models
from saddle.tasks.velocity.ant import ANT
from saddle.tasks.velocity.bodies import BODIES
from saddle.tasks.velocity.body import Body, observe
from saddle.tasks.velocity.hopper import HOPPER

CROSSED = "the axes of two links cross, so that their contact has no direction"
NEAR = 1e-5  # m between two axes at which they count as crossing
_REWARD_SLACK = {"float32": 1e-5, "float64": 1e-6}  # the reference sums squared actions in float32
_FAST = {HOPPER.spec.name: 1e-3, ANT.spec.name: 1e-3}  # qvel; 2e-3 for the other two


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


def criteria(task: str, engine: str) -> tuple[Criterion, ...]:
    """The lines that are judged. In float64 the engines have nothing but rounding to disagree
    about.

    But for Hopper's links against each other: MJX takes the nearest points of two capsules by
    another formula, and is held to the limits of float32 there.
    """
    exact = lambda limit: (Bound(99, limit),)
    same = task != HOPPER.spec.name or engine == "native"
    double = lambda limit: (Bound(100, limit),) if same else None
    return (
        Criterion(
            (task,), "all", "observation formulas", (Bound(100, 2e-6),), double=(Bound(100, 1e-12),)
        ),
        Criterion((task,), "all", "qpos", exact(1e-5), double=double(1e-10)),
        Criterion((task,), "all", "qvel", exact(_FAST.get(task, 2e-3)), double=double(1e-8)),
        Criterion((task,), "all", "speed", exact(1e-3), double=double(1e-9)),
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
    found = errors(golden, BODIES[golden.task], out, np.dtype(precision))
    kept = ~crossed(golden)
    touching = golden["ncon"] > 0
    judged = {c.quantity: c for c in criteria(golden.task, engine)}
    lines = [line(c, "all", name, found[name][kept], precision) for name, c in judged.items()]
    for regime, rows in (("contact", touching), ("no contact", ~touching)):
        shown = {
            name: values[rows & kept]
            for name, values in found.items()
            if name != "observation formulas"
        }
        lines += [
            line(None, regime, name, values, precision)
            for name, values in shown.items()
            if len(values)
        ]
    counted = agreements(golden, out, found, kept, _REWARD_SLACK[precision])
    left_out = int((~kept).sum())
    return Report(
        golden.task, precision, golden.rows, left_out, tuple(lines), tuple(counted), engine, CROSSED
    )


def step_native(golden: Golden, body: Body) -> Outcome:
    """MuJoCo C."""
    from saddle.tasks.velocity.native import NativeWorlds

    worlds = NativeWorlds(body, golden.rows)
    worlds.reset(np.arange(golden.rows))
    worlds.place(
        golden["qpos"], golden["qvel"], _seen(golden, body), golden["step"].astype(np.int64)
    )
    made = worlds.advance(golden["action"])
    flags = (made.terminated, made.truncated)
    return Outcome(
        worlds.qpos, worlds.qvel, made.velocity, made.obs, made.reward, made.cost[:, 0], *flags
    )


def step_mjx(golden: Golden, engine: str, precision: Precision) -> Outcome:
    """MJX, all rows in one batch."""
    with jax.enable_x64(precision == "float64"):
        task: Any = make(golden.task, engine=engine)
        dtype = jnp.dtype(precision)
        before = _inject(golden, task, dtype)
        lowered = jax.jit(jax.vmap(task.step)).lower(before, jnp.asarray(golden["action"]))
        # One call of one step: compiling is nearly all of the time, and optimising is most of that.
        options: Any = (
            {"xla_backend_optimization_level": 0} if jax.default_backend() == "cpu" else None
        )
        after = lowered.compile(compiler_options=options)(before, jnp.asarray(golden["action"]))
        real = lambda x: np.asarray(x, np.float64)
        flags = (np.asarray(after.terminated), np.asarray(after.truncated))
        motion = (real(after.qpos), real(after.qvel), real(after.velocity))
        return Outcome(*motion, real(after.obs), real(after.reward), real(after.cost)[:, 0], *flags)


def errors(golden: Golden, body: Body, out: Outcome, dtype: Any) -> dict[str, np.ndarray]:
    """Error per row of every quantity: name -> [N]; infinite where our state is not finite."""
    qpos, qvel = (golden[name].astype(dtype) for name in ("qpos2", "qvel2"))
    speeds = np.stack([golden["x_velocity"], golden["y_velocity"]], axis=1)[:, : body.travels]
    worst = lambda ours, theirs: np.abs(ours - theirs).max(axis=1)
    found = {
        "qpos": worst(out.qpos, golden["qpos2"]),
        "qvel": worst(out.qvel, golden["qvel2"]),
        "speed": worst(out.velocity, speeds),
        "observation": worst(out.obs, golden["obs2"]),
        "observation formulas": worst(
            observe(body, qpos, qvel, np).astype(np.float64), golden["obs2"]
        )
        / np.maximum(1, np.abs(golden["obs2"]).max(axis=1)),
    }
    return {name: np.where(np.isnan(error), np.inf, error) for name, error in found.items()}


def agreements(
    golden: Golden, out: Outcome, found: dict[str, np.ndarray], kept: np.ndarray, slack: float
) -> list[Agreement]:
    """Reward, cost and the two ends of an episode over the rows `kept`; a cost at its threshold may
    differ.
    """
    body = BODIES[golden.task]
    speed = (
        np.hypot(golden["x_velocity"], golden["y_velocity"]) if body.free else golden["x_velocity"]
    )
    never = np.full(golden.rows, np.inf)
    compared = {
        "reward": (np.abs(out.reward - golden["reward"]) <= slack + found["speed"], never),
        "cost": (out.cost == golden["cost"], np.abs(speed - body.threshold)),
        "terminated": (out.terminated == golden["terminated"], never),
        "truncated": (out.truncated == golden["truncated"], never),
    }
    counts = lambda agree, off: (
        int(agree[kept].sum()),
        int((~agree & (off <= AT_THRESHOLD))[kept].sum()),
    )
    return [
        Agreement("all", event, int(kept.sum()), *counts(*pair), required=1.0)
        for event, pair in compared.items()
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
            pairs, gaps = data.contact.geom, data.contact.dist
            widths = model.geom_size[pairs, 0].sum(axis=1) if len(pairs) else gaps
            found[row] |= (
                bool(((pairs > 0).all(axis=1) & (gaps < NEAR - widths)).any())
                if len(pairs)
                else False
            )
    return found


def _seen(golden: Golden, body: Body) -> np.ndarray:
    """[N, k]: the position before the step that speeds are taken from."""
    return golden["xpos_torso" if body.free else "qpos"][:, : body.travels]


def _inject(golden: Golden, task: Any, dtype: Any) -> Any:
    """The rows as one batched state of a task on MJX."""
    fresh = jax.vmap(task.reset)(jax.random.split(jax.random.key(0), golden.rows))
    lag = _seen(golden, task.body) - golden["qpos"][:, : task.body.travels]
    put = lambda value: jnp.asarray(value, dtype)
    qpos = put(golden["qpos"])
    qvel = put(golden["qvel"])
    steps = jnp.asarray(golden["step"], jnp.int32)
    return dataclasses.replace(fresh, qpos=qpos, qvel=qvel, lag=put(lag), steps=steps)
