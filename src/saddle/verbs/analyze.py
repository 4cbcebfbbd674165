"""`saddle analyze`: what a study shows, in words or as JSON."""

from pathlib import Path

from saddle.analysis import Options
from saddle.analysis.from_store import analyze_store
from saddle.analysis.show import show


def analyze(study: Path, options: Options, as_json: bool) -> None:
    """Print the findings of the study in this directory."""
    found = analyze_store(study, options)
    if as_json:
        print(found.to_json(indent=2))
    else:
        show(found)
