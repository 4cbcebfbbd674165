"""`saddle study run`: prepare the store, choose the engine, say how it ended."""

import dataclasses
import json
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from saddle import streams
from saddle.analysis.show_until_decided import show_decisions
from saddle.analysis.until_decided import decisions
from saddle.errors import SaddleError
from saddle.extras import install
from saddle.learners import Layout, Precision
from saddle.study import presets
from saddle.study.forecast import say_how_long
from saddle.study.listener import Listener
from saddle.study.local import Worker
from saddle.study.plan import Plan
from saddle.study.prepare import plan_of
from saddle.study.program import POPULATION, factory
from saddle.study.rates import plan_notes
from saddle.study.status import counts, failure_lines, failures
from saddle.study.stop import Stopper, seconds
from saddle.study.store import Study
from saddle.study.sweep import open_sweep, sweep_of
from saddle.study.until_decided import open_study_of, rounds_words, run_study_of, say_most
from saddle.study.view import view
from saddle.trackers import TrackerKind, tracked, tracker_kinds
from saddle.verbs.exit_codes import FINISHED, SOME_FAILED
from saddle.words import counted


def run(
    name: str,
    out: Path,
    resume: bool = False,
    limit_time: str | None = None,
    engine: Literal["local", "ray"] = "local",
    address: str | None = None,
    sweep: Path | None = None,
    members: int | None = None,
    layout: Layout | None = None,
    precision: Precision | None = None,
    published: bool = False,
    as_json: bool = False,
    program: str = POPULATION,
    began: float | None = None,
    log: tuple[str, ...] = (),
    until_decided: Mapping[str, Any] | None = None,
) -> int:
    """Run a preset or study file in `out`; returns the exit code. `until_decided`: settings of
    `UntilDecided` that differ from the plan's, to add seeds; None as the plan says.

    A command gives the time at which its process began, by `time.monotonic`: the time limit counts
    from there, and ends the process if need be.
    """
    if address is not None and engine != "ray":
        raise SaddleError("--address is the Ray cluster's; add --engine ray")
    if log and engine == "ray":
        raise SaddleError("--log needs --engine local: Ray's processes write metrics to the store")
    kinds = tracker_kinds(log)
    plan = presets.load(name, layout, precision, published)
    if members is not None:
        plan = dataclasses.replace(plan, members=members)
    if until_decided is not None:
        plan = presets.with_seeds_added(plan, until_decided)
    limit = None if limit_time is None else seconds(limit_time)
    # Ray's processes would outlive one that a watchdog ends, and who calls from Python would lose
    # all its own.
    watchdog = engine == "local" and began is not None
    stopper = Stopper(limit, began, watchdog, streams.note_at_once)
    with stopper as stop, view(as_json) as listener:
        if engine == "ray":
            study = _run_on_ray(plan, out, resume, sweep, program, address, listener, stop)
        else:
            study = _run_here(plan, out, resume, sweep, program, kinds, listener, stop)
    options = _options(
        engine=None if engine == "local" else engine,
        address=address,
        sweep=sweep,
        members=members,
        layout=layout,
        precision=precision,
        published=published,
        log=log,
    )
    return _end(study, stop, _again(study, name, options), as_json)


def _run_here(
    plan: Plan,
    out: Path,
    resume: bool,
    sweep: Path | None,
    program: str,
    kinds: Sequence[TrackerKind],
    listener: Listener,
    stop: Stopper,
) -> Study:
    study = open_study_of(plan, out, resume, sweep)
    source = open_sweep(sweep_of(study, sweep))
    _say_rates(plan, listener)
    with tracked(listener, study, kinds) as told:

        def carry_out(study: Study) -> None:
            worker = Worker(study, factory(program), plan.chunk, told, stop, source)
            say_how_long(worker, plan, stop, program)
            if plan.until_decided is not None:
                say_most(worker, plan)
            worker.work()

        return run_study_of(plan, study, told, carry_out)


def _say_rates(plan: Plan, listener: Listener) -> None:
    """Whether lambda can travel as far as in the published study, where that is a question."""
    for note in plan_notes(plan):
        listener.say(note)


def _run_on_ray(
    plan: Plan,
    out: Path,
    resume: bool,
    sweep: Path | None,
    program: str,
    address: str | None,
    listener: Listener,
    stop: Stopper,
) -> Study:
    try:
        from saddle.study import ray
    except ImportError:
        raise SaddleError(f"the Ray engine needs Ray: run {install('ray')}") from None
    ray.connect(address)
    study = open_study_of(plan, out, resume, sweep, ray.survey)
    source = sweep_of(study, sweep)
    _say_rates(plan, listener)
    if plan.until_decided is not None:
        listener.say(rounds_words(plan))

    def carry_out(study: Study) -> None:
        ray.RayEngine(study, program, plan.chunk, listener, stop, source).work()

    return run_study_of(plan, study, listener, carry_out)


def _options(**given: Any) -> list[str]:
    """Options with values, as a command line has them; those that were not given are left out."""
    words: list[str] = []
    for option, value in given.items():
        if not value:
            continue
        words.append(f"--{option}")
        if isinstance(value, tuple):
            words += value
        elif value is not True:
            words.append(str(value))
    return words


def _again(study: Study, name: str, options: Sequence[str]) -> str:
    """The command that goes on with a study that was run with these options."""
    command = ["saddle", "study", "run", name, "--out", str(study.path), *options]
    added = plan_of(study).until_decided
    if added is not None:
        command += shlex.split(added.options)
    return shlex.join([*command, "--resume"])


def _end(study: Study, stop: Stopper, again: str, as_json: bool) -> int:
    """Say how the study stands; returns the exit code. `again`: the command to go on with."""
    found: dict[str, Any] = counts(study)
    stopped = found["left"] > 0 and stop.refused
    if as_json:
        print(json.dumps({"event": "end", **found, "stopped": stop.why if stopped else None}))
    else:
        print(
            f"{found['done']} of {counted(found['runs'], 'run')} done, {found['failed']} failed, "
            f"{found['left']} left"
        )
        for line in failure_lines(failures(study)):
            print(line)
        if study.finished:
            show_decisions(decisions(study))
        if stopped:
            print(f"stopped: {stop.why}; go on with: {again}")
    if stopped:
        return stop.exit_code
    return SOME_FAILED if found["failed"] or found["left"] else FINISHED
