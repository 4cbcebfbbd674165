"""Verbs that train."""

from pathlib import Path
from typing import Annotated, Literal

from tyro.conf import Positional, UseAppendAction, arg

from saddle import process
from saddle.cli.environment import EnvironmentOptions
from saddle.cli.options import (
    TASK,
    Json,
    LimitSets,
    LimitTime,
    Log,
    Resume,
    Start,
    Surroundings,
    flag,
)
from saddle.config import PUBLISHED_STEPS, USUAL_LIMIT, whole
from saddle.learners import PPO, LearnerSettings
from saddle.learners.settings import begun_from
from saddle.multipliers import GradientAscent, Rule


def train(
    task: Annotated[Positional[str], TASK],
    out: Annotated[
        Path, arg(metavar="DIR", help="Directory for metrics, checkpoints and policies.")
    ],
    multiplier: Rule = GradientAscent(),
    limit: Annotated[
        tuple[float, ...], arg(metavar="D ...", help="Cost limit of each constraint.")
    ] = (USUAL_LIMIT,),
    seeds: Annotated[int, arg(metavar="N", help="Runs: seeds 0 to N - 1.")] = 1,
    steps: Annotated[float, arg(metavar="N", help="Env steps of each run.")] = PUBLISHED_STEPS,
    learner: LearnerSettings = PPO(),
    start: Start = None,
    resume: Resume = False,
    limit_time: LimitTime = None,
    log: Log = (),
    tensorboard: Annotated[bool, flag("The same as --log tensorboard.")] = False,
    environment: Surroundings = EnvironmentOptions(),
) -> int:
    """Train one multiplier rule on a task: --multiplier:ga (the default), --multiplier:fixed,
    --multiplier:pid ... With --learner:conditioned lambda is drawn, and the rule is 'dial'.

    --learner:NAME chooses another learner than ppo, one of an installed package or module:Class;
    its settings are then the options --learner.SETTING.
    """
    from saddle.verbs.train import train

    return train(
        environment.applied_to(task),
        rule=multiplier,
        limits=limit,
        seeds=seeds,
        steps=whole("steps", steps),
        out=out,
        learner=begun_from(learner, start),
        resume=resume,
        limit_time=limit_time,
        log=(*log, "tensorboard") if tensorboard else log,
        began=process.began(),
    )


def frontier(
    task: Annotated[Positional[str], TASK],
    out: Annotated[
        Path | None,
        arg(
            metavar="DIR",
            help="Directory for the study, its figures and its page.",
            help_behavior_hint="(default: frontier-TASK)",
        ),
    ] = None,
    limits: Annotated[
        LimitSets,
        arg(
            name="limit",
            metavar="D ...",
            help="Cost limits at which lambda* is wanted; with several constraints one of each, "
            "and --limit again for further sets.",
            help_behavior_hint="(default: none; limits are recommended)",
        ),
    ] = (),
    seeds: Annotated[int, arg(metavar="N", help="Runs, of a sweep at each multiplier.")] = 3,
    steps: Annotated[
        float | None,
        arg(
            metavar="N",
            help="Env steps of each run.",
            help_behavior_hint="(default: 70 epochs; of a sweep 60)",
        ),
    ] = None,
    lambdas: Annotated[
        int | None,
        arg(
            metavar="N",
            help="Multipliers of each constraint at which the frontier is found; of several every "
            "combination.",
            help_behavior_hint="(default: 9; of two constraints 5, of more 3)",
        ),
    ] = None,
    method: Annotated[
        Literal["dial", "sweep"] | None,
        arg(
            metavar="{dial,sweep}",
            help="'dial': one policy that takes lambda as an input. 'sweep': policies at fixed "
            "lambdas, put where they tell most.",
            help_behavior_hint="(default: dial)",
        ),
    ] = None,
    environment: Surroundings = EnvironmentOptions(),
    learner: LearnerSettings = PPO(),
    start: Start = None,
    resume: Resume = False,
    limit_time: LimitTime = None,
    log: Log = (),
) -> int:
    """Find a task's frontier: one policy is trained that takes lambda as an input, then words,
    figures and a page say what return each cost limit buys. 'saddle dial' sets it to a limit.

    Networks and epochs are sized for this machine and the task, unless --learner.SETTING tells.
    """
    from saddle.study.frontier import Wish
    from saddle.study.names import short
    from saddle.verbs.frontier import frontier

    wish = Wish(
        environment.applied_to(task),
        limits,
        seeds,
        steps=None if steps is None else whole("steps", steps),
        lambdas=lambdas,
        learner=begun_from(learner, start),
        method=method,
    )
    return frontier(
        wish,
        out or Path(f"frontier-{short(wish.task)}"),
        resume,
        limit_time,
        began=process.began(),
        log=log,
    )


def sensitivity(
    rule: Annotated[Positional[str], arg(metavar="RULE", help="A rule that moves lambda: pid.")],
    out: Annotated[
        Path | None,
        arg(
            metavar="DIR",
            help="Directory of the study.",
            help_behavior_hint="(default: sensitivity-RULE)",
        ),
    ] = None,
    task: Annotated[str, TASK] = "SafetyPointCircle1-v0",
    limits: Annotated[
        UseAppendAction[tuple[float, ...]],
        arg(
            name="limit",
            metavar="D",
            help="A cost limit; --limit again for further ones.",
            help_behavior_hint="(default: 10 and 25)",
        ),
    ] = (),
    seeds: Annotated[int, arg(metavar="N", help="Runs of each value at each limit.")] = 3,
    factors: Annotated[
        tuple[float, ...],
        arg(
            metavar="F ...",
            help="Multiples of each default.",
            help_behavior_hint="(default: nine from 0.01 to 100)",
        ),
    ] = (),
    steps: Annotated[
        float | None,
        arg(metavar="N", help="Env steps of each run.", help_behavior_hint="(default: 240,000)"),
    ] = None,
    resume: Resume = False,
    limit_time: LimitTime = None,
    as_json: Json = False,
) -> int:
    """Sweep each number of a rule around its default, one at a time, and say over which share of
    the range neither return nor violation is worse than at the best value.
    """
    from saddle.verbs.sensitivity import sensitivity

    return sensitivity(
        rule,
        out or Path(f"sensitivity-{rule.partition(':')[0]}"),
        task,
        limits=[(limit,) for limit in limits or (10.0, 25.0)],
        seeds=seeds,
        factors=factors,
        steps=None if steps is None else whole("steps", steps),
        resume=resume,
        limit_time=limit_time,
        as_json=as_json,
        began=process.began(),
    )
