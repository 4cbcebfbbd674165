"""The Ray engine on a real cluster of several nodes, one of which dies in the middle."""

import socket
import sys
import threading
import time
from pathlib import Path

import polars as pl
import pytest
import toy_environments as toys
from fake import LightProgram
from helpers import Notes, small, work

from saddle.errors import SaddleError
from saddle.learners import PPO
from saddle.study.plan import Stage
from saddle.study.prepare import prepare
from saddle.study.program import POPULATION
from saddle.study.stop import Stopper

ray = pytest.importorskip("ray")
from ray.cluster_utils import Cluster  # noqa: E402

from saddle.study.ray import RayEngine, connect, survey  # noqa: E402

pytestmark = [
    # Ray's own modules, imported here and in its workers.
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
EPOCHS = 16
PROGRAM = "fake:LightProgram"


@pytest.fixture
def cluster(driver_env, monkeypatch):
    """A head and another node, of one core each."""
    monkeypatch.setenv("FAKE_SLEEP", "0.1")
    monkeypatch.setenv("RAY_health_check_initial_delay_ms", "0")
    monkeypatch.setenv("RAY_health_check_period_ms", "500")
    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    yield made, made.add_node(num_cpus=1, include_dashboard=False)
    ray.shutdown()
    made.shutdown()


def kill_when_both_work(cluster, node, study):
    """Kill a node, processes and all, as soon as two units have been saved for the first time."""
    while sum(study.progress(unit).get("epoch", 0) > 0 for unit in study.units()) < 2:
        time.sleep(0.05)
    cluster.remove_node(node, allow_graceful=False)


def test_a_node_dies_and_the_results_are_those_of_one_process(tmp_path, cluster):
    made, node = cluster
    plan = small(epochs=EPOCHS)
    connect(made.address)
    study, notes = prepare(plan, tmp_path / "ray", resume=False, survey=survey), Notes()
    killer = threading.Thread(target=kill_when_both_work, args=(made, node, study))
    killer.start()
    RayEngine(study, PROGRAM, plan.chunk, notes, Stopper(), None).work()
    killer.join()
    assert sum(one["Alive"] for one in ray.nodes()) == 1
    whole, _ = work(plan, tmp_path / "local", make=LightProgram)
    assert study.runs.equals(whole.runs)
    assert study.metrics.equals(whole.metrics, null_equal=True)
    taken_over = [
        unit
        for unit in study.units()
        if len(list((study.path / "claims").glob(f"{unit}.*.json"))) > 1
    ]
    assert taken_over  # the dead node's unit went on elsewhere
    assert {unit for unit, _ in notes.epochs} == set(study.units())
    assert not list(study.path.rglob("*.stop"))


@pytest.mark.slow
def test_environments_are_made_where_units_run(tmp_path, cluster, monkeypatch):
    """By references alone: of Gymnasium's registry, of a module in the folder that the study was
    started from, and of one there for another interpreter.
    """
    made, _ = cluster
    monkeypatch.chdir(Path(toys.__file__).parent)
    module = "toy_environments:Drift?cost=info:cost&length=10"
    plan = small(
        epochs=2,
        tasks=("gym:Pendulum-v1?cost=-0&length=10", module, f"{module}&python={sys.executable}"),
        seeds=(0,),
        learner=PPO(steps_per_epoch=100, hidden=(4,), passes=1, batch=100),
        stages=(Stage("sweep", lambdas=(0.1, 1.0)),),
    )
    connect(made.address)
    study, notes = prepare(plan, tmp_path / "ray", resume=False, survey=survey), Notes()
    RayEngine(study, POPULATION, plan.chunk, notes, Stopper(), None).work()
    assert notes.said == []
    assert set(study.runs["task"]) == set(plan.tasks)
    assert study.runs.height == 6 and set(study.runs["status"]) == {"done"}
    assert study.metrics.height == 12 and study.metrics["cost"].is_finite().all()
    metrics = study.metrics.join(study.runs.select("run", "task"), on="run")
    own, other = (
        metrics.filter(pl.col("task") == task).sort("run", "epoch")["cost"]
        for task in plan.tasks[1:]
    )
    assert own.equals(other)


def test_an_address_that_does_not_answer_is_one_line():
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    with pytest.raises(
        SaddleError, match=rf"no Ray cluster answers at 127.0.0.1:{port} .*ray start --head"
    ):
        connect(f"127.0.0.1:{port}")
    with pytest.raises(SaddleError, match="no Ray cluster answers at nonsense"):
        connect("nonsense")
    assert not ray.is_initialized()
