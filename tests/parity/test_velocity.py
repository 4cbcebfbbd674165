"""One env step of the velocity tasks from reference states, on MuJoCo C and on MJX, and what must
not pass.
"""

import dataclasses
import json
from functools import cache
from typing import Any

import numpy as np
import pytest

from saddle.errors import SaddleError
from saddle.parity import velocity
from saddle.parity.golden import Golden
from saddle.parity.golden_files import load
from saddle.parity.velocity import Outcome, crossed, judge, report
from saddle.tasks.velocity import models
from saddle.tasks.velocity.bodies import BODIES
from saddle.verbs.parity import parity

HOPPER, WALKER, CHEETAH, ANT = BODIES
EACH = pytest.mark.parametrize("name", BODIES)


@cache
def rows_of(name: str) -> Golden:
    return load(None, (name,))[0]


def reference(rows: Golden) -> Outcome:
    """What an engine that repeats the reference exactly would give."""
    speeds = np.stack([rows["x_velocity"], rows["y_velocity"]], axis=1)[
        :, : BODIES[rows.task].travels
    ]
    names = ("obs2", "reward", "cost", "terminated", "truncated")
    return Outcome(rows["qpos2"], rows["qvel2"], speeds, *(rows[name] for name in names))


def thinned(rows: Golden, keep: np.ndarray) -> Golden:
    return dataclasses.replace(
        rows, arrays={k: a if k == "ep_seed" else a[keep] for k, a in rows.arrays.items()}
    )


@EACH
def test_mujoco_c_repeats_the_reference(name):
    found = judge(rows_of(name), "native", "float32")
    assert found.passed and found.precision == "float64"
    worst = {line.quantity: line.percentiles[-1] for line in found.lines if line.regime == "all"}
    assert worst["qpos"] < 1e-12 and worst["qvel"] < 1e-11 and worst["speed"] < 1e-11
    assert all(a.agree == a.rows for a in found.agreements)
    assert found.left_out <= 0.01 * found.rows


def test_mjx_repeats_the_reference():
    """HalfCheetah, which is integrated by Euler; Ant goes through auto-reset in the tests of the
    task.
    """
    rows = thinned(rows_of(CHEETAH), np.arange(679) % 3 == 0)
    found = judge(rows, "mjx-jax", "float32")
    assert found.passed, found


@EACH
def test_the_reference_itself_passes_without_error(name):
    found = report(rows_of(name), reference(rows_of(name)), "mjx-jax", "float64")
    assert found.passed and max(line.percentiles[-1] for line in found.lines) == 0


@EACH
def test_rows_have_every_branch(name):
    rows = rows_of(name)
    assert (
        rows["cost"].sum() > 100 and rows["truncated"].sum() > 20 and (rows["ncon"] > 0).sum() > 200
    )
    assert (rows["terminated"].sum() > 100) == (name != CHEETAH)
    assert (np.abs(rows["action"]) > 1).any(axis=1).sum() > 100


@pytest.mark.parametrize(
    ("name", "right", "wrong"),
    [
        (HOPPER, 'margin=".0005"', 'margin=".001"'),
        (ANT, 'margin="0"', 'margin=".01"'),
        (CHEETAH, 'stiffness="240"', 'stiffness="239"'),
        (WALKER, 'friction="1.9"', 'friction="0.9"'),
    ],
)
def test_a_wrong_model_fails(name, right, wrong):
    """Such as the margins that MuJoCo 3.17 would add up."""
    body = BODIES[name]
    assert right in body.model()
    other = body.model().replace(right, wrong)
    out = velocity.step_native(rows_of(name), dataclasses.replace(body, model=lambda: other))
    found = report(rows_of(name), out, "native", "float64")
    assert not found.passed
    assert {"qpos", "qvel"} <= {line.quantity for line in found.lines if not line.passed}


def test_the_final_position_would_be_the_wrong_one_for_ants_speed():
    rows = rows_of(ANT)
    out = velocity.step_native(rows, BODIES[ANT])
    naive = (rows["qpos2"] - rows["qpos"])[:, :2] / BODIES[ANT].spec.dt
    found = report(rows, dataclasses.replace(out, velocity=naive), "native", "float64")
    assert {line.quantity for line in found.lines if not line.passed} == {"speed"}
    assert np.abs(naive - out.velocity).max() > 0.01


@pytest.mark.parametrize("field", ["reward", "cost", "terminated", "truncated"])
def test_one_wrong_row_fails(field):
    rows, right = rows_of(WALKER), reference(rows_of(WALKER))
    values = getattr(right, field).copy()
    values[3] = not values[3] if values.dtype == bool else 1 - values[3]
    found = report(rows, dataclasses.replace(right, **{field: values}), "native", "float64")
    assert [(a.event, a.rows - a.agree) for a in found.agreements if not a.passed] == [(field, 1)]


def test_a_state_that_is_not_finite_fails():
    right = reference(rows_of(WALKER))
    broken = right.qvel.copy()
    broken[::20] = np.nan
    found = report(rows_of(WALKER), dataclasses.replace(right, qvel=broken), "native", "float64")
    assert not found.passed and json.dumps(found.as_dict(), allow_nan=False)


def test_rows_are_left_out_only_where_links_cross():
    assert [crossed(rows_of(name)).any() for name in BODIES] == [True, False, False, False]
    model = models.compiled(models.hopper())
    rows = thinned(rows_of(HOPPER), np.arange(2))
    arrays = dict(rows.arrays) | {
        "qpos": np.tile(model.qpos0, (2, 1)),
        "qpos2": np.tile(model.qpos0, (2, 1)),
    }
    arrays["qpos"][1, 3:] = [-2.2, -2.4, 0.4]  # folded up, the foot through the torso
    assert list(crossed(dataclasses.replace(rows, arrays=arrays))) == [False, True]


def test_the_command_knows_engines(capsys, tmp_path):
    for name in (HOPPER, ANT):
        np.savez(tmp_path / f"{name}.npz", **thinned(rows_of(name), np.arange(40, 60)).arrays)  # type: ignore[arg-type]
    np.savez(tmp_path / "SafetyPointCircle1-v0.npz", nothing=np.zeros(3))
    assert not parity(tmp_path, (HOPPER, ANT), as_json=True, engine="native")
    found = json.loads(capsys.readouterr().out)
    assert [(t["task"], t["engine"], t["precision"]) for t in found["tasks"]] == [
        (name, "native", "float64") for name in (HOPPER, ANT)
    ]
    parity(tmp_path, (HOPPER,), as_markdown=True)
    assert f"### {HOPPER}, native, float64: 20 rows" in capsys.readouterr().out
    with pytest.raises(SaddleError, match="no choice of engines"):
        parity(tmp_path, ("SafetyPointCircle1-v0",), engine="native")


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("xpos_torso", None, "has no array 'xpos_torso'"),
        ("ep_seed", None, "'ep' must hold integers|has no array 'ep_seed'"),
        ("qvel", np.zeros((3, 13)), "expected numbers of shape"),
        ("ep", np.array([0, 0, 66]), "'ep' must hold integers"),
        ("qpos", np.zeros((3, 15)), "unit length"),
    ],
)
def test_foreign_files(tmp_path, name, value, words):
    arrays = dict(thinned(rows_of(ANT), np.arange(3)).arrays) | {name: value}
    kept: Any = {k: a for k, a in arrays.items() if a is not None}
    np.savez(tmp_path / f"{ANT}.npz", **kept)
    with pytest.raises(SaddleError, match=words):
        load(tmp_path, (ANT,))
