"""Epochs in which members learn more than once: cycles of steps and learning, and one end.

What differs from an epoch that is one rollout: lambda moves after the learning, at the pace of the
learner's clock; and who fails stays where it was when it failed, which its learner sees to. A copy
of every member's state, to go back to at the end, would be a second replay.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from saddle.collect import episodes
from saddle.collect.collector import Collector
from saddle.collect.normalise import Moments
from saddle.collect.rollout import Rollout, Worlds, by_member
from saddle.collect.steps import no_moments
from saddle.learners.api import Learner
from saddle.learners.settings import LearnerSettings
from saddle.members import (
    FINE,
    LEARN,
    MemberState,
    PopulationState,
    Roster,
    check_metrics,
    frozen,
    healthy,
    verdict,
)
from saddle.multipliers.stacked import Multiplier, Rules


class Report(NamedTuple):
    """Of a cycle, or [cycles, ...] of an epoch's."""

    finished: Array  # [M, N, 2 + m], as in a rollout
    counted: Array  # [M, N]
    diverged: Array | None  # [M], steps in which the physics broke down
    lam: Array  # [M, m] that was learned with
    metrics: dict[str, Array]  # the learner's


@dataclass(frozen=True)
class PopulationCycles:
    """A population's, with what they need of it."""

    settings: LearnerSettings
    learner: Learner
    collector: Collector
    rules: Rules
    worlds: int
    """Of a member."""
    epochs: int

    @property
    def count(self) -> int:
        """How many an epoch has."""
        return self.settings.steps_per_epoch // self.settings.steps_per_cycle

    def rollout(
        self, roster: Roster, state: PopulationState, cycle: Array | int
    ) -> tuple[Worlds, Moments, Rollout]:
        """A cycle's steps."""
        worlds = state.worlds
        assert worlds is not None
        steps = self.settings.steps_per_cycle // self.worlds
        return self.collector.collect(
            self.learner.actor(state.members.learner),
            state.moments,
            no_moments(*state.moments.mean.shape),
            worlds,
            roster.keys(state.epoch),
            cycle * steps,
            steps,
        )

    def learn(
        self,
        roster: Roster,
        state: PopulationState,
        cycle: Array | int,
        worlds: Worlds,
        moments: Moments,
        rollout: Rollout,
    ) -> tuple[PopulationState, Report]:
        """The state after a cycle, and what the epoch's end wants to know of it."""
        before = state.members
        well = healthy(rollout)

        def key_of_cycle(key: Array) -> Array:
            return jax.random.fold_in(jax.random.fold_in(key, LEARN), cycle)

        learned = self.learner.learn(
            before.learner,
            rollout,
            before.multiplier.lam,
            jax.vmap(key_of_cycle)(roster.keys(state.epoch)),
            (state.epoch + cycle / self.count) / self.epochs,
            (before.failed == FINE) & well,
        )
        failed = verdict(before.failed, well, learned.sound)
        finished = by_member(rollout.finished)
        counted = by_member(rollout.counted)
        window = jax.vmap(episodes.push)(before.window, finished, counted)
        multiplier = before.multiplier
        if self.settings.rule_clock.each_cycle:
            recent = jax.vmap(episodes.mean)(window)
            moves = self._moves(state.epoch, cycle)
            multiplier = self._moved(roster, multiplier, recent, moves)
        multiplier, window = frozen(
            failed, (multiplier, window), (before.multiplier, before.window)
        )
        after = MemberState(learned.state, multiplier, window, failed)
        diverged = None
        if rollout.diverged is not None:
            diverged = jnp.sum(rollout.diverged, (0, 2), dtype=jnp.int32)
        report = Report(finished, counted, diverged, before.multiplier.lam, learned.metrics)
        return PopulationState(state.epoch, after, moments, worlds), report

    def close(
        self, roster: Roster, state: PopulationState, reports: Report
    ) -> tuple[PopulationState, dict[str, Array]]:
        """The state after the epoch, and its metrics. lambda is that of the last cycle."""
        members = state.members
        finished = _in_a_row(reports.finished)
        counted = _in_a_row(reports.counted)
        recent = jax.vmap(episodes.mean)(members.window)
        multiplier = members.multiplier
        if not self.settings.rule_clock.each_cycle:
            moves = self._moves(state.epoch, self.count - 1) & counted.any(1)
            multiplier = self._moved(roster, multiplier, recent, moves)
            multiplier = frozen(members.failed, multiplier, members.multiplier)
        metrics = {
            **episodes.metrics(finished, counted, members.window, recent, roster.limits),
            "lambda": reports.lam[-1],
            "failed": members.failed,
        }
        if reports.diverged is not None:
            metrics["diverged"] = jnp.sum(reports.diverged, 0)
        check_metrics(self.settings, reports.metrics, metrics)
        metrics |= {name: _over_cycles(values) for name, values in reports.metrics.items()}
        after = members._replace(multiplier=multiplier)
        return state._replace(epoch=state.epoch + 1, members=after), metrics

    def _moves(self, epoch: Array, cycle: Array | int) -> Array:
        """Whether lambda may move after this cycle."""
        done = epoch * self.settings.steps_per_epoch + (cycle + 1) * self.settings.steps_per_cycle
        return done > self.settings.rule_clock.rest

    def _moved(
        self, roster: Roster, multiplier: Multiplier, recent: Array, moves: Array
    ) -> Multiplier:
        """By the members' rules, where `moves`. recent [M, 2 + m]; moves [M] or []."""
        members = recent.shape[0]
        seen = jnp.broadcast_to(moves, members)[:, None]
        cost = jnp.where(seen, recent[:, 2:], jnp.nan)  # without a cost nothing moves
        update = jax.vmap(self.rules.update)
        return update(multiplier, roster.numbers, cost, roster.limits)


def _in_a_row(x: Array) -> Array:
    """[cycles, M, N, ...] -> [M, cycles * N, ...], in order of time."""
    x = jnp.moveaxis(x, 1, 0)
    return x.reshape(x.shape[0], -1, *x.shape[3:])


def _over_cycles(values: Array) -> Any:
    """[cycles, M, ...] -> [M, ...]: the mean over those cycles that have a number, of whole numbers
    the sum.
    """
    if not jnp.issubdtype(values.dtype, jnp.floating):
        return values.sum(0)
    return jnp.nanmean(jnp.where(jnp.isfinite(values), values, jnp.nan), 0)
