"""A study of the real learner, in very small, as a GPU runs it: a velocity task on MJX in the wide
layout.

Stopped, merged and resumed, it ends as if nothing had been.
"""

import functools

import numpy as np
import pytest
from helpers import After, work

from saddle.learners import PPO
from saddle.multipliers import GradientAscent
from saddle.study import open_study
from saddle.study.merge import merge
from saddle.study.plan import Chunking, Plan, Stage
from saddle.study.program import PopulationProgram
from saddle.tasks.velocity import engines

PLAN = Plan(
    name="wide",
    tasks=("SafetyHopperVelocity-v1",),
    seeds=(0,),
    steps=40,
    learner=PPO(
        layout="wide",
        steps_per_epoch=8,
        worlds=4,
        hidden=(4,),
        passes=1,
        batch=8,
        window=2,
        precision="bf16",
    ),
    stages=(
        Stage("sweep", lambdas=(0.5,)),
        Stage("compare", rules=(GradientAscent(),), limits=((25.0,),)),
    ),
    chunk=Chunking(epochs=2, share=1e9),
    members=2,
)


@pytest.fixture
def make(monkeypatch):
    """The real program, compiled once for all studies of a test."""
    monkeypatch.setattr(engines, "default", lambda: "mjx-jax")
    return functools.cache(PopulationProgram)


@pytest.mark.slow
def test_mjx_in_the_wide_layout_stops_resumes_and_merges(tmp_path, make):
    whole, _ = work(PLAN, tmp_path / "whole", make=make)
    assert whole.runs["status"].to_list() == ["done"] * 2 and whole.manifest["precision"] == "bf16"
    assert whole.metrics["env_steps"].to_list() == [8, 16, 24, 32, 40] * 2
    assert whole.metrics["kl"].is_finite().all() and whole.metrics["loss_vr"].is_finite().all()
    assert (whole.metrics["passes"] == 1).all()

    first, _ = work(PLAN, tmp_path / "first", stop=After(4), make=make)
    second, _ = work(PLAN, tmp_path / "second", stop=After(5), make=make)
    assert [part.metrics["epoch"].max() for part in (first, second)] == [1, 2]
    merge([first.path, second.path], tmp_path / "merged")
    merged, notes = work(PLAN, tmp_path / "merged", resume=True, make=make)
    assert [epoch for _, epoch in notes.epochs] == [4, 5]
    assert open_study(merged.path).metrics.equals(whole.metrics, null_equal=True)
    assert merged.runs.equals(whole.runs)
    for run in whole.runs["run"]:
        action = whole.policy(run)(np.ones(11))
        assert np.array_equal(action, merged.policy(run)(np.ones(11))) and np.isfinite(action).all()
