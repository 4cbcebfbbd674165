"""The command line: help, exit codes, and what each verb hands to the code behind it."""

import json
import signal
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import pytest

import saddle
from saddle.cli import main
from saddle.errors import SaddleError
from saddle.tasks import names


class Result(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def run(capsys):
    """Call the command in this process (a new one costs seconds) and return what a shell would
    see.
    """

    def call(*argv: str) -> Result:
        code = main(argv)
        captured = capsys.readouterr()
        return Result(code, captured.out, captured.err)

    return call


@pytest.fixture
def stand_in(monkeypatch):
    """Put a recording function in place of the one behind a verb."""

    def install(module: str, function: str, behave=lambda: None) -> list[tuple]:
        calls = []

        def record(*args):
            calls.append(args)
            return behave()

        fake = ModuleType(module)
        setattr(fake, function, record)
        monkeypatch.setitem(sys.modules, module, fake)
        return calls

    return install


def interrupt():
    raise KeyboardInterrupt


def complain():
    raise SaddleError("the cart is before the horse; swap them")


@pytest.mark.parametrize(
    ("verb", "phrases"),
    [
        ((), ["tasks", "doctor", "play", "parity", "bench", "--version"]),
        (("tasks",), ["List the tasks", "--json"]),
        (("doctor",), ["what this machine can do", "--json"]),
        (
            ("play",),
            [
                "TASK",
                "--policy POLICY",
                "--out FILE",
                "--seed N",
                "--steps N",
                "--lidar",
                "TASK.png",
            ],
        ),
        (
            ("parity",),
            ["--golden DIR", "--task TASK ...", "float32,float64", "--engine ENGINE", "--markdown"],
        ),
        (("bench",), ["tasks", "learner", "study"]),
        (("bench", "tasks"), ["--task TASK ...", "--worlds N", "--json"]),
    ],
)
def test_every_verb_has_help(run, verb, phrases):
    result = run(*verb, "--help")
    assert result.code == 0 and result.err == ""
    for phrase in phrases:
        assert phrase in result.out
    assert "default: None" not in result.out


def test_help_explains_the_rule_that_was_chosen(run):
    result = run("train", "SafetyPointCircle1-v0", "--help", "--multiplier:pid")
    assert result.code == 0 and "--multiplier.kp" in result.out


def test_the_learner_is_named_before_the_verb_or_after_it(run):
    before = run("--learner:sac", "frontier", "--help")
    after = run("frontier", "--learner:sac", "--help")
    assert before == after and "--learner.polyak" in after.out


def test_a_learner_is_of_one_command_alone(run):
    plain = run("train", "--help")
    run("train", "--learner:sac", "--help")
    assert run("train", "--help") == plain


def test_no_arguments_show_the_help(run):
    assert run() == run("--help")


def test_version(run):
    assert run("--version") == (0, f"saddle {saddle.__version__}\n", "")


def test_importing_the_learner_starts_no_device():
    """A constant made with jax.numpy would: on a GPU that takes seconds and memory, and comes
    before any setting.
    """
    code = (
        "import saddle.population; from jax._src import xla_bridge; "
        "print(len(xla_bridge._backends))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "0", done.stderr


def test_a_signal_while_a_command_leaves_ends_it_without_words():
    """What libraries do at their exit would be interrupted with a traceback."""
    code = (
        "import atexit, os, signal, sys\nfrom saddle.cli import main\n"
        "sys.argv[1:] = ['--version']\n"
        "atexit.register(lambda: os.kill(os.getpid(), signal.SIGINT)); main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == -signal.SIGINT and done.stderr == ""


def test_help_loads_nothing_heavy():
    code = (
        "import sys; from saddle.cli import main; main(['--help'])\n"
        "sys.exit(','.join({'jax', 'mujoco', 'matplotlib', 'gymnasium', 'numpy'} & "
        "set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stderr.strip() == "" and "usage: saddle" in done.stdout


def test_module_form_and_a_reader_that_leaves():
    """`python -m saddle ... | true`: no traceback when the pipe is closed before anything is
    written.
    """
    command = [sys.executable, "-m", "saddle", "--version"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 141


def test_tasks_as_json(run):
    result = run("tasks", "--json")
    tasks = json.loads(result.out)
    assert result.code == 0 and [task["name"] for task in tasks] == list(names())
    sizes = {
        task["name"]: (task["obs_dim"], task["action_dim"], task["episode_length"])
        for task in tasks
    }
    assert sizes["SafetyPointCircle1-v0"] == (28, 2, 500)
    assert all(task["constraints"] and task["summary"] for task in tasks)
    assert [len(task["limits"]) for task in tasks] == [2] * 8 + [0]  # the last is not published


def test_tasks_as_a_table_has_one_line_per_task(run):
    header, *rows = run("tasks").out.splitlines()
    assert header.split()[0] == "task" and "published limits" in header
    assert [row.split()[0] for row in rows] == list(names())


@pytest.mark.parametrize(
    "argv",
    [
        ("play", "SafetyPointGaol1-v0"),
        ("parity", "--task", "SafetyPointGaol1-v0"),
        ("bench", "tasks", "--task", "safetypointgoal1"),
    ],
)
def test_unknown_task_names_the_nearest(run, argv, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = run(*argv)
    assert result.code == 2 and result.out == ""
    assert result.err.startswith("saddle: error: ") and result.err.count("\n") == 1
    assert "did you mean 'SafetyPointGoal1-v0'?" in result.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("worlds", ["0", "-3"])
def test_worlds_must_be_positive(run, worlds):
    result = run("bench", "tasks", "--worlds", worlds)
    assert result.code == 2 and result.out == ""
    assert (
        result.err.startswith("saddle: error: ")
        and result.err.count("\n") == 1
        and worlds in result.err
    )


@pytest.mark.parametrize(
    "argv",
    [
        ("plya",),
        ("bench",),
        ("play",),
        ("play", "SafetyPointGoal1-v0", "--seed", "soon"),
        ("parity", "--precision", "float16"),
        ("tasks", "--yaml"),
        ("--version", "tasks"),
    ],
)
def test_usage_errors_exit_with_2(run, argv):
    result = run(*argv)
    assert (
        result.code == 2 and result.out == "" and result.err != "" and "Traceback" not in result.err
    )


def test_play_hands_over_its_options(run, stand_in):
    calls = stand_in("saddle.verbs.play", "play")
    assert (
        run(
            "play",
            "T",
            "--policy",
            "random",
            "--out",
            "a/b.gif",
            "--seed",
            "7",
            "--steps",
            "3",
            "--lidar",
        ).code
        == 0
    )
    assert run("play", "T").code == 0
    assert calls == [
        ("T", "random", Path("a/b.gif"), 7, 3, True, (), ()),
        ("T", None, Path("T.png"), 0, None, False, (), ()),
    ]


@pytest.mark.parametrize("argv", [("--task", "A", "B"), ("--task", "A", "--task", "B")])
def test_tasks_can_be_listed_or_repeated(run, stand_in, argv):
    calls = stand_in("saddle.verbs.bench.tasks", "bench_tasks")
    assert run("bench", "tasks", *argv, "--worlds", "8").code == 0
    assert calls == [(("A", "B"), 8, False, None)]


@pytest.mark.parametrize("code", [0, 1])
def test_parity_hands_over_its_options_and_exit_code(run, stand_in, code):
    calls = stand_in("saddle.verbs.parity", "parity", lambda: code)
    assert run("parity", "--golden", "g", "--precision", "float64", "--json").code == code
    assert calls == [(Path("g"), (), "float64", True, False, None)]


def test_bad_input_is_one_line_on_stderr(run, stand_in):
    stand_in("saddle.verbs.play", "play", complain)
    assert run("play", "T") == (2, "", "saddle: error: the cart is before the horse; swap them\n")


def test_an_interrupt_is_quiet(run, stand_in):
    stand_in("saddle.verbs.play", "play", interrupt)
    assert run("play", "T") == (130, "", "")
