"""Logs that OmniSafe wrote, as a study: what did those runs show?

    python examples/import_omnisafe.py RUNS --out imported

takes every log below the folder RUNS, and prints each task's findings at the limits that the runs
had.
"""

import argparse
from pathlib import Path

import saddle


def main(arguments=None):
    """Import, analyse, print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("logs", type=Path)
    parser.add_argument("--out", default="imported")
    options = parser.parse_args(arguments)

    study = saddle.import_omnisafe(options.logs, options.out, on_message=print)
    print(study.runs.select("run", "rule", "lambda", "limit", "seed", "status"))
    for found in saddle.analyze(study).tasks:
        print(f"{found.task}, {found.algorithm}: {len(found.groups)} multipliers")
        for note in found.notes:
            print(f"  {note}")
        for cell in found.comparison:
            print(
                f"  {cell.rule} at {cell.limit:g}: return {cell.return_.value:.1f}, "
                f"cost {cell.cost.value:.1f}"
            )


if __name__ == "__main__":
    main()
