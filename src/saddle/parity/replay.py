"""The reference's transitions, replayed task by task."""

from pathlib import Path

from saddle.errors import SaddleError
from saddle.parity import golden_files, velocity
from saddle.parity.compare import Precision, step
from saddle.parity.golden import Golden
from saddle.parity.verdict import Report, judge
from saddle.tasks import known_spec, make
from saddle.tasks.registry import entry
from saddle.tasks.velocity import engines
from saddle.tasks.velocity.bodies import BODIES


def replay(
    golden: Path | None = None,
    tasks: tuple[str, ...] = (),
    precision: Precision = "float32",
    engine: str | None = None,
) -> list[Report]:
    """How the replay of each task agrees with the reference. No tasks means all that have a file.

    golden: the folder of the reference's transitions, Saddle's own by default; engine: of the
    velocity tasks, the best one here by default; given without tasks, it means the velocity tasks.
    """
    if engine is not None:
        tasks = tasks or tuple(BODIES)
        _check_engine(tasks, engine)
    return [_replay(rows, precision, engine) for rows in golden_files.load(golden, tasks)]


def _check_engine(tasks: tuple[str, ...], engine: str) -> None:
    engines.check(engine)
    for task in tasks:
        spec = known_spec(entry(task).name)
        if spec is None or engine not in spec.engines:
            raise SaddleError(
                f"{task} has no choice of engines; leave --engine out, or name a velocity task"
            )


def _replay(rows: Golden, precision: Precision, engine: str | None) -> Report:
    if rows.velocity:
        return velocity.judge(rows, engine or engines.default(), precision)
    return judge(rows, step(rows, make(rows.task), precision), precision)
