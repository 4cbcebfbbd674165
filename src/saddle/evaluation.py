"""What trained policies do: whole episodes of every policy that a study or a folder holds."""

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from saddle import notebook, open_study, policies, rollouts, tasks
from saddle.arguments import callback
from saddle.config import limit_numbers, whole
from saddle.errors import SaddleError
from saddle.multipliers import Lambda, each_lambda, lambda_of
from saddle.policies import DialPolicy, NetworkPolicy
from saddle.seeds import check_seeds
from saddle.study.store import MANIFEST, Study, folder_of
from saddle.tasks.naming import TaskLike, name_of

Mode = Literal["deterministic", "stochastic"]
MODES: tuple[Mode, Mode] = ("deterministic", "stochastic")  # in the order of `rollouts.play`

Limits = Sequence[float | None]

OnMessage = Callable[[str], None]
Counting = Callable[[str, int], AbstractContextManager[Callable[[int], None]]]
"""Title, how many policies -> a context whose function is told how many are through."""


class Trained(NamedTuple):
    """A policy, and what it was trained under."""

    run: str
    policy: NetworkPolicy
    limits: Limits  # of each constraint; empty where nobody knows
    multipliers: tuple[float, ...] | None = None  # that its dial is set to, if it has one

    def moved_to(self, task: str) -> "Trained":
        """The same policy, to be played in another task."""
        return self._replace(policy=dataclasses.replace(self.policy, task=task))


@dataclass(frozen=True)
class Score:
    """Episodes of one policy in one mode, seen by one constraint. Violating: cost above the limit.

    A task with several constraints has a score for each of them; `violating_any` is the share of
    episodes in which any of them is violated, the same in each.
    """

    run: str
    task: str
    mode: Mode
    episodes: int
    return_mean: float
    return_sd: float
    cost_mean: float
    cost_sd: float
    length_mean: float
    limit: float | None
    violating: float | None  # share of episodes
    constraint: str
    violating_any: float | None
    multipliers: tuple[float, ...] | None = None
    """Lambda of each constraint that the policy's dial is set to; None without a dial."""


def evaluate(
    path: Study | Path | str,
    *,
    episodes: int = 100,
    limits: float | Sequence[float] = (),
    seed: int = 0,
    task: TaskLike | None = None,
    multipliers: float | Sequence[float] = (),
    on_message: OnMessage | None = None,
    counting: Counting = notebook.counting,
) -> list[Score]:
    """Play the policies of a study, or of the folder of one policy, by their mean and as trained:
    a score for each of them, mode by mode and constraint by constraint.

    `limits` has one for each constraint, in place of the runs' own; none keeps those. `seed` is
    that of the worlds, which are the same for every policy. `task` plays them in another one than
    they were trained on, of the same sizes. A policy with a dial is played at the `multipliers`,
    with several constraints one of each; without them at nine from its range, the same for every
    constraint. `on_message` is told what was left out; `counting` shows how far it is, by default
    in a notebook only.
    """
    episodes = whole("episodes", episodes, least=1)
    check_seeds([seed])
    wanted = limit_numbers(limits)
    setting = None if multipliers in ((), []) else lambda_of(multipliers)
    callback("on_message", on_message)
    found = _policies(folder_of(path), setting, on_message)
    if setting is not None and all(one.multipliers is None for one in found):
        raise SaddleError(f"no policy in {folder_of(path)} has a dial; leave the lambda out")
    if task is not None:
        name = name_of(task)
        found = [one.moved_to(name) for one in found]
    if wanted:
        found = [one._replace(limits=_fitting(one.policy.task, wanted)) for one in found]
    return list(_scores(found, episodes, seed, counting))


def _scores(found: list[Trained], episodes: int, seed: int, counting: Counting) -> Iterator[Score]:
    """Policy by policy, mode by mode, constraint by constraint."""
    totals: dict[int, np.ndarray] = {}
    names: dict[str, tuple[str, ...]] = {}
    for task, places in rollouts.by_form([one.policy for one in found]):
        alike = [found[place].policy for place in places]
        names[task] = tasks.spec_of(task).constraints
        with counting(f"evaluating {_many(len(alike))} of {task}", len(alike)) as done:
            played = rollouts.play(alike, episodes, seed, done)
        totals.update(zip(places, played, strict=True))
    for place, one in enumerate(found):
        for mode, total in zip(MODES, totals[place], strict=True):
            yield from _judged(one, mode, names[one.policy.task], total)


