"""`saddle evaluate` and `saddle export`: what trained policies do, and how to take them
elsewhere.
"""

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from saddle import open_study, policies, rollouts, tasks
from saddle.console import console
from saddle.errors import SaddleError
from saddle.policies import Gaussian
from saddle.progress import counting
from saddle.seeds import check_seeds
from saddle.study.store import MANIFEST, Study
from saddle.tables import Column, print_table
from saddle.words import counted

Mode = Literal["deterministic", "stochastic"]
MODES: tuple[Mode, Mode] = ("deterministic", "stochastic")  # in the order of `rollouts.play`

Limits = Sequence[float | None]


class Trained(NamedTuple):
    """A policy, and what it was trained under."""

    run: str
    policy: Gaussian
    limits: Limits  # of each constraint; empty where nobody knows


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


def evaluate(
    path: Path, episodes: int, limits: tuple[float, ...], seed: int, as_json: bool
) -> None:
    """Play the policies of a study or of a folder, by their mean and as trained; print how they
    fare.

    limits: one per constraint, in place of the runs' own; none keeps those.
    """
    if episodes < 1:
        raise SaddleError(f"--episodes is {episodes}; it must be at least 1")
    check_seeds([seed])
    found = _policies(path)
    if limits:
        found = [one._replace(limits=_fitting(one.policy.task, limits)) for one in found]
    scores = list(_scores(found, episodes, seed))
    if as_json:
        print(json.dumps([asdict(one) for one in scores], indent=2))
    else:
        _print(scores)


def export(path: Path, out: Path, run: str | None) -> None:
    """Write one policy of a study to the folder `out` as policy.npz and policy.json."""
    study = open_study(path)
    known = study.runs["run"].to_list()
    if run is None and len(known) > 1:
        raise SaddleError(
            f"{path} holds {len(known)} runs; choose one with --run, for example --run {known[0]}"
        )
    chosen = run or known[0]
    study.policy(chosen)  # says what is wrong where there is none
    arrays, facts = policies.read(study.policy_folder(chosen))
    policies.save(out, arrays, facts)
    print(f"wrote {out / 'policy.npz'} and {out / 'policy.json'}: {chosen}")


def _scores(found: list[Trained], episodes: int, seed: int) -> Iterator[Score]:
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
    ret, length = total[:, 0], total[:, 1]
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


def _fitting(task: str, limits: tuple[float, ...]) -> Limits:
    """The limits, if there is one for each of the task's constraints."""
    names = tasks.spec_of(task).constraints
    if len(limits) != len(names):
        raise SaddleError(
            f"--limit has {len(limits)} value(s), but {task} has {len(names)} constraint(s): "
            f"{', '.join(names)}; give one limit for each"
        )
    for limit in limits:
        if not 0 <= limit < float("inf"):
            raise SaddleError(f"--limit {limit:g} is not a cost; limits are finite and 0 or more")
    return limits


def _policies(path: Path) -> list[Trained]:
    """Everything trained that `path` holds."""
    if not (path / MANIFEST).exists():
        return [Trained(path.name, policies.gaussian(path), ())]
    study: Study = open_study(path)
    runs = study.runs
    columns = [name for name in runs.columns if name == "limit" or name.startswith("limit_")]
    rows = runs.select("run", *columns).iter_rows()
    kept = [(run, limits) for run, *limits in rows if study.policy_folder(run).is_dir()]
    finished = int((runs["status"] == "done").sum())
    if not kept:
        raise SaddleError(_no_policies(study, finished))
    if len(kept) < finished:
        count = f"{finished - len(kept)} of {finished} finished runs"
        print(f"note: {count} have no policy here; they are left out", file=sys.stderr)
    found = []
    for run, limits in kept:
        found.append(Trained(run, policies.gaussian(study.policy_folder(run)), limits))
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


def _print(scores: list[Score]) -> None:
    constraints = {(one.task, one.constraint) for one in scores}
    several = len(constraints) > len({task for task, _ in constraints})
    columns = [Column("run", identifies=True), Column("policy", identifies=True)]
    if several:
        columns.append(Column("constraint", identifies=True))
    columns += [
        Column(name, right=True) for name in ("return", "cost", "length", "limit", "violating")
    ]
    if several:
        columns.append(Column("any of them", right=True))
    rows = []
    for one in scores:
        which = [one.constraint] if several else []
        row = (
            one.run,
            one.mode,
            *which,
            f"{one.return_mean:.2f} ± {one.return_sd:.2f}",
            f"{one.cost_mean:.2f} ± {one.cost_sd:.2f}",
            f"{one.length_mean:.0f}",
            "-" if one.limit is None else f"{one.limit:g}",
            "-" if one.violating is None else f"{one.violating:.0%}",
        )
        if several:
            row += ("-" if one.violating_any is None else f"{one.violating_any:.0%}",)
        rows.append(row)
    print_table(console(), columns, rows, title=f"{counted(scores[0].episodes, 'episode')} each")
