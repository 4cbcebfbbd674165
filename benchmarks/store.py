"""What the store costs, and how fast it is read, at full size.

    python benchmarks/store.py [--runs 2480] [--epochs 1750] [--members 250] [--large] [--keep DIR]

Reading: generates a study of the paper's size (8 tasks, chunks of 10 epochs), opens it, and
computes every run's final return and cost and the statistics of each lambda. The target is 5 s on 2
cores. Writing: runs a unit of 250 members whose epochs pretend to take a known time, with the
metrics, checkpoints and policies of a real study, and reports the share of the run time that went
into them. The target is 2 %. Exits with 1 when a target is missed.
"""

import argparse
import json
import shutil
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import polars as pl

import saddle
from saddle import checkpoint
from saddle.analysis.options import Options
from saddle.analysis.summary import final_values
from saddle.learners import PPO
from saddle.study import claims, presets, unit
from saddle.study.columns import metrics_frame, runs_frame
from saddle.study.packing import units
from saddle.study.plan import Chunking, Plan, Stage
from saddle.study.plan_dict import to_dict
from saddle.study.prepare import prepare, row_of
from saddle.study.stop import Stopper
from saddle.study.writer import create, manifest, write_chunk, write_runs

READ_SECONDS, STORE_SHARE = 5.0, 0.02
SCALARS = (
    "return",
    "length",
    "window_return",
    "window_length",
    "kl",
    "entropy",
    "std",
    "loss_pi",
    "loss_vr",
    "ev_r",
)
VECTORS = ("cost", "window_cost", "lambda", "beta", "loss_vc", "ev_c", "grad_c")


def random_epoch(rng: np.random.Generator, members: int, epoch: int) -> dict[str, np.ndarray]:
    floats = {
        name: rng.normal(size=members).astype(np.float32)
        for name in (*SCALARS, *VECTORS, "grad_r", "grad_pi")
    }
    counts = {"episodes": np.full(members, 20), "passes": rng.integers(1, 21, members)}
    return {**floats, **counts, "env_steps": np.full(members, (epoch + 1) * 20_000)}


def generate(path: Path, runs: int, epochs: int) -> int:
    """A study of about `runs` runs of the paper's plan. Returns how many there are."""
    plan = presets.load("paper")
    packed = units(plan, lambda task, learner: 300)
    share = max(1, round(2480 / runs))
    rng = np.random.default_rng(0)

    def fill(folder: Path) -> None:
        for name, members in packed.items():
            rows = [{**row_of(plan, name, run), "status": "done"} for run in members[::share]]
            write_runs(folder, name, runs_frame(rows))
            names = [row["run"] for row in rows]
            for start in range(0, epochs, 10):
                chunk = [
                    random_epoch(rng, len(names), e) for e in range(start, min(epochs, start + 10))
                ]
                write_chunk(
                    folder, name, start, start + len(chunk), metrics_frame(names, start, chunk)
                )

    create(path, manifest("generated", "highest", to_dict(plan)), fill)
    return sum(len(members[::share]) for members in packed.values())


def read(path: Path) -> dict[str, float]:
    began = time.perf_counter()
    study = saddle.open_study(path)
    runs = study.runs
    opened = time.perf_counter()
    finals = final_values(runs, study.scan_metrics(), Options()).frame
    table = finals.group_by("task", "rule", "lambda", "limit").agg(
        pl.len(),
        *(stat.alias(f"{name}_{what}") for name in ("return", "cost")
          for what, stat in (("mean", pl.col(name).mean()), ("sd", pl.col(name).std()))),
    )  # fmt: skip
    done = time.perf_counter()
    return {
        "open": opened - began,
        "summary": done - opened,
        "total": done - began,
        "groups": table.height,
    }


class Clock:
    """Real time, plus what the program pretends to take: a run of hours whose saves alone are
    real.
    """

    time = staticmethod(time.time)

    def __init__(self) -> None:
        self.pretended = 0.0

    def monotonic(self) -> float:
        return time.monotonic() + self.pretended


