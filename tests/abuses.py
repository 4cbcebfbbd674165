"""What a person can get wrong, as data: each abuse, the exit code, and words that the one line must
have.

`benchmarks/abuse.py` tries all of it with real processes; tests/test_abuse.py and
tests/study/test_damage.py try, in their own process, what needs no disk, signal or training of its
own. In command lines {study} stands for a finished study of the file GOOD, {twin} for another,
{toml} for that file and {tmp} for an empty folder.
"""

from typing import NamedTuple

TASK = "SafetyPointCircle1-v0"
HUGE = 10**9  # of whatever it is, more than a machine holds
BEYOND = 10**24  # more than a 64-bit number holds
TRAIN = f"train {TASK} --out {{tmp}}/o"


class Line(NamedTuple):
    """A bad command line."""

    argv: str
    words: str  # that the one line must have
    trained: bool = False  # whether {study} must be there


LINES = (
    # Verbs and words
    Line("plya", "did you mean play?"),
    Line("stduy run quickstart", "did you mean study?"),
    Line("wibble", "it has tasks, policies, doctor, check, play"),
    Line("bench", "saddle bench needs one of tasks, host, learner"),
    Line("study", "saddle study needs one of show, run"),
    Line("import", "saddle import"),
    Line("study rn", "did you mean run?"),
    Line("bench taks", "did you mean tasks?"),
    Line("tasks all", "saddle tasks does not take 'all'"),
    Line("evaluate {study} {study}", "saddle evaluate does not take"),
    Line(f"{TRAIN} --resume yes", "saddle train does not take 'yes'"),
    Line(f"{TRAIN} --seeds 2 3", "saddle train does not take '3'"),
    # Options that are missing
    Line("play", "saddle play needs TASK"),
    Line("train", "saddle train needs TASK and --out DIR"),
    Line(f"train {TASK}", "saddle train needs --out DIR"),
    Line("study run quickstart", "saddle study run needs --out DIR"),
    Line("study export {study}", "saddle study export needs --csv FOLDER"),
    Line("export {study}", "saddle export needs --out POLICY"),
    Line("figures {study}", "saddle figures needs --out DIR"),
    Line("import omnisafe {tmp}", "saddle import omnisafe needs --out DIR"),
    # Options that are not there
    Line("tasks --yaml", "saddle tasks has no option --yaml"),
    Line("--version tasks", "saddle has no option --version"),
    Line(f"{TRAIN} --lr 3", "saddle train has no option --lr; did you mean --multiplier.lr?"),
    Line(f"{TRAIN} --ste 3", "did you mean --steps?"),
    Line(f"{TRAIN} --learner.hiden 3", "did you mean --learner.hidden?"),
    Line(f"{TRAIN} --lr-decay", "did you mean --learner.no-lr-decay?"),
    Line("evaluate {study} --episode 3", "did you mean --episodes?"),
    Line("report {study} --output x", "saddle report has no option --output"),
    Line("analyze {study} -v", "saddle analyze has no option -v"),
    Line(
        f"{TRAIN} --multiplier:fixed --multiplier.lr 3",
        "--multiplier:fixed has no option --multiplier.lr",
    ),
    Line(f"{TRAIN} --multiplier.lr 3", "belongs to a rule; name one that has it: --multiplier:ga,"),
    Line(f"{TRAIN} --multiplier:pidd", "did you mean multiplier:pid?"),
    Line(f"{TRAIN} --multiplier:fixed --multiplier:ga", "does not take 'multiplier:ga'"),
    # Values
    Line(f"play {TASK} --seed soon", "--seed cannot be 'soon'"),
    Line(f"play {TASK} --seed 1.5", "--seed cannot be '1.5'"),
    Line(f"{TRAIN} --seeds", "--seeds needs a value"),
    Line(f"{TRAIN} --steps many", "--steps cannot be 'many'"),
    Line(f"{TRAIN} --limit low", "--limit cannot be 'low'"),
    Line(f"{TRAIN} --learner.hidden 1 a", "--learner.hidden cannot be '1 a'"),
    Line(
        f"{TRAIN} --learner.layout round",
        "--learner.layout cannot be 'round'; choose one of 'study', 'wide'",
    ),
    Line("parity --precision float16", "--precision cannot be 'float16'"),
    Line("bench study --precision fp8", "--precision cannot be 'fp8'"),
    Line("report {study} --limit abc", "--limit cannot be 'abc'"),
    # Values that can be read and make no sense
    Line(f"{TRAIN} --steps 20000.5", "steps is 20000.5; it must be a whole number"),
    Line(f"{TRAIN} --steps nan", "steps is nan; it must be a whole number"),
    Line(f"{TRAIN} --steps inf", "steps is inf; it must be a whole number"),
    Line(f"{TRAIN} --steps 100", "less than one epoch"),
    Line(f"{TRAIN} --steps 1e30", "lower steps"),
    Line(f"{TRAIN} --seeds 0", "at least 1"),
    Line(f"{TRAIN} --seeds {HUGE}", "do not fit into memory; at most"),
    Line(f"{TRAIN} --seeds {BEYOND}", "do not fit into memory; at most"),
    Line(f"{TRAIN} --limit -1", "limits are finite and 0 or more"),
    Line(f"{TRAIN} --limit 10 20", "constraint"),
    Line(f"{TRAIN} --limit-time soon", "'soon' is not a duration"),
    Line(f"{TRAIN} --learner.hidden 0", "width 1 or more"),
    Line(f"{TRAIN} --learner.hidden 100000 100000", "takes about 724 GB"),
    Line(
        f"{TRAIN} --learner.steps-per-epoch 1000000000000 --steps 1e13",
        "lower the learner's hidden",
    ),
    Line(f"{TRAIN} --learner.gamma 2", "gamma is 2.0; it must lie in [0, 1]"),
    Line(f"{TRAIN} --learner.batch 0", "batch is 0; it must be 1 or more"),
    Line(f"{TRAIN} --multiplier:pid --multiplier.delay 50", "between 1 and 32"),
    Line(f"{TRAIN} --multiplier:fixed --multiplier.init -1", "init is -1.0"),
    Line("train SafetyPointCircle2-v0 --out {tmp}/o", "did you mean"),
    Line("check CartPole-v1", "; an environment of Gymnasium is gym:CartPole-v1"),
    Line("check shop.py", "it is a file; write shop:NAME"),
    Line("check shop.py:Shop", "names a file; write its module: shop:Shop"),
    Line(f"{TRAIN} --cost cost", "has costs and a length of its own"),
    Line("train gym: --out {tmp}/o", "write gym:ID"),
    Line("train a:b --out {tmp}/o --cost info:", "cannot be read; write info:KEY"),
    Line("train a:b --out {tmp}/o --reward x", "write the number of a component"),
    Line("train a:b --out {tmp}/o --episode-length 0", "the episode length is 0"),
    Line("train a:b --out {tmp}/o --timeout 0", "the timeout is 0"),
    Line("train a:b?lenght=3 --out {tmp}/o", "an environment has cost, import, reward, length"),
    Line("check", "saddle check needs TASK"),
    Line(f"check {TASK} --task a:b", "saddle check has no option --task"),
    Line("bench host --worlds 4", "saddle bench host needs TASK"),
    Line(f"bench host {TASK}", "does not tell how long its own steps take"),
    Line("bench host a:b --episode-length 3 --worlds 0", "--worlds is 0"),
    Line("evaluate {study} --cost cost", "name it with --task", trained=True),
    Line(f"bench learner --members {HUGE}", "do not fit into memory; ask for at most"),
    Line(f"bench study --task {TASK} --members {HUGE}", "do not fit into memory; ask for at most"),
    Line("bench tasks --worlds 0", "0"),
    Line("evaluate {study} --episodes 0", "episodes is 0; it must be at least 1", trained=True),
    Line("dial nope --limit 2", "unknown policy 'nope': use the directory of a study or training"),
    Line("evaluate .", "unknown policy '.': use the directory of a study or training"),
    Line("analyze {study}/manifest.json", "is a file, and a study is a folder", trained=True),
    Line("export {study} --out {tmp}/p", "choose one with --run", trained=True),
    Line("export {study} --out {tmp}/p --run nope", "has no run 'nope'", trained=True),
    Line("study run qickstart --out {tmp}/o", "did you mean 'quickstart'?"),
    Line("study run nowhere.toml --out {tmp}/o", "there is no study file nowhere.toml"),
    Line("study run quickstart --out {tmp}/o --address a:1", "add --engine ray"),
    Line("study run paper-compare --out {tmp}/o", "--sweep DIR"),
    Line("study run paper-sweep --out {tmp}/o --until-decided", "compares no rules"),
    Line("study run pid-grid --out {tmp}/o --until-decided", "compare by another score"),
    Line("study run quickstart --out {tmp}/o --error 0.1", "add --until-decided"),
    Line("study run quickstart --out {tmp}/o --until-decided --error 1", "between 0 and 1"),
    Line("study run quickstart --out {tmp}/o --until-decided --most-seeds 3", "allow more"),
    Line("study run quickstart --out {tmp}/o --until-decided --score x", "--score cannot be 'x'"),
    Line("study run {toml} --out {tmp}/o --members 0", "members is 0"),
    Line("study merge {study} --out {tmp}/m", "at least two studies"),
    Line("study status {tmp}", "is not a study"),
    Line("analyze nowhere", "is not a study: it is not a directory"),
    Line(f"play {TASK} --out {{tmp}}/a.bmp", ".png"),
    Line(f"play {TASK} --policy {{tmp}} --out {{tmp}}/a.png", "policy"),
    Line("parity --golden {tmp}", "{tmp}"),
    Line("import omnisafe {tmp} --out {tmp}/o", "holds no OmniSafe log"),
    Line("import omnisafe nowhere --out {tmp}/o", "is not a folder"),
    Line(f"analyze {'n' * 300}", "is too long for a file"),
    Line(f"train {TASK} --out {{tmp}}/{'n' * 300}", "is too long for a file"),
    Line(f"study merge a {'n' * 300} --out {{tmp}}/o", "is too long for a file"),
)


