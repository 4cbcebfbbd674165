"""Play one episode and draw it."""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

import jax

from saddle import policies, tasks
from saddle.draw import Episode, film, still
from saddle.draw.scene import check_drawable
from saddle.errors import SaddleError
from saddle.gym import checks, programs
from saddle.policies import Policy
from saddle.tasks import Task

WRITERS = {".png": still.write, ".gif": film.write_gif, ".mp4": film.write_mp4}


def play(task: str, policy: str, out: Path, seed: int = 0, steps: int | None = None, lidar: bool = False) -> None:
    """Play one episode from above and write it to `out`: .png, .gif or .mp4 by its ending.

    task: its name; policy: 'random', 'scripted', or the path of an exported policy; seed: of the world and of a random
    policy; steps: env steps, the whole episode when None; lidar: draw the readings around the robot.
    """
    made = tasks.make(task)
    check_drawable(task)
    actor = policies.get(policy, made.spec)
    steps = made.spec.episode_length if steps is None else checks.check_count(steps, "steps")
    key = checks.world_keys([seed])[0]
    write = _writer(out)
    name = policy if policy in ("random", "scripted") else Path(policy).stem
    with _replacing(out) as unfinished:
        write(Episode(made.spec, name, seed, roll(made, actor, key, steps)), unfinished, lidar)


def roll(task: Task, policy: Policy, key: jax.Array, steps: int) -> list:
    """The states of one episode, at most `steps` of it, the reset first; leaves are NumPy arrays."""
    run, act = programs.single(task), jax.jit(policy)
    state = run.reset(key)
    states = [state]
    draws = jax.random.split(jax.random.fold_in(key, 1), steps)
    for draw in draws:
        state, out = run.step(state, act(state.obs, draw))
        states.append(state)
        if out.terminated or out.truncated:
            break
    return jax.device_get(states)


def _writer(out: Path) -> Callable[[Episode, Path, bool], None]:
    """What writes a file of that name, if anything can."""
    if out.suffix.lower() not in WRITERS:
        raise SaddleError(f"cannot write {out}: its name must end in {', '.join(WRITERS)}")
    if out.suffix.lower() == ".mp4":
        film.ffmpeg()
    return WRITERS[out.suffix.lower()]


@contextlib.contextmanager
def _replacing(out: Path) -> Iterator[Path]:
    """A file beside `out` that takes its place once it is whole. It is made at once, to fail before the work."""
    unfinished = out.with_stem(f".{out.stem}.unfinished")
    try:
        if out.is_dir():
            raise SaddleError(f"cannot write {out}: it is a folder")
        if not out.parent.is_dir():
            raise SaddleError(f"cannot write {out}: there is no folder {out.parent}")
        unfinished.touch()
        yield unfinished
        unfinished.replace(out)
    except OSError as error:
        raise SaddleError(f"cannot write {out}: {error.strerror or error}") from None
    finally:
        with contextlib.suppress(OSError):
            unfinished.unlink()
