"""Pictures: that things are drawn where they are, and that the files are what their names say."""

import json
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from PIL import Image

from saddle import tasks
from saddle.draw import Canvas, Episode, film, looks, record, scene, still
from saddle.errors import SaddleError
from saddle.tasks.point import view as top_views
from saddle.tasks.point.layout import EXTENT
from saddle.verbs.play import WRITERS, play

CIRCLE, GOAL, BUTTON, PUSH = POINT = tasks.names()[:4]
HALF = EXTENT + scene.ROOM
SIZE = 400


def upright(x, y, yaw):
    return np.array([x, y, 0.1, np.cos(yaw / 2), 0, 0, np.sin(yaw / 2), *np.zeros(6)])


def world(name, x=0.0, y=0.0, yaw=0.0, cost=0.0, **fields) -> Any:
    """A state made by hand: what is drawn depends on these fields alone."""
    lidars = 16 * len(tasks.make(name).top_view.lidars)
    common = {
        "agent": np.array([x, y, yaw, 0, 0, 0]),
        "obs": np.zeros(12 + lidars),
        "reward": np.float32(0),
    }
    common |= {"cost": np.array([cost]), "steps": np.int32(0)}
    own = {
        CIRCLE: {},
        GOAL: {
            "goal": np.array([1.0, 1.0]),
            "hazards": np.array([[-1.0, 1.0]]),
            "vase": upright(1.0, -1.0, 0.0),
        },
        BUTTON: {
            "buttons": np.array([[1.0, 1.0], [-1.0, 1.0]]),
            "goal_button": np.int32(0),
            "hazards": np.array([[1.0, -1.0]]),
            "anchors": np.array([[-1.0, -1.0, 0.0]]),
            "gremlins": upright(-1.0, -0.65, 0.0)[None],
        },
        PUSH: {
            "goal": np.array([1.0, 1.0]),
            "hazards": np.array([[-1.0, 1.0]]),
            "pillar": np.array([-1.0, -1.0]),
            "box": upright(1.0, -1.0, 0.0),
        },
    }[name]
    if name != CIRCLE:
        own["goal_met"] = np.array(False)
    return SimpleNamespace(**common | own | fields)


def pixel(frame, x, y):
    """The colour at a place in the world."""
    column, row = SIZE * (x + HALF) / (2 * HALF), SIZE * (HALF - y) / (2 * HALF)
    return frame[int(row), int(column)].astype(int)


def hue(colour, opacity=1.0):
    """A colour of the palette over the white floor."""
    rgb = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)])
    return rgb * opacity + 255 * (1 - opacity)


def is_near(pixel, colour):
    return np.abs(pixel - colour).max() <= 3


@pytest.mark.parametrize(
    ("name", "things"),
    [
        (
            CIRCLE,
            {
                (0.0, 0.0): hue(looks.ROBOT),
                (1.4, 0.3): hue(looks.COST, 0.13),
                (0.0, 1.5): hue(looks.GOAL),
            },
        ),
        (
            GOAL,
            {
                (0.0, 0.0): hue(looks.ROBOT),
                (1.1, 1.1): hue(looks.GOAL, 0.30),
                (-1.1, 1.1): hue(looks.COST, 0.18),
                (1.05, -1.05): hue(looks.VASE, 0.95),
            },
        ),
        (
            BUTTON,
            {
                (1.05, 1.05): hue(looks.GOAL),
                (-1.05, 1.05): hue(looks.BUTTON, 0.95),
                (1.1, -1.1): hue(looks.COST, 0.18),
                (-1.05, -0.7): hue(looks.GREMLIN, 0.95),
            },
        ),
        (
            PUSH,
            {
                (1.1, 1.1): hue(looks.GOAL, 0.30),
                (-1.2, 1.2): hue(looks.COST, 0.18),
                (-1.1, -1.1): hue(looks.PILLAR),
                (1.05, -1.05): hue(looks.BOX, 0.95),
            },
        ),
    ],
)
def test_things_are_drawn_where_they_are(name, things):
    frame = Canvas(tasks.make(name), (SIZE, SIZE)).frame(world(name))
    assert frame.shape == (SIZE, SIZE, 3) and frame.dtype == np.uint8
    for place, colour in things.items():
        assert is_near(pixel(frame, *place), colour), place


