"""Worlds of environments: what is stepped in processes is what the environment does by itself."""

import sys

import numpy as np
import pytest
import toy_environments as toys
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import saddle
from saddle.errors import SaddleError
from saddle.tasks.gymnasium.environment import Environment
from saddle.tasks.gymnasium.worker.episodes import SEED_MASK, seed_of
from saddle.tasks.gymnasium.worker.spaces import Actions, flat

DRIFT = "toy_environments:Drift?cost=info:cost&length=10"


def by_hand(env, seed, actions):
    """Observations, rewards, costs of an episode, without anything of ours."""
    obs, _ = env.reset(seed=seed)
    rows = [(obs, 0.0, 0.0)]
    for action in actions:
        obs, reward, _, _, info = env.step(action)
        rows.append((obs, reward, info["cost"]))
    return [np.array(column, np.float32) for column in zip(*rows, strict=True)]


@pytest.fixture(scope="module")
def drift():
    return saddle.make(DRIFT).worlds(5, 2)


def test_worlds_are_the_environment_itself(drift):
    """Actions are spread over its bounds, episodes are cut, and the last observation is the true
    one.
    """
    rows = np.random.default_rng(0).uniform(-1.5, 1.5, (10, 5, 2))
    first = drift.reset(np.arange(5, dtype=np.uint64))
    steps = [drift.step(row) for row in rows]
    clipped = np.clip(rows, -1, 1)
    meant = np.stack([2 + 2 * clipped[..., 0], 2 * clipped[..., 1]], -1).astype(np.float32)
    for world in range(5):
        obs, reward, cost = by_hand(toys.Drift(), world, meant[:, world])
        np.testing.assert_array_equal(first[world], obs[0])
        np.testing.assert_array_equal([step.final_obs[world] for step in steps], obs[1:])
        np.testing.assert_array_equal([step.reward[world] for step in steps], reward[1:])
        np.testing.assert_array_equal([step.cost[world, 0] for step in steps], cost[1:])
    assert [step.truncated.all() for step in steps] == [False] * 9 + [True]
    assert not any(step.terminated.any() for step in steps)
    for world in range(5):
        anew, _ = toys.Drift().reset(seed=seed_of(world, 1))
        np.testing.assert_array_equal(steps[-1].obs[world], anew)
        np.testing.assert_array_equal(steps[-2].obs[world], steps[-2].final_obs[world])


def test_a_world_does_not_depend_on_the_others(drift):
    seeds = np.array([9, 4, 9, 2, 1], np.uint64)
    drift.reset(seeds)
    together = [drift.step(np.full((5, 2), 0.5)) for _ in range(12)]
    alone = saddle.make(DRIFT).worlds(1)
    alone.reset(seeds[2:3])
    for step in together:
        own = alone.step(np.full((1, 2), 0.5))
        for all_of_them, one in zip(step, own, strict=True):
            np.testing.assert_array_equal(all_of_them[2], one[0])
            np.testing.assert_array_equal(all_of_them[0], all_of_them[2])


@pytest.mark.parametrize(
    ("kind", "way"), [("Drift", "pickle"), ("WithState", "state"), ("Anew", "attributes")]
)
def test_what_can_be_saved_goes_on_elsewhere(kind, way):
    task = saddle.make(f"toy_environments:{kind}?cost=info:cost&length=10")
    assert task.facts.way == way
    here = task.worlds(3, 2)
    here.reset(np.arange(3, dtype=np.uint64))
    action = np.full((3, task.spec.action_dim), 0.3)
    for _ in range(4):
        here.step(action)
    saved = here.save()
    went_on = [here.step(action) for _ in range(9)]
    there = task.worlds(3, 1)
    for worlds in (there, here):
        assert worlds.load(saved) is None
        for before, after in zip(went_on, [worlds.step(action) for _ in range(9)], strict=True):
            for one, other in zip(before, after, strict=True):
                np.testing.assert_array_equal(one, other)


