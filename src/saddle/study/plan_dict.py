"""A plan as plain values, in the shape of a study file: what manifests hold."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from saddle.learners import learner_to_dict
from saddle.learners.settings import plain
from saddle.multipliers import Rule, rule_to_dict
from saddle.study.plan import Limit, Plan, Stage

HOW_IT_RUNS = ("chunk", "members")
"""Keys of a plan that change none of its results: how often it is saved, and how it is packed into
units.
"""


def to_dict(plan: Plan) -> dict[str, Any]:
    """The plan as plain values, in the shape of a study file."""
    fields = {f.name: getattr(plan, f.name) for f in dataclasses.fields(plan)}
    found = {
        **{
            key: list(value) if isinstance(value, tuple) else value for key, value in fields.items()
        },
        "stages": [_stage_dict(stage) for stage in plan.stages],
        "learner": learner_to_dict(plan.learner),
        "chunk": plain(plan.chunk),
    }
    if not plan.scale_rates:
        del found["scale_rates"]  # as before there was a choice
    del found["until_decided"], found["rounds"]
    if plan.until_decided is not None:
        found["until_decided"] = dataclasses.asdict(plan.until_decided)
    if plan.rounds:
        found["rounds"] = [plain(added) for added in plan.rounds]
    return found


def _stage_dict(stage: Stage) -> dict[str, Any]:
    if isinstance(stage.limits, Mapping):
        limits: Any = {task: _plain(some) for task, some in stage.limits.items()}
    else:
        limits = _plain(stage.limits)
    full = {
        "name": stage.name,
        "lambdas": [list(x) if isinstance(x, tuple) else x for x in stage.lambdas],
        "rules": [_rule_dict(rule) for rule in stage.rules],
        "lambda_star": stage.lambda_star,
        "lambda_star_method": _unless(stage.lambda_star_method, "profile"),
        "limits": limits,
        "limits_from_frontier": stage.limits_from_frontier,
        "variants": [learner_to_dict(learner) for learner in stage.variants],
    }
    return {key: value for key, value in full.items() if value not in (None, 0, [], {})}


def _unless(value: str, usual: str) -> str | None:
    """None for what is usual: a plan says what differs, so that older ones read alike."""
    return None if value == usual else value


def _rule_dict(rule: Rule) -> dict[str, Any]:
    """As a study file has it, where a list is a grid: one number for each constraint is a grid of
    one such list.
    """
    fields = rule_to_dict(rule)
    return {k: [list(value)] if isinstance(value, tuple) else value for k, value in fields.items()}


def _plain(limits: tuple[Limit, ...]) -> list[Any]:
    return [limit[0] if len(limit) == 1 else list(limit) for limit in limits]
