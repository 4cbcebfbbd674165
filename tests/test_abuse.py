"""Command lines and study files that are wrong: one line that says what to do, exit code 2, and
nothing written.
"""

import io
import os
import subprocess
import sys

import pytest
from abuses import GOOD, LINES, TOMLS, TRAIN

from saddle import streams
from saddle.cli import main
from saddle.study import room


@pytest.fixture
def empty(tmp_path):
    folder = tmp_path / "empty"
    folder.mkdir()
    return folder


def said(capsys) -> str:
    """The one line on stderr; nothing may be on stdout."""
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("saddle: error: ") and captured.err.count("\n") == 1, (
        captured.err
    )
    return captured.err


UNTRAINED = [line for line in LINES if not line.trained]


@pytest.mark.parametrize("line", UNTRAINED, ids=lambda line: line.argv)
def test_a_bad_command_line(line, empty, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(empty)
    (tmp_path / "good.toml").write_text(GOOD)
    words = {
        "study": str(tmp_path / "none"),
        "tmp": str(empty),
        "toml": str(tmp_path / "good.toml"),
    }
    argv = [word.format(**words) for word in line.argv.split()]
    assert main(argv) == 2
    assert line.words.format(**words) in said(capsys)
    assert list(empty.iterdir()) == []


@pytest.mark.parametrize("toml", TOMLS, ids=lambda toml: toml.name)
def test_a_bad_study_file(toml, empty, tmp_path, capsys):
    file = tmp_path / "bad.toml"
    file.write_text(toml.text)
    assert main(["study", "run", str(file), "--out", str(empty / "o")]) == 2
    assert toml.words in said(capsys)
    assert list(empty.iterdir()) == []


def test_a_folder_that_is_gone(empty, capsys, monkeypatch):
    monkeypatch.chdir(empty)
    empty.rmdir()
    assert main(["analyze", "study"]) == 2
    assert "the current folder is gone" in said(capsys)


def test_the_line_names_a_number_that_fits(empty, capsys, monkeypatch):
    """Half of 8 MB, at 4 kB a run: 1000 runs. That number, and no more, is accepted."""
    monkeypatch.setattr(room, "free", lambda: 8 * 10**6)
    argv = [word.format(tmp=empty) for word in TRAIN.split()]
    assert main([*argv, "--seeds", "1001"]) == 2
    assert "1001 seeds of 1 run(s) each do not fit into memory; at most 1000 do here" in said(
        capsys
    )
    assert main([*argv, "--seeds", "1000", "--limit", "1", "2"]) == 2
    assert "constraint" in said(capsys)


def test_a_whole_number_may_be_written_with_an_exponent(empty, capsys):
    argv = [word.format(tmp=empty) for word in TRAIN.split()]
    assert main([*argv, "--steps", "1e4"]) == 2
    assert "steps is 10000, less than one epoch of 20000" in said(capsys)


def test_a_negative_flag_says_what_it_does(capsys):
    assert main(["train", "--help"]) == 0
    shown = " ".join(capsys.readouterr().out.replace("│", " ").split())
    for flag, words in (
        ("--learner.no-lr-decay", "Keep the actor's learning rate where it starts."),
        ("--learner.no-obs-norm", "Give the networks observations as they are."),
        ("--learner.no-standardise", "Only centre the reward's advantages."),
    ):
        assert f"{flag} {words}" in shown


def test_tensorboard_that_is_not_installed_leaves_nothing_behind(empty, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorboardX", None)
    monkeypatch.delitem(sys.modules, "saddle.trackers.tensorboard", raising=False)
    argv = [word.format(tmp=empty) for word in TRAIN.split()]
    assert main([*argv, "--tensorboard"]) == 2
    assert "the tracker 'tensorboard' needs tensorboardX" in said(capsys)
    assert list(empty.iterdir()) == []


class Full(io.StringIO):
    def write(self, text):
        raise OSError(28, "No space left on device")


class FullWhenFlushed(io.StringIO):
    def flush(self):
        raise OSError(28, "No space left on device")


@pytest.mark.parametrize("stream", [Full, FullWhenFlushed])
def test_a_full_standard_output_is_one_line(stream, capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdout", stream())
    assert main(["tasks", "--json"]) == 2
    monkeypatch.undo()
    assert "cannot write to standard output: No space left on device" in said(capsys)


def test_no_standard_output_is_one_line(capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)
    assert main(["tasks"]) == 2
    monkeypatch.undo()
    assert "standard output is closed" in said(capsys)


def test_a_sign_that_the_encoding_lacks_is_replaced(monkeypatch):
    plain = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", plain)
    with streams.guarded():
        print("λ* … 3")
    assert plain.buffer.getvalue() == b"?* ? 3\n"  # type: ignore[attr-defined]


def test_the_reader_that_left_is_no_error_to_speak_of(capsys, monkeypatch):
    class Left(io.StringIO):
        def write(self, text):
            raise BrokenPipeError(32, "Broken pipe")

    monkeypatch.setattr(sys, "stdout", Left())
    assert main(["tasks"]) == 141
    monkeypatch.undo()
    assert capsys.readouterr().err == ""


def test_closed_streams_are_not_taken_by_files():
    """With 0, 1 and 2 closed the next file would be one of them, and be printed into."""
    code = (
        "import os, sys\n"
        "[os.close(n) for n in (0, 1, 2)]\n"
        "sys.stdout = sys.stderr = None\n"
        "from saddle.cli import main\n"
        "code = main(['tasks'])\n"
        "sys.exit(code if os.open(os.devnull, os.O_RDONLY) > 2 else 1)"
    )
    assert subprocess.run([sys.executable, "-c", code], env={**os.environ}).returncode == 2
