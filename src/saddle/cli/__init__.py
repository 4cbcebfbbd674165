"""The command `saddle`: one small function per verb, no logic.

Everything heavy (JAX, MuJoCo, matplotlib) is imported inside the verbs, so that help and mistakes
answer at once.
"""

import itertools
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Union

from tyro.conf import Positional, UseAppendAction, arg, subcommand

import saddle
from saddle import process, references, streams
from saddle.cli.bench import Engine, Json, Tasks, bench, bench_learner, bench_study
from saddle.cli.environment import EnvironmentOptions
from saddle.cli.parse import Verbs, parse
from saddle.cli.study import Log, imports, study
from saddle.config import PUBLISHED_STEPS, USUAL_LIMIT, whole
from saddle.errors import OutputError, SaddleError
from saddle.learners import PPO, LearnerSettings, learner_class
from saddle.learners.settings import begun_from
from saddle.multipliers import GradientAscent, Rule, rules

DESCRIPTION = """Constrained reinforcement-learning tasks, fast and faithful to Safety-Gymnasium.

'saddle VERB --help' explains one verb, 'saddle --version' prints the version."""

TASK = arg(
    metavar="TASK",
    help="A task's name, as 'saddle tasks' lists it, module:attribute of one's own, or gym:ID.",
)
Surroundings = Annotated[EnvironmentOptions, arg(name="")]

Start = Annotated[
    str | None,
    arg(
        name="from",
        metavar="POLICY",
        help="Begin from this exported policy.",
        help_behavior_hint="(default: random weights)",
    ),
]
Resume = Annotated[bool, arg(help="Go on from the last checkpoint in DIR.", help_behavior_hint="")]
LimitTime = Annotated[
    str | None,
    arg(
        metavar="TIME",
        help="Stop cleanly after, e.g., 9m.",
        help_behavior_hint="(default: never)",
    ),
]

Multipliers = Annotated[
    tuple[float, ...],
    arg(
        name="lambda",
        metavar="L ...",
        help="Set the policy's dial to this multiplier; with several constraints one of each.",
        help_behavior_hint="",
    ),
]

app = Verbs()


@app.command
def tasks(as_json: Json = False) -> None:
    """List the tasks: sizes, episode length, what is constrained, the published cost limits.

    Those of installed packages are loaded for that, and listed with where they come from.
    """
    from saddle.verbs.tasks import tasks

    tasks(as_json)


@app.command
def policies(as_json: Json = False) -> None:
    """List the trained policies that come with a checkout of Saddle: how each was trained, and what
    it does.

    Their names stand for their paths in 'play --policy', 'evaluate' and 'train --from'.
    """
    from saddle.verbs.policies import policies

    policies(as_json)


@app.command
def doctor(as_json: Json = False) -> None:
    """Say what this machine can do, and what to install for the rest."""
    from saddle.verbs.doctor import doctor

    doctor(as_json)


@app.command
def check(
    task: Annotated[Positional[str], TASK],
    environment: Surroundings = EnvironmentOptions(),
    quick: Annotated[
        bool, arg(help="Do not measure how long a frontier takes here.", help_behavior_hint="")
    ] = False,
    as_json: Json = False,
) -> int:
    """Look at a task before training on it: sizes, costs, seeds, speed, and what a random policy
    meets.

    A line for each thing that would make a training wrong or slow says what to do. Exits with 1
    where it would be wrong.
    """
    from saddle.verbs.check import check

    return check(environment.applied_to(task), quick, as_json)


