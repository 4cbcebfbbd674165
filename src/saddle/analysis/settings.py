"""Rules that were run with several settings (other gains, other step sizes) get a name for each."""

import json

import polars as pl


def name_settings(runs: pl.DataFrame) -> pl.DataFrame:
    """Append to `rule` those settings in which runs of the same rule differ: 'pid' becomes 'pid kp=0.001 ki=0.01'.

    The settings are those that `params` holds under "rule". A fixed rule keeps its name: lambda is its setting.
    """
    if "params" not in runs.columns:
        return runs
    settings = [_settings(params, rule) for params, rule in runs.select("params", "rule").iter_rows()]
    owners = list(runs.select("task", "algorithm", "rule").iter_rows())
    seen: dict[tuple, set[object]] = {}
    for owner, own in zip(owners, settings, strict=True):
        for key, value in own.items():
            seen.setdefault((owner, key), set()).add(value)
    names = [
        " ".join([owner[2], *(f"{key}={_short(value)}" for key, value in own.items() if len(seen[owner, key]) > 1)])
        for owner, own in zip(owners, settings, strict=True)
    ]
    return runs.with_columns(pl.Series("rule", names, pl.String))


def _settings(params: str | None, rule: str) -> dict[str, object]:
    try:
        facts = json.loads(params or "{}")
    except ValueError:
        return {}
    own = facts.get("rule") if isinstance(facts, dict) else None
    if rule == "fixed" or not isinstance(own, dict):
        return {}
    return {key: value for key, value in own.items() if isinstance(value, bool | int | float | str)}


def _short(value: object) -> str:
    return f"{value:g}" if isinstance(value, int | float) else str(value)