def test_what_cannot_be_saved_begins_its_next_episode(caplog):
    task = saddle.make("toy_environments:Unpicklable?cost=info:cost&length=10")
    assert task.facts.way is None
    here = task.worlds(2)
    here.reset(np.array([3, 4], np.uint64))
    action = np.zeros((2, 2))
    saved = here.save()
    here.step(action)
    assert here.load(saved) is None  # the beginning of an episode is its seed
    np.testing.assert_array_equal(here.save()["obs"], saved["obs"])
    here.step(action)
    saved = here.save()
    assert here.load(saved | {"steps": np.array([7, 8])}) is None  # they are there, but for clocks
    ends = [here.step(action).truncated.tolist() for _ in range(3)]
    assert ends == [[False, False], [False, True], [True, False]]

    there = task.worlds(2)
    restarted = there.load(saved)
    assert restarted is not None and restarted.where.all()
    for world, seed in enumerate((3, 4)):
        anew, _ = toys.Drift().reset(seed=seed_of(seed, 1))
        np.testing.assert_array_equal(restarted.obs[world], anew)
    assert there.step(action).truncated.sum() == 0
    there.load(saved)
    assert caplog.text.count("cannot be saved: its worlds go on from the beginning") == 1


def test_old_interfaces():
    for kind in ("Old", "OldWrapper"):
        task = saddle.make(f"toy_environments:{kind}?length=8")
        worlds = task.worlds(2)
        first = worlds.reset(np.array([1, 2], np.uint64))
        drawn = np.random.RandomState(1).uniform(-1, 1, 1).astype(np.float32)
        np.testing.assert_array_equal(first[0], drawn)
        steps = [worlds.step(np.array([[1.0], [0.0]])) for _ in range(6)]
        assert [bool(step.terminated[0]) for step in steps] == [False] * 3 + [True, False, False]
        assert [bool(step.truncated[1]) for step in steps] == [False] * 5 + [True]
        assert not any(step.terminated[1] for step in steps)
    assert saddle.make("toy_environments:Old").spec.episode_length == 6


def test_six_values():
    task = saddle.make("toy_environments:Six?length=10")
    assert task.spec.constraints == ("cost",) and task.facts.costs[0].kind == "six"
    worlds = task.worlds(1)
    worlds.reset(np.zeros(1, np.uint64))
    found = {float(worlds.step(np.ones((1, 2))).cost[0, 0]) for _ in range(10)}
    assert 2.0 in found and found <= {0.0, 2.0}


def test_costs_from_everywhere():
    costs = (
        "info:cost",
        "fast=info:speed",
        "event:was_far",
        "terminated",
        "-1",
        "far,quick=toy_environments:far_and_fast",
    )
    query = "&".join(f"cost={cost}" for cost in costs)
    task = saddle.make(f"toy_environments:Drift?{query}&length=10".replace("cost=-1&", ""))
    names = ("cost", "fast", "was_far", "terminated", "far", "quick")
    assert task.spec.constraints == names
    worlds = task.worlds(1)
    worlds.reset(np.zeros(1, np.uint64))
    for _ in range(10):
        step = worlds.step(np.array([[0.5, -0.5]]))
        cost = dict(zip(names, step.cost[0].tolist(), strict=True))
        assert cost["cost"] == cost["was_far"]
        assert cost["fast"] == cost["quick"] == 1.0
        assert cost["terminated"] == 0.0
        assert cost["far"] == float(abs(step.final_obs[0, 0]) > 0.5)


