"""What an analysis found, as typed values: the one source of `saddle analyze`, of its JSON, and of
the report.

Lists that run along the same axis (a profile's grid, a frontier's points) have equal lengths.
`None` means that the data do not allow a statement; the notes of the task, or the `reason` beside
it, say why. Nothing is ever NaN.
"""

from saddle.analysis.findings.aggregates import (
    Aggregate,
    Improvement,
    RuleScore,
    Score,
    ScoreName,
)
from saddle.analysis.findings.critics import CriticBias
from saddle.analysis.findings.limits import Cell, LimitFinding, Margin, OverTraining, Pair, Status
from saddle.analysis.findings.rules_map import Keeps, MapCell, MapLimit, TaskMap
from saddle.analysis.findings.sensitivity import Sensitivity, SettingValue
from saddle.analysis.findings.several import (
    Constraint,
    JointLambda,
    JointMultiplier,
    JointViolation,
    OtherConstraint,
)
from saddle.analysis.findings.study import Findings, RunCounts, Seed, TaskFindings
from saddle.analysis.findings.sweep import (
    Attainment,
    Frontier,
    Group,
    Profile,
    PublishedLimit,
    Recommendation,
    Regime,
    Rise,
    Slope,
)
from saddle.analysis.findings.until_decided import (
    LimitDecision,
    PairDecision,
    RuleDecision,
    Standing,
    TaskDecisions,
)
from saddle.analysis.findings.values import Curve, Estimate, Kind, Statistics, Violation

__all__ = [
    "Aggregate",
    "Attainment",
    "Cell",
    "Constraint",
    "CriticBias",
    "Curve",
    "Estimate",
    "Findings",
    "Frontier",
    "Group",
    "Improvement",
    "JointLambda",
    "JointMultiplier",
    "JointViolation",
    "Keeps",
    "Kind",
    "LimitDecision",
    "LimitFinding",
    "MapCell",
    "MapLimit",
    "Margin",
    "OtherConstraint",
    "OverTraining",
    "Pair",
    "PairDecision",
    "Profile",
    "PublishedLimit",
    "Recommendation",
    "Regime",
    "Rise",
    "RuleDecision",
    "RuleScore",
    "RunCounts",
    "Score",
    "ScoreName",
    "Seed",
    "Sensitivity",
    "SettingValue",
    "Slope",
    "Standing",
    "Statistics",
    "Status",
    "TaskDecisions",
    "TaskFindings",
    "TaskMap",
    "Violation",
]
