"""Parquet files by their own names, whatever these look like."""

import io
from collections.abc import Sequence
from pathlib import Path

import polars as pl

_MAGIC = b"PAR1"  # begins and ends every Parquet file


def scan(files: Sequence[Path]) -> pl.LazyFrame:
    """The rows of Parquet files, lazily."""
    # Polars takes a name with brackets for a pattern, and `file:x` or `~` for another place
    return pl.scan_parquet([file.absolute() for file in files], glob=False)


def columns_of(file: Path) -> tuple[str, ...]:
    """The names of a Parquet file's columns."""
    return tuple(pl.read_parquet_schema(file.absolute()))


def ends_well(file: Path) -> bool:
    """Whether a Parquet file has its beginning and its end."""
    try:
        with file.open("rb") as data:
            begins = data.read(len(_MAGIC)) == _MAGIC
            data.seek(-min(len(_MAGIC), file.stat().st_size), io.SEEK_END)
            return begins and data.read() == _MAGIC
    except FileNotFoundError:
        return True  # a running unit has just replaced it
