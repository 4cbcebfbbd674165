"""What Python programs call: train, run a study, analyse it. Nothing here prints or ends the
process.

Progress is a callback: `on_epoch` is called after every epoch with what was measured in it,
`on_message` with what a person should know (a run that failed, a checkpoint that was damaged).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from saddle import tasks
from saddle.config import PUBLISHED_STEPS, USUAL_LIMIT, Member, whole
from saddle.errors import SaddleError
from saddle.learners import PPO, LearnerSettings
from saddle.multipliers import Fixed, Rule
from saddle.study.dependent import open_sweep
from saddle.study.frontier import Method, Wish, open_frontier, train_frontier
from saddle.study.local import Worker
from saddle.study.plan import Chunking, Plan, Stage, short
from saddle.study.prepare import prepare
from saddle.study.program import POPULATION, factory
from saddle.study.stop import Stopper
from saddle.study.store import Study
from saddle.study.unit import EpochDone
from saddle.tasks.gymnasium.costs import CostLike
from saddle.tasks.naming import TaskLike, name_of

if TYPE_CHECKING:
    from saddle.analysis import Findings
    from saddle.policies import Policy

OnEpoch = Callable[[EpochDone], None]
OnMessage = Callable[[str], None]
Limits = Sequence[float] | Sequence[Sequence[float]]
"""Cost limits; with several constraints one of each, or a sequence of such sets."""


def train(
    task: str,
    out: Path | str,
    *,
    rule: Rule | None = None,
    limits: Sequence[float] = (USUAL_LIMIT,),
    seeds: int = 1,
    steps: int = PUBLISHED_STEPS,
    learner: LearnerSettings = PPO(),
    resume: bool = False,
    limit_seconds: float | None = None,
    on_epoch: OnEpoch | None = None,
    on_message: OnMessage | None = None,
) -> Study:
    """Train one multiplier rule on a task with seeds 0 to seeds - 1; returns the study in the
    directory `out`.

    Without `rule` it is the learner's usual one: gradient ascent, or the dial of a policy that
    takes lambda as an input. `limits` has a cost limit for each constraint; a fixed rule and a dial
    do not use it. With `resume` a training that is there already goes on; `limit_seconds` ends it
    cleanly in time, which `study.finished` then tells.
    """
    plan = training_plan(task, rule, tuple(limits), seeds, steps, learner)
    return run_study(
        plan,
        out,
        resume=resume,
        limit_seconds=limit_seconds,
        on_epoch=on_epoch,
        on_message=on_message,
    )


def run_study(
    plan: Plan,
    out: Path | str,
    *,
    sweep: Path | str | None = None,
    resume: bool = False,
    limit_seconds: float | None = None,
    on_epoch: OnEpoch | None = None,
    on_message: OnMessage | None = None,
) -> Study:
    """Run a plan in this process, in the directory `out`; returns the study.

    `sweep` is the directory of another study that lambda* comes from, where the plan has no sweep
    of its own.
    """
    swept = None if sweep is None else Path(sweep)
    study = prepare(plan, Path(out), resume, swept)
    with Stopper(limit_seconds) as stop:
        listener = _Callbacks(on_epoch, on_message)
        Worker(study, factory(POPULATION), plan.chunk, listener, stop, open_sweep(swept)).work()
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
    count = None if steps is None else whole("steps", steps)
    name = name_of(
        task, cost=cost, reward=reward, length=episode_length, imports=imports, python=python
    )
    wish = Wish(name, _limit_sets(limits), seeds, count, lambdas, learner, method)
    path = Path(out) if out is not None else Path(f"frontier-{short(name)}")
    spec = tasks.spec_of(name)
    study = open_frontier(wish, spec, path, resume)
    with Stopper(limit_seconds) as stop:
        return train_frontier(study, wish, spec.constraints, stop, _Callbacks(on_epoch, on_message))


def training_plan(
    task: str,
    rule: Rule | None,
    limits: tuple[float, ...],
    seeds: int,
    steps: int,
    learner: LearnerSettings,
) -> Plan:
    """A training as a study of one stage, saved often and with its checkpoints kept."""
    if seeds < 1:
        raise SaddleError(f"--seeds is {seeds}; it must be at least 1")
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

    path = study.path if isinstance(study, Study) else Path(study)
    options = Options.of_command(_limit_sets(limits), published, constraint, unfinished)
    return analyze_store(path, options)


def _limit_sets(limits: Limits) -> tuple[tuple[float, ...], ...]:
    """The sets, and numbers together as one more."""
    sets = [tuple(limit) for limit in limits if isinstance(limit, Sequence)]
    numbers = tuple(limit for limit in limits if not isinstance(limit, Sequence))
    return (*sets, numbers) if numbers else tuple(sets)


def load_policy(path: Path | str, *, multiplier: float | Sequence[float] | None = None) -> "Policy":
    """An exported policy, or a run's in a study: a function from observations [..., obs_dim] to
    actions.

    `multiplier` is where to set the dial of a policy that has one: a lambda for all constraints, or
    one for each. `saddle.dial` finds it for a limit.
    """
    from saddle import policies

    return policies.load(path, lam=multiplier)


@dataclass
class _Callbacks:
    """A listener made of functions."""

    on_epoch: OnEpoch | None
    on_message: OnMessage | None

    def epoch(self, done: EpochDone) -> None:
        if self.on_epoch is not None:
            self.on_epoch(done)

    def say(self, text: str) -> None:
        if self.on_message is not None:
            self.on_message(text)
