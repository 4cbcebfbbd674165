"""`saddle play`: play one episode and draw it."""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

from saddle import files, policies
from saddle.dial_search import dial
from saddle.draw import Episode, course, film, record, still
from saddle.draw.course import Course, amount
from saddle.errors import SaddleError
from saddle.gym import checks
from saddle.gym.choose import choose
from saddle.multipliers import Lambda, lambda_of
from saddle.policies import Policy
from saddle.study.store import MANIFEST
from saddle.tasks import HostTask, State, Task, TaskSpec
from saddle.tasks.host import HostWorlds, PicturedWorlds, close_worlds
from saddle.tasks.velocity.engines import NativeTask

Writer = TypeVar("Writer", bound=Callable[..., None])

WRITERS = {".png": still.write, ".gif": film.write_gif, ".mp4": film.write_mp4}
COURSE_WRITERS = {
    ".png": course.write_still,
    ".gif": course.write_gif,
    ".mp4": course.write_mp4,
}


def play(
    task: str,
    policy: str | None,
    out: Path,
    seed: int = 0,
    steps: int | None = None,
    lidar: bool = False,
    multipliers: tuple[float, ...] = (),
    limit: tuple[float, ...] = (),
) -> None:
    """Play one episode, write it to `out` (.png, .gif or .mp4 by its ending), and say how it went.

    task: its name or reference; policy: 'random', 'scripted', or the path of an exported policy,
    None for the scripted one or, where there is none, the random one; seed: of the world and of a
    random policy; steps: env steps, the whole episode when None; lidar: draw the point robot's
    readings around it; multipliers or limit: where to set the policy's dial, or for which limit of
    each constraint.
    """
    made = choose(task, {}).task
    policy = policy or ("scripted" if hasattr(made, "scripted") else "random")
    if (Path(policy) / MANIFEST).exists():
        raise SaddleError(
            f"{policy} is a study, which may hold many policies; name one of them: "
            f"{policy}/policies/RUN"
        )
    if limit and policy in ("random", "scripted"):
        raise SaddleError(f"the {policy} policy has no dial; leave --limit out")
    setting = _dial_setting(policy, task, made.spec, multipliers, limit)
    asked = _Asked(
        policy=policies.get(policy, made, setting),
        name=policy if policy in ("random", "scripted") else Path(policy).stem,
        seed=seed,
        steps=made.spec.episode_length if steps is None else checks.check_count(steps, "steps"),
        lidar=lidar,
        out=out,
    )
    checks.world_keys([seed])  # says what is wrong with a seed
    if isinstance(made, NativeTask):
        _play_body(made, asked)
    elif hasattr(made, "top_view"):
        _play_from_above(made, asked)
    else:
        _play_unseen(made, asked)


class _Asked(NamedTuple):
    """What to play in a task, and how to draw it."""

    policy: Policy
    name: str
    """Of the policy."""
    seed: int
    steps: int
    lidar: bool
    out: Path


def _dial_setting(
    policy: str,
    task: str,
    spec: TaskSpec,
    multipliers: tuple[float, ...],
    limit: tuple[float, ...],
) -> Lambda | None:
    """Where to set the policy's dial in the task, of which that is the spec; None where nothing is
    said about it.
    """
    if multipliers and limit:
        raise SaddleError("--lambda and --limit both set the dial; give one of them")
    if multipliers:
        return lambda_of(multipliers)
    if not limit:
        return None
    if len(limit) != len(spec.constraints):
        raise SaddleError(
            f"--limit has {len(limit)} number(s), but {spec.name} has {len(spec.constraints)} "
            f"constraint(s); give one for each"
        )
    (found,) = dial(Path(policy), [limit], task=task)
    shown = ", ".join(f"{one:g}" for one in limit)
    print(f"limit {shown}: {found.verdict}")
    return lambda_of(found.multipliers)


def _play_from_above(task: Any, asked: _Asked) -> None:
    """For a task that is seen from above: a point task, or anybody's with a `top_view`."""
    write = _writer(asked.out, WRITERS)
    with _replacing(asked.out) as unfinished:
        states = _states(task, asked)
        episode = Episode(task, asked.name, asked.seed, states)
        write(episode, unfinished, asked.lidar)
    _say(asked.out, episode.rewards, f"cost {amount(episode.costs.sum())}")


