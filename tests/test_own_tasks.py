"""Tasks of a package outside the tree, one in JAX and one on the host, taken through the verbs: the
docs' examples.

The JAX task is trained by reference, in a study; the host task by the name of its entry point.
"""

import json
import sys

import gymnasium
import numpy as np
import pytest
from gymnasium.envs import registration
from own_tasks import write_package
from PIL import Image

import saddle
import saddle.gym
from saddle.bench import host as bench_host
from saddle.bench import tasks as bench_tasks
from saddle.cli import main
from saddle.errors import SaddleError
from saddle.study import open_study
from saddle.tasks import registry

CORRIDOR, TANK = "outside.tasks:Corridor", "OutsideTank"
STUDY = f"""
tasks = ["{CORRIDOR}"]
seeds = 2
steps = 400
[learner]
steps_per_epoch = 200
hidden = [8, 8]
passes = 1
batch = 100
[[stages]]
name = "sweep"
lambdas = [0.1, 10.0]
[[stages]]
name = "compare"
rules = [{{ rule = "ga" }}]
limits = {{ "{CORRIDOR}" = [5] }}
"""
SMALL = (
    "--learner.steps-per-epoch",
    "200",
    "--learner.hidden",
    "8",
    "8",
    "--learner.passes",
    "1",
    "--learner.batch",
    "100",
)


def forget() -> None:
    """The package as if it had never been imported."""
    for name in ("outside", "outside.tasks"):
        sys.modules.pop(name, None)


@pytest.fixture(scope="module", autouse=True)
def was_imported(tmp_path_factory):
    """The package is installed for this file; the path is of the file that it leaves when it is
    imported.
    """
    folder = tmp_path_factory.mktemp("outside")
    left_behind = write_package(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder))
        patch.setattr(registry, "_TASKS", dict(registry._TASKS))
        patch.setattr(registry, "_packages_read", False)
        patch.setattr(registration, "registry", dict(registration.registry))
        yield left_behind
    forget()


@pytest.fixture(scope="module")
def study(was_imported, tmp_path_factory):
    """A study of the JAX task."""
    folder = tmp_path_factory.mktemp("study")
    (folder / "s.toml").write_text(STUDY)
    assert main(["study", "run", str(folder / "s.toml"), "--out", str(folder / "s")]) == 0
    return folder / "s"


@pytest.fixture(scope="module")
def heated(was_imported, tmp_path_factory):
    """A training on the host task."""
    out = tmp_path_factory.mktemp("trained") / "t"
    words = ["train", TANK, "--out", str(out), "--limit", "3", "--steps", "600", *SMALL]
    assert main(words) == 0
    return out


def said_by(capsys, *words: str) -> tuple[str, str]:
    capsys.readouterr()
    assert main(words) == 0
    return tuple(capsys.readouterr())  # type: ignore[return-value]


def test_the_store_names_the_task_as_it_was_named(study, heated):
    for path, name in ((study, CORRIDOR), (heated, TANK)):
        opened = open_study(path)
        assert set(opened.runs["task"]) == {name} and set(opened.runs["status"]) == {"done"}
        run = opened.runs["run"][0]
        assert json.loads((opened.policy_folder(run) / "policy.json").read_text())["task"] == name
        assert opened.metrics["cost"].is_finite().all()


def test_policies_are_evaluated(study, heated, capsys):
    for path, name, count in ((study, CORRIDOR, 6), (heated, TANK, 1)):
        out, err = said_by(capsys, "evaluate", str(path), "--episodes", "2", "--json")
        scores = json.loads(out)
        assert len(scores) == 2 * count and {score["task"] for score in scores} == {name}
        assert all(score["length_mean"] == 20 for score in scores)
        assert (
            err.splitlines()[0] == f"loading outside.tasks for {name}" and err.count("loading") == 1
        )


def test_a_study_says_what_it_would_run(study, capsys):
    out, err = said_by(
        capsys, "study", "show", str(study.parent / "s.toml"), "--no-calibrate", "--json"
    )
    assert json.loads(out)["runs"] == 6 and err == f"loading outside.tasks for {CORRIDOR}\n"


def test_a_policy_of_another_version_does_not_fit(study, tmp_path, capsys):
    """The task's sizes are known only once it is loaded."""
    run = open_study(study).runs["run"][0]
    assert main(["export", str(study), "--run", run, "--out", str(tmp_path)]) == 0
    facts = json.loads((tmp_path / "policy.json").read_text())
    (tmp_path / "policy.json").write_text(json.dumps(facts | {"task": TANK}))
    capsys.readouterr()
    assert main(["evaluate", str(tmp_path), "--episodes", "1"]) == 2
    assert "maps 2 observations to 1 actions; the task has 1 and 1" in capsys.readouterr().err


def test_speed_is_measured(monkeypatch, capsys):
    monkeypatch.setattr(bench_tasks, "STEPS", 3)
    monkeypatch.setattr(bench_host, "SECONDS", 0.01)
    out, _ = said_by(capsys, "bench", "tasks", "--task", CORRIDOR, TANK, "--worlds", "8", "--json")
    corridor, tank = json.loads(out)["tasks"]
    assert corridor["task"] == CORRIDOR and corridor["random"] > 0
    assert corridor["scripted"] is corridor["mujoco"] is corridor["ratio"] is None
    assert tank["task"] == TANK and tank["all_threads"] > 0
    out, _ = said_by(capsys, "bench", "tasks", "--task", CORRIDOR, TANK, "--worlds", "8")
    assert "Ratios" not in out and "not installed" not in out


