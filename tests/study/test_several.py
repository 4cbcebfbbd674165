"""Studies of a task with two constraints: a multiplier for each in plans, stores and lambda*."""

import json

import numpy as np
import polars as pl
import pytest
from fake import FakeProgram
from helpers import small, work

from saddle.analysis import Options, analyze
from saddle.analysis.simulate_several import TwoCosts
from saddle.errors import SaddleError
from saddle.multipliers import PID, Fixed, GradientAscent
from saddle.study import unit_rows
from saddle.study.plan import Plan, Stage, runs
from saddle.study.plan_dict import to_dict
from saddle.study.prepare import plan_of, prepare
from saddle.study.toml import plan_from, read_file

TASK = "SafetyPointGoal1TwoCosts-v0"
ONE = "SafetyPointGoal1-v0"
TRUTH = TwoCosts()
LIMITS = ((69.44, 25.0), (150.0, 25.0))
AXIS = tuple(np.geomspace(0.05, 5, 6).tolist())
GRID = tuple((a, b) for a in AXIS for b in AXIS)

FILE = f"""\
tasks = ["{TASK}"]
seeds = 1
steps = 20_000

[[stages]]
name = "sweep"
lambdas = {{ grid = [[0.1, 1.0, 10.0], {{ from = 0.01, to = 1.0, count = 3 }}] }}

[[stages]]
name = "compare"
lambda_star = "sweep"
limits = [[25, 10]]
rules = [{{ rule = "ga", init = [[0.5, 2], 1.0] }}]
"""


class TwoCostsProgram(FakeProgram):
    """A learner whose costs are those of the truth at its two multipliers, almost."""

    def __init__(self, task, learner, members, steps):
        super().__init__(task, learner, members, steps)
        self.prices = np.array([np.broadcast_to(member.rule.init, 2) for member in members])

    def epoch(self, state):
        state, metrics = super().epoch(state)
        metrics |= {
            "cost": TRUTH.costs(self.prices) + 0.1 * state["walk"][:, None],
            "return": TRUTH.returns(self.prices) + 0.1 * state["walk"],
            "lambda": self.prices,
        }
        return state, metrics


def written(tmp_path, text):
    file = tmp_path / "study.toml"
    file.write_text(text)
    return file


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    stages = (
        Stage("sweep", lambdas=GRID),
        Stage("compare", rules=(GradientAscent((0.5, 0.5)),), lambda_star="sweep", limits=LIMITS),
    )
    plan = small(tasks=(TASK,), stages=stages, members=100)
    return work(plan, tmp_path_factory.mktemp("two") / "s", make=TwoCostsProgram)[0]


def test_a_study_file_has_a_grid_of_lambdas(tmp_path):
    plan = read_file(written(tmp_path, FILE))
    expected = [(a, b) for a in (0.1, 1.0, 10.0) for b in (0.01, 0.1, 1.0)]
    assert np.allclose(plan.stages[0].lambdas, expected)
    assert [rule.init for rule in plan.stages[1].rules] == [(0.5, 2.0), 1.0]
    assert plan_from(to_dict(plan)) == plan
    assert plan_from(json.loads(json.dumps(to_dict(plan)))) == plan
    names = {run.name for run in runs(plan)}
    assert "PointGoal1TwoCosts-ppo-fixed-0.1_0.01-s0" in names
    assert "PointGoal1TwoCosts-ppo-ga-d25_10-init0.5_2-s0" in names
    listed = FILE.replace(
        "{ grid = [[0.1, 1.0, 10.0], { from = 0.01, to = 1.0, count = 3 }] }", "[[0.1, 1], 2, [3]]"
    )
    assert read_file(written(tmp_path, listed)).stages[0].lambdas == ((0.1, 1.0), 2.0, 3.0)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("[0.1, 1.0, 10.0], {", "[], {", "a grid has the lambdas of each constraint"),
        ("[0.1, 1.0, 10.0], {", "{", "a grid has the lambdas of each constraint"),
        ("count = 3", "cnt = 3", "an axis of a grid must be a list, or a table with from, to"),
        ("from = 0.01", "from = 2.0", "an axis of a grid needs 0 < from < to"),
        ("grid = [", "from = 1, grid = [", "unknown key 'from' beside grid"),
        ("[0.1, 1.0, 10.0]", "[0.1, 'x']", r"lambdas.grid\[0\] is 'x', but must be a number"),
        ("[0.1, 1.0, 10.0]", "[0.1, -1]", "a lambda below 0"),
        ("[0.1, 1.0, 10.0]", "[0.1, 0.1]", "is there twice"),
        ("count = 3", "count = 2_000_000_000", "memory here has room for"),
        ("[[0.5, 2], 1.0]", "[[]]", "a lambda has no number"),
        ("[[0.5, 2], 1.0]", "[[0.5, -2]]", "init is .* must be 0 or more"),
    ],
)
def test_a_mistake_in_lambdas_is_one_line(tmp_path, old, new, words):
    assert old in FILE
    with pytest.raises(SaddleError, match=words) as caught:
        read_file(written(tmp_path, FILE.replace(old, new, 1)))
    assert "\n" not in str(caught.value)