def _states(task: Task, asked: _Asked) -> list[State]:
    """Of the world from its reset on."""
    key = checks.world_keys([asked.seed])[0]
    return record.states(task, asked.policy, key, asked.steps)


def _play_unseen(task: Task | HostTask, asked: _Asked) -> None:
    """For a task that has no scene: its reward and costs in time are drawn, and what its world
    draws of itself.
    """
    _no_lidar(task, asked.lidar)
    write = _writer(asked.out, COURSE_WRITERS)
    seen = record.pictured(task)
    if write is not course.write_still and seen is None:
        raise SaddleError(
            f"{task.spec.name} has no scene to film and does not draw itself, as an environment "
            f"does (no vector environment) that is made with render_mode='rgb_array', which the "
            f"function that makes it takes; write a .png, which shows its reward and costs"
        )
    with _replacing(asked.out) as unfinished:
        if isinstance(task, HostTask):
            played = _course_of_host(task, seen, asked)
        else:
            played = _course(task, asked)
        write(played, unfinished)
    last = len(played.reward) - 1
    several = len(task.spec.constraints) > 1
    paid = played.paid(last) if several else f"cost {amount(played.cost.sum())}"
    _say(asked.out, played.reward, paid)


def _course(task: Task, asked: _Asked) -> Course:
    """An episode of a JAX task."""
    states = _states(task, asked)
    rewards = np.array([float(state.reward) for state in states])
    costs = np.array([state.cost for state in states])
    return Course(task.spec, asked.name, asked.seed, rewards, costs)


def _course_of_host(task: HostTask, seen: PicturedWorlds | None, asked: _Asked) -> Course:
    """An episode of a host task. A still does without pictures where they cannot be had."""

    def played(worlds: HostWorlds, seen: PicturedWorlds | None) -> Course:
        every = course.stride(task.spec)
        about = (asked.policy, asked.name, asked.seed, asked.steps, every)
        try:
            return record.course(worlds, seen, *about)
        finally:
            close_worlds(worlds)

    if seen is not None:
        try:
            return played(seen, seen)
        except SaddleError as error:
            if asked.out.suffix.lower() != ".png":
                raise
            print(f"drawn without pictures: {error}")
    return played(task.worlds(1, 1), None)


def _no_lidar(task: Task | HostTask, lidar: bool) -> None:
    if lidar:
        raise SaddleError(f"{task.spec.name} has no lidar to draw; leave --lidar out")


def _play_body(task: NativeTask, asked: _Asked) -> None:
    """For a velocity task, on MuJoCo C and with MuJoCo's renderer."""
    from saddle.draw import running
    from saddle.draw.camera import Camera

    _no_lidar(task, asked.lidar)
    writers = {".png": running.write_still, ".gif": running.write_gif, ".mp4": running.write_mp4}
    write = _writer(asked.out, writers)
    Camera(task.body, (64, 48)).close()  # where nothing can be drawn, say so before the work
    with _replacing(asked.out) as unfinished:
        run = record.body(task, asked.policy, asked.name, asked.seed, asked.steps)
        write(run, unfinished)
    _say(asked.out, run.reward, f"cost {amount(run.cost.sum())}")


def _say(out: Path, rewards: np.ndarray, paid: str) -> None:
    """What was written, what the episode earned and what it paid. rewards [T + 1], 0 at the
    reset.
    """
    steps = len(rewards) - 1
    print(f"wrote {out}: return {rewards.sum():.2f}, {paid}, {steps} env steps")


def _writer(out: Path, writers: dict[str, Writer]) -> Writer:
    """Of those by the ending of a file's name the one that writes this file, if it can."""
    kind = out.suffix.lower()
    if kind not in writers:
        raise SaddleError(f"cannot write {out}: its name must end in {', '.join(writers)}")
    if kind == ".mp4":
        film.ffmpeg()
    return writers[kind]


@contextlib.contextmanager
def _replacing(out: Path) -> Iterator[Path]:
    """A file beside `out` that takes its place once it is whole. It is made at once, to fail before
    the work.
    """
    try:
        is_folder = out.is_dir()
        has_folder = out.parent.is_dir()
    except OSError as error:
        raise files.write_error(out, error) from None
    if is_folder:
        raise SaddleError(f"cannot write {out}: it is a folder")
    if not has_folder:
        raise SaddleError(f"cannot write {out}: there is no folder {out.parent}")
    with files.replacing(out, files.AGAIN, durable=False) as unfinished:
        yield unfinished