def test_the_drawing_follows_the_state():
    canvas = Canvas(tasks.make(GOAL), (SIZE, SIZE))
    before = canvas.frame(world(GOAL))
    after = canvas.frame(world(GOAL, x=0.5, y=-0.5, goal=np.array([-1.0, -1.0])))
    assert is_near(pixel(after, 0.5, -0.5), hue(looks.ROBOT)) and is_near(
        pixel(after, -0.05, 0.05), hue("#ffffff")
    )
    assert is_near(pixel(after, -1.1, -1.1), hue(looks.GOAL, 0.30)) and is_near(
        pixel(after, 1.1, 1.1), 255
    )
    np.testing.assert_array_equal(canvas.frame(world(GOAL)), before)


def test_the_nose_points_ahead():
    for yaw in (0.0, np.pi / 2, np.pi, -np.pi / 2):
        frame = Canvas(tasks.make(CIRCLE), (SIZE, SIZE)).frame(world(CIRCLE, yaw=yaw))
        assert is_near(pixel(frame, 0.11 * np.cos(yaw), 0.11 * np.sin(yaw)), hue(looks.NOSE))


def test_the_box_has_four_posts_and_four_notches():
    frame = Canvas(tasks.make(PUSH), (SIZE, SIZE)).frame(world(PUSH, box=upright(0.5, -0.5, 0.0)))
    at = lambda x, y: pixel(frame, 0.5 + x, -0.5 + y)
    for x, y in ((1, 0), (0, 1), (-1, 0), (0, -1)):
        assert is_near(at(0.16 * x, 0.16 * y), hue(looks.BOX, 0.95)), "the cube"
        assert is_near(at(0.25 * x, 0.25 * y), 255), "a notch"
        assert not is_near(at(0.25 * (x + y), 0.25 * (x - y)), 255), "a post"


def test_the_box_turns_with_its_posts():
    straight = Canvas(tasks.make(PUSH), (SIZE, SIZE)).frame(world(PUSH))
    turned = Canvas(tasks.make(PUSH), (SIZE, SIZE)).frame(
        world(PUSH, box=upright(1.0, -1.0, np.pi / 4))
    )
    corner, side = (1.25, -0.75), (1.03, -1 + 0.25 * np.sqrt(2))
    assert not is_near(pixel(straight, *corner), 255) and is_near(pixel(turned, *corner), 255)
    assert is_near(pixel(straight, *side), 255) and not is_near(pixel(turned, *side), 255)


def test_yaw_of_a_tilted_body():
    q = np.array([np.cos(0.6), 0, 0, np.sin(0.6)])  # turned by 1.2 about the vertical
    tilt = np.array([np.cos(0.02), np.sin(0.02), 0, 0])  # then 0.04 about its own x
    w1, x1, y1, z1 = q
    w2, x2, y2, z2 = tilt
    both = [w1 * w2 - x1 * x2 - y1 * y2 - z1 * z2, w1 * x2 + x1 * w2 + y1 * z2 - z1 * y2]
    both += [w1 * y2 - x1 * z2 + y1 * w2 + z1 * x2, w1 * z2 + x1 * y2 - y1 * x2 + z1 * w2]
    assert top_views.yaw(np.array(both)) == pytest.approx(1.2, abs=1e-9)


def test_a_cost_shows_around_the_robot():
    canvas = Canvas(tasks.make(CIRCLE), (SIZE, SIZE))
    assert is_near(pixel(canvas.frame(world(CIRCLE)), -0.14, 0.04), 255)
    assert is_near(pixel(canvas.frame(world(CIRCLE, cost=1.0)), -0.14, 0.04), hue(looks.COST, 0.25))


def test_the_view_grows_with_a_robot_that_leaves_and_comes_back():
    canvas = Canvas(tasks.make(CIRCLE), (SIZE, SIZE))
    home = canvas.frame(world(CIRCLE))
    away = canvas.frame(world(CIRCLE, y=5.0))
    assert (np.abs(away - hue(looks.ROBOT)).max(axis=2) <= 3).any()
    np.testing.assert_array_equal(canvas.frame(world(CIRCLE)), home)


def episode(name, steps=6, **fields):
    """A short way along the x axis, paying on its second step."""
    states = [world(name, x=0.1 * t, cost=float(t == 2), **fields) for t in range(steps + 1)]
    return Episode(tasks.make(name), "scripted", 3, states)


def test_an_episode_adds_up():
    played = episode(GOAL)
    assert played.costs.sum() == 1 and played.positions.shape == (7, 2)
    assert played.goals is not None and played.goals.sum() == 0
    assert episode(CIRCLE).goals is None