def test_lambdas_fit_the_task(tmp_path):
    with pytest.raises(SaddleError, match="lambdas for different numbers of constraints"):
        Stage("sweep", lambdas=((1.0, 2.0), (1.0, 2.0, 3.0)))
    message = rf"{ONE} has 1 constraint\(s\) \(hazards\), but lambda has 2 numbers"
    for stage in (
        Stage("sweep", lambdas=((1.0, 2.0),)),
        Stage("compare", rules=(PID((1.0, 2.0)),), limits=((25.0,),)),
    ):
        with pytest.raises(SaddleError, match=message):
            prepare(Plan(tasks=(ONE,), stages=(stage,), steps=20_000), tmp_path / "s", False)
    assert not (tmp_path / "s").exists()


def test_the_store_has_a_column_for_each_multiplier(study):
    frame = study.runs
    swept = frame.filter(stage="sweep")
    assert set(swept.select("lambda", "lambda_1").iter_rows()) == set(GRID)
    assert swept["limit"].is_null().all()
    for row in frame.filter(rule="ga").iter_rows(named=True):
        assert row["lambda"] is None and row["lambda_1"] is None
        assert json.loads(row["params"])["rule"]["init"] == [0.5, 0.5]
    at_end = study.metrics.join(swept.select("run", first="lambda", second="lambda_1"), on="run")
    for metric, column in (("lambda", "first"), ("lambda_1", "second")):
        np.testing.assert_allclose(at_end[metric], at_end[column], rtol=1e-6)
    assert plan_of(study).stages[0].lambdas == GRID


def test_lambda_star_is_found_for_all_constraints_together(study):
    stars = study.runs.filter(stage="compare", rule="fixed")
    assert stars["status"].unique().to_list() == ["done"]
    for limits in LIMITS:
        own = stars.filter(limit=limits[0], limit_1=limits[1])
        (found,) = set(own.select("lambda", "lambda_1").iter_rows())
        for value, star in zip(found, TRUTH.lambda_star(limits), strict=True):
            # A limit that does not bind gets the smallest lambda that was run.
            assert value == pytest.approx(star or AXIS[0], rel=0.15)
        rules = [member.rule for member in unit_rows.members(own)]
        (rule,) = {rule.init for rule in rules if rule.name}
        assert rule == found
    said = analyze(study.runs, study.scan_metrics(), Options(limits=LIMITS, replicates=100)).joint
    given = set(stars.select("limit", "limit_1", "lambda", "lambda_1").iter_rows())
    assert given == {
        (
            *(share.limit for share in one.multipliers),
            *(share.train_at for share in one.multipliers),
        )
        for one in said
    }


def test_seeds_at_lambda_star_that_break_any_limit_are_counted(study):
    stars = study.runs.filter(stage="compare", rule="fixed")
    said = analyze(study.runs, study.scan_metrics(), Options(limits=LIMITS, replicates=100)).joint
    ends = study.metrics.filter(pl.col("epoch") == pl.col("epoch").max())
    for one in said:
        limits = [share.limit for share in one.multipliers]
        own = stars.filter(limit=limits[0], limit_1=limits[1]).join(ends, on="run")
        broken = own.select((pl.col("cost") > limits[0]) | (pl.col("cost_1") > limits[1]))
        assert one.violating.seeds == own.height == 2
        assert one.violating.share.value == broken.to_series().mean()


def test_a_sweep_that_tells_no_lambda_star_stops_in_one_line(tmp_path):
    stages = (
        Stage("sweep", lambdas=((0.1, 1.0), (1.0, 0.1), 0.5)),
        Stage("compare", lambda_star="sweep", limits=LIMITS[:1]),
    )
    plan = small(tasks=(TASK,), stages=stages, members=100)
    made, notes = work(plan, tmp_path / "s", make=TwoCostsProgram)
    waiting = made.runs.filter(stage="compare")
    assert set(waiting["status"]) == {"failed"}
    said = " ".join([*notes.said, *waiting["reason"]])
    assert "lambda* of SafetyPointGoal1TwoCosts-v0 cannot be told" in said


def test_stores_that_knew_one_lambda_for_all_are_read(study):
    """Their runs table has no lambda_1."""
    old = study.runs.filter(pl.col("lambda") == pl.col("lambda_1"), stage="sweep")
    found = [
        analyze(frame, study.scan_metrics(), Options(limits=LIMITS[:1], replicates=100)).to_json()
        for frame in (old, old.drop("lambda_1", "limit_1"))
    ]
    assert found[0] == found[1] and "one lambda for all constraints" in found[0]


def test_fixed_takes_one_number_or_one_for_each():
    assert Fixed((0.5,)) == Fixed(0.5) and Fixed([1, 2]).init == (1.0, 2.0)  # type: ignore[arg-type]
    with pytest.raises(SaddleError, match="init is"):
        Fixed((0.5, float("nan")))
