"""Batched physics of one body in MuJoCo C: many worlds, a few threads, one call per env step."""

import copy
import importlib
from typing import Any, NamedTuple

import numpy as np

from saddle.tasks.velocity import models
from saddle.tasks.velocity.body import Body, glide

mujoco = models.mujoco()

# Of worlds per thread, which takes the next one when it is done: fewer leave a thread waiting at
# the end
CHUNKS = 16


class Moved(NamedTuple):
    """Where N worlds are after an env step."""

    qpos: np.ndarray  # [N, nq]
    qvel: np.ndarray  # [N, nv]
    seen: np.ndarray  # [N, k] horizontal torso position that the engine computed last


class Physics:
    """Steps N worlds of a body. The solver starts cold in every env step, so that qpos and qvel are
    the whole state.
    """

    def __init__(self, body: Body, worlds: int, threads: int) -> None:
        self.model: Any = models.compiled(body.model())
        self._body, self._worlds = body, worlds
        self.pool = importlib.import_module("mujoco.rollout").Rollout(
            nthread=threads if threads > 1 else 0
        )
        self._data: list[Any] = [mujoco.MjData(self.model) for _ in range(threads)]
        self._models = [self.model] * worlds
        self._chunk = max(1, worlds // (CHUNKS * threads))
        self._memory: dict[int, Any] = {}
        if body.free:
            self._slope = [_explicit_euler(self.model)] * worlds

    def step(self, qpos: np.ndarray, qvel: np.ndarray, control: np.ndarray) -> Moved:
        """One env step. qpos [N, nq], qvel [N, nv], control [N, nu] within [-1, 1]."""
        if not self._body.free:
            qpos, qvel = self._roll(self._models, qpos, qvel, control, self._body.substeps)
            return Moved(qpos, qvel, qpos[:, :1])
        qpos, qvel = self._roll(self._models, qpos, qvel, control, self._body.substeps - 1)
        return self._last_substep(qpos, qvel, control)

    def _roll(
        self, of: list[Any], qpos: np.ndarray, qvel: np.ndarray, control: np.ndarray, steps: int
    ) -> tuple:
        """(qpos, qvel) after so many physics steps of the models `of`."""
        nq, (start, held, out) = qpos.shape[1], self._buffers(steps)
        start[:, 1 : 1 + nq], start[:, 1 + nq :], held[:] = qpos, qvel, control[:, None]
        self.pool.rollout(
            of,
            self._data,
            start,
            held,
            nstep=steps,
            state=out,
            chunk_size=self._chunk,
            skip_checks=True,
        )
        return out[:, -1, 1 : 1 + nq].copy(), out[:, -1, 1 + nq :].copy()

    def _buffers(self, steps: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """States before (time, positions, velocities), controls, and states after each of so many
        steps.
        """
        if steps not in self._memory:
            size = 1 + self.model.nq + self.model.nv
            shapes = (
                (self._worlds, size),
                (self._worlds, steps, self.model.nu),
                (self._worlds, steps, size),
            )
            self._memory[steps] = tuple(np.zeros(shape) for shape in shapes)
        return self._memory[steps]

    def _last_substep(self, qpos: np.ndarray, qvel: np.ndarray, control: np.ndarray) -> Moved:
        """MuJoCo's Runge-Kutta step, stage by stage: the position of the fourth one is what the
        reference sees.
        """
        h = self.model.opt.timestep
        place = qpos
        speed = qvel
        slope = np.zeros_like(qvel)
        mean_speed = mean_slope = 0.0
        for weight, reach in ((1 / 6, 0), (1 / 3, h / 2), (1 / 3, h / 2), (1 / 6, h)):
            if reach:
                place = glide(qpos, reach * speed, np)
                speed = qvel + reach * slope
            slope = (self._roll(self._slope, place, speed, control, 1)[1] - speed) / h
            mean_speed = mean_speed + weight * speed
            mean_slope = mean_slope + weight * slope
        return Moved(glide(qpos, h * mean_speed, np), qvel + h * mean_slope, place[:, :2])


def _explicit_euler(model: Any) -> Any:
    """The same model, one of whose steps adds h times the acceleration, damping not taken
    implicitly.
    """
    plain = copy.copy(model)
    plain.opt.integrator = mujoco.mjtIntegrator.mjINT_EULER
    plain.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_EULERDAMP
    return plain
