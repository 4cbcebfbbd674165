"""A study's directory, as it is read: see docs/reference/store.md for what lies where."""

from __future__ import annotations

import contextlib
import difflib
import io
import re
import shlex
from collections.abc import Iterator, Sequence
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from saddle.arguments import of_kind, path_of
from saddle.errors import RESUMED, SaddleError, first_line
from saddle.files import read_json
from saddle.study.columns import METRICS, runs_frame
from saddle.study.parquet import columns_of, ends_well, scan

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from saddle.policies import Policy

# Of the directory; a change that old readers would misread raises it (1: settings under "ppo")
SCHEMA = 2
MANIFEST = "manifest.json"
_CHUNK = re.compile(r"(\d{8})-(\d{8})\.parquet")


def open_study(path: Path | str) -> Study:
    """The study in this directory, for reading; it may still be growing."""
    return Study(path_of("study", path, "the directory of one"))


class Study:
    """A study's tables and policies. Every access reads what is on disk at that moment."""

    def __init__(self, path: Path) -> None:
        self.path = path
        _ = self.manifest  # says at once that this is no study, or one of a newer Saddle

    def __repr__(self) -> str:
        return f"Study({str(self.path)!r}: {self.manifest['name']})"

    def _repr_html_(self) -> str:
        """As a notebook shows it: where it is, and how its runs stand."""
        stand = self.runs.group_by("task", "algorithm", "rule", "status").len("runs").sort(pl.all())
        title = f"<b>{escape(self.manifest['name'])}</b> in {escape(str(self.path))}"
        return f"<div><p>{title}</p>{stand._repr_html_()}</div>"

    def plot_frontier(self, *, ax: Axes | None = None, **task: Any) -> Axes:
        """Draw the frontier of the study's task, or of the one that `Findings.task` finds by what
        else is given, into the axes, or else into new ones; returns them. `saddle.plot` draws more.
        """
        from saddle import plot
        from saddle.analysis import Options
        from saddle.analysis.from_store import analyze_store

        findings = analyze_store(self.path, Options())
        return plot.frontier(findings.task(**task), ax=ax)

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """What the study is: plan, versions, git revision, hardware, precision."""
        return read_manifest(self.path)

    @property
    def runs(self) -> pl.DataFrame:
        """One row per run, sorted by unit and then as planned."""
        frames = [self.unit_runs(unit) for unit in self.units()]
        return pl.concat(frames, how="diagonal") if frames else runs_frame([])

    @property
    def metrics(self) -> pl.DataFrame:
        """One row per run and epoch, sorted. At full size this is half a gigabyte: prefer
        `scan_metrics`.
        """
        with self.reading():
            return self.scan_metrics().collect().sort("run", "epoch")

    def scan_metrics(self) -> pl.LazyFrame:
        """The metrics as a lazy frame: select and filter before collecting, and only that is
        read.
        """
        alike: dict[tuple[str, ...], list[Path]] = {}  # units of one program have the same columns
        for unit in self.units():
            for columns, files in self._by_columns(self.chunk_files(unit)).items():
                alike.setdefault(columns, []).extend(files)
        if not alike:
            return pl.LazyFrame(schema=METRICS)
        frames = [scan(files) for files in alike.values()]
        return pl.concat(frames, how="diagonal")

    def _by_columns(self, files: list[Path]) -> dict[tuple[str, ...], list[Path]]:
        """A unit's files by what columns they have: the same in all, unless a later Saddle, which
        logs more, went on with it.
        """
        found: dict[tuple[str, ...], list[Path]] = {}
        with self.reading():
            ends = {columns_of(file) for file in {*files[:1], *files[-1:]}}
            if len(ends) == 1:
                return {ends.pop(): files}
            for file in files:
                found.setdefault(columns_of(file), []).append(file)
        return found

    @contextlib.contextmanager
    def reading(self) -> Iterator[None]:
        """A context around reading the tables: a damaged file is named there, with what to do about
        it.
        """
        try:
            yield
        except pl.exceptions.PolarsError as error:
            for file in self._tables():
                with contextlib.suppress(FileNotFoundError):
                    self._check(file)
            raise error  # no file's fault

    def damage(self) -> list[str]:
        """What to do about each file that is missing, and each metrics file that is not whole, as a
        look at its size and end tells.
        """
        found = self.lost_units()
        for unit in self.units():
            begun = self.progress(unit).get("epoch", 0) > 0
            if begun and not self.chunk_files(unit):
                missing = self.path / "metrics" / unit
                found.append(self._remedy(missing / "*", "nothing is there any more"))
            torn = [file for file in self.chunk_files(unit) if not ends_well(file)]
            found += [self._remedy(file, "it is not whole") for file in torn]
        return found

    def lost_units(self) -> list[str]:
        """What to do about each unit that was begun and has lost its rows of the runs table."""
        begun = {file.stem for file in (self.path / "units").glob("*.json")}
        lost = sorted(begun - set(self.units()))
        return [
            self._remedy(self.path / "runs" / f"{unit}.parquet", "it is missing") for unit in lost
        ]

    def unit_runs(self, unit: str) -> pl.DataFrame:
        """The unit's rows of the runs table."""
        file = self.path / "runs" / f"{unit}.parquet"
        try:
            return pl.read_parquet(io.BytesIO(file.read_bytes()))
        except pl.exceptions.PolarsError as error:
            raise SaddleError(self._remedy(file, first_line(error))) from None
        except OSError as error:
            raise SaddleError(f"cannot read {file}: {error.strerror or error}") from None

    def _tables(self) -> Iterator[Path]:
        for unit in self.units():
            yield self.path / "runs" / f"{unit}.parquet"
            yield from self.chunk_files(unit)

    def _check(self, file: Path) -> None:
        """Raise unless all of the file can be read."""
        try:
            pl.read_parquet(io.BytesIO(file.read_bytes()))
        except pl.exceptions.PolarsError as error:
            raise SaddleError(self._remedy(file, first_line(error))) from None

    def _remedy(self, file: Path, why: str) -> str:
        """One line: the file, what is wrong with it, and what to do."""
        said = f"{file} is damaged ({why}); restore it from a copy"
        planned = "stages" in self.manifest.get("plan", {})
        if not planned:
            return f"{said}, or import or merge the study anew"
        if file.parent.name == "runs":
            return f"{said}, or run the study anew in another directory"
        return (
            f"{said}, or compute its unit again: {self.forget(file.parent.name)}, then run it with "
            f"{RESUMED}"
        )

    def forget(self, unit: str) -> str:
        """The command after which a resumed study computes a unit from its start."""
        parts = [self.path / "metrics" / unit, self.path / "units" / f"{unit}.json"]
        checkpoints = self.path / "checkpoints" / f"{unit}.safetensors"
        return f"rm -rf {shlex.join(map(str, parts))} {shlex.quote(str(checkpoints))}*"

    def units(self) -> list[str]:
        """Names of the units, sorted."""
        return sorted(file.stem for file in (self.path / "runs").glob("*.parquet"))

    def chunk_files(self, unit: str) -> list[Path]:
        """The unit's metrics files in the order of their epochs, no epoch twice."""
        covered, files = 0, []
        for start, stop, file in sorted(chunks(self.path, unit)):
            if start >= covered:
                covered = stop
                files.append(file)
        return files

    def progress(self, unit: str) -> dict[str, Any]:
        """The unit's `state` (running, stopped, done, failed), epochs done and in all, seconds; {}
        before its start.
        """
        return read_json(self.path / "units" / f"{unit}.json")

    @property
    def finished(self) -> bool:
        """Whether every unit has come to its end; runs may have failed on the way."""
        return all(self.progress(unit).get("state") == "done" for unit in self.units())

    def policy(self, run: str, multiplier: float | Sequence[float] | None = None) -> Policy:
        """The final policy of a run: a function from an observation to an action. `multiplier` is
        where to set its dial, if it has one: for all constraints, or one for each.
        """
        from saddle import policies

        return policies.load(self.trained_policy(run), lam=multiplier)

    def trained_policy(self, run: str) -> Path:
        """The folder of the run's final policy; an error says why there is none."""
        of_kind("run", run, str, "the name of one")
        folder = self.policy_folder(run)
        if not folder.is_dir():
            raise SaddleError(self._no_policy(run))
        return folder

    def _no_policy(self, run: str) -> str:
        """Why a run has no policy here, and what to do."""
        runs = self.runs
        row = runs.filter(pl.col("run") == run)
        if row.is_empty():
            names = runs["run"].to_list()
            some = ", ".join(difflib.get_close_matches(run, names, n=3, cutoff=0))
            return (
                f"{self.path} has no run {run!r}; the nearest of its {len(names)} runs are {some}; "
                f"'saddle study export {self.path} --csv FOLDER' lists them all in runs.csv"
            )
        status = row["status"][0]
        if status == "done":
            why = (
                "the run is done, but the study was imported, or stored without policies; run it "
                "again"
            )
        else:
            why = f"it is {status}, and a run has a policy once it is done"
        return f"run {run!r} has no policy in {self.path}: {why}"

    def policy_folder(self, run: str) -> Path:
        """Where the run's policy.npz and policy.json are, once it is done."""
        return self.path / "policies" / run


