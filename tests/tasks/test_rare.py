"""Rare branches and auto-reset: what a batch computes is what each world would compute alone."""

from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saddle.tasks import autoreset
from saddle.tasks.point.circle import Circle
from saddle.tasks.point.goal import Goal
from saddle.tasks.rare import patch_rare

SHARES = {"none": 0.0, "one": None, "few": 0.05, "half": 0.5, "all": 1.0}


def chosen(share, count):
    if share is None:
        return jnp.arange(count) == count // 2
    return jax.random.uniform(jax.random.key(9), (count,)) < share


def rare(x):
    """Leaves [K, ...] -> leaves [K, ...], with shapes of its own."""
    return {
        "sum": x["a"].sum(-1) + x["b"],
        "key": jax.vmap(lambda k: jax.random.split(k)[0])(x["key"]),
    }


def inputs(*shape):
    a = jax.random.normal(jax.random.key(0), (*shape, 3))
    b = jnp.arange(np.prod(shape), dtype=jnp.float32).reshape(shape)
    x = {"a": a, "b": b, "key": jax.random.split(jax.random.key(1), shape)}
    return x, {"sum": jnp.full(shape, -1.0), "key": jax.random.split(jax.random.key(2), shape)}


def raw(tree):
    return {"sum": np.asarray(tree["sum"]), "key": np.asarray(jax.random.key_data(tree["key"]))}


def assert_same(ours, expected):
    for name, value in raw(expected).items():
        np.testing.assert_array_equal(raw(ours)[name], value)


def one(pred, x, default):
    return patch_rare(rare, pred, x, default)


BATCHED = jax.jit(jax.vmap(one))


@pytest.mark.parametrize("share", SHARES.values(), ids=SHARES.keys())
@pytest.mark.parametrize("count", [1, 16, 150, 3000])
def test_a_gpu_computes_a_small_chunk_unasked_and_then_larger_ones(monkeypatch, share, count):
    pred = chosen(share, count)
    x, default = inputs(count)
    expected = BATCHED(pred, x, default)
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    sizes = []

    def seen(x):
        sizes.append(len(x["b"]))
        return rare(x)

    ours = jax.jit(jax.vmap(lambda *args: patch_rare(seen, *args)))(pred, x, default)
    assert_same(ours, expected)
    assert sizes[0] <= sizes[-1] <= count


@pytest.mark.parametrize(("seldom", "chunks"), [(False, {47, 375}), (True, {375})])
@pytest.mark.parametrize("share", SHARES.values(), ids=SHARES.keys())
def test_what_is_seldom_needed_is_not_computed_unasked(monkeypatch, share, seldom, chunks):
    count = 3000
    pred = chosen(share, count)
    x, default = inputs(count)
    expected = BATCHED(pred, x, default)
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    sizes = set()

    def seen(x):
        sizes.add(len(x["b"]))
        return rare(x)

    ours = jax.jit(jax.vmap(lambda *args: patch_rare(seen, *args, seldom=seldom)))(pred, x, default)
    assert_same(ours, expected)
    assert sizes - {1} == chunks  # one world is what it is traced with before it is batched


NESTED = jax.jit(jax.vmap(jax.vmap(jax.vmap(one))))


@pytest.mark.parametrize("share", SHARES.values(), ids=SHARES.keys())
@pytest.mark.parametrize("count", [1, 7, 16, 150, 1000])
def test_batch_is_what_each_world_does_alone(share, count):
    pred = chosen(share, count)
    x, default = inputs(count)
    ours = BATCHED(pred, x, default)
    done = rare(x)
    np.testing.assert_array_equal(ours["sum"], jnp.where(pred, done["sum"], default["sum"]))
    np.testing.assert_array_equal(
        raw(ours)["key"], np.where(pred[:, None], raw(done)["key"], raw(default)["key"])
    )


@pytest.mark.parametrize("pred", [True, False])
def test_one_world_without_vmap(pred):
    x, default = jax.tree.map(lambda leaf: leaf[0], inputs(1))
    ours = jax.jit(one)(jnp.asarray(pred), x, default)
    expected = (
        jax.tree.map(lambda leaf: leaf[0], rare(jax.tree.map(lambda leaf: leaf[None], x)))
        if pred
        else default
    )
    assert_same(ours, expected)


@pytest.mark.parametrize("share", SHARES.values(), ids=SHARES.keys())
def test_nested_vmap_is_one_flat_batch(share):
    x, default = inputs(4, 5, 6)
    pred = chosen(share, 120).reshape(4, 5, 6)
    nested = NESTED(pred, x, default)
    flat = BATCHED(
        *jax.tree.map(lambda leaf: leaf.reshape(120, *leaf.shape[3:]), (pred, x, default))
    )
    assert_same(jax.tree.map(lambda leaf: leaf.reshape(120, *leaf.shape[3:]), nested), flat)


