"""Where things are: placement by rejection, as the reference does it.

Objects are placed one after another, uniformly in a square. A draw counts if it keeps the distance
to everything placed before: the sum of the two keepouts. An object that fails 100 times throws the
whole layout away.

Functions here take a key and hand back its successor, since they cannot know beforehand how much
they will draw.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from saddle.tasks.rare import patch_rare

EXTENT = 1.5  # m, objects lie in [-EXTENT, EXTENT]^2, shrunk by their own keepout
DRAWS = 100  # per object, before a layout is given up
GOAL_BLOCKS = 100  # of DRAWS each, before goal re-sampling is given up
_NOWHERE = 1e3  # m, where objects wait that are not placed yet: far from everything


class _Placing(NamedTuple):
    """A layout in the making."""

    key: Array
    next: Array  # [] int32, the object whose turn it is; n once all stand, n + 1 after a failure
    xy: Array  # [n, 2] m; _NOWHERE for those that wait


class _Search(NamedTuple):
    """A goal that is being looked for."""

    key: Array
    blocks: Array  # [] int32, of DRAWS each, so far
    goal: Array  # [2] m
    found: Array  # [] bool


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
    after_failure = 0 if restart else count + 1

    def unfinished(layout: _Placing) -> Array:
        return layout.next < count

    def place_next(layout: _Placing) -> _Placing:
        key, draw = jax.random.split(layout.key)
        its_turn = jnp.arange(count) == layout.next
        keepout = jnp.sum(jnp.where(its_turn, radii, 0))
        xy, found = _draw(draw, keepout, layout.xy, radii)
        extended = jnp.where(its_turn[:, None], xy, layout.xy)
        return _Placing(
            key=key,
            next=jnp.where(found, layout.next + 1, after_failure),
            xy=jnp.where(found, extended, nothing),
        )

    layout = _Placing(key, jnp.zeros((), jnp.int32), nothing)
    # So many rounds it takes at least. A loop of known length needs no answer from a GPU before it
    # can go on.
    rounds = count if restart else 0
    layout = jax.lax.fori_loop(0, rounds, lambda _, layout: place_next(layout), layout)
    layout = jax.lax.while_loop(unfinished, place_next, layout)
    return layout.key, layout.xy, layout.next == count


def sample_goal(
    key: Array, keepout: float, others: Array, keepouts: tuple[float, ...]
) -> tuple[Array, Array, Array]:
    """Next key, a goal [2] that keeps its distance to others [n, 2], and whether one was found in
    10,000 draws.
    """
    radii = jnp.asarray(keepouts, others.dtype)

    def unfinished(search: _Search) -> Array:
        return ~search.found & (search.blocks < GOAL_BLOCKS)

    def next_block(search: _Search) -> _Search:
        key, draw = jax.random.split(search.key)
        blocks = search.blocks + 1
        goal, found = _draw(draw, jnp.asarray(keepout, radii.dtype), others, radii)
        return _Search(key, blocks, goal, found)

    start = _Search(
        key=key,
        blocks=jnp.zeros((), jnp.int32),
        goal=jnp.zeros(2, others.dtype),
        found=jnp.zeros((), bool),
    )
    search = jax.lax.while_loop(unfinished, next_block, next_block(start))
    return search.key, search.goal, search.found


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

    def move_one(world: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        key, goal, others = world
        key, new, found = sample_goal(key, keepout, others, keepouts)
        return key, jnp.where(found, new, goal), found

    unmoved = (key, goal, jnp.ones((), bool))
    return patch_rare(jax.vmap(move_one), met, (key, goal, others), unmoved)


def _draw(key: Array, keepout: Array, placed: Array, radii: Array) -> tuple[Array, Array]:
    """The first of DRAWS candidates that keeps its distance to placed [n, 2] with keepouts radii
    [n], if any does.
    """
    half = EXTENT - keepout
    candidates = jax.random.uniform(key, (DRAWS, 2), placed.dtype, minval=-half, maxval=half)
    dx = candidates[:, None, 0] - placed[:, 0]  # [DRAWS, n]
    dy = candidates[:, None, 1] - placed[:, 1]
    apart = dx * dx + dy * dy >= (radii + keepout) ** 2
    free = jnp.all(apart, axis=1)
    return candidates[jnp.argmax(free)], jnp.any(free)
