"""The verbs `saddle import ...`."""

from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg


def import_omnisafe(
    logs: Annotated[
        Positional[Path], arg(metavar="LOGDIR", help="Folder with OmniSafe's logs, at any depth.")
    ],
    out: Annotated[Path, arg(metavar="DIR", help="Directory of the new study.")],
) -> None:
    """Make a study of OmniSafe's log folders (config.json and progress.csv)."""
    from saddle.verbs.imports.omnisafe import import_omnisafe

    import_omnisafe(logs, out)
