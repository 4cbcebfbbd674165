"""The four bodies as MJCF, in local coordinates, for MuJoCo 3.17.

What differs from the files that the reference loaded in MuJoCo 2.3.3, so that 3.17 does the same:
3.17 adds the contact margins of a pair where 2.3.3 took the larger one, so Hopper's margins are
halved and Ant's floor has none; coordinates are local, as global ones are refused; HalfCheetah's 14
kg are in its density; and a diverged state stays as it is instead of being reset inside a step.
"""

import importlib
import math
from functools import cache
from typing import Any

from saddle.errors import SaddleError, first_line

_LOOK = """
  <asset>
    <texture type="skybox" builtin="gradient" rgb1="1 1 1" rgb2=".75 .82 .9" width="64" height="64"/>
    <texture name="checker" type="2d" builtin="checker" rgb1=".93 .94 .95" rgb2=".84 .87 .9" width="64" height="64"/>
    <material name="floor" texture="checker" texuniform="true" texrepeat=".5 .5"/>
  </asset>
  <visual>
    <headlight ambient=".45 .45 .45" diffuse=".45 .45 .45" specular="0 0 0"/>
    <global offwidth="1920" offheight="1440"/>
    <map znear="0.02"/>
  </visual>"""
_LIGHT = (
    '<light directional="true" pos="0 0 4" dir=".3 .4 -1" diffuse=".5 .5 .5" specular="0 0 0"/>'
)
_FLOOR = '<geom name="floor" type="plane" size="40 40 40" material="floor" rgba="1 1 1 1" conaffinity="1" condim="3" '

RIGHT, LEFT = ".22 .45 .69 1", ".91 .6 .25 1"  # colours: what is right (or front), what is left


def _document(options: str, defaults: str, bodies: str, motors: str, floor: str = "") -> str:
    """A whole MJCF file. options: of the simulation; floor: further attributes of the floor."""
    return f"""<mujoco>
  <compiler angle="radian" inertiafromgeom="true"/>
  <option gravity="0 0 -9.81" {options}><flag autoreset="disable"/></option>
  <default>{defaults}<motor ctrllimited="true" ctrlrange="-1 1"/></default>{_LOOK}
  <worldbody>
    {_LIGHT}
    {_FLOOR} {floor}/>
    {bodies}
  </worldbody>
  <actuator>{motors}</actuator>
</mujoco>"""


def _planar_root(ref: float) -> str:
    """Free to slide along x and z and to pitch. ref: what the height joint reads in the model's
    first pose.
    """
    free = 'armature="0" damping="0" stiffness="0" limited="false"'
    return f"""
      <joint name="rootx" type="slide" axis="1 0 0" {free}/>
      <joint name="rootz" type="slide" axis="0 0 1" ref="{ref}" {free}/>
      <joint name="rooty" type="hinge" axis="0 1 0" {free}/>"""


def _leg(
    foot: float, heel: float, toe: float, friction: float, suffix: str = "", rgba: str = RIGHT
) -> str:
    """Thigh, leg and foot of Hopper and Walker2d. foot: the foot body's x; heel, toe: the ends of
    its capsule there.
    """
    bent = f'axis="0 -1 0" range="{math.radians(-150)!r} 0"'
    ankle = math.radians(45)
    return f"""
      <body name="thigh{suffix}" pos="0 0 -.2">
        <joint name="thigh{suffix}" {bent}/>
        <geom type="capsule" fromto="0 0 0 0 0 -.45" size=".05" friction=".9" rgba="{rgba}"/>
        <body name="leg{suffix}" pos="0 0 -.7">
          <joint name="leg{suffix}" pos="0 0 .25" {bent}/>
          <geom type="capsule" fromto="0 0 .25 0 0 -.25" size=".04" friction=".9" rgba="{rgba}"/>
          <body name="foot{suffix}" pos="{foot} 0 -.35">
            <joint name="foot{suffix}" pos="{-foot} 0 .1" axis="0 -1 0" range="{-ankle!r} {ankle!r}"/>
            <geom type="capsule" fromto="{heel} 0 .1 {toe} 0 .1" size=".06" friction="{friction}" rgba="{rgba}"/>
          </body>
        </body>
      </body>"""


def _torso(legs: str) -> str:
    """The upright trunk of Hopper and Walker2d."""
    return f"""<body name="torso" pos="0 0 1.25">{_planar_root(1.25)}
      <geom type="capsule" fromto="0 0 .2 0 0 -.2" size=".05" friction=".9" rgba="{RIGHT}"/>{legs}
    </body>"""


def _motors(gears: dict[str, float]) -> str:
    return "".join(f'<motor joint="{joint}" gear="{gear}"/>' for joint, gear in gears.items())


def hopper() -> str:
    """One leg. Links may touch each other, without friction."""
    geom = 'density="1000" contype="1" conaffinity="1" condim="1" margin=".0005" solref=".02 1" solimp=".8 .8 .01"'
    return _document(
        'timestep=".002" integrator="RK4"',
        f'<joint armature="1" damping="1" limited="true"/><geom {geom}/>',
        _torso(_leg(foot=0.13, heel=-0.26, toe=0.13, friction=2.0)),
        _motors(dict.fromkeys(("thigh", "leg", "foot"), 200)),
        floor='friction="1"',
    )


