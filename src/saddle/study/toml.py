"""Study files: TOML in the shape of a Plan. Mistakes are answered with the file, the line and the
nearest name.
"""

import itertools
import math
import tomllib
import typing
from pathlib import Path
from typing import Any

from saddle.config import LambdaStarMethod
from saddle.errors import SaddleError
from saddle.learners import PPO, LearnerSettings, learner_class, learner_from, learner_to_dict
from saddle.multipliers import Lambda, Rule, lambda_of, rule_class, rule_from, rules
from saddle.references import is_reference
from saddle.study import room
from saddle.study.checked import Place, Source, in_words
from saddle.study.plan import Chunking, Plan, spaced
from saddle.study.sequential import Round, UntilDecided
from saddle.study.stage import Limit, Stage

TABLES = {"learner": PPO, "chunk": Chunking, "[stages]": Stage}


def read_file(path: Path) -> Plan:
    """The plan in a study file."""
    try:
        text = path.read_text(encoding="utf-8")
        fields = tomllib.loads(text)
    except OSError as error:
        raise SaddleError(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise SaddleError(f"{path} is not a text file; a study file is TOML in UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        raise SaddleError(f"{path} is not valid TOML: {error}") from None
    return _plan(Source(str(path), text, TABLES), {"name": path.stem, **fields})


def plan_from(fields: dict[str, Any], source: str = "the plan") -> Plan:
    """The plan that `to_dict` described."""
    return _plan(Source(source, tables=TABLES), fields)


def _plan(source: Source, fields: dict[str, Any]) -> Plan:
    source.check_keys(Plan, fields, ())
    read = dict(fields)
    read["tasks"] = source.tuple_of(str, fields.get("tasks", []), ("tasks",))
    if "seeds" in fields:
        read["seeds"] = _seeds(source, fields["seeds"], ("seeds",))
    read["learner"] = _learner(source, fields.get("learner", {}), ("learner",))
    stages = source.entries(fields.get("stages", []), ("stages",))
    read["stages"] = tuple(
        _stage(source, stage, ("stages", i), read["learner"]) for i, stage in enumerate(stages)
    )
    read["chunk"] = source.record(Chunking, fields.get("chunk", {}), ("chunk",))
    if "until_decided" in fields:
        wish = fields["until_decided"]
        read["until_decided"] = source.record(UntilDecided, wish, ("until_decided",))
    rounds = source.entries(fields.get("rounds", []), ("rounds",))
    read["rounds"] = tuple(_round(source, added, ("rounds", i)) for i, added in enumerate(rounds))
    hints = typing.get_type_hints(Plan)
    for key in ("name", "steps", "members", "scale_rates"):
        if key in fields:
            read[key] = source.typed(hints[key], fields[key], (key,))
    return source.made((), Plan, **read)


def _seeds(source: Source, value: Any, at: Place) -> range | tuple[int, ...]:
    """A number of them, or a list."""
    if isinstance(value, int):
        return range(source.typed(int, value, at))
    return source.tuple_of(int, value, at)


def _round(source: Source, fields: Any, at: Place) -> Round:
    source.check_keys(Round, fields, at)
    seeds = source.tuple_of(int, fields.get("seeds", []), (*at, "seeds"))
    cells = source.tuple_of(str, fields.get("cells", []), (*at, "cells"))
    return Round(seeds, cells)


def _learner(
    source: Source, fields: Any, at: Place, base: LearnerSettings | None = None
) -> LearnerSettings:
    """A learner's settings: those of `base` where the table does not name them, or its
    algorithm's defaults.
    """
    source.check_table(fields, at)
    default = learner_to_dict(base or PPO())["algorithm"]
    place = (*at, "algorithm")
    name = source.typed(str, fields.get("algorithm", default), place)
    kind = source.made(place, learner_class, name)
    source.check_keys(kind, fields, at, "algorithm")
    named = {key: value for key, value in fields.items() if key != "algorithm"}
    named = source.fields(kind, named, at)
    inherited = {"algorithm": name}
    if base is not None and type(base) is kind:
        inherited = learner_to_dict(base)
    return source.made(at, learner_from, {**inherited, **named})


def _stage(source: Source, fields: Any, at: Place, learner: LearnerSettings) -> Stage:
    source.check_keys(Stage, fields, at)
    read = dict(fields)
    if "lambdas" in fields:
        read["lambdas"] = _lambdas(source, fields["lambdas"], (*at, "lambdas"))
    if "rules" in fields:
        place = (*at, "rules")
        listed = source.entries(fields["rules"], place)
        grids = (_rules(source, rule, (*place, i)) for i, rule in enumerate(listed))
        read["rules"] = tuple(itertools.chain.from_iterable(grids))
    if "limits" in fields:
        read["limits"] = _limits(source, fields["limits"], (*at, "limits"))
    if "variants" in fields:
        place = (*at, "variants")
        listed = source.entries(fields["variants"], place)
        read["variants"] = tuple(
            _learner(source, variant, (*place, i), learner) for i, variant in enumerate(listed)
        )
    kinds = {
        "name": str,
        "lambda_star": str,
        "lambda_star_method": LambdaStarMethod,
        "limits_from_frontier": int,
    }
    for key, kind in kinds.items():
        if key in fields:
            read[key] = source.typed(kind, fields[key], (*at, key))
    return source.made(at, Stage, **read)


def _lambdas(source: Source, value: Any, at: Place) -> tuple[Lambda, ...]:
    """A list of multipliers, each a number or a list with one for each constraint; or
    {from, to, count}; or {grid}, every combination of the numbers of each constraint.
    """
    if not isinstance(value, dict):
        return tuple(map(lambda_of, source.tuple_of(Lambda, value, at)))
    if "grid" in value:
        return _lambda_grid(source, value, at)
    return _spaced(source, value, at, "lambdas", ", or a table with grid")


def _lambda_grid(source: Source, value: dict[str, Any], at: Place) -> tuple[Lambda, ...]:
    for key in value.keys() - {"grid"}:
        raise source.error((*at, key), f"unknown key {key!r} beside grid; remove it")
    place = (*at, "grid")
    listed = source.entries(value["grid"], place)
    axes = [_grid_axis(source, axis, (*place, i)) for i, axis in enumerate(listed)]
    if len(axes) < 2 or not all(axes):
        raise source.error(
            place, "a grid has the lambdas of each constraint, as [[0.1, 1], [0.1, 1]]"
        )
    _fits_here(source, math.prod(map(len, axes)), place)
    return tuple(itertools.product(*axes))


def _grid_axis(source: Source, axis: Any, at: Place) -> tuple[float, ...]:
    """The multipliers of one constraint."""
    if isinstance(axis, dict):
        return _spaced(source, axis, at, "an axis of a grid")
    return source.tuple_of(float, axis, at)


def _spaced(
    source: Source, value: dict[str, Any], at: Place, what: str, more: str = ""
) -> tuple[float, ...]:
    """{from, to, count}: evenly spaced in the logarithm."""
    if set(value) != {"from", "to", "count"}:
        raise source.error(at, f"{what} must be a list, or a table with from, to and count{more}")
    low = source.typed(float, value["from"], at)
    high = source.typed(float, value["to"], at)
    count = source.typed(int, value["count"], at)
    if not 0 < low < high or count < 2:
        raise source.error(at, f"{what} needs 0 < from < to and a count of 2 or more")
    _fits_here(source, count, at)
    return spaced(low, high, count)


def _rules(source: Source, fields: Any, at: Place) -> list[Rule]:
    """One rule, or a grid of them where settings are lists."""
    name = fields.get("rule") if isinstance(fields, dict) else None
    if not isinstance(name, str) or not (is_reference(name) or name in rules()):
        known = ", ".join(map(repr, rules()))
        raise source.error(at, f"a rule is a table with rule = one of {known}")
    kind = source.made(at, rule_class, name)
    source.check_keys(kind, fields, at, "rule")
    choices = [value if isinstance(value, list) else [value] for value in fields.values()]
    _fits_here(source, math.prod(map(len, choices)), at)
    made = []
    for values in itertools.product(*choices):
        one = dict(zip(fields, values, strict=True))
        settings = {key: value for key, value in one.items() if key != "rule"}
        settings = source.fields(kind, settings, at)
        made.append(source.made(at, rule_from, {"rule": name, **settings}))
    return made


def _limits(source: Source, value: Any, at: Place) -> Any:
    """Limits for all tasks, or by task: each a number, or a list with one per constraint."""
    if isinstance(value, dict):
        return {task: _sets(source, some, (*at, task)) for task, some in value.items()}
    return _sets(source, value, at)


def _sets(source: Source, value: Any, at: Place) -> tuple[Limit, ...]:
    limits = []
    for entry in source.entries(value, at):
        listed = entry if isinstance(entry, list) else [entry]
        limits.append(source.tuple_of(float, listed, at))
    return tuple(limits)


def _fits_here(source: Source, count: int, at: Place) -> None:
    """Before a grid is unrolled: each of its points is a run at least."""
    most = room.most_runs()
    if count > most:
        raise source.error(
            at, f"{in_words(at)} is a grid of {count}; memory here has room for {most} runs"
        )
