"""Runs the small study with the fake learner in a process of its own: drive.py DIR EPOCHS [largest
file in bytes].
"""

import resource
import signal
import sys
from pathlib import Path

from fake import LightProgram
from helpers import small, work

from saddle.errors import SaddleError
from saddle.study.stop import Stopper

if __name__ == "__main__":
    if len(sys.argv) > 3:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[3]), int(sys.argv[3])))
    with Stopper() as stop:
        try:
            work(
                small(epochs=int(sys.argv[2])),
                Path(sys.argv[1]),
                resume=True,
                stop=stop,
                make=LightProgram,
            )
        except SaddleError as error:
            sys.exit(f"error: {error}")
    sys.exit(stop.signal or 0)