class Paced:
    """A population that pretends to take a known time per epoch, and has a state of a known
    size.
    """

    def __init__(
        self, members: int, epochs: int, seconds: float, state_bytes: int, clock: Clock
    ) -> None:
        self.members, self.epochs, self.seconds, self.weights = (
            members,
            epochs,
            seconds,
            state_bytes // 4,
        )
        self.rng, self.clock, self.busy = np.random.default_rng(0), clock, 0.0

    def init(self):
        return {"epoch": np.zeros(1, np.int64), "weights": np.zeros(self.weights, np.float32)}

    def epoch(self, state):
        began = time.monotonic()
        metrics = random_epoch(self.rng, self.members, int(state["epoch"][0]))
        for thread in threading.enumerate():
            if (
                thread.name == "checkpoint"
            ):  # is really written, so that the epoch really lasts until it is
                thread.join(self.seconds)
        self.clock.pretended += max(0.0, self.seconds - (time.monotonic() - began))
        self.busy += max(self.seconds, time.monotonic() - began)
        return {**state, "epoch": state["epoch"] + 1}, metrics

    def epoch_of(self, state):
        return int(state["epoch"][0])

    def reason(self, code):
        return str(code)

    def size(self, state):
        return sum(value.nbytes for value in state.values())

    def snapshot(self, state):
        return {name: value.copy() for name, value in state.items()}

    def save(self, path, state, facts):
        checkpoint.save(path, state, facts)

    def load(self, path):
        raise NotImplementedError

    def export(self, state, member, folder):
        np.savez(folder / "policy.npz", w0=np.zeros(self.weights // self.members // 9, np.float32))


class Silent:
    def epoch(self, done):
        return

    def say(self, text):
        print(text)


def write_share(
    folder: Path, members: int, epochs: int, seconds: float, state_bytes: int
) -> dict[str, float]:
    """Share of a unit's time, first epoch to last file, that was not the program's."""
    stage = Stage("sweep", lambdas=tuple(0.1 + i / members for i in range(members)))
    learner = PPO(steps_per_epoch=100, worlds=1)
    plan = Plan(
        "paced",
        ("SafetyPointCircle1-v0",),
        (stage,),
        (0,),
        epochs * 100,
        learner=learner,
        members=members,
    )
    study, clock = prepare(plan, folder, resume=False), Clock()
    program = Paced(members, epochs, seconds, state_bytes, clock)
    claim = claims.take(study.path, study.units()[0])
    assert claim is not None
    unit.time = clock  # type: ignore[assignment]
    with claim:
        began = clock.monotonic()
        unit.UnitRun(study, claim, lambda *_: program, Chunking(), Silent()).run(Stopper())
        took = clock.monotonic() - began
    unit.time = time
    saves = len(study.chunk_files(study.units()[0]))
    facts = {
        "epochs": epochs,
        "epoch_seconds": seconds,
        "checkpoint_mb": state_bytes / 1e6,
        "saves": saves,
    }
    return {**facts, "store_seconds": took - program.busy, "share": 1 - program.busy / took}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=2480)
    parser.add_argument("--epochs", type=int, default=1750)
    parser.add_argument("--members", type=int, default=250)
    parser.add_argument(
        "--keep",
        type=Path,
        help="generate the study here and leave it, or read the one that is here",
    )
    parser.add_argument(
        "--large",
        action="store_true",
        help="also with 2.7 GB checkpoints: needs 12 GB and a fast disk",
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        path = options.keep or Path(temporary) / "study"
        if not path.exists():
            began = time.perf_counter()
            count = generate(path, options.runs, options.epochs)
            size = sum(file.stat().st_size for file in path.rglob("*.parquet")) / 1e6
            print(
                f"generated {count} runs x {options.epochs} epochs, {size:.0f} MB: "
                f"{time.perf_counter() - began:.1f} s"
            )
        reading = [read(path) for _ in range(3)]
        cases = [(200, 3.0, options.members * 200_000)]  # nets of 64 x 64, epochs of 3 s
        if options.large:  # nets of 512 x 512 with Adam, the paper's epochs on a GPU
            cases.append((1750, 5.0, options.members * 10_800_000))
        writing = []
        for i, (epochs, seconds, size) in enumerate(cases):
            writing.append(
                write_share(Path(temporary) / f"w{i}", options.members, epochs, seconds, size)
            )
            shutil.rmtree(Path(temporary) / f"w{i}")
    print(json.dumps({"reading": reading, "writing": writing}, indent=2))
    good = min(one["total"] for one in reading) <= READ_SECONDS and all(
        one["share"] <= STORE_SHARE for one in writing
    )
    print("targets met" if good else "a target is missed")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
