"""Rules by name: those that come with Saddle, those of installed packages, and those that a program
registers.
"""

import dataclasses
import itertools
from collections.abc import Iterable
from typing import Any, TypeVar

from saddle import palette
from saddle.classes import Classes
from saddle.multipliers.antiwindup import AntiWindupPID
from saddle.multipliers.ascent import GradientAscent
from saddle.multipliers.augmented import AugmentedLagrangian
from saddle.multipliers.barrier import LogBarrier
from saddle.multipliers.crpo import CRPO
from saddle.multipliers.dial import Dial
from saddle.multipliers.fixed import Fixed
from saddle.multipliers.multiplicative import MultiplicativeAscent
from saddle.multipliers.optimistic import OptimisticAscent
from saddle.multipliers.pid import PID
from saddle.multipliers.regularised import RegularisedAscent
from saddle.multipliers.rule import Rule

ENTRY_POINTS = "saddle.rules"
"""The group under which a package names its rules: `name = "module:Class"`."""

FREE_LOOKS = (
    (palette.MUTED, "p"),
    (palette.ORANGE, "*"),
    (palette.SKY_BLUE, "d"),
    (palette.VERMILLION, "8"),
)
"""Colours and markers for all rules that are not Saddle's own, in turn. Its own have most colours,
but none of these markers.
"""

RuleClass = TypeVar("RuleClass", bound=type[Rule])


def _name(rule: type[Rule]) -> str:
    return rule.name


RULES = Classes(
    "rule",
    Rule,
    ENTRY_POINTS,
    _name,
    (
        Fixed,
        GradientAscent,
        PID,
        AntiWindupPID,
        AugmentedLagrangian,
        OptimisticAscent,
        RegularisedAscent,
        MultiplicativeAscent,
        LogBarrier,
        CRPO,
        Dial,
    ),
)


def register_rule(rule: RuleClass) -> RuleClass:
    """Make a rule known by its name; also a decorator. Another rule of the same name is refused."""
    return RULES.register(rule)


def rules() -> dict[str, type[Rule]]:
    """Every rule by its name, Saddle's own first."""
    return RULES.all()


def rule_class(name: str) -> type[Rule]:
    """The rule of that name, or of the reference `module:Class`; an unknown one says which there
    are.
    """
    return RULES.find(name)


def label(name: str) -> str:
    """A rule as legends and tables write it, also with settings behind its name: 'pid kp=0.1' is
    'PID kp=0.1'.

    A rule that is not known here keeps its name: stores are read without the packages that made
    them.
    """
    first, space, settings = name.partition(" ")
    if first in RULES.known:
        return RULES.known[first].label + space + settings
    return name.replace("_", " ")


def labels() -> dict[str, str]:
    """The labels of the rules that are known here, by name."""
    return {name: rule.label for name, rule in RULES.known.items()}


def looks(names: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Colour and marker of each rule, the same in every figure that shows the same rules."""
    found: dict[str, tuple[str, str]] = {}
    free = itertools.cycle(FREE_LOOKS)
    for name in sorted(set(names), key=lambda name: (place(name), name)):
        rule = RULES.known.get(name)
        if rule is not None and rule.colour is not None and rule.marker is not None:
            found[name] = (rule.colour, rule.marker)
        else:
            found[name] = next(free)
    return found


def place(name: str) -> int:
    """Where a rule stands in tables and legends: Saddle's own in their order, all others behind
    them.
    """
    known = list(RULES.known)
    return known.index(name) if name in known else len(known)


def rule_to_dict(rule: Rule) -> dict[str, Any]:
    """Plain JSON of a rule; under 'rule' the name by which another process finds it."""
    return {"rule": RULES.name_elsewhere(type(rule)), **dataclasses.asdict(rule)}


def rule_from(fields: dict[str, Any]) -> Rule:
    """The rule that `rule_to_dict` described."""
    settings = {name: value for name, value in fields.items() if name != "rule"}
    return rule_class(fields["rule"])(**settings)
