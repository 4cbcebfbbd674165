"""TensorBoard's event files, in the study's folder."""

from collections.abc import Mapping
from typing import Any

from tensorboardX import SummaryWriter

from saddle.study.store import Study


class TensorBoard:
    """Scalars `RUN/METRIC`; of a study whose runs differ in their seeds alone `seed N/METRIC`."""

    def __init__(self, study: Study) -> None:
        seeds = study.runs["seed"]
        self._by_seed = seeds.n_unique() == len(seeds)
        self._writer = SummaryWriter(str(study.path / "tensorboard"))
        self._labels: dict[str, str] = {}

    def begin(self, facts: Mapping[str, Any]) -> None:
        """Settle what the run is called."""
        run = facts["run"]
        self._labels[run] = f"seed {facts['seed']}" if self._by_seed else run

    def log(self, run: str, env_steps: int, values: Mapping[str, float]) -> None:
        """Write the scalars."""
        for name, value in values.items():
            self._writer.add_scalar(f"{self._labels[run]}/{name}", value, env_steps)

    def close(self) -> None:
        """Write what is still in memory."""
        self._writer.close()
