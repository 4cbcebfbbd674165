"""`saddle map`: which rule to use at which limit, in words or as JSON."""

import json
from pathlib import Path

from saddle.analysis import Options
from saddle.analysis.findings.study import plain_values
from saddle.analysis.from_store import analyze_store
from saddle.analysis.rules_map import maps_of_study
from saddle.analysis.show_map import show_map


def map(study: Path, options: Options, as_json: bool) -> None:
    """Print the map of the study in this directory."""
    findings = analyze_store(study, options)
    found = maps_of_study(findings, str(study))
    if as_json:
        print(json.dumps({"maps": plain_values(found)}, indent=2, allow_nan=False))
    else:
        show_map(found)
