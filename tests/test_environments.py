"""Environments of somebody else through the verbs: checked, trained on, gone on with, evaluated,
read.
"""

import json
import sys

import jax
import numpy as np
import polars as pl
import pytest
import toy_environments as toys
from learners.running import through_a_file

import saddle
from saddle import tasks
from saddle.cli import main
from saddle.config import Member
from saddle.errors import SaddleError
from saddle.learners import PPO
from saddle.multipliers import Fixed
from saddle.population import Population
from saddle.study.pace import Pace
from saddle.tasks import registry
from saddle.trial import play, seeds_repeat

SMALL = "--learner.steps-per-epoch 40 --learner.batch 40 --learner.hidden 4 --learner.passes 1"
TRAINED = "toy_environments:Drift?cost=info:cost&length=10"


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    out = tmp_path_factory.mktemp("environment") / "t"
    words = ["toy_environments:Drift", "--cost", "cost", "--episode-length", "10"]
    short = [*SMALL.split(), "--steps", "80", "--limit", "3"]
    assert main(["train", *words, *short, "--out", str(out)]) == 0
    return out


def test_a_training_names_its_environment_wholly(trained):
    study = saddle.open_study(trained)
    assert study.runs["task"].to_list() == [TRAINED]
    assert study.metrics["cost"].is_finite().all()
    run = study.runs["run"][0]
    assert run.startswith("toy_environments_Drift_") and run.endswith("-ppo-ga-d3-s0")
    facts = json.loads((study.policy_folder(run) / "policy.json").read_text())
    assert facts["task"] == TRAINED


def test_policies_play_in_another_environment(trained, capsys):
    """In that of another interface, and of another interpreter."""
    other = "toy_environments:Six"
    words = ["--episodes", "3", "--json", "--seed", "4"]
    assert main(["evaluate", str(trained), *words]) == 0
    own = json.loads(capsys.readouterr().out)
    moved = ["--task", other, "--episode-length", "10", "--python", sys.executable]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(str(toys.__file__).rpartition("/")[0])
        assert main(["evaluate", str(trained), *words, *moved]) == 0
    six = json.loads(capsys.readouterr().out)
    assert [score["return_mean"] for score in own] == [score["return_mean"] for score in six]
    assert [2 * score["cost_mean"] for score in own] == [score["cost_mean"] for score in six]
    assert six[0]["task"] == f"{other}?length=10&python={sys.executable}"
    assert main(["evaluate", str(trained), "--task", "toy_environments:Anew?length=5"]) == 2
    assert "maps 2 observations to 2 actions; the task has 1 and 1" in capsys.readouterr().err
    assert main(["evaluate", str(trained), "--cost", "cost"]) == 2
    assert "name it with --task" in capsys.readouterr().err


def test_few_worlds_at_a_time_play_the_same(trained, monkeypatch, capsys):
    """Where memory holds no more."""
    words = ["evaluate", str(trained), "--episodes", "5", "--json"]
    assert main(words) == 0
    together = capsys.readouterr().out
    monkeypatch.setattr("saddle.rollouts._room_for_worlds", lambda task: 3)
    assert main(words) == 0
    assert capsys.readouterr().out == together


def test_reading_imports_nothing(trained, monkeypatch, tmp_path, capsys):
    """Neither here nor in a process: there is no such module any more."""
    monkeypatch.delitem(sys.modules, "toy_environments", raising=False)
    folder = str(toys.__file__).rpartition("/")[0]
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry != folder])
    monkeypatch.setattr("saddle.tasks.gymnasium.facts.Process", None)
    for words in (
        ("analyze", trained),
        ("figures", trained, "--out", tmp_path / "figures"),
        ("report", trained, "--out", tmp_path / "r.html"),
        ("study", "status", trained),
        ("study", "export", trained, "--csv", tmp_path / "csv"),
        ("export", trained, "--out", tmp_path / "policy"),
    ):
        assert main([str(word) for word in words]) == 0, words
    assert saddle.load_policy(tmp_path / "policy")(np.zeros(2, np.float32)).shape == (2,)
    assert "toy_environments" not in sys.modules
    assert list(tmp_path.glob("figures/training-toy_environments-Drift-*-3.pdf"))


def rollouts(population, state, count):
    """So many epochs without what is learned from them."""
    found = []
    for _ in range(count):
        worlds, moments, rollout = population.compiled_rollout()(state)
        state = state._replace(epoch=state.epoch + 1, worlds=worlds, moments=moments)
        found.append(jax.tree.map(np.asarray, rollout))
    return state, found


