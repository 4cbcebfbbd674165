"""Findings in a notebook: the words and tables of `saddle analyze` as HTML."""

from collections.abc import Sequence
from html import escape

from saddle.analysis.findings import Findings, JointLambda, TaskFindings
from saddle.analysis.show import (
    CRITIC_COLUMNS,
    CRITICS_SAY,
    JOINT_COLUMNS,
    OVER_TRAINING_COLUMNS,
    cells_table,
    critic_row,
    joint_row,
    limits_table,
    over_training_table,
    sweep_lines,
    whose,
)
from saddle.analysis.show_until_decided import decision_lines
from saddle.analysis.text import text, violating
from saddle.tables import Column, Content
from saddle.words import counted


def findings_html(findings: Findings) -> str:
    """A whole study's."""
    runs = findings.runs
    parts = [_sentence(f"{runs.used} of {counted(runs.total, 'run counts', 'runs count')}.")]
    parts += [_note(note) for note in findings.notes]
    parts += [task_html(part) for part in findings.tasks]
    parts += [_joint_html(joint) for joint in findings.joint]
    for decided in findings.until_decided:
        parts.append(_heading(decided.task, f"{decided.algorithm} · until decided"))
        parts += [_sentence(line) for line in decision_lines(decided)]
    return f"<div>{''.join(parts)}</div>"


def task_html(part: TaskFindings) -> str:
    """One task's."""
    parts = [_heading(part.task, whose(part))]
    parts += [_note(note) for note in part.notes]
    parts += [_sentence(line) for line in sweep_lines(part)]
    if part.limits:
        parts.append(_table(*limits_table(part)))
        parts += [_sentence(f"{found.limit:g}: {found.reason}") for found in part.limits]
    if part.comparison:
        parts.append(_table(*cells_table(part)))
        parts.append(_sentence("while training:"))
        parts.append(_table(OVER_TRAINING_COLUMNS, over_training_table(part)))
    if part.critics:
        parts.append(_sentence(CRITICS_SAY))
        parts.append(_table(CRITIC_COLUMNS, [critic_row(one) for one in part.critics]))
    return f"<div>{''.join(parts)}</div>"


def _joint_html(joint: JointLambda) -> str:
    rows = [joint_row(share) for share in joint.multipliers]
    return "".join(
        (
            _heading(joint.task, f"{joint.algorithm} · all constraints"),
            _table(JOINT_COLUMNS, rows),
            _sentence(f"return {text(joint.return_)}; {joint.reason}"),
            _sentence(violating(joint)),
        )
    )


def _heading(task: str, about: str) -> str:
    return f"<p><b>{escape(task)}</b> · {escape(about)}</p>"


def _note(words: str) -> str:
    return f"<p><i>note</i> {escape(words)}</p>"


def _sentence(words: str) -> str:
    return f"<p>{escape(words)}</p>"


def _table(columns: Sequence[Column], rows: Sequence[Sequence[Content]]) -> str:
    head = "".join(f"<th>{escape(column.name)}</th>" for column in columns)
    lines = [f"<tr>{head}</tr>"]
    for row in rows:
        cells = "".join(f"<td>{escape(str(cell))}</td>" for cell in row)
        lines.append(f"<tr>{cells}</tr>")
    return f"<table>{''.join(lines)}</table>"
