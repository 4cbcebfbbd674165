"""`python results/pack.py STUDY OUT`: a finished study, small enough to ship.

One metrics file per unit instead of one per chunk, and neither checkpoints, claims nor policies.
What is left is a study that `saddle analyze`, `figures`, `report` and `compare-paper` read like any
other.
"""

import sys
from pathlib import Path

from saddle.files import write_json
from saddle.study.store import Study
from saddle.study.writer import create, write_chunk, write_runs


def pack(study: Study, out: Path) -> None:
    """Write the study's tables to `out`."""

    def fill(folder: Path) -> None:
        metrics = study.metrics
        for unit in study.units():
            runs = study.unit_runs(unit)
            rows = metrics.join(runs.select("run"), on="run", how="semi", maintain_order="left")
            write_runs(folder, unit, runs)
            write_chunk(folder, unit, 0, rows["epoch"].n_unique(), rows)
            write_json(folder / "units" / f"{unit}.json", study.progress(unit))

    create(out, study.manifest, fill)


if __name__ == "__main__":
    pack(Study(Path(sys.argv[1])), Path(sys.argv[2]))
