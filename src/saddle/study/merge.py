"""One study of several. A run that is in more than one is taken where it got
furthest.

Runs that have one name but different tasks, as two versions of one, or learners with different
settings, are different runs: those of the later study get the task, and the settings that differ,
behind their name.
"""

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from saddle.errors import SaddleError
from saddle.study import claims
from saddle.study.names import free_name, settings_name, task_names
from saddle.study.params import learner_fields, upgraded_plan
from saddle.study.plan_dict import HOW_IT_RUNS
from saddle.study.store import SCHEMA, Study, chunks
from saddle.study.sweep import same_sweep
from saddle.study.writer import create, manifest, write_chunk, write_runs

WHAT_A_RUN_IS = ("task", "algorithm", "rule", "lambda", "limit", "seed", "steps", "params")
FACTS = ("saddle", "versions", "git", "hardware", "precision")  # how the runs of a study were made


class Part(NamedTuple):
    """Runs of one unit that go into the merged study."""

    study: Study
    unit: str
    name: str  # of the unit in the merged study
    runs: pl.DataFrame
    before: dict[str, str]  # name in the merged study -> name in its own
    whole: bool  # all runs of the unit


def merge(paths: Sequence[Path], out: Path) -> Study:
    """Write the studies at `paths` as one into `out`; returns it."""
    if len(paths) < 2:
        raise SaddleError("a merge needs at least two studies")
    studies = [Study(path) for path in paths]
    for study in studies:
        _at_rest(study)
    parts = list(_parts(studies))

    def fill(folder: Path) -> None:
        for part in parts:
            _copy(part, folder)

    create(out, _manifest(studies), fill)
    return Study(out)


def _at_rest(study: Study) -> None:
    for unit in study.units():
        holder = claims.look(study.path, unit)
        if holder is not None and holder.alive:
            raise SaddleError(
                f"{study.path} is being run (unit {unit}); stop it, or wait, and merge then"
            )


def _parts(studies: list[Study]) -> Iterator[Part]:
    """Every unit of every study with the runs that are taken from it."""
    renamed = _new_names(studies)
    tables = [_with_reach(study, names) for study, names in zip(studies, renamed, strict=True)]
    best: dict[str, tuple[int, int]] = {}  # run -> (epochs, study)
    for i, table in enumerate(tables):
        for run, reach in table.select("run", "reach").iter_rows():
            if run in best:
                _same_settings(run, tables[best[run][1]], table, studies[best[run][1]], studies[i])
            if run not in best or reach > best[run][0]:
                best[run] = (reach, i)
    taken: set[str] = set()
    for i, study in enumerate(studies):
        for unit in study.units():
            runs = _renamed(study.unit_runs(unit), renamed[i])
            own = [run for run in runs["run"] if best[run][1] == i]
            if not own:
                continue
            name = free_name(unit, taken)
            taken.add(name)
            kept = runs.filter(pl.col("run").is_in(own)).with_columns(unit=pl.lit(name))
            before = {new: old for old, new in renamed[i].items() if new in own}
            yield Part(study, unit, name, kept, before, whole=kept.height == runs.height)


def _new_names(studies: list[Study]) -> list[dict[str, str]]:
    """For each study the runs that need another name: name -> new name."""
    # Run -> its task and settings of its learner, where it was met first.
    met: dict[str, tuple[str, dict[str, Any]]] = {}
    renamed: list[dict[str, str]] = []
    for study in studies:
        names: dict[str, str] = {}
        for run, task, params in study.runs.select("run", "task", "params").iter_rows():
            own = (task, learner_fields(params))
            suffix = _what_differs(*own, *met.setdefault(run, own))
            if suffix:
                names[run] = f"{run}-{suffix}"
                met.setdefault(names[run], own)
        renamed.append(names)
    return renamed


def _what_differs(
    task: str, learner: dict[str, Any], first_task: str, first: dict[str, Any]
) -> str:
    """What sets a run apart from the first of its name; empty where nothing does."""
    differing = {key: own for key, own in learner.items() if key in first and own != first[key]}
    called = task_names((first_task, task))[task] if task != first_task else ""
    return "-".join(part for part in (called, settings_name(differing)) if part)


