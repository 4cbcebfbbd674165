"""Trackers by name. A tracker's package is imported when somebody asks for it, and not before."""

import importlib
from collections.abc import Callable, Iterable, Sequence

from saddle.arguments import of_kind
from saddle.errors import SaddleError
from saddle.extras import install
from saddle.study.store import Study
from saddle.trackers.tracker import Tracker

TrackerKind = Callable[[Study], Tracker]
"""Makes a tracker of a study: its class, usually."""

NAMES = {
    "tensorboard": "saddle.trackers.tensorboard:TensorBoard",
    "wandb": "saddle.trackers.weights_and_biases:WeightsAndBiases",
    "mlflow": "saddle.trackers.mlflow:MLflow",
}
"""Saddle's own; a name is also that of the extra which installs what it needs."""


def tracker_kinds(wanted: Sequence[str | TrackerKind]) -> list[TrackerKind]:
    """The trackers of these names, or those given as they are; an error where one is not installed,
    so that it can be asked before anything is written.
    """
    if isinstance(wanted, str):
        wanted = (wanted,)
    of_kind("log", wanted, Iterable, f"names of trackers, of {', '.join(NAMES)}, or their classes")
    several = list(wanted)
    for one in several:
        if not isinstance(one, str) and not callable(one):
            raise SaddleError(
                f"log has {one!r}; give names of trackers, of {', '.join(NAMES)}, or their classes"
            )
    return [_kind(one) if isinstance(one, str) else one for one in dict.fromkeys(several)]


def _kind(name: str) -> TrackerKind:
    if name not in NAMES:
        raise SaddleError(f"there is no tracker {name!r}; log to {', '.join(NAMES)}")
    module, _, attribute = NAMES[name].partition(":")
    try:
        return getattr(importlib.import_module(module), attribute)
    except ImportError as error:
        raise SaddleError(f"the tracker {name!r} needs {error.name}: run {install(name)}") from None
