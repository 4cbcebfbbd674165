"""A study's two tables as CSV, for whoever has no Parquet."""

from pathlib import Path

from saddle.errors import SaddleError
from saddle.files import AGAIN, replacing, write
from saddle.study.store import Study


def export_csv(study: Study, folder: Path) -> list[Path]:
    """Write runs.csv and metrics.csv into `folder`, streaming; files that are there are not
    overwritten.
    """
    runs, metrics = folder / "runs.csv", folder / "metrics.csv"
    for file in (runs, metrics):
        if file.exists():
            raise SaddleError(f"{file} exists; choose another folder, or remove it")
    rows = study.runs.write_csv()
    with replacing(metrics, AGAIN) as unfinished, study.reading():
        study.scan_metrics().sink_csv(unfinished.absolute())
    write(runs, rows.encode(), AGAIN)
    return [runs, metrics]
