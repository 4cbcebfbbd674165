"""`saddle doctor`: what this machine can do, as a table or as JSON."""

import dataclasses
import json

from rich.text import Text

from saddle.console import console
from saddle.doctor import Finding, examine
from saddle.tables import Column, Content, print_table

NAME = Column("", identifies=True)
MARK = Column("")
DETAIL = Column("", wraps=True)


def doctor(as_json: bool) -> None:
    """Print the report as text or as JSON: name -> group, ok, detail, advice."""
    findings = examine()
    if as_json:
        entries = {finding.name: _facts(finding) for finding in findings}
        print(json.dumps(entries, indent=2))
        return
    print_table(console(), (NAME, MARK, DETAIL), _report(findings), heading=False)
    missing = [finding for finding in findings if finding.advice]
    if missing:
        console().print("\nfor the rest, install", style="bold")
        advice = [(f"  {finding.name}", finding.advice) for finding in missing]
        print_table(console(), (NAME, DETAIL), advice, heading=False)


def _facts(finding: Finding) -> dict[str, object]:
    """A finding as plain values, without its name."""
    facts = dataclasses.asdict(finding)
    del facts["name"]
    return facts


def _report(findings: list[Finding]) -> list[tuple[Content, Content, Content]]:
    """A row for each finding, and one above each group with the group's name."""
    rows: list[tuple[Content, Content, Content]] = []
    group = ""
    for finding in findings:
        if finding.group != group:
            group = finding.group
            rows.append((Text(group, style="bold"), "", ""))
        mark = Text("yes", style="green") if finding.ok else Text("no", style="yellow")
        rows.append((f"  {finding.name}", mark, finding.detail))
    return rows
