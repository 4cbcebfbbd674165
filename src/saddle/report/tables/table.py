"""A table, its three forms as files, and how it is put together row by row."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from saddle import files

_LATEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "#": r"\#",
    "_": r"\_",
    "$": r"\$",
    "{": r"\{",
    "}": r"\}",
    "±": r"$\pm$",
    "λ": r"$\lambda$",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "…": r"\dots",
}
_EMPHASIS = {"best": "**", "violated": "*"}


@dataclass(frozen=True)
class Table:
    """One table: words to print, and the numbers behind them."""

    name: str
    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    marks: tuple[str, ...]
    """Per row: 'best', 'violated' or ''."""
    numbers: pl.DataFrame
    breaks: tuple[int, ...] = ()
    """Rows before which a thin rule separates."""

    def latex(self) -> str:
        """For a document that loads booktabs and xcolor."""
        lines = [
            "% needs \\usepackage{booktabs,xcolor}",
            f"% {self.caption}",
            f"\\begin{{tabular}}{{{'l' * len(self.columns)}}}",
            "\\toprule",
            _latex_row(map(_escape, self.columns)),
            "\\midrule",
        ]
        for i, (row, mark) in enumerate(zip(self.rows, self.marks, strict=True)):
            if i in self.breaks:
                lines.append("\\midrule")
            cells = (_colour(_escape(cell), mark) for cell in row)
            lines.append(_latex_row(cells))
        return "\n".join([*lines, "\\bottomrule", "\\end{tabular}", ""])

    def markdown(self) -> str:
        """Best rows are bold, violated ones in italics."""
        lines = [
            self.caption,
            "",
            _markdown_row(self.columns),
            "|" + "---|" * len(self.columns),
        ]
        for row, mark in zip(self.rows, self.marks, strict=True):
            cells = (_emphasise(cell.replace("|", "\\|"), mark) for cell in row)
            lines.append(_markdown_row(cells))
        return "\n".join([*lines, ""])

    def write(self, out: Path) -> list[Path]:
        """NAME.tex, NAME.md and NAME.csv."""
        texts = {
            "tex": self.latex(),
            "md": self.markdown(),
            "csv": self.numbers.write_csv(),
        }
        written = []
        for ending, text in texts.items():
            file = out / f"{self.name}.{ending}"
            files.write(file, text.encode(), files.AGAIN)
            written.append(file)
        return written


@dataclass
class Draft:
    """A table that grows row by row."""

    name: str
    caption: str
    columns: tuple[str, ...]
    _rows: list[tuple[str, ...]] = field(default_factory=list)
    _marks: list[str] = field(default_factory=list)
    _numbers: list[Mapping[str, Any]] = field(default_factory=list)
    _breaks: list[int] = field(default_factory=list)

    def separate(self) -> None:
        """A thin rule between the rows so far, if there are any, and those that come."""
        if self._rows:
            self._breaks.append(len(self._rows))

    def add(self, row: tuple[str, ...], numbers: Mapping[str, Any], mark: str = "") -> None:
        """A row: its words, and the numbers behind them by their column in CSV."""
        self._rows.append(row)
        self._numbers.append(numbers)
        self._marks.append(mark)

    def table(self) -> Table:
        """The table as it is now."""
        return Table(
            name=self.name,
            caption=self.caption,
            columns=self.columns,
            rows=tuple(self._rows),
            marks=tuple(self._marks),
            numbers=pl.DataFrame(self._numbers, infer_schema_length=None),
            breaks=tuple(self._breaks),
        )


def _latex_row(cells: Iterable[str]) -> str:
    return " & ".join(cells) + r" \\"


def _markdown_row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _escape(text: str) -> str:
    return "".join(_LATEX.get(letter, letter) for letter in text)


def _colour(text: str, mark: str) -> str:
    if not text or not mark:
        return text
    if mark == "best":
        return f"\\textcolor{{green!45!black}}{{\\textbf{{{text}}}}}"
    return f"\\textcolor{{red!70!black}}{{{text}}}"


def _emphasise(text: str, mark: str) -> str:
    if not text:
        return text
    stars = _EMPHASIS.get(mark, "")
    return f"{stars}{text}{stars}"
