"""The rules against arithmetic that is written out here, and against profiles whose lambda* is
known.
"""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saddle.config import Member
from saddle.errors import SaddleError
from saddle.multipliers import (
    CRPO,
    AntiWindupPID,
    AugmentedLagrangian,
    Fixed,
    LogBarrier,
    MultiplicativeAscent,
    OptimisticAscent,
    RegularisedAscent,
)
from saddle.multipliers.stacked import Rules
from saddle.study.plan import Stage

COSTS = (60.0, 45.0, 20.0, 10.0, 26.0, 0.0, 24.0, 80.0)
LIMIT = 25.0


def told(rule, costs, limit=LIMIT):
    """Lambda after each of these costs."""
    rules = Rules([rule])
    state = jax.vmap(lambda numbers: rules.init(numbers, 1))(rules.numbers)
    found = []
    for cost in costs:
        args = (jnp.full((1, 1), cost), jnp.full((1, 1), limit))
        state = jax.vmap(rules.update)(state, rules.numbers, *args)
        found.append(float(state.lam[0, 0]))
    return found


def augmented(costs):
    """With rho 0.01, doubled each time up to 0.03, from 0.5."""
    multiplier, rho, found = 0.5, 0.01, []
    for cost in costs:
        multiplier = max(0.0, multiplier + rho * (cost - LIMIT))
        found.append(max(0.0, multiplier + rho * (cost - LIMIT)))
        rho = min(2 * rho, 0.03)
    return found


def crpo(costs):
    """With a margin of a tenth."""
    return [8.0 if cost > 0.9 * LIMIT + 2 else 0.0 for cost in costs]


def barrier(costs):
    """With t 0.1, a tenth larger each time up to 0.15, and 5 at most."""
    t, found = 0.1, []
    for cost in costs:
        inside = cost < LIMIT
        found.append(min(1 / (t * (LIMIT - cost)), 5.0) if inside else 5.0)
        t = min(1.1 * t, 0.15)
    return found


def optimistic(costs):
    lam, before, found = 0.5, costs[0] - LIMIT, []
    for cost in costs:
        lam = max(0.0, lam + 0.02 * (2 * (cost - LIMIT) - before))
        before = cost - LIMIT
        found.append(lam)
    return found


def regularised(costs):
    lam, found = 0.5, []
    for cost in costs:
        lam = max(0.0, lam + 0.02 * (cost - LIMIT - 3 * lam))
        found.append(lam)
    return found


def multiplicative(costs):
    lam, found = 0.5, []
    for cost in costs:
        lam = min(max(lam * np.exp(0.4 * (cost - LIMIT) / LIMIT), 0.3), 0.9)
        found.append(lam)
    return found


def antiwindup(costs):
    """With gains 0.4, 0.5 and 0.2, half of the past, errors up to 0.9, and 1.5 at most."""
    integral, smooth, found = 0.5, None, []
    for cost in costs:
        error = min(max((cost - LIMIT) / LIMIT, -1), 0.9)
        before = error if smooth is None else smooth
        smooth = 0.5 * before + 0.5 * error
        rest = 0.4 * smooth + 0.2 * (smooth - before)
        wanted = rest + integral + 0.5 * error
        if not (wanted > 1.5 and error > 0) and not (wanted < 0 and error < 0):
            integral += 0.5 * error
        found.append(min(max(rest + integral, 0.0), 1.5))
    return found


BY_HAND = [
    (AugmentedLagrangian(0.5, rho=0.01, growth=2.0, rho_max=0.03), augmented),
    (CRPO(margin=0.1, tolerance=2.0, maximum=8.0), crpo),
    (LogBarrier(t=0.1, growth=1.1, t_max=0.15, maximum=5.0), barrier),
    (OptimisticAscent(0.5, lr=0.02), optimistic),
    (RegularisedAscent(0.5, lr=0.02, tau=3.0), regularised),
    (MultiplicativeAscent(0.5, lr=0.4, minimum=0.3, maximum=0.9), multiplicative),
    (AntiWindupPID(0.5, kp=0.4, ki=0.5, kd=0.2, ema=0.5, bound=0.9, maximum=1.5), antiwindup),
]


