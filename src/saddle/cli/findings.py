"""Verbs that say, draw and write what a study shows."""

from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from saddle.cli.options import Json, LimitSets, flag

StudyDir = Annotated[Positional[Path], arg(metavar="STUDY", help="Directory of a study.")]


Limits = Annotated[
    LimitSets,
    arg(
        name="limit",
        metavar="D ...",
        help="Cost limits to look at; with several constraints one of each, and --limit again for "
        "further sets.",
        help_behavior_hint="(default: those of the runs, and the published ones)",
    ),
]


Published = Annotated[
    bool,
    flag("Smooth over linear lambda with frac 0.5, and take running maxima, as published."),
]


Constraint = Annotated[
    str | None,
    arg(
        metavar="NAME|N",
        help="Which of several constraints to look at: its name, or its place from 0.",
        help_behavior_hint="(default: each of them)",
    ),
]


Unfinished = Annotated[
    bool,
    flag("Look at runs that are still in progress too, as far as they are."),
]


def analyze(
    study: StudyDir,
    limits: Limits = (),
    published: Published = False,
    constraint: Constraint = None,
    unfinished: Unfinished = False,
    as_json: Json = False,
) -> None:
    """Say what a study shows: lambda*, frontier, regimes, recommended limits, margins, and rules
    compared.
    """
    from saddle.analysis import Options
    from saddle.verbs.analyze import analyze

    analyze(study, Options.of_command(limits, published, constraint, unfinished), as_json)


def rules_map(
    study: StudyDir,
    constraint: Constraint = None,
    unfinished: Unfinished = False,
    as_json: Json = False,
) -> None:
    """Say which rule to use at which limit, and how rules do over all tasks and limits: return lost
    to the frontier at equal cost, violation, and what is not decided.

    The presets rules-map and rules-map-full train every rule at six limits.
    """
    from saddle.analysis import Options
    from saddle.verbs.map import map as show

    show(study, Options.of_command((), False, constraint, unfinished), as_json)


def compare_paper(
    study: StudyDir,
    published: Annotated[
        bool,
        arg(
            help="Take the runs nearest to lambda* as the published study found it: LOWESS over "
            "linear lambda, frac 0.5, and the sweep's end where a limit is not reached.",
            help_behavior_hint="(default: runs at lambda*, else the nearest setting of the sweep)",
        ),
    ] = False,
    sweep: Annotated[
        Path | None,
        arg(
            metavar="DIR",
            help="Study whose sweep says where lambda* is.",
            help_behavior_hint="(default: STUDY)",
        ),
    ] = None,
    unfinished: Unfinished = False,
    as_json: Json = False,
) -> None:
    """Put a study's comparison of rules beside the published one: Welch's t-test of each cell,
    corrected for their number, and what they say together.
    """
    from saddle.verbs.compare_paper import compare_paper

    compare_paper(study, published, sweep, unfinished, as_json)


def figures(
    study: StudyDir,
    out: Annotated[Path, arg(metavar="DIR", help="Folder to write to; made if need be.")],
    limits: Limits = (),
    published: Published = False,
    constraint: Constraint = None,
    unfinished: Unfinished = False,
) -> None:
    """Draw every figure of a study (PDF and PNG) and write its tables (LaTeX, Markdown, CSV)."""
    from saddle.analysis import Options
    from saddle.verbs.figures import figures

    figures(study, out, Options.of_command(limits, published, constraint, unfinished))


def report(
    study: StudyDir,
    out: Annotated[Path, arg(metavar="FILE", help="HTML file to write.")] = Path("report.html"),
    limits: Annotated[
        LimitSets,
        arg(
            name="limit",
            metavar="D ...",
            help="Cost limits to answer beside the usual ones.",
            help_behavior_hint="",
        ),
    ] = (),
    published: Published = False,
    constraint: Constraint = None,
    unfinished: Unfinished = False,
    draw: Annotated[
        bool,
        flag("Play the study's policies first, and show episodes of them. Loads its tasks."),
    ] = False,
) -> None:
    """Write one HTML file that shows a study, offline: frontier, profile, lambda* at any limit,
    rules compared.
    """
    from saddle.analysis import Options
    from saddle.verbs.report import report

    report(study, out, Options.of_command(limits, published, constraint, unfinished), draw)
