"""Try everything that a person, a disk or a signal can do to Saddle, with real processes.

    python benchmarks/abuse.py [--only KIND ...] [--keep DIR]

Bad command lines and study files, damaged files, closed and full outputs, full disks, read-only and
odd places, signals. tests/abuses.py holds the first three as data. Prints a line per kind, and what
went wrong below it. Exits with 1 on any traceback, wrong exit code, more than one line of
complaint, lost row or leftover process. Takes some minutes.

Full disks and read-only places are mounts, which take root: without it they are skipped, with a
line that says so.
"""

import argparse
import contextlib
import dataclasses
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import polars as pl

import saddle

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from abuses import DAMAGES, GOOD, HOWS, LINES, POLICIES, TASK, TOMLS, Damage

SADDLE = (sys.executable, "-m", "saddle")
PATIENCE = 300.0  # seconds for one command
SMALL = "--learner.steps-per-epoch 2000 --learner.hidden 16 16 --learner.passes 2"
EPOCHS = 80
TRAINING = f"train {TASK} --seeds 2 --steps {EPOCHS * 2000} {SMALL}"
ROWS = 2 * EPOCHS
KINDS: dict[str, Callable[["Bench"], Iterator["Try"]]] = {}


@dataclasses.dataclass
class Done:
    """A process that ended."""

    code: int
    out: str
    err: str
    left: list[int]  # processes that it left behind


@dataclasses.dataclass
class Try:
    """One abuse, and what was wrong with the answer; nothing, if all is well."""

    name: str
    faults: list[str]


class Skipped(Exception):
    """Why a kind cannot be tried here."""


class Bench:
    """A folder to play in, with a finished study, its twin and a finished training."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.environment = {**os.environ, "JAX_COMPILATION_CACHE_DIR": str(root / "compiled")}
        self.toml, self.study, self.twin, self.whole = (
            root / name for name in ("good.toml", "s", "twin", "whole")
        )

    def prepare(self) -> None:
        """Make what the abuses need."""
        self.toml.write_text(GOOD)
        for out in (self.study, self.twin):
            self.must(f"study run {self.toml} --out {out}")
        self.must(f"{TRAINING} --out {self.whole}")

    def folder(self) -> Path:
        """A new, empty folder."""
        return Path(tempfile.mkdtemp(dir=self.root))

    def words(self, study: Path | None = None) -> dict[str, str]:
        """What the names in braces stand for, with a new folder for {tmp}."""
        places = {
            "study": study or self.study,
            "twin": self.twin,
            "toml": self.toml,
            "tmp": self.folder(),
        }
        return {name: str(place) for name, place in places.items()}

    def start(self, argv: str, **options) -> subprocess.Popen:
        """A process in a session of its own, by which what it leaves behind is found."""
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        settings = {
            "cwd": self.root,
            "env": self.environment,
            "text": True,
            "start_new_session": True,
        }
        return subprocess.Popen([*SADDLE, *shlex.split(argv)], **{**pipes, **settings, **options})

    def call(self, argv: str, **options) -> Done:
        """Run it to its end."""
        return ended(self.start(argv, **options))

    def must(self, argv: str) -> None:
        """Run what has to work for the rest to mean anything."""
        done = self.call(argv)
        if done.code != 0:
            sys.exit(f"cannot prepare: saddle {argv} ended with {done.code}\n{done.out}{done.err}")


def ended(process: subprocess.Popen) -> Done:
    """What the process said, once it is over. One that never ends is killed, which its code
    tells.
    """
    try:
        out, err = process.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
    return Done(process.returncode, out or "", err or "", leftovers(process.pid))


def leftovers(session: int) -> list[int]:
    """Processes of that session that still live after a moment."""
    for _ in range(20):
        pids = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]
        found = [pid for pid in pids if _session(pid) == session]
        if not found:
            return []
        time.sleep(0.1)
    return found


def _session(pid: int) -> int | None:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else int(fields[3])


def faults(done: Done, code: int, words: str = "", one_line: bool = True) -> list[str]:
    """What is wrong with an answer that should have this exit code and, on stderr or stdout, these
    words.
    """
    found = []
    if done.code != code:
        found.append(f"exit code {done.code}, not {code}: {(done.err or done.out)[-300:]!r}")
    if "Traceback" in done.out + done.err or "Exception ignored" in done.err:
        found.append(f"a traceback: {done.err[-300:]!r}")
    if words not in done.err + done.out:
        found.append(f"no {words!r} in {(done.err or done.out)[-300:]!r}")
    if (
        code == 2
        and one_line
        and (done.err.count("\n") != 1 or not done.err.startswith("saddle: error: "))
    ):
        found.append(f"not one line: {done.err[-300:]!r}")
    if done.left:
        found.append(f"leaves processes {done.left}")
    return found


def rows_lost(study: Path, whole: Path) -> list[str]:
    """How the metrics and policies of a study differ from those of one that was left in peace."""
    one, two = saddle.open_study(study), saddle.open_study(whole)
    found = []
    if one.metrics.height != two.metrics.height:
        found.append(f"{one.metrics.height} rows, not {two.metrics.height}")
    elif not one.metrics.equals(two.metrics, null_equal=True):
        found.append("metrics differ")
    drop = pl.exclude("unit")
    if not one.runs.select(drop).equals(two.runs.select(drop), null_equal=True):
        found.append("runs differ")
    for run in two.runs["run"]:
        file = one.policy_folder(run) / "policy.npz"
        if (
            not file.exists()
            or file.read_bytes() != (two.policy_folder(run) / "policy.npz").read_bytes()
        ):
            found.append(f"the policy of {run} differs")
    return found


def kind(function: Callable[[Bench], Iterator[Try]]) -> Callable[[Bench], Iterator[Try]]:
    """Register a kind of abuse under the function's name."""
    KINDS[function.__name__.replace("_", "-")] = function
    return function