def walker2d() -> str:
    """Two legs in one plane, which pass through each other; the left foot has more grip."""
    right = _leg(foot=0.2, heel=-0.2, toe=0.0, friction=0.9)
    left = _leg(foot=0.2, heel=-0.2, toe=0.0, friction=1.9, suffix="_left", rgba=LEFT)
    joints = [joint + side for side in ("", "_left") for joint in ("thigh", "leg", "foot")]
    return _document(
        'timestep=".002" integrator="RK4"',
        '<joint armature=".01" damping=".1" limited="true"/>'
        '<geom density="1000" contype="1" conaffinity="0" condim="3" friction=".7 .1 .1"/>',
        _torso(right + left),
        _motors(dict.fromkeys(joints, 100)),
    )


# Name: place in the parent, range (rad), damping, stiffness, gear, capsule's centre, half-length,
# angle about y.
_CHEETAH = {
    "bthigh": ("-.5 0 0", "-.52 1.05", 6, 240, 120, ".1 0 -.13", 0.145, -3.8),
    "bshin": (".16 0 -.25", "-.785 .785", 4.5, 180, 90, "-.14 0 -.07", 0.15, -2.03),
    "bfoot": ("-.28 0 -.14", "-.4 .785", 3, 120, 60, ".03 0 -.097", 0.094, -0.27),
    "fthigh": (".5 0 0", "-1 .7", 4.5, 180, 120, "-.07 0 -.12", 0.133, 0.52),
    "fshin": ("-.14 0 -.24", "-1.2 .87", 3, 120, 60, ".065 0 -.09", 0.106, -0.6),
    "ffoot": (".13 0 -.18", "-.5 .5", 1.5, 60, 30, ".045 0 -.07", 0.07, -0.6),
}


def half_cheetah() -> str:
    """A back and a front leg on a long trunk, with springs in the joints; 14 kg in total."""
    legs = ""
    for side in "bf":
        for part in ("thigh", "shin", "foot"):
            place, span, damping, stiffness, _, centre, half, angle = _CHEETAH[side + part]
            legs += f"""<body name="{side}{part}" pos="{place}">
              <joint name="{side}{part}" axis="0 1 0" range="{span}" damping="{damping}" stiffness="{stiffness}"/>
              <geom type="capsule" pos="{centre}" size=".046 {half}" axisangle="0 1 0 {angle}"
                    rgba="{RIGHT if side == "f" else LEFT}"/>"""
        legs += 3 * "</body>"
    halves = [0.5, 0.15, *(row[6] for row in _CHEETAH.values())]
    volume = sum(math.pi * 0.046**2 * (2 * half + 4 / 3 * 0.046) for half in halves)
    return _document(
        'timestep=".01" integrator="Euler"',
        '<joint armature=".1" limited="true" solreflimit=".02 1" solimplimit="0 .8 .03"/>'
        f'<geom density="{14 / volume!r}" contype="1" conaffinity="0" condim="3" friction=".4 .1 '
        f'.1" solref=".02 1" '
        'solimp="0 .8 .01"/>',
        f"""<body name="torso" pos="0 0 .7">{_planar_root(0)}
          <geom type="capsule" fromto="-.5 0 0 .5 0 0" size=".046" rgba="{RIGHT}"/>
          <geom type="capsule" pos=".6 0 .1" size=".046 .15" axisangle="0 1 0 .87" rgba="{RIGHT}"/>{legs}</body>""",
        _motors({joint: row[4] for joint, row in _CHEETAH.items()}),
    )


def ant() -> str:
    """A ball on four legs of two joints each."""
    legs = ""
    for i, (x, y) in enumerate(((1, 1), (-1, 1), (-1, -1), (1, -1)), start=1):
        low, high = (30, 70) if i in (1, 4) else (-70, -30)
        axis = "-1 1 0" if i % 2 else "1 1 0"
        reach = f"{0.2 * x} {0.2 * y} 0"
        link = f'<geom type="capsule" fromto="0 0 0 {reach}" size=".08" rgba="{RIGHT if x > 0 else LEFT}"/>'
        foot = link.replace(reach, f"{0.4 * x} {0.4 * y} 0")
        legs += f"""<body>{link}<body pos="{reach}">
          <joint name="hip_{i}" axis="0 0 1" range="{math.radians(-30)!r} {math.radians(30)!r}"/>{link}
          <body pos="{reach}">
            <joint name="ankle_{i}" axis="{axis}" range="{math.radians(low)!r} {math.radians(high)!r}"/>{foot}
          </body></body></body>"""
    return _document(
        'timestep=".01" integrator="RK4"',
        '<joint armature="1" damping="1" limited="true"/>'
        '<geom contype="1" conaffinity="0" condim="3" density="5" friction="1 .5 .5" '
        'margin=".01"/>',
        f"""<body name="torso" pos="0 0 .75"><geom type="sphere" size=".25" rgba="{RIGHT}"/>
          <joint name="root" type="free" armature="0" damping="0" limited="false"/>{legs}</body>""",
        _motors({f"{joint}_{i}": 150 for i in (4, 1, 2, 3) for joint in ("hip", "ankle")}),
        floor='margin="0"',
    )


@cache
def compiled(xml: str) -> Any:
    """The mujoco.MjModel of that MJCF."""
    return mujoco().MjModel.from_xml_string(xml)


@cache
def mujoco() -> Any:
    """MuJoCo itself (its compiled part has no types), or one line that says why there is none."""
    try:
        return importlib.import_module("mujoco")
    except ModuleNotFoundError:
        raise SaddleError(
            "the velocity tasks need MuJoCo: run pip install 'mujoco>=3.17,<3.18'"
        ) from None
    except Exception as error:
        # MUJOCO_GL is looked at on import, and a missing GL fails in its own way.
        raise SaddleError(
            f"MuJoCo does not import ({first_line(error)}); unset MUJOCO_GL, or set it to egl"
        ) from None
