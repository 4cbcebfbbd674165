"""The verbs `saddle study ...` and `saddle import ...`: one small function each, no logic."""

from pathlib import Path
from typing import Annotated, Literal

from tyro.conf import Positional, arg

from saddle import process
from saddle.cli.parse import Verbs
from saddle.cli.seeds import SeedOptions
from saddle.learners import Layout, Precision

study = Verbs()
imports = Verbs()

Name = Annotated[
    Positional[str],
    arg(metavar="STUDY", help="A preset ('saddle study show' lists them) or a .toml file."),
]
Dir = Annotated[Positional[Path], arg(metavar="DIR", help="The study's directory.")]
Json = Annotated[bool, arg(name="json", help="Print JSON.", help_behavior_hint="")]
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

Log = Annotated[
    tuple[Literal["tensorboard", "wandb", "mlflow"], ...],
    arg(
        metavar="{tensorboard,wandb,mlflow} ...",
        help="Also send every epoch's metrics there.",
        help_behavior_hint="",
    ),
]


@study.command
def show(
    name: Annotated[
        Positional[str | None],
        arg(metavar="STUDY", help="A preset or a .toml file; without it, the presets are listed."),
    ] = None,
    no_calibrate: Annotated[
        bool, arg(help="Do not measure how fast this machine is.", help_behavior_hint="")
    ] = False,
    layout: Laid = None,
    precision: Precise = None,
    seeds: Seeds = NO_SEEDS,
    as_json: Json = False,
) -> None:
    """Say what a study would run, and how long that takes on this machine."""
    from saddle.verbs.study.show import show

    show(name, not no_calibrate, as_json, layout, precision, until_decided=seeds.settings())


@study.command
def run(
    name: Name,
    out: Annotated[Path, arg(metavar="DIR", help="Directory of the study.")],
    resume: Annotated[
        bool, arg(help="Go on with a study that is there.", help_behavior_hint="")
    ] = False,
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
        arg(
            help="Find lambda* as the published study did: LOWESS over linear lambda, frac 0.5, "
            "and the sweep's end where a limit is not reached.",
            help_behavior_hint="",
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
        engine,
        address,
        sweep,
        members,
        layout,
        precision,
        published,
        as_json,
        began=process.began(),
        log=log,
        until_decided=seeds.settings(),
    )


@study.command
def status(directory: Dir, as_json: Json = False) -> None:
    """Show units, progress, time left and failures."""
    from saddle.verbs.study.status import status

    status(directory, as_json)


@study.command
def watch(
    directory: Dir,
    every: Annotated[float, arg(metavar="SECONDS", help="Time between two looks.")] = 2.0,
    as_json: Json = False,
) -> None:
    """Show the status again and again until the study is through."""
    from saddle.verbs.study.watch import watch

    watch(directory, every, as_json)


@study.command
def merge(
    studies: Annotated[Positional[tuple[Path, ...]], arg(metavar="DIR", help="Studies to merge.")],
    out: Annotated[Path, arg(metavar="DIR", help="Directory of the merged study.")],
) -> None:
    """Make one study of several: parts of one plan that ran in different places, or different
    studies.
    """
    from saddle.verbs.study.merge import merge

    merge(studies, out)


@study.command
def export(
    directory: Dir,
    csv: Annotated[Path, arg(metavar="FOLDER", help="Folder for runs.csv and metrics.csv.")],
) -> None:
    """Write the study's tables as CSV."""
    from saddle.verbs.study.export import export

    export(directory, csv)


@imports.command(name="omnisafe")
def import_omnisafe(
    logs: Annotated[
        Positional[Path], arg(metavar="LOGDIR", help="Folder with OmniSafe's logs, at any depth.")
    ],
    out: Annotated[Path, arg(metavar="DIR", help="Directory of the new study.")],
) -> None:
    """Make a study of OmniSafe's log folders (config.json and progress.csv)."""
    from saddle.verbs.imports.omnisafe import import_omnisafe

    import_omnisafe(logs, out)
