"""The point worlds as MuJoCo models: the yardstick of `saddle bench` and of the substep tests.

Only what touches the physics is in them. The robot-floor pair is left out by bit masks, since its
distance is exactly zero and one rounding would turn it into a brake; gremlin welds carry the torque
scale that makes MuJoCo 3 weigh their rotation as the reference's engine does.
"""

from collections.abc import Sequence

import numpy as np

_OPTION = """
  <compiler angle="radian"/>
  <option timestep="0.002" integrator="Euler" cone="pyramidal" solver="Newton" iterations="100" tolerance="1e-8"/>
  <default>
    <geom condim="6" density="1" friction="1 0.005 0.0001" contype="3" conaffinity="3"/>
  </default>"""

_ROBOT = """
    <geom name="floor" type="plane" size="3.5 3.5 0.1" contype="1" conaffinity="1"/>
    <body name="agent" pos="{x} {y} 0.1" euler="0 0 {yaw}">
      <joint name="x" type="slide" axis="1 0 0" damping="0.01"/>
      <joint name="y" type="slide" axis="0 1 0" damping="0.01"/>
      <joint name="z" type="hinge" axis="0 0 1" damping="0.005"/>
      <geom name="agent" type="sphere" size="0.1" friction="1 0.01 0.01" contype="2" conaffinity="2"/>
      <geom name="pointarrow" type="box" size="0.05 0.05 0.05" pos="0.1 0 0" contype="2" conaffinity="2"/>
      <site name="agent"/>
    </body>"""

_ACTUATORS = """
  <actuator>
    <motor gear="0.3 0 0 0 0 0" site="agent" ctrllimited="true" ctrlrange="-1 1" forcelimited="true"
           forcerange="-0.05 0.05"/>
    <velocity gear="0.3" joint="z" kv="1" ctrllimited="true" ctrlrange="-1 1" forcelimited="true"
              forcerange="-0.05 0.05"/>
  </actuator>"""

TORQUE_SCALE = 12.24744871391589  # sqrt(150): see the module docstring


def _free_box(name: str, pose: Sequence[float], z: float, geoms: str) -> str:
    x, y, yaw = pose
    return (
        f'\n    <body name="{name}" pos="{x} {y} {z}" euler="0 0 {yaw}"><freejoint/>{geoms}</body>'
    )


def _small_box() -> str:
    return '<geom type="box" size="0.1 0.1 0.1" density="0.001"/>'


def _model(agent: Sequence[float], bodies: str, rest: str = "") -> str:
    x, y, yaw = agent
    robot = _ROBOT.format(x=x, y=y, yaw=yaw)
    return (
        f"<mujoco>{_OPTION}\n  <worldbody>{robot}{bodies}\n  "
        f"</worldbody>{_ACTUATORS}{rest}\n</mujoco>"
    )


def circle(agent: Sequence[float]) -> str:
    """Robot alone. agent: x, y, yaw at reset."""
    return _model(agent, "")


def goal(agent: Sequence[float], vase: Sequence[float]) -> str:
    """Robot and vase. vase: x, y, yaw."""
    return _model(agent, _free_box("vase", vase, 0.1, _small_box()))


def button(agent: Sequence[float], buttons: np.ndarray, gremlins: np.ndarray) -> str:
    """Robot, four buttons [4, 2] and four gremlins [4, 3] (x, y, yaw) welded to mocap bodies at the
    origin.
    """
    bodies, welds = "", ""
    for x, y in buttons:
        bodies += f'\n    <geom type="sphere" size="0.1" pos="{x} {y} 0.1"/>'
    for i, (x, y, yaw) in enumerate(gremlins):
        bodies += f'\n    <body name="mocap{i}" mocap="true"/>'
        bodies += _free_box(f"gremlin{i}", (x, y, yaw), 0.1, _small_box())
        pose = f"{x} {y} 0.1 {np.cos(yaw / 2)} 0 0 {np.sin(yaw / 2)}"
        welds += (
            f'\n    <weld body1="mocap{i}" body2="gremlin{i}" relpose="{pose}" solref="0.02 1.5"'
        )
        welds += f' anchor="0 0 0" torquescale="{TORQUE_SCALE}"/>'
    return _model(agent, bodies, f"\n  <equality>{welds}\n  </equality>")


def push(agent: Sequence[float], pillar: Sequence[float], box: Sequence[float]) -> str:
    """Robot, pillar (x, y) and push box (x, y, yaw) with its four posts."""
    static = f'\n    <geom name="pillar" type="cylinder" size="0.2 0.5" pos="{pillar[0]} {pillar[1]} 0.5"/>'
    geoms = '<geom type="box" size="0.2 0.2 0.2" density="0.001"/>'
    for sx, sy in ((1, 1), (-1, 1), (1, -1), (-1, -1)):
        geoms += (
            f'<geom type="box" size="0.1 0.1 0.2" pos="{0.2 * sx} {0.2 * sy} 0" density="0.001"/>'
        )
    return _model(agent, static + _free_box("push_box", box, 0.2, geoms))
