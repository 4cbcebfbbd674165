"""PPO with the multipliers as inputs: on tasks whose best policy at every lambda is known."""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from learners.running import through_a_file
from learners.toys import Bandit, Regulator
from scipy.stats import binomtest

import saddle
from saddle import dial_search, policies, policy_files, tasks
from saddle.config import Member
from saddle.errors import SaddleError
from saddle.learners import PPO, Conditioned
from saddle.learners.conditioned.strata import Strata, standardised
from saddle.multipliers import Dial, Fixed
from saddle.population import Population

pytestmark = pytest.mark.exact

PLAIN = {
    "rsi": "off",
    "standardise": False,
    "obs_norm": False,
    "hidden": (32, 32),
    "target_kl": 1e9,
    "critic_l2": 0.0,
    "log_std": -2.5,
    "actor_lr": 0.01,
    "batch": 256,
    "passes": 6,
    "window": 512,
}
BANDIT, TWO = "learners.toys:Bandit", "learners.toys:TwoPrices"
TWIN = "learners.twins:BanditEnv?cost=info:cost&length=1"
LAMBDAS = (0.1, 0.3, 1.0, 3.0, 10.0)


@cache
def trained(task, epochs=120, steps_per_epoch=1024, **choices):
    """The policy with a dial, and what its last epoch logged."""
    learner = Conditioned(steps_per_epoch=steps_per_epoch, **(PLAIN | choices))
    limits = (1.0,) * len(tasks.spec_of(task).constraints)
    population = Population(task, learner, [Member(0, Dial(), limits)], epochs * steps_per_epoch)
    state = population.init()
    for _ in range(population.epochs):
        state, metrics = population.epoch(state)
    return population.policy(state, 0), population.policy_facts(), metrics


def saved(folder, task, **how):
    arrays, facts, _ = trained(task, **how)
    policy_files.save(folder, arrays, facts)
    return folder


def action(folder, lam):
    return np.asarray(saddle.load_policy(folder, multiplier=lam)(np.ones(1)))


def test_one_policy_is_the_best_at_every_lambda(tmp_path):
    folder = saved(tmp_path, BANDIT)
    found = [float(action(folder, lam)[0]) for lam in LAMBDAS]
    np.testing.assert_allclose(found, 1 / (1 + np.array(LAMBDAS)), atol=0.06)


def test_so_it_is_where_objectives_are_clipped_apart_and_the_worst_stratum_stops(tmp_path):
    choices = {"clip_apart": True, "kl_stop": "worst", "target_kl": 0.05}
    folder = saved(tmp_path, BANDIT, epochs=50, **choices)
    found = [float(action(folder, lam)[0]) for lam in LAMBDAS]
    np.testing.assert_allclose(found, 1 / (1 + np.array(LAMBDAS)), atol=0.06)


def test_the_strata_log_the_frontier():
    """Return -(a - 1)^2 and cost a^2 at a = 1 / (1 + lambda), with the spread that all share."""
    *_, metrics = trained(BANDIT)
    lambdas, returns, costs = (
        metrics[name][0] for name in ("dial_lambda", "dial_return", "dial_cost")
    )
    assert lambdas.shape == returns.shape == costs.shape == (9,)
    best = 1 / (1 + lambdas)
    np.testing.assert_allclose(costs, best**2, atol=0.06)
    np.testing.assert_allclose(returns, -((best - 1) ** 2), atol=0.06)


def test_every_constraint_has_a_dial_of_its_own(tmp_path):
    folder = saved(tmp_path, TWO, epochs=160)
    for lam in ((0.3, 0.3), (1.0, 0.1), (0.1, 1.0), (3.0, 1.0), (1.0, 3.0)):
        wanted = 1 / (1 + lam[0]), 1 / (1 + sum(lam))
        np.testing.assert_allclose(action(folder, lam), wanted, atol=0.12, err_msg=str(lam))
    metrics = trained(TWO, epochs=160)[2]
    assert metrics["dial_return"].shape == (1, 25) and metrics["dial_cost"].shape == (1, 50)


