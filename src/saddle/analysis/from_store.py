"""What the study in a directory shows."""

from dataclasses import replace
from pathlib import Path

from saddle.analysis.assemble import analyze
from saddle.analysis.findings import Findings
from saddle.analysis.options import Options
from saddle.analysis.until_decided import decisions, sampling_notes


def analyze_store(path: Path, options: Options) -> Findings:
    """Analyse the study in this directory."""
    from saddle import open_study

    study = open_study(path)
    with study.reading():
        found = analyze(study.runs, study.scan_metrics(), options)
    notes = (*found.notes, *sampling_notes(study.manifest))
    return replace(found, notes=notes, until_decided=decisions(study))
