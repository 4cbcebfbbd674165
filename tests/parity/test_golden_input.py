"""Folders and files that are not what parity expects: one line that names the file and what to
do.
"""

from pathlib import Path

import numpy as np
import pytest

import saddle
from saddle.errors import SaddleError
from saddle.parity import golden_files
from saddle.parity.golden_files import load

TASK = "SafetyPointButton1-v0"


@pytest.fixture(scope="module")
def arrays():
    rows = load(None, (TASK,))[0]
    return {name: a if name.startswith("ep_") else a[:5] for name, a in rows.arrays.items()}


def complaint(directory, tasks=()) -> str:
    with pytest.raises(SaddleError) as caught:
        load(directory, tasks)
    message = str(caught.value)
    assert "\n" not in message
    return message


def write(directory, arrays, **changes):
    kept = {name: a for name, a in (arrays | changes).items() if a is not None}
    np.savez(directory / f"{TASK}.npz", **kept)


def test_a_good_file_loads(tmp_path, arrays):
    write(tmp_path, arrays)
    rows = load(tmp_path)[0]
    assert (rows.task, rows.rows, rows.bodies) == (TASK, 5, 4)
    assert rows.episode("ep_gremlins").shape == (5, 4, 3)


def test_extra_arrays_and_files_do_not_matter(tmp_path, arrays):
    write(tmp_path, arrays, note=np.array("made by hand"))
    (tmp_path / "notes.txt").write_text("x")
    np.savez(tmp_path / "SafetyCarGoal1-v0.npz", qpos=np.zeros(3))
    assert [rows.task for rows in load(tmp_path)] == [TASK]


def test_files_beside_a_tasks_file_have_more_of_its_rows(tmp_path, arrays):
    write(tmp_path, arrays)
    later = {name: a if name.startswith("ep_") else a[1:3] for name, a in arrays.items()}
    np.savez(tmp_path / f"{TASK}.more.npz", **later)
    rows = load(tmp_path)[0]
    one = load(None, (TASK,))[0]
    assert rows.rows == 7
    assert rows.episodes == 2 * one.episodes
    np.testing.assert_array_equal(rows["qpos"][5:], arrays["qpos"][1:3])
    np.testing.assert_array_equal(rows.episode("ep_gremlins")[5:], rows.episode("ep_gremlins")[1:3])


def test_a_damaged_file_beside_it_is_named(tmp_path, arrays):
    write(tmp_path, arrays)
    more = tmp_path / f"{TASK}.more.npz"
    more.write_bytes(b"x")
    assert str(more) in complaint(tmp_path)


def test_missing_directory(tmp_path):
    assert str(tmp_path / "nowhere") in complaint(tmp_path / "nowhere")


def test_a_file_in_place_of_a_directory(tmp_path):
    (tmp_path / "file").write_text("")
    assert "not a directory" in complaint(tmp_path / "file")


def test_no_known_task(tmp_path):
    (tmp_path / "other.npz").write_text("")
    assert f"{TASK}.npz" in complaint(tmp_path)


def test_the_rows_of_every_task_are_part_of_the_package():
    assert [rows.task for rows in load(None)] == list(golden_files.TASKS)
    package = Path(saddle.__file__).parent
    assert all(package in rows.path.parents for rows in load(None))


def test_unknown_task_suggests_the_nearest():
    assert TASK in complaint(None, ("SafetyPointButon1-v0",))


def test_a_named_task_without_file(tmp_path, arrays):
    write(tmp_path, arrays)
    message = complaint(tmp_path, ("SafetyPointGoal1-v0",))
    assert "SafetyPointGoal1-v0.npz does not exist" in message


@pytest.mark.parametrize("content", [b"", b"not a zip", b"PK\x03\x04" + b"\0" * 60])
def test_unreadable_file(tmp_path, content):
    (tmp_path / f"{TASK}.npz").write_bytes(content)
    message = complaint(tmp_path)
    assert f"{TASK}.npz" in message and "cannot be read" in message


def test_truncated_file(tmp_path, arrays):
    write(tmp_path, arrays)
    path = tmp_path / f"{TASK}.npz"
    path.write_bytes(path.read_bytes()[:-200])
    assert "cannot be read" in complaint(tmp_path)


def test_damaged_file(tmp_path, arrays):
    path = tmp_path / f"{TASK}.npz"
    np.savez_compressed(path, **arrays)
    content = bytearray(path.read_bytes())
    content[200:260] = b"\xff" * 60
    path.write_bytes(bytes(content))
    assert "cannot be read" in complaint(tmp_path)


def test_a_single_array_in_place_of_an_archive(tmp_path):
    with (tmp_path / f"{TASK}.npz").open("wb") as file:
        np.save(file, np.zeros(3))
    assert "cannot be read" in complaint(tmp_path)


def test_pickles_are_refused(tmp_path, arrays):
    write(tmp_path, arrays, reward=np.array([{}] * 5, dtype=object))
    assert "cannot be read" in complaint(tmp_path)


@pytest.mark.parametrize(
    "name", ["ep", "ep_agent", "qpos", "obs2", "contact_any", "ep_gremlins", "cost_buttons"]
)
def test_missing_array(tmp_path, arrays, name):
    write(tmp_path, arrays, **{name: None})
    assert f"has no array {name!r}" in complaint(tmp_path)


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("qpos", np.zeros((5, 30)), "expected numbers of shape [5, 31]"),
        ("reward", np.zeros(4), "expected numbers of shape [5]"),
        ("reward", np.array(["a"] * 5), "expected numbers"),
        ("ep_buttons", np.zeros((3, 4, 2)), "'ep_buttons' is float64 [3, 4, 2]"),
        ("ep_agent", np.zeros(()), "'ep_agent'"),
        ("qvel", np.full((5, 27), np.nan), "not finite"),
        ("obs2", np.full((5, 76), np.inf), "not finite"),
        ("ep", np.array([0, 0, 0, 0, 43]), "'ep' must hold integers from 0 to 42"),
        ("ep", np.array([0, 0, 0, 0, -1]), "'ep' must hold integers from 0 to 42"),
        ("ep", np.zeros(5), "'ep' must hold integers"),
        ("goal_button", np.full(5, -1), "'goal_button' must hold integers from 0 to 3"),
        ("goal_button2", np.full(5, 4), "'goal_button2' must hold integers from 0 to 3"),
        ("qpos2", np.zeros((5, 31)), "unit length"),
    ],
)
def test_foreign_values(tmp_path, arrays, name, value, words):
    write(tmp_path, arrays, **{name: value})
    message = complaint(tmp_path)
    assert words in message and f"{TASK}.npz" in message


def test_no_rows(tmp_path, arrays):
    write(tmp_path, {name: a if name.startswith("ep_") else a[:0] for name, a in arrays.items()})
    assert "no rows" in complaint(tmp_path)


def test_rows_of_another_task(tmp_path):
    source = golden_files.TRANSITIONS / "SafetyPointGoal1-v0.npz"
    (tmp_path / f"{TASK}.npz").write_bytes(source.read_bytes())
    assert f"{TASK}.npz" in complaint(tmp_path)
