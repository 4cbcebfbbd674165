"""What Python programs call: train, run a study, analyse it. Nothing here prints or ends the
process.

Progress is a callback: `on_epoch` is called after every epoch with what was measured in it,
`on_message` with what a person should know (a run that failed, a checkpoint that was damaged). In a
notebook there is a bar as well, which `progress=False` leaves out; `progress=True` shows one in a
terminal too. `log` names where metrics go besides the store: 'tensorboard', 'wandb', 'mlflow', or a
class of one's own (`saddle.trackers.Tracker`).

Ctrl-C and SIGTERM end a training after the epoch at hand, when all of it is saved, and a second one
at once. Ctrl-C then raises KeyboardInterrupt, and SIGTERM does what it does without Saddle: what
comes after the training in a program is not begun. `resume=True` goes on with it.
"""

import contextlib
import dataclasses
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from saddle import notebook, tasks
from saddle.arguments import callback, of_kind, path_of
from saddle.config import (
    PUBLISHED_STEPS,
    USUAL_LIMIT,
    Limits,
    Member,
    limit_numbers,
    sets_of_limits,
    whole,
)
from saddle.learners import PPO, LearnerSettings
from saddle.machine import show_cores_to_jax
from saddle.multipliers import Fixed, Rule
from saddle.study.frontier import Method, Wish, open_frontier, train_frontier
from saddle.study.listener import CallbackError, EpochDone, Listener
from saddle.study.local import Worker
from saddle.study.names import short
from saddle.study.plan import Chunking, Plan, Stage
from saddle.study.program import POPULATION, factory
from saddle.study.sequential import UntilDecided
from saddle.study.stop import Stopper
from saddle.study.store import Study, folder_of
from saddle.study.sweep import open_sweep, sweep_of
from saddle.study.until_decided import open_study_of, run_study_of
from saddle.study.view import NotebookBars, view
from saddle.tasks.gymnasium.costs import CostLike
from saddle.tasks.naming import TaskLike, name_of
from saddle.trackers import TrackerKind, tracked, tracker_kinds

if TYPE_CHECKING:
    from saddle.analysis import Findings
    from saddle.policies import Policy

Told = TypeVar("Told")
OnEpoch = Callable[[EpochDone], None]
OnMessage = Callable[[str], None]


def train(
    task: TaskLike,
    out: Path | str,
    *,
    rule: Rule | None = None,
    limits: float | Sequence[float] = (USUAL_LIMIT,),
    seeds: int = 1,
    steps: float = PUBLISHED_STEPS,
    learner: LearnerSettings = PPO(),
    resume: bool = False,
    limit_seconds: float | None = None,
    on_epoch: OnEpoch | None = None,
    on_message: OnMessage | None = None,
    progress: bool | None = None,
    log: Sequence[str | TrackerKind] = (),
) -> Study:
    """Train one multiplier rule on a task with seeds 0 to seeds - 1; returns the study in the
    directory `out`.

    `task` is a task, its name or its reference, an `Environment`, or a function that makes either.
    Without `rule` it is the learner's usual one: gradient ascent, or the dial of a policy that
    takes lambda as an input. `limits` has a cost limit for each constraint; a fixed rule and a dial
    do not use it. With `resume` a training that is there already goes on; `limit_seconds` ends it
    cleanly in time, which `study.finished` then tells. `progress` shows a bar; by default in a
    notebook only. `log` is where metrics go besides the store.
    """
    of_kind("rule", rule, Rule | None, "a rule, as saddle.PID()")
    of_kind("learner", learner, LearnerSettings, "a learner's settings, as saddle.PPO()")
    own = limit_numbers(limits)
    plan = training_plan(name_of(task), rule, own, seeds, whole("steps", steps), learner)
    return run_study(
        plan,
        out,
        resume=resume,
        limit_seconds=limit_seconds,
        on_epoch=on_epoch,
        on_message=on_message,
        progress=progress,
        log=log,
    )


