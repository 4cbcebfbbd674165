"""Environments of every kind that people bring, in a module that imports nothing but NumPy.

Spaces here are not Gymnasium's but look like its: that is all that is asked of them.
"""

import os
import signal
import sys
import time
from typing import Any

import numpy as np

print("a greeting, as some packages have one")

FAULTY_SEED = 7  # of the world in which faulty environments go wrong, in its third step


class Box:
    def __init__(self, low, high, shape=None, dtype: type = np.float32):
        self.low = np.broadcast_to(np.asarray(low, dtype), shape or np.shape(low))
        self.high = np.broadcast_to(np.asarray(high, dtype), self.low.shape)
        self.shape = self.low.shape
        self.dtype = np.dtype(dtype)


class Discrete:
    def __init__(self, n, start=0):
        self.n = n
        self.start = start


class MultiDiscrete:
    dtype = np.int64

    def __init__(self, nvec):
        self.nvec = np.array(nvec)


class Dict:
    def __init__(self, spaces):
        self.spaces = spaces


class Tuple:
    def __init__(self, spaces):
        self.spaces = tuple(spaces)


class Drift:
    """A place that drifts at random and by its action; who is far from 0 pays. Savable, seeded."""

    observation_space = Box(-20.0, 20.0, (2,))
    action_space = Box([0.0, -2.0], [4.0, 2.0])
    metadata = {"render_fps": 10}  # noqa: RUF012

    def reset(self, *, seed=None, options=None):
        self.seed_used = seed
        self.draw = np.random.default_rng(seed)
        self.t = 0
        self.place = self.draw.uniform(-1, 1, 2)
        return self.observed(), {}

    def step(self, action):
        self.t += 1
        self.place = 0.9 * self.place + 0.1 * self.draw.normal(size=2) + 0.1 * action
        far = float(np.abs(self.place).max() > 0.5)
        info = {"cost": far, "action": np.array(action), "speed": abs(float(action[1]))}
        if far:
            info["was_far"] = True
        return self.observed(), float(action[0]), False, self.t >= 15, info

    def observed(self):
        return self.place.astype(np.float32)


class Paints(Drift):
    """It draws fifty times its steps, and how its seed ends, as Gymnasium's do."""

    metadata = {"render_modes": ["human", "rgb_array"], "render_fps": 5}  # noqa: RUF012

    def __init__(self, render_mode=None):
        self.render_mode = render_mode

    def render(self) -> Any:
        if self.render_mode is None:
            return None
        picture = np.zeros((6, 10, 3), np.uint8)
        picture[..., 0] = min(50 * self.t, 250)
        picture[..., 1] = (self.seed_used or 0) % 256
        return picture


class PaintsIfCalledSo(Drift):
    """As Gym's did before 0.26, with a fourth channel."""

    metadata = {"render.modes": ["human", "rgb_array"]}  # noqa: RUF012

    def render(self, mode="human"):
        assert mode == "rgb_array"
        return np.full((400, 2000, 4), self.t, np.uint8)


class PaintsBadly(Paints):
    def render(self):
        return super().render().astype(float)


class PaintsEmptiness(Paints):
    def render(self):
        return super().render()[:0]


class PaintsNarrow(Paints):
    def render(self):
        return np.repeat(super().render()[:, :1], 20, axis=0)


class PaintsNothing(Paints):
    def render(self):
        raise RuntimeError("no screen")


class Unpicklable(Drift):
    """It cannot be saved: a part of it lives where no copy reaches."""

    count = 0

    def __reduce__(self):
        raise TypeError("not me")

    def reset(self, *, seed=None, options=None):
        found = super().reset(seed=seed, options=options)
        self.callback = (one for one in ())  # generators cannot be pickled either
        return found


class WithState(Unpicklable):
    """As that, but it says what it is."""

    def get_state(self):
        return self.draw.bit_generator.state, self.t, self.place

    def set_state(self, state):
        self.draw.bit_generator.state, self.t, self.place = state


class Anew:
    """Pickled, it is made anew, as Gymnasium's EzPickle does; its attributes are all there is."""

    observation_space = Box(-1.0, 1.0, (1,))
    action_space = Box(-1.0, 1.0, (1,))

    def __reduce__(self):
        return Anew, ()

    def reset(self, seed=None):
        self.draw = np.random.default_rng(seed)
        return np.zeros(1, np.float32), {}

    def step(self, action):
        seen = self.draw.uniform(-1, 1, 1).astype(np.float32)
        return seen, float(seen[0]), False, False, {"cost": 1.0}


