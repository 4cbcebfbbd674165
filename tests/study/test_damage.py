"""Files of a study that were spoilt: each is named in one line, with what to do, and doing it mends
the study.
"""

import errno
import os
import shutil
import subprocess
import sys

import pytest
from abuses import DAMAGES, GOOD, HOWS
from helpers import After, small, work

import saddle
from saddle.cli import main
from saddle.errors import OutputError, SaddleError
from saddle.verbs.study.run import run

FAKE = "fake:FakeProgram"


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A finished study of the good file."""
    folder = tmp_path_factory.mktemp("finished")
    (folder / "good.toml").write_text(GOOD)
    assert run(str(folder / "good.toml"), folder / "study", program=FAKE) == 0
    return folder


@pytest.fixture
def words(finished, tmp_path):
    """Two copies of it and an empty folder, as the abuses name them."""
    for name in ("study", "twin"):
        shutil.copytree(finished / "study", tmp_path / name)
    (tmp_path / "tmp").mkdir()
    places = {name: str(tmp_path / name) for name in ("study", "twin", "tmp")}
    return {**places, "toml": str(finished / "good.toml")}


def spoil(study, glob, how):
    """Spoil the first such file; returns it."""
    file = next(iter(sorted(study.glob(glob))))
    file.write_bytes(HOWS[how](file.read_bytes()))
    return file


@pytest.mark.parametrize(
    "damage", DAMAGES, ids=lambda damage: f"{damage.how} {damage.file}: {damage.argv}"
)
def test_a_damaged_file_is_named(damage, words, tmp_path, capsys):
    file = spoil(tmp_path / "study", damage.file, damage.how)
    capsys.readouterr()
    assert main([word.format(**words) for word in damage.argv.split()]) == damage.code
    captured = capsys.readouterr()
    line = captured.out if damage.code == 0 else captured.err
    assert damage.words in line and file.name in line.replace("\n", "")
    if damage.code:
        assert line.startswith("saddle: error: ") and line.count("\n") == 1 and captured.out == ""
        assert (
            not list((tmp_path / "tmp").rglob("*.csv*")) and not (tmp_path / "tmp" / "m").exists()
        )


def test_doing_what_the_line_says_computes_a_unit_again(words, tmp_path, capsys):
    study = saddle.open_study(tmp_path / "study")
    before = study.metrics
    spoil(study.path, "metrics/*/*.parquet", "cut")
    with pytest.raises(
        SaddleError, match=r"compute its unit again: rm -rf .*, then run it with --resume"
    ) as caught:
        _ = study.metrics
    command = str(caught.value).partition("again: ")[2].partition(", then")[0]
    subprocess.run(command, shell=True, check=True)
    assert run(words["toml"], study.path, resume=True, program=FAKE) == 0
    assert study.metrics.equals(before)


def test_doing_what_the_line_says_starts_anew_without_checkpoints(tmp_path):
    whole, _ = work(small(), tmp_path / "whole")
    study, _ = work(small(), tmp_path / "s", stop=After(10))
    for file in (study.path / "checkpoints").iterdir():
        file.write_bytes(b"x")
    _, notes = work(small(), tmp_path / "s", resume=True)
    line = next(text for text in notes.said if "to start anew: rm " in text)
    assert line.endswith("then go on with --resume, or resume=True")
    subprocess.run(
        line.partition("to start anew: ")[2].partition(", then")[0], shell=True, check=True
    )
    work(small(), tmp_path / "s", resume=True)
    assert study.metrics.equals(whole.metrics) and study.runs.equals(whole.runs)


def test_output_that_takes_no_more_is_no_fault_of_the_unit(tmp_path, monkeypatch):
    """The study ends at once, no run is marked as failed, and it goes on from what was saved."""
    file = tmp_path / "good.toml"
    file.write_text(GOOD)

    class Lost:
        def write(self, text):
            raise OutputError("cannot write to standard output")

        def flush(self):
            return

    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", Lost())
        with pytest.raises(OutputError):
            run(str(file), tmp_path / "s", program=FAKE, as_json=True)
    study = saddle.open_study(tmp_path / "s")
    assert "failed" not in set(study.runs["status"])
    assert run(str(file), tmp_path / "s", resume=True, program=FAKE) == 0
    assert study.metrics.height == 4 * 3


@pytest.mark.parametrize(
    "argv",
    [
        "report {study} --out {tmp}/r.html",
        "figures {study} --out {tmp}/f",
        "study merge {study} {twin} --out {tmp}/m",
        "study run {toml} --out {tmp}/o --limit-time 0s",
    ],
)
def test_a_full_disk_where_there_is_nothing_to_resume(argv, words, tmp_path, capsys, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    assert main([word.format(**words) for word in argv.split()]) == 2
    line = capsys.readouterr().err
    assert (
        "no space left to write " in line
        and line.endswith("; free some and try again\n")
        and line.count("\n") == 1
    )
    assert [file for file in (tmp_path / "tmp").rglob("*") if file.is_file()] == []


def test_tables_that_would_lie_in_a_file(words, tmp_path, capsys):
    (tmp_path / "file").write_text("hello")
    assert main(["study", "export", words["study"], "--csv", str(tmp_path / "file")]) == 2
    assert capsys.readouterr().err.startswith("saddle: error: cannot write ")