def test_what_all_worlds_share_need_not_be_batched():
    x, default = inputs(40)
    pred = chosen(0.5, 40)
    first = x["a"][0]
    shared = jax.jit(jax.vmap(lambda p, b, k, d: one(p, {"a": first, "b": b, "key": k}, d)))
    ours = shared(pred, x["b"], x["key"], default)
    repeated = x | {"a": jnp.broadcast_to(first, x["a"].shape)}
    assert_same(ours, BATCHED(pred, repeated, default))


def test_inside_a_scan():
    """The carry keeps its types, so that whole episodes compile."""
    pred = chosen(0.3, 50)

    def tick(value, _):
        return jax.vmap(lambda p, v: patch_rare(lambda v: v * 2, p, v, v + 1))(pred, value), None

    final = jax.lax.scan(tick, jnp.ones(50), length=3)[0]
    np.testing.assert_array_equal(final, jnp.where(pred, 8.0, 4.0))


reset = jax.jit(autoreset.reset, static_argnums=0)
step = jax.jit(autoreset.step, static_argnums=0)


def ended_somewhere(task, count):
    """Worlds of which every third is one step from truncation."""
    state = reset(task, jax.random.split(jax.random.key(0), count))
    late = jnp.arange(count) % 3 == 0
    return replace(state, steps=jnp.where(late, task.spec.episode_length - 1, 5)), late


def leaves(state):

    def plain(leaf):
        is_key = jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
        return np.asarray(jax.random.key_data(leaf) if is_key else leaf)

    return jax.tree.map(plain, state)


def test_autoreset_restarts_what_ended_and_nothing_else():
    task, count = Circle(), 30
    state, late = ended_somewhere(task, count)
    actions = jax.random.uniform(jax.random.key(4), (count, 2), minval=-1)
    now, ended = step(task, state, actions)
    np.testing.assert_array_equal(ended.truncated, late)
    np.testing.assert_array_equal(ended.steps, state.steps + 1)
    fresh = reset(task, jax.vmap(lambda k: jax.random.split(k)[0])(ended.key))
    expected = jax.tree.map(
        lambda new, old: np.where(late.reshape(-1, *[1] * (new.ndim - 1)), new, old),
        leaves(fresh),
        leaves(ended),
    )
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, rtol=0, atol=1e-6), leaves(now), expected
    )
    assert not now.truncated.any() and not now.terminated.any()


@dataclass(frozen=True)
class Standing(Goal):
    """Nothing moves, so that only rules and resets are compiled."""

    def step(self, state, action):
        return self.settle(state, state.agent, state.acceleration, state.vase)


def test_autoreset_of_a_batch_is_that_of_each_world():
    task, count = Standing(), 6
    state, late = ended_somewhere(task, count)
    actions = jnp.zeros((count, 2))
    together = leaves(step(task, state, actions).now)
    pick = lambda i: jax.tree.map(lambda leaf: leaf[i : i + 1], state)
    apart = [leaves(step(task, pick(i), actions[i : i + 1]).now) for i in range(count)]
    apart = jax.tree.map(lambda *parts: np.concatenate(parts), *apart)
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5), together, apart
    )
    np.testing.assert_array_equal(together.steps, np.where(late, 0, 6))


@dataclass(frozen=True)
class Terminating(Circle):
    """Ends as soon as the robot is left of the middle."""

    def step(self, state, action):
        after = super().step(state, action)
        return replace(after, terminated=after.agent[0] < 0)


def test_autoreset_also_answers_termination():
    task = Terminating()
    state = reset(task, jax.random.split(jax.random.key(0), 40))
    now, ended = step(task, state, jnp.zeros((40, 2)))
    assert 0 < ended.terminated.sum() < 40
    np.testing.assert_array_equal(now.steps == 0, ended.terminated)


@pytest.mark.parametrize("count", [1, 8, 16, 17])
def test_few_worlds_too_compute_nothing_that_none_needs(count):
    """A compiler takes what a loop computes alike each time out of the loop, and so did XLA where
    all worlds fit into a chunk.
    """

    def dear(x):
        return jax.lax.sort(x, dimension=1)

    def step(pred, x):
        return jax.vmap(lambda pred, x: patch_rare(dear, pred, x, x))(pred, x)

    x = jnp.arange(count * 64.0).reshape(count, 64) % 7
    pred = jnp.arange(count) % 2 == 0
    np.testing.assert_array_equal(jax.jit(step)(pred, x), np.where(pred[:, None], np.sort(x), x))
    program = jax.jit(step).lower(pred, x).compile().as_text()
    assert program is not None
    always = program[program.index("ENTRY") :]
    assert "sort(" in program and "sort(" not in always
