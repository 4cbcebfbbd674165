"""What a collector does, and which one a task needs."""

from collections.abc import Callable
from typing import Any, Protocol

from jax import Array

from saddle.collect.cycles import Cycles
from saddle.collect.device import DeviceCollector
from saddle.collect.host import HostCollector
from saddle.collect.normalise import Moments
from saddle.collect.rollout import Agent, Rollout, Worlds
from saddle.collect.settings import CollectSettings
from saddle.cores import Cores
from saddle.tasks import HostTask, Task


class EpochProgram(Protocol):
    """An epoch of a population: collecting, then learning."""

    def __call__(self, roster: Any, state: Any) -> tuple[Any, dict[str, Array]]:
        """The state after the epoch, and its metrics. The old state is used up."""
        ...

    @property
    def compiled(self) -> int:
        """How many programs it has been compiled to: one, as long as states are alike."""
        ...

    def executable(self, roster: Any, state: Any) -> Any:
        """The compiled program, for those who ask about its memory; None where there is no one
        program.
        """
        ...


class Collector(Protocol):
    """Steps the worlds of a population, and knows how programs that contain such steps are
    compiled.
    """

    cores: Cores
    """Over which the members of a state are spread."""
    learning: Cores
    """Over which they are spread while they learn."""

    def fresh(self, moments: Moments, keys: Array) -> tuple[Worlds, Moments]:
        """New worlds, and the moments of what they show first. keys [M] of this epoch."""
        ...

    def stagger(self, worlds: Worlds) -> Worlds:
        """Spread the clocks of new worlds over an episode, so that a steady share ends at every
        step.
        """
        ...

    def collect(
        self,
        actor: Any,
        moments: Moments,
        recent: Moments,
        worlds: Worlds,
        keys: Array,
        first: Array | int = 0,
        steps: int | None = None,
    ) -> tuple[Worlds, Moments, Rollout]:
        """Steps of an epoch, `steps` of every world from its step `first` on; all of them unless
        told. `recent` are the moments of this epoch so far; returned are those of all observations.
        """
        ...

    def compile(self, function: Callable, inputs: Any, outputs: Any) -> Callable:
        """A function that collects, compiled as far as that goes. inputs, outputs: how members lie
        in what it takes and returns, as `saddle.cores` has it.
        """
        ...

    def place(self, state: Any, specs: Any) -> Any:
        """A state where epochs want it. specs: how members lie in one."""
        ...

    def shape(self, function: Callable[[], Any]) -> Any:
        """Something with the shapes and types of what a function that collects returns."""
        ...

    def epoch(self, rollout: Callable, learn: Callable, state: Any) -> EpochProgram:
        """An epoch: `learn(roster, state, *rollout(roster, state))`. state: how members lie in
        one.
        """
        ...

    def epoch_of_cycles(self, cycles: Cycles, state: Any) -> EpochProgram:
        """An epoch in which members learn more than once."""
        ...


def choose(
    task: Task | HostTask,
    settings: CollectSettings,
    agent: Agent,
    members: int,
    cores: int | None = None,
) -> Collector:
    """The collector that a task needs: tasks in JAX are stepped on the device, all others on the
    host. cores: that it uses at most, all of them unless given.
    """
    if isinstance(task, HostTask):
        return HostCollector(task, settings, agent, members, cores)
    return DeviceCollector(task, settings, agent, members, cores)
