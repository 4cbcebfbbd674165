"""A study of the real learner, in very small: stopped and resumed, it ends as if nothing had been."""

import jax.numpy as jnp
import numpy as np
from helpers import TASK, After, work

from saddle.config import PPO
from saddle.multipliers import GradientAscent
from saddle.study.plan import Chunking, Plan, Stage
from saddle.study.program import PopulationProgram

PLAN = Plan(
    name="real",
    tasks=(TASK,),
    seeds=(0,),
    steps=2000,
    ppo=PPO(layout="wide", steps_per_epoch=250, worlds=5, hidden=(8,), passes=2, batch=100, window=5),
    stages=(
        Stage("sweep", lambdas=(0.5,)),
        Stage("compare", rules=(GradientAscent(),), limits=((25.0,),)),
    ),
    chunk=Chunking(epochs=3, share=1e9),
    members=2,
)


def test_a_resumed_population_ends_bit_by_bit_the_same(tmp_path):
    whole, _ = work(PLAN, tmp_path / "whole", make=PopulationProgram)
    assert whole.runs["status"].to_list() == ["done"] * 2
    metrics = whole.metrics
    assert metrics["epoch"].to_list() == [*range(8)] * 2 and metrics["env_steps"].max() == 2000
    assert metrics["passes"].is_between(1, 2).all() and metrics["kl"].is_finite().all()
    for questions in (4, 6):
        parts, _ = work(PLAN, tmp_path / "parts", resume=True, stop=After(questions), make=PopulationProgram)
        assert parts.progress(parts.units()[0])["state"] == "stopped"
    parts, notes = work(PLAN, tmp_path / "parts", resume=True, make=PopulationProgram)
    assert notes.epochs[0][1] == 7 and not notes.said  # went on from the checkpoint
    assert parts.metrics.equals(metrics, null_equal=True) and parts.runs.equals(whole.runs)
    for run in whole.runs["run"]:
        action = whole.policy(run)(jnp.ones(28))
        assert np.array_equal(action, parts.policy(run)(jnp.ones(28))) and np.isfinite(action).all()
