"""Reference transitions on disk: `<task>.npz`, one row per env step of the reference, and any
`<task>.<kind>.npz` beside it with more of them.

A row stands alone: the complete state and the action before the step, and everything the reference
returned. Which rows a file holds, how many, and of how many episodes is its own affair; only names
and shapes are fixed.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np

from saddle.errors import SaddleError, first_line
from saddle.parity.golden import Golden
from saddle.parity.point.reference import PointReference
from saddle.parity.point.registry import POINT
from saddle.tasks.builtin import SPECS
from saddle.tasks.registry import entry
from saddle.tasks.velocity.bodies import BODIES
from saddle.tasks.velocity.body import Body

TRANSITIONS = Path(__file__).parent / "transitions"  # those that come with Saddle, 4.9 MB

_VELOCITY_SCALARS = (
    "ep",
    "step",
    "terminated",
    "truncated",
    "reward",
    "cost",
    "x_velocity",
    "y_velocity",
    "ncon",
)
TASKS = (*POINT, *BODIES)
_INTEGERS = (
    "ep",
    "step",
    "timer",
    "timer2",
    "goal_button",
    "goal_button2",
    "contact_end",
    "contact_any",
)
_FLAGS = ("terminated", "truncated", "goal_met")
_REALS = ("time", "last_goal", "last_box", "last_box_goal", "reward", "cost")
_COSTS = ("cost_hazards", "cost_gremlins", "cost_buttons", "cost_out_of_boundary")
_SCALARS = _INTEGERS + _FLAGS + _REALS + _COSTS


def load(directory: Path | None, tasks: tuple[str, ...] = ()) -> list[Golden]:
    """The rows of these tasks (of every task that has a file, if none are named), checked.

    Without a directory they are those that come with Saddle.
    """
    directory = TRANSITIONS if directory is None else directory
    if not directory.is_dir():
        raise SaddleError(
            f"{directory} is not a directory; --golden takes a folder of <task>.npz files"
        )
    for task in tasks:
        entry(task)  # an unknown name is answered with the nearest one
        if task not in TASKS:
            raise SaddleError(
                f"{task} has no reference rows to replay; Safety-Gymnasium's tasks have: "
                f"{', '.join(TASKS)}"
            )
    paths = {task: directory / f"{task}.npz" for task in tasks or TASKS}
    missing = [path for path in paths.values() if not path.is_file()]
    if tasks and missing:
        raise SaddleError(f"{missing[0]} does not exist; --task {missing[0].stem} needs that file")
    if len(missing) == len(paths):
        raise SaddleError(
            f"{directory} holds none of the expected files: {', '.join(p.name for p in missing)}"
        )
    return [_read_all(task, path) for task, path in paths.items() if path.is_file()]


def _read_all(task: str, path: Path) -> Golden:
    """The rows of a task's file, then those of the files beside it."""
    golden = _read(task, path)
    for more in sorted(path.parent.glob(f"{task}.*.npz")):
        golden = _joined(golden, _read(task, more))
    return golden


def _joined(golden: Golden, more: Golden) -> Golden:
    """The rows of both; what only one of them holds is left out."""
    arrays = {}
    for name in golden.arrays.keys() & more.arrays.keys():
        later = more[name] + golden.episodes if name == "ep" else more[name]
        arrays[name] = np.concatenate([golden[name], later])
    return replace(golden, arrays=arrays)


def _read(task: str, path: Path) -> Golden:
    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
    except Exception as error:  # a damaged archive raises whatever its first damaged layer does
        raise SaddleError(
            f"{path} cannot be read as an .npz of plain arrays ({first_line(error)})"
        ) from None
    golden = Golden(task, path, arrays)
    _check_shapes(golden)
    _check_values(golden)
    return golden


def _arrays_of(task: str) -> dict[str, tuple[int, ...]]:
    """Trailing shape of every per-row array that is used."""
    shapes = _velocity_arrays(BODIES[task]) if task in BODIES else _point_arrays(POINT[task])
    spec = SPECS[task]
    return shapes | {"obs2": (spec.obs_dim,), "action": (spec.action_dim,)}


def _velocity_arrays(body: Body) -> dict[str, tuple[int, ...]]:
    shapes: dict[str, tuple[int, ...]] = dict.fromkeys(_VELOCITY_SCALARS, ())
    shapes |= dict.fromkeys(("qpos", "qpos2"), (body.positions,))
    shapes |= dict.fromkeys(("qvel", "qvel2"), (body.velocities,))
    return shapes | dict.fromkeys(("xpos_torso", "xpos_torso2"), (3,))


def _point_arrays(reference: PointReference) -> dict[str, tuple[int, ...]]:
    shapes: dict[str, tuple[int, ...]] = dict.fromkeys(_SCALARS, ())
    shapes |= dict.fromkeys(("qpos", "qpos2"), (3 + 7 * reference.bodies,))
    shapes |= dict.fromkeys(("qvel", "qvel2"), (3 + 6 * reference.bodies,))
    return shapes | dict.fromkeys(("goal", "goal2"), (2,))


def _episode_arrays_of(task: str) -> dict[str, tuple[int, ...]]:
    """Trailing shape of every per-episode array that is used."""
    if task in BODIES:
        return {"ep_seed": ()}
    return {"ep_agent": (3,), **POINT[task].episode_arrays}


def _check_shapes(golden: Golden) -> None:
    rows = golden.arrays["ep"].size if "ep" in golden.arrays else 0
    wanted = {}
    for name, shape in _arrays_of(golden.task).items():
        wanted[name] = (rows, *shape)
    for name, shape in _episode_arrays_of(golden.task).items():
        wanted[name] = (golden.episodes, *shape)
    for name, shape in wanted.items():
        array = golden.arrays.get(name)
        if array is None:
            raise SaddleError(
                f"{golden.path} has no array {name!r}: not reference transitions of {golden.task}"
            )
        if array.shape != shape or array.dtype.kind not in "biuf":
            found = f"{array.dtype} {list(array.shape)}"
            raise SaddleError(
                f"{golden.path}: {name!r} is {found}, expected numbers of shape {list(shape)}"
            )
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise SaddleError(f"{golden.path}: {name!r} has values that are not finite")
    if rows == 0:
        raise SaddleError(f"{golden.path} has no rows: nothing to compare")


def _check_values(golden: Golden) -> None:
    """What would otherwise fail deep inside: indices out of range and quaternions that are none."""
    counts = {"ep": golden.episodes}
    if not golden.velocity:
        counts |= POINT[golden.task].indices
    for name, count in counts.items():
        array = golden[name]
        if array.dtype.kind not in "iu" or array.min() < 0 or array.max() >= count:
            raise SaddleError(f"{golden.path}: {name!r} must hold integers from 0 to {count - 1}")
    for name in ("qpos", "qpos2"):
        norms = np.linalg.norm(_quaternions(golden, golden[name]), axis=-1)
        if (np.abs(norms - 1) > 1e-3).any():
            raise SaddleError(
                f"{golden.path}: {name!r} has quaternions that are not of unit length"
            )


def _quaternions(golden: Golden, qpos: np.ndarray) -> np.ndarray:
    """[N, B, 4]: those of the free bodies in qpos [N, nq]; B is 1 for Ant and 0 for the other
    velocity tasks.
    """
    if golden.velocity:
        return qpos[:, None, 3:7] if BODIES[golden.task].free else np.zeros((golden.rows, 0, 4))
    return qpos[:, 3:].reshape(golden.rows, golden.bodies, 7)[..., 3:]
