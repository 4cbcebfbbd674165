"""`saddle compare-paper`: a study's comparison of rules beside the published one."""

import dataclasses
from pathlib import Path

import saddle
from saddle.analysis import Options
from saddle.analysis.agreement import compare_with_published
from saddle.analysis.from_store import analyze_store
from saddle.analysis.show import show_agreement
from saddle.study.rates import run_notes


def compare_paper(
    study: Path, published: bool, sweep: Path | None, unfinished: bool, as_json: bool
) -> None:
    """Print the comparison of the study in this directory beside the published one.

    `published` takes lambda* as the published study did, `sweep` from another study; `unfinished`
    counts runs that are still in progress.
    """
    options = Options.by_method("published" if published else "profile", unfinished=unfinished)
    findings = analyze_store(study, options)
    swept = None if sweep is None else analyze_store(sweep, options)
    comparison = compare_with_published(findings, swept)
    if comparison.cells:
        notes = run_notes(saddle.open_study(study).runs)
        comparison = dataclasses.replace(comparison, notes=(*comparison.notes, *notes))
    if as_json:
        print(comparison.to_json(indent=2))
    else:
        show_agreement(comparison)
