"""Merging and exporting."""

import dataclasses
import json

import polars as pl
import pytest
from helpers import TASK, After, small, work

import saddle
from saddle.cli import main
from saddle.errors import SaddleError
from saddle.learners import PPO
from saddle.study import claims
from saddle.study.export import export_csv
from saddle.study.merge import merge
from saddle.study.plan import Stage
from saddle.tasks import registry

GOAL = "SafetyPointGoal1-v0"


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return work(small(), tmp_path_factory.mktemp("whole") / "s")[0]


def test_parts_of_one_plan_become_one_study_that_goes_on(tmp_path, whole, capsys):
    """Each part got further with some units; the merged study has the best of both, and can be
    finished.
    """
    a, _ = work(small(), tmp_path / "a", stop=After(17))  # first unit whole, second begun
    b, _ = work(small(), tmp_path / "b", stop=After(8))  # first unit begun
    words = ["study", "merge", str(b.path), str(a.path), "--out", str(tmp_path / "c")]
    assert main(words) == 0
    assert "14 runs" in capsys.readouterr().out
    c = saddle.open_study(tmp_path / "c")
    assert c.metrics.equals(a.metrics, null_equal=True)
    assert len(c.manifest["merged_from"]) == 2
    study, notes = work(small(), tmp_path / "c", resume=True)
    assert study.metrics.equals(whole.metrics, null_equal=True) and study.runs.equals(whole.runs)
    assert len(notes.epochs) < 3 * 12  # went on, did not begin anew


def test_different_studies_become_one(tmp_path, whole, capsys):
    other, _ = work(small(tasks=(GOAL,), epochs=5), tmp_path / "goal")
    merge([whole.path, other.path], tmp_path / "both")
    both = saddle.open_study(tmp_path / "both")
    assert set(both.runs["task"]) == {TASK, GOAL}
    assert both.metrics.height == whole.metrics.height + other.metrics.height
    assert both.metrics.filter(pl.col("run").is_in(whole.runs["run"].to_list())).equals(
        whole.metrics, null_equal=True
    )
    assert both.policy_folder(other.runs["run"][0]).is_dir()
    assert both.manifest["name"] == "small"
    with pytest.raises(SaddleError, match="no plan to run"):
        work(small(), tmp_path / "both", resume=True)


def test_a_merged_study_says_how_its_parts_were_made_not_where_they_were_merged(tmp_path, whole):
    """Facts that the parts share stay; others are mixed, key by key, and listed part by part."""
    other, _ = work(small(tasks=(GOAL,), epochs=5), tmp_path / "goal")
    facts = whole.manifest
    versions = {**facts["versions"], "jax": "9.9.9"}
    older = {
        "created": "2020-01-01T00:00:00+00:00",
        "precision": "bf16",
        "versions": versions,
        "hardware": {"cores": -1},
    }
    (other.path / "manifest.json").write_text(json.dumps({**other.manifest, **older}))
    merge([whole.path, other.path], tmp_path / "both")
    both = saddle.open_study(tmp_path / "both").manifest
    assert both["versions"] == {**facts["versions"], "jax": "mixed"}
    assert both["hardware"]["cores"] == both["hardware"]["system"] == both["precision"] == "mixed"
    assert both["saddle"] == facts["saddle"] and both["created"] == older["created"]
    assert [part["versions"]["jax"] for part in both["merged_from"]] == [
        facts["versions"]["jax"],
        "9.9.9",
    ]
    merge([other.path, tmp_path / "both"], tmp_path / "again")
    assert saddle.open_study(tmp_path / "again").manifest["versions"]["jax"] == "mixed"


def test_units_of_the_same_name_stay_apart(tmp_path):
    stages = (Stage("more", lambdas=(5.0,)),)
    a, _ = work(small(stages=(Stage("sweep", lambdas=(1.0,)),)), tmp_path / "a")
    b, _ = work(small(stages=stages), tmp_path / "b")
    assert a.units() == b.units()
    merge([a.path, b.path], tmp_path / "c")
    c = saddle.open_study(tmp_path / "c")
    assert c.units() == ["PointCircle1-ppo-00", "PointCircle1-ppo-00-2"]
    assert set(c.runs["unit"]) == set(c.units())
    assert c.metrics.height == a.metrics.height + b.metrics.height


