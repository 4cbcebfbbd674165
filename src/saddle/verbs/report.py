"""`saddle report`: one HTML file that shows a study."""

from pathlib import Path

from saddle import open_study, streams
from saddle.analysis import Options
from saddle.console import console
from saddle.report.page import write


def report(study: Path, out: Path, options: Options, draw: bool = False) -> None:
    """Write the report of the study in this directory, and say how large it is. draw: play its
    policies first, and keep what they do with the study.
    """
    if draw:
        _draw(study)
    size = write(study, out, options)
    console().print(f"{out} ({size / 1e6:.1f} MB): open it in a browser", soft_wrap=True)


def _draw(path: Path) -> None:
    """Draw episodes of the study's policies, task by task."""
    from saddle.draw_episodes import draw_episodes
    from saddle.study.episodes import drawn_episodes

    study = open_study(path)
    draw_episodes(study, streams.note)
    if not drawn_episodes(study):
        streams.note(
            f"{path} has no policy to draw: its tasks cannot be seen, or it keeps no policies"
        )
