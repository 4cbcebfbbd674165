"""Exported policies as files: read and checked, or written.

A policy is a folder with policy.npz and policy.json; `read` says what is in them.
"""

import io
import itertools
import json
import math
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from saddle import files, pretrained, tasks
from saddle.arguments import path_of
from saddle.dial_inputs import Dial
from saddle.errors import SaddleError
from saddle.learners.networks.activations import ACTIVATIONS
from saddle.tasks import TaskSpec
from saddle.tasks.gymnasium.native import check_spaces


class UnknownPolicy(SaddleError):
    """Nothing there is an exported policy, and none of Saddle's own is called so."""

    def __init__(self, path: Path | str, *others: str) -> None:
        """`others` are what might have been given too, in words."""
        exported = "the path of an exported policy (a folder with policy.npz and policy.json)"
        choices = [*others, exported, *_own_names()]
        use = choices[0] if len(choices) == 1 else f"{', '.join(choices[:-1])}, or {choices[-1]}"
        super().__init__(f"unknown policy '{path}': use {use}")


def read(
    path: Path | str, spec: TaskSpec | None = None
) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Arrays and facts of an exported policy: a folder with policy.npz and policy.json, or one of
    the two files.

    policy.json holds task, activation, hidden (layer widths), obs_clip, where actions are choices
    how many each has, where they are the tanh of a Gaussian `squash`, and where the policy takes
    multipliers how these enter (`Dial`); of an environment that somebody brought, `spaces`: what it
    shows and takes. policy.npz holds w0 [obs_dim + the dial's inputs, hidden],
    b0, w1, b1, ..., log_std [action_dim] (of choices [0], as of squashed actions, where the last
    layer gives means and then log standard deviations), obs_mean and obs_var [obs_dim]. With
    `spec`, it must fit that task; without, the task that it names, if that is known without
    importing anything.
    """
    try:
        arrays_path, facts_path = _pair(path_of("policy", path, "the path of one, or a name"))
    except OSError as error:
        raise SaddleError(f"cannot read {path}: {error.strerror or error}") from None
    facts = _read_facts(facts_path)
    arrays = _read_arrays(arrays_path)
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
    action_dim = action_entries(layers[-1][0].shape[1], choices, facts["squash"])
    if (obs_dim, action_dim) != (spec.obs_dim, spec.action_dim):
        raise SaddleError(
            f"{path} maps {obs_dim} observations to {action_dim} actions (trained on "
            f"{facts['task']}), but {spec.name} has {spec.obs_dim} and {spec.action_dim}"
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
    if path.is_dir():
        stem = path / "policy"
    elif path.suffix in (".npz", ".json"):
        stem = path.with_suffix("")
    else:
        own = pretrained.find(str(path))
        if own is None:
            raise UnknownPolicy(path)
        stem = own / "policy"
    arrays = stem.with_name(stem.name + ".npz")
    facts = stem.with_name(stem.name + ".json")
    if path.is_dir() and not arrays.is_file() and not facts.is_file():
        raise UnknownPolicy(path)
    for file in (arrays, facts):
        if not file.is_file():
            raise SaddleError(
                f"the policy needs {file}, which does not exist; an exported policy is a .npz and "
                f"a .json"
            )
    return arrays, facts


def _own_names() -> list[str]:
    """In words, where there are some."""
    names = pretrained.names()
    return [f"one of Saddle's own: {', '.join(names)}"] if names else []


def _read_facts(path: Path) -> dict[str, Any]:
    """The description, with what older ones leave out, and each entry checked by itself."""
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
    clips = isinstance(clip, int | float) and clip > 0
    if clip is not None and not clips:
        raise SaddleError(f"{path} has obs_clip {clip!r}; it must be a positive number or null")
    squash = facts.setdefault("squash", False)
    if not isinstance(squash, bool):
        raise SaddleError(f"{path} has squash {squash!r}; it must be true or false")
    choices = facts.setdefault("choices", [])
    if not isinstance(choices, list) or not all(_is_count(choice) for choice in choices):
        raise SaddleError(
            f"{path} has choices {choices!r}; it must be a list of whole numbers of at least 1"
        )
    if choices and squash:
        raise SaddleError(f"{path} has choices, and squash; choices have nothing to squash")
    facts.setdefault("spaces", None)
    check_spaces(facts["spaces"], path)
    facts.setdefault("dial", None)
    _check_dial(facts["dial"], path)
    return facts


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 1


def _is_finite(value: Any) -> bool:
    return type(value) in (int, float) and math.isfinite(value)


def _check_dial(dial: Any, path: Path) -> None:
    """None, or what makes a `Dial`."""
    if dial is None:
        return
    if not isinstance(dial, dict) or set(dial) != set(Dial._fields):
        raise SaddleError(f"{path} has a dial that is not of {', '.join(Dial._fields)}")
    if not _is_count(dial["constraints"]):
        raise SaddleError(
            f"{path} has a dial of {dial['constraints']!r} constraints; it must be a whole number "
            f"of at least 1"
        )
    finite = all(_is_finite(dial[name]) for name in ("low", "high"))
    if not finite or not 0 < dial["low"] < dial["high"]:
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
    facts: dict[str, Any], arrays: dict[str, np.ndarray], path: Path, facts_path: Path
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Weights and biases from the observation to the action, checked against each other and the
    description.
    """
    layers = _joined_layers(arrays, path)
    widths = [weights.shape[1] for weights, _ in layers[:-1]]
    if facts.get("hidden") != widths:
        raise SaddleError(
            f"{path} has hidden layers {widths}, but {facts_path} says {facts.get('hidden')}"
        )
    obs_dim = layers[0][0].shape[0] - _dial_width(facts)
    outputs = layers[-1][0].shape[1]
    _check_around_layers(facts, arrays, obs_dim, outputs, path, facts_path)
    finite = all(np.isfinite(array).all() for array in arrays.values())
    if not finite or (arrays["obs_var"] < 0).any():
        raise SaddleError(f"{path} holds values that are not finite, or a negative variance")
    return layers


def _joined_layers(
    arrays: dict[str, np.ndarray], path: Path
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Weights and biases, checked against each other."""
    count = len([name for name in arrays if name.startswith("w") and name[1:].isdigit()])
    names: list[str] = []
    for i in range(max(count, 1)):
        names += [f"w{i}", f"b{i}"]
    names += ["log_std", "obs_mean", "obs_var"]
    missing = [name for name in names if name not in arrays]
    if missing:
        raise SaddleError(f"{path} lacks {', '.join(missing)}; it is not a whole policy")
    layers = [(arrays[f"w{i}"], arrays[f"b{i}"]) for i in range(count)]
    for weights, biases in layers:
        if weights.ndim != 2 or biases.shape != weights.shape[1:]:
            raise SaddleError(f"{path} has weights and biases that do not fit each other")
    for (before, _), (after, _) in itertools.pairwise(layers):
        if before.shape[1] != after.shape[0]:
            raise SaddleError(f"{path} has layers that do not fit each other")
    return layers


def _check_around_layers(
    facts: dict[str, Any],
    arrays: dict[str, np.ndarray],
    obs_dim: int,
    outputs: int,
    path: Path,
    facts_path: Path,
) -> None:
    """The observations' moments and the spread of actions fit a network from so many observations
    to so many outputs, and these its kind of actions.
    """
    choices = facts["choices"]
    squash = facts["squash"]
    moments = {arrays[name].shape for name in ("obs_mean", "obs_var")}
    spreads = 0 if choices or squash else outputs
    if moments != {(obs_dim,)} or arrays["log_std"].shape != (spreads,):
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


def action_entries(outputs: int, choices: Sequence[int], squash: bool) -> int:
    """Entries of an action, where the network has so many outputs."""
    if squash:
        return outputs // 2
    return len(choices) or outputs