def test_worlds_on_the_host_are_drawn_for_too(tmp_path):
    """The bandit as an environment of Gymnasium."""
    found = [
        float(action(saved(tmp_path, TWIN, epochs=60, steps_per_epoch=256), lam)[0])
        for lam in (0.1, 1.0, 10.0)
    ]
    assert found == sorted(found, reverse=True)
    np.testing.assert_allclose(found, 1 / (1 + np.array([0.1, 1.0, 10.0])), atol=0.2)


def search(folder, limits, **how):
    return saddle.dial(folder, limits, episodes=200, **how)


def mean_costs(found):
    return np.array([cost.value for cost in found.costs], float)


def test_the_dial_is_found_for_a_limit(tmp_path):
    """The cost of the mean action is a^2 = 1 / (1 + lambda)^2."""
    for one in search(saved(tmp_path, BANDIT), (0.5, 0.25, 0.05)):
        (limit,), (lam,) = one.limits, one.multipliers
        assert one.verdict == "kept"
        assert lam == pytest.approx(limit**-0.5 - 1, rel=0.35, abs=0.1)
        (cost,) = mean_costs(one)
        assert limit * 0.8 < cost <= limit


def test_a_setting_does_not_depend_on_the_limits_beside_it(tmp_path):
    folder = saved(tmp_path, BANDIT)
    together = search(folder, (0.5, 0.25))
    assert [search(folder, (limit,))[0] for limit in (0.5, 0.25)] == together


def test_a_limit_that_the_low_end_keeps_does_not_bind_wherever_returns_are_best(
    tmp_path, monkeypatch
):
    """Nothing costs anything, and the setting beside the low end returned a little more."""

    def free(self, log_lambda, seed):
        totals = np.zeros((len(log_lambda), self.episodes, 3))
        totals[..., 0] = -np.abs(log_lambda - self.low_end - self.step)
        return totals

    monkeypatch.setattr(dial_search._Search, "_totals", free)
    (found,) = search(saved(tmp_path, BANDIT), (1.0,))
    assert found.verdict == "does not bind" and found.multipliers[0] > 0.08


def test_what_no_setting_keeps_and_what_does_not_bind_is_said(tmp_path):
    folder = saved(tmp_path, BANDIT)
    loose, tight = search(folder, (2.0, 1e-6))
    assert loose.verdict == "does not bind" and loose.multipliers[0] == pytest.approx(0.08)
    assert tight.verdict == "not reached"
    noisy, noise = search(folder, (0.05, 0.004), as_trained=True)
    assert noisy.verdict == "kept" and mean_costs(noisy)[0] <= 0.055
    assert noise.verdict in ("not reached", "undecided"), "the spread alone costs more"


def test_fresh_episodes_may_contradict_the_search(tmp_path, monkeypatch):
    """Also where the least lambda had seemed to keep the limit."""
    monkeypatch.setattr(dial_search, "_over", lambda costs, limits: True)
    for found in search(saved(tmp_path, BANDIT), (2.0, 0.25)):
        assert found.verdict == "undecided"


def test_both_dials_are_found_together(tmp_path):
    """Where both limits bind at lambda (0.5, 0.5), the best policy has these costs."""
    limits = (0.4444 + 0.25, 0.25)
    (found,) = search(saved(tmp_path, TWO, epochs=160), [limits])
    assert found.verdict == "kept"
    costs = mean_costs(found)
    assert (costs <= np.array(limits) + 1e-6).all() and (costs > 0.6 * np.array(limits)).all()


def played_as(returns, costs, constraints, monkeypatch):
    """A search of a policy whose episodes come to these functions of log10 lambda [n, m]: mean
    returns [n], and costs [n, episodes, m].
    """

    def totals(self, log_lambda, seed):
        draw = np.random.default_rng(seed)
        found = np.zeros((len(log_lambda), self.episodes, 2 + constraints))
        found[..., 0] = returns(log_lambda)[:, None]
        found[..., 2:] = costs(log_lambda, self.episodes, draw)
        return found

    monkeypatch.setattr(dial_search._Search, "_totals", totals)


