"""The examples in the README and in docs/ run as they stand."""

import os
import re
import shlex
import sys
from pathlib import Path

import numpy as np
import own_tasks
import polars as pl
import pytest

from saddle.analysis.simulate import BEND, simulate
from saddle.cli import main
from saddle.study.store import SCHEMA
from saddle.tasks import registry

ROOT = Path(__file__).parents[1]


def examples(file, language="python"):
    text = (ROOT / file).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


ENVIRONMENTS = "docs/tutorials/environments.md"
COUNTS = {
    "README.md": 2,
    "docs/reference/tasks.md": 2,
    "docs/tutorials/own-task.md": 2,
    "docs/how-to/frontier.md": 1,
    "docs/how-to/dial.md": 1,
    "docs/how-to/logging.md": 1,
}
ALL = [
    pytest.param(text, id=f"{file}-{i}") for file in COUNTS for i, text in enumerate(examples(file))
]


def test_there_are_examples():
    assert {file: len(examples(file)) for file in COUNTS} == COUNTS


@pytest.mark.parametrize("example", ALL)
def test_example_runs(example, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(compile(example, "example", "exec"), {})


GENERATED = {"docs/reference/command-line.md", "docs/reference/python.md"}
PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "results/README.md")]
PAGES += sorted((ROOT / "docs").rglob("*.md"))


@pytest.mark.parametrize("page", [page.relative_to(ROOT).as_posix() for page in PAGES])
def test_links_lead_to_files_of_the_repository(page):
    """The docs' build checks anchors too, but not the README, and not where files lie here."""
    text = (ROOT / page).read_text(encoding="utf-8")
    paths = [link.partition("#")[0] for link in re.findall(r"\]\(([^)\s]+)\)", text)]
    local = [path for path in paths if path and "://" not in path]
    targets = {Path(os.path.normpath(Path(page).parent / path)).as_posix() for path in local}
    assert [target for target in targets - GENERATED if not (ROOT / target).exists()] == []


def first_words(text):
    """What each line of a table is about; lines that go on have nothing there."""
    return [line.partition("  ")[0] for line in text.splitlines() if line[:1].strip()]


def test_the_tutorial_of_environments_runs(tmp_path, monkeypatch, capsys):
    """Its file is written, its commands are given, and its program runs, in that order."""
    monkeypatch.setattr(registry, "_TASKS", dict(registry._TASKS))
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    kettle, deployed, program = examples(ENVIRONMENTS)
    Path("kettle.py").write_text(kettle)
    shown: list[str] = []
    for block in examples(ENVIRONMENTS, "console"):
        for line in block.splitlines():
            assert main(shlex.split(line)[1:]) == 0, line
            shown.append(capsys.readouterr().out)
    assert "next: saddle dial" in shown[-2] and Path("kettle-frontier/report.html").exists()
    assert "fresh episodes each" in shown[-1]
    (printed,) = examples(ENVIRONMENTS, "text")
    assert first_words(shown[0])[1:] == first_words(printed)[1:]
    assert shown[1].splitlines()[-1] == (
        "done: kettle-run holds metrics and policies; next: saddle evaluate kettle-run"
    )
    exec(compile(deployed, "deployed", "exec"), {})
    sys.modules.pop("kettle", None)
    ran: dict = {}
    exec(compile(program, "program", "exec"), ran)
    assert ran["first"].shape == (4, 1)
    step = ran["worlds"].step(np.zeros((4, 1)))
    assert step.cost.shape == (4, 2)


def test_the_tutorial_of_tasks_runs(tmp_path, monkeypatch, capsys):
    """Its two tasks are written into its file, and its commands are given in that order."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "my_tasks", raising=False)
    Path("my_tasks.py").write_text(own_tasks.docs_module())
    for block in examples(own_tasks.DOC, "console"):
        for line in block.splitlines():
            assert main(shlex.split(line)[1:]) == 0, line
    for written in ("frontier/report.html", "frontier/figures", "tank/policies", "tank.png"):
        assert Path(written).exists(), written
    assert "return" in capsys.readouterr().out
    sys.modules.pop("my_tasks", None)


def test_the_docs_of_the_store_are_of_its_schema():
    page = (ROOT / "docs" / "reference" / "store.md").read_text(encoding="utf-8")
    assert f"| `schema` | version of this layout, now {SCHEMA}." in page


def test_the_query_of_the_store_shows_the_sweep_alone():
    """Runs at lambda* are fixed too, at lambdas that lie between those of the sweep or a rounding
    beside them.
    """
    (query,) = examples("docs/reference/store.md", "sql")
    for table in ("metrics/*", "runs"):
        source = f"read_parquet('STUDY/{table}/*.parquet', union_by_name = true)"
        assert source in query
        query = query.replace(source, table.partition("/")[0])
    runs, metrics = simulate([BEND], np.random.default_rng(0), seeds=3, epochs=20)
    assert runs.filter(rule="fixed", stage="compare").height
    query = query.replace("m.epoch >= 1662", "m.epoch >= 19")
    shown = pl.SQLContext(runs=runs, metrics=metrics, eager=True).execute(query)
    swept = runs.filter(stage="sweep")["lambda"]
    assert sorted(shown["lambda"]) == sorted(swept.unique())