@pytest.mark.parametrize(("rule", "by_hand"), BY_HAND, ids=lambda one: getattr(one, "name", ""))
def test_lambda_is_what_a_hand_gets(rule, by_hand):
    wanted = by_hand(COSTS)
    assert len(set(wanted)) > 1
    np.testing.assert_allclose(told(rule, COSTS), wanted, rtol=1e-5, atol=1e-6)


def test_numbers_of_a_few_steps():
    """Worked out on paper."""
    assert told(AugmentedLagrangian(0.0, rho=0.01), [35.0]) == pytest.approx([0.2])
    assert told(LogBarrier(t=0.1, growth=1.0), [15.0, 30.0]) == pytest.approx([1.0, 10.0])
    assert told(OptimisticAscent(0.0, lr=0.1), [30.0, 35.0]) == pytest.approx([0.5, 2.0])
    assert told(RegularisedAscent(1.0, lr=0.1, tau=1.0), [25.0]) == pytest.approx([0.9])
    assert told(MultiplicativeAscent(1.0, lr=1.0), [50.0]) == pytest.approx([np.e])
    assert told(CRPO(), [12.5, 12.6]) == pytest.approx([0.0, 10.0])


def test_an_integral_that_did_not_wind_up_lets_go_at_once():
    """After a hundred epochs far above the limit lambda falls with the first one below it."""
    far = [10 * LIMIT] * 100 + [0.0] * 3
    found = told(AntiWindupPID(ki=0.5, kp=0.0, kd=0.0, maximum=6.0), far)
    assert max(found) <= 6.0 and found[99] > 4.4
    assert found[:4] == pytest.approx([2.5, 4.0, 5.5, 5.5]) and found[99] == found[3]
    np.testing.assert_allclose(found[100:], found[99] - 0.5 * np.arange(1, 4), rtol=1e-5)


EPOCHS = 3000
LAG = 0.05  # of the way to its own cost that a policy goes in an epoch


@partial(jax.jit, static_argnums=0)
def driven(kind, numbers, top, power, limit):
    """Cost and lambda over training: the cost follows top (1 + lambda)^-power with a lag."""
    lam = kind.start(numbers, 1)

    def epoch(carry, _):
        memory, price = carry
        cost = top * (1 + price) ** -power
        memory = kind.update(memory, numbers, cost, limit)
        return (memory, price + LAG * (memory.lam - price)), (cost[0], memory.lam[0])

    return jax.lax.scan(epoch, (lam, jnp.zeros(1)), None, EPOCHS)[1]