def run_study(
    plan: Plan,
    out: Path | str,
    *,
    sweep: Path | str | None = None,
    until_decided: UntilDecided | None = None,
    resume: bool = False,
    limit_seconds: float | None = None,
    on_epoch: OnEpoch | None = None,
    on_message: OnMessage | None = None,
    progress: bool | None = None,
    log: Sequence[str | TrackerKind] = (),
) -> Study:
    """Run a plan in this process, in the directory `out`; returns the study.

    `sweep` is the directory of another study that lambda* comes from, where the plan has no sweep
    of its own. With `until_decided`, or where the plan has it, the plan's seeds are the first
    group: rules at a limit get more while it is open which of them to use, and
    `saddle.analyze(study).until_decided` says what is decided.
    """
    show_cores_to_jax()
    of_kind("plan", plan, Plan, "a saddle.Plan")
    if until_decided is not None:
        plan = dataclasses.replace(plan, until_decided=until_decided)
    path = path_of("out", out, "the directory to train in").absolute()
    swept = None if sweep is None else path_of("sweep", sweep).absolute()
    kinds = tracker_kinds(log)
    callbacks = _Callbacks(on_epoch, on_message)
    until = Stopper(limit_seconds)
    study = open_study_of(plan, path, resume, swept)
    with (
        until as stop,
        _listening(callbacks, progress) as shown,
        tracked(shown, study, kinds) as listener,
    ):
        source = open_sweep(sweep_of(study, swept))

        def carry_out(study: Study) -> None:
            Worker(study, factory(POPULATION), plan.chunk, listener, stop, source).work()

        study = run_study_of(plan, study, listener, carry_out)
    until.pass_on()
    return study


def frontier(
    task: TaskLike,
    out: Path | str | None = None,
    *,
    limits: Limits = (),
    cost: CostLike | Sequence[CostLike] = (),
    reward: str | int | None = None,
    episode_length: int | None = None,
    imports: Sequence[str] = (),
    python: str | None = None,
    seeds: int = 3,
    steps: float | None = None,
    lambdas: int | None = None,
    method: Method | None = None,
    learner: LearnerSettings | None = None,
    resume: bool = False,
    limit_seconds: float | None = None,
    on_epoch: OnEpoch | None = None,
    on_message: OnMessage | None = None,
    progress: bool | None = None,
    log: Sequence[str | TrackerKind] = (),
) -> Study:
    """Train what a task's frontier takes; returns the study in the directory `out`.

    `task` is a task, its name or its reference, or a function that makes an environment of
    Gymnasium or the like. For an environment, `cost` says where its costs come from (a key of info,
    a component of a vector reward, a function; several are several constraints), `reward` which
    component of a vector reward to earn, `episode_length` when to cut an episode, `imports` which
    modules register its id, and `python` another interpreter to run it in.

    With the method 'dial', which is the default, one policy for each seed takes lambda as an input;
    `saddle.dial` then sets it to any limit. With 'sweep' policies are trained at fixed multipliers:
    a pilot of three finds where costs lie; the others are put where they tell most, beyond the
    pilot's ends where a limit lies there, else around `limits` and where the frontier bends.
    `lambdas` is at how many the frontier is found, 9 unless it is given; with several constraints
    how many each has, and every combination is there (5 of each of two, 3 of more). Without
    `learner`, networks and epochs are sized for this machine and the task. `out` is `frontier-TASK`
    in the current folder unless it is given; with `resume` a frontier that is there goes on.
    `saddle.analyze` says what was found.
    """
    show_cores_to_jax()
    of_kind("learner", learner, LearnerSettings | None, "a learner's settings, as saddle.PPO()")
    count = None if steps is None else whole("steps", steps)
    name = name_of(
        task, cost=cost, reward=reward, length=episode_length, imports=imports, python=python
    )
    wish = Wish(
        name, sets_of_limits(limits), whole("seeds", seeds), count, lambdas, learner, method
    )
    path = path_of("out", f"frontier-{short(name)}" if out is None else out).absolute()
    kinds = tracker_kinds(log)
    callbacks = _Callbacks(on_epoch, on_message)
    until = Stopper(limit_seconds)
    spec = tasks.spec_of(name)
    study = open_frontier(wish, spec, path, resume)
    with (
        until as stop,
        _listening(callbacks, progress) as shown,
        tracked(shown, study, kinds) as listener,
    ):
        study = train_frontier(study, wish, spec.constraints, stop, listener)
    until.pass_on()
    return study


