"""`saddle bench host`: what an environment's worlds cost beyond its own steps."""

import dataclasses
import json

from saddle import tasks
from saddle.bench.host import HostOverhead, measure_overhead
from saddle.console import console
from saddle.errors import SaddleError
from saddle.tables import Column, print_table


def bench_host(task: str, worlds: int, as_json: bool) -> None:
    """Measure, and print the result."""
    if worlds < 1:
        raise SaddleError(f"--worlds is {worlds}; it must be at least 1")
    result = measure_overhead(task, tasks.make(task), worlds)
    if as_json:
        print(json.dumps(dataclasses.asdict(result), indent=2))
    else:
        _print(result)


def _print(result: HostOverhead) -> None:
    columns = (
        Column("", identifies=True),
        Column("env steps/s", right=True),
        Column("not the environment's own", right=True),
        Column("of which compiled", right=True),
    )
    stepping = (f"{result.stepping:,.0f}", f"{result.stepping_overhead:.1%}", "")
    collecting = (
        f"{result.collecting:,.0f}",
        f"{result.collecting_overhead:.1%}",
        f"{result.collecting_compiled:.1%}",
    )
    rows = (("stepping", *stepping), ("collecting", *collecting))
    title = f"{result.worlds} worlds of {result.task} in {result.processes} processes"
    print_table(console(), columns, rows, title=title)
