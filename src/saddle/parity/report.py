"""The parity table for people: in a terminal, and in the documentation."""

from collections.abc import Iterable

from rich.console import Console
from rich.text import Text

from saddle.parity import regimes
from saddle.parity.agreement import Agreement
from saddle.parity.verdict import PERCENTILES, Line, Report
from saddle.tables import Column, print_table

_UNITS = {
    "pose": "m, rad",
    "velocity": "m/s, rad/s",
    "linear velocity": "m/s",
    "accelerometer": "m/s²",
    "body position": "m",
    "body angle": "rad",
    "body velocity": "m/s",
    "body spin": "rad/s",
    "displacement": "relative",
    "qpos": "m, rad",
    "qvel": "m/s, rad/s",
    "speed": "m/s",
}
_LINE_HEAD = (
    "regime",
    "quantity",
    "rows",
    *(f"{p} %" for p in PERCENTILES),
    "tolerance",
    "claimed",
    "reached",
    "",
)
_AGREEMENT_HEAD = ("regime", "event", "rows", "agree", "at threshold", "required", "")


def print_tables(reports: Iterable[Report], console: Console) -> None:
    """For a terminal."""
    for report in reports:
        _print(console, _LINE_HEAD, map(_line_cells, report.lines), _title(report))
        console.print()
        _print(console, _AGREEMENT_HEAD, map(_agreement_cells, report.agreements))
        console.print()


def markdown(reports: Iterable[Report]) -> str:
    """The generated part of docs/explanation/parity.md: what the regimes mean, then the tables of
    each task.
    """
    parts = [_grid(("regime", "rows in it"), regimes.MEANING.items())]
    for report in reports:
        parts.append(f"### {_title(report)}")
        parts.append(_grid(_LINE_HEAD, map(_line_cells, report.lines)))
        parts.append(_grid(_AGREEMENT_HEAD, map(_agreement_cells, report.agreements)))
    return "\n\n".join(parts)


def _title(report: Report) -> str:
    note = f", {report.left_out} left out where {report.why}" if report.left_out else ""
    engine = "" if report.engine == "jax" else f"{report.engine}, "
    return f"{report.task}, {engine}{report.precision}: {report.rows} rows{note}"


def _line_cells(line: Line) -> list[str]:
    unit = f" ({_UNITS[line.quantity]})" if line.quantity in _UNITS else ""
    limits = ", ".join(f"{bound.percentile:g} % ≤ {bound.limit:g}" for bound in line.bounds)
    numbers = (f"{value:.1e}" for value in line.percentiles)
    verdict = _verdict(line.passed) if line.claimed else ""
    return [
        line.regime,
        line.quantity + unit,
        str(line.rows),
        *numbers,
        limits,
        line.claimed,
        line.reached,
        verdict,
    ]


def _agreement_cells(a: Agreement) -> list[str]:
    counts = (a.rows, a.agree, a.at_threshold)
    return [a.regime, a.event, *map(str, counts), f"{100 * a.required:g} %", _verdict(a.passed)]


def _verdict(passed: bool) -> str:
    return "pass" if passed else "FAIL"


def _print(
    console: Console, head: tuple[str, ...], rows: Iterable[list[str]], title: str = ""
) -> None:
    columns = []
    for name in head:
        number = name == "rows" or name.endswith(" %")
        columns.append(
            Column(name, identifies=name in ("regime", "quantity", "event"), right=number)
        )
    coloured = []
    for *cells, verdict in rows:
        coloured.append([*cells, Text(verdict, style="red" if verdict == "FAIL" else "green")])
    print_table(console, columns, coloured, title)


def _grid(head: tuple[str, ...], rows: Iterable[Iterable[str]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)