def folder_of(study: Study | Path | str) -> Path:
    """Where a study is that is given as such, or as a path."""
    if isinstance(study, Study):
        return study.path
    return path_of("study", study, "one, or its directory")


def read_manifest(path: Path) -> dict[str, Any]:
    """The manifest of the study in `path`; an error when there is none that this Saddle can
    read.
    """
    if path.is_file():
        raise SaddleError(f"{path} is a file, and a study is a folder; give that")
    manifest = read_json(path / MANIFEST)
    if not manifest:
        what = "has no manifest.json" if path.is_dir() else "is not a directory"
        raise SaddleError(
            f"{path} is not a study: it {what}; 'saddle study run' and 'saddle import' make studies"
        )
    schema = manifest.get("schema")
    if not isinstance(schema, int) or schema < 1:
        raise SaddleError(f"{path / MANIFEST} names no schema; it is not the manifest of a study")
    if "name" not in manifest:
        raise SaddleError(f"{path / MANIFEST} is damaged (it has no name); restore it from a copy")
    if schema > SCHEMA:
        raise SaddleError(
            f"{path} was written by a newer Saddle (schema {schema}, this one reads {SCHEMA}); "
            f"upgrade Saddle"
        )
    return manifest


def chunks(path: Path, unit: str) -> Iterator[tuple[int, int, Path]]:
    """First epoch, end (exclusive) and file of each of the unit's chunks."""
    for file in (path / "metrics" / unit).glob("*.parquet"):
        match = _CHUNK.fullmatch(file.name)
        if match:
            yield int(match[1]), int(match[2]), file
