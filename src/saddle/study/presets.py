"""Studies that come with Saddle."""

import itertools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from saddle.errors import SaddleError, did_you_mean
from saddle.learners import SAC, Layout, LearnerSettings, Precision
from saddle.learners.ppo.sizes import LAPTOP
from saddle.learners.sac import sizes as sac_sizes
from saddle.multipliers import PID, Fixed, GradientAscent, rules
from saddle.study.plan import Limit, Plan, Stage, spaced
from saddle.study.sequential import UntilDecided
from saddle.study.toml import read_file
from saddle.tasks.builtin import SPECS
from saddle.tasks.spec import TaskSpec

PUBLISHED = {spec.nickname: spec for spec in SPECS.values() if spec.limits}
"""The tasks of the published study, as presets call them."""

RULES = (GradientAscent(), PID())

QUICKSTART = Plan(
    name="quickstart",
    tasks=(PUBLISHED["circle"].name,),
    seeds=(0, 1, 2),
    steps=240_000,
    learner=LAPTOP,
    stages=(
        Stage("sweep", lambdas=(0.1, 0.5, 1.0, 1.4, 2.0, 3.0, 10.0)),
        Stage("compare", rules=RULES, lambda_star="sweep", limits=((10.0,), (25.0,))),
    ),
)


QUICK_SAC = Plan(
    name="quick-sac",
    tasks=(PUBLISHED["circle"].name,),
    seeds=(0, 1, 2),
    steps=160_000,
    learner=sac_sizes.LAPTOP,
    stages=(
        Stage("sweep", lambdas=(0.1, 0.5, 1.0, 2.0, 10.0)),
        Stage("compare", rules=RULES, lambda_star="sweep", limits=((25.0,),)),
    ),
)


def _names(tasks: Iterable[TaskSpec]) -> tuple[str, ...]:
    return tuple(task.name for task in tasks)


def _each(limits: tuple[float, ...]) -> tuple[Limit, ...]:
    """Limits of the one constraint that each of these tasks has."""
    return tuple((limit,) for limit in limits)


def _sweep() -> Stage:
    return Stage("sweep", lambdas=spaced(0.1, 10.0, 25))


def _compare(limits: dict[str, tuple[Limit, ...]]) -> Stage:
    return Stage("compare", rules=RULES, lambda_star="sweep", limits=limits)


def _published_limits(tasks: Iterable[TaskSpec]) -> dict[str, tuple[Limit, ...]]:
    """Where the published study compares rules."""
    return {task.name: _each(task.limits) for task in tasks}


def _recommended_limits(tasks: Iterable[TaskSpec]) -> dict[str, tuple[Limit, ...]]:
    """What it recommends: at least one limit in a steep and one in a flat stretch of each
    frontier.
    """
    return {task.name: _each(task.recommended_limits) for task in tasks}


def _paper(name: str, tasks: tuple[TaskSpec, ...]) -> Plan:
    return Plan(
        name=name, tasks=_names(tasks), stages=(_sweep(), _compare(_published_limits(tasks)))
    )


def _pid_grid() -> Plan:
    """Gains from the published ones to a thousand times those, on a navigation and a velocity
    task.
    """
    tasks = (PUBLISHED["circle"], PUBLISHED["hopper"])
    gains = itertools.product((1e-4, 1e-3, 1e-2, 1e-1), (1e-4, 1e-3, 1e-2), (0.0, 1e-2))
    rules = tuple(PID(kp=kp, ki=ki, kd=kd) for kp, ki, kd in gains)
    stage = Stage("gains", rules=rules, limits=_published_limits(tasks))
    return Plan(name="pid-grid", tasks=_names(tasks), seeds=tuple(range(5)), stages=(stage,))


MAP_LIMITS = 6
"""Of a map of rules: from restrictive to unrestrictive."""


def _rules_map(sweep: Stage) -> tuple[Stage, ...]:
    """A sweep, and every rule that is known at limits that its frontier gives."""
    moving = [rule() for rule in rules().values() if rule is not Fixed and not rule.drawn]
    compare = Stage(
        "map",
        rules=tuple(moving),
        lambda_star=sweep.name,
        limits_from_frontier=MAP_LIMITS,
    )
    return (sweep, compare)


def _laptop(key: str) -> Plan:
    """The quickstart on another task, at its published limits."""
    task = PUBLISHED[key]
    compare = replace(QUICKSTART.stages[1], limits=_each(task.limits))
    stages = (QUICKSTART.stages[0], compare)
    return replace(QUICKSTART, name=f"laptop-{key}", tasks=(task.name,), stages=stages)


def _small_map() -> Plan:
    """In small, on a CPU."""
    sweep = Stage("sweep", lambdas=QUICKSTART.stages[0].lambdas)
    return replace(QUICKSTART, name="rules-map", stages=_rules_map(sweep))


def _full_map() -> Plan:
    """On all tasks, with the published settings."""
    return Plan(name="rules-map-full", tasks=_names(_ALL), stages=_rules_map(_sweep()))


