"""Tasks by name and by reference: what is known without importing anything, and every way to get
one wrong.
"""

import subprocess
import sys
from dataclasses import dataclass, replace
from typing import Any

import gymnasium
import pytest
from gymnasium.envs import registration
from learners.toys import Bandit
from own_tasks import docs_module, write_package

import saddle
from saddle import references, tasks
from saddle.cli import main
from saddle.errors import SaddleError
from saddle.tasks import HostTask, TaskSpec, registry

GOOD: dict[str, Any] = {"name": "T", "obs_dim": 1, "action_dim": 1, "episode_length": 1, "dt": 1.0}
GOOD |= {"constraints": ("cost",)}


@pytest.fixture(autouse=True)
def only_for_this_test(monkeypatch):
    """What is registered here is not known afterwards, and packages are asked again."""
    monkeypatch.setattr(registry, "_TASKS", {k: v for k, v in registry._TASKS.items() if v.ours})
    monkeypatch.setattr(registry, "_packages_read", False)
    monkeypatch.setattr(registry, "_checked", set())
    monkeypatch.setattr(registration, "registry", dict(registration.registry))
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if name.split(".")[0] in ("mine", "outside"):
            del sys.modules[name]


@pytest.fixture
def mine(tmp_path, monkeypatch):
    """Writes the module 'mine' into the current directory, which is not on the path."""
    monkeypatch.chdir(tmp_path)
    sys.path[:] = [entry for entry in sys.path if entry not in ("", str(tmp_path))]

    def write(text: str = "") -> None:
        (tmp_path / "mine.py").write_text(docs_module() + "\n" + text)

    return write


def test_names_and_specs_are_known_without_jax_and_mujoco():
    code = (
        "import sys, saddle; known = [saddle.tasks.spec_of(name) for name in "
        "saddle.tasks.names()]; "
        "from saddle.cli import main; main(['tasks']); import saddle.study.presets, "
        "saddle.analysis.published; "
        "sys.exit(','.join({'jax', 'mujoco'} & set(sys.modules)) or len(known) - 9)"
    )
    assert subprocess.run([sys.executable, "-c", code], stdout=subprocess.DEVNULL).returncode == 0


@pytest.mark.parametrize("name", tasks.names())
def test_a_task_of_saddles_has_the_spec_that_is_known_before(name):
    made = saddle.make(name)
    assert made.spec is tasks.known_spec(name) and made.spec.name == name
    assert isinstance(made, HostTask) == bool(made.spec.engines)


