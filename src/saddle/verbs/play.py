"""`saddle play`: play one episode and draw it."""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from saddle import files, policies
from saddle.dial_search import dial
from saddle.draw import Episode, course, film, record, still
from saddle.errors import SaddleError
from saddle.gym import checks
from saddle.gym.choose import choose
from saddle.multipliers import Lambda, lambda_of
from saddle.policies import Policy
from saddle.tasks import HostTask, Task, TaskSpec
from saddle.tasks.velocity.engines import NativeTask

WRITERS = {".png": still.write, ".gif": film.write_gif, ".mp4": film.write_mp4}


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
    actor = policies.get(policy, made, _dial_setting(policy, made.spec, multipliers, limit))
    most: int = made.spec.episode_length
    count = most if steps is None else checks.check_count(steps, "steps")
    key = checks.world_keys([seed])[0]
    name = policy if policy in ("random", "scripted") else Path(policy).stem
    if isinstance(made, NativeTask):
        _play_body(made, actor, name, out, seed, count, lidar)
        return
    if not hasattr(made, "top_view"):
        _play_unseen(made, actor, name, out, seed, count, lidar)
        return
    write = _writer(out)
    with _replacing(out) as unfinished:
        episode = Episode(made, name, seed, record.states(made, actor, key, count))
        write(episode, unfinished, lidar)
    _say(out, episode.rewards, episode.costs)


def _dial_setting(
    policy: str, spec: TaskSpec, multipliers: tuple[float, ...], limit: tuple[float, ...]
) -> Lambda | None:
    """Where to set the policy's dial; None where nothing is said about it."""
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
    (found,) = dial(Path(policy), [limit], task=spec.name)
    print(f"limit {', '.join(f'{d:g}' for d in limit)}: {found.verdict}")
    return lambda_of(found.multipliers)


def _play_unseen(
    task: Task | HostTask, policy: Policy, name: str, out: Path, seed: int, steps: int, lidar: bool
) -> None:
    """The same for a task that has no scene: its reward and costs in time are drawn."""
    _no_lidar(task, lidar)
    if out.suffix.lower() != ".png":
        raise SaddleError(
            f"{task.spec.name} has no scene to film; write a .png, which shows its reward and costs"
        )
    with _replacing(out) as unfinished:
        if isinstance(task, HostTask):
            rewards, costs = record.totals(task, policy, seed, steps)
        else:
            played = record.states(task, policy, checks.world_keys([seed])[0], steps)
            rewards = np.array([float(state.reward) for state in played])
            costs = np.array([state.cost for state in played])
        course.write(task.spec, name, seed, rewards, costs, unfinished)
    _say(out, rewards, costs.sum(axis=1))


def _no_lidar(task: Task | HostTask, lidar: bool) -> None:
    if lidar:
        raise SaddleError(f"{task.spec.name} has no lidar to draw; leave --lidar out")


def _play_body(
    task: NativeTask, policy: Policy, name: str, out: Path, seed: int, steps: int, lidar: bool
) -> None:
    """The same for a velocity task, on MuJoCo C and with MuJoCo's renderer."""
    from saddle.draw import running
    from saddle.draw.camera import Camera

    _no_lidar(task, lidar)
    _writer(out)
    Camera(task.body, (64, 48)).close()  # where nothing can be drawn, say so before the work
    writers = {".png": running.write_still, ".gif": running.write_gif, ".mp4": running.write_mp4}
    with _replacing(out) as unfinished:
        run = record.body(task, policy, name, seed, steps)
        writers[out.suffix.lower()](run, unfinished, lidar)
    _say(out, run.reward, run.cost)


def _say(out: Path, rewards: np.ndarray, costs: np.ndarray) -> None:
    """What was written, and the episode's totals. rewards, costs [T + 1], 0 at the reset."""
    print(
        f"wrote {out}: return {rewards.sum():.2f}, cost {costs.sum():.0f}, {len(rewards) - 1} env "
        f"steps"
    )


def _writer(out: Path) -> Callable[[Episode, Path, bool], None]:
    """What writes a file of that name, if anything can."""
    if out.suffix.lower() not in WRITERS:
        raise SaddleError(f"cannot write {out}: its name must end in {', '.join(WRITERS)}")
    if out.suffix.lower() == ".mp4":
        film.ffmpeg()
    return WRITERS[out.suffix.lower()]


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