def training_plan(
    task: str,
    rule: Rule | None,
    limits: tuple[float, ...],
    seeds: int,
    steps: int,
    learner: LearnerSettings,
) -> Plan:
    """A training as a study of one stage, saved often and with its checkpoints kept."""
    seeds = whole("seeds", seeds, least=1)
    rule = rule or learner.usual_rule()
    Member(0, rule, limits)  # says what is wrong with a limit
    if isinstance(rule, Fixed):
        stage = Stage("train", lambdas=(rule.init,))
    elif rule.drawn:
        stage = Stage("train", rules=(rule,))
    else:
        stage = Stage("train", rules=(rule,), limits=(limits,))
    chunk = Chunking(epochs=5, seconds=30.0, share=0.05, keep=True)
    return Plan("training", (task,), (stage,), range(seeds), steps, learner=learner, chunk=chunk)


def analyze(
    study: Study | Path | str,
    *,
    limits: Limits = (),
    published: bool = False,
    constraint: int | str | None = None,
    unfinished: bool = False,
) -> "Findings":
    """What a study shows: frontier, profile, lambda*, regimes, recommended limits, rules compared.

    `limits` are cost limits to look at instead of those of the runs; with several constraints one
    of each, or a sequence of such sets. `published` smooths as the published study does;
    `constraint` is which of several constraints to look at, by name or place, and all by default;
    `unfinished` counts runs that are still in progress.
    """
    from saddle.analysis import Options
    from saddle.analysis.from_store import analyze_store

    path = folder_of(study)
    options = Options.of_command(sets_of_limits(limits), published, constraint, unfinished)
    return analyze_store(path, options)


def import_omnisafe(
    logs: Path | str, out: Path | str, *, on_message: OnMessage | None = None
) -> Study:
    """A study, in the directory `out`, of all logs of OmniSafe below the folder `logs`.
    `on_message` is told what had to be skipped, and why.
    """
    from saddle.study.importers.omnisafe import import_logs

    callback("on_message", on_message)
    path = path_of("out", out)
    import_logs(path_of("logs", logs), path, on_message or (lambda text: None))
    return Study(path)


def load_policy(path: Path | str, *, multiplier: float | Sequence[float] | None = None) -> "Policy":
    """An exported policy, or a run's in a study: a function from observations [..., obs_dim] to
    actions. Where it was trained in an environment of Gymnasium or the like, it takes one of the
    environment's own observations and gives one of its own actions: `env.step(policy(obs))`.

    `multiplier` is where to set the dial of a policy that has one: a lambda for all constraints, or
    one for each. `saddle.dial` finds it for a limit.
    """
    from saddle import policies

    return policies.load_native(path, multiplier)


@contextlib.contextmanager
def _listening(callbacks: "_Callbacks", progress: bool | None) -> Iterator[Listener]:
    """Who is told how a training goes: the callbacks, and a bar. What a callback raises ends the
    training, and is raised again.
    """
    in_notebook = notebook.running()
    shows_a_bar = in_notebook if progress is None else progress
    try:
        if not shows_a_bar:
            yield callbacks
        elif in_notebook:
            yield dataclasses.replace(callbacks, bar=NotebookBars())
        else:
            with view(as_json=False) as bars:
                yield dataclasses.replace(callbacks, bar=bars)
    except CallbackError as raised:
        raise raised.error from None


@dataclass
class _Callbacks:
    """A listener made of functions, and of a bar."""

    on_epoch: OnEpoch | None
    on_message: OnMessage | None
    bar: Listener | None = None

    def __post_init__(self) -> None:
        callback("on_epoch", self.on_epoch)
        callback("on_message", self.on_message)

    def epoch(self, done: EpochDone) -> None:
        if self.on_epoch is not None:
            _called(self.on_epoch, done.copied())
        if self.bar is not None:
            self.bar.epoch(done)

    def say(self, text: str) -> None:
        if self.on_message is not None:
            _called(self.on_message, text)
        elif self.bar is not None:
            self.bar.say(text)


def _called(callback: Callable[[Told], None], told: Told) -> None:
    try:
        callback(told)
    except Exception as error:
        raise CallbackError(error) from error
