"""What strangers did on their first day with Saddle, from outside and from Python."""

import json
import shutil
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
import pytest
from learners import toys
from toy_environments import Drift

import saddle
from saddle import inspection, trial
from saddle.cli import main
from saddle.console import console
from saddle.errors import SaddleError
from saddle.learners import PPO, Conditioned
from saddle.tasks.check import check_shapes
from saddle.tasks.naming import name_of

BANDIT = "learners.toys:Bandit"
SMALL = PPO(steps_per_epoch=100, worlds=1, hidden=(4,), passes=1, batch=50)


def one_line(call, *arguments, match, **options):
    with pytest.raises(SaddleError, match=match) as caught:
        call(*arguments, **options)
    assert "\n" not in str(caught.value)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A training of two epochs, to be copied before anything is done to it."""
    out = tmp_path_factory.mktemp("stranger") / "s"
    return saddle.train(BANDIT, out, limits=0.25, seeds=2, steps=2e2, learner=SMALL)


@pytest.fixture
def store(trained, tmp_path):
    shutil.copytree(trained.path, tmp_path / "s")
    return tmp_path / "s"


def test_a_dial_is_set_for_a_limit_in_the_environment_as_it_was_named(tmp_path, capsys):
    """Its options say which cost is meant and where episodes end: without them it is another."""
    named = ["toy_environments:Drift", "--cost", "info:cost", "--episode-length", "10"]
    small = Conditioned(
        steps_per_epoch=40, worlds=4, hidden=(4,), passes=1, batch=40, strata=2, window=4
    )
    task = "toy_environments:Drift?cost=info:cost&length=10"
    study = saddle.frontier(task, tmp_path / "f", seeds=1, steps=80, learner=small)
    policy = study.policy_folder(study.runs["run"][0])
    words = ["play", *named, "--policy", str(policy), "--limit", "1000"]
    assert main([*words, "--out", str(tmp_path / "episode.png")]) == 0
    said = capsys.readouterr().out
    assert "limit 1000: does not bind" in said
    assert saddle.dial(study, 1000, episodes=5)[0].verdict == "does not bind"
    scores = saddle.evaluate(study, episodes=2, multipliers=(1.0,))
    assert {score.multipliers for score in scores} == {(1.0,)}


@dataclass(frozen=True, eq=False)
class Wrong(toys.Bandit):
    """A bandit whose state is wrong in one way."""

    field: str = "cost"
    value: object = None

    def step(self, state, action):
        return replace(super().step(state, action), **{self.field: self.value})


class Plain(NamedTuple):
    """A state of one's own."""

    obs: Any
    reward: Any
    cost: Any
    terminated: Any
    truncated: Any
    steps: Any
    key: Any


@dataclass(frozen=True, eq=False)
class Unchecked:
    """The same with a state that nobody checks but Saddle."""

    field: str
    value: object
    spec = toys.Bandit().spec

    def reset(self, key):
        state = toys.Bandit().reset(key)
        return Plain(*(getattr(state, name) for name in Plain._fields))

    def step(self, state, action):
        return state._replace(**{self.field: self.value})


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("cost", jnp.ones(1, bool), "step returns 'cost' of type bool; convert it: cost.astype"),
        ("reward", jnp.ones((), int), "step returns 'reward' of type int32; convert it"),
        ("obs", jnp.ones(1, int), "step returns 'obs' of type int32"),
        ("truncated", jnp.ones((), int), r"truncated.astype\(bool\)"),
        ("steps", jnp.zeros(()), "reset returns 'steps' of type int32.*, and step of type float32"),
    ],
)
def test_types_that_cannot_be_trained_on_are_told(field, value, said):
    """Where nobody checks states as they are made, as tests do."""
    task = Unchecked(field, value)
    one_line(check_shapes, task, "Unchecked", match=said)


def problems(task):
    return inspection.problems(task.spec, trial.play(task, seconds=1.0), PPO())


