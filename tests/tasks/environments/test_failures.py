"""Environments that go wrong: one line that says where, and no process that stays."""

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from toy_environments import FAULTY_SEED
from worker_processes import workers

import saddle
from saddle.cli import main
from saddle.errors import SaddleError

SEEDS = np.array([1, 2, 3, FAULTY_SEED], np.uint64)
AT = "toy_environments:{kind}, world 3, step 3: "
OPTIONS = "cost=info:cost&length=10"


@pytest.fixture(autouse=True)
def started():
    """The processes that a test started and that are still there: at its end, none."""
    before = set(workers())

    def since() -> set[int]:
        return set(workers()) - before

    yield since
    assert not since()


def go_wrong(kind, options=OPTIONS):
    worlds = saddle.make(f"toy_environments:{kind}?{options}").worlds(4, 2)
    worlds.reset(SEEDS)
    for _ in range(3):
        worlds.step(np.zeros((4, 2)))
    return worlds


@pytest.mark.parametrize(
    ("kind", "says"),
    [
        ("Raises", AT + "ValueError: the gear broke (toy_environments:"),
        ("Leaves", AT + "SystemExit: enough (toy_environments:"),
        ("Dies", "world 3, step: its process died of SIGSEGV"),
        ("Ends", "world 3, step: its process ended with exit code 3, saying: a last word"),
        ("NotANumber", AT + "its reward is nan; it must be finite"),
        ("Infinite", AT + "its observation is inf; it must be finite"),
        ("AnotherShape", AT + "the observation has shape (3,), but its space says (2,)"),
        ("NoCost", AT + "info has no 'cost', which a cost is read from; it has price, speed"),
        ("TwoValues", AT + "step returned 2 values"),
    ],
)
def test_what_goes_wrong_is_one_line(kind, says, started):
    with pytest.raises(SaddleError) as caught:
        go_wrong(kind)
    assert says.format(kind=kind) in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not started()


@pytest.mark.parametrize(("kind", "what"), [("Hangs", "step"), ("HangsInReset", "reset")])
def test_what_hangs_is_ended(kind, what, started):
    with pytest.raises(SaddleError, match=f"world 3, {what} did not return within 0.8 s"):
        go_wrong(kind, f"{OPTIONS}&timeout=0.8")
    assert not started()


def test_what_hangs_while_it_is_looked_at_is_ended(started):
    with pytest.raises(SaddleError, match=r"reset did not return within 0\.8 s"):
        _ = saddle.make(f"toy_environments:HangsWhenTried?{OPTIONS}&timeout=0.8").spec
    assert not started()


def test_slow_worlds_do_not_hang():
    """The time is each step's own, not that of all worlds of a process."""
    worlds = saddle.make(f"toy_environments:Slow?{OPTIONS}&timeout=0.8").worlds(4, 1)
    worlds.reset(np.full(4, FAULTY_SEED, np.uint64))
    worlds.step(np.zeros((4, 2)))  # four times 0.25 s
    worlds.close()


def test_what_is_printed_goes_nowhere(capfd, caplog):
    worlds = go_wrong("Prints")
    said = "Prints, world 3, step 3: it prints to standard output, which is not shown: the wind is"
    assert worlds.printed == (3, 3, "the wind is up")
    worlds.step(np.zeros((4, 2)))
    worlds.close()
    assert caplog.text.count(said) == 1
    assert capfd.readouterr() == ("", "")


def test_what_is_printed_fills_no_disk():
    worlds = saddle.make(f"toy_environments:Chatters?{OPTIONS}").worlds(1, 1)
    worlds.reset(np.array([FAULTY_SEED], np.uint64))
    for _ in range(5):
        worlds.step(np.zeros((1, 2)))
        (process,) = worlds._started
        sizes = [os.fstat(file.fileno()).st_size for file in process._files()]
        assert max(sizes) < 2**20
    worlds.close()


