"""The store: tables as documented, whole or not at all."""

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import saddle
from saddle import files
from saddle.errors import SaddleError
from saddle.study import writer
from saddle.study.columns import METRICS, RUNS, metrics_frame, runs_frame, typed_metrics
from saddle.study.export import export_csv


def rows_of(unit, runs, **more):
    return [
        {"run": run, "unit": unit, "task": "T", "seed": i, "status": "planned", **more}
        for i, run in enumerate(runs)
    ]


def make(path, units, **manifest):
    def fill(folder):
        for unit, runs in units.items():
            writer.write_runs(folder, unit, runs_frame(rows_of(unit, runs)))

    writer.create(path, manifest or {"schema": 1, "name": "test"}, fill)
    return saddle.open_study(path)


def epochs_of(members, count, m=1, start=0):
    shape = (members,) if m == 1 else (members, m)
    return [
        {
            "cost": np.full(shape, float(e)),
            "return": np.arange(members) + e,
            "episodes": np.full(members, e),
        }
        for e in range(start, start + count)
    ]


def test_the_tables_have_the_columns_of_the_contract(tmp_path):
    study = make(tmp_path / "s", {"u0": ["a", "b"], "u1": ["c"]})
    assert study.runs.schema == pl.Schema(RUNS)
    assert study.runs["run"].to_list() == ["a", "b", "c"]
    assert study.metrics.schema == pl.Schema(METRICS) and study.metrics.is_empty()
    writer.write_chunk(study.path, "u0", 0, 3, metrics_frame(["a", "b"], 0, epochs_of(2, 3)))
    assert study.metrics.schema == pl.Schema(METRICS)
    assert study.metrics.filter(run="b")["return"].to_list() == [1, 2, 3]
    assert study.metrics["length"].is_nan().all()
    rows = [{"return": np.ones(1), "kl": np.ones(1), "passes": np.ones(1, np.int32)}]
    logged = metrics_frame(
        ["c"], 0, rows
    )  # what a learner declares follows, floats and whole numbers
    assert (logged.schema["kl"], logged.schema["passes"]) == (pl.Float32, pl.Int32)
    assert logged["episodes"].is_null().all()


def test_further_constraints_and_columns_are_kept(tmp_path):
    study = make(tmp_path / "s", {"u0": ["a"], "u1": ["b"]})
    rows = [{**row, "mine": np.ones(1), "cost": np.array([[1.0, 2.0]])} for row in epochs_of(1, 2)]
    writer.write_chunk(study.path, "u0", 0, 2, metrics_frame(["a"], 0, rows))
    writer.write_chunk(study.path, "u1", 0, 2, metrics_frame(["b"], 0, epochs_of(1, 2)))
    both = study.metrics
    assert both.filter(run="a").select("cost", "cost_1", "mine").row(0) == (1.0, 2.0, 1.0)
    assert both.filter(run="b")["mine"].is_null().all()
    assert runs_frame(rows_of("u", ["a"], limit_1=3.0))["limit_1"].to_list() == [3.0]


def test_a_unit_that_a_newer_saddle_went_on_with_has_more_columns_from_then_on(tmp_path):
    study = make(tmp_path / "s", {"u0": ["a"]})
    writer.write_chunk(study.path, "u0", 0, 2, metrics_frame(["a"], 0, epochs_of(1, 2)))
    later = [{**row, "new": np.ones(1)} for row in epochs_of(1, 2, start=2)]
    writer.write_chunk(study.path, "u0", 2, 4, metrics_frame(["a"], 2, later))
    assert study.metrics["new"].to_list() == [None, None, 1.0, 1.0]
    assert study.metrics["cost"].to_list() == [0.0, 1.0, 2.0, 3.0]


