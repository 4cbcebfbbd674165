"""What the runs table holds of a run's settings, as JSON in its column `params`. Reading it imports
nothing.

Stores of schema 1, which knew one learner, have its settings under "ppo".
"""

import json
from typing import Any


def learner_fields(params: str | None) -> dict[str, Any]:
    """The settings of a run's learner, its algorithm among them; {} where they are not known."""
    facts = facts_of(params)
    if isinstance(facts.get("ppo"), dict):
        return {"algorithm": "ppo", **facts["ppo"]}
    learner = facts.get("learner")
    return learner if isinstance(learner, dict) else {}


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
    if "ppo" not in fields:
        return fields
    rest = {key: value for key, value in fields.items() if key not in ("algorithm", "ppo")}
    return {**rest, "learner": {"algorithm": fields.get("algorithm", "ppo"), **fields["ppo"]}}
