"""What the rows of a unit, in a study's table of runs, say of its program."""

import json
from typing import NamedTuple

import polars as pl

from saddle.config import Member
from saddle.learners import learner_from
from saddle.multipliers import rule_from
from saddle.study.params import facts_of, learner_fields, rule_fields
from saddle.study.program import Factory, UnitProgram


def make_program(frame: pl.DataFrame, make: Factory) -> UnitProgram:
    """The program that a unit's rows describe."""
    row = frame.row(0, named=True)
    learner = learner_from(learner_fields(row["params"]))
    return make(row["task"], learner, members(frame), row["steps"])


def steps_per_epoch(frame: pl.DataFrame) -> int:
    """Env steps that each of a unit's runs takes in an epoch."""
    return learner_fields(frame["params"][0])["steps_per_epoch"]


class Kind(NamedTuple):
    """What makes units alike: they run the same program, and a machine's pace is the same for all
    of them.
    """

    task: str
    learner: str  # its settings as JSON


def kind(frame: pl.DataFrame) -> Kind:
    """Of a unit's rows."""
    return Kind(
        str(frame["task"][0]), json.dumps(learner_fields(frame["params"][0]), sort_keys=True)
    )


def members(frame: pl.DataFrame) -> tuple[Member, ...]:
    """The population that a unit's rows describe."""
    found = []
    for params, seed in frame.select("params", "seed").iter_rows():
        limits = facts_of(params)["limits"]
        found.append(Member(seed=seed, rule=rule_from(rule_fields(params)), limits=tuple(limits)))
    return tuple(found)
