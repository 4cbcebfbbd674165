"""Where things are: placement by rejection, as the reference does it.

Objects are placed one after another, uniformly in a square. A draw counts if it keeps the distance
to everything placed before: the sum of the two keepouts. An object that fails 100 times throws the
whole layout away.

Functions here take a key and hand back its successor, since they cannot know beforehand how much
they will draw.
"""

import jax
import jax.numpy as jnp
from jax import Array

from saddle.tasks.rare import patch_rare

EXTENT = 1.5  # m, objects lie in [-EXTENT, EXTENT]^2, shrunk by their own keepout
DRAWS = 100  # per object, before a layout is given up
GOAL_BLOCKS = 100  # of DRAWS each, before goal re-sampling is given up
_NOWHERE = 1e3  # m, where objects wait that are not placed yet: far from everything


def place(
    key: Array, keepouts: tuple[float, ...], restart: bool = True
) -> tuple[Array, Array, Array]:
    """A layout: next key, xy [n, 2] in the order of the n keepouts, and whether every object found
    its place.

    With `restart` it starts again until they all do; without, one failure ends the attempt.
    """
    count = len(keepouts)
    radii = jnp.asarray(keepouts, float)
    nothing = jnp.full((count, 2), _NOWHERE)

    def next_object(carry: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        key, i, placed = carry
        key, draw = jax.random.split(key)
        here = jnp.arange(count) == i
        xy, found = _draw(draw, jnp.sum(jnp.where(here, radii, 0)), placed, radii)
        extended = jnp.where(here[:, None], xy, placed)
        failed = 0 if restart else count + 1
        return key, jnp.where(found, i + 1, failed), jnp.where(found, extended, nothing)

    start = (key, jnp.zeros((), jnp.int32), nothing)
    # So many rounds it takes at least. A loop of known length needs no answer from a GPU before it
    # can go on.
    rounds = count if restart else 0
    start = jax.lax.fori_loop(0, rounds, lambda _, carry: next_object(carry), start)
    key, i, placed = jax.lax.while_loop(lambda carry: carry[1] < count, next_object, start)
    return key, placed, i == count


def sample_goal(
    key: Array, keepout: float, others: Array, keepouts: tuple[float, ...]
) -> tuple[Array, Array, Array]:
    """Next key, a goal [2] that keeps its distance to others [n, 2], and whether one was found in
    10,000 draws.
    """
    radii = jnp.asarray(keepouts, others.dtype)

    def more(carry: tuple[Array, Array, Array, Array]) -> Array:
        _, blocks, _, found = carry
        return ~found & (blocks < GOAL_BLOCKS)

    def next_block(carry: tuple[Array, Array, Array, Array]) -> tuple[Array, Array, Array, Array]:
        key, blocks, _, _ = carry
        key, draw = jax.random.split(key)
        blocks = blocks + 1
        goal, found = _draw(draw, jnp.asarray(keepout, radii.dtype), others, radii)
        return key, blocks, goal, found

    start = (key, jnp.zeros((), jnp.int32), jnp.zeros(2, others.dtype), jnp.zeros((), bool))
    key, _, goal, found = jax.lax.while_loop(more, next_block, next_block(start))
    return key, goal, found


def place_with_goal(
    key: Array, keepout: float, keepouts: tuple[float, ...]
) -> tuple[Array, Array, Array]:
    """Next key, a layout [n, 2] in the order of the n keepouts, the robot first, and a goal [2].

    The goal is drawn twice: right after the robot, where it keeps what follows away, and again when
    all else stands.
    """
    key, xy, _ = place(key, (keepouts[0], keepout, *keepouts[1:]))
    others = jnp.concatenate([xy[:1], xy[2:]])
    key, goal, found = sample_goal(key, keepout, others, keepouts)
    return key, others, jnp.where(found, goal, xy[1])


def move_goal(
    met: Array, key: Array, goal: Array, keepout: float, others: Array, keepouts: tuple[float, ...]
) -> tuple[Array, Array, Array]:
    """A new goal where `met` holds: next key, goal [2], and whether re-sampling worked. Free where
    it does not hold.

    Where no place was found the goal stays. others [n, 2] are the things to avoid, at their current
    positions.
    """

    def one(world: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        key, goal, others = world
        key, new, found = sample_goal(key, keepout, others, keepouts)
        return key, jnp.where(found, new, goal), found

    return patch_rare(jax.vmap(one), met, (key, goal, others), (key, goal, jnp.ones((), bool)))


def _draw(key: Array, keepout: Array, placed: Array, radii: Array) -> tuple[Array, Array]:
    """The first of DRAWS candidates that keeps its distance to placed [n, 2] with keepouts radii
    [n], if any does.
    """
    half = EXTENT - keepout
    candidates = jax.random.uniform(key, (DRAWS, 2), placed.dtype, minval=-half, maxval=half)
    dx, dy = (candidates[:, None, i] - placed[:, i] for i in range(2))  # [DRAWS, n]
    free = jnp.all(dx * dx + dy * dy >= (radii + keepout) ** 2, axis=1)
    return candidates[jnp.argmax(free)], jnp.any(free)