@app.command
def play(
    task: Annotated[Positional[str], TASK],
    policy: Annotated[
        str | None,
        arg(
            metavar="POLICY",
            help="'random', 'scripted', or the path of a policy.",
            help_behavior_hint="(default: scripted where the task has that, else random)",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        arg(
            metavar="FILE",
            help="Picture to write: .png, .gif or .mp4.",
            help_behavior_hint="(default: TASK.png)",
        ),
    ] = None,
    seed: Annotated[int, arg(metavar="N", help="Seed of the world and of a random policy.")] = 0,
    steps: Annotated[
        int | None,
        arg(
            metavar="N", help="Env steps to play.", help_behavior_hint="(default: a whole episode)"
        ),
    ] = None,
    lidar: Annotated[
        bool, arg(help="Draw the lidar readings around the robot.", help_behavior_hint="")
    ] = False,
    multipliers: Multipliers = (),
    limit: Annotated[
        tuple[float, ...],
        arg(
            metavar="D ...",
            help="Set the policy's dial for this cost limit, as 'saddle dial' does.",
            help_behavior_hint="",
        ),
    ] = (),
    environment: Surroundings = EnvironmentOptions(),
) -> None:
    """Play one episode and draw it: a point task from above, with the robot's way; a velocity task
    from the side.

    Of a task that has no scene, reward and costs in time are drawn.
    """
    from saddle.verbs.play import play

    picture = out or Path(f"{references.last_part(task)}.png")
    play(environment.applied_to(task), policy, picture, seed, steps, lidar, multipliers, limit)


@app.command
def parity(
    golden: Annotated[
        Path | None,
        arg(
            metavar="DIR",
            help="Folder of reference transitions.",
            help_behavior_hint="(default: Saddle's own)",
        ),
    ] = None,
    tasks: Tasks = (),
    precision: Annotated[
        Literal["float32", "float64"], arg(help="Arithmetic of the replay.")
    ] = "float32",
    as_json: Json = False,
    markdown: Annotated[
        bool, arg(help="Print the tables of docs/explanation/parity.md.", help_behavior_hint="")
    ] = False,
    engine: Engine = None,
) -> int:
    """Replay reference transitions step by step and report the errors. Exits with 1 when a
    tolerance is missed.
    """
    from saddle.verbs.parity import parity

    return parity(golden, sum(tasks, ()), precision, as_json, markdown, engine)


@app.command
def train(
    task: Annotated[Positional[str], TASK],
    out: Annotated[
        Path, arg(metavar="DIR", help="Directory for metrics, checkpoints and policies.")
    ],
    multiplier: Rule = GradientAscent(),
    limit: Annotated[
        tuple[float, ...], arg(metavar="D ...", help="Cost limit of each constraint.")
    ] = (USUAL_LIMIT,),
    seeds: Annotated[int, arg(metavar="N", help="Runs: seeds 0 to N - 1.")] = 1,
    steps: Annotated[float, arg(metavar="N", help="Env steps of each run.")] = PUBLISHED_STEPS,
    learner: LearnerSettings = PPO(),
    start: Start = None,
    resume: Resume = False,
    limit_time: LimitTime = None,
    log: Log = (),
    tensorboard: Annotated[
        bool, arg(help="The same as --log tensorboard.", help_behavior_hint="")
    ] = False,
    environment: Surroundings = EnvironmentOptions(),
) -> int:
    """Train one multiplier rule on a task: --multiplier:ga (the default), --multiplier:fixed,
    --multiplier:pid ... With --learner:conditioned lambda is drawn, and the rule is 'dial'.

    --learner:NAME chooses another learner than ppo, one of an installed package or module:Class;
    its settings are then the options --learner.SETTING.
    """
    from saddle.verbs.train import train

    return train(
        environment.applied_to(task),
        multiplier,
        limit,
        seeds,
        whole("--steps", steps),
        out,
        begun_from(learner, start),
        resume,
        limit_time,
        (*log, "tensorboard") if tensorboard else log,
        process.began(),
    )


@app.command
def frontier(
    task: Annotated[Positional[str], TASK],
    out: Annotated[
        Path | None,
        arg(
            metavar="DIR",
            help="Directory for the study, its figures and its page.",
            help_behavior_hint="(default: frontier-TASK)",
        ),
    ] = None,
    limits: Annotated[
        UseAppendAction[tuple[tuple[float, ...], ...]],
        arg(
            name="limit",
            metavar="D ...",
            help="Cost limits at which lambda* is wanted; with several constraints one of each, "
            "and --limit again for further sets.",
            help_behavior_hint="(default: none; limits are recommended)",
        ),
    ] = (),
    seeds: Annotated[int, arg(metavar="N", help="Runs, of a sweep at each multiplier.")] = 3,
    steps: Annotated[
        float | None,
        arg(
            metavar="N",
            help="Env steps of each run.",
            help_behavior_hint="(default: 70 epochs; of a sweep 60)",
        ),
    ] = None,
    lambdas: Annotated[
        int | None,
        arg(
            metavar="N",
            help="Multipliers of each constraint at which the frontier is found; of several every "
            "combination.",
            help_behavior_hint="(default: 9; of two constraints 5, of more 3)",
        ),
    ] = None,
    method: Annotated[
        Literal["dial", "sweep"] | None,
        arg(
            metavar="{dial,sweep}",
            help="'dial': one policy that takes lambda as an input. 'sweep': policies at fixed "
            "lambdas, put where they tell most.",
            help_behavior_hint="(default: dial)",
        ),
    ] = None,
    environment: Surroundings = EnvironmentOptions(),
    learner: LearnerSettings = PPO(),
    start: Start = None,
    resume: Resume = False,
    limit_time: LimitTime = None,
    log: Log = (),
) -> int:
    """Find a task's frontier: one policy is trained that takes lambda as an input, then words,
    figures and a page say what return each cost limit buys. 'saddle dial' sets it to a limit.

    Networks and epochs are sized for this machine and the task, unless --learner.SETTING tells.
    """
    from saddle.study.frontier import Wish
    from saddle.study.names import short
    from saddle.verbs.frontier import frontier

    count = None if steps is None else whole("--steps", steps)
    name = environment.applied_to(task)
    wish = Wish(name, limits, seeds, count, lambdas, begun_from(learner, start), method)
    return frontier(
        wish,
        out or Path(f"frontier-{short(name)}"),
        resume,
        limit_time,
        process.began(),
        log=log,
    )


@app.command
def evaluate(
    path: Annotated[
        Positional[Path], arg(metavar="DIR", help="A study or training, or the folder of a policy.")
    ],
    episodes: Annotated[int, arg(metavar="N", help="Episodes of each policy.")] = 100,
    limit: Annotated[
        tuple[float, ...],
        arg(
            metavar="D ...",
            help="Cost limit of each constraint.",
            help_behavior_hint="(default: each run's own)",
        ),
    ] = (),
    seed: Annotated[int, arg(metavar="N", help="Seed of the worlds.")] = 0,
    as_json: Json = False,
    task: Annotated[
        str | None,
        arg(
            metavar="TASK",
            help="Play them in another task of the same sizes.",
            help_behavior_hint="(default: their own)",
        ),
    ] = None,
    multipliers: Multipliers = (),
    environment: Surroundings = EnvironmentOptions(),
) -> None:
    """Play trained policies, by their mean and as trained: return, cost, and the share of violating
    episodes.
    """
    from saddle.verbs.evaluate import evaluate

    name = environment.applied_to_option(task)
    evaluate(path, episodes, limit, seed, as_json, name, multipliers)


@app.command
def dial(
    path: Annotated[
        Positional[Path], arg(metavar="DIR", help="A study or training, or the folder of a policy.")
    ],
    limits: Annotated[
        UseAppendAction[tuple[tuple[float, ...], ...]],
        arg(
            name="limit",
            metavar="D ...",
            help="Cost limits; with several constraints one of each, and --limit again for further "
            "sets.",
            help_behavior_hint="(required)",
        ),
    ] = (),
    episodes: Annotated[int, arg(metavar="N", help="Episodes at each setting.")] = 100,
    seed: Annotated[int, arg(metavar="N", help="Seed of the worlds.")] = 0,
    as_trained: Annotated[
        bool,
        arg(
            help="Play with the noise of training.",
            help_behavior_hint="(default: by the policy's mean)",
        ),
    ] = False,
    as_json: Json = False,
    task: Annotated[
        str | None,
        arg(
            metavar="TASK",
            help="Play in another task of the same sizes.",
            help_behavior_hint="(default: the policy's own)",
        ),
    ] = None,
    environment: Surroundings = EnvironmentOptions(),
) -> None:
    """Find where to set the dial of a policy that takes lambda as an input, for a cost limit: by
    playing, without training.

    An upper bound of the mean cost has to keep the limit. Limits that no setting keeps, and limits
    that do not bind, are said to be that.
    """
    from saddle.verbs.dial import dial

    name = environment.applied_to_option(task)
    dial(path, limits, episodes, seed, as_trained, name, as_json)


@app.command
def export(
    path: Annotated[Positional[Path], arg(metavar="DIR", help="A study or training.")],
    out: Annotated[
        Path, arg(metavar="POLICY", help="Folder to write policy.npz and policy.json to.")
    ],
    run: Annotated[
        str | None,
        arg(metavar="RUN", help="Name of the run.", help_behavior_hint="(default: the only one)"),
    ] = None,
) -> None:
    """Write a trained policy as plain arrays, for use without Saddle."""
    from saddle.verbs.export import export

    export(path, out, run)


StudyDir = Annotated[Positional[Path], arg(metavar="STUDY", help="Directory of a study.")]
Limits = Annotated[  # one tuple per --limit, as with --task
    UseAppendAction[tuple[tuple[float, ...], ...]],
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
    arg(
        help="Smooth over linear lambda with frac 0.5, and take running maxima, as published.",
        help_behavior_hint="",
    ),
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
    arg(
        help="Look at runs that are still in progress too, as far as they are.",
        help_behavior_hint="",
    ),
]


@app.command
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


@app.command(name="map")
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


@app.command
def sensitivity(
    rule: Annotated[Positional[str], arg(metavar="RULE", help="A rule that moves lambda: pid.")],
    out: Annotated[
        Path | None,
        arg(
            metavar="DIR",
            help="Directory of the study.",
            help_behavior_hint="(default: sensitivity-RULE)",
        ),
    ] = None,
    task: Annotated[str, TASK] = "SafetyPointCircle1-v0",
    limits: Annotated[
        UseAppendAction[tuple[float, ...]],
        arg(
            name="limit",
            metavar="D",
            help="A cost limit; --limit again for further ones.",
            help_behavior_hint="(default: 10 and 25)",
        ),
    ] = (),
    seeds: Annotated[int, arg(metavar="N", help="Runs of each value at each limit.")] = 3,
    factors: Annotated[
        tuple[float, ...],
        arg(
            metavar="F ...",
            help="Multiples of each default.",
            help_behavior_hint="(default: nine from 0.01 to 100)",
        ),
    ] = (),
    steps: Annotated[
        float | None,
        arg(metavar="N", help="Env steps of each run.", help_behavior_hint="(default: 240,000)"),
    ] = None,
    resume: Resume = False,
    limit_time: LimitTime = None,
    as_json: Json = False,
) -> int:
    """Sweep each number of a rule around its default, one at a time, and say over which share of
    the range neither return nor violation is worse than at the best value.
    """
    from saddle.verbs.sensitivity import sensitivity

    count = None if steps is None else whole("--steps", steps)
    return sensitivity(
        rule,
        out or Path(f"sensitivity-{rule.partition(':')[0]}"),
        task,
        [(limit,) for limit in limits or (10.0, 25.0)],
        seeds,
        factors,
        count,
        resume,
        limit_time,
        as_json,
        process.began(),
    )


@app.command(name="compare-paper")
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


@app.command
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


@app.command
def report(
    study: StudyDir,
    out: Annotated[Path, arg(metavar="FILE", help="HTML file to write.")] = Path("report.html"),
    limits: Annotated[
        UseAppendAction[tuple[tuple[float, ...], ...]],
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
        arg(
            help="Play the study's policies first, and show episodes of them. Loads its tasks.",
            help_behavior_hint="",
        ),
    ] = False,
) -> None:
    """Write one HTML file that shows a study, offline: frontier, profile, lambda* at any limit,
    rules compared.
    """
    from saddle.analysis import Options
    from saddle.verbs.report import report

    report(study, out, Options.of_command(limits, published, constraint, unfinished), draw)


app.command(bench, name="bench", help="Measure speed on this machine.")
app.command(study, name="study", help="Plan, run and look after studies.")
app.command(imports, name="import", help="Make a study of logs that other software wrote.")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code: 0 good, 1 a check failed, 2 bad input, 130
    interrupted.
    """
    if argv is None:
        process.becomes_command()
        argv = sys.argv[1:]
    try:
        with streams.guarded(), references.announcing(streams.note):
            return _dispatch(argv)
    except OutputError as error:
        if not error.reader_left:
            streams.complain(str(error))
        return 141 if error.reader_left else 2
    except SaddleError as error:
        streams.complain(str(error))
        return 2
    except KeyboardInterrupt:
        return 130
    finally:
        process.leaves()


def _dispatch(argv: Sequence[str]) -> int:
    if list(argv) == ["--version"]:
        print(f"saddle {saddle.__version__}")
        return 0
    argv = _choose_learner(argv)
    if list(argv[:1]) == [
        "train"
    ]:  # who asks for anything else does not wait for packages with rules of their own
        train.__annotations__["multiplier"] = _one_of_the_rules()
    try:
        call = parse(app, DESCRIPTION, _rule_last(argv) or ["--help"])
    except SystemExit:  # the parser leaves this way after printing help
        return 0
    return call() or 0


def _choose_learner(argv: Sequence[str]) -> list[str]:
    """Give the verbs that train the options of the learner that --learner:NAME names; returns the
    other words.
    """
    named = [word for word in argv if word.startswith(("--learner:", "learner:"))]
    kind = learner_class(named[-1].partition(":")[2]) if named else PPO
    _set_learner(train, kind())
    if argv[:1] == ["frontier"]:
        _set_learner(frontier, _for_this_machine(kind if named else None, argv))
    _set_learner(bench_learner, kind().for_bench())
    _set_learner(bench_study, kind().for_bench())
    return [word for word in argv if word not in named]


def _for_this_machine(kind: type[LearnerSettings] | None, argv: Sequence[str]) -> LearnerSettings:
    """The settings that `saddle frontier` begins with, of the learner that was named, or else of
    the one that --method takes.
    """
    from saddle.study.frontier import machine_learner, sized_for_here

    if kind is not None:
        return sized_for_here(kind)
    sweep = "--method=sweep" in argv or ("--method", "sweep") in itertools.pairwise(argv)
    return machine_learner("sweep" if sweep else "dial")


def _set_learner(verb: Any, settings: LearnerSettings) -> None:
    """The parser reads a verb's options from its signature: the type of `learner`, its default, and
    the default of a rule beside it.
    """
    verb.__annotations__["learner"] = type(settings)
    defaults: list[Any] = []
    for default in verb.__defaults__:
        if isinstance(default, LearnerSettings):
            defaults.append(settings)
        elif isinstance(default, Rule):
            defaults.append(settings.usual_rule())
        else:
            defaults.append(default)
    verb.__defaults__ = tuple(defaults)


def _one_of_the_rules() -> Any:
    """The type of --multiplier: a subcommand for each rule, with the rule's settings as its
    options.
    """
    return Union[tuple(Annotated[rule, subcommand(name=name)] for name, rule in rules().items())]  # noqa: UP007


def _rule_last(argv: Sequence[str]) -> list[str]:
    """Put the rule (--multiplier:pid) and its options last, where the parser wants them, wherever
    they were written. --help comes after them, so that it explains the rule's options too.
    """
    front: list[str] = []
    asks: list[str] = []
    rule: list[str] = []
    options: list[str] = []
    wants_value = takes_more = False  # the option before: has none yet, may have further numbers
    for word in argv:
        if word.startswith(("--multiplier:", "multiplier:")):
            rule.append(word.removeprefix("--"))
            wants_value = takes_more = False
        elif word.startswith("--multiplier."):
            options.append(word)
            wants_value = takes_more = "=" not in word
        elif word in ("-h", "--help"):
            asks.append(word)
        elif wants_value or (takes_more and _is_number(word)):
            options.append(word)
            wants_value = False
        else:
            front.append(word)
            takes_more = False
    return front + rule + options + asks


def _is_number(word: str) -> bool:
    """Whether a word can be one of several values, as in --multiplier.init 0.5 2."""
    try:
        float(word)
    except ValueError:
        return False
    return True
