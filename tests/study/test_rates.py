"""Rates of rules in studies of another length than the published one."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from helpers import TASK, small
from hypothesis import given
from hypothesis import strategies as st

from saddle.learners import PPO, SAC
from saddle.multipliers import PID, Dial, Fixed, GradientAscent
from saddle.study import open_study, presets
from saddle.study.columns import runs_frame
from saddle.study.plan import Plan, Stage, runs
from saddle.study.plan_dict import to_dict
from saddle.study.prepare import row_of
from saddle.study.rates import plan_notes, run_notes
from saddle.study.toml import plan_from, read_file

RESULTS = Path(__file__).parents[2] / "results"
RULES = (GradientAscent(), PID(ki=1e-3))


def plan(epochs, scale=True, rules=RULES):
    stage = Stage("compare", rules=rules, limits=((10.0,),))
    learner = PPO(steps_per_epoch=100, worlds=1)
    steps = epochs * 100
    return Plan("s", (TASK,), (stage,), (0,), steps, learner=learner, scale_rates=scale)


@given(st.integers(1, 5000))
def test_rates_times_updates_are_as_published(epochs):
    """Of gradient ascent 0.035 x 1750, of PID here 1e-3 x 1750, to four digits."""
    ascent, pid = (run.rule for run in runs(plan(epochs)))
    assert isinstance(ascent, GradientAscent) and isinstance(pid, PID)
    assert ascent.lr * epochs == pytest.approx(0.035 * 1750, rel=1e-3)
    assert pid.ki * epochs == pytest.approx(1e-3 * 1750, rel=1e-3)
    assert replace(ascent, lr=0.035) == RULES[0] and replace(pid, ki=1e-3) == RULES[1]


def test_only_what_is_scaled_is_named():
    names = [run.name for run in runs(plan(400))]
    assert names == [
        "PointCircle1-ppo-ga-d10-lr0.1531-s0",
        "PointCircle1-ppo-pid-d10-ki0.004375-s0",
    ]
    assert [run.rule for run in runs(plan(400, scale=False))] == list(RULES)
    assert [run.rule for run in runs(plan(1750))] == list(RULES)
    for rule in (Fixed(2.0), Dial()):
        assert rule.faster(3.0) == rule


def test_updates_after_every_cycle_are_counted():
    """SAC's clock 'update' moves lambda a hundred times in an epoch; the first 10,020 of 34,000
    steps are random, and it rests.
    """
    each_epoch = replace(plan(10), learner=SAC(), steps=35_000)
    each_cycle = replace(each_epoch, learner=SAC(clock="update"))
    assert each_epoch.pace_of(SAC()) == pytest.approx(1750 / 12)
    assert each_cycle.pace_of(SAC(clock="update")) == pytest.approx(1750 / (1700 - 501))
    assert SAC(warmup_epochs=101).updates_of_lambda(3_500_000) == 1750 - 101
    assert SAC(warmup_epochs=101).updates_of_lambda(20_000) == 1


def test_a_file_asks_for_it_and_a_plan_remembers(tmp_path):
    file = tmp_path / "s.toml"
    text = (
        f'tasks = ["{TASK}"]\nsteps = 1_000_000\nscale_rates = true\n'
        '[[stages]]\nname = "c"\nlimits = [10]\nrules = [{ rule = "ga" }]\n'
    )
    file.write_text(text)
    found = read_file(file)
    assert found.scale_rates and plan_from(json.loads(json.dumps(to_dict(found)))) == found
    assert "scale_rates" not in to_dict(small())


def test_a_plan_of_another_length_is_told_with_what_would_scale_it():
    (note,) = plan_notes(plan(400, scale=False))
    assert note.startswith("400 updates of lambda instead of 1750, and lr of ga, ki of pid as they")
    assert note.endswith("multiplies them by 4.38")
    (note,) = plan_notes(plan(400))
    assert note == "400 updates of lambda instead of 1750: lr of ga, ki of pid times 4.38"
    assert plan_notes(plan(1750, scale=False)) == plan_notes(presets.load("paper")) == []
    assert plan_notes(presets.load("paper-sac")) == []  # a sweep has no rates


def test_runs_of_another_length_are_told():
    short = run_notes(open_study(RESULTS / "goal1").runs)
    assert [note.split(" with ")[0] for note in short] == [
        "GA moved lambda 400 times instead of 1750",
        "PID moved lambda 400 times instead of 1750",
    ]
    assert run_notes(open_study(RESULTS / "circle1-full-length").runs) == []


def test_a_learner_that_moves_lambda_in_every_cycle_is_counted_so():
    """As plans count it: 100 cycles in an epoch, but the first 501, which are random."""
    stage = Stage("compare", rules=(GradientAscent(),), limits=((10.0,),))
    learner = SAC(clock="update")
    whole = Plan("s", (TASK,), (stage,), (0,), steps=46_000, learner=learner)
    assert whole.pace_of(learner) == 1750 / 1799
    assert "1799 updates of lambda instead of 1750" in plan_notes(whole)[0]
    (note,) = run_notes(runs_frame([row_of(whole, "unit", run) for run in runs(whole)]))
    assert note.startswith("GA moved lambda 1799 times instead of 1750")
