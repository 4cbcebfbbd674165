"""`saddle import omnisafe`: a study of OmniSafe's log folders."""

from pathlib import Path

from saddle.streams import note
from saddle.study.importers.omnisafe import import_logs
from saddle.words import counted


def import_omnisafe(logs: Path, out: Path) -> None:
    """Make a study of all logs below a folder. Says what it imported and, by name, what it could
    not.
    """
    imported, skipped = import_logs(logs, out, note)
    print(f"{counted(imported, 'run')} imported, {counted(skipped, 'folder')} skipped: {out}")
