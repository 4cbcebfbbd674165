"""Where to set a policy's dial for a cost limit: found by playing, with no training.

Every setting is played in the same worlds with the same noise. A setting keeps a limit when an
upper confidence bound of its mean cost does; of those that do, the one with the best return is
chosen, and then judged by episodes that the search has not seen. That no episode of a hundred cost
anything does not show that none would: bounds count how rare a cost may be (`_rarity_margins`).
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
from scipy.special import betaincinv, stdtrit

from saddle import open_study, policies, tasks
from saddle.analysis.findings import Estimate
from saddle.analysis.summary import mean_estimate
from saddle.config import Limits, sets_of_limits, whole
from saddle.errors import SaddleError
from saddle.multipliers import Lambda, lambda_of
from saddle.policies import DialPolicy
from saddle.rollouts import Player
from saddle.seeds import check_seeds
from saddle.study.store import MANIFEST, Study, folder_of
from saddle.tasks.naming import TaskLike, name_of

LEVEL = 0.95
"""Of intervals (two-sided) and of the bound that keeps a limit (one-sided)."""

GRID = {1: 17, 2: 7}
"""Settings of each constraint's dial that are played first, by how many there are; with more it is
4.
"""

REFINEMENTS = 3
"""Times that settings around the best one are tried, half as far away as before."""

FEWEST_EPISODES = 5

Verdict = Literal["kept", "does not bind", "not reached", "undecided"]


@dataclass(frozen=True)
class DialSetting:
    """Where a policy's dial belongs for a limit, and what the policy does there."""

    run: str
    limits: tuple[float, ...]
    """Of each constraint."""
    verdict: Verdict
    """'kept': the limits are kept. 'does not bind': they are kept at the dial's low end, so lambda
    could be smaller. 'not reached': no setting keeps them; shown is the one that comes nearest.
    'undecided': some setting may keep them, but so few episodes do not show it, or fresh ones
    contradict it.
    """
    multipliers: tuple[float, ...]
    """Lambda of each constraint."""
    interval: tuple[float, float] | None
    """Of lambda, with one constraint: from the least whose cost may keep the limit to this one;
    None where none surely does.
    """
    returns: Estimate
    """Mean return of fresh episodes."""
    costs: tuple[Estimate, ...]
    """Mean cost of each constraint in fresh episodes."""
    episodes: int
    """Fresh ones."""


class _Played(NamedTuple):
    """Settings that were played, with the bounds of their mean costs."""

    log_lambda: np.ndarray  # [n, m]
    returns: np.ndarray  # [n], means
    costs: np.ndarray  # [n, m], means
    margins: np.ndarray  # [n, m], from a mean cost to its one-sided bounds

    def joined(self, other: "_Played") -> "_Played":
        """Both."""
        pairs = zip(self, other, strict=True)
        return _Played(*(np.concatenate(pair) for pair in pairs))

    @property
    def highest_costs(self) -> np.ndarray:
        """Upper bounds of the mean costs [n, m]: a setting surely keeps a limit that is above."""
        return self.costs + self.margins

    @property
    def lowest_costs(self) -> np.ndarray:
        """Lower bounds of the mean costs [n, m]: a setting may keep a limit that is above."""
        return self.costs - self.margins


def dial(
    path: Study | Path | str,
    limits: Limits,
    *,
    episodes: int = 100,
    seed: int = 0,
    as_trained: bool = False,
    task: TaskLike | None = None,
) -> list[DialSetting]:
    """Where to set the dials of the policies in `path` for each of the limits.

    `path` is a study, its folder, or that of a policy; `limits` are cost limits, with several
    constraints sets of one for each. Each setting is played for so many `episodes` in worlds of
    that `seed`: by the policy's mean, or with `as_trained` with its noise. `task` plays in another
    task of the same sizes.
    """
    episodes = whole("episodes", episodes)
    if episodes < FEWEST_EPISODES:
        raise SaddleError(
            f"episodes is {episodes}; a bound on a mean cost takes at least {FEWEST_EPISODES}"
        )
    check_seeds([seed])
    found = []
    wanted = sets_of_limits(limits)
    other = None if task is None else name_of(task)
    for run, policy in _dials(folder_of(path)):
        if other is not None:
            policy = DialPolicy(other, policy.form, policy.weights, policy.dial)
        found += search(run, policy, _sets(wanted, policy), episodes, seed, as_trained)
    return found


def search(
    run: str,
    policy: DialPolicy,
    limits: Sequence[tuple[float, ...]],
    episodes: int,
    seed: int = 0,
    as_trained: bool = False,
) -> list[DialSetting]:
    """The same for one policy and sets of limits, each with one for every constraint."""
    played = _Search(policy, episodes, seed, as_trained)
    return [played.setting(run, wanted) for wanted in limits]