def at_once(tries: list[Callable[[], Try]]) -> Iterator[Try]:
    """Independent abuses, as many at a time as there are cores."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        yield from pool.map(lambda one: one(), tries)


@kind
def command_lines(bench: Bench) -> Iterator[Try]:
    def one(line) -> Try:
        words = bench.words()
        done = bench.call(line.argv.format(**words), cwd=words["tmp"])
        found = faults(done, 2, line.words.format(**words))
        written = [file.name for file in Path(words["tmp"]).iterdir()]
        return Try(line.argv, [*found, *([f"wrote {written}"] if written else [])])

    yield from at_once([lambda line=line: one(line) for line in LINES])


@kind
def study_files(bench: Bench) -> Iterator[Try]:
    def one(toml) -> Try:
        folder = bench.folder()
        (folder / "bad.toml").write_text(toml.text)
        done = bench.call(f"study run {folder}/bad.toml --out {folder}/o")
        found = faults(done, 2, toml.words)
        return Try(toml.name, [*found, *(["wrote a study"] if (folder / "o").exists() else [])])

    yield from at_once([lambda toml=toml: one(toml) for toml in TOMLS])


@kind
def damaged_files(bench: Bench) -> Iterator[Try]:
    def one(damage: Damage) -> Try:
        study = bench.folder() / "s"
        shutil.copytree(bench.study, study)
        file = next(iter(sorted(study.glob(damage.file))))
        file.write_bytes(HOWS[damage.how](file.read_bytes()))
        done = bench.call(damage.argv.format(**bench.words(study)))
        return Try(
            f"{damage.how} {damage.file}, {damage.argv}", faults(done, damage.code, damage.words)
        )

    yield from at_once([lambda damage=damage: one(damage) for damage in (*DAMAGES, *POLICIES)])


@kind
def damaged_checkpoints(bench: Bench) -> Iterator[Try]:
    """A training that was stopped, with the newest checkpoint, or both, spoilt."""
    out = bench.folder() / "o"
    stopped = interrupted(bench, out, signal.SIGTERM)
    yield Try("stopped", faults(stopped, 128 + signal.SIGTERM))
    spoilt = sorted((out / "checkpoints").glob("*.safetensors"))
    both = bench.folder() / "o"
    shutil.copytree(out, both)
    for file in spoilt:
        file.write_bytes(b"\xff" * 1000)
    resumed = bench.call(f"{TRAINING} --out {out} --resume")
    yield Try(
        "the newest spoilt",
        [*faults(resumed, 0, "going on from the checkpoint"), *rows_lost(out, bench.whole)],
    )
    for file in (both / "checkpoints").iterdir():
        file.write_bytes(b"\xff" * 1000)
    refused = bench.call(f"{TRAINING} --out {both} --resume")
    yield Try("both spoilt", faults(refused, 1, "to start anew: rm "))
    command = refused.out.partition("to start anew: ")[2].partition(", then")[0]
    subprocess.run(command or "false", shell=True, check=False)
    again = bench.call(f"{TRAINING} --out {both} --resume")
    yield Try(
        "both spoilt, and what the line says", [*faults(again, 0), *rows_lost(both, bench.whole)]
    )


@kind
def outputs(bench: Bench) -> Iterator[Try]:
    """Standard output and error: full, closed, or with a reader that leaves."""
    shell = " ".join(map(shlex.quote, SADDLE))
    training = f"{TRAINING} --out {bench.folder()}/o"
    cases = (
        ("tasks > /dev/full", 2, "No space left"),
        ("tasks --json > /dev/full", 2, "No space left"),
        ("--version > /dev/full", 2, "No space left"),
        ("train --help > /dev/full", 2, "No space left"),
        (f"study status {bench.study} > /dev/full", 2, "No space left"),
        (f"{training} > /dev/full", 2, "No space left"),
        (f"analyze {bench.study} > /dev/full", 2, "No space left"),
        ("tasks >&-", 2, "standard output is closed"),
        (f"study run {bench.toml} --out {bench.folder()}/o >&-", 2, "standard output is closed"),
        ("tasks 2>&-", 0, "SafetyPointGoal1-v0"),
        ("tasks 0<&- 2>&-", 0, "SafetyPointGoal1-v0"),
    )
    for line, code, words in cases:
        done = ended(_shell(bench, f"{shell} {line}"))
        yield Try(line, faults(done, code, words))
    for line in ("plya 2>&-", "plya 2>/dev/full", "tasks >&- 2>&-"):
        yield Try(line, faults(ended(_shell(bench, f"{shell} {line}")), 2, one_line=False))
    for line in (
        "tasks --json | true",
        f"study status {bench.study} | true",
        "train --help | true",
    ):
        done = ended(_shell(bench, f"set -o pipefail; {shell} {line}"))
        quiet = [] if done.err == "" else [f"says {done.err[-300:]!r}"]
        found = [
            fault
            for fault in faults(done, done.code)
            if done.code not in (0, 141) or "exit" not in fault
        ]
        yield Try(line, [*found, *quiet])
    plain = {**bench.environment, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    for line in ("train --help", "tasks", f"analyze {bench.study}"):
        yield Try(f"{line}, in ASCII", faults(bench.call(line, env=plain), 0))


def _shell(bench: Bench, line: str) -> subprocess.Popen:
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(
        ["bash", "-c", line], cwd=bench.root, env=bench.environment, start_new_session=True, **pipes
    )


WRITERS = (
    f"{TRAINING} --out {{place}}/o",
    "study run {toml} --out {place}/o",
    "study merge {study} {twin} --out {place}/o",
    "study export {study} --csv {place}/o",
    "figures {study} --out {place}/o",
    "report {study} --out {place}/o.html",
    "export {study} --run PointCircle1-ppo-fixed-1-s0 --out {place}/o",
    f"play {TASK} --steps 5 --out {{place}}/o.png",
    f"play {TASK} --steps 5 --out {{place}}/o.gif",
    f"import omnisafe {Path(__file__).parent.parent}/tests/data/omnisafe_logs --out {{place}}/o",
)


@kind
def read_only_places(bench: Bench) -> Iterator[Try]:
    place = bench.folder()
    with mounted(place, "mount", "--bind", str(place), str(place)):
        remount(place, "remount,bind,ro")
        for argv in WRITERS:
            done = bench.call(argv.format(**bench.words(), place=place))
            yield Try(f"read-only: {argv}", faults(done, 2, str(place)))
    place = bench.folder()
    shutil.copytree(bench.study, place / "s")
    with mounted(place, "mount", "--bind", str(place), str(place)):
        remount(place, "remount,bind,ro")
        for argv in ("study status {study}", "analyze {study}", "evaluate {study} --episodes 1"):
            yield Try(
                f"a study to read only: {argv}",
                faults(bench.call(argv.format(study=place / "s")), 0),
            )
        resumed = bench.call(f"study run {bench.toml} --out {place}/s --resume")
        yield Try("a study to read only: resume", faults(resumed, 2, str(place)))


@kind
def full_disks(bench: Bench) -> Iterator[Try]:
    for argv in WRITERS:
        place = bench.folder()
        with mounted(place, "mount", "-t", "tmpfs", "-o", "size=4k", "none", str(place)):
            words = bench.words()
            done = bench.call(argv.format(**words, place=place))
            resume = argv.startswith("train") and "--resume" in done.err
            advice = ["advises --resume"] if "--resume" in done.err and not resume else []
            yield Try(f"full: {argv}", [*faults(done, 2, str(place)), *advice])
    place = bench.folder()
    with mounted(place, "mount", "-t", "tmpfs", "-o", "size=300k", "none", str(place)):
        stopped = bench.call(f"{TRAINING} --out {place}/o")
        yield Try("a disk that fills", faults(stopped, 2, "--resume"))
        remount(place, "remount,size=50m")
        resumed = bench.call(f"{TRAINING} --out {place}/o --resume")
        lost = rows_lost(place / "o", bench.whole) if resumed.code == 0 else []
        yield Try("and is emptied", [*faults(resumed, 0), *lost])


@contextlib.contextmanager
def mounted(place: Path, *command: str) -> Iterator[None]:
    """A mount for a while."""
    if subprocess.run(command, capture_output=True).returncode != 0:
        raise Skipped(f"{command[0]} is not allowed here: run this as root")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


def remount(place: Path, options: str) -> None:
    subprocess.run(["mount", "-o", options, str(place)], check=True, capture_output=True)


@kind
def odd_places(bench: Bench) -> Iterator[Try]:
    folder = bench.folder()
    file, full, loop = folder / "file", folder / "full", folder / "loop"
    file.write_text("hello")
    full.mkdir()
    (full / "mine").write_text("mine")
    loop.symlink_to(loop)
    long = folder / ("n" * 300)
    for out in (file, file / "o", full, loop, long):
        for argv in (
            f"{TRAINING} --out",
            f"study run {bench.toml} --out",
            f"study merge {bench.study} {bench.twin} --out",
        ):
            yield Try(
                f"{argv} {out.name[:20]}", faults(bench.call(f"{argv} {shlex.quote(str(out))}"), 2)
            )
    for out in (full, file / "r.html", long):
        yield Try(
            f"report --out {out.name[:20]}",
            faults(bench.call(f"report {bench.study} --out {out}"), 2),
        )
    for out in (file, file / "f", loop, long):
        yield Try(
            f"figures --out {out.name[:20]}",
            faults(bench.call(f"figures {bench.study} --out {out}"), 2),
        )
        yield Try(
            f"export --csv {out.name[:20]}",
            faults(bench.call(f"study export {bench.study} --csv {out}"), 2),
        )
    for path in (file, file / "o", loop, long, full):
        yield Try(f"analyze {path.name[:20]}", faults(bench.call(f"analyze {path}"), 2))
    if (full / "mine").read_text() != "mine" or file.read_text() != "hello":
        yield Try("files that were there", ["were written to"])
    there = bench.call(f"study run {bench.toml} --out {bench.study}")
    yield Try("a study that is there", faults(there, 2, "add --resume"))
    another = bench.call(f"{TRAINING} --out {bench.study} --resume")
    yield Try("another study that is there", faults(another, 2, "another plan"))
    odd = folder / "Grüße an λ; $(rm) 'x'"
    done = bench.call(f"study run {bench.toml} --out {shlex.quote(str(odd))}")
    yield Try("blanks, signs and letters", [*faults(done, 0), *rows_lost(odd, bench.study)])
    gone = bench.folder()
    done = ended(
        _shell(bench, f"cd {gone} && rmdir {gone} && {' '.join(SADDLE)} {TRAINING} --out o")
    )
    yield Try("a folder that is gone", faults(done, 2))


def interrupted(bench: Bench, out: Path, number: int, times: int = 1) -> Done:
    """A training that gets a signal once it has saved something, or two in a row."""
    process = bench.start(f"{TRAINING} --out {out}")
    while not list((out / "checkpoints").glob("*.safetensors.prev")) and process.poll() is None:
        time.sleep(0.02)
    for _ in range(times):
        process.send_signal(number)
        time.sleep(0.05)
    return ended(process)


@kind
def signals(bench: Bench) -> Iterator[Try]:
    for number, times, codes in (
        (signal.SIGINT, 1, (130,)),
        (signal.SIGTERM, 1, (143,)),
        (signal.SIGINT, 2, (130, -2)),  # the second may come while the process leaves
        (
            signal.SIGTERM,
            2,
            (-15, 143),
        ),  # the second ends it, unless both came while XLA was at work: then they are one
        (signal.SIGKILL, 1, (-9,)),
        (signal.SIGHUP, 1, (-1,)),
    ):
        out = bench.folder() / "o"
        name = f"{signal.Signals(number).name}{' twice' if times > 1 else ''}"
        done = interrupted(bench, out, number, times)
        yield Try(name, faults(done, done.code if done.code in codes else codes[0]))
        status = bench.call(f"study status {out}")
        yield Try(f"{name}, status", faults(status, 0))
        resumed = bench.call(f"{TRAINING} --out {out} --resume")
        yield Try(f"{name}, resumed", [*faults(resumed, 0), *rows_lost(out, bench.whole)])
    out = bench.folder() / "o"
    yield Try("a time limit", faults(bench.call(f"{TRAINING} --out {out} --limit-time 1s"), 3))
    resumed = bench.call(f"{TRAINING} --out {out} --resume")
    yield Try("a time limit, resumed", [*faults(resumed, 0), *rows_lost(out, bench.whole)])
    out = bench.folder() / "o"
    both = [bench.start(f"study run {bench.toml} --out {out} --resume") for _ in range(2)]
    found = [fault for process in both for fault in faults(ended(process), 0)]
    yield Try("two at once", [*found, *rows_lost(out, bench.study)])


def attempt(name: str, bench: Bench) -> bool:
    """Try a kind, and print how it went. False when anything is wrong."""
    began = time.monotonic()
    try:
        tried = list(KINDS[name](bench))
    except Skipped as why:
        print(f"{name}: skipped, {why}", flush=True)
        return True
    bad = [one for one in tried if one.faults]
    seconds = time.monotonic() - began
    print(f"{name}: {len(tried)} tried, {len(bad)} bad, {seconds:.0f} s", flush=True)
    for one in bad:
        print(f"  {one.name}", *one.faults, sep="\n    ", flush=True)
    return not bad


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", choices=KINDS, default=list(KINDS), help="these kinds")
    parser.add_argument("--keep", type=Path, help="folder to play in, which is kept")
    options = parser.parse_args()
    with contextlib.ExitStack() as stack:
        root = options.keep or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        root.mkdir(parents=True, exist_ok=True)
        bench = Bench(root.absolute())
        if not bench.whole.exists():
            bench.prepare()
        good = [attempt(name, bench) for name in options.only]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
