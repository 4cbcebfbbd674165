"""MLflow: an experiment for each study, a run there for each run.

Its own settings hold: MLFLOW_TRACKING_URI, MLFLOW_EXPERIMENT_NAME (or else the study's folder).
"""

import os
import time
from collections.abc import Mapping
from typing import Any

from mlflow import MlflowClient
from mlflow.entities import Metric, Param
from mlflow.exceptions import MlflowException

from saddle.errors import RESUMED, SaddleError, first_line
from saddle.study.store import Study
from saddle.trackers.identity import identity

TAG = "saddle.identity"


class MLflow:
    """Runs of MLflow, which a resumed study goes on with."""

    def __init__(self, study: Study) -> None:
        self._study = study
        self._runs: dict[str, str] = {}
        name = os.environ.get("MLFLOW_EXPERIMENT_NAME", study.path.absolute().name)
        try:
            self._client = MlflowClient()
            there = self._client.get_experiment_by_name(name)
            self._experiment = (
                there.experiment_id if there else self._client.create_experiment(name)
            )
        except MlflowException as error:
            raise SaddleError(
                f"MLflow cannot be written to ({first_line(error)}); set MLFLOW_TRACKING_URI to a "
                f"server or a database, and go on with {RESUMED}"
            ) from None

    def begin(self, facts: Mapping[str, Any]) -> None:
        """Open a run, or the one of before."""
        run = facts["run"]
        own = identity(self._study, run)
        found = self._client.search_runs([self._experiment], f"tags.`{TAG}` = '{own}'")
        if found:
            self._runs[run] = found[0].info.run_id
            self._client.update_run(self._runs[run], status="RUNNING")
            return
        made = self._client.create_run(self._experiment, tags={TAG: own}, run_name=run)
        self._runs[run] = made.info.run_id
        settings = [Param(name, str(value)) for name, value in facts.items()]
        self._client.log_batch(self._runs[run], params=settings)

    def log(self, run: str, env_steps: int, values: Mapping[str, float]) -> None:
        """Log the metrics."""
        now = int(time.time() * 1000)
        metrics = [Metric(name, value, now, env_steps) for name, value in values.items()]
        self._client.log_batch(self._runs[run], metrics=metrics)

    def close(self) -> None:
        """Mark every run as finished."""
        for run in self._runs.values():
            self._client.set_terminated(run)
