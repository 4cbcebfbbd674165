"""Studies of a task with two constraints made up from a known truth: to check the joint lambda*.

The truth is the constrained problem whose policy is two numbers a and b: return -(1 - a)^2 -
(1 - b)^2, first cost a^2 + b^2, second cost b^2, all times a scale. Under the multipliers p and q
the best is a = 1 / (1 + p) and b = 1 / (1 + p + q), so either multiplier moves both costs.
"""

import itertools
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from saddle.analysis.simulate import curves_of, row_of
from saddle.study.columns import RUNS

CALLED = ("both", "second")


@dataclass(frozen=True)
class TwoCosts:
    """The truth at a scale of its costs and returns."""

    task: str = "TwoCosts-v0"
    scale: float = 100.0
    noise: float = 0.1
    """SD over seeds: of a cost as a share of it, of the return as a share of the scale."""

    def costs(self, lambdas: np.ndarray) -> np.ndarray:
        """Expected costs [..., 2] at multipliers [..., 2]."""
        a, b = self._best(lambdas)
        return self.scale * np.stack([a**2 + b**2, b**2], -1)

    def returns(self, lambdas: np.ndarray) -> np.ndarray:
        """Expected returns [...] at multipliers [..., 2]."""
        a, b = self._best(lambdas)
        return -self.scale * ((1 - a) ** 2 + (1 - b) ** 2)

    def lambda_star(self, limits: Sequence[float]) -> tuple[float, float]:
        """Both multipliers at the optimum: 0 for a limit that does not bind."""
        first, second = (limit / self.scale for limit in limits)
        b = min(np.sqrt(second), 1.0)
        if 1 + b**2 <= first:  # the first limit does not bind
            return 0.0, 1 / b - 1
        if 2 * b**2 >= first:  # the second does not
            return float(1 / np.sqrt(first / 2) - 1), 0.0
        a = np.sqrt(first - b**2)
        return float(1 / a - 1), float(1 / b - 1 / a)

    def frontier(self, cost: np.ndarray, second: float) -> np.ndarray:
        """Return that the first cost buys while the second keeps its limit."""
        b = np.sqrt(np.minimum(cost / 2, second) / self.scale)
        a = np.sqrt(cost / self.scale - b**2)
        return -self.scale * ((1 - a) ** 2 + (1 - b) ** 2)

    def _best(self, lambdas: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return 1 / (1 + lambdas[..., 0]), 1 / (1 + lambdas.sum(-1))


def simulate_two(
    truth: TwoCosts,
    rng: np.random.Generator,
    axes: Sequence[Iterable[float]],
    limits: Sequence[tuple[float, float]] = (),
    seeds: int = 5,
    epochs: int = 20,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Runs and metrics of a grid of lambdas, and of gradient ascent that ends at the optimum of
    each of the limits.
    """
    rows = []
    lambdas = []  # of each run, at its end
    for pair, seed in itertools.product(itertools.product(*axes), range(seeds)):
        rows.append(_row(truth, "sweep", "fixed", pair, None, seed))
        lambdas.append(pair)
    for limit, seed in itertools.product(limits, range(seeds)):
        rows.append(_row(truth, "compare", "ga", None, limit, seed))
        lambdas.append(truth.lambda_star(limit))
    schema = {**RUNS, "lambda_1": pl.Float64, "limit_1": pl.Float64}
    number = pl.int_range(pl.len()).cast(pl.String).str.zfill(5)
    runs = pl.DataFrame(rows, schema=schema).with_columns(
        run=pl.concat_str(pl.lit("r"), number), steps=pl.lit(20_000 * epochs)
    )
    return runs, _metrics(truth, runs, np.array(lambdas), rng, epochs)


def _row(
    truth: TwoCosts,
    stage: str,
    rule: str,
    lambdas: tuple[float, ...] | None,
    limits: tuple[float, float] | None,
    seed: int,
) -> dict:
    lam, lam_1 = lambdas or (None, None)
    limit, limit_1 = limits or (None, None)
    row = row_of(truth.task, stage, rule, lam, limit, seed)
    names = json.dumps({"constraints": CALLED})
    return row | {"lambda_1": lam_1, "limit_1": limit_1, "params": names}


def _metrics(
    truth: TwoCosts,
    runs: pl.DataFrame,
    lambdas: np.ndarray,
    rng: np.random.Generator,
    epochs: int,
) -> pl.DataFrame:
    """Curves that settle at the truth and its noise; lambdas [runs, 2]."""
    sigma = np.sqrt(np.log1p(truth.noise**2))
    factors = np.exp(sigma * rng.normal(size=lambdas.shape) - sigma**2 / 2)
    costs = truth.costs(lambdas) * factors
    noise = truth.noise * truth.scale / 10 * rng.normal(size=len(lambdas))
    returns = truth.returns(lambdas) + noise
    curves = []
    for i in range(2):
        finals = np.stack([returns, costs[:, i], lambdas[:, i]], -1)
        curves.append(curves_of(runs, finals, rng, epochs))
    second = curves[1].select(cost_1="cost", lambda_1="lambda")
    return pl.concat([curves[0], second], how="horizontal")
