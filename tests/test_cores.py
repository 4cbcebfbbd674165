"""Members spread over cores: the same members, however many cores there are."""

import re
import subprocess
import sys
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from learners.running import run, same, through_a_file
from learners.tally import TallySettings
from learners.toys import Chain

from saddle import checkpoint, machine
from saddle.config import Member
from saddle.cores import Cores
from saddle.errors import SaddleError
from saddle.learners import PPO, SAC
from saddle.multipliers import PID, Fixed, GradientAscent
from saddle.population import Population

pytestmark = pytest.mark.cores

MEMBERS = (Member(3, Fixed(0.5)), Member(4, GradientAscent(), (2.0,)), Member(5, PID(), (2.0,)))
LEARNERS = {
    "ppo": PPO(steps_per_epoch=200, batch=64, passes=3, hidden=(8,), window=30),
    "wide": PPO(steps_per_epoch=200, batch=64, passes=3, hidden=(8,), window=30, layout="wide"),
    "cycles": TallySettings(steps_per_epoch=60, worlds=2, cycle=20, window=4),
    "sac": SAC(steps_per_epoch=60, random_steps=100, replay=150, batch=16, hidden=(8,)),
}


@cache
def population(learner, cores):
    return Population(Chain(), LEARNERS[learner], MEMBERS, 2000, cores=cores)


@pytest.mark.parametrize("learner", LEARNERS)
def test_members_are_the_same_on_one_core_and_on_two(learner):
    """Three of them, so that one is computed twice; what is random is exactly the same, what is
    learned is so up to rounding.
    """
    alone, spread = population(learner, 1), population(learner, 2)
    assert (alone.cores.count, alone.cores.padded) == (1, 3)
    assert (spread.cores.count, spread.cores.padded) == (2, 4)
    (_, one), (state, two) = run(alone, 3), run(spread, 3)
    for ours, theirs in zip(one, two, strict=True):
        for name, values in ours.items():
            assert theirs[name].shape == values.shape
            np.testing.assert_allclose(theirs[name], values, rtol=2e-3, atol=2e-4, err_msg=name)
    assert same(one[0]["return"], two[0]["return"])
    assert spread.compiled == 1
    assert len(state.members.failed.sharding.device_set) == 2
    program = spread.executable(state).as_text()
    assert not re.findall(r"all-\w+|collective-\w+|reduce-scatter", program)  # see cores.py
    policies = [population.policy(population.init(), 2) for population in (alone, spread)]
    assert same(*policies)


@pytest.mark.parametrize("learner", ["wide", "sac"])
@pytest.mark.parametrize(("before", "after"), [(1, 2), (2, 1), (2, 2)])
def test_a_checkpoint_is_of_the_members_whatever_the_cores(learner, before, after, tmp_path):
    first, second = population(learner, before), population(learner, after)
    state, _ = run(first, 2)
    saved = first.to_save(checkpoint.snapshot(state))
    assert saved.members.failed.shape == (3,)
    checkpoint.save(tmp_path / "state", saved, {})
    moved = second.restored(checkpoint.load(tmp_path / "state", second.saved_shape())[0])
    assert same(second.to_save(checkpoint.snapshot(moved)).members, saved.members)
    _, (goes_on,) = run(first, 1, state)
    _, (elsewhere,) = run(second, 1, moved)
    if before == after:
        assert same(goes_on, elsewhere)
    else:
        for name, values in goes_on.items():
            np.testing.assert_allclose(elsewhere[name], values, rtol=2e-3, atol=2e-4, err_msg=name)


HOPPER = "SafetyHopperVelocity-v1"