class Toml(NamedTuple):
    """A bad study file."""

    name: str
    text: str
    words: str


GOOD = f"""
tasks = ["{TASK}"]
seeds = 2
steps = 6000
[learner]
steps_per_epoch = 2000
hidden = [16, 16]
passes = 2
[chunk]
epochs = 1
share = 1.0
[[stages]]
name = "sweep"
lambdas = [0.1, 1.0]
"""


def _with(old: str, new: str) -> str:
    assert old in GOOD
    return GOOD.replace(old, new)


TOMLS = (
    Toml("no TOML", "tasks = [", "is not valid TOML"),
    Toml("empty", "", "has no runs"),
    Toml("unknown key", _with("seeds", "sedes"), "did you mean 'seeds'?"),
    Toml("key of a table", _with("seeds", "passes = 3\nseeds"), "it belongs into [learner]"),
    Toml("unknown task", _with(TASK, "SafetyPointCircle2-v0"), "did you mean"),
    Toml("task twice", _with(f'"{TASK}"', f'"{TASK}", "{TASK}"'), "is there twice"),
    Toml("seed twice", _with("seeds = 2", "seeds = [1, 1]"), "seed 1 is there twice"),
    Toml(
        "large seed",
        _with("seeds = 2", "seeds = [3000000000]"),
        "seed 3000000000 must lie in [0, 2**31)",
    ),
    Toml("negative seed", _with("seeds = 2", "seeds = [-1]"), "seed -1 must lie in [0, 2**31)"),
    Toml("seeds as text", _with("seeds = 2", 'seeds = "two"'), "seeds must be a list"),
    Toml(
        "seeds as a truth",
        _with("seeds = 2", "seeds = true"),
        "seeds is True, but must be a whole number",
    ),
    Toml("no seeds", _with("seeds = 2", "seeds = 0"), "has no runs"),
    Toml("many seeds", _with("seeds = 2", f"seeds = {HUGE}"), "do not fit into memory; at most"),
    Toml("more seeds", _with("seeds = 2", f"seeds = {BEYOND}"), "do not fit into memory; at most"),
    Toml("half a step", _with("6000", "6000.5"), "steps is 6000.5, but must be a whole number"),
    Toml("few steps", _with("6000", "60"), "less than one epoch"),
    Toml("many steps", _with("6000", str(BEYOND)), "lower steps"),
    Toml("no members", _with("seeds", "members = 0\nseeds"), "members is 0"),
    Toml("wide nets", _with("[16, 16]", "[100000, 100000]"), "lower the learner's hidden"),
    Toml(
        "wide nets, packed",
        _with("[16, 16]", "[100000, 100000]").replace("seeds", "members = 2\nseeds"),
        "lower",
    ),
    Toml("no lambdas", _with("lambdas = [0.1, 1.0]", ""), "has no runs: give it lambdas"),
    Toml("negative lambda", _with("[0.1, 1.0]", "[-1.0]"), "a lambda below 0"),
    Toml(
        "dense lambdas",
        _with("[0.1, 1.0]", f"{{from = 0.1, to = 1, count = {HUGE}}}"),
        "has room for",
    ),
    Toml("one-sided lambdas", _with("[0.1, 1.0]", "{from = 0.1, to = 1}"), "from, to and count"),
    Toml("limits without rules", GOOD + "limits = [10]\n", "no rule that uses them"),
    Toml("rules without limits", GOOD + "rules = [{rule = 'ga'}]\n", "no limits"),
    Toml("unknown rule", GOOD + "limits = [10]\nrules = [{rule = 'gd'}]\n", "rule = one of"),
    Toml(
        "unknown setting",
        GOOD + "limits = [10]\nrules = [{rule = 'ga', rate = 1}]\n",
        "unknown key 'rate'",
    ),
    Toml(
        "limits of two", GOOD + "limits = [[10, 20]]\nrules = [{rule = 'ga'}]\n", "1 constraint(s)"
    ),
    Toml(
        "no such sweep", GOOD + "limits = [10]\nlambda_star = 'swep'\n", "that is not in this plan"
    ),
    Toml("chunk of nothing", _with("epochs = 1", "epochs = 0"), "must be positive"),
)