@pytest.mark.parametrize("kind", ["Drift", "Unpicklable"])
def test_worlds_of_the_wide_layout_go_on(kind, tmp_path):
    """Exactly where they can be saved; else with new episodes, the first of which are cut where the
    saved ones would have ended. Whole ones alone count.
    """
    learner = PPO(layout="wide", worlds=4, steps_per_epoch=28, hidden=(4,), window=9)
    task = f"toy_environments:{kind}?cost=info:cost&length=10"
    members = [Member(seed, Fixed(1.0), (3.0,)) for seed in (0, 1)]
    population = Population(task, learner, members, 280)
    _, through = rollouts(population, population.init(), 4)
    state, _ = rollouts(population, population.init(), 2)
    resumed = Population(task, learner, members, 280)
    state = through_a_file(resumed, state, tmp_path / "state")
    _, after = rollouts(resumed, state, 2)
    if kind == "Drift":
        for one, other in zip(through[2:], after, strict=True):
            jax.tree.map(np.testing.assert_array_equal, one, other)
    counted = np.concatenate([one.counted for one in after])
    lengths = np.concatenate([one.finished for one in after])[counted][:, 1]
    assert len(lengths) and (lengths == 10).all()
    # In 14 steps, worlds at steps 4, 6, 9 and 1 end at 6, 4, 1 and 9, and two once more.
    assert counted.sum() == (2 * 2 if kind == "Unpicklable" else through_count(through[2:]))


def through_count(found):
    return sum(one.counted.sum() for one in found)


def test_functions_of_a_program_are_environments(monkeypatch):
    """They travel to the processes by themselves, with what they close over."""
    monkeypatch.setattr(registry, "_TASKS", dict(registry._TASKS))
    limit = 0.25

    def make():
        return toys.Drift()

    def dear(obs, action, reward, info):
        return float(abs(obs[0]) > limit), info["speed"]

    environment = saddle.Environment(make, cost=[dear, "cost"], length=10)
    saddle.register("HomeDrift", environment)
    task = saddle.make("HomeDrift")
    assert task.spec.constraints == ("dear_0", "dear_1", "cost")
    worlds = task.worlds(1)
    worlds.reset(np.zeros(1, np.uint64))
    for _ in range(10):
        step = worlds.step(np.array([[0.0, 0.5]]))
        far = float(abs(step.final_obs[0, 0]) > limit)
        assert step.cost[0].tolist()[:2] == [far, 1.0]
    with pytest.raises(SaddleError, match="cannot run in another interpreter"):
        _ = tasks.registry.EnvironmentTask(
            saddle.Environment(make, length=3, python=sys.executable)
        ).spec
    with pytest.raises(SaddleError, match="takes no options: width"):
        saddle.make("HomeDrift", width=3)


def test_plain_references_may_turn_out_to_be_environments(capsys):
    """Without any option: its own cost and its own limit."""
    task = saddle.make("toy_environments:Old")
    assert task.spec.constraints == ("cost",) and task.spec.episode_length == 6
    assert main(["play", "toy_environments:Old", "--out", "/nowhere/x.png"]) == 2
    assert "there is no folder /nowhere" in capsys.readouterr().err


def check(capsys, *words):
    capsys.readouterr()
    code = main(["check", *words, "--quick", "--json"])
    report = json.loads(capsys.readouterr().out)
    return code, report, " | ".join(problem["text"] for problem in report["problems"])


def test_check_of_what_is_fine(capsys):
    code, report, said = check(
        capsys, "toy_environments:Drift", "--cost", "cost", "--episode-length", "10"
    )
    assert code == 0 and said == ""
    assert report["spec"]["obs_dim"] == 2 and report["seeds_repeat"] is True
    assert report["saved"] == "pickle" and report["steps_per_second"] > 0
    tried = report["random_policy"]
    assert tried["episodes"] >= 30 and set(tried["length"]) == {10.0}
    assert main(["check", TRAINED, "--quick"]) == 0
    out = capsys.readouterr().out
    assert "spread over -2 to 4" in out and "nothing that would make a training wrong" in out


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        ("Drift --cost cost", 1, "does not tell its time limit"),
        (
            "Vector --reward 0 --episode-length 9",
            1,
            "nothing says what its cost is: add one",
        ),
        ("Vector --reward 0 --cost=1 --episode-length 9", 1, "its cost falls to -2; a cost is 0"),
        ("Vector --reward 0 --cost=-1 --episode-length 9", 0, "every step costs 2, whatever is"),
        (
            "Vector --reward 0 --cost 2 --episode-length 9",
            0,
            "every step earns 1, whatever is done",
        ),
        ("Drift --cost terminated --episode-length 9", 0, "a random policy never pays"),
        ("Late --episode-length 9", 0, "only the last step of an episode costs"),
        ("Late --episode-length 9", 0, "on average, which values take long"),
        ("Late --episode-length 9", 0, "entry 1 went from"),
        ("Faint --episode-length 9", 0, "which drowns in noise"),
        ("Drift --cost cost --episode-length 20", 0, "make that 15 if it is the time limit"),
        ("NeedsArguments --episode-length 9", 1, "cannot be made without size; name a function"),
        ("Pixels --episode-length 9", 0, "observations are pixels, 192 numbers, and networks here"),
        ("Crowded --episode-length 9", 0, "many, 2000 numbers"),
        ("Unseeded --episode-length 9", 0, "do not repeat an episode"),
        ("Drift --cost cost --episode-length 30000", 1, "is longer than an epoch of 20000"),
        ("AlwaysRaises --cost cost --episode-length 9", 1, "ValueError: the gear broke"),
        ("AlwaysNaN --cost cost --episode-length 9", 1, "its observation is nan; it must be"),
    ],
)
def test_check_of_what_is_not(words, code, says, capsys, monkeypatch):
    monkeypatch.setattr("saddle.trial.SECONDS", 0.5)
    found, _, said = check(capsys, *f"toy_environments:{words}".split())
    assert says in said
    assert found == code


