"""Level 3: one env step from reference states, against the tolerances, in float32 and float64."""

import dataclasses
import json
from functools import cache

import numpy as np
import pytest

from saddle.parity import events, motion, regimes, tolerances
from saddle.parity.compare import Outcome, errors, step
from saddle.parity.golden import Golden
from saddle.parity.golden_files import load
from saddle.parity.tolerances import BUTTON, CIRCLE, GOAL, POINT, Bound
from saddle.parity.verdict import Report, judge
from saddle.tasks import make
from saddle.tasks.point import body
from saddle.verbs.parity import parity


@cache
def golden(task: str) -> Golden:
    return load(None, (task,))[0]


@cache
def outcome(task: str, precision):
    return step(golden(task), make(task), precision)


def missed(report: Report) -> list[str]:
    lines = [
        f"{x.regime}, {x.quantity}: {x.percentiles} misses {x.bounds}"
        for x in report.lines
        if not x.passed
    ]
    return lines + [
        f"{a.regime}, {a.event}: {a.agree} of {a.rows}" for a in report.agreements if not a.passed
    ]


def thinned(rows: Golden, keep: np.ndarray) -> Golden:
    arrays = {name: a if name.startswith("ep_") else a[keep] for name, a in rows.arrays.items()}
    return dataclasses.replace(rows, arrays=arrays)


@pytest.mark.newest
@pytest.mark.parametrize("task", POINT)
def test_every_claimed_tolerance_holds_in_float32(task):
    report = judge(golden(task), outcome(task, "float32"), "float32")
    assert report.passed, "\n".join(missed(report))
    assert report.left_out <= 0.01 * report.rows


@pytest.mark.parametrize("task", POINT)
def test_free_motion_is_exact_in_float64(task):
    rows = golden(task)
    free = regimes.masks(rows)["free"]
    found = errors(rows, outcome(task, "float64"))
    assert free.sum() > 100
    assert found["pose"][free].max() <= 1e-12
    assert found["velocity"][free].max() <= 1e-10


@pytest.mark.parametrize("task", POINT)
def test_every_claimed_tolerance_holds_in_float64(task):
    report = judge(golden(task), outcome(task, "float64"), "float64")
    assert report.passed, "\n".join(missed(report))


def reference(rows: Golden) -> Outcome:
    """What a world that repeats the reference exactly would give."""
    costs = {name: rows[name] for name in rows.arrays if name.startswith("cost_")}
    return Outcome(
        agent=motion.agents(rows, after=True),
        bodies=motion.bodies(rows, after=True) if rows.bodies else np.zeros((rows.rows, 0, 13)),
        obs=rows["obs2"],
        formulas=rows["obs2"],
        reward=rows["reward"],
        cost=rows["cost"],
        terminated=rows["terminated"],
        truncated=rows["truncated"],
        goal_met=rows["goal_met"],
        timer=rows["timer2"],
        info=costs,
    )


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("task", POINT)
def test_the_reference_itself_passes_without_error(task, precision):
    report = judge(golden(task), reference(golden(task)), precision)
    assert report.passed
    assert {line.reached for line in report.lines if line.claimed} <= {"exact", "double"}
    assert max(line.percentiles[-1] for line in report.lines) == 0
    assert all(a.agree == a.rows for a in report.agreements)


@pytest.mark.parametrize("task", POINT)
def test_regimes_of_the_robot_divide_the_rows(task):
    masks = regimes.masks(golden(task))
    parts = [masks[name] for name in ("free", "button", "gremlin", "vase", "pillar", "box")]
    assert (np.sum(parts, axis=0) == 1).all()
    assert set(masks) <= set(regimes.MEANING)


def test_every_criterion_has_rows_to_judge():
    judged = set()
    for task in POINT:
        report = judge(golden(task), reference(golden(task)), "float32")
        judged |= {(task, line.regime, line.quantity) for line in report.lines if line.claimed}
    assert judged == {(t, c.regime, c.quantity) for c in tolerances.CRITERIA for t in c.tasks}


@pytest.mark.parametrize("constant", ["DAMPING", "MASS_OFFSET", "SERVO", "INERTIA"])
def test_a_wrong_constant_fails(monkeypatch, constant):
    monkeypatch.setattr(body, constant, 1.001 * getattr(body, constant))
    rows = thinned(golden(CIRCLE), np.arange(golden(CIRCLE).rows) % 5 == 0)
    report = judge(rows, step(rows, make(CIRCLE), "float32"), "float32")
    assert not report.passed
    assert {"pose", "velocity"} & {line.quantity for line in report.lines if not line.passed}


