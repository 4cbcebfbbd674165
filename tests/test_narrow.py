"""What every verb with a table prints on a terminal of 80 columns: as much as in a file, and
nothing cut.
"""

import re
from collections import Counter
from pathlib import Path

import pytest
from rich.cells import cell_len
from rich.console import Console

from saddle.cli import main
from saddle.evaluation import Score
from saddle.parity import report
from saddle.parity.agreement import Agreement
from saddle.parity.tolerances import Bound
from saddle.parity.verdict import Line, Report
from saddle.study import room, view
from saddle.study.listener import EpochDone
from saddle.verbs.evaluate import print_scores

CIRCLE = str(Path(__file__).parent.parent / "results" / "circle1")
INTERVAL = re.compile(r"\[[^\[\]]*\]")
NUMBER = re.compile(r"(?<![\w.])[-+]?\d[\d.,e%x/+-]*")
NO_CELLS = {
    "left",
    "by",
}  # headings of columns that are empty in every row, which a block does not name
COLOUR = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")


@pytest.fixture
def terminal(monkeypatch):
    """From here on stdout counts as a terminal of this width."""

    def set_width(width):
        monkeypatch.setenv("FORCE_COLOR", "1")
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.setenv("COLUMNS", str(width))

    monkeypatch.delenv("FORCE_COLOR", raising=False)
    monkeypatch.delenv("COLUMNS", raising=False)
    return set_width


def whole(narrow, wide, width=80):
    """Nothing of what a file gets is missing or cut, and dots stand for open ends of intervals
    alone.
    """
    plain = COLOUR.sub("", narrow)
    assert plain != wide  # it really was laid out anew
    assert set(wide.split()) - set(plain.split()) <= NO_CELLS
    assert not Counter(NUMBER.findall(wide)) - Counter(NUMBER.findall(plain))
    assert "…" not in INTERVAL.sub("", " ".join(plain.split()))
    assert max(map(cell_len, plain.splitlines())) <= width


VERBS = [
    ("analyze", CIRCLE),
    ("compare-paper", CIRCLE),
    ("study", "show", "paper", "--no-calibrate"),
    ("study", "status", CIRCLE),
    ("tasks",),
]


@pytest.mark.parametrize(
    "words", VERBS, ids=lambda words: " ".join(words[:2]).replace(CIRCLE, "").strip()
)
@pytest.mark.parametrize("width", [80, 40])
def test_a_narrow_terminal_gets_all_that_a_file_gets(words, width, terminal, capsys, monkeypatch):
    # What is free on a busy machine changes from call to call, and the number of units with it.
    monkeypatch.setattr(room, "free", lambda: 16 * 2**30)
    assert main(words) == 0
    wide = capsys.readouterr().out
    terminal(width)
    assert main(words) == 0
    narrow = COLOUR.sub("", capsys.readouterr().out)
    if narrow == wide:
        assert max(map(cell_len, wide.splitlines())) <= width
    else:
        whole(narrow, wide, width)


def test_analyze_shows_an_open_end_and_every_limit_at_80_columns(terminal, capsys):
    terminal(80)
    assert main(["analyze", CIRCLE]) == 0
    out = COLOUR.sub("", capsys.readouterr().out)
    assert "limit 10\n" in out and "limit 25\n" in out and "limit 25 · rule pid" in out
    assert "train at (90% of seeds stay within) fixed" in " ".join(out.split())


def test_compare_paper_shows_task_limit_and_rule_of_every_row_at_80_columns(terminal, capsys):
    terminal(80)
    assert main(["compare-paper", CIRCLE]) == 0
    out = COLOUR.sub("", capsys.readouterr().out)
    for limit in (10, 25):
        for rule in ("fixed", "ga", "pid"):
            assert f"task SafetyPointCircle1-v0 · limit {limit} · rule {rule}\n" in out
    assert "8.0e6 of the published 3.5e7 env steps (23 %)" in " ".join(out.split())


def test_evaluate_at_80_columns(terminal, capsys):
    runs = ("PointCircle1-fixed-0.10000000000000002-d25-s0", "PointCircle1-pid-d25-s11")
    score = {
        "task": "t",
        "episodes": 100,
        "return_mean": -1234.567,
        "return_sd": 89.01,
        "cost_mean": 123.45,
    }
    score |= {
        "cost_sd": 23.45,
        "length_mean": 1000.0,
        "limit": 25.0,
        "violating": 0.37,
        "constraint": "cost",
        "violating_any": 0.37,
    }
    scores = [
        Score(run=run, mode=mode, **score)
        for run in runs
        for mode in ("deterministic", "stochastic")
    ]
    print_scores(scores)
    wide = capsys.readouterr().out
    terminal(80)
    print_scores(scores)
    narrow = capsys.readouterr().out
    whole(narrow, wide)
    assert f"run {runs[0]} · policy deterministic\n" in COLOUR.sub("", narrow)


def test_parity_at_80_columns(terminal, capsys):
    numbers = tuple(10.0 ** -(8 - i) for i in range(len(report.PERCENTILES)))
    bounds = (Bound(50, 1e-6), Bound(99.9, 2.5e-5))
    line = Line(
        "touching a pillar", "accelerometer", 12345, numbers, "reduced", bounds, "exact", True
    )
    agreement = Agreement("touching a pillar", "cost", 12345, 12344, 1, 0.9999)
    found = Report("SafetyPointGoal1-v0", "float32", 12345, 17, (line,), (agreement,))
    report.print_tables([found], Console(highlight=False, width=160))
    wide = capsys.readouterr().out
    terminal(80)
    report.print_tables([found], Console(highlight=False))
    narrow = capsys.readouterr().out
    whole(narrow, wide)
    assert "regime touching a pillar · quantity accelerometer (m/s²)\n" in COLOUR.sub("", narrow)


@pytest.mark.parametrize("width", [60, 80, 120])
def test_progress_of_a_study_is_whole(width, terminal, capsys):
    terminal(width)
    with view.Bars() as bars:
        bars.epoch(EpochDone("HalfCheetahVelocity-star-00", 123, 1750, ("run",) * 250, 12.3, {}))
    out = COLOUR.sub("", capsys.readouterr().out)
    assert (
        "HalfCheetahVelocity-star-00 (250 runs)" in out
        and "123/1750 epochs" in out
        and "…" not in out
    )