def test_a_cost_that_is_rare_is_not_taken_for_none(tmp_path, monkeypatch):
    """Episodes fail at once with a chance of a tenth of a share 1 / lambda."""

    def fails(log_lambda, episodes, draw):
        chance = 0.1 / 10 ** log_lambda[:, :1]
        return (draw.random((len(log_lambda), episodes)) < chance)[..., None]

    played_as(lambda log_lambda: -log_lambda[:, 0], fails, 1, monkeypatch)
    folder = saved(tmp_path, BANDIT)
    for seed in range(5):
        rare, common = search(folder, (0.002, 0.1), seed=seed)
        assert rare.verdict == "undecided", "none of 200 episodes shows no chance below 0.015"
        assert common.verdict == "kept" and mean_costs(common)[0] < 0.13
        assert (rare.costs[0].hi or 0.0) >= 0.015


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 40), st.floats(0.001, 1000))
def test_the_bound_of_costs_that_come_or_not_is_the_binomials(met, size):
    costs = np.where(np.arange(40) < met, size, 0.0)[None, :, None]
    margin = dial_search._rarity_margins(costs, np.array([size]), 0.95)[0, 0]
    bound = binomtest(met, 40).proportion_ci(0.9, "exact").high
    assert margin == pytest.approx((bound - met / 40) * size, rel=1e-6, abs=1e-12 * size)


def test_with_two_dials_the_best_setting_is_looked_for_along_the_whole_boundary(
    tmp_path, monkeypatch
):
    """Only their sum keeps the limit, and the return is best where the first is all of it."""

    def costs(log_lambda, episodes, draw):
        total = (10**log_lambda).sum(1)
        both = np.stack([10 / total, np.zeros_like(total)], -1)
        return np.broadcast_to(both[:, None], (len(log_lambda), episodes, 2))

    def returns(log_lambda):
        first, second = (10**log_lambda).T
        return -first - 3 * second

    played_as(returns, costs, 2, monkeypatch)
    (found,) = search(saved(tmp_path, TWO), [(4.0, 1.0)])
    assert found.verdict == "kept"
    first, second = found.multipliers
    assert second == pytest.approx(0.08) and first == pytest.approx(2.42, rel=0.12)


@pytest.mark.parametrize(
    ("limits", "said"),
    [((), "no limit"), ((-1.0,), "0 or more"), ((float("nan"),), "0 or more")],
)
def test_wrong_limits_are_told(tmp_path, limits, said):
    with pytest.raises(SaddleError, match=said):
        search(saved(tmp_path, BANDIT), limits)


def test_wrong_seeds_and_too_few_episodes_are_told(tmp_path):
    folder = saved(tmp_path, BANDIT)
    with pytest.raises(SaddleError, match="a seed must be"):
        search(folder, (0.5,), seed=-1)
    with pytest.raises(SaddleError, match="takes at least 5"):
        saddle.dial(folder, (0.5,), episodes=1)


def test_each_constraint_wants_a_limit(tmp_path):
    with pytest.raises(SaddleError, match=r"2 constraints .* give one for each"):
        search(saved(tmp_path, TWO, epochs=160), (1.0, 2.0, 3.0))


def test_a_policy_with_a_dial_says_what_it_needs(tmp_path):
    folder = saved(tmp_path, BANDIT)
    with pytest.raises(SaddleError, match="say where to set it"):
        saddle.load_policy(folder)
    with pytest.raises(SaddleError, match="choose one in between"):
        saddle.load_policy(folder, multiplier=100)
    with pytest.raises(SaddleError, match="has 2 numbers"):
        saddle.load_policy(folder, multiplier=(1.0, 2.0))


SMALL = {"hidden": (8, 8), "steps_per_epoch": 80, "passes": 2, "batch": 40}
LAYOUTS = {"study": {}, "wide": {"layout": "wide", "worlds": 8}}


