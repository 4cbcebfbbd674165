"""How lambda moves: rules as (init, update) pairs over NamedTuple state, one update an epoch.

Every array belongs to ONE member and has a leading axis [m] over constraints; `jax.vmap` adds the members. The numbers
that a rule depends on are arrays too (Gains), so fixed, gradient-ascent and PID members share one program.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from saddle.config import RULES, GradientAscent, Rule

HISTORY = 32  # smoothed costs that PID remembers, and so its longest delay
BETA_1, BETA_2, EPSILON = 0.9, 0.999, 1e-8  # Adam's, as PyTorch has them


class Gains(NamedTuple):
    """What rules depend on, per member []. A rule reads its own entries."""

    kind: Array  # int32, place of the rule in RULES
    init: Array
    lr: Array
    adam: Array  # bool: Adam's step, or plain ascent
    kp: Array
    ki: Array
    kd: Array
    ema_p: Array
    ema_d: Array
    delay: Array  # int32, updates
    maximum: Array


class Constant(NamedTuple):
    """State of a fixed lambda."""

    lam: Array  # [m]


class Ascent(NamedTuple):
    """State of gradient ascent."""

    lam: Array  # [m]
    mu: Array  # [m], Adam's first moment
    nu: Array  # [m], Adam's second moment
    count: Array  # [] int32, updates so far


class Controller(NamedTuple):
    """State of PID."""

    lam: Array  # [m]
    integral: Array  # [m]
    violation: Array  # [m], smoothed J_C - d
    cost: Array  # [m], smoothed J_C
    history: Array  # [HISTORY, m], smoothed costs, entry k % HISTORY from update k
    count: Array  # [] int32, updates so far


class Multiplier(NamedTuple):
    """State of any rule: `lam` is in force; every rule keeps its memory, and the member's own rule gives lambda."""

    lam: Array  # [m]
    memories: tuple[Any, ...]  # of the rules, in the order of RULES


class RulePair(NamedTuple):
    """A rule, in the shape that optax gave gradient transformations. Its state has a field `lam` [m]."""

    init: Callable[[Gains, int], Any]
    update: Callable[[Any, Gains, Array, Array], Any]  # state, gains, cost [m], limit [m] -> state


def gains(rules: Sequence[Rule]) -> Gains:
    """Arrays [members] of the members' rules. Entries that a rule lacks are 0."""
    columns = {name: [float(getattr(rule, name, 0.0)) for rule in rules] for name in Gains._fields[1:]}
    columns["adam"] = [isinstance(rule, GradientAscent) and rule.optimizer == "adam" for rule in rules]
    kinds = list(RULES)
    columns["kind"] = [kinds.index(rule.name) for rule in rules]
    dtypes = {"kind": np.int32, "delay": np.int32, "adam": np.bool_}
    return Gains(
        **{name: jnp.asarray(np.asarray(column, dtypes.get(name, np.float32))) for name, column in columns.items()}
    )


def ascent_init(gains: Gains, m: int) -> Ascent:
    """Lambda at its start."""
    lam = jnp.full(m, gains.init)
    return Ascent(lam, jnp.zeros(m), jnp.zeros(m), jnp.zeros((), jnp.int32))


def ascent_update(state: Ascent, gains: Gains, cost: Array, limit: Array) -> Ascent:
    """One step up the violation, by Adam or plain, never below 0."""
    violation = cost - limit
    count = state.count + 1
    mu = BETA_1 * state.mu + (1 - BETA_1) * violation
    nu = BETA_2 * state.nu + (1 - BETA_2) * violation**2
    step = (mu / (1 - BETA_1**count)) / (jnp.sqrt(nu / (1 - BETA_2**count)) + EPSILON)
    lam = state.lam + gains.lr * jnp.where(gains.adam, step, violation)
    return Ascent(jnp.maximum(0.0, lam), mu, nu, count)


def pid_init(gains: Gains, m: int) -> Controller:
    """The integral at its start, no memory."""
    lam = jnp.full(m, gains.init)
    return Controller(lam, lam, jnp.zeros(m), jnp.zeros(m), jnp.zeros((HISTORY, m)), jnp.zeros((), jnp.int32))


def pid_update(state: Controller, gains: Gains, cost: Array, limit: Array) -> Controller:
    """Lambda = K_P smoothed violation + integral + K_D rise of the smoothed cost, within [0, maximum]."""
    violation = cost - limit
    integral = jnp.maximum(0.0, state.integral + gains.ki * violation)
    smooth = gains.ema_p * state.violation + (1 - gains.ema_p) * violation
    smooth_cost = gains.ema_d * state.cost + (1 - gains.ema_d) * cost
    before = state.history[(state.count - gains.delay) % HISTORY]  # zeros until `delay` updates have been made
    rise = jnp.maximum(0.0, smooth_cost - before)
    lam = jnp.clip(gains.kp * smooth + integral + gains.kd * rise, 0.0, gains.maximum)
    history = state.history.at[state.count % HISTORY].set(smooth_cost)
    return Controller(lam, integral, smooth, smooth_cost, history, state.count + 1)


fixed = RulePair(lambda gains, m: Constant(jnp.full(m, gains.init)), lambda state, gains, cost, limit: state)
gradient_ascent = RulePair(ascent_init, ascent_update)
pid = RulePair(pid_init, pid_update)
PAIRS = {"fixed": fixed, "ga": gradient_ascent, "pid": pid}


def any_init(gains: Gains, m: int) -> Multiplier:
    """Every rule at its start."""
    return Multiplier(jnp.full(m, gains.init), tuple(PAIRS[name].init(gains, m) for name in RULES))


def any_update(state: Multiplier, gains: Gains, cost: Array, limit: Array) -> Multiplier:
    """The member's own rule, by its kind. Without a finished episode (cost NaN) nothing moves."""
    seen = jnp.isfinite(cost).all()
    cost = jnp.where(seen, cost, 0.0)
    pairs = zip(RULES, state.memories, strict=True)
    memories = tuple(PAIRS[name].update(memory, gains, cost, limit) for name, memory in pairs)
    after = Multiplier(jnp.stack([memory.lam for memory in memories])[gains.kind], memories)
    return jax.tree.map(lambda new, old: jnp.where(seen, new, old), after, state)
