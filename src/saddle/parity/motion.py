"""Where the reference's robot and free bodies were in the world, and how they moved."""

import numpy as np

from saddle.parity.golden import Golden


def agents(golden: Golden, after: bool = False) -> np.ndarray:
    """[N, 6] world x, y, yaw in [-pi, pi), vx, vy, yaw rate. The robot's joints live in its frame
    at the reset.
    """
    ahead, left, turn = golden.end("qpos", after)[:, :3].T
    speed_ahead, speed_left, yaw_rate = golden.end("qvel", after)[:, :3].T
    x0, y0, yaw0 = golden.episode("ep_agent").T
    cos = np.cos(yaw0)
    sin = np.sin(yaw0)
    x = x0 + cos * ahead - sin * left
    y = y0 + sin * ahead + cos * left
    yaw = wrap(yaw0 + turn)
    vx = cos * speed_ahead - sin * speed_left
    vy = sin * speed_ahead + cos * speed_left
    return np.stack([x, y, yaw, vx, vy, yaw_rate], axis=1)


def bodies(golden: Golden, after: bool = False) -> np.ndarray:
    """[N, B, 13]: position, quaternion, world linear and body-frame angular velocity of each free
    body.
    """
    count = (golden.rows, golden.bodies)
    pose = golden.end("qpos", after)[:, 3:].reshape(*count, 7)
    velocity = golden.end("qvel", after)[:, 3:].reshape(*count, 6)
    return np.concatenate([pose, velocity], axis=-1)


def wrap(angle: np.ndarray) -> np.ndarray:
    """To [-pi, pi)."""
    return (angle + np.pi) % (2 * np.pi) - np.pi