def _paper_sac() -> Plan:
    """Fixed multipliers on one task, as the published study has them of SAC."""
    return Plan(
        name="paper-sac",
        tasks=(PUBLISHED["circle"].name,),
        seeds=tuple(range(5)),
        steps=3_500_000,
        learner=SAC(),
        stages=(Stage("sweep", lambdas=spaced(0.1, 10.0, 15)),),
    )


def _sac_fast() -> Plan:
    """The published sweep and comparison on two tasks, learned from large batches."""
    tasks = (PUBLISHED["circle"], PUBLISHED["goal"])
    return Plan(
        name="sac-fast",
        tasks=_names(tasks),
        seeds=tuple(range(10)),
        steps=10_240_000,
        learner=sac_sizes.FAST,
        stages=(_sweep(), _compare(_published_limits(tasks))),
    )


_ALL = tuple(PUBLISHED.values())
PRESETS: dict[str, tuple[str, Callable[[], Plan]]] = {
    "quickstart": ("Circle1 in small, on a CPU in minutes", lambda: QUICKSTART),
    "paper": (
        "the published study: sweep and comparison on eight tasks",
        lambda: _paper("paper", _ALL),
    ),
    "paper-sweep": (
        "the published sweep of fixed multipliers alone",
        lambda: Plan(name="paper-sweep", tasks=_names(_ALL), stages=(_sweep(),)),
    ),
    "paper-compare": (
        "the published comparison of rules alone; needs a sweep (--sweep)",
        lambda: Plan(
            name="paper-compare", tasks=_names(_ALL), stages=(_compare(_published_limits(_ALL)),)
        ),
    ),
    **{
        f"laptop-{key}": (
            f"{task.name} in small, on a CPU; too short for the published frontier",
            lambda key=key: _laptop(key),
        )
        for key, task in PUBLISHED.items()
    },
    **{
        f"paper-{key}": (
            f"the published study on {task.name}",
            lambda key=key, task=task: _paper(f"paper-{key}", (task,)),
        )
        for key, task in PUBLISHED.items()
    },
    "paper-sac": (
        "the published sweep of SAC on Circle1; its steps are not stated there, 3.5e6 are a guess",
        _paper_sac,
    ),
    "sac-fast": (
        "SAC from many worlds and large batches on Circle1 and Goal1, on a GPU",
        _sac_fast,
    ),
    "quick-sac": ("SAC on Circle1 in small, on a CPU in minutes", lambda: QUICK_SAC),
    "pid-grid": ("PID gains, which the published study left open", _pid_grid),
    "rules-map": (
        "every rule at six limits of Circle1's frontier, in small, on a CPU",
        _small_map,
    ),
    "rules-map-full": (
        "every rule at six limits of each task's frontier, for GPUs",
        _full_map,
    ),
    "limits": (
        "the rules at the limits that the published study recommends; needs a sweep (--sweep)",
        lambda: Plan(
            name="limits", tasks=_names(_ALL), stages=(_compare(_recommended_limits(_ALL)),)
        ),
    ),
}
"""Name -> what it is, and its plan."""


def load(
    name: str,
    layout: Layout | None = None,
    precision: Precision | None = None,
    published: bool = False,
) -> Plan:
    """The preset of that name, or the plan in that study file; in another layout or precision if
    one is given. `published`: every stage that takes lambda* finds it as the published study did.
    """

    def adapted(learner: LearnerSettings) -> LearnerSettings:
        laid_out = learner.in_layout(layout or learner.layout)
        return replace(laid_out, precision=precision or learner.precision)

    plan = _named(name)
    stages = tuple(
        replace(stage, variants=tuple(map(adapted, stage.variants))) for stage in plan.stages
    )
    if published:
        stages = tuple(map(_as_published, stages))
    return replace(plan, learner=adapted(plan.learner), stages=stages)


def with_seeds_added(plan: Plan, settings: Mapping[str, Any]) -> Plan:
    """The plan with seeds added until decided, by these settings of `UntilDecided`, else by the
    plan's own.
    """
    own = plan.until_decided or UntilDecided()
    return replace(plan, until_decided=replace(own, **settings))


def _as_published(stage: Stage) -> Stage:
    """The stage with its lambda*, if it takes one, found as the published study did."""
    if stage.lambda_star is None:
        return stage
    return replace(stage, lambda_star_method="published")


def _named(name: str) -> Plan:
    if name in PRESETS:
        return PRESETS[name][1]()
    path = Path(name)
    if path.is_file():
        return read_file(path)
    if path.suffix == ".toml" or len(path.parts) > 1:
        raise SaddleError(f"there is no study file {name}")
    hint = did_you_mean(name, PRESETS, cutoff=0.4)
    raise SaddleError(
        f"unknown study {name!r}{hint}; presets are {', '.join(PRESETS)}, or name a .toml file"
    )
