"""The verbs `saddle study ...`."""

from pathlib import Path
from typing import Annotated, Literal

from tyro.conf import Positional, arg

from saddle import process
from saddle.cli.options import Log, flag
from saddle.cli.seeds import SeedOptions
from saddle.learners import Layout, Precision

Name = Annotated[
    Positional[str],
    arg(metavar="STUDY", help="A preset ('saddle study show' lists them) or a .toml file."),
]
Dir = Annotated[Positional[Path], arg(metavar="DIR", help="The study's directory.")]
Json = Annotated[bool, flag("Print JSON.", name="json")]
Laid = Annotated[
    Layout | None,
    arg(
        metavar="{study,wide}",
        help="Of the worlds; wide fills a GPU.",
        help_behavior_hint="(default: the study's)",
    ),
]
Precise = Annotated[
    Precision | None,
    arg(
        metavar="{highest,tf32,bf16}",
        help="Of the networks.",
        help_behavior_hint="(default: the study's)",
    ),
]

Seeds = Annotated[SeedOptions, arg(name="")]
NO_SEEDS = SeedOptions()


def show(
    name: Annotated[
        Positional[str | None],
        arg(metavar="STUDY", help="A preset or a .toml file; without it, the presets are listed."),
    ] = None,
    no_calibrate: Annotated[bool, flag("Do not measure how fast this machine is.")] = False,
    layout: Laid = None,
    precision: Precise = None,
    seeds: Seeds = NO_SEEDS,
    as_json: Json = False,
) -> None:
    """Say what a study would run, and how long that takes on this machine."""
    from saddle.verbs.study.show import show

    show(name, not no_calibrate, as_json, layout, precision, until_decided=seeds.settings())


def run(
    name: Name,
    out: Annotated[Path, arg(metavar="DIR", help="Directory of the study.")],
    resume: Annotated[bool, flag("Go on with a study that is there.")] = False,
    limit_time: Annotated[
        str | None,
        arg(
            metavar="TIME",
            help="Stop cleanly after this time: 90s, 9m, 1h30m.",
            help_behavior_hint="",
        ),
    ] = None,
    engine: Annotated[Literal["local", "ray"], arg(help="Where units run.")] = "local",
    address: Annotated[
        str | None,
        arg(
            metavar="HOST:PORT",
            help="Ray cluster to use.",
            help_behavior_hint="(default: one on this machine)",
        ),
    ] = None,
    sweep: Annotated[
        Path | None,
        arg(metavar="DIR", help="Study that holds the sweep for lambda*.", help_behavior_hint=""),
    ] = None,
    members: Annotated[
        int | None,
        arg(
            metavar="N",
            help="Most runs in a unit.",
            help_behavior_hint="(default: what memory allows)",
        ),
    ] = None,
    layout: Laid = None,
    precision: Precise = None,
    published: Annotated[
        bool,
        flag(
            "Find lambda* as the published study did: LOWESS over linear lambda, frac 0.5, "
            "and the sweep's end where a limit is not reached."
        ),
    ] = False,
    seeds: Seeds = NO_SEEDS,
    log: Log = (),
    as_json: Json = False,
) -> int:
    """Run a study. Exits with 0 when all is done, 1 when runs failed, 3 at the time limit, 128 + n
    at signal n.
    """
    from saddle.verbs.study.run import run

    return run(
        name,
        out,
        resume,
        limit_time,
        engine=engine,
        address=address,
        sweep=sweep,
        members=members,
        layout=layout,
        precision=precision,
        published=published,
        as_json=as_json,
        began=process.began(),
        log=log,
        until_decided=seeds.settings(),
    )


def status(directory: Dir, as_json: Json = False) -> None:
    """Show units, progress, time left and failures."""
    from saddle.verbs.study.status import status

    status(directory, as_json)


def watch(
    directory: Dir,
    every: Annotated[float, arg(metavar="SECONDS", help="Time between two looks.")] = 2.0,
    as_json: Json = False,
) -> None:
    """Show the status again and again until the study is through."""
    from saddle.verbs.study.watch import watch

    watch(directory, every, as_json)


def merge(
    studies: Annotated[Positional[tuple[Path, ...]], arg(metavar="DIR", help="Studies to merge.")],
    out: Annotated[Path, arg(metavar="DIR", help="Directory of the merged study.")],
) -> None:
    """Make one study of several: parts of one plan that ran in different places, or different
    studies.
    """
    from saddle.verbs.study.merge import merge

    merge(studies, out)


def export(
    directory: Dir,
    csv: Annotated[Path, arg(metavar="FOLDER", help="Folder for runs.csv and metrics.csv.")],
) -> None:
    """Write the study's tables as CSV."""
    from saddle.verbs.study.export import export

    export(directory, csv)
