"""The answers at the study's own limits as HTML tables, for readers without JavaScript."""

import html
from typing import Any

from saddle.multipliers.fixed import Fixed

HEAD = ("limit", "lambda*", "expected return", "regime", "seeds violating", "train at")


def plain_tables(data: dict[str, Any]) -> str:
    """One table per task and algorithm; empty for tasks that were neither compared nor swept."""
    return "".join(_table(task) for task in data["tasks"] if task["limits"])


def _table(task: dict[str, Any]) -> str:
    wanted = {*task["asked"], *(cell["limit"] for cell in task["comparison"])}
    wanted |= {advice["limit"] for advice in task["recommended"]}
    rows = [finding for finding in task["limits"] if finding["limit"] in wanted or not wanted]
    head = "".join(f"<th>{name}</th>" for name in HEAD)
    body = "".join(map(_row, rows))
    names = (task["task"], task["algorithm"], task["constraint"])
    title = html.escape(", ".join(name for name in names if name))
    together = "".join(f"<p>{html.escape(sentence)}</p>" for sentence in task["together"])
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return f"<h2>{title}</h2>{table}{together}"


def _row(finding: dict[str, Any]) -> str:
    cells = "".join(f"<td>{html.escape(cell)}</td>" for cell in _cells(finding))
    return f"<tr>{cells}</tr>"


def _cells(finding: dict[str, Any]) -> list[str]:
    fixed = next((margin for margin in finding["margins"] if margin["rule"] == Fixed.name), None)
    return [
        f"{finding['limit']:g}",
        _text(finding["lambda"]),
        _text(finding["return"]),
        finding["regime"] or "-",
        _text(finding["violation_share"], "{:.0%}"),
        _text(fixed["training_limit"]) if fixed else "-",
    ]


def _text(found: dict[str, Any], form: str = "{:.4g}") -> str:
    if found["value"] is None:
        return "-"
    value = form.format(found["value"])
    if found["lo"] is None and found["hi"] is None:
        return value
    lo = "…" if found["lo"] is None else form.format(found["lo"])
    hi = "…" if found["hi"] is None else form.format(found["hi"])
    return f"{value} [{lo}, {hi}]"
