"""Tables in a terminal: whole at every width."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from rich.text import Text

from saddle.tables import Column, print_table, table_lines
from saddle.words import counted

WORD = st.text(
    st.characters(codec="utf-8", categories=("L", "N", "P", "S")), min_size=1, max_size=30
)
CELL = st.one_of(
    st.just(""),
    st.floats(-1e6, 1e6).map(lambda value: f"{value:.3g}"),
    st.floats(-1e3, 1e3).map(lambda value: f"{value:.3g} [{value - 1:.3g}, …]"),
    st.lists(WORD, min_size=1, max_size=12).map(" ".join),
)


@st.composite
def tables(draw):
    """Columns, rows and a width."""
    count = draw(st.integers(1, 8))
    flags = draw(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=count, max_size=count))
    columns = [Column(f"name{i}", identifies=a, right=b) for i, (a, b) in enumerate(flags)]
    columns[-1] = Column("last", wraps=draw(st.booleans()))
    row = st.lists(CELL, min_size=count, max_size=count)
    return columns, draw(st.lists(row, min_size=1, max_size=5)), draw(st.integers(40, 200))


def printed(columns, rows, width, **options):
    """What a terminal of this width receives, without colours."""
    screen = Console(
        file=io.StringIO(), width=width, force_terminal=True, color_system=None, highlight=False
    )
    print_table(screen, columns, rows, **options)
    return screen.file.getvalue()  # type: ignore[attr-defined]


def words(text):
    return " ".join(text.split())


@given(tables())
def test_every_cell_is_whole_at_every_width(table):
    columns, rows, width = table
    out = printed(columns, rows, width)
    wrapped = (
        columns[-1].wraps
        and "last" in out.splitlines()[0]
        and len(out.splitlines()) > 1 + len(rows)
    )
    for row in rows:
        for cell in row[:-1] if wrapped else row:
            assert words(cell) in words(out)
        assert all(word in out for word in row[-1].split())


@given(tables())
def test_only_a_word_longer_than_the_terminal_makes_a_line_longer(table):
    columns, rows, width = table
    longest = max(len(word) for row in rows for cell in row for word in ["", *cell.split()])
    for line in table_lines(columns, rows, width):
        assert line.cell_len <= max(width, 2 * longest + len("  name0 "))


COLUMNS = (
    Column("limit", identifies=True, right=True),
    Column("rule", identifies=True),
    Column("return", right=True),
)
ROWS = [("10", "fixed", "25.8 [4.59, 25.9]"), ("25", "pid", "-3 [-11, …]")]


def test_a_wide_terminal_gets_a_line_a_row():
    assert printed(COLUMNS, ROWS, 80) == (
        "limit  rule              return\n"
        "   10  fixed  25.8 [4.59, 25.9]\n"
        "   25  pid          -3 [-11, …]\n"
    )  # fmt: skip


def test_a_narrow_terminal_gets_a_block_a_row():
    assert printed(COLUMNS, ROWS, 30, title="two rows") == (
        "two rows\n"
        "limit 10 · rule fixed\n"
        "  return 25.8 [4.59, 25.9]\n"
        "limit 25 · rule pid\n"
        "  return -3 [-11, …]\n"
    )  # fmt: skip


def test_a_file_gets_a_line_a_row_however_wide():
    file = io.StringIO()
    print_table(Console(file=file, width=30, highlight=False), COLUMNS, ROWS)
    assert [len(line) for line in file.getvalue().splitlines()] == [31, 31, 31]


def test_sentences_go_on_below_within_their_column():
    columns = (Column("task", identifies=True), Column("a step costs 1", wraps=True))
    rows = [("Goal1", "while the robot touches a hazard, however many of them at once")]
    assert printed(columns, rows, 45) == (
        "task   a step costs 1\n"
        "Goal1  while the robot touches a hazard,\n"
        "       however many of them at once\n"
    )  # fmt: skip


def test_colours_end_with_their_cell():
    columns = (Column(""), Column("cost"))
    rows = [(Text("best", style="green"), "25")]
    (line,) = table_lines(columns, rows, 80, heading=False)
    assert [(span.start, span.end, span.style) for span in line.spans] == [(0, 4, "green")]
    block = table_lines(columns, rows, 9)
    assert [line.plain for line in block] == ["  best", "  cost 25"]
    assert [span.style for span in block[1].spans] == []


@pytest.mark.parametrize(
    ("count", "noun", "plural", "text"),
    [
        (1, "seed", "", "1 seed"),
        (0, "seed", "", "0 seeds"),
        (1, "cell has", "cells have", "1 cell has"),
    ],
)
def test_one_of_a_thing_is_singular(count, noun, plural, text):
    assert counted(count, noun, plural) == text
