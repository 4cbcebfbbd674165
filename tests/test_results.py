"""The results that ship: whole, made by the study files beside them, and quoted correctly."""

import json
from pathlib import Path

import pytest

from saddle import policies
from saddle.cli import main
from saddle.study import open_study
from saddle.study.prepare import plan_of
from saddle.study.toml import read_file

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "results"
STUDIES = ("circle1", "precision-tf32")
POLICIES = sorted(path.name for path in (RESULTS / "policies").iterdir())


@pytest.mark.parametrize("name", STUDIES)
def test_every_run_is_there_to_its_last_epoch(name):
    study = open_study(RESULTS / name)
    plan = plan_of(study)
    assert plan == read_file(RESULTS / f"{name}.toml")
    assert set(study.runs["status"]) == {"done"}
    assert study.metrics.height == study.runs.height * plan.epochs


def test_the_published_table_beside_ours_is_quoted_correctly(capsys):
    assert main(["compare-paper", str(RESULTS / "circle1"), "--json"]) == 0
    text = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
    cells = json.loads(capsys.readouterr().out)["cells"]
    assert len(cells) == 6
    for cell in cells:
        for key in ("return", "cost"):
            assert f"| {cell[key]:.2f} ± {cell[f'{key}_sd']:.2f} |" in text


@pytest.mark.parametrize("name", POLICIES)
def test_policies_are_small_and_whole(name):
    folder = RESULTS / "policies" / name
    assert sum(file.stat().st_size for file in folder.iterdir()) < 3 * 2**20
    assert policies.gaussian(folder).task == "SafetyPointCircle1-v0"
    assert f"`{name}`" in (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