def _dials(path: Path) -> list[tuple[str, DialPolicy]]:
    """Every policy with a dial that `path` holds."""
    if (path / MANIFEST).exists():
        study = open_study(path)
        saved = [run for run in study.runs["run"] if study.policy_folder(run).is_dir()]
        folders = {run: study.policy_folder(run) for run in saved}
    else:
        folders = {path.name: path}
    found = []
    for run, folder in folders.items():
        policy = policies.network_of(folder)
        if isinstance(policy, DialPolicy):
            found.append((run, policy))
    if not found:
        raise SaddleError(
            f"{path} holds no policy with a dial; 'saddle frontier' trains one, and so does "
            f"'saddle train --learner:conditioned'"
        )
    return found


def _sets(sets: Sequence[tuple[float, ...]], policy: DialPolicy) -> Sequence[tuple[float, ...]]:
    """The sets of limits, one for each constraint; with one constraint every number is a set."""
    constraints = tasks.spec_of(policy.task).constraints
    if len(constraints) == 1:
        sets = [(limit,) for limit in itertools.chain(*sets)]
    for one in sets:
        if len(one) != len(constraints):
            raise SaddleError(
                f"{policy.task} has {len(constraints)} constraints ({', '.join(constraints)}), but "
                f"{len(one)} limit(s) are given; give one for each"
            )
    if not sets:
        raise SaddleError("no limit is given; give one, the cost to stay below")
    return sets


class _Search:
    """The settings of one policy that were played. Those of the first round serve all limits; what
    is found for one does not depend on which others are asked about.
    """

    def __init__(self, policy: DialPolicy, episodes: int, seed: int, as_trained: bool) -> None:
        self.policy = policy
        self.episodes = episodes
        self.seed = seed
        self.as_trained = as_trained
        self.player = Player(policy.task, policy.form, episodes)
        self.low_end = math.log10(policy.dial.low)
        self.high_end = math.log10(policy.dial.high)
        count = GRID.get(policy.dial.constraints, 4)
        axis = np.linspace(self.low_end, self.high_end, count)
        self.step = axis[1] - axis[0]
        self.least_size: np.ndarray | None = None
        """[m], what an episode costs that costs anything, at settings where few do."""
        self.first_round = self._play(_grid([axis] * policy.dial.constraints))
        self.played = self.first_round

    def setting(self, run: str, limits: tuple[float, ...]) -> DialSetting:
        """Where the dial belongs for these limits."""
        self.played = self.first_round
        wanted = np.array(limits)
        if len(wanted) > 1:
            self._follow_boundary(wanted)
        best = self._best(wanted)
        step = self.step
        for _ in range(REFINEMENTS):
            step /= 2
            self._look_around(best, step)
            best = self._best(wanted)
        totals = self._totals(best[None], self.seed + 1)[0]
        costs = self._cost_estimates(totals[:, 2:])
        verdict = self._verdict(wanted)
        if verdict in ("kept", "does not bind") and _over(costs, limits):
            verdict = "undecided"
        return DialSetting(
            run=run,
            limits=limits,
            verdict=verdict,
            multipliers=tuple(float(value) for value in 10.0**best),
            interval=self._interval(best, wanted),
            returns=mean_estimate(totals[:, 0], LEVEL),
            costs=costs,
            episodes=self.episodes,
        )

    def _best(self, limits: np.ndarray) -> np.ndarray:
        """log10 of the multipliers [m] with the best return among those that keep the limits; where
        none does, of those whose cost comes nearest.
        """
        played = self.played
        above = (played.highest_costs - limits).max(1)
        kept = above <= 0
        if kept.any():
            returns = np.where(kept, played.returns, -np.inf)
            return played.log_lambda[np.argmax(returns)]
        return played.log_lambda[np.argmin(above)]

    def _follow_boundary(self, limits: np.ndarray) -> None:
        """Play settings in the middle between one that does not keep the limits and the next one
        along an axis that does, again and again: the best return lies along this boundary, and may
        be far from the best setting of a coarse grid.
        """
        for _ in range(REFINEMENTS):
            between: list[np.ndarray] = []
            for axis in range(len(limits)):
                between += self._crossings(axis, limits)
            self._play_also(between)

    def _crossings(self, axis: int, limits: np.ndarray) -> list[np.ndarray]:
        """log10 of the multipliers [m] in the middle of each step along this axis, the others
        alike, at which the limits begin to be kept.
        """
        places = self.played.log_lambda
        kept = np.all(self.played.highest_costs <= limits, axis=1).tolist()
        elsewhere = np.delete(places, axis, 1).round(9)
        order = np.lexsort((places[:, axis], *elsewhere.T))
        found = []
        for one, after in itertools.pairwise(order):
            on_a_line = (elsewhere[one] == elsewhere[after]).all()
            if on_a_line and kept[after] and not kept[one]:
                found.append((places[one] + places[after]) / 2)
        return found

    def _verdict(self, limits: np.ndarray) -> Verdict:
        """What the search alone says; fresh episodes may contradict it."""
        kept = (self.played.highest_costs <= limits).all(1)
        if kept.any():
            is_lowest = np.isclose(self.played.log_lambda, self.low_end).all(1)
            return "does not bind" if (kept & is_lowest).any() else "kept"
        perhaps = (self.played.lowest_costs <= limits).all(1)
        return "undecided" if perhaps.any() else "not reached"

    def _interval(self, best: np.ndarray, limits: np.ndarray) -> tuple[float, float] | None:
        """With one constraint: from the smallest multiplier whose cost may keep the limit to the
        best one, if that surely does.
        """
        kept = (self.played.highest_costs <= limits).any()
        if len(limits) > 1 or not kept:
            return None
        may_keep = self.played.lowest_costs[:, 0] <= limits[0]
        smallest = self.played.log_lambda[may_keep, 0].min()
        return float(10.0 ** min(smallest, best[0])), float(10.0 ** best[0])

    def _look_around(self, centre: np.ndarray, step: float) -> None:
        """Play the settings a step away in every direction that were not played yet."""
        axes = [(value - step, value, value + step) for value in centre]
        around = np.clip(_grid(axes), self.low_end, self.high_end)
        self._play_also(list(around))

    def _play_also(self, settings: Sequence[np.ndarray]) -> None:
        """Play those of the settings [m] that were not played yet."""
        known = {tuple(row) for row in np.round(self.played.log_lambda, 9)}
        fresh = [row for row in settings if tuple(np.round(row, 9)) not in known]
        if fresh:
            now = self._play(np.unique(fresh, axis=0))
            self.played = self.played.joined(now)

    def _play(self, log_lambda: np.ndarray) -> _Played:
        """Settings [n, m]."""
        totals = self._totals(log_lambda, self.seed)
        returns = totals[:, :, 0]
        costs = totals[:, :, 2:]
        if self.least_size is None:
            self.least_size = _least_size(costs)
        standard_error = costs.std(1, ddof=1) / math.sqrt(self.episodes)
        quantile = float(stdtrit(self.episodes - 1, LEVEL))
        rarity = _rarity_margins(costs, self.least_size, LEVEL)
        margins = np.maximum(quantile * standard_error, rarity)
        return _Played(log_lambda, returns.mean(1), costs.mean(1), margins)

    def _cost_estimates(self, costs: np.ndarray) -> tuple[Estimate, ...]:
        """Mean costs of fresh episodes [episodes, m], the upper ends as wide as rare costs ask
        for.
        """
        assert self.least_size is not None
        two_sided = (1 + LEVEL) / 2
        margins = _rarity_margins(costs[None], self.least_size, two_sided)[0]
        found = []
        for own, margin in zip(costs.T, margins, strict=True):
            plain = mean_estimate(own, LEVEL)
            assert plain.value is not None and plain.hi is not None
            high = max(plain.hi, plain.value + float(margin))
            found.append(replace(plain, hi=high))
        return tuple(found)

    def _totals(self, log_lambda: np.ndarray, seed: int) -> np.ndarray:
        """Return, length and costs of every episode at every setting [n, episodes, 2 + m]."""
        settings = [self.policy.at(_lambda(row)).weights for row in log_lambda]
        return self.player.play([(weights, self.as_trained) for weights in settings], seed)


