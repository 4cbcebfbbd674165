"""Trained policies played in one program, each as if alone; tasks with several constraints; what is
said besides.
"""

import dataclasses
import json
import shutil
from itertools import pairwise
from pathlib import Path
from typing import ClassVar

import jax
import numpy as np
import pytest
from learners.toys import Chain, TwoCosts

import saddle
from saddle import evaluation, policies, progress, rollouts
from saddle.analysis import Options
from saddle.cli import main
from saddle.collect.steps import first_keys
from saddle.files import write_json
from saddle.learners import PPO
from saddle.multipliers import GradientAscent
from saddle.policies import Form, NetworkPolicy, Weights
from saddle.report.curves import training_curves
from saddle.report.page.data import study_data
from saddle.study.columns import runs_frame
from saddle.study.writer import manifest, write_runs
from saddle.tasks import registry
from saddle.tasks.host import HostStep
from saddle.verbs.train import train

LOGS = Path(__file__).parent / "data" / "omnisafe_logs"


class Counted(Chain):
    """The chain, remembering how often it was traced."""

    traced = 0

    def step(self, state, action):
        Counted.traced += 1
        return super().step(state, action)


@pytest.fixture(autouse=True, scope="module")
def toys():
    """Small tasks under names of their own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(registry, "_TASKS", dict(registry._TASKS))
        for task in (Chain, Counted, TwoCosts):
            registry.register(task.__name__, task)
        yield


def made(number, task="Chain", obs_dim=2, hidden=(64, 64)):
    """A policy with random weights."""
    draw = np.random.default_rng(number)
    widths = (obs_dim, *hidden, 1)
    layers = []
    for before, after in pairwise(widths):
        w = draw.normal(size=(before, after)) / np.sqrt(before)
        layers.append((w.astype(np.float32), draw.normal(size=after).astype(np.float32)))
    ones = np.ones(obs_dim, np.float32)
    spread = np.full(1, 0.3, np.float32)
    return NetworkPolicy(
        task, Form(widths, "tanh", 5.0), Weights(tuple(layers), 0 * ones, ones, spread)
    )


def test_a_policy_does_not_depend_on_its_company(monkeypatch):
    monkeypatch.setattr(rollouts, "WORLDS", 30)
    five = [made(i) for i in range(5)]
    together = rollouts.play(five, 6, seed=3)
    assert together.shape == (5, 2, 6, 3)
    for i in (0, 3):
        np.testing.assert_array_equal(rollouts.play([five[i]], 6, seed=3)[0], together[i])
    np.testing.assert_array_equal(rollouts.play(five[::-1], 6, seed=3)[::-1], together)
    assert not np.array_equal(together[0], together[1])
    assert not np.array_equal(together[:, 0], together[:, 1])
    assert not np.array_equal(rollouts.play(five, 6, seed=4), together)


@pytest.mark.parametrize("worlds", [1, 12, 1000])
def test_nor_on_the_size_of_a_batch(worlds, monkeypatch):
    three = [made(i) for i in range(3)]
    plain = rollouts.play(three, 6, seed=0)
    monkeypatch.setattr(rollouts, "WORLDS", worlds)
    np.testing.assert_allclose(rollouts.play(three, 6, seed=0), plain, rtol=1e-4)


def test_the_worlds_and_the_noise_are_those_of_the_seed():
    """As they were when each policy was played by a program of its own."""
    policy, task = made(0), Chain()
    state = jax.vmap(task.reset)(first_keys(jax.random.key(5)[None], 4))
    total = np.zeros(4)
    for key in jax.random.split(jax.random.key(6), task.spec.episode_length):
        centre = policies.output(policy.form, policy.weights, state.obs)
        action = centre + np.exp(0.3) * jax.random.normal(key, centre.shape)
        state = jax.vmap(task.step)(state, action)
        total += np.asarray(state.reward)
    np.testing.assert_allclose(
        rollouts.play([policy], 4, seed=5)[0, 1, :, 0], total, rtol=1e-4, atol=1e-5
    )


def test_one_program_plays_them_all(monkeypatch):
    monkeypatch.setattr(rollouts, "WORLDS", 12)  # two slots a batch: every policy is a call
    saddle.make("Counted")  # the first time, its shapes are checked
    counts = []
    for policies_of_one_form in ([made(0, "Counted")], [made(i, "Counted") for i in range(9)]):
        Counted.traced = 0
        through: list[int] = []
        rollouts.play(policies_of_one_form, 6, 0, through.append)
        assert through == list(range(1, len(policies_of_one_form) + 1))
        counts.append(Counted.traced)
    assert counts[0] == counts[1] > 0


def test_policies_are_sorted_by_what_one_program_can_play():
    found = [made(0), made(1, hidden=(8,)), made(2), made(3, "Counted")]
    assert list(rollouts.by_form(found)) == [("Chain", [0, 2]), ("Chain", [1]), ("Counted", [3])]


def test_a_batch_is_bounded_by_worlds_and_by_weights(monkeypatch):
    monkeypatch.setattr(rollouts, "WORLDS", 100)
    small, large = Form((2, 1), "tanh", None), Form((60, 4096, 4096, 2), "tanh", None)
    assert [rollouts.slots(small, episodes) for episodes in (1, 7, 100, 5000)] == [100, 14, 1, 1]
    assert 1 < rollouts.slots(large, 1) < 100


class Pendulums:
    """Worlds on the host: the observation counts steps from the seed on, an episode ends after 3 +
    seed % 3 steps.
    """

    batches: ClassVar[list[int]] = []

    def __init__(self, worlds):
        self.spec = Chain().spec
        self.batches.append(worlds)

    def reset(self, seeds):
        self.seeds, self.steps = seeds.astype(np.int64), np.zeros(len(seeds), np.int64)
        return self._obs()

    def _obs(self):
        return np.column_stack([self.seeds % 10, self.steps]).astype(np.float32) / 10

    def step(self, actions):
        self.steps += 1
        obs, ended = self._obs(), self.steps >= 3 + self.seeds % 3
        self.steps[ended] = 0
        return HostStep(self._obs(), obs, actions[:, 0], np.ones((len(actions), 1)), ended, ended)


class OnTheHost:
    spec = Chain().spec

    def worlds(self, n, threads=None):
        return Pendulums(n)


def test_worlds_of_the_host_are_one_batch_too(monkeypatch):
    monkeypatch.setitem(registry._TASKS, "Chain", registry.Entry("Chain", OnTheHost, None, "here"))
    monkeypatch.setattr(rollouts, "WORLDS", 24)  # four slots
    monkeypatch.setattr(Pendulums, "batches", [])
    three = [made(i) for i in range(3)]
    together = rollouts.play(three, 6, seed=2)
    assert Pendulums.batches == [
        24,
        12,
    ]  # two policies in both modes, then one: none is stepped that does not count
    np.testing.assert_array_equal(
        together[..., 1], np.broadcast_to(3 + np.arange(12, 18) % 3, (3, 2, 6))
    )
    np.testing.assert_array_equal(together[..., 2], together[..., 1])
    for i in range(3):
        np.testing.assert_array_equal(rollouts.play([three[i]], 6, seed=2)[0], together[i])
    assert not np.array_equal(together[0, 0, :, 0], together[0, 1, :, 0])


@pytest.fixture(scope="module")
def two_costs(toys, tmp_path_factory):
    """A study of the task with two constraints: near and far."""
    ppo = PPO(steps_per_epoch=64, worlds=8, hidden=(8, 8), batch=32, passes=1)
    out = tmp_path_factory.mktemp("costs") / "two"
    assert train("TwoCosts", GradientAscent(), (0.5, 1e-6), 2, 128, out, ppo, False, None) == 0
    return out


def test_every_constraint_is_judged(two_costs, capsys):
    capsys.readouterr()
    assert main(["evaluate", str(two_costs), "--episodes", "4", "--json"]) == 0
    said = capsys.readouterr()
    scores = json.loads(said.out)
    assert [(one["constraint"], one["limit"]) for one in scores] == [
        ("near", 0.5),
        ("far", 1e-6),
    ] * 4
    assert all(one["violating"] == 1 for one in scores if one["constraint"] == "far")
    assert {one["violating_any"] for one in scores} == {1.0}
    assert {one["return_mean"] for one in scores[:2]} == {scores[0]["return_mean"]}
    assert "evaluating 2 policies of TwoCosts: 0/2" in said.err
    assert "evaluating 2 policies of TwoCosts: 2/2" in said.err
    assert main(["evaluate", str(two_costs), "--episodes", "2", "--limit", "9", "8"]) == 0
    table = capsys.readouterr().out
    assert "constraint" in table and "near" in table and "far" in table
    assert main(["evaluate", str(two_costs), "--limit", "9"]) == 2
    assert "2 constraint(s): near, far" in capsys.readouterr().err


def analysed(capsys, study, *words):
    capsys.readouterr()
    assert main(["analyze", str(study), "--json", *words]) == 0
    return json.loads(capsys.readouterr().out)["tasks"]


def test_analysis_looks_at_each_constraint_or_the_one_that_is_named(two_costs, capsys):
    near, far = analysed(capsys, two_costs)
    assert near["notes"][0].startswith("Looked at the first of 2 constraints: near.")
    assert near["notes"][0].endswith("The others keep their limits: far 1e-06.")
    for word in ("1", "far"):
        (second,) = analysed(capsys, two_costs, "--constraint", word)
        assert second["constraint"]["name"] == "far" and second["comparison"] == far["comparison"]
    ours, theirs = near["comparison"][0], far["comparison"][0]
    assert (ours["limit"], theirs["limit"]) == (0.5, 1e-6) and theirs["violated"]
    assert ours["other_costs"][0] == theirs["cost"] != ours["cost"]
    assert ours["violated"] and ours["violation"]["share"] == 1  # far is above its limit
    for words, said in (
        (("--constraint", "2"), "there is no constraint 2 here"),
        (("--constraint", "fat"), "there is no constraint 'fat' here; did you mean 'far'?"),
        (("--limit", "3"), "2 constraints: near, far; give one value for each"),
    ):
        assert main(["analyze", str(two_costs), *words]) == 2
        assert said in capsys.readouterr().err


def test_report_and_figures_look_at_each_constraint_too(two_costs, tmp_path, capsys):
    study = saddle.open_study(two_costs)
    curves = []
    parts = study_data(study, Options(replicates=100))["tasks"]
    assert [part["constraint"] for part in parts] == ["near (far at 1e-06)", "far (near at 0.5)"]
    training = training_curves(study.runs, study.scan_metrics())
    for i, part in enumerate(parts):
        assert part["series"][0]["limit"] == (0.5, 1e-6)[i]
        assert "all constraints together" in part["together"][0]
        curves.append(part["series"][0]["curves"]["cost"])
        drawn = training.filter(constraint=i)["cost_mean"].to_numpy()
        stored = study.metrics["cost_1" if i else "cost"].to_numpy()
        np.testing.assert_allclose(drawn.mean(), stored.mean(), rtol=1e-5)
    assert curves[0] != curves[1]
    words = [str(two_costs), "--constraint", "far", "--out"]
    assert main(["report", *words, str(tmp_path / "page.html")]) == 0
    page = (tmp_path / "page.html").read_text()
    assert "TwoCosts, ppo, far (near at 0.5)" in page and "near (far at" not in page
    assert main(["figures", str(two_costs), "--out", str(tmp_path / "figures")]) == 0
    assert "Looked at the second of 2 constraints: far" in " ".join(capsys.readouterr().out.split())
    drawn = {file.name for file in (tmp_path / "figures").glob("rules-*.pdf")}
    assert drawn == {"rules-TwoCosts-near-at-1e-06.pdf", "rules-TwoCosts-far-at-0.5.pdf"}
    assert (tmp_path / "figures" / "joint.csv").exists()


def test_a_study_without_policies_says_so(two_costs, tmp_path, capsys):
    bare = Path(shutil.copytree(two_costs, tmp_path / "bare"))
    shutil.rmtree(bare / "policies" / saddle.open_study(bare).runs["run"][0])
    capsys.readouterr()
    assert main(["evaluate", str(bare), "--episodes", "1", "--json"]) == 0
    said = capsys.readouterr()
    assert len(json.loads(said.out)) == 4 and "1 of 2 finished runs have no policy here" in said.err
    told: list[str] = []
    scores = saddle.evaluate(bare, episodes=1, on_message=told.append)
    assert [dataclasses.asdict(score) for score in scores] == json.loads(said.out)
    assert told == ["1 of 2 finished runs have no policy here; they are left out"]
    assert capsys.readouterr() == ("", "")
    shutil.rmtree(bare / "policies")
    assert main(["evaluate", str(bare)]) == 2
    error = capsys.readouterr().err
    assert "no policies here: 2 runs are finished" in error and "was not kept" in error
    assert len(error.splitlines()) == 1


def test_nor_has_an_import_any(tmp_path, capsys):
    assert main(["import", "omnisafe", str(LOGS), "--out", str(tmp_path / "s")]) == 0
    capsys.readouterr()
    assert main(["evaluate", str(tmp_path / "s")]) == 2
    error = capsys.readouterr().err
    assert "no policies here: its 6 finished runs were imported from logs" in error
    run = saddle.open_study(tmp_path / "s").runs["run"][0]
    assert main(["export", str(tmp_path / "s"), "--run", run, "--out", str(tmp_path / "p")]) == 2
    assert "the run is done, but the study was imported" in capsys.readouterr().err


def test_nor_has_a_study_that_is_not_finished(tmp_path, capsys):
    write_runs(tmp_path, "u", runs_frame([{"run": "a", "task": "Chain", "status": "planned"}]))
    write_json(tmp_path / "manifest.json", manifest("s", None, {}))
    assert main(["evaluate", str(tmp_path)]) == 2
    assert "holds no finished run yet; 'saddle study status" in capsys.readouterr().err


def test_export_names_runs_and_who_lists_them(two_costs, tmp_path, capsys):
    names = saddle.open_study(two_costs).runs["run"].to_list()
    capsys.readouterr()
    assert main(["export", str(two_costs), "--run", "nope", "--out", str(tmp_path / "p")]) == 2
    error = capsys.readouterr().err
    assert all(name in error for name in names)
    assert f"'saddle study export {two_costs} --csv FOLDER' lists them all in runs.csv" in error
    assert main(["study", "export", str(two_costs), "--csv", str(tmp_path / "csv")]) == 0
    assert all(name in (tmp_path / "csv" / "runs.csv").read_text() for name in names)


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("--seed", "-1"), "a seed must be a whole number from 0"),
        (("--seed", str(2**32)), "a seed must be a whole number from 0"),
        (("--limit", "-1", "1"), "limits are finite and 0 or more"),
        (("--episodes", "0"), "at least 1"),
    ],
)
def test_bad_input_gets_one_line(two_costs, words, complaint, capsys):
    capsys.readouterr()
    assert main(["evaluate", str(two_costs), *words]) == 2
    error = capsys.readouterr().err
    assert complaint in error and len(error.splitlines()) == 1


def test_lines_come_now_and_then(capsys, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    with progress.counting("counting sheep", 9) as done:
        for count, now[0] in ((1, 1.0), (2, 11.0), (3, 12.0), (9, 12.5)):
            done(count)
    said = capsys.readouterr()
    assert not said.out
    assert said.err.splitlines() == [f"counting sheep: {count}/9" for count in (0, 2, 9)]


def test_on_a_terminal_a_bar_goes_to_stderr(capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    with progress.counting("counting sheep", 9) as done:
        done(9)
    said = capsys.readouterr()
    assert not said.out and "9/9" in said.err and "\x1b[" in said.err


def test_modes_are_named_in_the_order_they_are_played():
    assert evaluation.MODES == ("deterministic", "stochastic")
    one = made(0, "TwoCosts", obs_dim=1)  # which sees the same in every world
    by_mean, as_trained = rollouts.play([one], 5, seed=0)[0]
    assert len(set(by_mean[:, 0])) == 1 and len(set(as_trained[:, 0])) == 5
