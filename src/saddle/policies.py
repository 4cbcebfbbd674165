"""Policies that need no training, and policies that somebody trained: functions from an observation
to an action.
"""

import io
import itertools
import json
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from saddle import files, tasks
from saddle.collect.normalise import STD_FLOOR
from saddle.dial_inputs import Dial
from saddle.errors import SaddleError
from saddle.learners.networks import distributions
from saddle.learners.networks.activations import ACTIVATIONS
from saddle.learners.networks.distributions import Drawn
from saddle.learners.networks.exported import layers_of
from saddle.learners.networks.squashed import Squashed
from saddle.multipliers import Lambda, each_lambda, lambda_name
from saddle.tasks import HostTask, Task, TaskSpec


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
        return load(Path(name), task.spec, lam)
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
        return _entries(self.widths[-1], self.choices, self.squash)

    @property
    def family(self) -> Drawn:
        """What actions are drawn from."""
        if self.squash:
            return Squashed(self.action_dim)
        return distributions.of_actions(self.action_dim, self.choices)


def _entries(outputs: int, choices: Sequence[int], squash: bool) -> int:
    """Entries of an action, where the network has so many outputs."""
    if squash:
        return outputs // 2
    return len(choices) or outputs


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


def load(path: Path | str, spec: TaskSpec | None = None, lam: Lambda | None = None) -> Policy:
    """An exported policy, taking its likeliest action: a Gaussian's mean, or the best choice; of a
    squashed Gaussian, the mean's tanh.

    See `read` for what it is; with `spec`, it must fit that task. lam is where to set its dial, if
    it has one.
    """
    return by_mode(dialled(network(path, spec), lam, path))


def by_mode(policy: NetworkPolicy) -> Policy:
    """The policy's likeliest action."""

    def act(obs: Array | np.ndarray, key: Array | None = None) -> Array:
        return policy.form.family.mode(output(policy.form, policy.weights, obs))

    return act


