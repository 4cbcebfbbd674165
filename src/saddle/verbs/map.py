"""`saddle map`: which rule to use where, and rules over all limits, in words or as JSON."""

import json
from pathlib import Path

from saddle.analysis import Options
from saddle.analysis.aggregates import aggregates
from saddle.analysis.findings.study import plain_values
from saddle.analysis.from_store import analyze_store
from saddle.analysis.rules_map import maps_of_study
from saddle.analysis.show_aggregates import show_aggregates
from saddle.analysis.show_map import show_map
from saddle.analysis.show_until_decided import show_decisions


def map(study: Path, options: Options, as_json: bool) -> None:
    """Print the maps of the study in this directory, and its rules over all tasks and limits."""
    findings = analyze_store(study, options)
    found = maps_of_study(findings, str(study))
    over_all = aggregates(findings)
    if as_json:
        told = {"maps": plain_values(found), "aggregates": plain_values(over_all)}
        if findings.until_decided:
            told["until_decided"] = plain_values(findings.until_decided)
        print(json.dumps(told, indent=2, allow_nan=False))
    else:
        show_map(found)
        show_aggregates(over_all)
        show_decisions(findings.until_decided)
