"""`saddle policies`: the policies that come with a checkout of Saddle."""

import json

from saddle.console import console
from saddle.pretrained import Interval, Verified, cards
from saddle.study.names import short
from saddle.tables import Column, print_table

COLUMNS = (
    Column("policy", identifies=True),
    Column("task"),
    Column("rule"),
    Column("lambda", right=True),
    Column("limit", right=True),
    Column("env steps", right=True),
    Column("return"),
    Column("cost"),
    Column("elsewhere", wraps=True),
)


def policies(as_json: bool) -> None:
    """Print their cards as a table or as JSON."""
    found = cards()
    if as_json:
        print(json.dumps([card.to_dict() for card in found], indent=2))
        return
    rows = []
    for card in found:
        for setting in card.settings:
            row = (
                card.name,
                short(card.task),
                card.rule,
                "-" if setting.multiplier is None else f"{setting.multiplier:.3g}",
                "-" if setting.limit is None else f"{setting.limit:g}",
                f"{card.env_steps:.3g}",
                _ranged(setting.stochastic.return_),
                _ranged(setting.stochastic.cost),
                _elsewhere(setting.verified),
            )
            rows.append(row)
    screen = console()
    print_table(screen, COLUMNS, rows)
    episodes = found[0].episodes if found else 0
    screen.print(
        f"Means of {episodes} episodes as trained, with 95 % intervals. saddle play TASK --policy "
        f"NAME draws one, saddle evaluate NAME plays it again, saddle dial NAME --limit D sets a "
        f"dial.",
        markup=False,
    )


def _ranged(found: Interval) -> str:
    """A mean and its interval, in as many digits as its width asks for."""
    digits = 1 if found.hi - found.lo < 20 else 0
    mean, lo, hi = (round(value, digits) + 0.0 for value in found)  # no -0.0
    return f"{mean:.{digits}f} [{lo:.{digits}f}, {hi:.{digits}f}]"


def _elsewhere(seen: Verified | None) -> str:
    """What it did in another implementation of the task."""
    if seen is None:
        return "-"
    ret, cost = seen.stochastic.return_, seen.stochastic.cost
    return f"{_ranged(ret)}, cost {_ranged(cost)} in {seen.episodes} of {seen.where}"
