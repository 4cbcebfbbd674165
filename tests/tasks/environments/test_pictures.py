"""What environments draw of themselves: the right step's, in films and on stills."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageSequence

import saddle
from saddle.cli import main
from saddle.draw.pictures import LONGEST, SHORTEST, Pictures
from saddle.tasks.gymnasium.worker.episodes import seed_of


def toy(kind, length=4):
    return f"toy_environments:{kind}?cost=info:cost&length={length}"


def played(kind, out, *words):
    return main(["play", toy(kind), "--policy", "random", "--seed", "3", "--out", str(out), *words])


def test_a_picture_is_of_the_last_step_also_where_an_episode_ended():
    world = saddle.make(toy("Paints")).pictured()
    world.reset(np.array([3], np.uint64))
    seen = [world.picture()]
    for _ in range(5):
        world.step(np.zeros((1, 2)))
        seen.append(world.picture())
    assert {picture.shape for picture in seen} == {(6, 10, 3)}
    assert [int(picture[0, 0, 0]) for picture in seen] == [0, 50, 100, 150, 200, 50]
    assert [int(picture[0, 0, 1]) for picture in seen] == [3] * 5 + [seed_of(3, 1) % 256]
    world.load(world.save())
    assert world.picture()[0, 0, 0] == 50
    world.close()


def test_worlds_are_asked_to_draw_only_where_they_are_looked_at():
    """Some open a window's worth of buffers for it."""
    task = saddle.make("toy_environments:Paints?cost=info:cost&length=4")
    worlds = task.worlds(1)
    worlds.reset(np.array([3], np.uint64))
    with pytest.raises(
        saddle.SaddleError, match="world 0, render: its render\\(\\) gives NoneType"
    ):
        worlds.picture()


def test_a_film_has_a_frame_for_each_step(tmp_path, capsys):
    assert played("Paints", tmp_path / "x.gif") == 0
    assert capsys.readouterr().out.endswith("4 env steps\n")
    with Image.open(tmp_path / "x.gif") as film:
        frames = list(ImageSequence.all_frames(film))
    assert [frame.info["duration"] for frame in frames[:-1]] == [200] * 4, "in real time"
    assert frames[0].size[0] == SHORTEST
    reds = [int(np.asarray(frame.convert("RGB"))[5, 5, 0]) for frame in frames]
    assert np.abs(np.array(reds) - [0, 50, 100, 150, 200]).max() < 10


def test_stills_show_moments_above_the_course(tmp_path):
    for kind in ("Paints", "PaintsIfCalledSo", "Drift"):
        assert played(kind, tmp_path / f"{kind}.png") == 0
    shown = {}
    for kind in ("Paints", "Drift"):
        with Image.open(tmp_path / f"{kind}.png") as still:
            assert still.size == (1920, 1440)
            shown[kind] = np.asarray(still.convert("RGB"))[250:500]
    black = {kind: int((pixels.max(-1) < 8).sum()) for kind, pixels in shown.items()}
    assert black["Paints"] > 20 * max(1, black["Drift"])


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        ("Drift", "has no scene to film and does not draw itself"),
        ("PaintsBadly", "render: its render() gives an array of float64 of shape (6, 10, 3)"),
        ("PaintsEmptiness", "gives an array of uint8 of shape (0, 10, 3), not a picture"),
        ("PaintsNothing", "world 0, render: RuntimeError: no screen"),
    ],
)
def test_why_there_is_no_film_is_one_line(kind, why, tmp_path, capsys):
    assert played(kind, tmp_path / "x.gif") == 2
    error = capsys.readouterr().err
    assert why in error and "Traceback" not in error
    assert not list(tmp_path.iterdir())


def test_a_still_does_without_pictures_that_cannot_be_had(tmp_path, capsys):
    assert played("PaintsNothing", tmp_path / "x.png") == 0
    told, wrote = capsys.readouterr().out.splitlines()
    assert told.startswith("drawn without pictures: ") and "no screen" in told
    assert wrote.startswith("wrote ") and (tmp_path / "x.png").exists()


@given(st.integers(1, 1500), st.integers(1, 1500), st.integers(0, 255))
def test_pictures_are_kept_in_a_size_for_films(width, height, grey):
    pictures = Pictures()
    for step in (0, 3):
        pictures.keep(step, np.full((height, width, 3), grey, np.uint8))
    assert (pictures[3] == grey).all() and pictures[3].dtype == np.uint8
    rows, columns, _ = pictures[0].shape
    assert pictures.size == (columns, rows)
    assert rows % 2 == columns % 2 == 0
    longer = max(rows, columns)
    assert SHORTEST <= longer <= LONGEST
    assert abs(rows / longer - height / max(width, height)) <= 2 / longer
    assert pictures.nearest(1.4) == 0 and pictures.nearest(2) == 3


def test_an_episode_of_one_step_and_a_narrow_world_have_their_captions(tmp_path, capsys):
    out = tmp_path / "x.gif"
    words = ["--steps", "1", "--policy", "random"]
    assert main(["play", toy("PaintsNarrow"), *words, "--out", str(out)]) == 0
    with Image.open(out) as film:
        assert film.size[0] == SHORTEST
        below = np.asarray(film.convert("L"))[-40:]
    assert (below < 100).any(), "words"
    assert main(["play", toy("PaintsNarrow"), *words, "--out", str(out.with_suffix(".png"))]) == 0
    assert ", 1 env steps" in capsys.readouterr().out


def test_a_study_is_no_policy_and_a_random_one_has_no_dial(tmp_path, capsys):
    (tmp_path / "manifest.json").write_text("{}")
    for words, why in (
        (["--policy", str(tmp_path)], "is a study, which may hold many policies"),
        (["--limit", "3"], "the random policy has no dial; leave --limit out"),
    ):
        assert main(["play", toy("Paints"), *words, "--out", str(tmp_path / "x.png")]) == 2
        assert why in capsys.readouterr().err