@pytest.mark.parametrize("name", POINT)
def test_a_still_is_a_slide(tmp_path, name):
    still.write(episode(name), tmp_path / "x.png", lidar=True)
    with Image.open(tmp_path / "x.png") as image:
        assert image.format == "PNG" and image.size == (1920, 1440)
        pixels = np.asarray(image.convert("RGB")).astype(int)
    for colour in (looks.ROBOT, looks.COST, looks.GOAL):
        assert (np.abs(pixels - hue(colour)).max(axis=2) <= 3).sum() > 20, colour


def test_reached_goals_are_numbered_on_a_still(tmp_path):
    states = list(episode(GOAL).states)
    states[3] = world(GOAL, x=0.3, goal_met=np.array(True), goal=np.array([-1.0, -1.0]))
    figures = []
    for kept in (states[:3], states[:4]):
        still.write(Episode(tasks.make(GOAL), "scripted", 3, kept), tmp_path / "x.png")
        with Image.open(tmp_path / "x.png") as image:
            figures.append(np.asarray(image.convert("RGB")))
    assert (figures[0] != figures[1]).any()


@pytest.mark.parametrize("heading", [0.0, 0.5 * np.pi, -0.75 * np.pi])
def test_lidar_bins_are_drawn_around_the_robot(heading):
    readings = np.zeros(12 + 16)
    readings[12] = 1.0  # the first bin lies ahead, a little to the left
    states = [world(CIRCLE, yaw=heading, obs=readings)] * 2
    played = Episode(tasks.make(CIRCLE), "scripted", 3, states)
    seen, unseen = (film._Film(played, 100, lidar).frame(0) for lidar in (True, False))
    changed = np.argwhere(
        (seen != unseen).any(axis=2) & (np.abs(seen - hue(looks.GOAL)).max(axis=2) < 8)
    )
    robot = np.argwhere(np.abs(unseen[80:, :640] - hue(looks.ROBOT)).max(axis=2) <= 3).mean(
        axis=0
    ) + [80, 0]
    down, right = changed.mean(axis=0) - robot
    assert (np.arctan2(-down, right) - heading) % (2 * np.pi) == pytest.approx(np.pi / 16, abs=0.1)


def test_a_gif_has_every_other_step(tmp_path):
    film.write_gif(episode(GOAL), tmp_path / "x.gif")
    with Image.open(tmp_path / "x.gif") as image:
        assert image.format == "GIF" and image.size == (960, 720) and image.n_frames == 4  # type: ignore[attr-defined]
        assert image.info["duration"] == 40 and image.info["loop"] == 0
        first = np.asarray(image.convert("RGB"))
        image.seek(3)
        last = np.asarray(image.convert("RGB"))
        assert image.info["duration"] == 1000
    assert (first != last).any() and (first[2, 2] == 255).all()


def test_an_mp4_can_be_read_back(tmp_path):
    film.write_mp4(episode(CIRCLE), tmp_path / "x.mp4")
    command = [film.ffmpeg(), "-loglevel", "error", "-i", str(tmp_path / "x.mp4"), "-f", "rawvideo"]
    raw = subprocess.run(
        [*command, "-pix_fmt", "rgb24", "-"], capture_output=True, check=True
    ).stdout
    frames = np.frombuffer(raw, np.uint8).reshape(-1, 1080, 1440, 3)
    assert len(frames) == 3 + 25  # steps 0, 2, 4, and the last for a second
    assert (frames[0] != frames[-1]).any() and (frames[0][:10, :10] > 250).all()


def test_ffmpegs_complaint_is_passed_on(tmp_path):
    with pytest.raises(SaddleError, match="ffmpeg could not write") as caught:
        film.write_mp4(episode(CIRCLE), tmp_path / "no" / "x.mp4")
    assert "\n" not in str(caught.value)


def test_without_ffmpeg_it_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(record, "states", never)
    with pytest.raises(SaddleError, match=r"pip install 'saddle-rl\[video\]'"):
        play(CIRCLE, "scripted", tmp_path / "x.mp4")


