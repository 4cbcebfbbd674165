"""Rules and learners that were run with several settings get a name for each."""

import collections
from collections.abc import Mapping, Sequence

import polars as pl

from saddle.multipliers.fixed import Fixed
from saddle.study.params import learner_fields, rule_fields
from saddle.words import setting

Settings = Mapping[str, object]


def name_settings(runs: pl.DataFrame) -> pl.DataFrame:
    """Append to `algorithm` and `rule` those settings in which runs differ: 'pid' becomes 'pid
    kp=0.001 ki=0.01'.

    The settings are those that `params` holds. A fixed rule keeps its name: lambda is its setting.
    """
    if "params" not in runs.columns:
        return runs
    params = runs["params"].to_list()
    learners = [learner_fields(text) for text in params]
    owners = list(runs.select("task", "algorithm").iter_rows())
    algorithms = pl.Series("algorithm", _names(owners, learners), pl.String)
    runs = runs.with_columns(algorithms)
    rules: list[Settings] = []
    for text, rule in zip(params, runs["rule"], strict=True):
        rules.append({} if rule == Fixed.name else rule_fields(text))
    owners = list(runs.select("task", "algorithm", "rule").iter_rows())
    return runs.with_columns(pl.Series("rule", _names(owners, rules), pl.String))


def _names(owners: Sequence[tuple[str, ...]], settings: Sequence[Settings]) -> list[str]:
    """The last word of each owner, and behind it those settings in which runs of the same owner
    differ.
    """
    seen = collections.defaultdict(set)
    for owner, own in zip(owners, settings, strict=True):
        for key, value in own.items():
            seen[owner, key].add(setting(value))
    names = []
    for owner, own in zip(owners, settings, strict=True):
        words = [owner[-1]]
        for key, value in own.items():
            if len(seen[owner, key]) > 1:
                words.append(f"{key}={setting(value)}")
        names.append(" ".join(words))
    return names