def population(layout, seeds, task=None, **choices):
    learner = Conditioned(**(SMALL | LAYOUTS[layout] | choices))
    return Population(task or Regulator(), learner, [Member(seed, Dial()) for seed in seeds], 800)


@pytest.mark.parametrize("layout", ["study", pytest.param("wide", marks=pytest.mark.slow)])
def test_a_member_is_the_same_alone_and_after_a_checkpoint(layout, tmp_path):
    alone, together = population(layout, [3]), population(layout, [1, 3])
    state, both = alone.init(), together.init()
    for epoch in range(4):
        state, own = alone.epoch(state)
        both, all_of_them = together.epoch(both)
        for name, value in own.items():
            np.testing.assert_allclose(
                value[0], all_of_them[name][1], rtol=2e-3, atol=2e-4, err_msg=name
            )
        if epoch == 1:
            again = through_a_file(alone, state, tmp_path / "state")
    for _ in range(2):
        again, _ = alone.epoch(again)
    jax.tree.map(np.testing.assert_array_equal, again.members, state.members)


@cache
def one_member():
    return population("study", [0])


@pytest.mark.slow
def test_the_kl_that_stops_is_the_worst_stratums_if_so_chosen():
    """Neither stops here, so that both take the same steps."""
    mean, worst = one_member(), population("study", [0], kl_stop="worst")
    _, by_mean = mean.epoch(mean.init())
    _, by_worst = worst.epoch(worst.init())
    np.testing.assert_array_equal(by_worst["loss_pi"], by_mean["loss_pi"])
    assert by_worst["kl"][0] > by_mean["kl"][0] > 0


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_lambda_stays_for_an_episode(layout):
    run = population(layout, [0])
    state = run.init()
    worlds, _, rollout = run.compiled_rollout()(state)
    drawn = np.asarray(rollout.obs[..., 1:])
    ended = np.asarray(rollout.ended)
    assert ended[:-1].any() or layout == "study"
    changed = (drawn[1:] != drawn[:-1]).any(-1)
    np.testing.assert_array_equal(changed, ended[:-1])
    np.testing.assert_array_equal(rollout.next_obs[..., 1:], drawn)
    np.testing.assert_array_equal(np.asarray(worlds.seen[..., 1:] != drawn[-1])[..., 0], ended[-1])


def test_the_exported_policy_is_the_one_that_was_trained(tmp_path):
    run = one_member()
    state = run.init()
    for _ in range(3):
        state, _ = run.epoch(state)
    policy_files.save(tmp_path, run.policy(state, 0), run.policy_facts())
    *_, rollout = run.compiled_rollout()(state)
    lam = float(10 ** rollout.obs[5, 0, 0, 1])
    policy = policies.network(tmp_path)
    assert isinstance(policy, policies.DialPolicy)
    set_to = policy.at(lam)
    mean, std = set_to.weights.obs_mean, 1 / set_to.weights.obs_scale
    raw = rollout.obs[5, 0, 0, :1] * std + mean
    ours = policies.output(set_to.form, set_to.weights, np.asarray(raw))
    theirs = rollout.extras.output[5, 0, 0]
    np.testing.assert_allclose(ours, theirs, rtol=0.05, atol=0.02)  # moments grew in the epoch