def settled(rule, top, power, limit):
    """Mean cost and lambda over the last tenth."""
    rules = Rules([rule])
    numbers = jax.tree.map(lambda leaf: leaf[0], rules.numbers.settings[0])
    every = [jnp.full(1, number) for number in (top, power, limit)]
    cost, lam = driven(type(rule), numbers, *every)
    return float(cost[-EPOCHS // 10 :].mean()), float(lam[-EPOCHS // 10 :].mean())


PROFILES = st.tuples(st.floats(40, 100), st.floats(1, 2), st.floats(0.25, 0.8))
SETTLES = [
    AugmentedLagrangian(),
    OptimisticAscent(),
    RegularisedAscent(tau=0.0),
    MultiplicativeAscent(),
    AntiWindupPID(),
]


@pytest.mark.parametrize("rule", SETTLES, ids=lambda rule: rule.name)
@settings(max_examples=8)
@given(profile=PROFILES)
def test_with_its_defaults_it_settles_at_lambda_star(rule, profile):
    top, power, share = profile
    cost, lam = settled(rule, top, power, share * top)
    assert cost == pytest.approx(share * top, rel=0.03)
    assert lam == pytest.approx(share ** (-1 / power) - 1, rel=0.1, abs=0.02)


@settings(max_examples=8)
@given(PROFILES, st.floats(0.5, 5))
def test_regularised_ascent_settles_tau_lambda_above_the_limit(profile, tau):
    top, power, share = profile
    cost, lam = settled(RegularisedAscent(tau=tau), top, power, share * top)
    assert cost - share * top == pytest.approx(tau * lam, rel=0.05, abs=0.02 * top)


@settings(max_examples=8)
@given(PROFILES)
def test_a_barrier_settles_inside_by_the_inverse_of_t_lambda(profile):
    top, power, share = profile
    limit = share * top
    t = 3 / limit
    cost, lam = settled(LogBarrier(t=t, growth=1.0, t_max=t), top, power, limit)
    assert cost < limit
    assert lam * t * (limit - cost) == pytest.approx(1, rel=0.05)


@settings(max_examples=8)
@given(PROFILES)
def test_crpo_switches_below_the_limit(profile):
    """Its two prices have no lambda* between them; the mean cost keeps to the switch."""
    top, power, share = profile
    cost, _ = settled(CRPO(maximum=20.0), top, power, share * top)
    assert cost == pytest.approx(0.5 * share * top, rel=0.35)


WRONG = [
    (AugmentedLagrangian, {"rho": 0.0}, "rho is 0.0; it must be positive"),
    (AugmentedLagrangian, {"rho": float("inf")}, "rho is inf"),
    (AugmentedLagrangian, {"growth": 0.5}, "growth is 0.5; it must be 1 or more"),
    (AugmentedLagrangian, {"rho_max": 1e-5}, r"rho_max is 1e-05; it must be rho \(0.001\) or more"),
    (CRPO, {"tolerance": -1.0}, "tolerance is -1.0; it must be 0 or more"),
    (CRPO, {"margin": -0.1}, "margin is -0.1; it must be 0 or more"),
    (CRPO, {"margin": 1.0}, "margin is 1.0; it must be below 1"),
    (CRPO, {"maximum": 0.0}, "maximum is 0.0; it must be positive"),
    (LogBarrier, {"t": -1.0}, "t is -1.0; it must be positive"),
    (LogBarrier, {"t_max": 0.01}, r"t_max is 0.01; it must be t \(0.1\) or more"),
    (OptimisticAscent, {"lr": float("nan")}, "lr is nan; it must be finite, 0 or more"),
    (RegularisedAscent, {"lr": 2.0, "tau": 1.0}, r"lr \* tau is 2; it must be at most 1"),
    (MultiplicativeAscent, {"init": 0.0}, "init is 0.0; it must lie between minimum and maximum"),
    (MultiplicativeAscent, {"maximum": 1e-9}, "maximum is 1e-09; it must be minimum"),
    (AntiWindupPID, {"ema": 1.0}, "ema is 1.0; it must be below 1"),
    (AntiWindupPID, {"maximum": float("inf")}, "maximum is inf"),
    (AntiWindupPID, {"bound": 0.0}, "bound is 0.0; it must be positive"),
]


@pytest.mark.parametrize(("kind", "numbers", "said"), WRONG)
def test_numbers_that_make_no_sense(kind, numbers, said):
    with pytest.raises(SaddleError, match=said) as caught:
        kind(**numbers)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("rule", [LogBarrier(), MultiplicativeAscent(), AntiWindupPID()])
def test_a_limit_of_0_where_a_rule_works_below_it(rule):
    with pytest.raises(SaddleError, match=f"the rule '{rule.name}' works below a cost limit"):
        Stage("compare", rules=(rule,), limits=((25.0,), (0.0,)))
    Stage("compare", rules=(CRPO(),), limits=((0.0,),))


def test_a_limit_of_0_beside_such_a_rule_leaves_no_trace():
    """Members of other rules carry the memory of every rule, whatever their limit."""
    rules = Rules([Fixed(2.0), MultiplicativeAscent()])
    state = jax.vmap(lambda numbers: rules.init(numbers, 1))(rules.numbers)
    limits = jnp.asarray([[0.0], [10.0]])
    state = jax.vmap(rules.update)(state, rules.numbers, jnp.full((2, 1), 20.0), limits)
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(state))


def test_a_population_refuses_such_a_limit():
    from learners.toys import Bandit

    from saddle.learners import PPO
    from saddle.population import Population

    with pytest.raises(SaddleError, match="the rule 'barrier' works below a cost limit"):
        Population(Bandit(), PPO(), [Member(0, LogBarrier(), (0.0,))], PPO().steps_per_epoch)
