"""How to make a study again: the command, and its plan as a study file."""

import json
from typing import Any

from saddle.study.params import upgraded_plan
from saddle.study.plan_dict import HOW_IT_RUNS, to_dict
from saddle.study.presets import PRESETS


def reproduce(manifest: dict[str, Any]) -> dict[str, Any]:
    """Command that runs the study again, the study file it needs (or None), and a sentence where it
    takes more.
    """
    plan = upgraded_plan(manifest.get("plan", {}))
    plan.pop("rounds", None)  # the study finds them again
    if "stages" not in plan:
        return {
            "command": None,
            "file": None,
            "note": "This study was imported or merged: its plan is not known here.",
        }
    preset = next(
        (name for name, (_, load) in PRESETS.items() if _same(plan, to_dict(load()))), None
    )
    outside = {stage["lambda_star"] for stage in plan["stages"] if stage.get("lambda_star")}
    outside -= {stage["name"] for stage in plan["stages"]}
    sweep = " --sweep SWEEP" if outside else ""
    note = "Its lambda* comes from the sweep of another study, SWEEP." if outside else None
    command = f"saddle study run {preset or 'plan.toml'} --out STUDY{sweep}"
    return {"command": command, "file": None if preset else to_toml(plan), "note": note}


def _same(plan: dict[str, Any], other: dict[str, Any]) -> bool:
    """The same runs, however they are made."""
    keys = (set(plan) | set(other)) - set(HOW_IT_RUNS)
    return all(plan.get(key) == other.get(key) for key in keys)


def to_toml(plan: dict[str, Any]) -> str:
    """A plan as TOML, tables inline; what is None is left out, which means the default."""
    return "".join(f"{key} = {_value(value)}\n" for key, value in plan.items() if value is not None)


def _value(value: Any) -> str:
    if isinstance(value, dict):
        inside = ", ".join(
            f"{_key(key)} = {_value(item)}" for key, item in value.items() if item is not None
        )
        return f"{{ {inside} }}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_value(item) for item in value) + "]"
    return json.dumps(value)


def _key(key: str) -> str:
    return key if key.replace("_", "").replace("-", "").isalnum() else json.dumps(key)