def test_what_is_not_a_number_is_told_and_not_that_seeds_do_not_repeat():
    for field, name in (("cost", "cost"), ("reward", "reward"), ("obs", "observation")):
        shape = () if field == "reward" else (1,)
        (found,) = problems(Wrong(field=field, value=jnp.full(shape, jnp.nan)))
        assert found.wrong and found.text.startswith(f"its {name} is NaN or infinite")


def test_episodes_that_do_not_end_are_told():
    (found,) = [
        one for one in problems(Wrong(field="truncated", value=jnp.zeros((), bool))) if one.wrong
    ]
    assert "no episode ended within" in found.text and "episode_length is 1" in found.text


def test_a_task_of_jax_takes_no_options_of_environments(capsys):
    assert main(["check", BANDIT, "--episode-length", "5"]) == 1
    assert "leave cost, episode length" in capsys.readouterr().out


def test_an_error_of_a_callback_is_the_callers(tmp_path):
    def fails(_):
        raise ZeroDivisionError("mine")

    for callback in ("on_epoch", "on_message"):
        callbacks: dict[str, Any] = {callback: fails}
        with pytest.raises(ZeroDivisionError, match="mine"):
            saddle.train(
                "learners.toys:Broken" if callback == "on_message" else BANDIT,
                tmp_path / callback,
                limits=1.0,
                steps=200,
                learner=SMALL,
                **callbacks,
            )
    left = saddle.open_study(tmp_path / "on_epoch")
    assert "failed" not in left.runs["status"].to_list()
    again = saddle.train(
        BANDIT, tmp_path / "on_epoch", limits=1.0, steps=200, learner=SMALL, resume=True
    )
    assert again.finished


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"rule": "ga"}, "rule is 'ga'; give a rule, as saddle.PID"),
        ({"learner": "ppo"}, "learner is 'ppo'; give a learner's settings"),
        ({"limits": "25"}, "limits are '25'; they must be numbers"),
        ({"limits": ("a",)}, "limits are .*; they must be numbers"),
        ({"steps": 2.5}, "steps is 2.5; it must be a whole number"),
        ({"seeds": 1.5}, "seeds is 1.5; it must be a whole number"),
        ({"log": "papers"}, "there is no tracker 'papers'"),
        ({"limits": float("inf")}, "limits are finite and 0 or more"),
    ],
)
def test_wrong_arguments_of_a_training(options, said, tmp_path):
    given = {"learner": SMALL, "steps": 200, **options}
    one_line(saddle.train, BANDIT, tmp_path / "s", match=said, **given)
    assert not (tmp_path / "s").exists()


CALLS = {
    "an analysis": saddle.analyze,
    "open": saddle.open_study,
    "evaluate": saddle.evaluate,
    "policy": saddle.load_policy,
    "dial": lambda path: saddle.dial(path, 2),
}


