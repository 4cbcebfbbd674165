"""`saddle study watch`: how a study stands, again and again until nothing is left to do."""

import json
import time
from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rich.live import Live

from saddle.console import console
from saddle.errors import SaddleError
from saddle.study import Study, open_study
from saddle.study.status import headline, is_over, live_status, status

MOST_SECONDS = 1e6  # more than that a system call does not wait


def watch(directory: Path, every: float, as_json: bool) -> None:
    """Print it every so many seconds: in place on a terminal, else a line each time."""
    if not 0 <= every <= MOST_SECONDS:
        raise SaddleError(
            f"--every is {every:g}; it must be in seconds, from 0 to {MOST_SECONDS:g}"
        )
    study = open_study(directory)
    screen = console()
    if screen.is_terminal and not as_json:
        _watch_live(study, every, screen)
        return
    while True:
        now = status(study)
        print(json.dumps(asdict(now)) if as_json else headline(now), flush=True)
        if is_over(now):
            return
        time.sleep(every)


def _watch_live(study: Study, every: float, screen: Console) -> None:
    with Live(console=screen, auto_refresh=False) as live:
        while True:
            now = status(study)
            live.update(live_status(now, screen.width), refresh=True)
            if is_over(now):
                return
            time.sleep(every)