class Old:
    """Gym's API before 0.26: four values, and a seed of its own."""

    observation_space = Box(-1.0, 1.0, (1,))
    action_space = Box(-1.0, 1.0, (1,))
    _max_episode_steps = 6

    def seed(self, seed=None):
        self.draw = np.random.RandomState(seed)
        return [seed]

    def reset(self):
        self.t = 0
        return self.draw.uniform(-1, 1, 1).astype(np.float32)

    def step(self, action):
        self.t += 1
        early = self.t == 4 and action[0] > 0.5
        info = {"cost": 1.0}
        if self.t >= 6:
            info["TimeLimit.truncated"] = True
        return np.full(1, self.t / 10, np.float32), 1.0, early or self.t >= 6, info


class OldWrapper:
    """It takes whatever it is given, and passes it on."""

    def __init__(self):
        self.env = Old()
        self.observation_space = self.env.observation_space
        self.action_space = self.env.action_space

    def seed(self, seed=None):
        return self.env.seed(seed)

    def reset(self, **options):
        return self.env.reset(**options)

    def step(self, action):
        return self.env.step(action)


class Six(Drift):
    """Safety-Gymnasium's API."""

    def step(self, action):
        obs, reward, terminated, truncated, info = super().step(action)
        return obs, reward, info.pop("cost") * 2, terminated, truncated, info


class Vector(Drift):
    """Three rewards, and no cost."""

    def step(self, action):
        obs, _, terminated, truncated, _ = super().step(action)
        rewards = np.array([1.0, -2.0, abs(float(action[1]))])
        return obs, rewards, terminated, truncated, {"note": "none"}


class Choices:
    """Discrete actions, and observations in a Dict and a Tuple."""

    observation_space = Dict(
        {"b": Tuple([Discrete(3), Box(0.0, 9.0, (1, 2))]), "a": MultiDiscrete([2, 2])}
    )
    action_space = Discrete(4, start=-1)

    def reset(self, seed=None, options=None):
        self.last = 0
        return self.observed(), {}

    def step(self, action):
        assert type(action) is int
        self.last = action
        return self.observed(), float(action), action == 2, False, {"cost": float(action == -1)}

    def observed(self):
        pair = np.array([[self.last + 1, 9.0]])
        return {"a": np.array([1, 0]), "b": ((self.last + 1) % 3, pair)}


class ManyChoices(Choices):
    action_space = MultiDiscrete([2, 5])

    def step(self, action):
        found = super().step(int(action[1]) - 1)
        return (*found[:4], {"cost": float(action[0])})


def faulty(kind):
    """A class of environments that go wrong in that way in one world's third step."""

    class Faulty(Drift):
        def step(self, action):
            found = super().step(action)
            if self.seed_used == FAULTY_SEED and self.t == 3:
                return FAULTS[kind](self, found)
            return found

    return Faulty


def raises(env, found):
    raise ValueError("the gear broke\nand so did the chain")


def hangs(env, found):
    time.sleep(1000)


def dies(env, found):
    os.kill(os.getpid(), signal.SIGSEGV)


def leaves(env, found):
    sys.exit("enough")


def ends(env, found):
    print("a last word", file=sys.stderr)
    os._exit(3)


def not_a_number(env, found):
    return (found[0], float("nan"), *found[2:])


def infinite(env, found):
    return (np.array([0.0, np.inf], np.float32), *found[1:])


def another_shape(env, found):
    return (np.zeros(3, np.float32), *found[1:])


def no_cost(env, found):
    return (*found[:4], {"speed": 1.0, "price": 2.0})


def two_values(env, found):
    return found[:2]


def prints(env, found):
    print("the wind is up")
    os.write(1, b"and C prints too\n")
    return found


FAULTS = {
    "raises": raises,
    "hangs": hangs,
    "dies": dies,
    "leaves": leaves,
    "ends": ends,
    "not_a_number": not_a_number,
    "infinite": infinite,
    "another_shape": another_shape,
    "no_cost": no_cost,
    "two_values": two_values,
    "prints": prints,
}

Raises, Hangs, Dies, Leaves, Ends = map(faulty, ("raises", "hangs", "dies", "leaves", "ends"))
NotANumber, Infinite, AnotherShape = map(faulty, ("not_a_number", "infinite", "another_shape"))
NoCost, TwoValues, Prints = map(faulty, ("no_cost", "two_values", "prints"))


class HangsWhenTried(Drift):
    """In its first reset, which is that of the process that looks what it is."""

    def reset(self, *, seed=None, options=None):
        time.sleep(1000)


class AlwaysRaises(Drift):
    """In every world, and later than anybody tries it out."""

    def step(self, action):
        found = super().step(action)
        if (self.seed_used or 0) > 10 and self.t == 3:
            raises(self, found)
        return found


class AlwaysNaN(Drift):
    def step(self, action):
        found = super().step(action)
        if (self.seed_used or 0) > 10 and self.t == 3:
            return (np.full(2, np.nan, np.float32), *found[1:])
        return found


