"""Studies made up from a known truth, in the store's two tables: to check estimates, intervals and
speed.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from saddle.multipliers import PID, Fixed, GradientAscent
from saddle.study.columns import RUNS

LAMBDAS = 10 ** np.linspace(-1, 1, 25)
RULES = (Fixed.name, GradientAscent.name, PID.name)


@dataclass(frozen=True)
class Truth:
    """A task whose expected return and cost at every lambda are known."""

    task: str
    cost: Callable[[np.ndarray], np.ndarray]
    """Expected cost of lambda; falls."""
    gain: Callable[[np.ndarray], np.ndarray]
    """Expected return of a cost, the frontier; rises."""
    limits: tuple[float, ...]
    cost_noise: float = 0.3
    """SD over seeds, as a share of the cost."""
    return_noise: float = 0.1
    """SD over seeds, as a share of the frontier's span of return."""

    def returns(self, lambdas: np.ndarray) -> np.ndarray:
        """Expected return of lambda."""
        return self.gain(self.cost(lambdas))

    def lambda_star(self, limit: float) -> float:
        """The lambda at which the expected cost is the limit, within the sweep's range."""
        fine = np.geomspace(LAMBDAS[0], LAMBDAS[-1], 20_001)
        return float(np.exp(np.interp(-limit, -self.cost(fine), np.log(fine))))


def _sigmoid(
    top: float, floor: float, steepness: float, middle: float
) -> Callable[[np.ndarray], np.ndarray]:
    return lambda lam: floor + top / (1 + np.exp(steepness * (np.log10(lam) - middle)))


BEND = Truth(
    "Bend-v0",
    _sigmoid(150, 2, 4, -0.2),
    lambda c: 50 * (1 - np.exp(-c / 15)),
    (10.0, 25.0, 60.0, 90.0),
)
"""Steep below a cost of about 20, flat above."""
STEPS = Truth(
    "Steps-v0",
    _sigmoid(500, 5, 6, 0.1),
    lambda c: 1000 + 700 * (1 - np.exp(-c / 25)) + 1.5 * c,
    (25.0, 100.0, 250.0, 400.0),
)
"""Very steep below a cost of about 50, then even."""
LINE = Truth(
    "Line-v0", lambda lam: 40 - 15 * np.log10(lam), lambda c: 5 * c - 3, (30.0, 40.0, 50.0)
)
"""One slope everywhere: no regimes."""
TRUTHS = (BEND, STEPS, LINE)
"""Smooth ones, which 25 lambdas resolve."""
CLIFF = Truth(
    "Cliff-v0",
    _sigmoid(150, 0, 16, 0.14),
    lambda c: 4 + 30 * (1 - np.exp(-c / 3)) + 0.08 * c,
    (2.5, 10.0, 25.0, 70.0),
    cost_noise=0.5,
)
"""Cost falls from 140 to 1 between the lambdas 1 and 3, and with it most of the return, as on
Circle1 in small.
"""


