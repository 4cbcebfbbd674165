"""How long the report of a study of the paper's size takes to build, and how large it is.

    python benchmarks/report.py [--runs 2480] [--epochs 1750] [--study DIR]

Generates the study (8 tasks) or reads the one in DIR, builds the page, and exits with 1 when it
takes more than 30 s of two cores or more than 8 MB.
"""

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path

from store import generate

from saddle.analysis import Options
from saddle.report.page.build import render
from saddle.report.page.data import study_data
from saddle.study.store import open_study

SECONDS, MEGABYTES = 30.0, 8.0


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=2480)
    parser.add_argument("--epochs", type=int, default=1750)
    parser.add_argument("--study", type=Path, help="a study that is there already")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = options.study or Path(folder) / "study"
        if options.study is None:
            generate(path, options.runs, options.epochs)
        began, busy = time.perf_counter(), time.process_time()
        data = study_data(open_study(path), Options())
        page = render(data).encode()
        took, cpu = time.perf_counter() - began, time.process_time() - busy
    limits = sum(len(task["limits"]) for task in data["tasks"])
    size = len(page) / 1e6
    facts = {
        "runs": data["counts"]["total"],
        "limits": limits,
        "seconds": took,
        "cpu_seconds": cpu,
        "megabytes": size,
    }
    print(json.dumps(facts, indent=2))
    good = took <= SECONDS and size <= MEGABYTES
    print("targets met" if good else "a target is missed")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
