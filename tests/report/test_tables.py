"""Tables: LaTeX that is well formed, Markdown, and CSV that reads back as the findings."""

import re

import polars as pl
import pytest

from saddle.report.tables import Table, tables


def test_csv_reads_back_as_the_findings(findings, tmp_path):
    by_name = {table.name: table for table in tables(findings)}
    assert set(by_name) == {
        "aggregates",
        "comparison",
        "over_training",
        "limits",
        "recommended_limits",
        "sweep",
    }
    for table in by_name.values():
        table.write(tmp_path)
    read = pl.read_csv(tmp_path / "comparison.csv")
    cells = [cell for part in findings.tasks for cell in part.comparison]
    assert read["return_mean"].to_list() == pytest.approx([cell.return_.value for cell in cells])
    assert read["best"].to_list() == [cell.best for cell in cells]
    stars = pl.read_csv(tmp_path / "limits.csv")
    assert stars["lambda"].to_list() == [
        limit.lambda_.value for part in findings.tasks for limit in part.limits
    ]


def test_latex_rows_have_as_many_cells_as_columns(findings):
    for table in tables(findings):
        latex = table.latex()
        body = latex.split("\\midrule", 1)[1].split("\\bottomrule")[0]
        rows = [line for line in body.splitlines() if line.endswith(r"\\")]
        assert len(rows) == len(table.rows)
        assert {len(re.findall(r"(?<!\\)&", row)) for row in rows} == {len(table.columns) - 1}
        assert latex.count("{") == latex.count("}") and "%" not in re.sub(r"\\%", "", body)


def test_marks_show_in_both_formats():
    marks = ("best", "violated", "")
    table = Table(
        "t",
        "A caption.",
        ("rule",),
        (("a_b",), ("50% & more",), ("c",)),
        marks,
        pl.DataFrame({"rule": [1, 2, 3]}),
    )
    assert r"\textcolor{green!45!black}{\textbf{a\_b}}" in table.latex()
    assert r"\textcolor{red!70!black}{50\% \& more}" in table.latex()
    assert table.markdown().splitlines()[4:7] == ["| **a_b** |", "| *50% & more* |", "| c |"]
