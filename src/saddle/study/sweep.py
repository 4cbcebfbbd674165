"""Which other study lambda* comes from, where a plan has no sweep of its own.

A study remembers it from its beginning: runs at the lambda* of two sweeps would look alike.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from saddle.errors import SaddleError
from saddle.study.plan import Plan
from saddle.study.store import Study

SWEEP = "sweep"
"""In the manifest: the other study's path, and when it was created, by which it is known again."""

_NAMED = "--sweep DIR, or sweep=DIR"


def check_sweep(plan: Plan, sweep: Path | None) -> None:
    """Runs at lambda* have a sweep that gives it: a stage of this plan, or of the study `sweep`."""
    source = set(Study(sweep).runs["stage"]) if sweep else set()
    for stage in plan.stages:
        star = stage.lambda_star
        if star and star not in {other.name for other in plan.stages} | source:
            where = (
                f"{sweep} has no such stage"
                if sweep
                else f"name the study that holds it ({_NAMED})"
            )
            raise SaddleError(
                f"stage {stage.name!r} takes lambda* from a stage {star!r} that is not in this "
                f"plan; {where}"
            )


def facts_of_sweep(sweep: Path | None) -> dict[str, Any]:
    """What the manifest of a study says about the sweep it begins with."""
    if sweep is None:
        return {SWEEP: None}
    created = Study(sweep).manifest.get("created")
    return {SWEEP: {"path": str(sweep.resolve()), "created": created}}


def same_sweep(manifests: Sequence[Mapping[str, Any]]) -> bool:
    """Whether studies took lambda* from the same one, as far as it is known."""
    known = [facts[SWEEP] for facts in manifests if facts.get(SWEEP)]
    return len({facts["created"] for facts in known}) < 2


def sweep_of(study: Study, given: Path | None) -> Path | None:
    """The sweep that the study began with, or else the one that is given. Another one than that is
    refused, but the same one may have moved.
    """
    if SWEEP not in study.manifest:
        return given  # of a Saddle that did not remember it
    known = study.manifest[SWEEP]
    if known is None and given is None:
        return None
    if known is None:
        raise SaddleError(
            f"{study.path} was begun without the sweep of another study; go on without {given}"
        )
    path = Path(known["path"]) if given is None else given
    if given is None and not path.exists():
        raise SaddleError(
            f"{study.path} takes lambda* from {path}, which is not there any more; name where it "
            f"is ({_NAMED})"
        )
    if Study(path).manifest.get("created") != known["created"]:
        raise SaddleError(
            f"{study.path} takes lambda* from another study than {path}: from the one that was "
            f"created in {known['path']} at {known['created']}"
        )
    return path


def open_sweep(path: Path | None) -> Study | None:
    """The other study that holds the sweep, if one is named."""
    return None if path is None else Study(path)