@pytest.mark.parametrize("layout", ["study", "wide"])
def test_members_whose_worlds_are_on_the_host_learn_side_by_side(layout, tmp_path):
    ppo = PPO(steps_per_epoch=40, worlds=2, layout=layout, batch=20, passes=2, hidden=(8,))
    members = [Member(seed, Fixed(0.5), (25.0,)) for seed in range(4)]
    one, two = (Population(HOPPER, ppo, members, 400, "native", cores) for cores in (1, 2))
    assert (two.cores.count, two.learning_cores.count) == (1, 2)
    (_, alone), (state, spread) = run(one, 3), run(two, 2)
    again = through_a_file(two, state, tmp_path / "state")
    _, last = run(two, 1, state)
    _, resumed = run(two, 1, again)
    assert same(last, resumed)
    for ours, theirs in zip(alone, spread + last, strict=True):
        for name, values in ours.items():
            np.testing.assert_allclose(theirs[name], values, rtol=2e-3, atol=2e-4, err_msg=name)
    assert two.compiled == 1


@given(members=st.integers(1, 40), most=st.integers(1, 2), worlds=st.integers(1, 3))
def test_padding_repeats_the_first_members_and_goes_again(members, most, worlds):
    cores = Cores(members, most)
    assert cores.count <= min(most, members)
    assert 0 <= cores.padded - members < cores.count
    assert cores.padded % cores.count == 0
    tree = {
        "epoch": jnp.zeros(()),
        "members": jnp.arange(members),
        "worlds": jax.random.split(jax.random.key(0), members * worlds),
    }
    padded = cores.pad(tree)
    assert padded["members"].tolist() == [i % members for i in range(cores.padded)]
    assert padded["worlds"].shape == (cores.padded * worlds,)
    back = cores.strip(padded)
    assert same(jax.random.key_data(back.pop("worlds")), jax.random.key_data(tree.pop("worlds")))
    assert same(back, tree)


@given(members=st.integers(1, 40))
def test_without_padding_every_core_has_as_many(members):
    cores = Cores(members, pad=False)
    assert cores.padded == members == cores.count * cores.share
    assert cores.count == (2 if members % 2 == 0 else 1)


SHOWN = (
    "import os; os.cpu_count = lambda: 4; import saddle.machine as m; m.show_cores_to_jax(); "
    "import jax; print(len(jax.devices()))"
)
LATE = "import jax; jax.config.update('jax_platforms', 'cpu'); " + SHOWN
TOO_LATE = "import jax; jax.devices(); " + SHOWN


@pytest.mark.parametrize(
    ("code", "wanted", "told", "seen"),
    [
        (SHOWN, "3", {}, 3),
        (LATE, "3", {}, 3),
        (TOO_LATE, "3", {}, 1),
        (SHOWN, "3", {"JAX_NUM_CPU_DEVICES": "2"}, 2),
        (SHOWN, "3", {"XLA_FLAGS": "--xla_force_host_platform_device_count=4"}, 4),
    ],
)
def test_jax_sees_the_cores_unless_it_was_told_otherwise(code, wanted, told, seen, monkeypatch):
    monkeypatch.delenv("JAX_NUM_CPU_DEVICES", raising=False)
    monkeypatch.delenv("XLA_FLAGS", raising=False)
    monkeypatch.setenv("SADDLE_CORES", wanted)
    for name, value in told.items():
        monkeypatch.setenv(name, value)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) == seen


@pytest.mark.parametrize("value", ["", "0", "-1", "two", "1.5", "²"])
def test_cores_that_are_no_number(value, monkeypatch):
    monkeypatch.setenv("SADDLE_CORES", value)
    with pytest.raises(SaddleError, match=r"SADDLE_CORES is .*; set it to a whole number of cores"):
        machine.cores_to_use()


def test_more_cores_than_there_are_are_refused(monkeypatch):
    monkeypatch.setattr(machine.os, "cpu_count", lambda: 2)
    monkeypatch.setenv("SADDLE_CORES", "2")
    assert machine.cores_to_use() == 2
    monkeypatch.setenv("SADDLE_CORES", "99999")
    with pytest.raises(SaddleError, match="SADDLE_CORES is 99999, and this machine has 2 cores"):
        machine.cores_to_use()
