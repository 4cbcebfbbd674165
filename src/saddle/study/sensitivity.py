"""A study of how much a rule's numbers matter: each is swept around its default, one at a time."""

import dataclasses
import math
from collections.abc import Sequence
from typing import NamedTuple

from saddle.errors import SaddleError
from saddle.multipliers import Fixed, Rule
from saddle.multipliers.registry import rule_class
from saddle.study.plan import Plan, Stage, spaced
from saddle.study.presets import QUICKSTART

STAGE = "sensitivity"
FACTORS = spaced(0.01, 100.0, 9)
"""Of each default: two decades to either side."""


class Swept(NamedTuple):
    """The rules of a sweep, and why some settings are not in it."""

    rules: tuple[Rule, ...]
    """The default, then one setting after the other."""
    notes: tuple[str, ...]


def swept(rule: Rule, factors: Sequence[float]) -> Swept:
    """The rule with each of its fractional settings times each factor, as far as it takes them."""
    found = [rule]
    notes = []
    for field in dataclasses.fields(rule):
        default = getattr(rule, field.name)
        if not isinstance(default, float):
            continue
        if default == 0:
            notes.append(f"{field.name} is 0 by default, and has no multiples: it is not swept.")
            continue
        refused = []
        for factor in factors:
            value = float(f"{default * factor:.4g}")
            if value == default:
                continue
            try:
                found.append(dataclasses.replace(rule, **{field.name: value}))
            except SaddleError:
                refused.append(f"{value:g}")
        if refused:
            notes.append(f"{field.name} cannot be {', '.join(refused)}: the rule refuses it.")
    return Swept(tuple(found), tuple(notes))


def adaptive_rule(name: str) -> Rule:
    """The rule of that name with its defaults; one without a limit to keep is refused."""
    rule = rule_class(name)()
    if rule.drawn or isinstance(rule, Fixed):
        raise SaddleError(
            f"the rule {name!r} keeps no limit, so there is nothing to sweep; name one that moves "
            f"lambda, like pid"
        )
    return rule


def sensitivity_plan(
    name: str,
    task: str,
    limits: Sequence[tuple[float, ...]],
    seeds: int,
    factors: Sequence[float] = FACTORS,
    steps: int | None = None,
) -> Plan:
    """One stage with all settings of a rule at these limits, and the fixed lambdas of the
    quickstart, whose frontier the settings are measured against.
    """
    if seeds < 2:
        raise SaddleError(f"seeds is {seeds}; a comparison takes 2 or more")
    for factor in factors:
        if not 0 < factor < math.inf:
            raise SaddleError(f"the factor {factor:g} has no logarithm; give positive numbers")
    rule = adaptive_rule(name)
    stage = Stage(
        STAGE,
        lambdas=QUICKSTART.stages[0].lambdas,
        rules=swept(rule, sorted(set(factors))).rules,
        limits=tuple(limits),
    )
    return dataclasses.replace(
        QUICKSTART,
        name=f"{STAGE}-{rule.name}",
        tasks=(task,),
        seeds=tuple(range(seeds)),
        steps=QUICKSTART.steps if steps is None else steps,
        stages=(stage,),
    )
