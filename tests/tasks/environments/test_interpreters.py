"""The folder that other interpreters run: what it may use, and that it runs alone."""

import ast
import sys
from pathlib import Path

import pytest

from saddle.tasks.gymnasium.process import WORKER

FILES = sorted(WORKER.glob("*.py"))
OLDEST = (3, 8)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_file_of_the_worker_runs_anywhere(file: Path):
    """It has the syntax of the oldest interpreter, and imports what every interpreter has."""
    tree = ast.parse(file.read_text(), feature_version=OLDEST)
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names = [node.module or ""]
        for name in names:
            top = name.partition(".")[0]
            assert top == "numpy" or top in sys.stdlib_module_names, name
    lines = file.read_text()
    assert file.stem == "__init__" or "from __future__ import annotations" in lines
