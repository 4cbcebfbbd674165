"""What the runs table holds of a run's settings, as JSON in its column `params`. Reading it imports
nothing.

Stores of schema 1, which knew one learner, have its settings under "ppo". In older stores the
setting `rsi` is true or false, and `rsi_max` is infinite where nothing is bounded.
"""

import json
import math
from typing import Any

UNBOUNDED_MAX = 10.0
"""`rsi_max` where it has no effect: its default since it has one."""

LIMIT_PLACE = "limit_place"
"""Of a run whose limit is taken from a frontier: which of how many it is."""


def learner_fields(params: str | None) -> dict[str, Any]:
    """The settings of a run's learner, its algorithm among them; {} where they are not known."""
    facts = facts_of(params)
    if isinstance(facts.get("ppo"), dict):
        return _upgraded({"algorithm": "ppo", **facts["ppo"]})
    learner = facts.get("learner")
    return _upgraded(learner) if isinstance(learner, dict) else {}


def rule_fields(params: str | None) -> dict[str, Any]:
    """The settings of a run's rule, its name under 'rule'; {} where they are not known."""
    rule = facts_of(params).get("rule")
    return rule if isinstance(rule, dict) else {}


def facts_of(params: str | None) -> dict[str, Any]:
    """All of it; {} where it cannot be read."""
    try:
        facts = json.loads(params or "{}")
    except ValueError:
        return {}
    return facts if isinstance(facts, dict) else {}


def upgraded_plan(fields: dict[str, Any]) -> dict[str, Any]:
    """A manifest's plan in the shape of today: that of schema 1 had its learner's settings under
    "ppo".
    """
    plan = dict(fields)
    if "ppo" in plan:
        algorithm = plan.pop("algorithm", "ppo")
        plan["learner"] = {"algorithm": algorithm, **plan.pop("ppo")}
    if "learner" in plan:
        plan["learner"] = _upgraded(plan["learner"])
    if "stages" in plan:
        plan["stages"] = [_upgraded_stage(stage) for stage in plan["stages"]]
    return plan


def _upgraded_stage(stage: dict[str, Any]) -> dict[str, Any]:
    if "variants" not in stage:
        return stage
    return {**stage, "variants": [_upgraded(variant) for variant in stage["variants"]]}


def _upgraded(learner: dict[str, Any]) -> dict[str, Any]:
    """A learner's settings, with reward-scale invariance in the words of today."""
    rsi = learner.get("rsi")
    if not isinstance(rsi, bool):
        return learner
    bound = float(learner.get("rsi_max", math.inf))
    if math.isinf(bound):
        return {**learner, "rsi": "published" if rsi else "off", "rsi_max": UNBOUNDED_MAX}
    return {**learner, "rsi": "bounded" if rsi else "off", "rsi_max": bound}
