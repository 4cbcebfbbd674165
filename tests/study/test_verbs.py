"""The command line around studies: what it prints, its exit codes, and one line for every
mistake.
"""

import io
import json
import os
import shlex
import stat
import subprocess
import sys
from dataclasses import replace

import pytest
from helpers import TASK, After, small, work
from rich.console import Console

from saddle.cli import main
from saddle.errors import SaddleError
from saddle.study import open_study, presets, status, view
from saddle.study.listener import EpochDone
from saddle.verbs.study import watch
from saddle.verbs.study.run import run
from saddle.verbs.study.show import show

FILE = f"""
tasks = ["{TASK}"]
seeds = 2
steps = 600
members = 4
[learner]
steps_per_epoch = 100
worlds = 1
[[stages]]
name = "sweep"
lambdas = [0.1, 1.0, 10.0]
[[stages]]
name = "compare"
limits = [10]
lambda_star = "sweep"
rules = [{{ rule = "ga" }}]
"""
FAKE = "fake:FakeProgram"


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "tiny.toml"
    path.write_text(FILE)
    return str(path)


def test_run_prints_lines_and_ends_with_0(file, tmp_path, capsys):
    assert run(file, tmp_path / "s", program=FAKE) == 0
    out = capsys.readouterr().out
    assert "PointCircle1-ppo-00: 4 runs, epoch 1 of 6" in out
    assert "10 of 10 runs done, 0 failed, 0 left" in out


def test_a_study_in_another_layout_and_precision(file, tmp_path, capsys):
    out = tmp_path / "s"
    assert run(file, out, layout="wide", precision="bf16", limit_time="0s", program=FAKE) == 3
    study = open_study(out)
    assert study.manifest["precision"] == "bf16"
    settings = {
        (p["learner"]["layout"], p["learner"]["precision"])
        for p in map(json.loads, study.runs["params"])
    }
    assert settings == {("wide", "bf16")}
    with pytest.raises(SaddleError, match="layout is wide there, study here"):
        run(file, out, resume=True, program=FAKE)
    with pytest.raises(SaddleError, match="precision is bf16 there, highest here"):
        run(file, out, resume=True, layout="wide", program=FAKE)
    assert run(file, out, resume=True, layout="wide", precision="bf16", program=FAKE) == 0


def test_the_command_to_go_on_with_has_what_was_given(file, tmp_path, capsys):
    out = tmp_path / "my study"
    given = {"members": 3, "precision": "tf32", "published": True, "layout": "study"}
    assert run(file, out, limit_time="0s", program=FAKE, **given) == 3
    line = capsys.readouterr().out.splitlines()[-1]
    command = shlex.split(line.partition("go on with: ")[2])
    options = ["--members", "3", "--layout", "study", "--precision", "tf32", "--published"]
    assert command == ["saddle", "study", "run", file, "--out", str(out), *options, "--resume"]


def test_another_layout_has_worlds_of_its_own(file):
    plan = presets.load(file)
    assert presets.load(file, "study") == plan and plan.learner.worlds == 1
    assert presets.load(file, "wide").learner == replace(plan.learner, layout="wide", worlds=None)


def test_run_speaks_json(file, tmp_path, capsys):
    assert run(file, tmp_path / "s", program=FAKE, as_json=True) == 0
    events = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [e for e in events if e["event"] == "epoch" and e["unit"] == "PointCircle1-ppo-00"][-1][
        "epoch"
    ] == 6
    assert events[-1] == {
        "event": "end",
        "runs": 10,
        "done": 10,
        "failed": 0,
        "left": 0,
        "stopped": None,
    }


