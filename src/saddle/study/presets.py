"""Studies that come with Saddle."""

import difflib
import itertools
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from saddle.config import PPO, Layout, Precision
from saddle.errors import SaddleError
from saddle.multipliers import PID, GradientAscent
from saddle.study.plan import Limit, Plan, Stage, spaced
from saddle.study.toml import read_file

NAVIGATION = {
    "circle": "SafetyPointCircle1-v0",
    "goal": "SafetyPointGoal1-v0",
    "button": "SafetyPointButton1-v0",
    "push": "SafetyPointPush1-v0",
}
VELOCITY = {
    "hopper": "SafetyHopperVelocity-v1",
    "walker2d": "SafetyWalker2dVelocity-v1",
    "halfcheetah": "SafetyHalfCheetahVelocity-v1",
    "ant": "SafetyAntVelocity-v1",
}
TASKS = {**NAVIGATION, **VELOCITY}

PUBLISHED_LIMITS: dict[str, tuple[Limit, ...]] = {
    **dict.fromkeys(NAVIGATION.values(), ((10.0,), (25.0,))),
    **dict.fromkeys(VELOCITY.values(), ((25.0,), (400.0,))),
}
"""Where the published study compares rules."""

RECOMMENDED_LIMITS: dict[str, tuple[Limit, ...]] = {
    "SafetyPointCircle1-v0": ((20.0,), (150.0,)),
    "SafetyPointGoal1-v0": ((15.0,), (40.0,)),
    "SafetyPointButton1-v0": ((50.0,), (150.0,)),
    "SafetyPointPush1-v0": ((10.0,), (50.0,)),
    "SafetyHopperVelocity-v1": ((5.0,), (200.0,), (400.0,)),
    "SafetyWalker2dVelocity-v1": ((5.0,), (400.0,)),
    "SafetyHalfCheetahVelocity-v1": ((5.0,), (400.0,)),
    "SafetyAntVelocity-v1": ((5.0,), (400.0,)),
}
"""What the published study recommends: at least one limit in a steep and one in a flat stretch of each frontier."""

RULES = (GradientAscent(), PID())

QUICKSTART = Plan(
    name="quickstart",
    tasks=(NAVIGATION["circle"],),
    seeds=(0, 1, 2),
    steps=280_000,
    # Small nets and short epochs: a frontier in minutes instead of days. Not the published settings.
    ppo=PPO(
        steps_per_epoch=4_000,
        hidden=(64, 64),
        passes=4,
        batch=250,
        actor_lr=1e-3,
        critic_lr=1e-3,
        critic_l2=1e-4,
        window=24,
    ),
    stages=(
        Stage("sweep", lambdas=(0.1, 0.5, 1.0, 1.4, 2.0, 3.0, 10.0)),
        Stage("compare", rules=RULES, lambda_star="sweep", limits=((10.0,), (25.0,))),
    ),
)


def _sweep() -> Stage:
    return Stage("sweep", lambdas=spaced(0.1, 10.0, 25))


def _compare(tasks: tuple[str, ...], limits: dict[str, tuple[Limit, ...]]) -> Stage:
    return Stage("compare", rules=RULES, lambda_star="sweep", limits={task: limits[task] for task in tasks})


def _paper(name: str, tasks: tuple[str, ...]) -> Plan:
    return Plan(name=name, tasks=tasks, stages=(_sweep(), _compare(tasks, PUBLISHED_LIMITS)))


def _pid_grid() -> Plan:
    """Gains from the published ones to a thousand times those, on a navigation and a velocity task."""
    tasks = (TASKS["circle"], TASKS["hopper"])
    gains = itertools.product((1e-4, 1e-3, 1e-2, 1e-1), (1e-4, 1e-3, 1e-2), (0.0, 1e-2))
    rules = tuple(PID(kp=kp, ki=ki, kd=kd) for kp, ki, kd in gains)
    stage = Stage("gains", rules=rules, limits={task: PUBLISHED_LIMITS[task] for task in tasks})
    return Plan(name="pid-grid", tasks=tasks, seeds=tuple(range(5)), stages=(stage,))


_ALL = tuple(TASKS.values())
PRESETS: dict[str, tuple[str, Callable[[], Plan]]] = {
    "quickstart": ("Circle1 in small, on a CPU in minutes", lambda: QUICKSTART),
    "paper": ("the published study: sweep and comparison on eight tasks", lambda: _paper("paper", _ALL)),
    "paper-sweep": (
        "the published sweep of fixed multipliers alone",
        lambda: Plan(name="paper-sweep", tasks=_ALL, stages=(_sweep(),)),
    ),
    "paper-compare": (
        "the published comparison of rules alone; needs a sweep (--sweep)",
        lambda: Plan(name="paper-compare", tasks=_ALL, stages=(_compare(_ALL, PUBLISHED_LIMITS),)),
    ),
    **{
        f"paper-{key}": (f"the published study on {task}", lambda key=key, task=task: _paper(f"paper-{key}", (task,)))
        for key, task in TASKS.items()
    },
    "pid-grid": ("PID gains, which the published study left open", _pid_grid),
    "limits": (
        "the rules at the limits that the published study recommends; needs a sweep (--sweep)",
        lambda: Plan(name="limits", tasks=_ALL, stages=(_compare(_ALL, RECOMMENDED_LIMITS),)),
    ),
}
"""Name -> what it is, and its plan."""


def load(name: str, layout: Layout | None = None, precision: Precision | None = None) -> Plan:
    """The preset of that name, or the plan in that study file; in another layout or precision if one is given."""
    plan = _named(name)
    ppo = plan.ppo.in_layout(layout or plan.ppo.layout)
    return replace(plan, ppo=replace(ppo, precision=precision or ppo.precision))


def _named(name: str) -> Plan:
    if name in PRESETS:
        return PRESETS[name][1]()
    path = Path(name)
    if path.is_file():
        return read_file(path)
    if path.suffix == ".toml" or len(path.parts) > 1:
        raise SaddleError(f"there is no study file {name}")
    close = difflib.get_close_matches(name, PRESETS, n=1, cutoff=0.4)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    raise SaddleError(f"unknown study {name!r}{hint}; presets are {', '.join(PRESETS)}, or name a .toml file")
