"""What an installer, a reader of the docs and a machine without the right Python are told."""

import os
import re
import subprocess
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml
from hatchling.builders.sdist import SdistBuilder
from hatchling.builders.wheel import WheelBuilder

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


LARGEST = 8  # MB, of what is uploaded


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The wheel and the source archive: each with the names of the files in it."""
    out = str(tmp_path_factory.mktemp("dist"))
    (wheel,) = WheelBuilder(str(ROOT)).build(directory=out, versions=["standard"])
    (archive,) = SdistBuilder(str(ROOT)).build(directory=out, versions=["standard"])
    with zipfile.ZipFile(wheel) as packed:
        in_wheel = packed.namelist()
    with tarfile.open(archive) as packed:
        in_archive = [name.partition("/")[2] for name in packed.getnames()]
    return {"wheel": (Path(wheel), in_wheel), "archive": (Path(archive), in_archive)}


@pytest.mark.parametrize("kind", ["wheel", "archive"])
def test_what_is_uploaded_is_small(built, kind):
    file, _ = built[kind]
    assert file.stat().st_size < LARGEST * 1e6


def test_what_is_uploaded_has_the_package_and_nothing_of_the_tests(built):
    _, in_wheel = built["wheel"]
    _, in_archive = built["archive"]
    sources = {path.relative_to(ROOT / "src").as_posix() for path in ROOT.glob("src/**/*.py")}
    assert sources | {"saddle/py.typed"} <= set(in_wheel)
    assert {f"src/{name}" for name in sources} | {"README.md", "LICENSE"} <= set(in_archive)
    assert {name.partition("/")[0] for name in in_wheel} == {
        "saddle",
        f"saddle_rl-{saddle.__version__}.dist-info",
    }
    tops = {name.partition("/")[0] for name in in_archive}
    assert not tops & {"tests", "results", "docs", "benchmarks", ".github"}


def minors():
    """The minor versions of Python 3 that the classifiers name."""
    named = [re.fullmatch(r".*Python :: 3\.(\d+)", line) for line in PROJECT["classifiers"]]
    return [int(match[1]) for match in named if match]


def test_every_python_that_is_promised_is_tested_and_described():
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "test.yml").read_text())
    (job,) = workflow["jobs"].values()
    assert job["strategy"]["matrix"]["python"] == [f"3.{minor}" for minor in minors()]
    commands = [step["run"].split()[:2] for step in job["steps"][-2:]]
    assert commands == [["make", "test"], ["make", "slow"]]
    assert PROJECT["requires-python"] == f">=3.{minors()[0]}"
    page = (ROOT / "docs" / "how-to" / "install.md").read_text(encoding="utf-8")
    table = page[page.index("## Python") :]
    assert {f"3.{minor}" for minor in minors()} <= set(re.findall(r"3\.\d+", table))


def test_every_extra_is_described():
    page = (ROOT / "docs" / "how-to" / "install.md").read_text(encoding="utf-8")
    table = page[page.index("## Extras") : page.index("## What the package")]
    rows = re.findall(r"^\| (`.*?) \|", table, re.MULTILINE)
    assert {name for row in rows for name in re.findall(r"`(\w+)`", row)} == set(EXTRAS)


def test_the_citation_is_of_this_version():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert (cited["version"], cited["license"]) == (saddle.__version__, PROJECT["license"])
    assert {"cff-version", "message", "title", "authors"} <= set(cited)


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
