"""Placement and goal re-sampling: keepouts, extents, restarts, and the distribution against a plain
algorithm.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import chisquare, ks_2samp, kstest

from saddle.tasks.point import button_layouts, goal, layout, pool, push

GOAL_ORDER = (0.4, 0.305, *[0.18] * 8, 0.15)
PUSH_ORDER = (0.4, 0.4, 0.4, 0.4, 0.3, 0.2)
ROUNDING = 1e-6


def keys(count, seed=0):
    return jax.random.split(jax.random.key(seed), count)


def two_sample(a, b) -> float:
    """The p-value of Kolmogorov and Smirnov that two samples come from one distribution."""
    return float(np.asarray(ks_2samp(a, b))[1])


def gaps(xy, keepouts):
    """[..., pairs]: how much farther apart than needed each pair is. xy [..., n, 2]."""
    i, j = np.triu_indices(len(keepouts), 1)
    need = np.asarray(keepouts)[i] + np.asarray(keepouts)[j]
    return np.linalg.norm(xy[..., i, :] - xy[..., j, :], axis=-1) - need


def plain_layouts(keepouts, count, rng):
    """The algorithm of the specification, one draw at a time."""
    layouts = []
    while len(layouts) < count:
        placed = np.empty((0, 2))
        for i, keepout in enumerate(keepouts):
            for xy in rng.uniform(-1.5 + keepout, 1.5 - keepout, (100, 2)):
                if np.all(
                    np.linalg.norm(placed - xy, axis=1) >= np.asarray(keepouts[:i]) + keepout
                ):
                    placed = np.append(placed, [xy], axis=0)
                    break
            else:
                break
        else:
            layouts.append(placed)
    return np.array(layouts)


@pytest.mark.parametrize("keepouts", [GOAL_ORDER, PUSH_ORDER])
def test_keepouts_and_extents_hold(keepouts):
    _, xy, ok = jax.jit(jax.vmap(lambda k: layout.place(k, keepouts)))(keys(1000))
    xy = np.asarray(xy)
    assert ok.all()
    assert gaps(xy, keepouts).min() > -ROUNDING
    assert np.all(np.abs(xy) <= 1.5 - np.asarray(keepouts)[:, None] + ROUNDING)
    assert np.abs(xy).max() > 1.29  # and the square is used up to its edge


@pytest.mark.parametrize("keepouts", [GOAL_ORDER, PUSH_ORDER])
def test_placement_follows_the_sequential_algorithm(keepouts):
    """The sum of the pairwise distances, and the distance of the first from the last object, are
    alike.
    """
    _, ours, _ = jax.jit(jax.vmap(lambda k: layout.place(k, keepouts)))(keys(2000, 1))
    plain = plain_layouts(keepouts, 400, np.random.default_rng(1))
    for statistic in (
        lambda xy: gaps(xy, keepouts).sum(-1),
        lambda xy: np.linalg.norm(xy[:, 0] - xy[:, -1], axis=-1),
        lambda xy: xy[:, -1, 0],
        lambda xy: np.linalg.norm(xy[:, 1], axis=-1),
    ):
        assert two_sample(statistic(np.asarray(ours)), statistic(plain)) > 0.01


def test_a_failed_attempt_says_so_and_a_restarted_one_succeeds():
    hard = pool.KEEPOUTS
    _, _, alone = jax.jit(jax.vmap(lambda k: layout.place(k, hard, restart=False)))(keys(400))
    assert 0 < np.mean(alone) < 0.1
    _, xy, ok = jax.jit(jax.vmap(lambda k: layout.place(k, hard)))(keys(4))
    assert ok.all() and gaps(np.asarray(xy), hard).min() > -ROUNDING


def test_keys_move_on():
    """Whatever is drawn next must not repeat what was drawn before."""
    key, xy, _ = layout.place(jax.random.key(3), PUSH_ORDER)
    _, again, _ = layout.place(key, PUSH_ORDER)
    assert not np.any(np.asarray(xy) == np.asarray(again))


@pytest.mark.parametrize("task", [goal, push])
def test_goal_keeps_its_distance(task):
    """The second goal is free of the first one's place, and of everything else."""
    draw = lambda k: layout.place_with_goal(k, task.GOAL_KEEPOUT, task.KEEPOUTS)
    _, others, placed = jax.jit(jax.vmap(draw))(keys(1000, 2))
    xy = np.concatenate([placed[:, None], others], axis=1)
    assert gaps(xy, (task.GOAL_KEEPOUT, *task.KEEPOUTS)).min() > -ROUNDING
    assert np.all(np.abs(placed) <= 1.5 - task.GOAL_KEEPOUT + ROUNDING)


