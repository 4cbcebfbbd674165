"""Frames of a velocity task's body by MuJoCo's renderer, without a screen."""

import importlib
import os
from typing import Any

import numpy as np

from saddle.errors import SaddleError, first_line
from saddle.tasks.velocity import models
from saddle.tasks.velocity.body import Body

mujoco = models.mujoco()

BACKENDS = ("egl", "osmesa")  # tried in this order unless MUJOCO_GL names one
LARGEST = (1920, 1440)  # pixels, of the models' offscreen buffer
DISTANCE, HEIGHT = 3.6, 0.75  # m: of the camera from the body, and of the point it looks at


class Camera:
    """Follows a body from the side; a free one from a little above."""

    def __init__(self, body: Body, size: tuple[int, int]) -> None:
        """size: width and height in pixels."""
        if any(given > most for given, most in zip(size, LARGEST, strict=True)):
            raise SaddleError(
                f"a frame of {size[0]} x {size[1]} is too large; {LARGEST[0]} x {LARGEST[1]} is "
                f"the most"
            )
        self._model = models.compiled(body.model())
        self._data = mujoco.MjData(self._model)
        self._body, self._size = body, size
        self._gl = _context(size)
        self._buffers = mujoco.MjrContext(self._model, mujoco.mjtFontScale.mjFONTSCALE_100)
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN, self._buffers)
        self._scene = mujoco.MjvScene(self._model, maxgeom=200)
        self._view = mujoco.MjvCamera()
        self._view.distance = 1.5 * DISTANCE if body.free else DISTANCE
        self._view.azimuth, self._view.elevation = (90, -25) if body.free else (90, -8)

    def frame(self, qpos: np.ndarray) -> np.ndarray:
        """The body in that pose, qpos [nq] -> [height, width, 3] uint8."""
        self._gl.make_current()
        self._data.qpos[:] = qpos
        mujoco.mj_kinematics(self._model, self._data)
        mujoco.mj_camlight(self._model, self._data)
        k = self._body.travels
        self._view.lookat[:] = [*qpos[:k], *np.zeros(2 - k), HEIGHT]
        shown = (
            self._model,
            self._data,
            mujoco.MjvOption(),
            None,
            self._view,
            mujoco.mjtCatBit.mjCAT_ALL,
        )
        mujoco.mjv_updateScene(*shown, self._scene)
        width, height = self._size
        area = mujoco.MjrRect(0, 0, width, height)
        pixels = np.empty((height, width, 3), np.uint8)
        mujoco.mjr_render(area, self._scene, self._buffers)
        mujoco.mjr_readPixels(pixels, None, area, self._buffers)
        return pixels[::-1].copy()  # GL counts rows from below

    def close(self) -> None:
        """Give the buffers back. Left to the interpreter's end, GL complains."""
        self._buffers.free()
        self._gl.free()


def _context(size: tuple[int, int]) -> Any:
    """A current GL context of the first backend that has one."""
    wanted = os.environ.get("MUJOCO_GL", "").lower()
    reasons = []
    for backend in [wanted] if wanted else BACKENDS:
        try:
            made = importlib.import_module(f"mujoco.{backend}").GLContext(*size)
            made.make_current()
        except Exception as error:  # each backend fails in its own way, at import or later
            reasons.append(f"{backend}: {first_line(error)}")
        else:
            return made
    raise SaddleError(
        f"MuJoCo cannot draw on this machine ({'; '.join(reasons)}); install libegl1 or "
        f"libosmesa6, or set MUJOCO_GL; "
        "'saddle doctor' says what works"
    )
