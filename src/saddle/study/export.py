"""A study's two tables as CSV, for whoever has no Parquet."""

from pathlib import Path

from saddle.errors import SaddleError
from saddle.study.atomic import AGAIN, TEMPORARY, forget, store_error
from saddle.study.store import Study


def export_csv(study: Study, folder: Path) -> list[Path]:
    """Write runs.csv and metrics.csv into `folder`, streaming; files that are there are not
    overwritten.
    """
    runs, metrics = folder / "runs.csv", folder / "metrics.csv"
    for file in (runs, metrics):
        if file.exists():
            raise SaddleError(f"{file} exists; choose another folder, or remove it")
    beside = metrics.with_name(metrics.name + TEMPORARY)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with study.reading():
            study.scan_metrics().sink_csv(beside)
        rows = study.runs
        beside.replace(metrics)
        rows.write_csv(runs)
    except OSError as error:
        forget(beside)
        raise store_error(folder, error, AGAIN) from None
    except SaddleError:
        forget(beside)
        raise
    return [runs, metrics]
