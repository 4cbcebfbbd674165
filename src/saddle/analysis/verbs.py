"""What `saddle analyze` and `saddle compare-paper` do."""

from pathlib import Path

from saddle.analysis.agreement import compare_with_published
from saddle.analysis.assemble import analyze as analyze_frames
from saddle.analysis.findings import Findings
from saddle.analysis.options import Options
from saddle.analysis.show import show, show_agreement


def findings_of(study: Path, options: Options) -> Findings:
    """Analyse the study in this directory."""
    from saddle import open_study

    opened = open_study(study)
    with opened.reading():
        return analyze_frames(opened.runs, opened.scan_metrics(), options)


def analyze(study: Path, options: Options, as_json: bool) -> None:
    """Print a study's findings."""
    found = findings_of(study, options)
    if as_json:
        print(found.to_json(indent=2))
    else:
        show(found)


def compare_paper(study: Path, as_json: bool) -> None:
    """Print a study's comparison beside the published one."""
    comparison = compare_with_published(findings_of(study, Options()))
    if as_json:
        print(comparison.to_json(indent=2))
    else:
        show_agreement(comparison)