def dialled(
    policy: NetworkPolicy | DialPolicy, lam: Lambda | None, path: Path | str
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
    return policy.at(lam)


def network(path: Path | str, spec: TaskSpec | None = None) -> NetworkPolicy | DialPolicy:
    """An exported policy with its spread, and with its dial if it has one."""
    return of_arrays(*read(path, spec))


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


def read(
    path: Path | str, spec: TaskSpec | None = None
) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Arrays and facts of an exported policy: a folder with policy.npz and policy.json, or one of
    the two files.

    policy.json holds task, activation, hidden (layer widths), obs_clip, where actions are choices
    how many each has, where they are the tanh of a Gaussian `squash`, and where the policy takes
    multipliers how these enter (`Dial`). policy.npz holds w0 [obs_dim + the dial's inputs, hidden],
    b0, w1, b1, ..., log_std [action_dim] (of choices [0], as of squashed actions, where the last
    layer gives means and then log standard deviations), obs_mean and obs_var [obs_dim]. With
    `spec`, it must fit that task; without, the task that it names, if that is known without
    importing anything.
    """
    try:
        arrays_path, facts_path = _pair(Path(path))
    except OSError as error:
        raise SaddleError(f"cannot read {path}: {error.strerror or error}") from None
    facts, arrays = _read_facts(facts_path), _read_arrays(arrays_path)
    layers = _layers(facts, arrays, arrays_path, facts_path)
    spec = spec or tasks.known_spec(facts["task"])
    if spec is not None:
        _check_fit(arrays_path, facts, layers, spec)
    return arrays, facts


def _check_fit(
    path: Path,
    facts: dict[str, Any],
    layers: list[tuple[np.ndarray, np.ndarray]],
    spec: TaskSpec,
) -> None:
    """The policy takes the task's observations and gives its kind of actions."""
    obs_dim = layers[0][0].shape[0] - _dial_width(facts)
    choices = tuple(facts["choices"])
    action_dim = _entries(layers[-1][0].shape[1], choices, facts["squash"])
    if (obs_dim, action_dim) != (spec.obs_dim, spec.action_dim):
        raise SaddleError(
            f"{path} maps {obs_dim} observations to {action_dim} actions (trained on "
            f"{facts['task']}), "
            f"but {spec.name} has {spec.obs_dim} and {spec.action_dim}"
        )
    if choices != spec.choices:
        raise SaddleError(
            f"{path} {_chooses(choices)} (trained on {facts['task']}), but {spec.name} "
            f"{_wants(spec.choices)}"
        )


def _chooses(choices: tuple[int, ...]) -> str:
    return f"chooses among {list(choices)}" if choices else "gives real numbers"


def _wants(choices: tuple[int, ...]) -> str:
    return f"takes choices among {list(choices)}" if choices else "takes real numbers"


def save(folder: Path, arrays: dict[str, np.ndarray], facts: dict[str, Any]) -> None:
    """Write policy.npz and policy.json, as `read` takes them. Each file is whole or not there."""
    with io.BytesIO() as buffer:
        np.savez(buffer, allow_pickle=False, **arrays)
        numbers = buffer.getvalue()
    words = json.dumps(facts, indent=2).encode()
    # A unit of a study writes hundreds of policies one after the other.
    files.write(folder / "policy.npz", numbers, files.AGAIN, durable=False)
    files.write(folder / "policy.json", words, files.AGAIN, durable=False)


def _pair(path: Path) -> tuple[Path, Path]:
    """The two files of an exported policy, both there."""
    stem = (
        path / "policy"
        if path.is_dir()
        else path.with_suffix("")
        if path.suffix in (".npz", ".json")
        else None
    )
    if stem is None:
        raise SaddleError(
            f"unknown policy '{path}': use 'random', 'scripted', or the path of an exported policy "
            f"(a folder with "
            "policy.npz and policy.json)"
        )
    pair = stem.with_name(stem.name + ".npz"), stem.with_name(stem.name + ".json")
    for file in pair:
        if not file.is_file():
            raise SaddleError(
                f"the policy needs {file}, which does not exist; an exported policy is a .npz and "
                f"a .json"
            )
    return pair


def _read_facts(path: Path) -> dict[str, Any]:
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise SaddleError(f"cannot read {path}: {error}") from None
    if not isinstance(facts, dict) or not isinstance(facts.get("task"), str):
        raise SaddleError(f"{path} is not the description of a policy: it names no task")
    if facts.get("activation") not in tuple(ACTIVATIONS):
        raise SaddleError(
            f"{path} has activation {facts.get('activation')!r}; known are {', '.join(ACTIVATIONS)}"
        )
    clip = facts.setdefault("obs_clip", None)
    if clip is not None and not (isinstance(clip, int | float) and clip > 0):
        raise SaddleError(f"{path} has obs_clip {clip!r}; it must be a positive number or null")
    squash = facts.setdefault("squash", False)
    if not isinstance(squash, bool):
        raise SaddleError(f"{path} has squash {squash!r}; it must be true or false")
    choices = facts.setdefault("choices", [])
    whole = isinstance(choices, list) and all(type(count) is int for count in choices)
    if not whole or not all(count >= 1 for count in choices):
        raise SaddleError(
            f"{path} has choices {choices!r}; it must be a list of whole numbers of at least 1"
        )
    if choices and squash:
        raise SaddleError(f"{path} has choices, and squash; choices have nothing to squash")
    facts.setdefault("dial", None)
    _check_dial(facts["dial"], path)
    return facts


def _check_dial(dial: Any, path: Path) -> None:
    """None, or what makes a `Dial`."""
    if dial is None:
        return
    if not isinstance(dial, dict) or set(dial) != set(Dial._fields):
        raise SaddleError(f"{path} has a dial that is not of {', '.join(Dial._fields)}")
    numbers = all(isinstance(dial[name], int | float) for name in ("low", "high"))
    if not numbers or type(dial["constraints"]) is not int or not 0 < dial["low"] < dial["high"]:
        raise SaddleError(
            f"{path} has a dial from {dial['low']!r} to {dial['high']!r}; it must go from a "
            f"positive number to a larger one"
        )


def _dial_width(facts: dict[str, Any]) -> int:
    """How many inputs of the network are the dial's."""
    return facts["dial"]["constraints"] if facts["dial"] else 0


def _read_arrays(path: Path) -> dict[str, np.ndarray]:
    try:
        with path.open("rb") as raw, np.load(raw, allow_pickle=False) as file:
            return {name: np.asarray(file[name], np.float32) for name in file.files}
    except (OSError, ValueError, TypeError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error):
        raise SaddleError(
            f"cannot read {path}: it is damaged, or not an .npz of plain arrays"
        ) from None


def _layers(
    facts: dict, arrays: dict, path: Path, facts_path: Path
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Weights and biases from the observation to the action, checked against each other and the
    description.
    """
    count = len([name for name in arrays if name.startswith("w") and name[1:].isdigit()])
    names = [name for i in range(max(count, 1)) for name in (f"w{i}", f"b{i}")] + [
        "log_std",
        "obs_mean",
        "obs_var",
    ]
    missing = [name for name in names if name not in arrays]
    if missing:
        raise SaddleError(f"{path} lacks {', '.join(missing)}; it is not a whole policy")
    weights, biases = (
        [arrays[f"w{i}"] for i in range(count)],
        [arrays[f"b{i}"] for i in range(count)],
    )
    if any(w.ndim != 2 or b.shape != w.shape[1:] for w, b in zip(weights, biases, strict=True)):
        raise SaddleError(f"{path} has weights and biases that do not fit each other")
    if any(a.shape[1] != b.shape[0] for a, b in itertools.pairwise(weights)):
        raise SaddleError(f"{path} has layers that do not fit each other")
    widths = [w.shape[1] for w in weights[:-1]]
    if facts.get("hidden") != widths:
        raise SaddleError(
            f"{path} has hidden layers {widths}, but {facts_path} says {facts.get('hidden')}"
        )
    inputs = {arrays[name].shape for name in ("obs_mean", "obs_var")}
    obs_dim = weights[0].shape[0] - _dial_width(facts)
    outputs = weights[-1].shape[1]
    choices = facts["choices"]
    squash = facts["squash"]
    spreads = 0 if choices or squash else outputs
    if inputs != {(obs_dim,)} or arrays["log_std"].shape != (spreads,):
        raise SaddleError(f"{path} has obs_mean, obs_var or log_std that do not fit its layers")
    if squash and outputs % 2:
        raise SaddleError(
            f"{path} has {outputs} outputs, but {facts_path} says squash: a mean and a log "
            f"standard deviation for each action"
        )
    if choices and sum(choices) != outputs:
        raise SaddleError(
            f"{path} has {outputs} outputs, but {facts_path} says choices {choices}, "
            f"{sum(choices)} in all"
        )
    if (
        not all(np.isfinite(array).all() for array in arrays.values())
        or (arrays["obs_var"] < 0).any()
    ):
        raise SaddleError(f"{path} holds values that are not finite, or a negative variance")
    return list(zip(weights, biases, strict=True))