def _judged(
    one: Trained, mode: Mode, constraints: tuple[str, ...], total: np.ndarray
) -> Iterator[Score]:
    """A score for each constraint. total [episodes, 2 + m]: return, length, costs."""
    ret = total[:, 0]
    length = total[:, 1]
    violating_any = _violating_any(total[:, 2:], one.limits)
    for i, constraint in enumerate(constraints):
        cost = total[:, 2 + i]
        limit = one.limits[i] if i < len(one.limits) else None
        yield Score(
            run=one.run,
            task=one.policy.task,
            mode=mode,
            episodes=len(total),
            return_mean=float(ret.mean()),
            return_sd=_spread(ret),
            cost_mean=float(cost.mean()),
            cost_sd=_spread(cost),
            length_mean=float(length.mean()),
            limit=limit,
            violating=None if limit is None else float(np.mean(cost > limit)),
            constraint=constraint,
            violating_any=violating_any,
            multipliers=one.multipliers,
        )


def _violating_any(costs: np.ndarray, limits: Limits) -> float | None:
    """Share of episodes, costs [episodes, m], in which some cost is above its limit; None where a
    limit is not known.
    """
    known = [limit for limit in limits if limit is not None]
    if len(known) < costs.shape[1]:
        return None
    return float((costs > known).any(1).mean())


def _spread(values: np.ndarray) -> float:
    return float(np.std(values, ddof=1)) if len(values) > 1 else 0.0


def _many(count: int) -> str:
    return "1 policy" if count == 1 else f"{count} policies"


def _fitting(task: str, limits: Sequence[float]) -> Limits:
    """The limits, if there is one for each of the task's constraints."""
    names = tasks.spec_of(task).constraints
    if len(limits) != len(names):
        raise SaddleError(
            f"{len(limits)} limit(s) are given, but {task} has {len(names)} constraint(s): "
            f"{', '.join(names)}; give one limit for each"
        )
    return limits


def _set(
    run: str,
    policy: NetworkPolicy | DialPolicy,
    limits: Limits,
    setting: Lambda | None,
) -> list[Trained]:
    """The policy; one with a dial at that setting, or at some of its range."""
    if isinstance(policy, NetworkPolicy):
        return [Trained(run, policy, limits)]
    constraints = policy.dial.constraints
    settings = policy.dial.settings() if setting is None else [setting]
    found = []
    for lam in settings:
        found.append(Trained(run, policy.at(lam), limits, each_lambda(lam, constraints)))
    return found


def _policies(path: Path, setting: Lambda | None, on_message: OnMessage | None) -> list[Trained]:
    """Everything trained that `path` holds."""
    if not (path / MANIFEST).exists():
        return _set(path.name, policies.network_of(path), (), setting)
    study: Study = open_study(path)
    runs = study.runs
    columns = [name for name in runs.columns if name == "limit" or name.startswith("limit_")]
    rows = runs.select("run", *columns).iter_rows()
    kept = [(run, limits) for run, *limits in rows if study.policy_folder(run).is_dir()]
    finished = int((runs["status"] == "done").sum())
    if not kept:
        raise SaddleError(_no_policies(study, finished))
    if len(kept) < finished and on_message is not None:
        count = f"{finished - len(kept)} of {finished} finished runs"
        on_message(f"{count} have no policy here; they are left out")
    found = []
    for run, limits in kept:
        found += _set(run, policies.network(study.policy_folder(run)), limits, setting)
    return found


def _no_policies(study: Study, finished: int) -> str:
    """Why a study without policies has none, and what to do."""
    path = study.path
    if not finished:
        return f"{path} holds no finished run yet; 'saddle study status {path}' says how far it is"
    if "imported" in study.manifest.get("plan", {}):
        why = f"its {finished} finished runs were imported from logs, which hold none"
    else:
        why = f"{finished} runs are finished, but the folder {path / 'policies'} was not kept"
    return (
        f"no policies here: {why}; "
        "evaluate a directory that 'saddle train' or 'saddle study run' wrote, or the folder of "
        "one policy"
    )
