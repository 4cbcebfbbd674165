"""Tasks by name: those that come with Saddle, those of installed packages, and those that a program
registers.

A reference 'module:attribute' may stand wherever a name may. Nothing is imported before a task is
made: names, and the specs that were registered with them, are known without.
"""

import contextlib
import difflib
import importlib.metadata
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from saddle import references
from saddle.errors import SaddleError
from saddle.tasks.gymnasium.environment import Environment, is_environment
from saddle.tasks.gymnasium.task import EnvironmentTask
from saddle.tasks.host import HostTask
from saddle.tasks.spec import TaskSpec

ENTRY_POINTS = "saddle.tasks"
"""The group under which a package names its tasks: `name = "module:attribute"`."""

NEAR = 0.4
"""How much like a task's name, of 1, another one has to be to be taken for it."""
NEAR_ID = 0.7
"""The same of a name that may be an id of Gymnasium's: nearly all of these end in alike ways."""

OURS = "saddle"
HERE = "this program"

Factory = TypeVar("Factory")


@dataclass(frozen=True)
class Entry:
    """What is known about a task before it is made."""

    name: str
    factory: Any  # a task, what makes one from options, or a reference to either
    spec: TaskSpec | None  # where somebody gave it
    origin: str  # who it comes from, in words

    @property
    def ours(self) -> bool:
        """Whether it comes with Saddle."""
        return self.origin == OURS


_TASKS: dict[str, Entry] = {}
_watchers: list[Callable[[Entry], None]] = []
_packages_read = False
_checked: set[str] = set()


def register(name: str, factory: Factory, *, spec: TaskSpec | None = None) -> Factory:
    """Make a task known by a name; another one of the same name is refused. Returns the factory.

    factory: a class or function that makes the task, from options if it has some; the task itself;
    or a reference 'module:attribute' to either, which is imported when the task is made. spec: the
    task's own, for those who want to know it without making the task.
    """
    if not re.fullmatch(r"[\w.-]+", name):
        raise SaddleError(
            f"{name!r} cannot be a task's name; use letters, digits, '.', '_' and '-'"
        )
    if isinstance(factory, str):
        references.parse(factory, "task")
        origin = factory
    elif callable(factory) or isinstance(factory, Environment) or is_task(factory):
        origin = getattr(factory, "__module__", type(factory).__module__)
    else:
        raise SaddleError(
            f"{name} cannot be made from {factory!r}; give a class or function that makes the "
            f"task, the task itself, or a reference 'module:attribute'"
        )
    _add(Entry(name, factory, spec, origin))
    return factory


def add_ours(spec: TaskSpec, factory: Any) -> None:
    """Make a task known that comes with Saddle."""
    _add(Entry(spec.name, factory, spec, OURS))


def names() -> tuple[str, ...]:
    """Every task's name: Saddle's own in the published order, those of packages, and those that
    were registered.
    """
    _read_packages()
    return tuple(_TASKS)


def entry(name: str) -> Entry:
    """What is known about the task of that name, or reference; an unknown name says which one is
    nearest.
    """
    if name in _TASKS:
        return _TASKS[name]
    if is_environment(name):
        environment = Environment.parse(name)
        return Entry(name, environment, None, environment.name)
    if references.is_reference(name):
        references.parse(name, "task")
        return Entry(name, name, None, name)
    _read_packages()
    if name not in _TASKS:
        raise SaddleError(f"unknown task {name!r}{_nearest(name)}; 'saddle tasks' lists them all")
    return _TASKS[name]


def known_spec(name: str) -> TaskSpec | None:
    """The task's spec, where it is known without importing anything; None for all other names,
    unknown ones too.
    """
    known = _TASKS.get(name)
    return None if known is None else known.spec


def spec_of(name: str) -> TaskSpec:
    """The task's spec. The task is made where that is the only way to know it."""
    known = entry(name)
    return known.spec or _made(known, {}).spec


def make(name: str, **options: Any) -> Any:
    """The task of that name, or reference, made with these options."""
    known = entry(name)
    task = _made(known, options)
    if not known.ours and name not in _checked and not isinstance(task, EnvironmentTask):
        from saddle.tasks.check import check_shapes

        check_shapes(task, name)
        _checked.add(name)
    return task


def put(name: str, factory: Any) -> str:
    """Make a task known in this program alone, in place of what `put` made known before.

    Returns its name, which gets a number where something else has it.
    """
    chosen = name
    number = 2
    while chosen in _TASKS and _TASKS[chosen].origin != HERE:
        chosen = f"{name}-{number}"
        number += 1
    _TASKS.pop(chosen, None)
    _checked.discard(chosen)
    _add(Entry(chosen, factory, None, HERE))
    return chosen


