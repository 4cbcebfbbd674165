"""Policies that need no training, and policies that somebody trained: functions from an observation
to an action.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from saddle.collect.normalise import STD_FLOOR
from saddle.dial_inputs import Dial
from saddle.errors import SaddleError
from saddle.learners.networks import distributions
from saddle.learners.networks.activations import ACTIVATIONS
from saddle.learners.networks.distributions import Drawn
from saddle.learners.networks.exported import layers_of
from saddle.learners.networks.squashed import Squashed
from saddle.multipliers import Lambda, each_lambda, lambda_name, lambda_of
from saddle.policy_files import UnknownPolicy, action_entries, read
from saddle.tasks import HostTask, Task, TaskSpec
from saddle.tasks.gymnasium.native import NativePolicy

Setting = float | Sequence[float]
"""Of a dial: a multiplier for all constraints, or one for each."""


class Policy(Protocol):
    """What acts: pure, for one world; `jax.vmap` makes it act in many."""

    def __call__(self, obs: Array | np.ndarray, key: Array | None = None) -> Array:
        """obs [obs_dim] -> action [action_dim]. A deterministic policy needs no key."""
        ...


def get(name: str, task: Task | HostTask, lam: Lambda | None = None) -> Policy:
    """'random', 'scripted', or the path of an exported policy, for this task. lam is where to set
    the policy's dial, if it has one.
    """
    if name not in ("random", "scripted"):
        try:
            return load(name, task.spec, lam)
        except UnknownPolicy:
            raise UnknownPolicy(name, "'random'", "'scripted'") from None
    if lam is not None:
        raise SaddleError(f"the {name} policy has no dial; leave the lambda out")
    return random(task.spec) if name == "random" else scripted(task)


def random(spec: TaskSpec) -> Policy:
    """Uniform in [-1, 1], or among the choices, drawn anew each step."""

    def act(obs: Array | np.ndarray, key: Array | None = None) -> Array:
        if key is None:
            raise SaddleError("the random policy needs a key")
        if spec.choices:
            return jax.random.randint(key, (spec.action_dim,), 0, jnp.array(spec.choices))
        return jax.random.uniform(key, (spec.action_dim,), minval=-1.0, maxval=1.0)

    return act


def scripted(task: Task | HostTask) -> Policy:
    """The task's own scripted policy, where it has one."""
    policy = getattr(task, "scripted", None)
    if policy is None:
        raise SaddleError(
            f"{task.spec.name} has no scripted policy; use 'random', or the path of an exported "
            f"policy"
        )
    return policy


class Form(NamedTuple):
    """What policies must share to act in one compiled program: the network's shape, not its
    numbers.
    """

    widths: tuple[int, ...]  # of all layers: obs_dim, hidden ..., outputs
    activation: str
    obs_clip: float | None
    choices: tuple[int, ...] = ()  # of each discrete action; none where actions are real numbers
    squash: bool = False  # actions are the tanh of a Gaussian, whose spread the network says too

    @property
    def action_dim(self) -> int:
        """Entries of an action."""
        return action_entries(self.widths[-1], self.choices, self.squash)

    @property
    def family(self) -> Drawn:
        """What actions are drawn from."""
        if self.squash:
            return Squashed(self.action_dim)
        return distributions.of_actions(self.action_dim, self.choices)


class Weights(NamedTuple):
    """The numbers of a policy; with a leading axis on every array, those of many policies of one
    form.
    """

    layers: tuple[tuple[Any, Any], ...]  # w [in, out], b [out], from observation to action
    obs_mean: Any  # [obs_dim]
    obs_scale: Any  # [obs_dim], one over the standard deviation
    log_std: Any  # [action_dim] of real actions, [0] of choices and of squashed ones


@dataclass(frozen=True)
class NetworkPolicy:
    """A trained policy: actions are drawn from a distribution that a network's output gives."""

    task: str
    form: Form
    weights: Weights


@dataclass(frozen=True)
class DialPolicy:
    """A policy for every multiplier: set to one, it is a policy like any other."""

    task: str
    form: Form  # of the policy at any setting
    weights: Weights  # the first layer takes an observation, and the dial's inputs behind it
    dial: Dial

    def at(self, lam: Lambda) -> NetworkPolicy:
        """The policy at these multipliers. The dial's inputs then are constants, which add to the
        first layer's biases.
        """
        inputs = np.asarray(self.dial.inputs(self._log_lambda(lam)), np.float32)
        (w, b), *rest = self.weights.layers
        obs_dim = self.form.widths[0]
        first = w[:obs_dim], b + inputs @ w[obs_dim:]
        weights = self.weights._replace(layers=(first, *rest))
        return NetworkPolicy(self.task, self.form, weights)

    def _log_lambda(self, lam: Lambda) -> np.ndarray:
        """log10 of the multiplier of each constraint, all within the range."""
        constraints = self.dial.constraints
        each = each_lambda(lam, constraints)
        if len(each) != constraints:
            raise SaddleError(
                f"lambda has {len(each)} numbers, but this policy's dial has {constraints}; give "
                f"one for all constraints, or one for each"
            )
        low, high = self.dial.low, self.dial.high
        slack = 1 + 1e-9
        if not all(low / slack <= value <= high * slack for value in each):
            raise SaddleError(
                f"lambda is {lambda_name(lam)}, but this policy was trained from {low:g} to "
                f"{high:g}; choose one in between"
            )
        return np.log10(each)


