"""What an installer, a reader of the docs and a machine without the right Python are told."""

import os
import re
import subprocess
import tomllib
from pathlib import Path

import saddle
from saddle.extras import DISTRIBUTION, install

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]


def texts():
    """All that a person may read a command in."""
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
    pages += sorted((ROOT / "docs").rglob("*.md"))
    return pages + sorted((ROOT / "src").rglob("*.py"))


def test_the_name_on_the_index_stands_in_one_place():
    assert PROJECT["name"] == DISTRIBUTION
    assert install("ray") == "pip install 'saddle-rl[ray]'"


def test_nobody_is_told_to_install_another_program():
    another = re.compile(r"saddle\[|pip install (-U )?'?saddle\b(?!-rl)")
    assert [path for path in texts() if another.search(path.read_text(encoding="utf-8"))] == []


def test_every_extra_that_a_text_names_exists():
    named = re.compile(r"(?:saddle-rl|'\.)\[(\w+)\]|install\(['\"](\w+)['\"]\)")
    found = [match for path in texts() for match in named.findall(path.read_text(encoding="utf-8"))]
    assert len(found) > 10
    assert {page or code for page, code in found} <= set(EXTRAS)


def pinned(name: str) -> dict[str, str]:
    """The versions of a file of constraints."""
    lines = (ROOT / name).read_text().splitlines()
    return dict(line.split("==") for line in lines if not line.startswith("#"))


def test_both_ends_of_the_jax_that_is_allowed_are_tested():
    (wanted,) = [line for line in PROJECT["dependencies"] if line.startswith("jax>")]
    bounds = re.fullmatch(r"jax>=([\d.]+),<0\.(\d+)", wanted)
    assert bounds is not None
    lowest, past = bounds.groups()
    newest = pinned("constraints-newest.txt")
    assert pinned("constraints.txt")["jax"] == lowest
    assert newest["jax"].split(".")[:2] == ["0", str(int(past) - 1)]
    assert newest["jaxlib"] == newest["jax"]


def test_the_package_says_that_it_has_types():
    assert (Path(saddle.__file__).parent / "py.typed").is_file()


def interpreter(folder, version):
    """A program that answers as a Python of this version would, and makes an environment of
    itself.
    """
    path = folder / f"python{version}"
    make = 'mkdir -p "$3/bin" && cp "$0" "$3/bin/python"'
    path.write_text(f'#!/bin/sh\ncase "$*" in *print*) echo {version};; *venv*) {make};; esac\n')
    path.chmod(0o755)
    return path


def make_venv(folder, python, *more):
    script = str(ROOT / "tools" / "venv.sh")
    environment = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}
    return subprocess.run(
        [script, "env", str(python), "11", *more],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
    )


def test_a_python_that_is_too_old_is_refused_before_anything_is_made(tmp_path):
    done = make_venv(tmp_path, interpreter(tmp_path, "3.9"))
    assert done.returncode == 2 and not (tmp_path / "env").exists()
    assert len(done.stderr.splitlines()) == 1
    assert "needs Python 3.11 or newer" in done.stderr and "PYTHON=python3.12" in done.stderr


def test_a_python_that_does_not_run_is_refused(tmp_path):
    done = make_venv(tmp_path, "python3.99")
    assert done.returncode == 2 and not (tmp_path / "env").exists()
    assert done.stderr.startswith("python3.99 does not run")


def test_an_environment_of_an_old_python_is_made_anew(tmp_path):
    interpreter(tmp_path, "3.9")
    subprocess.run([tmp_path / "python3.9", "-m", "venv", "env"], cwd=tmp_path, check=True)
    done = make_venv(tmp_path, interpreter(tmp_path, "3.12"))
    assert done.returncode == 0 and "env has Python 3.9" in done.stdout
    assert (tmp_path / "env" / "interpreter").read_text() == "3.12\n"


def test_an_environment_that_will_do_is_kept(tmp_path):
    assert make_venv(tmp_path, interpreter(tmp_path, "3.12")).returncode == 0
    (tmp_path / "env" / "mine").touch()
    done = make_venv(tmp_path, interpreter(tmp_path, "3.13"))
    assert (done.returncode, done.stdout) == (0, "")
    assert (tmp_path / "env" / "mine").exists()


def test_whoever_names_an_interpreter_gets_it(tmp_path):
    assert make_venv(tmp_path, interpreter(tmp_path, "3.12")).returncode == 0
    done = make_venv(tmp_path, interpreter(tmp_path, "3.13"), "same")
    assert done.returncode == 0 and "3.13 is wanted" in done.stdout
    assert (tmp_path / "env" / "interpreter").read_text() == "3.13\n"