def never(*_):
    raise AssertionError("the episode was played before the mistake was found")


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"task": "SafetyPointGaol1-v0"}, "did you mean 'SafetyPointGoal1-v0'"),
        ({"policy": "scriptd"}, "unknown policy 'scriptd'"),
        ({"out": "x.bmp"}, r"must end in \.png, \.gif, \.mp4"),
        ({"out": "x"}, "must end in"),
        ({"out": "nowhere/x.png"}, "there is no folder .*nowhere"),
        ({"out": "folder.png"}, "it is a folder"),
        ({"steps": 0}, "steps must be a whole number of at least 1, not 0"),
        ({"steps": -5}, "steps must be"),
        ({"seed": -1}, "a seed must be a whole number"),
    ],
)
def test_mistakes_are_found_before_the_episode_is_played(tmp_path, monkeypatch, change, complaint):
    monkeypatch.setattr(record, "states", never)
    (tmp_path / "folder.png").mkdir()
    given = {"task": CIRCLE, "policy": "scripted", "out": "x.png"} | change
    with pytest.raises(SaddleError, match=complaint) as caught:
        play(**given | {"out": tmp_path / given["out"]})
    assert "\n" not in str(caught.value)


def test_a_file_that_cannot_be_written_is_found_before_the_episode_is_played(tmp_path, monkeypatch):
    monkeypatch.setattr(record, "states", never)
    with pytest.raises(SaddleError, match=r"cannot write .*: File name too long"):
        play(CIRCLE, "scripted", tmp_path / f"{'x' * 300}.png")


def test_a_disk_that_fills_up_leaves_the_old_file_alone(tmp_path, monkeypatch):
    def full(_, out, __):
        out.write_bytes(b"half")
        raise OSError(28, "No space left on device")

    (tmp_path / "x.png").write_bytes(b"old")

    monkeypatch.setattr(record, "states", lambda *_: episode(CIRCLE).states)
    monkeypatch.setitem(WRITERS, ".png", full)
    with pytest.raises(SaddleError, match=r"no space left to write .*/x\.png; free some"):
        play(CIRCLE, "scripted", tmp_path / "x.png")
    assert [(file.name, file.read_bytes()) for file in tmp_path.iterdir()] == [("x.png", b"old")]


def test_only_worlds_on_a_floor_can_be_drawn():
    with pytest.raises(SaddleError, match="cannot be drawn from above"):
        Canvas(tasks.make("SafetyAntVelocity-v1"))


@pytest.mark.parametrize("policy", ["random", "scripted", "exported"])
def test_an_episode_is_played_and_drawn(tmp_path, monkeypatch, policy):
    drawn = []
    monkeypatch.setitem(WRITERS, ".png", lambda *given: drawn.append(given))
    if policy == "exported":
        policy = str(tmp_path)
        layer = {"w0": np.zeros((28, 2)), "b0": np.ones(2), "log_std": np.zeros(2)}
        np.savez(tmp_path / "policy.npz", **layer, obs_mean=np.zeros(28), obs_var=np.ones(28))
        facts = {"task": CIRCLE, "activation": "tanh", "hidden": [], "obs_clip": None}
        (tmp_path / "policy.json").write_text(json.dumps(facts))
    for seed in (1, 1, 2):
        play(CIRCLE, policy, tmp_path / "x.png", seed, steps=5, lidar=True)
    (first, out, lidar), (again, _, _), (other, _, _) = drawn
    assert len(first.states) == 6 and out.parent == tmp_path and lidar is True
    assert first.seed == 1 and first.policy == (tmp_path.name if len(policy) > 8 else policy)
    np.testing.assert_array_equal(first.positions, again.positions)
    assert np.abs(first.positions - other.positions).max() > 0.01
    assert [int(state.steps) for state in first.states] == list(range(6))


def test_it_says_what_it_wrote_and_how_the_episode_went(monkeypatch, tmp_path, capsys):
    drawn = []
    monkeypatch.setitem(WRITERS, ".png", lambda *given: drawn.append(given[0]))
    play(CIRCLE, "scripted", tmp_path / "x.png", steps=40)
    totals = f"return {drawn[0].rewards.sum():.2f}, cost {drawn[0].costs.sum():.0f}, 40 env steps"
    assert capsys.readouterr().out == f"wrote {tmp_path / 'x.png'}: {totals}\n"


def test_an_episode_stops_at_its_end(monkeypatch, tmp_path):
    drawn = []
    monkeypatch.setitem(WRITERS, ".gif", lambda *given: drawn.append(given[0]))
    play(CIRCLE, "scripted", tmp_path / "x.gif", steps=600)
    assert len(drawn[0].states) == 501 and bool(drawn[0].states[-1].truncated)


def test_the_picture_has_room_for_what_was_pushed_away():
    states = [world(PUSH), world(PUSH, box=upright(1.0, -4.0, 0.0))]
    x, y, half = Episode(tasks.make(PUSH), "scripted", 3, states).view
    assert y - half <= -4 - 0.3 and y + half >= HALF - 1e-9 and abs(x) + HALF <= half + 1e-9
