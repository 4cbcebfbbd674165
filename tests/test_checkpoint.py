"""Checkpoints: whole, or the one before; never another config's."""

import errno
import os
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saddle import checkpoint
from saddle.errors import SaddleError


def state(value=1.0):
    return {
        "w": jnp.full((2, 3), value),
        "n": (jnp.int32(7), jnp.array([True])),
        "key": jax.random.key(3),
    }


def test_round_trip(tmp_path):
    path = tmp_path / "c"
    checkpoint.save(path, state(), {"epoch": 4, "name": "é"})
    got, facts = checkpoint.load(path, like=jax.eval_shape(state))
    assert facts == {"epoch": 4, "name": "é"}
    for ours, theirs in zip(jax.tree.leaves(got), jax.tree.leaves(state()), strict=True):
        assert ours.dtype == theirs.dtype
    np.testing.assert_array_equal(got["w"], state()["w"])
    assert jax.random.uniform(got["key"]) == jax.random.uniform(state()["key"])


@pytest.mark.parametrize("damage", [b"", b"nonsense", None])
def test_a_damaged_file_gives_way_to_the_one_before(tmp_path, damage):
    path = tmp_path / "c"
    checkpoint.save(path, state(1.0), {"epoch": 1})
    checkpoint.save(path, state(2.0), {"epoch": 2})
    path.write_bytes(path.read_bytes()[:200] if damage is None else damage)
    with pytest.warns(UserWarning, match="going on from the checkpoint before it"):
        got, facts = checkpoint.load(path, like=state())
    assert facts == {"epoch": 1} and got["w"][0, 0] == 1.0


def test_two_damaged_files_are_an_error(tmp_path):
    path = tmp_path / "c"
    for _ in range(2):
        checkpoint.save(path, state(), {})
    for file in tmp_path.iterdir():
        file.write_bytes(b"x")
    with (
        pytest.warns(UserWarning, match="damaged"),
        pytest.raises(SaddleError, match=r"to start anew: rm .*with --resume"),
    ):
        checkpoint.load(path, like=state())
    with pytest.raises(SaddleError, match=r"missing or damaged.*no earlier checkpoint"):
        checkpoint.load(tmp_path / "none", like=state())


def test_another_config_is_refused(tmp_path):
    checkpoint.save(tmp_path / "c", state(), {})
    with pytest.raises(SaddleError, match="another config"):
        checkpoint.load(tmp_path / "c", like={**state(), "w": jnp.zeros((2, 4))})


def test_another_layout_of_the_state_is_told_as_that_of_another_version(tmp_path):
    checkpoint.save(tmp_path / "c", state(), {})
    with pytest.raises(SaddleError, match=r"another version of Saddle wrote it; go on with that"):
        checkpoint.load(tmp_path / "c", like={**state(), "unit": jnp.zeros(())})


def test_a_full_disk_loses_nothing(tmp_path, monkeypatch):
    path = tmp_path / "c"
    checkpoint.save(path, state(1.0), {"epoch": 1})

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(SaddleError, match=r"no space left .* go on with --resume"):
        checkpoint.save(path, state(2.0), {"epoch": 2})
    monkeypatch.undo()
    assert checkpoint.load(path, like=state())[1] == {"epoch": 1}
    assert [file.name for file in Path(tmp_path).iterdir()] == ["c"]
