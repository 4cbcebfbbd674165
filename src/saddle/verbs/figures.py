"""`saddle figures`: every figure and table of a study, written to a folder."""

from pathlib import Path

from rich.markup import escape

import saddle
from saddle.analysis import Options, analyze
from saddle.analysis.text import joint_sentences
from saddle.console import console
from saddle.report.curves import training_curves
from saddle.report.write import write_all


def figures(study: Path, out: Path, options: Options) -> None:
    """Analyse the study in this directory, write what there is to draw and to tabulate, and say
    what that is.
    """
    opened = saddle.open_study(study)
    with opened.reading():
        runs = opened.runs
        metrics = opened.scan_metrics()
        findings = analyze(runs, metrics, options)
        curves = training_curves(runs, metrics, options.unfinished)
    files = write_all(findings, curves, out)
    console().print(f"{len(files)} files in {out}", soft_wrap=True)
    notes = list(findings.notes)
    for part in findings.tasks:
        notes += [f"{part.task}: {note}" for note in part.notes]
    notes += joint_sentences(findings.joint)
    for note in notes:
        console().print(f"[yellow]note[/] {escape(note)}")