def test_it_begins_from_a_policy_without_a_dial(tmp_path):
    ppo = PPO(hidden=(8, 8), steps_per_epoch=80, passes=1, batch=40)
    plain = Population(Regulator(), ppo, [Member(0, Fixed())], 80)
    state, _ = plain.epoch(plain.init())
    facts = {**plain.policy_facts(), "task": "learners.toys:Regulator"}
    policy_files.save(tmp_path / "plain", plain.policy(state, 0), facts)
    learner = Conditioned(**SMALL, start=str(tmp_path / "plain"))
    begun = Population("learners.toys:Regulator", learner, [Member(1, Dial())], 80)
    policy_files.save(tmp_path / "dial", begun.policy(begun.init(), 0), begun.policy_facts())
    obs = np.array([0.3], np.float32)
    wanted = saddle.load_policy(tmp_path / "plain")(obs)
    for lam in (0.1, 10.0):
        found = saddle.load_policy(tmp_path / "dial", multiplier=lam)(obs)
        np.testing.assert_allclose(found, wanted, rtol=1e-5)
    with pytest.raises(SaddleError, match="has dial"):
        Population(
            "learners.toys:Regulator",
            PPO(hidden=(8, 8), steps_per_epoch=80, start=str(tmp_path / "dial")),
            [Member()],
            80,
        ).init()


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"lambda_low": 0.0}, "lambda_low is 0.0"),
        ({"lambda_high": 0.01}, "above lambda_low"),
        ({"strata": 1}, "at least 2"),
        ({"kl_stop": "median"}, "kl_stop is 'median'; it must be one of 'mean', 'worst'"),
    ],
)
def test_wrong_settings_are_told(wrong, said):
    with pytest.raises(SaddleError, match=said):
        Conditioned(**wrong)


def test_rules_and_learners_that_do_not_go_together_are_told():
    with pytest.raises(SaddleError, match="use the rule 'dial'"):
        Population(Bandit(), Conditioned(steps_per_epoch=8), [Member()], 8)
    with pytest.raises(SaddleError, match="such as 'conditioned'"):
        Population(Bandit(), PPO(steps_per_epoch=8), [Member(0, Dial())], 8)


parts = st.builds(
    Strata,
    low=st.floats(1e-3, 0.5),
    high=st.floats(1.0, 1e3),
    each=st.integers(2, 6),
    constraints=st.integers(1, 3),
)


@settings(max_examples=25)
@given(strata=parts, worlds=st.sampled_from([1, 3, 17, 40]), seed=st.integers(0, 2**31 - 1))
def test_drawn_multipliers_lie_in_the_range_and_are_spread_evenly(strata, worlds, seed):
    drawn = strata.draw(worlds, jax.random.key(seed))
    assert drawn.shape == (worlds, strata.constraints)
    slack = 1e-5
    assert (drawn >= np.log10(strata.low) - slack).all()
    assert (drawn <= np.log10(strata.high) + slack).all()
    held = np.asarray(strata.membership(drawn)).sum(0)
    assert held.sum() == worlds
    assert held.max() <= worlds // strata.count + 2


@settings(max_examples=25)
@given(strata=parts)
def test_a_centre_lies_in_its_own_stratum(strata):
    centres = strata.centres()
    assert centres.shape == (strata.count, strata.constraints)
    held = strata.membership(jnp.asarray(np.log10(centres), jnp.float32))
    np.testing.assert_array_equal(held, np.eye(strata.count))


@settings(max_examples=25)
@given(
    parts_of_samples=st.lists(st.integers(0, 3), min_size=5, max_size=60),
    seed=st.integers(0, 1000),
)
def test_advantages_are_standardised_stratum_by_stratum(parts_of_samples, seed):
    where = np.array(parts_of_samples)
    rng = np.random.default_rng(seed)
    advantage = rng.normal(size=(len(where), 2)) * (1 + where[:, None]) + 3 * where[:, None]
    found = np.asarray(standardised(jnp.eye(4)[where], jnp.asarray(advantage, jnp.float32), True))
    for part in set(parts_of_samples):
        own = found[where == part]
        np.testing.assert_allclose(own.mean(0), 0, atol=1e-4)
        costs = advantage[where == part, 1]
        np.testing.assert_allclose(own[:, 1], costs - costs.mean(), atol=1e-4)
        if len(own) > 1:
            assert own[:, 0].std() == pytest.approx(1, abs=1e-3)


def test_strata_are_as_many_as_constraints_allow_on_every_machine():
    for accelerated in (False, True):
        settings = Conditioned.for_machine(accelerated)
        assert [settings.strata_of(constraints) ** constraints for constraints in (1, 2)] == [9, 25]