def test_a_program_registers_its_task(capsys):
    assert saddle.register("Bandit", Bandit, spec=Bandit().spec) is Bandit
    saddle.register("Bandit", Bandit)  # again, as a module that is loaded twice does
    assert (
        tasks.names()[-1] == "Bandit"
        and tasks.spec_of("Bandit") == tasks.known_spec("Bandit") == Bandit().spec
    )
    assert saddle.make("Bandit") == Bandit()
    assert gymnasium.make("saddle/Bandit").reset(seed=0)[0].shape == (1,)
    assert main(["tasks"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "from" in lines[0] and lines[-1].split()[:2] == ["Bandit", "learners.toys"]


def test_what_may_be_registered():
    made = replace(Bandit(), spec=replace(Bandit().spec, dt=0.5))
    saddle.register("the-task-itself", made)
    saddle.register("a.function", lambda dt=2.0: replace(made, spec=replace(made.spec, dt=dt)))
    saddle.register("a_reference", "learners.toys:Bandit")
    assert saddle.make("the-task-itself") is made
    assert (
        saddle.make("a.function").spec.dt == 2.0
        and saddle.make("a.function", dt=3.0).spec.dt == 3.0
    )
    assert type(saddle.make("a_reference")).__name__ == "Bandit"


def test_names_are_taken_once():
    saddle.register("Bandit", Bandit)
    with pytest.raises(
        SaddleError,
        match=r"there is a task 'Bandit' already \(learners.toys\); choose another name",
    ):
        saddle.register("Bandit", lambda: Bandit())
    with pytest.raises(
        SaddleError, match=r"there is a task 'SafetyPointGoal1-v0' already \(saddle\)"
    ):
        saddle.register("SafetyPointGoal1-v0", Bandit)
    for name in ("", "a:b", "a b", "a/b"):
        with pytest.raises(SaddleError, match="cannot be a task's name"):
            saddle.register(name, Bandit)


def test_packages_are_asked_for_names_and_not_imported(tmp_path, capsys):
    was_imported = write_package(tmp_path)
    sys.path.insert(0, str(tmp_path))
    assert tasks.names()[9:] == ("OutsideCorridor", "OutsideTank", "OutsideBroken")
    assert tasks.known_spec("OutsideTank") is None and not was_imported.exists()
    with pytest.raises(SaddleError, match="did you mean 'OutsideTank'"):
        saddle.make("OutsideTnak")
    assert not was_imported.exists()
    assert (
        saddle.make("OutsideCorridor", speed_limit=0.3).speed_limit == 0.3 and was_imported.exists()
    )
    assert main(["tasks"]) == 0
    said = capsys.readouterr()
    assert "outside-tasks 1.5" in said.out and "outside.tasks has no 'Tunnel'" in said.out
    assert said.err.splitlines()[0] == "loading outside.tasks for OutsideCorridor"


def test_a_package_cannot_take_a_name_that_there_is(tmp_path):
    write_package(tmp_path)
    sys.path.insert(0, str(tmp_path))
    saddle.register("OutsideTank", Bandit)
    with pytest.raises(SaddleError, match=r"there is a task 'OutsideTank' already"):
        tasks.names()


def test_a_reference_counts_from_the_current_directory_and_is_announced_once(mine):
    mine()
    said: list[str] = []
    with references.announcing(said.append):
        assert saddle.make("mine:Corridor", speed_limit=0.25).speed_limit == 0.25
        assert isinstance(saddle.make("mine:Tank"), HostTask)
        saddle.make("mine:Corridor")
    assert said == ["loading mine for mine:Corridor", "loading mine for mine:Tank"]
    assert (
        tasks.known_spec("mine:Corridor") is None
        and tasks.spec_of("mine:Corridor").name == "Corridor"
    )


MISTAKES = {
    "nowhere.tasks:Corridor": "there is no module 'nowhere' here, which the task "
    "nowhere.tasks:Corridor comes from",
    "mine.tasks:Corridor": "there is no module 'mine.tasks' here",
    "mine:Coridor": "mine has no 'Coridor'; did you mean 'Corridor'",
    "mine:": "'mine:' names no task: write module:attribute",
    ":Corridor": "names no task",
    "a:b:c": "names no task",
    "mine:number": r"mine:number is not a task \(its type is int\)",
    "mine:dict": r"is not a task \(its type is dict\)",
    "mine:raises": r"mine:raises cannot be made \(ValueError: no luck\)",
    "mine:wants": r"mine:wants cannot be made \(TypeError: .*argument",
    "mine:plain_spec": "the spec of mine:plain_spec is of type str; make it a "
    "saddle.tasks.TaskSpec",
    "mine:nonsense": "Odd: obs_dim is 0; it must be a whole number of at least 1",
    "mine:Unhashable": "cannot be hashed.*make it a frozen dataclass",
    "mine:Wide": r"mine:Wide: reset returns 'obs' of shape \(2,\), but the spec says \(3,\)",
    "mine:Stuck": r"mine:Stuck: step fails \(AttributeError: ",
    "mine:Bare": "mine:Bare: reset returns no 'obs'; a state extends saddle.tasks.State",
}

WRONG = """
number = 3
dict = dict
plain_spec = Tank()
plain_spec.spec = "a tank"

def raises():
    raise ValueError("no luck\\nat all")

def wants(something):
    return Corridor()

def nonsense():
    return replace(Corridor.spec, name="Odd", obs_dim=0)

class Unhashable(Corridor):
    __hash__ = None

class Wide(Corridor):
    spec = replace(Corridor.spec, obs_dim=3)

class Stuck(Corridor):
    def step(self, state, action):
        return state.velocity

class Bare(Corridor):
    def reset(self, key):
        return key
"""


@pytest.mark.parametrize("reference", MISTAKES)
def test_a_wrong_reference_is_one_line(mine, reference):
    mine(WRONG)
    with pytest.raises(SaddleError, match=MISTAKES[reference]) as caught:
        saddle.make(reference)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "import nothing_like_this",
            r"mine, which .*, cannot be imported \(ModuleNotFoundError: No module named",
        ),
        ("1 / 0", r"cannot be imported \(ZeroDivisionError: division by zero\)"),
        ("def broken(:", r"cannot be imported \(SyntaxError: "),
        ("import sys; sys.exit(7)", r"cannot be imported \(SystemExit: 7\)"),
        (
            "replace(Corridor.spec, constraints=())",
            r"cannot be imported \(Corridor: constraints is \(\); name each",
        ),
    ],
)
def test_a_module_that_fails_says_how(mine, text, words, capsys):
    mine(text)
    assert main(["play", "mine:Corridor"]) == 2
    told, error = capsys.readouterr().err.splitlines()
    assert told == "loading mine for mine:Corridor"
    with pytest.raises(SaddleError, match=words):
        raise SaddleError(error)