def test_goal_is_uniform_where_there_is_room():
    """Nothing in the way but one object in the middle: every angle is as likely as its opposite and
    its mirror.
    """
    draw = lambda k: layout.sample_goal(k, 0.3, jnp.zeros((1, 2)), (0.4,))
    _, xy, found = jax.jit(jax.vmap(draw))(keys(4000))
    assert found.all()
    octant = np.floor(np.arctan2(xy[:, 1], xy[:, 0]) / (np.pi / 4)).astype(int) + 4
    assert chisquare(np.bincount(octant, minlength=8)).pvalue > 0.01


def test_goal_that_fits_nowhere_stays():
    """Worlds side by side: not met; met with room; met without."""
    free, blocked = jnp.full((1, 2), 5.0), jnp.zeros((1, 2))
    others = jnp.stack([blocked, free, blocked])
    met = jnp.array([False, True, True])
    before = jnp.ones((3, 2))
    move = lambda m, k, g, o: layout.move_goal(m, k, g, 1.0, o, (1.0,))
    key, after, found = jax.vmap(move)(met, keys(3), before, others)
    np.testing.assert_array_equal(found, [True, True, False])
    np.testing.assert_array_equal(np.any(after != before, axis=1), [False, True, False])
    same_key = jax.random.key_data(key) == jax.random.key_data(keys(3))
    np.testing.assert_array_equal(np.all(same_key, axis=1), [True, False, False])


def test_button_file_holds_the_algorithms_layouts():
    layouts = button_layouts.load()
    assert layouts.shape == (pool.COUNT, 13, 2) and layouts.dtype == np.float32
    keepouts = np.delete(pool.KEEPOUTS, pool.GOAL_MARKER)
    assert gaps(layouts, keepouts).min() > -ROUNDING
    assert np.all(np.abs(layouts) <= 1.5 - keepouts[:, None] + ROUNDING)
    assert len(np.unique(layouts[:, 0], axis=0)) == pool.COUNT


def test_button_file_can_be_made_again():
    """The head of the file comes out of the seed; a flipped last digit on another machine is no
    difference.
    """
    made = pool.generate(jax.random.key(pool.SEED), 32)
    np.testing.assert_allclose(made, button_layouts.load()[:32], atol=ROUNDING)


def test_button_layouts_have_the_symmetries_of_the_square():
    xy = np.asarray(jax.jit(jax.vmap(button_layouts.draw))(keys(4000)))
    octant = np.floor(np.arctan2(xy[:, 0, 1], xy[:, 0, 0]) / (np.pi / 4)).astype(int) + 4
    assert chisquare(np.bincount(octant, minlength=8)).pvalue > 0.01
    assert gaps(xy, np.delete(pool.KEEPOUTS, pool.GOAL_MARKER)).min() > -ROUNDING


def test_button_layouts_follow_the_sequential_algorithm():
    """The plain algorithm needs fifty restarts a layout, so few of them; the draws with symmetries,
    so many.
    """
    ours = np.asarray(jax.jit(jax.vmap(button_layouts.draw))(keys(4000, 1)))
    plain = np.delete(
        plain_layouts(pool.KEEPOUTS, 40, np.random.default_rng(0)), pool.GOAL_MARKER, axis=1
    )
    for statistic in (
        lambda xy: np.linalg.norm(xy[:, 0], axis=-1),
        lambda xy: np.linalg.norm(xy[:, 1:5, None] - xy[:, None, 9:13], axis=-1).mean((1, 2)),
        lambda xy: np.linalg.norm(xy[:, 0, None] - xy[:, 5:9], axis=-1).min(-1),
    ):
        assert two_sample(statistic(ours), statistic(plain)) > 0.01


def test_first_object_is_uniform():
    _, xy, _ = jax.jit(jax.vmap(lambda k: layout.place(k, GOAL_ORDER)))(keys(1000, 5))
    for axis in range(2):
        assert kstest(np.asarray(xy[:, 0, axis]), "uniform", (-1.1, 2.2)).pvalue > 0.01
