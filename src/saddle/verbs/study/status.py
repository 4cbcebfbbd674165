"""`saddle study status`: how a study stands, as a table or as JSON."""

import json
from dataclasses import asdict
from pathlib import Path

from rich.text import Text

from saddle.console import console
from saddle.study import open_study
from saddle.study import status as standing


def status(directory: Path, as_json: bool) -> None:
    """Print how the study in this directory stands."""
    now = standing.status(open_study(directory))
    if as_json:
        print(json.dumps(asdict(now), indent=2))
        return
    standing.print_status(now, console())
    for line in now.damaged:  # holds a command to copy: no line ends in it
        console().print(Text(line, style="red"), soft_wrap=True)