def test_exit_codes(file, tmp_path, capsys, monkeypatch):
    assert run(file, tmp_path / "s", limit_time="0s", program=FAKE) == 3
    assert "--resume" in capsys.readouterr().out
    monkeypatch.setenv("FAKE_BREAKS", "1")
    assert run(file, tmp_path / "s", resume=True, program=FAKE) == 1
    assert "and 1 more of PointCircle1-ppo-00" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["study", "run", "quikstart", "--out", "x"], "did you mean 'quickstart'"),
        (["study", "run", "paper-compare", "--out", "x"], "--sweep DIR"),
        (["study", "run", "quickstart", "--out", "x", "--limit-time", "soon"], "not a duration"),
        (["study", "run", "quickstart", "--out", "x", "--address", "1.2.3.4:5"], "--engine ray"),
        (
            [
                "study",
                "run",
                "quickstart",
                "--out",
                "x",
                "--engine",
                "ray",
                "--address",
                "127.0.0.1:1",
            ],
            "no Ray cluster",
        ),
        (["study", "status", "nowhere"], "not a study"),
        (["study", "watch", "nowhere"], "not a study"),
        (["study", "export", "nowhere", "--csv", "x"], "not a study"),
        (["study", "merge", "nowhere", "elsewhere", "--out", "x"], "not a study"),
        (["study", "show", "nowhere.toml"], "no study file"),
        (["import", "omnisafe", "nowhere", "--out", "x"], "is not a folder"),
    ],
)
def test_a_mistake_is_one_line_and_makes_nothing(argv, words, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(argv) == 2
    error = capsys.readouterr().err
    assert words in error and error.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_a_file_in_the_way_and_a_folder_without_rights(tmp_path, capsys, monkeypatch):
    (tmp_path / "file").touch()
    assert main(["study", "run", "quickstart", "--out", str(tmp_path / "file" / "s")]) == 2
    assert "is a file" in capsys.readouterr().err
    locked = tmp_path / "locked"
    locked.mkdir()
    locked.chmod(stat.S_IRUSR | stat.S_IXUSR)
    if os.access(
        locked, os.W_OK
    ):  # root may write everywhere: let the kernel say what it says to others

        def denied(self, *rest, **more):
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr("pathlib.Path.touch", denied)
    assert main(["study", "run", "quickstart", "--out", str(locked / "s")]) == 2
    assert "may not write" in capsys.readouterr().err


def test_status_of_a_study_in_all_its_states(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("FAKE_BREAKS", "1")
    study, _ = work(small(), tmp_path / "s", stop=After(20))  # first unit through, second stopped
    now = status.status(study)
    assert [unit.state for unit in now.units] == ["done", "stopped", "waits"]
    assert now.runs == {"done": 3, "failed": 5, "planned": 4, "stopped": 2}
    assert "2 stopped" in status.headline(now) and "running" not in status.headline(now)
    assert now.units[1].epoch == 4 and now.units[1].left is not None and now.left is not None
    assert {failure.reason for failure in now.failures} == {"epoch 2: the loss is not finite"}
    file = study.path / "units" / f"{now.units[1].unit}.json"
    file.write_text(
        file.read_text().replace('"stopped"', '"running"')
    )  # as a killed process leaves it
    assert status.status(study).units[1].state == "interrupted"
    assert main(["study", "status", str(study.path)]) == 0
    out = capsys.readouterr().out
    assert "12/12" in out and "4/12" in out and "the loss is not finite" in out
    assert main(["study", "status", str(study.path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["runs"] == {
        "done": 3,
        "failed": 5,
        "interrupted": 2,
        "planned": 4,
    }


def test_watch_ends_when_the_study_does(tmp_path, capsys):
    study, _ = work(small(), tmp_path / "s")
    assert main(["study", "watch", str(study.path), "--every", "0.01"]) == 0
    assert capsys.readouterr().out == "small: 14 runs (14 done), 100%\n"


def terminal():
    return Console(force_terminal=True, width=100, highlight=False, file=io.StringIO())


def test_on_a_terminal_it_is_bars_and_a_live_table(tmp_path, monkeypatch):
    screen = terminal()
    monkeypatch.setattr(view, "console", lambda: screen)
    with view.view(as_json=False) as bars:
        bars.epoch(EpochDone("PointCircle1-ppo-00", 3, 12, ("run",) * 5, 0.25, {}))
        bars.say("something [happened]")
    shown = screen.file.getvalue()  # type: ignore[attr-defined]
    assert (
        "PointCircle1-ppo-00 (5 runs)" in shown
        and "3/12" in shown
        and "something [happened]" in shown
    )
    study, _ = work(small(), tmp_path / "s")
    table = terminal()
    monkeypatch.setattr(watch, "console", lambda: table)
    watch.watch(study.path, 0.01, as_json=False)
    assert "PointCircle1-ppo-star-00" in table.file.getvalue()  # type: ignore[attr-defined]


@pytest.mark.parametrize("every", ["-1", "nan", "1e300"])
def test_a_time_that_cannot_be_waited_is_one_line(every, tmp_path, capsys):
    study, _ = work(small(), tmp_path / "s")
    assert main(["study", "watch", str(study.path), "--every", every]) == 2
    assert "--every is" in capsys.readouterr().err


def test_show_counts_and_estimates(file, capsys):
    assert main(["study", "show", "paper", "--no-calibrate", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["runs"], facts["env_steps"], facts["seconds"]) == (2480, 2480 * 35_000_000, None)
    assert [part["stages"] for part in facts["tasks"]] == [{"sweep": 250, "compare": 60}] * 8
    show(file, calibrate=True, as_json=True, program=FAKE)
    facts = json.loads(capsys.readouterr().out)
    assert facts["runs"] == 10 and facts["units"] == 3 and facts["seconds"] > 0
    assert main(["study", "show", "quickstart", "--no-calibrate"]) == 0
    assert "lambda* comes from the frontier of sweep" in capsys.readouterr().out
    assert main(["study", "show"]) == 0
    assert "pid-grid" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(45, "45s"), (750, "12m30s"), (11_100, "3h05m"), (187_200, "2d04h"), (None, "?")],
)
def test_durations_in_words(seconds, words):
    assert status.duration(seconds) == words


def test_help_stays_light():
    code = (
        "import sys, saddle.cli as c; c.main(['study', '--help']); print({'polars', 'jax'} & "
        "sys.modules.keys())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "set()"


def test_a_running_study_can_be_looked_at(tmp_path, capsys):
    """What is done so far, on request; without that nothing is, and the findings say how much is
    left out.
    """
    out = tmp_path / "s"
    work(small(members=50), out, stop=After(8))
    assert main(["analyze", str(out), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["runs"]["used"] == 0
    assert main(["analyze", str(out), "--unfinished", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["runs"]["used"] > 0
    assert main(["report", str(out), "--out", str(tmp_path / "r.html")]) == 2
    assert main(["report", str(out), "--unfinished", "--out", str(tmp_path / "r.html")]) == 0
