"""`saddle report`: one HTML file that shows a study."""

from pathlib import Path

from saddle.analysis import Options
from saddle.console import console
from saddle.report.page import write


def report(study: Path, out: Path, options: Options) -> None:
    """Write the report of the study in this directory, and say how large it is."""
    size = write(study, out, options)
    console().print(f"{out} ({size / 1e6:.1f} MB): open it in a browser", soft_wrap=True)