@pytest.mark.parametrize("task", [CORRIDOR, TANK])
def test_an_episode_is_played_and_its_course_drawn(task, tmp_path, capsys):
    out, _ = said_by(capsys, "play", task, "--out", str(tmp_path / "x.png"), "--seed", "3")
    assert out.startswith(f"wrote {tmp_path / 'x.png'}: return ") and out.endswith("20 env steps\n")
    with Image.open(tmp_path / "x.png") as picture:
        assert picture.size == (1920, 1440)
    for words, complaint in {
        ("--out", str(tmp_path / "x.gif")): "has no scene to film and does not draw itself",
        ("--out", str(tmp_path / "y.png"), "--lidar"): "has no lidar to draw",
        ("--out", str(tmp_path / "y.png"), "--policy", "scripted"): "has no scripted policy",
    }.items():
        assert main(["play", task, *words]) == 2
        assert complaint in capsys.readouterr().err
    assert [file.name for file in tmp_path.iterdir()] == ["x.png"]


def test_gymnasium_makes_them():
    assert registry.names()[-3:] == ("OutsideCorridor", "OutsideTank", "OutsideBroken")
    for name, size in (("OutsideCorridor", 2), ("OutsideTank", 1)):
        env = gymnasium.make(f"saddle/{name}")
        first, _ = env.reset(seed=5)
        assert first.shape == (size,) and first.dtype == np.float64
        ends = [env.step(np.ones(1, np.float32))[3] for _ in range(20)]
        assert ends == [False] * 19 + [True]
        with pytest.raises(SaddleError, match="call reset"):
            env.unwrapped.step(np.ones(1))
        assert (env.reset()[0] != first).any()
        np.testing.assert_array_equal(env.reset(seed=5)[0], first)
        with pytest.raises(SaddleError, match="has no scene to draw"):
            gymnasium.make(f"saddle/{name}", render_mode="rgb_array")


@pytest.mark.parametrize("task", [CORRIDOR, TANK])
def test_many_worlds_are_the_single_ones_and_restart(task):
    many = saddle.gym.make_safe_vec(task, 3)
    first, _ = many.reset(seed=5)
    for i in range(3):
        np.testing.assert_allclose(saddle.gym.make(task).reset(seed=5 + i)[0], first[i], rtol=1e-6)
    for _ in range(19):
        *_, truncated, infos = many.step(np.zeros((3, 1)))
        assert not truncated.any() and "final_obs" not in infos
    obs, _reward, cost, _terminated, truncated, infos = many.step(np.ones((3, 1)))
    assert truncated.all() and cost.shape == (3,) and infos["_final_obs"].all()
    assert all((obs[i] != infos["final_obs"][i]).any() for i in range(3))
    if task == CORRIDOR:
        assert (cost == 1).all()
    else:
        with pytest.raises(SaddleError, match="ends its episodes by itself, after 20 steps"):
            saddle.gym.make_vec(task, 2, max_episode_steps=5)


def test_reading_never_imports_what_a_store_names(study, was_imported, tmp_path, capsys):
    forget()
    was_imported.unlink(missing_ok=True)
    run = open_study(study).runs["run"][0]
    for words in (
        ("analyze", study),
        ("compare-paper", study),
        ("figures", study, "--out", tmp_path / "figures"),
        ("report", study, "--out", tmp_path / "report.html"),
        ("study", "status", study),
        ("study", "merge", study, study, "--out", tmp_path / "merged"),
        ("study", "export", study, "--csv", tmp_path / "csv"),
        ("export", study, "--run", run, "--out", tmp_path / "policy"),
    ):
        assert main([str(word) for word in words]) == 0, words
        assert not was_imported.exists() and "outside.tasks" not in sys.modules, words
    assert open_study(study).policy(run)(np.zeros(2, np.float32)).shape == (1,)
    assert not was_imported.exists()
    assert (tmp_path / "figures" / "training-outside.tasks-Corridor-5.pdf").exists()
    assert CORRIDOR in (tmp_path / "report.html").read_text()
    said_by(capsys, "evaluate", str(tmp_path / "policy"), "--episodes", "1")
    assert was_imported.exists()


def test_what_needs_a_package_says_that_it_is_missing(
    study, heated, was_imported, monkeypatch, tmp_path, capsys
):
    forget()
    monkeypatch.setattr(
        sys, "path", [entry for entry in sys.path if entry != str(was_imported.parents[1])]
    )
    monkeypatch.setattr(
        registry, "_TASKS", {name: entry for name, entry in registry._TASKS.items() if entry.ours}
    )
    monkeypatch.setattr(registry, "_packages_read", False)
    capsys.readouterr()
    assert main(["evaluate", str(study)]) == 2
    told, error = capsys.readouterr().err.splitlines()
    assert told == f"loading outside.tasks for {CORRIDOR}"
    assert f"there is no module 'outside' here, which the task {CORRIDOR} comes from" in error
    assert main(["evaluate", str(heated)]) == 2
    assert "unknown task 'OutsideTank'" in capsys.readouterr().err
    assert main(["analyze", str(heated)]) == 0
    assert main(["train", CORRIDOR, "--out", str(tmp_path / "t")]) == 2
    assert not (tmp_path / "t").exists()
