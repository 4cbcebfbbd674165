"""Tables in a terminal: a row is a line where the terminal is wide enough, and a block of lines
where it is not.

Nothing is left out and no cell is cut, at any width. Output that is not read on a terminal keeps
one row a line.
"""

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.text import Text

Content = str | Text
"""A string is plain text; what is coloured is a Text."""

Row = Sequence[Text]

GAP = "  "  # between two columns
BETWEEN = " · "  # between two entries of a block
_BLANKS = str.maketrans("\n\r\t", "   ")
_WORD = re.compile(r"\S*\[[^\[\]]{1,30}\]\S*|\S+")
LEAST_ROOM = 30  # columns that a column of sentences needs to be wrapped in its place


@dataclass(frozen=True)
class Column:
    """A column of a table."""

    name: str
    identifies: bool = False
    """Whether its cells say which row this is: a block begins with them."""
    right: bool = False
    """Set to the right, as numbers that are compared down the column are."""
    wraps: bool = False
    """Sentences, in the last column alone: where they are too long, they go on below, within the
    column.
    """
    least: int = 0
    """Characters that it takes at least, so that tables printed one after the other line up."""


def print_table(
    out: Console,
    columns: Sequence[Column],
    rows: Sequence[Sequence[Content]],
    title: str = "",
    heading: bool = True,
) -> None:
    """Print the rows, each with one cell per column; `heading` asks for the columns' names above
    them.
    """
    if title:
        out.print(Text(title, style="bold"), soft_wrap=not out.is_terminal)
    width = out.width if out.is_terminal else None
    for line in table_lines(columns, rows, width, heading):
        # Lines fit already; a word longer than the terminal must not be cut.
        out.print(line, soft_wrap=True)


def table_lines(
    columns: Sequence[Column],
    rows: Sequence[Sequence[Content]],
    width: int | None,
    heading: bool = True,
) -> list[Text]:
    """The table as lines of at most `width` characters, but for words that are longer; None: as
    wide as it takes.
    """
    texts = [list(map(_text, row)) for row in rows]
    head = [Text(column.name, style="bold") for column in columns]
    shown = [head, *texts] if heading else texts
    widths = _widths(columns, shown)
    if width is None or _total(widths) <= width:
        return [_line(columns, row, widths) for row in shown]
    lines: list[Text] = []
    room = width - _total([*widths[:-1], 0])
    if columns[-1].wraps and room >= max(LEAST_ROOM, _longest_word(shown)):
        for row in shown:
            lines += _wrapped(columns, row, [*widths[:-1], room])
    else:
        for row in texts:
            lines += _block(columns, row, width)
    return lines


def _widths(columns: Sequence[Column], rows: Sequence[Row]) -> list[int]:
    """Characters that each column takes."""
    widths = []
    for i, column in enumerate(columns):
        cells = (row[i].cell_len for row in rows)
        widths.append(max([column.least, *cells]))
    return widths


def _text(cell: Content) -> Text:
    """A text of its own on one line, whose style goes no further than its end when more is added to
    it.
    """
    plain = cell.translate(_BLANKS) if isinstance(cell, str) else cell
    return Text().append(plain)


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + len(GAP) * (len(widths) - 1)


def _longest_word(rows: Sequence[Row]) -> int:
    """Characters of the longest word in the last column."""
    words = itertools.chain.from_iterable(_words(row[-1]) for row in rows)
    return max((word.cell_len for word in words), default=0)


def _line(columns: Sequence[Column], row: Row, widths: Sequence[int]) -> Text:
    cells = []
    for column, cell, width in zip(columns, row, widths, strict=True):
        blank = Text(" " * (width - cell.cell_len))
        cells.append(blank + cell if column.right else cell + blank)
    line = Text(GAP).join(cells)
    line.rstrip()
    return line


def _wrapped(columns: Sequence[Column], row: Row, widths: Sequence[int]) -> list[Text]:
    """A row whose last cell goes on below itself."""
    empty = [Text()] * (len(columns) - 1)
    pieces = _fold(row[-1], widths[-1]) or [Text()]
    first, *more = pieces
    lines = [_line(columns, [*row[:-1], first], widths)]
    for piece in more:
        lines.append(_line(columns, [*empty, piece], widths))
    return lines


def _block(columns: Sequence[Column], row: Row, width: int) -> list[Text]:
    """A row as lines: what identifies it, and indented below that the rest, each cell after its
    column's name.
    """
    head = []
    rest = []
    for column, cell in zip(columns, row, strict=True):
        if not cell.plain.strip():
            continue
        entry = Text(f"{column.name} ") + cell if column.name else cell.copy()
        if column.identifies:
            entry.stylize("bold")
            head.append(entry)
        else:
            rest.append(entry)
    return _flow(head, width, "") + _flow(rest, width, "  ")


def _flow(entries: Sequence[Text], width: int, indent: str) -> list[Text]:
    """Entries one after the other; one that does not fit on a line begins the next, and only a
    longer one is broken.
    """
    lines: list[Text] = []
    room = width - len(indent)
    for entry in entries:
        joined = lines[-1] + BETWEEN + entry if lines else entry
        if lines and joined.cell_len <= room:
            lines[-1] = joined
        elif entry.cell_len <= room:
            lines.append(entry)
        else:
            first, *more = _fold(entry, room, later=room - 2)
            lines += [first, *(Text("  ") + piece for piece in more)]
    return [Text(indent) + line for line in lines]


def _fold(text: Text, width: int, later: int | None = None) -> list[Text]:
    """The words of a text on lines of `width` characters (`later`: of the second and following); no
    word is cut.
    """
    lines: list[Text] = []
    for word in _words(text):
        room = width if len(lines) == 1 or later is None else later
        joined = lines[-1] + " " + word if lines else word
        if lines and joined.cell_len <= room:
            lines[-1] = joined
        else:
            lines.append(word)
    return lines


def _words(text: Text) -> list[Text]:
    """The pieces between which a text may be broken; an interval, as in '3 [2, 4]', is one."""
    return [text[match.start() : match.end()] for match in _WORD.finditer(text.plain)]