def test_components_of_a_vector_reward():
    reference = "toy_environments:Vector?reward=-1&cost=2&cost=-1&length=10"
    task = saddle.make(reference)
    worlds = task.worlds(1)
    worlds.reset(np.zeros(1, np.uint64))
    step = worlds.step(np.array([[0.0, 0.25]]))
    assert step.reward.tolist() == [2.0] and step.cost.tolist() == [[0.5, 2.0]]
    assert task.spec.constraints == ("reward_2", "minus_reward_1")
    for other, words in (
        (
            "toy_environments:Vector?cost=2&length=3",
            "has 3 components; choose one .--reward I",
        ),
        ("toy_environments:Vector?cost=7&reward=0&length=3", "there is no 7"),
        ("toy_environments:Vector?reward=0&length=3", "info has note; the reward has 3 components"),
        ("toy_environments:Drift?cost=price&length=3", "no 'price'.*it has action, cost, speed"),
        ("toy_environments:Drift?cost=cost&cost=cost&length=3", "two costs are called 'cost'"),
        ("toy_environments:Drift", "does not tell its time limit.*--episode-length"),
    ):
        with pytest.raises(SaddleError, match=words):
            _ = saddle.make(other).spec


def test_choices_and_spaces_within_spaces():
    task = saddle.make("toy_environments:Choices?length=10")
    assert task.spec.choices == (4,) and task.spec.action_dim == 1 and task.spec.obs_dim == 9
    worlds = task.worlds(2)
    first = worlds.reset(np.zeros(2, np.uint64))
    assert first[0].tolist() == [0, 1, 1, 0, 0, 1, 0, 1, 9]
    step = worlds.step(np.array([[0.0], [3.0]]))
    assert step.reward.tolist() == [-1.0, 2.0] and step.terminated.tolist() == [False, True]
    assert step.final_obs[1].tolist() == [0, 1, 1, 0, 1, 0, 0, 3, 9]
    assert step.obs[1].tolist() == first[1].tolist()
    with pytest.raises(SaddleError, match="a discrete action lies outside 0 to one less"):
        worlds.step(np.array([[4.0], [0.0]]))
    many = saddle.make("toy_environments:ManyChoices?length=10")
    assert many.spec.choices == (2, 5)
    worlds = many.worlds(1)
    worlds.reset(np.zeros(1, np.uint64))
    step = worlds.step(np.array([[1.0, 3.0]]))
    assert step.reward.tolist() == [2.0] and step.cost.tolist() == [[1.0]]


def test_vector_environments():
    task = saddle.make("toy_environments:Batch?length=6")
    worlds = task.worlds(4)
    assert worlds.processes == 1
    first = worlds.reset(np.arange(0, 400, 100, dtype=np.uint64))
    np.testing.assert_allclose(first[:, 0], [0, 0.1, 0.2, 0.3], atol=1e-6)
    actions = np.array([[1.0], [0.0], [0.0], [0.0]])
    steps = [worlds.step(actions) for _ in range(6)]
    assert [bool(step.terminated[0]) for step in steps] == [False] * 4 + [True, False]
    assert [step.truncated.tolist() for step in steps][-1] == [False, True, True, True]
    np.testing.assert_allclose(steps[4].final_obs[0], [2.5])
    assert steps[4].obs[0, 0] == np.float32(seed_of(0, 1) % 1000 / 1000)
    assert steps[4].cost[0, 0] == 2.5 and steps[4].cost[1, 0] == np.float32(0.1)


def four_steps(worlds):
    worlds.reset(np.zeros(2, np.uint64))
    for _ in range(4):
        worlds.step(np.zeros((2, 1)))