@pytest.mark.parametrize("name", ["S[1]", "S?", "file:S", "~"])
def test_a_directory_of_any_name_is_read_as_itself(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    for place, run in (("S1", "another"), (name, "own")):
        study = make(Path(place), {"u": [run]})
        writer.write_chunk(study.path, "u", 0, 2, metrics_frame([run], 0, epochs_of(1, 2)))
    assert study.metrics["run"].to_list() == ["own", "own"]
    _, metrics = export_csv(study, Path(name) / "csv")
    assert pl.read_csv(metrics.read_bytes())["run"].to_list() == ["own", "own"]


def test_plain_polars_reads_the_same_tables(tmp_path):
    """As docs/reference/store.md says it is done without Saddle."""
    study = make(tmp_path / "s", {"u0": ["a", "b"], "u1": ["c"]})
    writer.write_chunk(study.path, "u0", 0, 3, metrics_frame(["a", "b"], 0, epochs_of(2, 3)))
    writer.write_chunk(
        study.path, "u0", 3, 5, metrics_frame(["a", "b"], 3, epochs_of(2, 2, start=3))
    )
    writer.write_chunk(study.path, "u1", 0, 2, metrics_frame(["c"], 0, epochs_of(1, 2)))
    runs = pl.read_parquet(f"{study.path}/runs/*.parquet", missing_columns="insert")
    metrics = pl.scan_parquet(
        f"{study.path}/metrics/*/*.parquet", missing_columns="insert", extra_columns="ignore"
    ).collect()
    assert runs.equals(study.runs) and metrics.sort("run", "epoch").equals(
        study.metrics, null_equal=True
    )
    assert metrics.height == 2 * 5 + 2


@settings(max_examples=25)
@given(st.lists(st.tuples(st.integers(0, 30), st.integers(1, 12)), min_size=1, max_size=8))
def test_no_epoch_is_ever_there_twice(tmp_path_factory, spans):
    """Whatever chunks were written before, a new one replaces what it overlaps."""
    study = make(tmp_path_factory.mktemp("x") / "s", {"u": ["a", "b"]})
    for start, count in spans:
        writer.write_chunk(
            study.path,
            "u",
            start,
            start + count,
            metrics_frame(["a", "b"], start, epochs_of(2, count)),
        )
        found = study.metrics
        assert found.select("run", "epoch").is_unique().all()
        last = found.filter((pl.col("epoch") >= start) & (pl.col("epoch") < start + count), run="a")
        assert last["epoch"].to_list() == list(range(start, start + count))


def test_a_failed_write_leaves_the_old_file_and_no_rest(tmp_path, monkeypatch):
    file = tmp_path / "f.json"
    files.write_json(file, {"old": 1})

    def full(handle):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(SaddleError, match=r"no space left to write .*--resume"):
        files.write_json(file, {"new": 2})
    assert json.loads(file.read_text()) == {"old": 1}
    assert [p.name for p in tmp_path.iterdir()] == ["f.json"]


def test_a_newer_schema_and_a_stranger_are_refused(tmp_path):
    make(tmp_path / "new", {"u": ["a"]})
    facts = json.loads((tmp_path / "new" / "manifest.json").read_text())
    (tmp_path / "new" / "manifest.json").write_text(json.dumps({**facts, "schema": 99}))
    with pytest.raises(SaddleError, match=r"newer Saddle.*upgrade"):
        saddle.open_study(tmp_path / "new")
    with pytest.raises(SaddleError, match=r"not a study: it has no manifest"):
        saddle.open_study(tmp_path)
    with pytest.raises(SaddleError, match="not a study: it is not a directory"):
        saddle.open_study(tmp_path / "nowhere")
    (tmp_path / "manifest.json").write_text("{ torn")
    with pytest.raises(SaddleError, match="cannot read"):
        saddle.open_study(tmp_path)


def test_a_study_is_created_whole_or_not_at_all(tmp_path):
    make(tmp_path / "s", {"u": ["a"]})
    with pytest.raises(SaddleError, match="holds a study already"):
        make(tmp_path / "s", {"u": ["b"]})
    with pytest.raises(SaddleError, match="exists and is not empty"):
        make(tmp_path, {"u": ["b"]})
    with pytest.raises(ZeroDivisionError):
        writer.create(tmp_path / "t", {}, lambda folder: 1 / 0)  # type: ignore[arg-type]
    assert [p.name for p in tmp_path.iterdir()] == ["s"]


def test_a_study_may_be_in_the_current_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert make(Path(), {"u": ["a"]}).runs["run"].to_list() == ["a"]
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["manifest.json", "runs"]
    with pytest.raises(SaddleError, match="holds a study already"):
        make(Path(), {"u": ["a"]})


def test_a_link_to_an_empty_directory_becomes_a_study(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    make(tmp_path / "link", {"u": ["a"]})
    assert (tmp_path / "link").is_symlink()
    assert saddle.open_study(tmp_path / "real").units() == ["u"]


def test_an_empty_mount_point_becomes_a_study(tmp_path, monkeypatch):
    rename = Path.replace

    def refuse(self, target):
        if Path(target) == tmp_path:
            raise OSError(errno.EBUSY, "Device or resource busy")
        return rename(self, target)

    monkeypatch.setattr(Path, "replace", refuse)
    assert make(tmp_path, {"u": ["a"]}).units() == ["u"]


def test_of_two_who_fill_an_empty_directory_one_wins(tmp_path):
    def fill_second(folder):
        make(tmp_path, {"u": ["first"]})
        writer.write_runs(folder, "u", runs_frame(rows_of("u", ["second"])))

    with pytest.raises(writer.Taken):
        writer.create(tmp_path, {"schema": 1, "name": "test"}, fill_second)
    assert saddle.open_study(tmp_path).runs["run"].to_list() == ["first"]
    assert not list(tmp_path.glob("*.tmp")) and not list(tmp_path.glob(".*"))


def test_what_fails_in_an_empty_directory_leaves_it_empty(tmp_path, monkeypatch):
    def fail(self, target):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(writer, "MOVE_LOOKS", 1)
    monkeypatch.setattr(Path, "rename", fail)
    with pytest.raises(SaddleError, match="Input/output error"):
        make(tmp_path, {"u": ["a"]})
    assert not list(tmp_path.iterdir())


def test_a_file_has_a_name(tmp_path):
    with pytest.raises(SaddleError, match="it is a folder; give the name of a file"):
        files.write(Path(), b"")


def test_the_manifest_says_where_results_come_from(tmp_path):
    facts = make(
        tmp_path / "s", {"u": ["a"]}, **writer.manifest("mine", "tf32", {"tasks": []})
    ).manifest
    assert (facts["name"], facts["precision"], facts["plan"]) == ("mine", "tf32", {"tasks": []})
    assert facts["schema"] == 2 and facts["saddle"] == saddle.__version__
    assert facts["versions"]["polars"] == pl.__version__
    assert facts["hardware"]["cores"] == os.cpu_count()


def test_an_unwritable_directory_is_one_line(tmp_path):
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(SaddleError, match="cannot be a study's directory"):
        writer.check_writable(file / "study")


def test_a_run_without_policy_says_why(tmp_path):
    study = make(tmp_path / "s", {"u": ["a"]})
    with pytest.raises(SaddleError, match=r"'a' has no policy .* planned"):
        study.policy("a")
    with pytest.raises(SaddleError, match="has no run 'b'"):
        study.policy("b")


def test_importing_saddle_stays_light():
    code = (
        "import saddle, sys; print([m for m in ('polars', 'jax', 'numpy') if m in sys.modules]); "
        "saddle.open_study"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_columns_of_further_constraints_are_as_their_first_and_others_as_they_come():
    """A learner's own `epoch_seconds` has nothing to do with the epoch."""
    frame = pl.DataFrame(
        {"cost_1": [1.5], "episodes_above_2": [3], "epoch_seconds": [0.75], "run_time": [1.25]}
    )
    typed = typed_metrics(frame)
    assert typed["cost_1"].item() == 1.5 and typed.schema["episodes_above_2"] == pl.Int32
    assert typed["epoch_seconds"].item() == 0.75 and typed["run_time"].item() == 1.25
