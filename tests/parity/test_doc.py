"""docs/explanation/parity.md holds the tables that the command prints today, line by line; the
numbers may be older.
"""

from pathlib import Path

import pytest

from saddle.parity import regimes, tolerances
from saddle.parity.tolerances import POINT

PAGE = (Path(__file__).parents[2] / "docs" / "explanation" / "parity.md").read_text(
    encoding="utf-8"
)


@pytest.mark.parametrize("task", POINT)
def test_every_criterion_is_in_the_table(task):
    section = PAGE.split(f"### {task}", 1)[1].split("###", 1)[0]
    for criterion in tolerances.CRITERIA:
        if task in criterion.tasks:
            assert f"| {criterion.regime} | {criterion.quantity}" in section
            for bound in criterion.exact:
                assert f"{bound.percentile:g} % ≤ {bound.limit:g}" in section


def test_every_regime_is_explained():
    for regime, meaning in regimes.MEANING.items():
        assert f"| {regime} | {meaning} |" in PAGE


def test_nothing_claimed_fails():
    assert "FAIL" not in PAGE