def test_vector_environments_that_begin_anew_by_themselves():
    worlds = saddle.make("toy_environments:SameStep?length=5").worlds(2)
    worlds.reset(np.array([0, 100], np.uint64))
    steps = [worlds.step(np.full((2, 1), 0.5)) for _ in range(5)]
    assert steps[-1].truncated.all() and not steps[-2].truncated.any()
    np.testing.assert_allclose(steps[-1].final_obs[:, 0], [1.25, 1.35])
    np.testing.assert_allclose(steps[-1].cost[:, 0], [1.25, 1.35])
    np.testing.assert_allclose(steps[-1].obs[:, 0], [0.25, 0.25])
    for reference, words in (
        ("toy_environments:SameStep?length=4", "nobody else can end them"),
        ("toy_environments:Deaf?length=4", "cannot begin some of its worlds alone"),
        ("toy_environments:DeafToOptions?length=4", "cannot begin some of its worlds alone"),
        ("toy_environments:Silent?length=4", "do not say when it begins"),
        ("toy_environments:fixed_batch?length=4", "steps 3 worlds at once, but 2 are wanted"),
    ):
        with pytest.raises(SaddleError, match=words):
            four_steps(saddle.make(reference).worlds(2))


@pytest.mark.parametrize("kind", ["poles", "poles_in_processes"])
def test_steps_in_which_a_vector_environment_only_begins_anew_do_not_happen(kind):
    """Gymnasium's vector environments as they are by default hold the same as their worlds do one
    by one: whoever ends begins at once, whether it fell or its time was over.
    """
    cost = "cost=terminated&length=25"
    alone = saddle.make(f"gym:CartPole-v1?{cost}").worlds(3, 1)
    together = saddle.make(f"toy_environments:{kind}?{cost}").worlds(3)
    seeds = np.array([5, 1, 8], np.uint64)
    np.testing.assert_array_equal(together.reset(seeds), alone.reset(seeds))
    draw = np.random.default_rng(2)
    fell = cut = 0
    for _ in range(80):
        actions = draw.integers(0, 2, (3, 1)).astype(np.int32)
        wanted = alone.step(actions)
        for one, other in zip(together.step(actions), wanted, strict=True):
            np.testing.assert_array_equal(one, other)
        fell += wanted.terminated.sum()
        cut += wanted.truncated.sum()
    assert fell > 3 and cut > 1
    together.close()


def test_worlds_that_would_begin_anew_twice_are_refused():
    worlds = saddle.make("toy_environments:poles_without_shared_memory?cost=terminated").worlds(2)
    with pytest.raises(SaddleError, match="without shared_memory it begins episodes"):
        worlds.reset(np.zeros(2, np.uint64))


def test_gymnasiums_own_environments():
    task = saddle.make("gym:Pendulum-v1?cost=-0&length=7")
    assert task.spec.name == "Pendulum-v1" and task.spec.episode_length == 7
    worlds = task.worlds(1)
    worlds.reset(np.array([11], np.uint64))
    import gymnasium

    env = gymnasium.make("Pendulum-v1")
    env.reset(seed=11)
    for _ in range(6):
        step = worlds.step(np.array([[0.25]]))
        obs, earned, *_ = env.step(np.array([0.5], np.float32))
        reward = float(earned)
        np.testing.assert_allclose(step.final_obs[0], obs, rtol=1e-6)
        np.testing.assert_allclose([step.reward[0], step.cost[0, 0]], [reward, -reward], rtol=1e-6)
    assert saddle.make("gym:CartPole-v1?cost=terminated").spec.choices == (2,)


def test_another_interpreter(monkeypatch):
    """Our own, given as another: it finds modules by itself, in the current folder."""
    folder = str(toys.__file__).rpartition("/")[0]
    monkeypatch.chdir(folder)
    own = saddle.make("toy_environments:Old?length=6").worlds(2, 1)
    other = saddle.make(f"toy_environments:Old?length=6&python={sys.executable}").worlds(2, 1)
    seeds = np.array([5, 6], np.uint64)
    np.testing.assert_array_equal(own.reset(seeds), other.reset(seeds))
    for _ in range(7):
        for one, same in zip(own.step(np.ones((2, 1))), other.step(np.ones((2, 1))), strict=True):
            np.testing.assert_array_equal(one, same)


@given(st.integers(0, 2**64 - 1), st.integers(0, 2**40))
def test_seeds_of_episodes_fit_every_environment(seed, episode):
    assert 0 <= seed_of(seed, episode) <= SEED_MASK
    assert seed_of(seed, 0) == seed & SEED_MASK


