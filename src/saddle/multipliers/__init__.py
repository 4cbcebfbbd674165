"""How lambda moves: one rule a file.

`rule.py` says what a rule is, `registry.py` finds it by its name, `stacked.py` runs a population's
rules as one.
"""

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
from saddle.multipliers.registry import (
    label,
    labels,
    looks,
    place,
    register_rule,
    rule_class,
    rule_from,
    rule_to_dict,
    rules,
)
from saddle.multipliers.regularised import RegularisedAscent
from saddle.multipliers.rule import Lambda, Rule, each_lambda, lambda_name, lambda_of

__all__ = [
    "CRPO",
    "PID",
    "AntiWindupPID",
    "AugmentedLagrangian",
    "Dial",
    "Fixed",
    "GradientAscent",
    "Lambda",
    "LogBarrier",
    "MultiplicativeAscent",
    "OptimisticAscent",
    "RegularisedAscent",
    "Rule",
    "each_lambda",
    "label",
    "labels",
    "lambda_name",
    "lambda_of",
    "looks",
    "place",
    "register_rule",
    "rule_class",
    "rule_from",
    "rule_to_dict",
    "rules",
]
