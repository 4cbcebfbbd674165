"""Whatever a program calls a task gets a name that studies can hold."""

import pytest
from learners.toys import Bandit
from learners.twins import BanditEnv

import saddle
from saddle.errors import SaddleError
from saddle.tasks import registry
from saddle.tasks.naming import name_of


@pytest.fixture(autouse=True)
def _as_before(monkeypatch):
    monkeypatch.setattr(registry, "_TASKS", dict(registry._TASKS))


def local(cost="cost"):
    def make_env():
        return BanditEnv()

    return make_env


def double(obs, action, reward, info):
    return 2 * info["cost"]


def test_what_others_find_is_named_by_a_reference():
    assert name_of("SafetyPointGoal1-v0") == "SafetyPointGoal1-v0"
    assert name_of(Bandit) == "learners.toys:Bandit"
    assert name_of(BanditEnv, cost="cost", length=1) == (
        "learners.twins:BanditEnv?cost=info:cost&length=1"
    )
    assert name_of("gym:mo-hopper-v5", reward=0, cost="-2", imports=("mo_gymnasium",)) == (
        "gym:mo-hopper-v5?import=mo_gymnasium&cost=reward:-2&reward=0"
    )


def test_what_only_this_program_knows_is_registered():
    name = name_of(local(), cost="cost", length=1)
    assert name == "make_env"
    task = saddle.make(name)
    assert task.spec.constraints == ("cost",) and task.spec.episode_length == 1
    assert name_of(local(), cost=double, length=1) == "make_env", "a cell that is run again"
    made = Bandit()
    assert saddle.make(name_of(made)) is made


def test_a_name_that_is_taken_gets_a_number():
    saddle.register("make_env", Bandit)
    assert name_of(local(), cost="cost", length=1) == "make_env-2"
    assert isinstance(saddle.make("make_env"), Bandit)


@pytest.mark.parametrize(
    ("task", "options", "complaint"),
    [
        (Bandit(), {"cost": "cost"}, "cost belong to an environment's function, but the task"),
        (saddle.Environment(BanditEnv), {"length": 3}, "an Environment has its own"),
        ("SafetyPointGoal1-v0", {"cost": "cost"}, "has costs and a length of its own"),
        (3, {}, "a task is 3"),
    ],
)
def test_what_is_no_task_is_one_line(task, options, complaint):
    with pytest.raises(SaddleError, match=complaint):
        name_of(task, **options)


def test_a_function_of_a_notebook_has_its_frontier(tmp_path):
    """Processes get the function itself: they could not import it."""
    said = []
    study = saddle.frontier(
        local(),
        tmp_path / "frontier",
        cost=double,
        episode_length=1,
        limits=(0.5,),
        seeds=1,
        steps=256,
        lambdas=4,
        learner=saddle.PPO(steps_per_epoch=64, hidden=(4,), passes=1, batch=32),
        on_message=said.append,
    )
    assert study.finished and study.runs["task"].unique().to_list() == ["make_env"]
    assert study.runs["lambda"].n_unique() == 4
    assert any(text.startswith("round 2 of 2") for text in said)