def test_check_advises_no_cost_without_horizon(capsys, monkeypatch):
    """With a discount of 1 the value behind a time limit is that of falling at some time."""
    monkeypatch.setattr("saddle.trial.SECONDS", 0.5)
    _, _, said = check(capsys, "toy_environments:Late", "--episode-length", "9")
    assert "let each step cost what brings that end nearer" in said
    assert "gamma" not in said


def test_check_of_other_tasks(capsys):
    """A task of JAX, and one of the host that is no environment."""
    code, report, said = check(capsys, "SafetyPointCircle1-v0")
    assert code == 0 and said == "" and report["seeds_repeat"] is True
    assert 0 < report["random_policy"]["share_of_steps_with_cost"][0] < 1
    code, report, _ = check(capsys, "SafetyHalfCheetahVelocity-v1")
    assert code == 0 and "saved" not in report
    assert main(["check", "SafetyPointGoal1-v0", "--cost", "cost"]) == 2
    assert "has costs and a length of its own" in capsys.readouterr().err


def test_check_tells_of_actions_without_bounds(capsys):
    """The twins of the closed-form tasks take any number."""
    code, _, said = check(
        capsys, "learners.twins:BanditEnv", "--cost", "cost", "--episode-length", "1"
    )
    assert code == 0 and "1 of 1 actions have no bounds" in said


def test_check_forecasts_a_frontier(capsys, monkeypatch):
    """A policy with a dial for each of 3 seeds, 70 epochs of 16,000 steps each."""
    monkeypatch.setattr("saddle.study.estimate.of_task", lambda *given: Pace(10.0, 0.5))
    assert main(["check", TRAINED, "--json"]) == 0
    frontier = json.loads(capsys.readouterr().out)["frontier"]
    assert frontier == {
        "seconds": 10 + 0.5 * 3 * 70,
        "seeds": 3,
        "steps": 1_120_000,
    }


def test_check_says_what_it_knows_before_it_measures(capsys, monkeypatch):
    """Measuring takes long where something is to be said."""
    said = []

    def slow(*given):
        said.append(capsys.readouterr().out)
        return Pace(10.0, 0.5)

    monkeypatch.setattr("saddle.study.estimate.of_task", slow)
    task = "toy_environments:Pixels"
    assert main(["check", task, "--episode-length", "9"]) == 0
    assert "networks here have no convolutions" in said[0] and "GB of memory" in said[0]
    assert "a frontier here  about" in capsys.readouterr().out


def test_a_trial_counts_what_its_worlds_did():
    """Totals of episodes are those of their steps."""
    task = saddle.make(TRAINED)
    trial = play(task)
    whole = trial.ended.sum()
    assert len(trial.returns) == whole == len(trial.costs)
    assert trial.lengths.sum() == len(trial.step_rewards)
    np.testing.assert_allclose(trial.returns.sum(), trial.step_rewards.sum(), rtol=1e-4)
    np.testing.assert_allclose(trial.costs.sum(0), trial.step_costs.sum(0), rtol=1e-4)
    assert seeds_repeat(task)
    assert pl.Series(trial.lowest).is_finite().all() and (trial.lowest <= trial.highest).all()


def test_what_is_not_the_environments_own_is_measured(capsys, monkeypatch):
    monkeypatch.setattr("saddle.bench.host.SECONDS", 0.02)
    monkeypatch.setattr("saddle.bench.host.SHORT_ROUNDS", 2)
    assert main(["bench", "host", TRAINED, "--worlds", "4", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["worlds"] == 4 and found["processes"] >= 1
    for what in ("stepping", "collecting"):
        assert found[what] > 0 and 0 < found[f"{what}_overhead"] < 1
    assert found["collecting_compiled"] > 0
    assert main(["bench", "host", TRAINED, "--worlds", "2"]) == 0
    assert "not the environment's own" in capsys.readouterr().out
