"""Weights & Biases: a run there for each run, all of a study in one group.

Its own settings hold: WANDB_PROJECT (or else 'saddle'), WANDB_ENTITY, WANDB_MODE=offline.
"""

import os
from collections.abc import Mapping
from typing import Any

import wandb

from saddle.study.store import Study
from saddle.trackers.identity import identity


class WeightsAndBiases:
    """Runs of Weights & Biases, which a resumed study goes on with."""

    def __init__(self, study: Study) -> None:
        self._study = study
        self._runs: dict[str, Any] = {}

    def begin(self, facts: Mapping[str, Any]) -> None:
        """Open a run, or the one of before."""
        run = facts["run"]
        offline = os.environ.get("WANDB_MODE") == "offline"  # where nothing can be resumed
        self._runs[run] = wandb.init(
            project=os.environ.get("WANDB_PROJECT", "saddle"),
            group=self._study.path.absolute().name,
            name=run,
            id=identity(self._study, run),
            resume=None if offline else "allow",
            reinit="create_new",  # the members of a population run at the same time
            config=dict(facts),
            dir=str(self._study.path),
            settings=wandb.Settings(silent=True),
        )

    def log(self, run: str, env_steps: int, values: Mapping[str, float]) -> None:
        """Log the metrics; of steps that are there already nothing is kept."""
        self._runs[run].log(dict(values), step=env_steps)

    def close(self) -> None:
        """Finish every run."""
        for run in self._runs.values():
            run.finish()