def simulate(
    truths: Sequence[Truth],
    rng: np.random.Generator,
    seeds: int = 10,
    epochs: int = 20,
    lambdas: np.ndarray = LAMBDAS,
    shared: float = 0.5,
    compare: bool = True,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Runs and metrics of a study. `shared` is the share of a seed's variance that all its lambdas
    have in common.
    """
    runs, finals = [], []
    for truth in truths:
        for stage_runs, stage_finals in _stages(truth, rng, seeds, lambdas, shared, compare):
            runs += stage_runs
            finals.append(stage_finals)
    frame = pl.DataFrame(runs, schema=RUNS).with_columns(
        pl.concat_str(pl.lit("r"), pl.int_range(pl.len()).cast(pl.String).str.zfill(5)).alias(
            "run"
        ),
        pl.lit(20_000 * epochs).alias("steps"),
    )
    return frame, curves_of(frame, np.concatenate(finals), rng, epochs)


def row_of(
    task: str, stage: str, rule: str, lam: float | None, limit: float | None, seed: int
) -> dict:
    """A run's row of the runs table, but for its name and length."""
    fixed = {
        "unit": f"{task}-{stage}",
        "algorithm": "ppo",
        "params": "{}",
        "status": "done",
        "reason": None,
    }
    return fixed | {
        "stage": stage,
        "task": task,
        "rule": rule,
        "lambda": lam,
        "limit": limit,
        "seed": seed,
    }


def _stages(  # noqa: ANN202
    truth: Truth,
    rng: np.random.Generator,
    seeds: int,
    lambdas: np.ndarray,
    shared: float,
    compare: bool,
):
    """Rows and final (return, cost, lambda) [runs, 3] of the sweep, then of the comparison."""
    rows = [
        row_of(truth.task, "sweep", "fixed", float(lam), None, seed)
        for lam in lambdas
        for seed in range(seeds)
    ]
    yield rows, sweep_finals(truth, rng, seeds, lambdas, shared)
    if compare:
        for limit in truth.limits[:2]:
            for rule in RULES:
                lam = truth.lambda_star(limit)
                fixed = lam if rule == "fixed" else None
                rows = [
                    row_of(truth.task, "compare", rule, fixed, limit, seed) for seed in range(seeds)
                ]
                yield (
                    rows,
                    _finals(
                        truth,
                        np.array([[limit]]),
                        np.array([[lam]]),
                        rng.normal(size=(2, 1, seeds)),
                    ),
                )


def sweep_finals(
    truth: Truth, rng: np.random.Generator, seeds: int, lambdas: np.ndarray, shared: float
) -> np.ndarray:
    """Final return, cost and lambda [lambdas * seeds, 3] of a sweep, seed by seed within each
    lambda.
    """
    own = rng.normal(size=(2, len(lambdas), seeds))
    noise = np.sqrt(shared) * rng.normal(size=(2, 1, seeds)) + np.sqrt(1 - shared) * own
    return _finals(truth, truth.cost(lambdas)[:, None], lambdas[:, None], noise)


def _finals(truth: Truth, cost: np.ndarray, lambdas: np.ndarray, noise: np.ndarray) -> np.ndarray:
    """noise [2, groups, seeds] -> [groups * seeds, 3]. Costs are lognormal around the expected
    mean: never negative.
    """
    sigma = np.sqrt(np.log1p(truth.cost_noise**2))
    costs = cost * np.exp(sigma * noise[0] - sigma**2 / 2)
    span = np.ptp(truth.returns(LAMBDAS))
    returns = truth.gain(cost) + truth.return_noise * span * noise[1]
    return np.stack([returns, costs, np.broadcast_to(lambdas, costs.shape)], -1).reshape(-1, 3)


def curves_of(
    runs: pl.DataFrame, finals: np.ndarray, rng: np.random.Generator, epochs: int
) -> pl.DataFrame:
    """Learning curves that settle at the final values long before the end; all columns of the
    store.
    """
    count = len(finals)
    time = np.arange(epochs, dtype=np.float32)
    settled = 1 - np.exp(-(time + 1) / max(epochs / 25, 0.05), dtype=np.float32)
    wobble = rng.standard_normal((2, count, epochs), dtype=np.float32)
    wobble -= wobble[..., -max(epochs // 20, 1) :].mean(-1, keepdims=True)
    final = finals.astype(np.float32)
    returns = final[:, :1] * settled + 0.03 * np.abs(final[:, :1]) * wobble[0]
    start = 1.5 * final[:, 1:2] + 5
    costs = np.maximum(
        start + (final[:, 1:2] - start) * settled + 0.03 * final[:, 1:2] * wobble[1], 0
    )
    lambdas = final[:, 2:] + (1 - final[:, 2:]) * np.where(
        runs["lambda"].is_null().to_numpy()[:, None], 1 - settled, 0
    )
    epoch = np.tile(np.arange(epochs, dtype=np.int32), count)
    filler = np.ones(count * epochs, np.float32)
    columns = {
        "run": pl.Series(runs["run"]).gather(np.repeat(np.arange(count), epochs)),
        "epoch": epoch,
        "env_steps": (epoch.astype(np.int64) + 1) * 20_000,
        "return": returns.ravel(),
        "cost": costs.ravel(),
        "length": filler * 1000,
        "episodes": np.full(count * epochs, 20, np.int32),
        "window_return": returns.ravel(),
        "window_cost": costs.ravel(),
        "window_length": filler * 1000,
        "lambda": lambdas.astype(np.float32).ravel(),
        "passes": np.full(count * epochs, 20, np.int32),
    }
    others = (
        "beta",
        "kl",
        "entropy",
        "std",
        "loss_pi",
        "loss_vr",
        "loss_vc",
        "ev_r",
        "ev_c",
        "grad_r",
        "grad_c",
    )
    return pl.DataFrame(columns | dict.fromkeys((*others, "grad_pi"), filler))
