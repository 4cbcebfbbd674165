"""Study files: TOML in the shape of a Plan. Mistakes are answered with the file, the line and the
nearest name.
"""

import dataclasses
import difflib
import itertools
import math
import tomllib
import types
import typing
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from saddle.config import LambdaStarMethod
from saddle.errors import SaddleError
from saddle.learners import PPO, LearnerSettings, learner_class, learner_from, learner_to_dict
from saddle.multipliers import Lambda, Rule, lambda_of, rule_class, rule_from, rules
from saddle.references import is_reference
from saddle.study import room
from saddle.study.lines import line_of
from saddle.study.plan import Chunking, Plan, Stage, spaced
from saddle.study.sequential import Round, UntilDecided

Place = tuple[str | int, ...]  # where a value is in the file: ("stages", 1, "limits")


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
    return _Reader(str(path), text).plan({"name": path.stem, **fields})


def plan_from(fields: dict[str, Any], source: str = "the plan") -> Plan:
    """The plan that `to_dict` described."""
    return _Reader(source, "").plan(fields)


class _Reader:
    """Reads one file. `at` is always the path of the value in hand, for the error's line."""

    def __init__(self, source: str, text: str) -> None:
        self.source, self.text = source, text

    def plan(self, fields: dict[str, Any]) -> Plan:
        self._keys(Plan, fields, ())
        read = dict(fields)
        read["tasks"] = self._tuple(fields.get("tasks", []), str, ("tasks",))
        if isinstance(fields.get("seeds"), int):
            read["seeds"] = range(self._typed(fields["seeds"], int, ("seeds",)))
        elif "seeds" in fields:
            read["seeds"] = self._tuple(fields["seeds"], int, ("seeds",))
        read["learner"] = self._learner(fields.get("learner", {}), ("learner",))
        stages = self._list(fields.get("stages", []), ("stages",))
        read["stages"] = tuple(
            self._stage(stage, ("stages", i), read["learner"]) for i, stage in enumerate(stages)
        )
        read["chunk"] = self._table(
            Chunking, fields.get("chunk", {}), ("chunk",), lambda f: Chunking(**f)
        )
        if "until_decided" in fields:
            read["until_decided"] = self._table(
                UntilDecided,
                fields["until_decided"],
                ("until_decided",),
                lambda f: UntilDecided(**f),
            )
        rounds = self._list(fields.get("rounds", []), ("rounds",))
        read["rounds"] = tuple(self._round(added, ("rounds", i)) for i, added in enumerate(rounds))
        for key in ("name", "steps", "members", "scale_rates"):
            if key in fields:
                read[key] = self._typed(fields[key], typing.get_type_hints(Plan)[key], (key,))
        return self._made(lambda: Plan(**read), ())

    def _round(self, fields: Any, at: Place) -> Round:
        self._keys(Round, fields, at)
        seeds = self._tuple(fields.get("seeds", []), int, (*at, "seeds"))
        return Round(seeds, self._tuple(fields.get("cells", []), str, (*at, "cells")))

    def _learner(
        self, fields: Any, at: Place, base: LearnerSettings | None = None
    ) -> LearnerSettings:
        """A learner's settings: those of `base` where the table does not name them, or its
        algorithm's defaults.
        """
        if not isinstance(fields, dict):
            raise self._error(at, f"{_words(at)} must be a table")
        default = learner_to_dict(base or PPO())["algorithm"]
        name = self._typed(fields.get("algorithm", default), str, (*at, "algorithm"))
        kind = self._made(lambda: learner_class(name), (*at, "algorithm"))
        self._keys(kind, fields, at, "algorithm")
        hints = typing.get_type_hints(kind)
        for key in fields.keys() - {"algorithm"}:
            self._typed(fields[key], hints[key], (*at, key))
        inherited = {"algorithm": name}
        if base is not None and type(base) is kind:
            inherited = learner_to_dict(base)
        return self._made(lambda: learner_from({**inherited, **fields}), at)

    def _stage(self, fields: Any, at: Place, learner: LearnerSettings) -> Stage:
        self._keys(Stage, fields, at)
        read = dict(fields)
        if "lambdas" in fields:
            read["lambdas"] = self._lambdas(fields["lambdas"], (*at, "lambdas"))
        if "rules" in fields:
            rules = self._list(fields["rules"], (*at, "rules"))
            grids = (self._rules(rule, (*at, "rules", i)) for i, rule in enumerate(rules))
            read["rules"] = tuple(itertools.chain.from_iterable(grids))
        if "limits" in fields:
            read["limits"] = self._limits(fields["limits"], (*at, "limits"))
        if "variants" in fields:
            variants = self._list(fields["variants"], (*at, "variants"))
            read["variants"] = tuple(
                self._learner(variant, (*at, "variants", i), learner)
                for i, variant in enumerate(variants)
            )
        kinds = {
            "name": str,
            "lambda_star": str,
            "lambda_star_method": LambdaStarMethod,
            "limits_from_frontier": int,
        }
        for key, kind in kinds.items():
            if key in fields:
                read[key] = self._typed(fields[key], kind, (*at, key))
        return self._made(lambda: Stage(**read), at)

    def _lambdas(self, value: Any, at: Place) -> tuple[Lambda, ...]:
        """A list of multipliers, each a number or a list with one for each constraint; or
        {from, to, count}; or {grid}, every combination of the numbers of each constraint.
        """
        if not isinstance(value, dict):
            return tuple(map(lambda_of, self._tuple(value, Lambda, at)))
        if "grid" in value:
            return self._lambda_grid(value, at)
        return self._spaced(value, at, "lambdas", ", or a table with grid")

    def _lambda_grid(self, value: dict[str, Any], at: Place) -> tuple[Lambda, ...]:
        self._only_grid(value, at)
        place = (*at, "grid")
        axes: list[tuple[float, ...]] = []
        for i, axis in enumerate(self._list(value["grid"], place)):
            if isinstance(axis, dict):
                axes.append(self._spaced(axis, (*place, i), "an axis of a grid"))
            else:
                axes.append(tuple(map(float, self._tuple(axis, float, (*place, i)))))
        if len(axes) < 2 or not all(axes):
            raise self._error(
                place, "a grid has the lambdas of each constraint, as [[0.1, 1], [0.1, 1]]"
            )
        self._fits_here(math.prod(map(len, axes)), place)
        return tuple(itertools.product(*axes))

    def _only_grid(self, value: dict[str, Any], at: Place) -> None:
        for key in value.keys() - {"grid"}:
            raise self._error((*at, key), f"unknown key {key!r} beside grid; remove it")

    def _spaced(
        self, value: dict[str, Any], at: Place, what: str, more: str = ""
    ) -> tuple[float, ...]:
        """{from, to, count}: evenly spaced in the logarithm."""
        if set(value) != {"from", "to", "count"}:
            raise self._error(
                at, f"{what} must be a list, or a table with from, to and count{more}"
            )
        low, high = (self._typed(value[key], float, at) for key in ("from", "to"))
        count = self._typed(value["count"], int, at)
        if not 0 < low < high or count < 2:
            raise self._error(at, f"{what} needs 0 < from < to and a count of 2 or more")
        self._fits_here(count, at)
        return spaced(float(low), float(high), count)

    def _rules(self, fields: Any, at: Place) -> list[Rule]:
        """One rule, or a grid of them where settings are lists."""
        name = fields.get("rule") if isinstance(fields, dict) else None
        if not isinstance(name, str) or not (is_reference(name) or name in rules()):
            raise self._error(
                at, f"a rule is a table with rule = one of {', '.join(map(repr, rules()))}"
            )
        kind = self._made(lambda: rule_class(name), at)
        self._keys(kind, fields, at, "rule")
        hints = typing.get_type_hints(kind)
        choices = [value if isinstance(value, list) else [value] for value in fields.values()]
        self._fits_here(math.prod(map(len, choices)), at)
        made = []
        for values in itertools.product(*choices):
            one = dict(zip(fields, values, strict=True))
            for key in one.keys() - {"rule"}:
                self._typed(one[key], hints[key], (*at, key))
            made.append(self._made(lambda one=one: rule_from(one), at))
        return made

    def _limits(self, value: Any, at: Place) -> Any:
        if isinstance(value, dict):
            return {task: self._limits(some, (*at, task)) for task, some in value.items()}
        entries = [entry if isinstance(entry, list) else [entry] for entry in self._list(value, at)]
        return tuple(tuple(map(float, self._tuple(entry, float, at))) for entry in entries)

    def _table(self, cls: type, fields: Any, at: Place, make: Any) -> Any:
        self._keys(cls, fields, at)
        hints = typing.get_type_hints(cls)
        for key, value in fields.items():
            self._typed(value, hints[key], (*at, key))
        return self._made(lambda: make(dict(fields)), at)

    def _fits_here(self, count: int, at: Place) -> None:
        """Before a grid is unrolled: each of its points is a run at least."""
        most = room.most_runs()
        if count > most:
            raise self._error(
                at, f"{_words(at)} is a grid of {count}; memory here has room for {most} runs"
            )

    def _keys(self, cls: type, fields: Any, at: Place, *more: str) -> None:
        if not isinstance(fields, dict):
            raise self._error(at, f"{_words(at)} must be a table")
        valid = [*more, *(f.name for f in dataclasses.fields(cls))]
        for key in fields:
            if key not in valid:
                raise self._error(
                    (*at, key), f"unknown key {key!r} in {_words(at)}{_suggest(key, valid, at)}"
                )

    def _list(self, value: Any, at: Place) -> list[Any]:
        if not isinstance(value, list):
            raise self._error(at, f"{_words(at)} must be a list")
        return value

    def _tuple(self, value: Any, kind: Any, at: Place) -> tuple[Any, ...]:
        return tuple(self._typed(entry, kind, at) for entry in self._list(value, at))

    def _typed(self, value: Any, hint: Any, at: Place) -> Any:
        if not _fits(value, hint):
            raise self._error(at, f"{_words(at)} is {value!r}, but must be {_in_words(hint)}")
        return value

    def _made(self, make: Any, at: Place) -> Any:
        try:
            return make()
        except SaddleError as error:
            raise self._error(at, str(error)) from None

    def _error(self, at: Place, message: str) -> SaddleError:
        if message.startswith(self.source):
            return SaddleError(message)  # of an inner table, which knew its line
        line = line_of(self.text, at)
        return SaddleError(f"{self.source}{f':{line}' if line else ''}: {message}")