def _grid(axes: Sequence[Sequence[float] | np.ndarray]) -> np.ndarray:
    """Every combination of values of the axes: [n, number of axes]."""
    return np.array(list(itertools.product(*axes)))


def _lambda(log_lambda: np.ndarray) -> Lambda:
    return lambda_of([float(value) for value in 10.0**log_lambda])


def _least_size(costs: np.ndarray) -> np.ndarray:
    """Of each constraint [m], the mean cost of episodes that cost anything, at the setting where it
    is least; 0 where no episode of any setting does. costs [settings, episodes, m].
    """
    met = costs > 0
    means = costs.sum(1) / np.maximum(met.sum(1), 1)
    least = np.where(met.any(1), means, np.inf).min(0)
    return np.where(np.isfinite(least), least, 0.0)


def _rarity_margins(costs: np.ndarray, least_size: np.ndarray, level: float) -> np.ndarray:
    """From mean costs to their upper bounds [settings, m], for costs that come in few episodes.

    The share of episodes that cost anything has the exact bound of a binomial (Clopper and
    Pearson), at the size that these costs have on average; where no episode cost anything, at
    `least_size` [m]. A t-interval of episodes that are all alike has no width, and of 0 and 1 it is
    too narrow where either is rare. Costs that may be negative have no such bound.
    """
    episodes = costs.shape[1]
    met = (costs > 0).sum(1)
    all_but = np.maximum(episodes - met, 1)
    bound = np.where(met < episodes, betaincinv(met + 1, all_but, level), 1.0)
    size = np.where(met > 0, costs.sum(1) / np.maximum(met, 1), least_size)
    margins = (bound - met / episodes) * size
    return np.where((costs < 0).any(1), 0.0, margins)


def _over(costs: Sequence[Estimate], limits: Sequence[float]) -> bool:
    """Whether fresh episodes say that a limit is not kept after all."""
    pairs = zip(costs, limits, strict=True)
    return any(cost.lo is not None and cost.lo > limit for cost, limit in pairs)
