"""The window of recent episodes against a deque, and moments against NumPy's."""

from collections import deque

import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from saddle.collect import episodes, normalise


@settings(max_examples=40)
@given(
    st.lists(st.lists(st.booleans(), min_size=6, max_size=6), min_size=1, max_size=4),
    st.sampled_from([1, 4, 7]),
)
def test_window_keeps_the_newest(epochs, size):
    window, kept = episodes.empty(size, 1), deque(maxlen=size)
    serial = 0.0
    for ended in epochs:
        rows = serial + np.arange(len(ended))[:, None] * [1.0, 10.0, 100.0]
        serial += len(ended)
        kept.extend(row for row, end in zip(rows, ended, strict=True) if end)
        flags = jnp.array(ended)
        window = episodes.push(window, jnp.asarray(rows, jnp.float32), flags)
        own = rows[np.array(ended)].mean(0) if any(ended) else np.full(3, np.nan)
        np.testing.assert_allclose(
            episodes.finished_mean(jnp.asarray(rows, jnp.float32), flags), own, rtol=1e-5
        )
    assert int(window.count) == len(kept)
    expected = np.mean(kept, 0) if kept else np.full(3, np.nan)
    np.testing.assert_allclose(episodes.mean(window), expected, rtol=1e-5)


def worst_tenth(costs):
    """Mean of the dearest tenth of costs, the last of them in part."""
    left, total = len(costs) / 10, 0.0
    for cost in sorted(costs, reverse=True):
        total += min(left, 1.0) * cost
        left -= min(left, 1.0)
    return total / (len(costs) / 10)


@settings(max_examples=30)
@given(st.lists(st.floats(0, 90, width=32), max_size=30))
def test_the_worst_tenth_of_a_window(costs):
    rows = jnp.zeros((30, 4)).at[: len(costs), 2].set(jnp.array(costs, jnp.float32))
    ended = jnp.arange(30) < len(costs)
    window = episodes.push(episodes.empty(20, 2), rows, ended)
    found = episodes.worst_mean(window)
    if costs:
        np.testing.assert_allclose(found, [worst_tenth(costs[-20:]), 0.0], rtol=1e-4, atol=1e-4)
    else:
        assert np.isnan(found).all()


def test_episodes_above_are_those_that_ended_above_their_members_limits():
    finished = jnp.zeros((2, 3, 4)).at[..., 2].set(jnp.array([[5.0, 9.0, 9.0], [5.0, 9.0, 9.0]]))
    counted = jnp.array([[True, True, False], [True, True, True]])
    window = jax.vmap(lambda _: episodes.empty(4, 2))(jnp.arange(2))
    limits = jnp.array([[4.0, 1.0], [6.0, 0.0]])
    told = episodes.metrics(finished, counted, window, jnp.zeros((2, 4)), limits)
    np.testing.assert_array_equal(told["episodes_above"], [[2, 0], [2, 0]])
    assert told["episodes_above"].dtype == jnp.int32


@settings(max_examples=40)
@given(
    st.lists(
        st.lists(st.tuples(st.floats(-9, 9, width=32), st.booleans()), min_size=5, max_size=5),
        min_size=1,
    )
)
def test_moments_are_those_of_all_samples(batches):
    moments, seen = normalise.none(1), []
    for batch in batches:
        values, present = (
            np.array([x for x, _ in batch], np.float32),
            np.array([p for _, p in batch]),
        )
        moments = normalise.merge(
            moments, normalise.of(jnp.asarray(values)[:, None], jnp.asarray(present))
        )
        seen.extend(values[present])
    assert int(moments.count) == len(seen)
    if len(seen) > 1:
        np.testing.assert_allclose(moments.mean[0], np.mean(seen), atol=1e-4)
        np.testing.assert_allclose(
            normalise.variance(moments)[0], np.var(seen, ddof=1), rtol=1e-3, atol=1e-3
        )


def test_a_first_observation_stays_as_it_is():
    moments = normalise.of(jnp.array([[7.0]]), jnp.array([True]))
    assert normalise.apply(moments, jnp.array([7.0]), 5.0) == 7.0


def test_moments_do_not_drift_after_many_epochs():
    """Twenty million samples in float32: the mean still moves with the data."""
    moments = normalise.Moments(jnp.int32(20_000_000), jnp.array([1.0]), jnp.array([20_000_000.0]))
    batch = normalise.of(jnp.full((20_000, 1), 3.0), jnp.ones(20_000, bool))
    np.testing.assert_allclose(
        normalise.merge(moments, batch).mean, 1 + 2 * 20_000 / 20_020_000, rtol=1e-6
    )