def _words(at: Place) -> str:
    """A path as a person writes it: stages[1].limits."""
    if not at:
        return "the study"
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in at).lstrip(".")


def _suggest(key: str, valid: Sequence[str], at: Place) -> str:
    close = difflib.get_close_matches(key, valid, n=1, cutoff=0.6)
    if close:
        return f"; did you mean {close[0]!r}?"
    elsewhere = {"learner": PPO, "chunk": Chunking, "[stages]": Stage}
    for table, cls in elsewhere.items():
        if key in {f.name for f in dataclasses.fields(cls)} and _words(at) != table:
            return f"; it belongs into [{table}]"
    return f"; known are {', '.join(valid)}"


def _fits(value: Any, hint: Any) -> bool:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (types.UnionType, typing.Union):
        return any(_fits(value, one) for one in arguments)
    if origin is Literal:
        return value in arguments
    if origin is tuple:
        return isinstance(value, list | tuple) and all(
            _fits(entry, arguments[0]) for entry in value
        )
    if hint is float:
        return value == "inf" or (isinstance(value, int | float) and not isinstance(value, bool))
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, hint)


def _in_words(hint: Any) -> str:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is Literal:
        return "one of " + ", ".join(map(repr, arguments))
    if origin is tuple:
        return f"a list, each entry {_in_words(arguments[0])}"
    if origin in (types.UnionType, typing.Union):
        return " or ".join(_in_words(one) for one in arguments if one is not types.NoneType)
    return {int: "a whole number", float: "a number", bool: "true or false", str: "a string"}[hint]