@pytest.mark.parametrize("name", list(CALLS))
def test_what_is_no_path_is_told(name):
    one_line(CALLS[name], None, match="(study|policy) is None; give ")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"limit_seconds": "9m"}, "the time limit is '9m'; it must be in seconds, 0 or more"),
        ({"limit_seconds": -1}, "the time limit is -1; it must be in seconds"),
        ({"limit_seconds": float("nan")}, "the time limit is nan; it must be in seconds"),
        ({"on_epoch": 5}, "on_epoch is 5; give a function"),
        ({"on_message": "x"}, "on_message is 'x'; give a function"),
        ({"log": None}, "log is None; give names of trackers, of tensorboard"),
        ({"out": 5}, "out is 5; give "),
        ({"steps": "800"}, "steps is '800'; it must be a whole number"),
        ({"seeds": [1, 2]}, r"seeds is \[1, 2\]; it must be a whole number"),
        ({"limits": None}, "limits are None; they must be numbers"),
    ],
)
@pytest.mark.parametrize("train", [saddle.train, saddle.frontier])
def test_wrong_arguments_of_trainings_are_told_before_anything_is_made(
    train, options, said, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    one_line(train, BANDIT, **{"out": "s", "steps": 20_000, **options}, match=said)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"method": "Dial"}, "method is 'Dial'; it must be one of 'dial', 'sweep'"),
        ({"method": "Dial", "learner": SMALL}, "method is 'Dial'; it must be one of"),
        ({"lambdas": "9"}, "lambdas is '9'; it must be a whole number"),
        ({"imports": "nope!"}, "import 'nope!' is no module's name"),
        ({"imports": [5]}, r"imports is \[5\]; it must be a list, each entry a string"),
        ({"episode_length": "20"}, "the episode length is '20'; it must be a whole number"),
        ({"cost": 5}, "a cost is 5; write info:KEY"),
    ],
)
def test_wrong_arguments_of_a_frontier(options, said):
    one_line(saddle.frontier, Drift, match=said, **options)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"limits": "2"}, "limits are '2'; they must be numbers"),
        ({"limits": None}, "limits are None; they must be numbers"),
        ({"limits": -1}, "the limit -1 is not a cost; limits are finite and 0 or more"),
        ({"limits": (1, 2)}, "2 limit.s. are given, but .* has 1 constraint"),
        ({"multipliers": "1"}, "lambda is '1'; give a number"),
        ({"multipliers": 1}, "no policy in .* has a dial; leave the lambda out"),
        ({"episodes": "2"}, "episodes is '2'; it must be a whole number"),
        ({"episodes": 0}, "episodes is 0; it must be at least 1"),
        ({"task": 5}, "a task is 5; give a name"),
    ],
)
def test_wrong_arguments_of_an_evaluation(options, said):
    one_line(saddle.evaluate, "circle1-fixed-1", match=said, **options)


def test_a_dial_is_asked_about_tasks_and_whole_numbers():
    one_line(saddle.dial, "circle1-dial", 2, task=5, match="a task is 5; give a name")
    one_line(saddle.dial, "circle1-dial", 2, episodes="10", match="episodes is '10'; it must be")


def test_trainings_and_tasks_are_made_from_what_a_frontier_takes():
    """An environment that is made already is none of it."""
    for make in (Drift, saddle.Environment(Drift, length=20)):
        assert saddle.make(make).environment.source == "toy_environments:Drift"
    made = saddle.Environment(Drift, length=20)
    assert name_of(made) == "toy_environments:Drift?length=20"
    for take in (saddle.make, saddle.train, saddle.frontier):
        one_line(partial(take, Drift(), out="s"), match="is made already, of the class Drift; give")
    one_line(saddle.train, None, "s", match="a task is None; give a name")


def test_an_environment_is_shown_though_no_text_names_it():
    environment = saddle.Environment(Drift, length=20)
    assert str(environment) == repr(environment)
    one_line(environment.reference, match="Drift is no part of a module, so no text can name it")


def test_figures_say_what_they_are_drawn_from(trained):
    for draw in (saddle.plot.frontier, saddle.plot.profile, saddle.plot.seeds):
        one_line(draw, trained, match=r"give what is found of one, as saddle.analyze\(study\).task")
    one_line(saddle.plot.training, None, match="study is None; give one")
    one_line(saddle.plot.training, trained, ax=5, match="ax is 5; give axes")
    assert saddle.plot.training(trained.path).get_ylabel() == "return"
    one_line(trained.policy, None, match="run is None; give the name of one")


def test_limits_may_be_one_number_and_studies_may_stand_for_their_paths(trained):
    (part,) = saddle.analyze(trained, limits=0.25).tasks
    assert part.task == BANDIT
    one_line(saddle.analyze, trained, limits="25", match="they must be numbers")
    one_line(saddle.dial, trained, "25", match="they must be numbers")
    assert len(saddle.evaluate(trained, episodes=2)) == 4
    one_line(saddle.evaluate, trained, multipliers=(1.0,), match="has a dial; leave the lambda out")
    one_line(saddle.dial, trained, 0.25, match="holds no policy with a dial")