def test_what_was_registered_has_to_be_true():
    other = replace(Bandit().spec, dt=7.0)
    saddle.register("Bandit", Bandit, spec=other)
    with pytest.raises(SaddleError, match="registered with another spec"):
        saddle.make("Bandit")
    saddle.register("one", Bandit())
    with pytest.raises(SaddleError, match="one is one task and takes no options: size"):
        saddle.make("one", size=3)
    with pytest.raises(
        SaddleError, match="SafetyPointCircle1-v0 does not take these options: size"
    ):
        saddle.make("SafetyPointCircle1-v0", size=3)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"name": " "}, "give its spec a name"),
        ({"name": 3}, "give its spec a name"),
        ({"obs_dim": 0}, "T: obs_dim is 0"),
        ({"action_dim": 1.5}, "T: action_dim is 1.5"),
        ({"episode_length": True}, "T: episode_length is True"),
        ({"dt": 0.0}, "T: dt is 0.0"),
        ({"dt": float("nan")}, "T: dt is nan"),
        ({"constraints": ()}, "name each entry of the cost vector"),
        ({"constraints": "speed"}, "name each entry of the cost vector"),
        ({"constraints": ("a", "a")}, "each needs a name of its own"),
        ({"limits": (-1.0,)}, "T: limits has -1.0"),
    ],
)
def test_a_spec_of_nonsense_is_refused(change, words):
    assert TaskSpec(**GOOD).limits == ()
    with pytest.raises(SaddleError, match=words):
        TaskSpec(**GOOD | change)


@dataclass(frozen=True)
class Both(Bandit):
    """Has a member `worlds`, and is a host task by that."""

    def worlds(self, n, threads=None):
        raise NotImplementedError


def test_members_make_a_host_task_and_no_class():
    assert isinstance(Both(), HostTask) and not isinstance(Bandit(), HostTask)


def test_parity_has_rows_of_the_references_tasks_alone(mine, capsys):
    mine("1 / 0")
    assert main(["parity", "--task", "mine:Corridor"]) == 2
    (error,) = capsys.readouterr().err.splitlines()
    assert "mine:Corridor has no reference rows to replay" in error
    assert main(["parity", "--task", "mine:Corridor", "--engine", "native"]) == 2
    assert "no choice of engines" in capsys.readouterr().err
