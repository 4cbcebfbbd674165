"""A learner that costs nothing: a random walk per member, deterministic, with checkpoints of the
real kind.

Costs fall with lambda, so that a sweep of it has a lambda*. The environment says how it behaves,
since it is also built in other processes: FAKE_SLEEP seconds an epoch, FAKE_BREAKS the seed of
members that fail, FAKE_DIVERGES an epoch in which worlds break down, FAKE_REFUSES a task that it
does not take. LightProgram has checkpoints of its own, so that a process with it starts without
JAX.
"""

import os
import time
from pathlib import Path

import numpy as np

from saddle import files
from saddle.errors import SaddleError


class FakeProgram:
    def __init__(self, task, learner, members, steps):
        if os.environ.get("FAKE_REFUSES") == task:
            raise SaddleError(f"{task} is refused")
        self.members, self.epochs = members, steps // learner.steps_per_epoch
        self.seeds = np.array([member.seed for member in members])
        self.lambdas = np.array([np.ravel(member.rule.init)[0] for member in members])

    def init(self):
        return {"epoch": np.zeros(1, np.int64), "walk": np.zeros(len(self.members))}

    def epoch(self, state):
        time.sleep(float(os.environ.get("FAKE_SLEEP", "0")))
        epoch = int(state["epoch"][0])
        noise = np.array([np.random.default_rng([seed, epoch]).normal() for seed in self.seeds])
        walk = np.sin(state["walk"] + noise)  # depends on every step before
        failed = (self.seeds == int(os.environ.get("FAKE_BREAKS", "-1"))) & (epoch >= 2)
        metrics = {
            "return": np.where(failed, np.nan, walk),
            "cost": (40 / (1 + self.lambdas) + 0.1 * walk)[:, None],
            "lambda": self.lambdas[:, None],
            "episodes": np.full(len(walk), 20),
            "failed": failed.astype(np.int32),
        }
        if epoch == int(os.environ.get("FAKE_DIVERGES", "-1")):
            metrics["diverged"] = np.arange(len(walk))
        return {"epoch": np.array([epoch + 1]), "walk": walk}, metrics

    def epoch_of(self, state):
        return int(state["epoch"][0])

    def reason(self, code):
        return "the loss is not finite"

    def size(self, state):
        return sum(value.nbytes for value in state.values())

    def snapshot(self, state):
        return {name: value.copy() for name, value in state.items()}

    def save(self, path, state, facts):
        from saddle import checkpoint

        checkpoint.save(path, state, facts)

    def load(self, path):
        from saddle import checkpoint

        return checkpoint.load(path, like=self.init())

    def export(self, state, member, folder: Path):
        (folder / "policy.npz").write_bytes(state["walk"][member].tobytes())


class LightProgram(FakeProgram):
    def save(self, path, state, facts):
        files.write_json(
            path, {"epoch": state["epoch"].tolist(), "walk": state["walk"].tolist(), "facts": facts}
        )

    def load(self, path):
        saved = files.read_json(path)
        return {"epoch": np.array(saved["epoch"]), "walk": np.array(saved["walk"])}, saved["facts"]