def test_what_is_registered_can_make_a_task():
    one_line(saddle.register, "Three", 3, match="Three cannot be made from 3; give a class")


def test_a_policy_refuses_observations_of_another_task():
    policy = saddle.load_policy("circle1-fixed-1")
    for obs in (np.ones(1), 3.0, np.ones(27)):
        one_line(policy, obs, match="an observation of SafetyPointCircle1-v0 has 28 numbers")
    assert policy(np.ones((5, 28))).shape == (5, 2)


def test_names_are_no_pictures(capsys):
    console().print("my_tasks:Car and jt:One")
    assert capsys.readouterr().out == "my_tasks:Car and jt:One\n"


def test_numbers_that_are_not_whole_are_told_plainly(capsys):
    assert main(["check", "gym:CartPole-v1", "--episode-length", "1e3"]) == 2
    said = capsys.readouterr().err
    assert "--episode-length cannot be '1e3'; it takes whole numbers" in said


def test_a_training_of_which_nothing_is_left_says_so(tmp_path, capsys):
    small = ["--learner.steps-per-epoch", "100", "--learner.hidden", "4", "--steps", "200"]
    words = ["train", "learners.toys:Broken", "--limit", "1", *small, "--out", str(tmp_path / "s")]
    assert main(words) == 1
    said = capsys.readouterr().out
    assert "no run came to its end" in said and "done:" not in said


def test_a_frontier_goes_on_by_its_own_method(tmp_path, capsys):
    small = ["--learner.steps-per-epoch", "100", "--learner.hidden", "4", "--learner.worlds", "1"]
    words = ["frontier", BANDIT, "--out", str(tmp_path / "f"), "--steps", "200", "--seeds", "1"]
    assert main([*words, "--method", "sweep", "--lambdas", "3", *small]) == 0
    capsys.readouterr()
    assert main([*words, "--lambdas", "3", *small, "--resume"]) == 2
    assert "holds a frontier by the method 'sweep'; go on with the same" in capsys.readouterr().err


def test_a_unit_that_lost_its_runs_is_told(store, capsys):
    (unit,) = (store / "runs").glob("*.parquet")
    plan = saddle.open_study(store)
    unit.unlink()
    one_line(
        saddle.train,
        BANDIT,
        store,
        limits=0.25,
        seeds=2,
        steps=200,
        learner=SMALL,
        resume=True,
        match=f"{unit} is damaged .it is missing.; restore it from a copy",
    )
    assert plan.damage() and "it is missing" in plan.damage()[0]


def test_metrics_that_are_gone_are_told(store, capsys):
    (unit,) = (store / "metrics").iterdir()
    shutil.rmtree(unit)
    assert main(["study", "status", str(store)]) == 0
    assert "nothing is there any more" in " ".join(capsys.readouterr().out.split())


def test_a_manifest_without_a_name_is_told(store, capsys):
    (store / "manifest.json").write_text(json.dumps({"schema": 2}))
    for verb in (["study", "status"], ["analyze"]):
        assert main([*verb, str(store)]) == 2
        assert "is damaged (it has no name)" in capsys.readouterr().err


def test_negative_costs_are_told_where_a_frontier_is(tmp_path):
    runs, metrics = _sweep_of_costs(-1.0)
    (part,) = saddle.analysis.analyze(runs, metrics).tasks
    assert any(note.startswith("Some final costs are negative") for note in part.notes)
    assert not any("Every final cost" in note for note in part.notes)


def _sweep_of_costs(sign):
    from saddle.analysis.simulate import LINE, simulate

    runs, metrics = simulate([LINE], np.random.default_rng(0), seeds=2, compare=False)
    return runs, metrics.with_columns(cost=sign * metrics["cost"])