def _renamed(frame: pl.DataFrame, names: dict[str, str]) -> pl.DataFrame:
    """The frame with its runs under their new names."""
    return frame.with_columns(pl.col("run").replace(names)) if names else frame


def _with_reach(study: Study, names: dict[str, str]) -> pl.DataFrame:
    """The runs with the epochs that each has."""
    counted = pl.len().cast(pl.Int64).alias("reach")
    with study.reading():
        reach = study.scan_metrics().group_by("run").agg(counted).collect()
    runs = study.runs.join(reach, on="run", how="left").with_columns(pl.col("reach").fill_null(0))
    return _renamed(runs, names)


def _same_settings(run: str, first: pl.DataFrame, second: pl.DataFrame, a: Study, b: Study) -> None:
    one = first.row(by_predicate=pl.col("run") == run, named=True)
    two = second.row(by_predicate=pl.col("run") == run, named=True)
    if not one["reach"] or not two["reach"]:
        return  # lambda* may be known on one side only
    for column in WHAT_A_RUN_IS:
        if one[column] != two[column]:
            raise SaddleError(
                f"run {run} is in {a.path} and in {b.path} with different {column}; nothing was "
                f"merged"
            )


def _copy(part: Part, folder: Path) -> None:
    source = part.study.path
    write_runs(folder, part.name, part.runs)
    for start, stop, file in sorted(chunks(source, part.unit)):
        if file in part.study.chunk_files(part.unit):
            with part.study.reading():
                frame = pl.read_parquet(file.read_bytes())
            frame = _renamed(frame, {old: new for new, old in part.before.items()})
            write_chunk(
                folder,
                part.name,
                start,
                stop,
                frame.filter(pl.col("run").is_in(part.runs["run"].to_list())),
            )
    for run in part.runs["run"]:
        own_name: str = part.before.get(run, str(run))
        policy = part.study.policy_folder(own_name)
        if policy.is_dir():
            shutil.copytree(policy, folder / "policies" / run)
    if not part.whole:
        return  # half a population cannot go on from the whole one's checkpoint
    for kind, suffix in (
        ("units", ".json"),
        ("checkpoints", ".safetensors"),
        ("checkpoints", ".safetensors.prev"),
    ):
        file = source / kind / (part.unit + suffix)
        if file.exists():
            (folder / kind).mkdir(exist_ok=True)
            shutil.copyfile(file, folder / kind / (part.name + suffix))


def _manifest(studies: list[Study]) -> dict[str, Any]:
    """Parts of one plan keep it, and can be resumed; different plans are listed. Facts are those of
    all parts.
    """
    parts = [study.manifest for study in studies]
    facts = {key: _common([part.get(key) for part in parts]) for key in FACTS}
    created = [part["created"] for part in parts if part.get("created")]
    facts["created"] = min(created, default=None)
    facts["merged_from"] = []
    for part in parts:
        facts["merged_from"].append({key: part.get(key) for key in ("name", "created", *FACTS)})
    plans = [upgraded_plan(part["plan"]) for part in parts]
    one_plan = all(_comparable(plan) == _comparable(plans[0]) for plan in plans)
    if one_plan and same_sweep(parts):
        return {**parts[0], **facts, "schema": SCHEMA, "plan": plans[0]}
    name = "+".join(dict.fromkeys(part["name"] for part in parts))
    return {**manifest(name, None, {"merged": plans}), **facts}


def _common(values: Sequence[Any]) -> Any:
    """What all say; "mixed" where they differ, key by key."""
    if all(value == values[0] for value in values):
        return values[0]
    if all(isinstance(value, dict) for value in values):
        keys = dict.fromkeys(key for value in values for key in value)
        return {key: _common([value.get(key) for value in values]) for key in keys}
    return "mixed"


def _comparable(plan: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in plan.items() if key not in HOW_IT_RUNS}