class Late(Drift):
    """It costs in its last step, earns millions, and leaves its space."""

    observation_space = Box([-20.0, 0.0], [20.0, 0.01])

    def step(self, action):
        obs, reward, *_ = super().step(action)
        return obs, 1e6 * reward, self.t == 5, False, {"cost": float(self.t == 5)}


class Faint(Drift):
    def step(self, action):
        obs, reward, terminated, truncated, info = super().step(action)
        return obs, 1e-6 * reward, terminated, truncated, info


class Pixels(Drift):
    """It is seen in a small picture."""

    observation_space = Dict({"camera": Box(0, 255, (8, 8, 3), np.uint8)})

    def observed(self):
        return {"camera": np.full((8, 8, 3), self.t, np.uint8)}


class Crowded(Drift):
    """Many numbers, which are no picture."""

    observation_space = Box(-20.0, 20.0, (2000,))

    def observed(self):
        return np.zeros(2000, np.float32)


class NeedsArguments(Drift):
    """It is made with a size."""

    def __init__(self, size, gain=1.0):
        self.size = size * gain


class Unseeded(Drift):
    def reset(self, *, seed=None, options=None):
        return super().reset()


class Chatters(Drift):
    """It prints half a megabyte a step."""

    def step(self, action):
        if self.seed_used == FAULTY_SEED:
            for stream in (sys.stdout, sys.stderr):
                stream.write("x" * 2**19 + "\n")
        return super().step(action)


class Slow(Drift):
    def step(self, action):
        if self.seed_used == FAULTY_SEED:
            time.sleep(0.25)
        return super().step(action)


class HangsInReset(Drift):
    def reset(self, *, seed=None, options=None):
        if seed == FAULTY_SEED:
            time.sleep(1000)
        return super().reset(seed=seed, options=options)


def far_and_fast(obs, action, reward, info):
    """Two costs of a step."""
    return float(abs(obs[0]) > 0.5), info["speed"]


def nothing():
    """It makes no environment."""
    return object()


NOT_CALLABLE = 3


class Batch:
    """A vector environment of so many worlds, that are told when to begin anew."""

    single_observation_space = Box(-9.0, 9.0, (1,))
    single_action_space = Box(-1.0, 1.0, (1,))
    observation_space = action_space = None
    metadata = {"autoreset_mode": "DISABLED"}  # noqa: RUF012

    def __init__(self, num_envs):
        self.num_envs = num_envs
        self.at = np.zeros(num_envs)

    def reset(self, seed=None, options=None):
        where = (options or {}).get("reset_mask", np.ones(self.num_envs, bool))
        self.at[where] = [one % 1000 / 1000 for one in np.array(seed)[where]]
        return self.at[:, None].astype(np.float32), {}

    def step(self, actions):
        assert actions.shape == (self.num_envs, 1)
        self.at += 0.5 * actions[:, 0]
        over = self.at > 2
        infos = {"cost": np.abs(self.at), "_cost": np.ones(self.num_envs, bool)}
        obs = self.at[:, None].astype(np.float32)
        return obs, actions[:, 0].copy(), over, np.zeros(self.num_envs, bool), infos


class SameStep(Batch):
    """One that begins anew by itself, after five steps."""

    metadata = {"autoreset_mode": "SAME_STEP"}  # noqa: RUF012

    def reset(self, seed=None, options=None):
        self.t = 0
        return super().reset(seed, options)

    def step(self, actions):
        obs, reward, _, cut, infos = super().step(actions)
        self.t += 1
        if self.t == 5:
            self.t = 0
            infos = {"final_obs": list(obs), "final_info": infos}
            self.at[:] = 0.25
            obs = self.at[:, None].astype(np.float32)
            cut = np.ones(self.num_envs, bool)
        return obs, reward, np.zeros_like(cut), cut, infos


class Deaf(Batch):
    """One that begins anew a step after an end, and all of its worlds whenever it is told to."""

    metadata = {"autoreset_mode": "NEXT_STEP"}  # noqa: RUF012

    def reset(self, seed=None, options=None):
        return super().reset(seed)


class DeafToOptions(Deaf):
    def reset(self, seed=None):
        return super().reset(seed)


class Silent(Batch):
    metadata = {}  # noqa: RUF012


def poles(num_envs):
    """Gymnasium's, which begin anew a step after an end."""
    import gymnasium

    return gymnasium.make_vec("CartPole-v1", num_envs, vectorization_mode="sync")


def poles_in_processes(num_envs):
    import gymnasium

    return gymnasium.make_vec("CartPole-v1", num_envs, vectorization_mode="async")


def poles_without_shared_memory(num_envs):
    import gymnasium

    without = {"shared_memory": False}
    return gymnasium.make_vec(
        "CartPole-v1", num_envs, vectorization_mode="async", vector_kwargs=without
    )


def fixed_batch():
    return Batch(3)