def output(form: Form, weights: Weights, obs: Array | np.ndarray) -> Array:
    """What the network says: the mean of a Gaussian, logits, or mean and log standard deviation
    before a tanh. obs [..., obs_dim] -> [..., outputs].
    """
    x = jnp.asarray((obs - weights.obs_mean) * weights.obs_scale)
    if form.obs_clip is not None:
        x = jnp.clip(x, -form.obs_clip, form.obs_clip)
    activation = ACTIVATIONS[form.activation].value
    for w, b in weights.layers[:-1]:
        x = activation(x @ w + b)
    w, b = weights.layers[-1]
    return x @ w + b


def load(path: Path | str, spec: TaskSpec | None = None, lam: Setting | None = None) -> Policy:
    """An exported policy, taking its likeliest action: a Gaussian's mean, or the best choice; of a
    squashed Gaussian, the mean's tanh.

    See `read` for what it is; with `spec`, it must fit that task. lam is where to set its dial, if
    it has one.
    """
    return by_mode(dialled(network(path, spec), lam, path))


def load_native(path: Path | str, lam: Setting | None = None) -> Policy:
    """The same, in the terms of the environment that it was trained in, if it was in one."""
    arrays, facts = read(path)
    policy = by_mode(dialled(of_arrays(arrays, facts), lam, path))
    spaces = facts["spaces"]
    return policy if spaces is None else NativePolicy(policy, facts["task"], spaces)


def by_mode(policy: NetworkPolicy) -> Policy:
    """The policy's likeliest action."""
    (size,) = policy.weights.obs_mean.shape

    def act(obs: Array | np.ndarray, key: Array | None = None) -> Array:
        if np.shape(obs)[-1:] != (size,):
            raise SaddleError(
                f"an observation of {policy.task} has {size} numbers; this one has the shape "
                f"{np.shape(obs)}"
            )
        return policy.form.family.mode(output(policy.form, policy.weights, obs))

    return act


def dialled(
    policy: NetworkPolicy | DialPolicy, lam: Setting | None, path: Path | str
) -> NetworkPolicy:
    """The policy with its dial, if it has one, set to lam."""
    if isinstance(policy, NetworkPolicy):
        if lam is not None:
            raise SaddleError(f"the policy {path} has no dial; leave the lambda out")
        return policy
    if lam is None:
        raise SaddleError(
            f"the policy {path} has a dial; say where to set it: a lambda from "
            f"{policy.dial.low:g} to {policy.dial.high:g} ('saddle dial' finds one for a limit)"
        )
    return policy.at(lambda_of(lam))


def network(path: Path | str, spec: TaskSpec | None = None) -> NetworkPolicy | DialPolicy:
    """An exported policy with its spread, and with its dial if it has one."""
    return of_arrays(*read(path, spec))


def network_of(path: Path) -> NetworkPolicy | DialPolicy:
    """The same of a folder that is no study, where one would do too."""
    try:
        return network(path)
    except UnknownPolicy:
        raise UnknownPolicy(path, "the directory of a study or training") from None


def of_arrays(arrays: dict[str, np.ndarray], facts: dict[str, Any]) -> NetworkPolicy | DialPolicy:
    """The policy that arrays and facts say, as policy.npz and policy.json hold them."""
    layers = layers_of(arrays, len(facts["hidden"]))
    widths = (arrays["obs_mean"].shape[0], *(b.shape[0] for _, b in layers))
    scale = 1 / np.maximum(np.sqrt(arrays["obs_var"]), STD_FLOOR)
    choices = tuple(facts.get("choices", ()))
    squash = facts.get("squash", False)
    form = Form(widths, facts["activation"], facts["obs_clip"], choices, squash)
    weights = Weights(layers, arrays["obs_mean"], scale, arrays["log_std"])
    if facts.get("dial") is None:
        return NetworkPolicy(facts["task"], form, weights)
    return DialPolicy(facts["task"], form, weights, Dial(**facts["dial"]))