@pytest.mark.parametrize(
    ("reference", "says"),
    [
        ("toy_environments:Nope?length=3", "toy_environments has no 'Nope'"),
        ("toy_environments:nothing?length=3", "is no environment: it is of type object and has no"),
        ("toy_environments:NOT_CALLABLE?length=3", "is of type int and cannot be called"),
        ("no_such_module:make?length=3", "No module named 'no_such_module'; install its package"),
        ("gym:NoSuchThing-v0?length=3", "gym:NoSuchThing-v0: NameNotFound: Environment"),
        ("gym:Pendulum-v1?import=no_such_module", "No module named 'no_such_module'; install"),
        ("gym:Pendulum-v1?python=/no/python", "cannot start '/no/python'"),
        (f"toy_environments:Drift?python={os.devnull}", "give the path of a Python"),
        ("gym:Pendulum-v1?cost=no_such_module:cost", "No module named 'no_such_module'; install"),
    ],
)
def test_what_cannot_be_made_is_one_line(reference, says):
    with pytest.raises(SaddleError) as caught:
        _ = saddle.make(reference).spec
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_actions_and_seeds_that_do_not_fit():
    worlds = saddle.make(f"toy_environments:Drift?{OPTIONS}").worlds(2, 1)
    with pytest.raises(SaddleError, match="call reset first"):
        worlds.step(np.zeros((2, 2)))
    with pytest.raises(SaddleError, match="2 worlds need 2 seeds"):
        worlds.reset(SEEDS)
    worlds.reset(SEEDS[:2])
    with pytest.raises(SaddleError, match=r"takes actions of shape \(2, 2\), not \(2,\)"):
        worlds.step(np.zeros(2))
    with pytest.raises(SaddleError, match="an action must be finite"):
        worlds.step(np.full((2, 2), np.nan))
    with pytest.raises(SaddleError, match="holds 4 worlds; there are 2"):
        worlds.load({"steps": np.zeros(4)})
    with pytest.raises(SaddleError, match="worlds is 0"):
        saddle.make(f"toy_environments:Drift?{OPTIONS}").worlds(0)


def test_a_training_on_what_goes_wrong_is_marked(tmp_path, capsys):
    """Its unit failed with the same line, and so does its training."""
    words = "train toy_environments:AlwaysRaises --cost cost --episode-length 10 --steps 40"
    small = "--learner.steps-per-epoch 20 --learner.batch 20 --learner.hidden 4"
    out = tmp_path / "t"
    assert main([*words.split(), *small.split(), "--limit", "1", "--out", str(out)]) == 1
    line = "step 3: ValueError: the gear broke (toy_environments:"
    assert line in capsys.readouterr().out
    study = saddle.open_study(out)
    assert study.runs["status"].to_list() == ["failed"]
    assert line in study.runs["reason"][0]
    assert not list(out.glob("units/*.traceback.txt"))


def test_an_interrupt_ends_the_processes(started):
    """As Ctrl-C does, while the environment hangs."""
    timer = threading.Timer(1.5, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        go_wrong("Hangs")
    assert not started()


KILLED = """
import numpy, saddle
worlds = saddle.make("toy_environments:Hangs?cost=info:cost&length=10&timeout=900").worlds(2, 2)
worlds.reset(numpy.array([1, 7], numpy.uint64))
print(*(process._process.pid for process in worlds._started), flush=True)
for _ in range(3):
    worlds.step(numpy.zeros((2, 2)))
"""


def test_a_process_that_is_killed_leaves_none_behind():
    """Nobody is left to end them: they notice by themselves, though one of them hangs."""
    folder = os.path.dirname(sys.modules["toy_environments"].__file__ or "")  # noqa: PTH120
    path = os.pathsep.join([folder, *sys.path])
    killed = subprocess.Popen(
        [sys.executable, "-c", KILLED],
        stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": path},
    )
    assert killed.stdout is not None
    with killed, killed.stdout:
        pids = [int(pid) for pid in killed.stdout.readline().split()]
        time.sleep(0.3)  # until the third step
        assert len(pids) == 2 and all(exists(pid) for pid in pids)
        killed.kill()
        killed.wait()
    for _ in range(200):
        if not any(exists(pid) for pid in pids):
            return
        time.sleep(0.05)
    raise AssertionError(f"{pids} are still there")


def exists(pid):
    """Whether it runs: one that ended and that nobody waited for does not."""
    try:
        with open(f"/proc/{pid}/stat") as file:  # noqa: PTH123
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
