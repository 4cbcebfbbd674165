"""`saddle study export`: the study's tables as CSV."""

from pathlib import Path

from saddle.study import open_study
from saddle.study.export import export_csv


def export(directory: Path, csv: Path) -> None:
    """Write runs.csv and metrics.csv into the folder `csv`, and name them."""
    for file in export_csv(open_study(directory), csv):
        print(file)
