"""The tasks that the docs write, as they write them, and a package outside the tree that has
them.
"""

import re
from pathlib import Path

DOC = Path(__file__).parents[1] / "docs" / "tutorials" / "own-task.md"


def docs_module() -> str:
    """The docs' two examples as one module: Corridor in JAX, Tank on the host."""
    blocks = re.findall(r"^```python\n(.*?)^```", DOC.read_text(), re.DOTALL | re.MULTILINE)
    return "\n\n".join(
        block for block in blocks if re.search("^class (Corridor|Tank)", block, re.MULTILINE)
    )


TRIPWIRE = """
import pathlib
(pathlib.Path(__file__).parent / "was_imported").touch()
"""


def write_package(folder: Path) -> Path:
    """An installed package 'outside' with three entry points, one of them broken; importing it
    leaves a file behind.
    """
    package = folder / "outside"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "tasks.py").write_text(docs_module() + TRIPWIRE)
    installed = folder / "outside_tasks-1.5.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: outside-tasks\nVersion: 1.5\n"
    )
    entries = ("OutsideCorridor = outside.tasks:Corridor", "OutsideTank = outside.tasks:Tank")
    broken = "OutsideBroken = outside.tasks:Tunnel"
    (installed / "entry_points.txt").write_text("\n".join(["[saddle.tasks]", *entries, broken, ""]))
    return package / "was_imported"