def test_seeds_of_episodes_differ():
    found = {seed_of(seed, episode) for seed in range(100) for episode in range(100)}
    assert len(found) > 9990  # of 10,000 draws from 2**31, 0.02 pairs are alike on average


@given(
    arrays(np.float64, (3, 2), elements=st.floats(-3, 3)),
    st.floats(-1e3, 1e3),
    st.floats(1e-3, 1e3),
)
def test_actions_are_spread_over_their_bounds(rows, low, width):
    space = toys.Box([low, -np.inf], [low + width, np.inf], dtype=np.float64)
    found = Actions(space).of(rows)
    assert (found[:, 0] >= space.low[0]).all() and (found[:, 0] <= space.high[0]).all()
    share = (found[:, 0] - low) / width
    np.testing.assert_allclose(share, (np.clip(rows[:, 0], -1, 1) + 1) / 2, atol=1e-6)
    np.testing.assert_array_equal(found[:, 1], rows[:, 1])


@given(st.data())
def test_rows_of_spaces_hold_their_values(data):
    """Flat rows are those that Gymnasium makes of the same values, entries of a Dict by name."""
    from gymnasium import spaces

    size = data.draw(st.integers(1, 3))
    space = spaces.Dict(
        {
            "box": spaces.Box(-1, 1, (size, 2)),
            "all": spaces.Tuple([spaces.Discrete(size, start=2), spaces.MultiBinary(size)]),
            "many": spaces.MultiDiscrete([2, size]),
        }
    )
    space.seed(data.draw(st.integers(0, 1000)))
    value = space.sample()
    made = flat(space, "it")
    row = np.zeros(made.size)
    made.write(value, row)
    names = sorted(space.spaces)
    parts: list = [spaces.flatten(space[name], value[name]) for name in names]
    wanted = np.concatenate(parts)
    np.testing.assert_allclose(row, wanted)
    assert (row >= made.low).all() and (row <= made.high).all()


def test_environments_of_gymnasium_end_their_processes_when_closed():
    """As `close` says there; a reset begins anew."""
    import saddle.gym

    task = "toy_environments:Drift?cost=info:cost&length=10"
    for env in (saddle.gym.make(task), saddle.gym.make_vec(task, num_envs=2)):
        env.reset(seed=0)
        worlds = env.unwrapped.worlds  # type: ignore[attr-defined]
        (process, *_) = worlds._started
        assert process._process.poll() is None
        env.close()
        assert process._process.poll() is not None and worlds._started == []


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"length": np.inf}, "the episode length is inf"),
        ({"length": np.nan}, "the episode length is nan"),
        ({"length": 2.5}, "the episode length is 2.5"),
        ({"length": True}, "the episode length is True"),
        ({"timeout": 1e7}, r"the timeout is 1e\+07; .* at most 1e\+06"),
    ],
)
def test_wrong_lengths_and_timeouts_are_one_line(options, said):
    with pytest.raises(SaddleError, match=said):
        Environment("toy_environments:Drift", **options)


def test_a_length_may_be_written_as_a_power_of_ten():
    """And is then found again by its name."""
    environment = Environment("toy_environments:Drift", length=1e3)  # type: ignore[arg-type]
    assert environment == Environment.parse(str(environment))
    assert environment.length == 1000 and type(environment.length) is int


def test_a_negative_cost_is_told_once(caplog):
    worlds = saddle.make("toy_environments:Vector?cost=reward:1&reward=0&length=10").worlds(2)
    worlds.reset(np.arange(2, dtype=np.uint64))
    for _ in range(3):
        worlds.step(np.zeros((2, 2)))
    (told,) = [record.getMessage() for record in caplog.records]
    assert "world 0, step 1: its cost 'reward_1' is -2, but costs are 0 or more" in told
