"""Whatever a program calls a task gets a name that studies can hold."""

import copy
import os
import re
import subprocess
import sys
from functools import partial

import numpy as np
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
    assert re.fullmatch("make_env_[0-9a-f]{6}", name)
    task = saddle.make(name)
    assert task.spec.constraints == ("cost",) and task.spec.episode_length == 1
    assert name_of(local(), cost="cost", length=1) == name, "a cell that is run again"
    assert name_of(local(), cost=double, length=1) != name, "other costs are another task"
    made = Bandit()
    assert saddle.make(name_of(made)) is made


def test_a_name_that_is_taken_gets_a_number():
    taken = Bandit().spec.name
    saddle.register(taken, Bandit)
    made = Bandit()
    assert name_of(made) == f"{taken}-2"
    assert isinstance(saddle.make(taken), Bandit) and saddle.make(f"{taken}-2") is made


class Plain:
    """An object without a repr of its own."""

    def __init__(self, price):
        self.price = price


def maker(value):
    made = []

    def make(seed=0):
        made.append(value)
        return BanditEnv()

    return make


def kind_of(value):
    class Env(BanditEnv):
        def price(self):
            return value

    return Env


SAME_AND_OTHER = [
    (1.0, 3.0),
    ([1, {"a": 2}], [1, {"a": 3}]),
    ({"a", "b", "c"}, {"a", "b", "d"}),
    (Plain(1), Plain(2)),
    (np.arange(5000), np.arange(5000) + (np.arange(5000) == 2500)),
    (partial(max, 1), partial(max, 2)),
    (lambda: 1, lambda: 2),
]


@pytest.mark.parametrize(("value", "other"), SAME_AND_OTHER)
@pytest.mark.parametrize("define", [maker, kind_of])
def test_functions_and_classes_of_one_name_are_told_apart(define, value, other):
    first, second = define(value), define(other)
    name = name_of(first)
    assert name_of(second) != name
    assert name_of(define(copy.deepcopy(value))) == name, "a cell that is run again"
    assert registry.entry(name).factory is not second


def test_a_function_keeps_its_name_while_it_is_used():
    make = maker(1.0)
    name = name_of(make, cost="cost", length=1)
    make()
    assert name_of(make, cost="cost", length=1) == name


def test_another_process_gives_the_same_sum():
    program = """
from saddle.tasks.naming import name_of
def outer(c):
    def make(of=frozenset({"a", "b", "c"})):
        return c, [x for x in of if x in {"d", "e", "f"}]
    return make
class Env:
    def reset(self): return {"g", "h"}
print(name_of(outer({1: print})), name_of(lambda: Env()), name_of(Env))
"""
    said = set()
    for seed in ("1", "2"):
        env = {**os.environ, "PYTHONHASHSEED": seed}
        done = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, env=env, check=True
        )
        said.add(done.stdout)
    assert len(said) == 1


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
    name = name_of(local(), cost=double, length=1)
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
    assert study.finished and study.runs["task"].unique().to_list() == [name]
    assert study.runs["lambda"].n_unique() == 4
    assert any(text.startswith("round 2 of 2") for text in said)