def test_a_state_that_is_not_finite_fails():
    rows = golden(CIRCLE)
    agent = motion.agents(rows, after=True)
    agent[::20] = np.nan
    report = judge(rows, dataclasses.replace(reference(rows), agent=agent), "float32")
    assert not report.passed
    assert json.dumps(report.as_dict(), allow_nan=False)


@pytest.mark.parametrize(
    "field", ["cost", "reward", "truncated", "terminated", "goal_met", "timer"]
)
def test_one_wrong_row_fails(field):
    rows = golden(BUTTON if field == "timer" else GOAL)
    right = reference(rows)
    values = getattr(right, field).copy()
    row = int(np.argmax(regimes.masks(rows)["free"]))
    values[row] = not values[row] if values.dtype == bool else values[row] + 1
    report = judge(rows, dataclasses.replace(right, **{field: values}), "float64")
    assert [(a.event, a.rows - a.agree) for a in report.agreements if not a.passed] == [(field, 1)]


def test_a_wrong_lidar_fails_where_the_motion_is_right():
    rows = golden(CIRCLE)
    right = reference(rows)
    formulas = right.formulas.copy()
    formulas[:, 12:] *= 1.0001
    report = judge(rows, dataclasses.replace(right, formulas=formulas), "float32")
    assert [line.quantity for line in report.lines if not line.passed] == ["observation formulas"]


def test_a_disagreement_is_forgiven_only_at_the_threshold():
    rows = golden(GOAL)
    hazards = np.linalg.norm(rows.episode("ep_hazards") - _agents(rows)[:, None, :2], axis=-1)
    nearest = np.abs(hazards - 0.2).min(axis=1)
    arrays = dict(rows.arrays) | {"cost_hazards": 1 - rows["cost_hazards"]}
    flipped = dataclasses.replace(rows, arrays=arrays)
    out = reference(rows)
    found = {a.event: a for a in events.agreements(flipped, out, errors(rows, out), 1e-5)}[
        "cost_hazards"
    ]
    assert found.agree == 0
    assert found.at_threshold == (nearest <= 1e-5).sum()
    assert not found.passed


def _agents(rows: Golden) -> np.ndarray:
    """The robot's final x, y [N, 2], from its joints and the pose at reset."""
    x, y, turned = rows.episode("ep_agent").T
    along = (rows["qpos2"][:, 0] + 1j * rows["qpos2"][:, 1]) * np.exp(1j * turned)
    return np.stack([x + along.real, y + along.imag], axis=1)


def test_a_bound_counts_rows():
    ladder = np.arange(1.0, 101.0)
    assert Bound(50, 50).holds(ladder) and not Bound(50, 49.9).holds(ladder)
    assert Bound(99, 99).holds(ladder) and not Bound(100, 99).holds(ladder)


def test_one_row_of_some_tasks_works(tmp_path, capsys):
    for task in (CIRCLE, GOAL):
        few = thinned(golden(task), np.arange(1))
        np.savez(tmp_path / f"{task}.npz", **few.arrays)  # type: ignore[arg-type]
    parity(tmp_path, (), "float32", as_json=True)
    found = json.loads(capsys.readouterr().out)
    assert [(t["task"], t["rows"]) for t in found["tasks"]] == [(CIRCLE, 1), (GOAL, 1)]


def test_the_order_of_rows_does_not_matter():
    rows = golden(CIRCLE)
    reverse = thinned(rows, np.arange(rows.rows)[::-1])
    one = judge(rows, outcome(CIRCLE, "float32"), "float32")
    other = judge(reverse, step(reverse, make(CIRCLE), "float32"), "float32")
    assert one == other


def test_tables_and_markdown_name_every_line(capsys):
    parity(None, (CIRCLE,))
    table = capsys.readouterr().out
    parity(None, (CIRCLE,), as_markdown=True)
    markdown = capsys.readouterr().out
    for text in (table, markdown):
        for word in (
            CIRCLE,
            "free",
            "velocity (m/s, rad/s)",
            "99 % ≤ 0.002",
            "exact",
            "cost_out_of_boundary",
        ):
            assert word in text
    assert markdown.count("\n| free |") == 1 + 4  # its meaning, then its lines
