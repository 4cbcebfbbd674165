"""The velocity tasks as Gymnasium environments: seeds, infos, ends, vectors, pictures."""

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import saddle.gym
from saddle.draw import camera
from saddle.draw.camera import Camera
from saddle.errors import SaddleError
from saddle.gym.native import NativeEnv, NativeVectorEnv
from saddle.parity.golden_files import load
from saddle.tasks.velocity.bodies import BODIES
from saddle.verbs.play import play

HOPPER, WALKER, CHEETAH, ANT = BODIES
KEYS = {
    HOPPER: {"x_position", "x_velocity"},
    WALKER: {"x_position", "x_velocity"},
    CHEETAH: {"x_position", "x_velocity", "reward_run", "reward_ctrl"},
    ANT: {
        "reward_forward",
        "reward_ctrl",
        "reward_survive",
        "x_position",
        "y_position",
        "distance_from_origin",
    }
    | {"x_velocity", "y_velocity", "forward_reward"},
}


@pytest.fixture
def gl():
    """Skip where nothing can be drawn."""
    try:
        Camera(BODIES[HOPPER], (16, 16)).close()
    except SaddleError as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("name", BODIES)
def test_a_reference_row_through_the_environment(name):
    rows, env = load(None, (name,))[0], NativeEnv(name)
    env.reset(seed=0)
    k = env.worlds.body.travels
    for row in (0, 100, 200):
        before = [rows[what][row : row + 1] for what in ("qpos", "qvel", "xpos_torso", "step")]
        seen = before[2][:, :k] if name == ANT else before[0][:, :k]
        env.worlds.place(before[0], before[1], seen, before[3].astype(int))
        env._ended = False
        obs, reward, terminated, truncated, info = env.step(rows["action"][row])
        np.testing.assert_allclose(obs, rows["obs2"][row], atol=1e-9)
        assert obs.dtype == np.float64 and reward == pytest.approx(rows["reward"][row], abs=1e-6)
        assert (terminated, truncated) == (rows["terminated"][row], rows["truncated"][row])
        assert set(info) == KEYS[name] | {"cost"} and info["cost"] == rows["cost"][row]
        assert info["x_velocity"] == pytest.approx(rows["x_velocity"][row], abs=1e-9)
        where = rows["xpos_torso2"][row] if name == ANT else rows["qpos2"][row]
        assert info["x_position"] == pytest.approx(where[0], abs=1e-9)
        if name == ANT:
            assert info["distance_from_origin"] == pytest.approx(np.hypot(*where[:2]))
            work = np.sum(np.square(rows["action"][row]))
            assert (
                info["reward_ctrl"] == pytest.approx(-0.5 * work, abs=1e-5)
                and info["reward_survive"] == 1
            )


@pytest.mark.filterwarnings("ignore:.*A Box observation space (minimum|maximum) value:UserWarning")
@pytest.mark.parametrize("name", BODIES)
def test_gymnasiums_checker_complains_of_nothing_but_the_references_unbounded_space(name):
    check_env(gymnasium.make(f"saddle.gym:saddle/{name}").unwrapped)


def test_seeds():
    env = gymnasium.make("saddle.gym:saddle/" + HOPPER).unwrapped
    first, _ = env.reset(seed=5)
    second, _ = env.reset()
    assert (first != second).any()
    np.testing.assert_array_equal(env.reset(seed=5)[0], first)
    np.testing.assert_array_equal(env.reset()[0], second)
    assert (NativeEnv(HOPPER).reset()[0] != NativeEnv(HOPPER).reset()[0]).any()
    with pytest.raises(SaddleError, match="a seed must be"):
        env.reset(seed=-1)


def test_an_ended_episode_wants_a_reset():
    env = saddle.gym.make_safe(HOPPER)
    env.reset(seed=0)
    env.worlds.qpos[0, 1] = 0.5  # type: ignore[union-attr]
    *_, cost, terminated, _, info = env.step(np.zeros(3))
    assert terminated and cost in (0, 1) and "cost" not in info
    with pytest.raises(SaddleError, match="call reset"):
        env.step(np.zeros(3))


