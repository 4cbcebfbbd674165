"""Makes a package `saddle_worker` of this folder, whose own names would otherwise stand before
those of the environment's package, and runs it.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
PACKAGE = "saddle_worker"


def run() -> None:
    """Serve until the pipe of commands closes."""
    sys.path[:] = [entry for entry in sys.path if entry != str(FOLDER)]
    spec = importlib.util.spec_from_file_location(
        PACKAGE, FOLDER / "__init__.py", submodule_search_locations=[str(FOLDER)]
    )
    assert spec is not None
    assert spec.loader is not None
    package = importlib.util.module_from_spec(spec)
    sys.modules[PACKAGE] = package
    spec.loader.exec_module(package)
    importlib.import_module(PACKAGE + ".serve").main(int(sys.argv[1]))


if __name__ == "__main__":
    run()