def test_units_cut_differently_share_their_runs(tmp_path, whole):
    """The same plan packed into other units: every run comes once."""
    other, _ = work(small(members=3), tmp_path / "other")
    merge([whole.path, other.path], tmp_path / "c")
    c = saddle.open_study(tmp_path / "c")
    assert sorted(c.runs["run"]) == sorted(whole.runs["run"])
    assert c.metrics.equals(whole.metrics, null_equal=True)


def test_a_run_that_began_from_a_policy_gets_a_name_without_slashes(tmp_path):
    stages = (Stage("sweep", lambdas=(1.0,)),)
    cold = PPO(steps_per_epoch=100, worlds=1)
    first, _ = work(small(stages=stages, learner=cold), tmp_path / "a")
    warm = dataclasses.replace(cold, start="first/policies/run")
    second, _ = work(small(stages=stages, learner=warm), tmp_path / "b")
    both = merge([first.path, second.path], tmp_path / "c")
    renamed = [run for run in both.runs["run"] if "start" in run]
    assert renamed == [f"PointCircle1-ppo-fixed-1-s{s}-start_first_policies_run" for s in (0, 1)]
    assert all(both.policy_folder(run).is_dir() for run in both.runs["run"])


@pytest.fixture
def _two_versions(monkeypatch):
    monkeypatch.setattr(registry, "_TASKS", dict(registry._TASKS))
    for name in ("Dam-v0", "Dam-v1"):
        saddle.register(name, saddle.tasks.make, spec=saddle.tasks.spec_of(TASK))


@pytest.mark.usefixtures("_two_versions")
def test_two_versions_of_a_task_are_in_one_study_and_merge(tmp_path):
    stages = (Stage("sweep", lambdas=(1.0,)),)
    planned = small(stages=stages, tasks=("Dam-v0", "Dam-v1"), seeds=(0,))
    together, _ = work(planned, tmp_path / "both")
    assert together.runs["run"].to_list() == ["Dam_v0-ppo-fixed-1-s0", "Dam_v1-ppo-fixed-1-s0"]
    assert together.units() == ["Dam_v0-ppo-00", "Dam_v1-ppo-00"]
    alone = [
        work(small(stages=stages, tasks=(task,), seeds=(0,)), tmp_path / task)[0]
        for task in ("Dam-v0", "Dam-v1")
    ]
    merged = merge([study.path for study in alone], tmp_path / "merged")
    runs = dict(merged.runs.select("run", "task").iter_rows())
    assert runs == {"Dam-ppo-fixed-1-s0": "Dam-v0", "Dam-ppo-fixed-1-s0-Dam_v1": "Dam-v1"}
    assert merged.metrics.height == sum(study.metrics.height for study in alone)


def test_parts_of_one_plan_with_other_sweeps_are_different_studies(tmp_path):
    sweeps = [
        work(small(stages=(Stage("sweep", lambdas=(0.1, 1.0, 10.0)),)), tmp_path / name)[0]
        for name in ("first", "second")
    ]
    plan = small(stages=(Stage("compare", lambda_star="sweep", limits=((10.0,),)),))
    parts = [work(plan, tmp_path / s.path.name / "c", sweep=s)[0].path for s in sweeps]
    merged = merge(parts, tmp_path / "merged")
    assert "merged" in merged.manifest["plan"]


def test_what_does_not_fit_is_refused(tmp_path, whole):
    other, _ = work(small(epochs=5), tmp_path / "short")
    with pytest.raises(SaddleError, match="with different steps; nothing was merged"):
        merge([whole.path, other.path], tmp_path / "c")
    with pytest.raises(SaddleError, match="at least two"):
        merge([whole.path], tmp_path / "c")
    claim = claims.take(other.path, other.units()[0])
    assert claim is not None
    with claim, pytest.raises(SaddleError, match="is being run"):
        merge([other.path, whole.path], tmp_path / "c")
    assert not (tmp_path / "c").exists()


def test_csv_holds_the_same_tables(tmp_path, whole):
    runs, metrics = export_csv(whole, tmp_path / "csv")
    back = pl.read_csv(metrics, schema_overrides=whole.metrics.schema).sort("run", "epoch")
    assert back.equals(whole.metrics, null_equal=True)
    assert pl.read_csv(runs, schema_overrides=whole.runs.schema).equals(whole.runs)
    with pytest.raises(SaddleError, match="exists"):
        export_csv(whole, tmp_path / "csv")
