"""The verbs, on a study directory as the store reads it."""

import contextlib
import json
from types import SimpleNamespace

import numpy as np
import pytest

import saddle
from saddle import console
from saddle.analysis.simulate import LINE, Truth, simulate
from saddle.cli import main

GOAL = Truth("SafetyPointGoal1-v0", LINE.cost, LINE.gain, (30.0, 25.0))


@pytest.fixture
def opened(monkeypatch):
    """`saddle.open_study` gives a simulated study; the verbs use its tables alone."""
    runs, metrics = simulate([GOAL], np.random.default_rng(0), seeds=3)
    tables = {"runs": runs, "metrics": metrics, "scan_metrics": metrics.lazy}
    study = SimpleNamespace(**tables, manifest={}, reading=contextlib.nullcontext)
    paths = []
    monkeypatch.setattr(
        saddle, "open_study", lambda path: paths.append(str(path)) or study, raising=False
    )
    return paths


def test_analyze_prints_json_with_the_wanted_limits(opened, capsys):
    assert main(["analyze", "a-study", "--limit", "35", "45", "--limit", "1", "--json"]) == 0
    (part,) = json.loads(capsys.readouterr().out)["tasks"]
    assert [limit["limit"] for limit in part["limits"]] == [1.0, 35.0, 45.0]
    assert opened == ["a-study"]


def test_analyze_prints_words(opened, capsys):
    assert main(["analyze", "a-study", "--limit", "1"]) == 0
    out = capsys.readouterr().out
    assert "SafetyPointGoal1-v0" in out and "not reachable" in out and "recommended limit" in out


def test_a_sentence_stays_on_one_line_of_a_file(opened, capsys, monkeypatch):
    monkeypatch.setattr(console, "WIDTH_OF_A_FILE", 60)
    assert main(["analyze", "a-study"]) == 0
    regimes = [
        line for line in capsys.readouterr().out.splitlines() if "a unit of cost buys" in line
    ]
    assert regimes and all("; normalised slope " in line for line in regimes)


def test_a_limit_below_zero_is_refused(opened, capsys):
    assert main(["analyze", "a-study", "--limit", "-1"]) == 2
    assert "limits are finite and 0 or more" in capsys.readouterr().err


def test_compare_paper_finds_the_cells_in_common(opened, capsys):
    assert main(["compare-paper", "a-study", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {(cell["limit"], cell["rule"]) for cell in found["cells"]} == {
        (10.0, "fixed"),
        *((25.0, rule) for rule in ("fixed", "ga", "pid")),
    }
    assert "4 of the 48 published cells are in this study." in found["notes"]
    assert found["overall"]["values"] == 8
    assert main(["compare-paper", "a-study"]) == 0
    assert "published" in capsys.readouterr().out


def test_compare_paper_takes_lambda_star_as_published_and_from_another_study(opened, capsys):
    """At limit 25 the runs at lambda*; as published the nearest of all, which a note names."""
    assert main(["compare-paper", "a-study", "--json"]) == 0
    usual = json.loads(capsys.readouterr().out)
    words = ["compare-paper", "a-study", "--published", "--sweep", "another", "--json"]
    assert main(words) == 0
    published = json.loads(capsys.readouterr().out)
    assert set(opened) == {"a-study", "another"}
    for found in (usual, published):
        fixed = {cell["limit"]: cell for cell in found["cells"] if cell["rule"] == "fixed"}
        assert set(fixed) == {10.0, 25.0} and all(cell["lambda"] > 0 for cell in fixed.values())
        assert any("Fixed lambda* of SafetyPointGoal1-v0 at limit 10" in n for n in found["notes"])
    assert not any("at limit 25" in note for note in usual["notes"])


def test_figures_writes_files(opened, capsys, tmp_path, monkeypatch):
    from saddle.report import write

    monkeypatch.setattr(
        write, "drawings", lambda findings, curves: iter(())
    )  # drawing is tested beside the figures
    assert main(["figures", "a-study", "--out", str(tmp_path)]) == 0
    assert "files in" in capsys.readouterr().out and (tmp_path / "comparison.tex").is_file()