def test_many_worlds_are_single_worlds_side_by_side():
    worlds = gymnasium.make_vec(
        "saddle.gym:saddle/" + HOPPER, num_envs=3, max_episode_steps=9, threads=2
    )
    singles = [NativeEnv(HOPPER) for _ in range(3)]
    obs, _ = worlds.reset(seed=10)
    np.testing.assert_array_equal(obs, [env.reset(seed=10 + i)[0] for i, env in enumerate(singles)])
    draw = np.random.default_rng(0)
    for step in range(1, 10):
        actions = draw.uniform(-1, 1, (3, 3)).astype(np.float32)
        obs, reward, terminated, truncated, infos = worlds.step(actions)
        ones = [env.step(action) for env, action in zip(singles, actions, strict=True)]
        np.testing.assert_array_equal(reward, [one[1] for one in ones])
        np.testing.assert_array_equal(infos["cost"], [one[4]["cost"] for one in ones])
        final = infos["final_obs"] if step == 9 else obs
        np.testing.assert_array_equal(np.stack(list(final)), [one[0] for one in ones])
    assert truncated.all() and not terminated.any()
    np.testing.assert_array_equal(obs, [env.reset()[0] for env in singles])
    six = saddle.gym.make_safe_vec(HOPPER, 2)
    six.reset(seed=[3, 4])
    assert len(six.step(np.zeros((2, 3)))) == 6
    with pytest.raises(SaddleError, match="2 worlds but 3 seeds"):
        six.reset(seed=[1, 2, 3])


def test_a_broken_world_is_reported(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # MuJoCo writes a log file
    env = NativeVectorEnv(CHEETAH, 2)
    env.reset(seed=0)
    env.worlds.qvel[1] = np.nan
    obs, _, terminated, _, infos = env.step(np.zeros((2, 6)))
    assert list(infos["diverged"]) == [False, True] == list(terminated) and np.isfinite(obs).all()


@pytest.mark.usefixtures("gl")
@pytest.mark.parametrize("name", [WALKER, ANT])
def test_frames_show_the_body(name):
    env = NativeEnv(name, render_mode="rgb_array", width=120, height=90)
    env.reset(seed=0)
    before = env.render()
    env.worlds.qpos[0, 2] += 0.5
    after = env.render()
    env.close()
    assert (
        before is not None
        and after is not None
        and before.shape == (90, 120, 3)
        and before.dtype == np.uint8
    )
    changed = (before != after).any(axis=2).mean()
    assert 0.005 < changed < 0.9 and before.std() > 5


@pytest.mark.usefixtures("gl")
@pytest.mark.parametrize("ending", ["png", "gif"])
def test_an_episode_as_a_picture(tmp_path, ending):
    from PIL import Image

    play(HOPPER, None, tmp_path / f"x.{ending}", seed=1, steps=7)
    with Image.open(tmp_path / f"x.{ending}") as picture:
        assert picture.size == ((1920, 1440) if ending == "png" else (960, 720))
        assert getattr(picture, "n_frames", 1) == (1 if ending == "png" else 3)


def test_without_gl_the_message_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setenv("MUJOCO_GL", "disable")
    with pytest.raises(
        SaddleError, match=r"cannot draw on this machine .*libegl1.*doctor"
    ) as caught:
        play(HOPPER, "random", tmp_path / "x.png", steps=3)
    assert "\n" not in str(caught.value) and list(tmp_path.iterdir()) == []


def test_what_cannot_be_played_is_said_first(tmp_path):
    with pytest.raises(SaddleError, match="no scripted policy"):
        play(HOPPER, "scripted", tmp_path / "x.png")
    with pytest.raises(SaddleError, match="no lidar"):
        play(HOPPER, None, tmp_path / "x.png", lidar=True)
    with pytest.raises(SaddleError, match="too large"):
        Camera(BODIES[HOPPER], (camera.LARGEST[0] + 1, 10))
