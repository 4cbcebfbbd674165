"""`saddle study merge`: one study of several."""

from collections.abc import Sequence
from pathlib import Path

from saddle.study import merge as merging
from saddle.words import counted


def merge(studies: Sequence[Path], out: Path) -> None:
    """Write these studies as one into `out`, and say how large it is."""
    merged = merging.merge(studies, out)
    runs = counted(merged.runs.height, "run")
    print(f"{runs} in {counted(len(merged.units()), 'unit')}: {out}")
