"""`saddle frontier`: from a task to lambda*, figures and the page, where the answer is known, by a
sweep and by a dial.
"""

from dataclasses import replace

import numpy as np
import pytest

import saddle
from saddle.analysis.dials import SEEN_IN_TRAINING
from saddle.cli import main
from saddle.learners.ppo.sizes import LAPTOP

TASK = "learners.toys:Bandit"
"""Best at lambda: cost 1 / (1 + lambda)^2. At the limit 0.25 lambda* is 1."""

TWIN = "learners.twins:BanditEnv?cost=info:cost&length=1"
"""The same as an environment of Gymnasium."""

LEARNER = {
    "hidden": (16, 16),
    "target_kl": 1e9,
    "critic_l2": 0.0,
    "steps_per_epoch": 512,
    "batch": 256,
    "passes": 6,
    "actor_lr": 0.01,
    "log_std": -2.5,
}
OFF = ("standardise", "obs_norm")


def settings():
    """The learner's settings as words of the command."""
    words = ["--learner.rsi", "off"]
    words += [f"--learner.no-{name.replace('_', '-')}" for name in OFF]
    for name, value in LEARNER.items():
        words.append(f"--learner.{name.replace('_', '-')}")
        words += map(str, value if isinstance(value, tuple) else (value,))
    return words


def command(out, *more, task=TASK, seeds=2):
    words = ["frontier", task, "--limit", "0.25", "--seeds", str(seeds), "--steps", "20480"]
    words += ["--out", str(out), "--lambdas", "7", "--method", "sweep"]
    return main([*words, *settings(), *more])


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    return tmp_path_factory.mktemp("frontier") / "bandit"


def assert_found(out):
    """lambda* is 1, but for the spread of actions, which costs a little too; returns the
    findings.
    """
    (task,) = saddle.analyze(out, limits=(0.25,)).tasks
    (at,) = task.limits
    assert at.lambda_.value == pytest.approx(1.0, rel=0.1)
    assert len(task.groups) == 7
    return task


def test_the_answer_is_found_and_drawn(out, capsys):
    assert command(out) == 0
    assert_found(out)
    said = capsys.readouterr().out
    assert "round 1 of 3, pilot: lambda 0.1, 1, 10" in said
    assert "the cost profile falls through 0.25" in " ".join(said.split())
    assert (out / "report.html").stat().st_size > 50_000
    assert (out / "figures" / "frontier-learners.toys-Bandit.png").exists()


def test_a_dial_has_the_answer_too(tmp_path, capsys):
    """Its range is looked at where the sweep has its multipliers; then it is set to the limit."""
    out = tmp_path / "dial"
    words = ["frontier", TASK, "--limit", "0.25", "--seeds", "2", "--steps", "92160", "--lambdas"]
    assert main([*words, "7", "--out", str(out), *settings()]) == 0
    said = " ".join(capsys.readouterr().out.split())
    (task,) = saddle.analyze(out, limits=(0.25,)).tasks
    assert task.algorithm == "conditioned" and len(task.groups) == 7
    assert SEEN_IN_TRAINING in task.notes
    assert task.limits[0].lambda_.value == pytest.approx(1.0, rel=0.15)
    for group in task.groups:
        assert group.cost.value == pytest.approx((1 + group.lambda_) ** -2, abs=0.07)
    assert "2 of 2 runs count" in said and f"next: saddle dial {out} --limit 0.25" in said
    assert (out / "report.html").exists() and (out / "figures").is_dir()
    for found in saddle.dial(out, (0.25,)):
        assert found.verdict == "kept"
        assert found.costs[0].value == pytest.approx(0.23, abs=0.02)
        assert found.multipliers[0] == pytest.approx(1.0, rel=0.3)
    study = saddle.open_study(out)
    (run, _) = study.runs["run"]
    assert f"--policy {study.policy_folder(run)} --limit 0.25" in said
    assert main(["export", str(out), "--run", run, "--out", str(tmp_path / "policy")]) == 0
    elsewhere = saddle.load_policy(tmp_path / "policy", multiplier=1.0)
    assert elsewhere(np.ones(1)) == study.policy(run, multiplier=1.0)(np.ones(1))


@pytest.mark.slow
def test_an_environment_has_the_frontier_of_its_twin_in_jax(out, tmp_path):
    assert command(tmp_path / "twin", task=TWIN, seeds=1) == 0
    ours = assert_found(tmp_path / "twin")
    theirs = assert_found(out)
    stars = [found.limits[0].lambda_.value for found in (ours, theirs)]
    assert stars[0] == pytest.approx(stars[1], rel=0.05)
    for name in ("cost", "return_"):
        one, other = (
            {group.lambda_: getattr(group, name).value for group in found.groups}
            for found in (ours, theirs)
        )
        for lam in one.keys() & other.keys():
            assert one[lam] == pytest.approx(other[lam], abs=0.06), (name, lam)


def test_a_finished_frontier_is_told_again_without_training(out, capsys):
    assert command(out) == 2
    assert "add --resume" in capsys.readouterr().err
    assert command(out, "--resume") == 0
    assert "epoch" not in capsys.readouterr().out
    study = saddle.frontier(
        TASK,
        out,
        limits=(0.25,),
        seeds=2,
        steps=20480,
        lambdas=7,
        learner=replace(LAPTOP, rsi="off", **LEARNER, **dict.fromkeys(OFF, False)),
        resume=True,
    )
    assert study.finished and study.runs.height == 14


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("--lambdas", "2"), "at least 3"),
        (("--limit", "-1"), "is not a cost"),
        (("--seeds", "0"), "at least 1"),
        (("--steps", "10"), "less than one epoch"),
        (("--steps", "0"), "steps is 0; it must be at least 1"),
        (("--method", "sweep", "--learner:conditioned"), "leave one of them out"),
        (("--method", "dial", "--learner:ppo"), "leave one of them out"),
    ],
)
def test_what_cannot_be_is_one_line(words, complaint, tmp_path, capsys):
    assert main(["frontier", TASK, "--out", str(tmp_path / "s"), *words]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert complaint in lines[-1]
    assert not lines[:-1] or lines[:-1] == [f"loading learners.toys for {TASK}"]
    assert not (tmp_path / "s").exists()
