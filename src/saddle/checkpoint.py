"""Checkpoints: one safetensors file with a pytree's leaves by path and a JSON of facts. Atomic, and
never pickle.

A save writes beside the old file, flushes to disk and renames; the checkpoint before it stays as
FILE.prev. A reader sees a whole checkpoint, or falls back to the one before.
"""

import json
import shlex
import warnings
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import safetensors.numpy
from safetensors import SafetensorError, safe_open

from saddle import files
from saddle.errors import RESUMED, SaddleError

FACTS = "saddle"


def save(path: Path, state: Any, facts: dict[str, Any]) -> None:
    """Write `state` and `facts` (plain JSON) to `path`. On a full disk the file that was there
    stays.
    """
    arrays = {name: np.asarray(_plain(leaf), order="C") for name, leaf in _leaves(state)}
    content = safetensors.numpy.save(arrays, {FACTS: json.dumps(facts)})
    with files.replacing(path, previous=_previous(path)) as unfinished:
        unfinished.write_bytes(content)


def size(state: Any) -> int:
    """Bytes that the state's arrays take in a checkpoint."""
    return sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(state))


def snapshot(state: Any) -> Any:
    """The state as NumPy arrays that later epochs do not touch; keys as their numbers, which is how
    files hold them.
    """
    for leaf in jax.tree.leaves(state):
        if isinstance(leaf, jax.Array) and not _is_key(leaf):
            leaf.copy_to_host_async()  # all on their way before the first is waited for
    return jax.tree.map(_own, state)


def _own(leaf: Any) -> np.ndarray:
    """From a CPU an array comes as a view of what an epoch takes over; from a GPU it is a copy
    already.
    """
    array = _plain(leaf)
    return array if isinstance(leaf, jax.Array) and jax.default_backend() != "cpu" else array.copy()


def load(path: Path, like: Any) -> tuple[Any, dict[str, Any]]:
    """State shaped like `like` (arrays or shapes), and facts. A damaged file gives way to
    FILE.prev, with a warning.
    """
    try:
        return _read(path, like)
    except _Damaged as error:
        if not _previous(path).exists():
            raise SaddleError(
                f"{error}; there is no earlier checkpoint, so {_anew(path)}"
            ) from None
        warnings.warn(
            f"{error}; going on from the checkpoint before it, {_previous(path).name}", stacklevel=2
        )
    try:
        return _read(_previous(path), like)
    except _Damaged as error:
        raise SaddleError(f"{error}, and so is {path}; {_anew(path)}") from None


def _anew(path: Path) -> str:
    """How to begin again without a checkpoint."""
    return f"to start anew: rm {shlex.quote(str(path))}*, then go on with {RESUMED}"


def exists(path: Path) -> bool:
    """Whether there is anything to load."""
    return path.exists() or _previous(path).exists()


class _Damaged(Exception):
    pass


def _read(path: Path, like: Any) -> tuple[Any, dict[str, Any]]:
    try:
        with safe_open(path, "numpy") as file:
            facts = json.loads((file.metadata() or {})[FACTS])
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a dict)
    except (OSError, SafetensorError, KeyError, ValueError) as error:
        raise _Damaged(
            f"the checkpoint {path} is missing or damaged ({type(error).__name__})"
        ) from None
    names = [name for name, _ in _leaves(like)]
    wanted, treedef = jax.tree.flatten(like)
    if set(names) != set(arrays):
        raise SaddleError(
            f"the checkpoint {path} holds other arrays than a training saves here: likely another "
            f"version of Saddle wrote it; go on with that version, or train anew in another folder"
        )
    if any(not _fits(arrays[name], leaf) for name, leaf in zip(names, wanted, strict=True)):
        raise SaddleError(
            f"the checkpoint {path} belongs to another config: its arrays have other shapes"
        )
    leaves = [_restore(arrays[name], leaf) for name, leaf in zip(names, wanted, strict=True)]
    return jax.tree.unflatten(treedef, leaves), facts


def _leaves(tree: Any) -> list[tuple[str, Any]]:
    return [
        (jax.tree_util.keystr(path, simple=True, separator="."), x) for path, x in _flatten(tree)
    ]


def _flatten(tree: Any) -> list:
    return jax.tree_util.tree_flatten_with_path(tree)[0]


def _is_key(leaf: Any) -> bool:
    return hasattr(leaf, "dtype") and jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def _plain(leaf: Any) -> np.ndarray:
    return np.asarray(jax.random.key_data(leaf) if _is_key(leaf) else leaf)


def _shape(leaf: Any) -> tuple[int, ...]:
    return (*leaf.shape, 2) if _is_key(leaf) else tuple(leaf.shape)


def _fits(array: np.ndarray, leaf: Any) -> bool:
    """Whether the array can take the leaf's place. What worlds on the host saved of themselves may
    be longer or shorter at another time.
    """
    if isinstance(leaf, np.ndarray):
        return array.ndim == leaf.ndim and array.shape[:1] == leaf.shape[:1]
    return array.shape == _shape(leaf)


def _restore(array: np.ndarray, leaf: Any) -> Any:
    if _is_key(leaf):
        return jax.random.wrap_key_data(jnp.asarray(array))
    return array if isinstance(leaf, np.ndarray) else jnp.asarray(array)


def _previous(path: Path) -> Path:
    return path.with_name(path.name + ".prev")