class Damage(NamedTuple):
    """A file of a study that was spoilt, and what is asked of the study then."""

    file: str  # glob within the study; the first that matches
    how: str  # one of HOWS
    argv: str
    words: str
    code: int = 2


def _cut(data: bytes) -> bytes:
    return data[: min(300, len(data) // 2)]


def _garble(data: bytes) -> bytes:
    """The inside replaced, both ends as they were."""
    end = min(64, len(data) // 4)
    inside = bytes(7 * i % 251 for i in range(len(data) - 2 * end))
    return data[:end] + inside + data[-end:]


HOWS = {
    "cut": _cut,
    "empty": lambda data: b"",
    "noise": lambda data: b"\xff" * len(data),
    "garbled": _garble,
}
READERS = (
    "analyze {study}",
    "report {study} --out {tmp}/r.html",
    "figures {study} --out {tmp}/f",
    "study export {study} --csv {tmp}/c",
    "study merge {study} {twin} --out {tmp}/m",
)
NEXT = "restore it from a copy"
DAMAGES = (
    *(Damage("metrics/*/*.parquet", "cut", argv, NEXT) for argv in READERS),
    *(Damage("runs/*.parquet", "cut", argv, NEXT) for argv in READERS),
    Damage("metrics/*/*.parquet", "empty", "analyze {study}", NEXT),
    Damage("metrics/*/*.parquet", "noise", "analyze {study}", NEXT),
    Damage("metrics/*/*.parquet", "garbled", "analyze {study}", NEXT),
    Damage("metrics/*/*.parquet", "garbled", "study merge {study} {twin} --out {tmp}/m", NEXT),
    Damage("metrics/*/*.parquet", "cut", "compare-paper {study}", NEXT),
    Damage("metrics/*/*.parquet", "cut", "study status {study}", NEXT, 0),
    Damage("metrics/*/*.parquet", "cut", "study status {study} --json", NEXT, 0),
    Damage("runs/*.parquet", "empty", "analyze {study}", NEXT),
    Damage("runs/*.parquet", "noise", "study status {study}", NEXT),
    Damage("runs/*.parquet", "cut", "study run {toml} --out {study} --resume", NEXT),
    Damage("manifest.json", "cut", "analyze {study}", "manifest.json"),
    Damage("manifest.json", "empty", "study status {study}", "manifest.json"),
    Damage("manifest.json", "noise", "report {study} --out {tmp}/r.html", "manifest.json"),
    Damage("units/*.json", "cut", "study status {study}", "restore it from a copy"),
)
POLICIES = (  # only of a real training
    Damage("policies/*/policy.npz", "cut", "evaluate {study} --episodes 1", "is damaged"),
    Damage("policies/*/policy.npz", "noise", "evaluate {study} --episodes 1", "is damaged"),
    Damage("policies/*/policy.json", "cut", "evaluate {study} --episodes 1", "cannot read"),
    Damage("policies/*/policy.json", "empty", "evaluate {study} --episodes 1", "cannot read"),
)
