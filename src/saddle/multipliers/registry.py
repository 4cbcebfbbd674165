"""Rules by name: those that come with Saddle, those of installed packages, and those that a program
registers.
"""

import dataclasses
import itertools
from collections.abc import Iterable
from typing import Any, TypeVar

from saddle import palette, references
from saddle.errors import SaddleError, did_you_mean
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
from saddle.plugins import plugins

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

_OWN: tuple[type[Rule], ...] = (
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
)
_RULES: dict[str, type[Rule]] = {rule.name: rule for rule in _OWN}
_plugins_read = False


def register_rule(rule: RuleClass) -> RuleClass:
    """Make a rule known by its name; also a decorator. Another rule of the same name is refused."""
    known = _RULES.get(rule.name)
    if known is not None and known is not rule:
        raise SaddleError(
            f"there is a rule {rule.name!r} already ({known.__module__}); choose another name"
        )
    _RULES[rule.name] = rule
    return rule


def rules() -> dict[str, type[Rule]]:
    """Every rule by its name, Saddle's own first. Packages are asked once, when somebody first
    wants to know.
    """
    global _plugins_read
    if not _plugins_read:
        for found in plugins(ENTRY_POINTS, Rule, "rule"):
            register_rule(found)
        _plugins_read = True
    return dict(_RULES)


def rule_class(name: str) -> type[Rule]:
    """The rule of that name, or of the reference `module:Class`; an unknown one says which there
    are.
    """
    if references.is_reference(name):
        found = references.load(name, "rule")
        if not (isinstance(found, type) and issubclass(found, Rule)):
            raise SaddleError(f"{name} is not a rule: name a class derived from saddle.Rule")
        return found
    known = rules()
    if name in known:
        return known[name]
    raise SaddleError(
        f"unknown rule {name!r}{did_you_mean(name, known)}; rules are {', '.join(known)}, "
        f"or name module:Class"
    )


def label(name: str) -> str:
    """A rule as legends and tables write it, also with settings behind its name: 'pid kp=0.1' is
    'PID kp=0.1'.

    A rule that is not known here keeps its name: stores are read without the packages that made
    them.
    """
    first, space, settings = name.partition(" ")
    if first in _RULES:
        return _RULES[first].label + space + settings
    return name.replace("_", " ")


def labels() -> dict[str, str]:
    """The labels of the rules that are known here, by name."""
    return {name: rule.label for name, rule in _RULES.items()}


def looks(names: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Colour and marker of each rule, the same in every figure that shows the same rules."""
    found: dict[str, tuple[str, str]] = {}
    free = itertools.cycle(FREE_LOOKS)
    for name in sorted(set(names), key=lambda name: (place(name), name)):
        rule = _RULES.get(name)
        if rule is not None and rule.colour is not None and rule.marker is not None:
            found[name] = (rule.colour, rule.marker)
        else:
            found[name] = next(free)
    return found


def place(name: str) -> int:
    """Where a rule stands in tables and legends: Saddle's own in their order, all others behind
    them.
    """
    known = list(_RULES)
    return known.index(name) if name in known else len(known)


def rule_to_dict(rule: Rule) -> dict[str, Any]:
    """Plain JSON of a rule; under 'rule' the name by which another process finds it."""
    kind = type(rule)
    name = kind.name if _RULES.get(kind.name) is kind else references.reference_to(kind)
    return {"rule": name, **dataclasses.asdict(rule)}


def rule_from(fields: dict[str, Any]) -> Rule:
    """The rule that `rule_to_dict` described."""
    settings = {name: value for name, value in fields.items() if name != "rule"}
    return rule_class(fields["rule"])(**settings)