def watch(watcher: Callable[[Entry], None]) -> None:
    """Call `watcher` with every task that is known, and with those that come to be."""
    _read_packages()
    for known in list(_TASKS.values()):
        watcher(known)
    _watchers.append(watcher)


def _add(new: Entry) -> None:
    known = _TASKS.get(new.name)
    if known is not None:
        if known.factory is new.factory:
            return
        raise SaddleError(
            f"there is a task {new.name!r} already ({known.origin}); choose another name"
        )
    _TASKS[new.name] = new
    for watcher in _watchers:
        watcher(new)


def _read_packages() -> None:
    """Packages are asked for their tasks' names once, when somebody first wants to know."""
    global _packages_read
    if _packages_read:
        return
    _packages_read = True
    for found in importlib.metadata.entry_points(group=ENTRY_POINTS):
        package = f"{found.dist.name} {found.dist.version}" if found.dist else found.module
        _add(Entry(found.name, found.value, None, package))


def _made(known: Entry, options: dict[str, Any]) -> Any:
    """The task; what is wrong with it is one line."""
    factory = known.factory
    if isinstance(factory, str):
        is_own = known.name == factory  # a reference by itself: the current directory counts
        factory = references.load(factory, "task", known.name, here=is_own, quiet=known.ours)
    if isinstance(factory, Environment):
        return _of_environment(known.name, factory, options)
    task = _called(known.name, factory, options)
    if is_made_environment(task):
        with contextlib.suppress(Exception):
            task.close()
        return _of_environment(known.name, Environment(known.factory), options)
    if not is_task(task):
        raise SaddleError(
            f"{known.name} is not a task (its type is {type(task).__name__}); a task has spec, "
            f"reset and step, or spec "
            "and worlds"
        )
    if not isinstance(task.spec, TaskSpec):
        found = type(task.spec).__name__
        raise SaddleError(
            f"the spec of {known.name} is of type {found}; make it a saddle.tasks.TaskSpec"
        )
    if known.spec is not None and task.spec != known.spec:
        raise SaddleError(
            f"{known.name} was registered with another spec than it has; give it the same one"
        )
    return task


def _called(name: str, factory: Any, options: dict[str, Any]) -> Any:
    """What the factory makes; a task is its own factory."""
    if not isinstance(factory, type) and (is_task(factory) or not callable(factory)):
        if options:
            raise SaddleError(f"{name} is one task and takes no options: {', '.join(options)}")
        return factory
    try:
        return factory(**options)
    except SaddleError:
        raise
    except TypeError as error:
        if not options:
            raise SaddleError(f"{name} cannot be made ({references.because(error)})") from error
        raise SaddleError(
            f"{name} does not take these options: {', '.join(options)} ({error})"
        ) from error
    except Exception as error:
        raise SaddleError(f"{name} cannot be made ({references.because(error)})") from error


def _of_environment(name: str, environment: Environment, options: dict[str, Any]) -> Any:
    """The task that an environment is. Nothing is asked about it yet."""
    if options:
        raise SaddleError(
            f"{name} takes no options: {', '.join(options)}; name a function that makes the "
            f"environment with them"
        )
    return EnvironmentTask(environment)


def is_made_environment(thing: Any) -> bool:
    """Whether it is an environment of Gymnasium or the like, and no task."""
    members = ("reset", "step", "action_space")
    return not isinstance(thing, type) and all(hasattr(thing, member) for member in members)


def is_task(thing: Any) -> bool:
    """Whether it has the members of a task. JAX's own protocol is not asked, which would load
    JAX.
    """
    members = ("spec", "reset", "step")
    has_them = all(hasattr(thing, member) for member in members)
    return isinstance(thing, HostTask) or (has_them and not is_made_environment(thing))


def _nearest(name: str) -> str:
    """What may have been meant: a file's module, a task, or an id of Gymnasium's registry, which
    ends in a version. Gymnasium is not asked, which would load it.
    """
    module = references.module_of_file(name)
    if module is not None:
        return f", it is a file; write {module}:NAME, with the name of what it defines"
    is_id = re.fullmatch(r"[\w./-]+-v\d+", name) is not None
    lower = {known.lower(): known for known in _TASKS}
    close = difflib.get_close_matches(name.lower(), lower, n=1, cutoff=NEAR_ID if is_id else NEAR)
    if close:
        return f"; did you mean {lower[close[0]]!r}?"
    return f"; an environment of Gymnasium is gym:{name}" if is_id else ""
