"""How often intervals hold the truth where lambda* of two constraints is found together.

    python benchmarks/coverage_several.py [--studies 100]

Each simulated study is a grid of lambdas from 0.1 to 2.5 of a task whose joint lambda* is known
(`saddle.analysis.simulate_several`), with costs that scatter by 30 % over seeds, analysed with the
defaults at limits of which both bind, or one. Printed per grid and number of seeds: the share of
95 % intervals that hold lambda* of the constraints that bind, and the return there; the root mean
square error of log lambda*; and how often it is told which constraints bind.
"""

import argparse
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq

from saddle.analysis import Options, analyze
from saddle.analysis.findings import Estimate
from saddle.analysis.simulate_several import TwoCosts, simulate_two

LIMITS = ((69.44, 25.0), (50.0, 30.0), (150.0, 25.0))  # both bind; the first alone; the second
GRIDS, SEEDS = (4, 7, 13), (3, 5, 10)


class Row(NamedTuple):
    """One multiplier of one study."""

    held: bool
    error: float  # of log lambda*
    told: bool  # whether it binds
    return_held: bool


def holds(found: Estimate, truth: float) -> bool:
    """Whether the interval holds the truth; an open end holds everything on its side."""
    return (found.lo is None or found.lo <= truth) and (found.hi is None or truth <= found.hi)


def on_grid(truth: TwoCosts, limits: tuple[float, ...], least: float) -> np.ndarray:
    """lambda* [2] where no multiplier is below the grid's smallest: one that does not bind is
    there, and the other is best given that.
    """
    stars = np.array(truth.lambda_star(limits))
    for i in range(2):
        if stars[1 - i] == 0:

            def excess(value: float, i: int = i) -> float:
                lambdas = np.full(2, least)
                lambdas[i] = value
                return float(truth.costs(lambdas)[i] - limits[i])

            stars[i], stars[1 - i] = brentq(excess, least, 100.0), least
            break
    return stars


def study(grid: int, seeds: int, number: int) -> list[Row]:
    """The multipliers of one simulated study that bind."""
    truth = TwoCosts(noise=0.3)
    lambdas = np.geomspace(0.1, 2.5, grid)
    rng = np.random.default_rng([number, grid, seeds])
    runs, metrics = simulate_two(truth, rng, [lambdas, lambdas], seeds=seeds, epochs=2)
    findings = analyze(runs, metrics, Options(limits=LIMITS, seed=number))
    rows = []
    for found in findings.joint:
        limits = tuple(share.limit for share in found.multipliers)
        stars = on_grid(truth, limits, float(lambdas[0]))
        expected = holds(found.return_, float(truth.returns(stars)))
        for share, star in zip(found.multipliers, stars, strict=True):
            binds = star > lambdas[0]
            told = (share.status == "reached") == binds
            if binds:
                value = share.lambda_.value or share.train_at or np.nan
                held = holds(share.lambda_, star)
                rows.append(Row(held, float(np.log(value / star)), told, expected))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--studies", type=int, default=100)
    args = parser.parse_args()
    print("| grid | seeds | lambda* held | RMSE of log lambda* | return held | told who binds |")
    print("|---|---|---|---|---|---|")
    for grid in GRIDS:
        for seeds in SEEDS:
            rows = [row for number in range(args.studies) for row in study(grid, seeds, number)]
            held, error, told, expected = (np.array(column) for column in zip(*rows, strict=True))
            root = np.sqrt(np.mean(error**2))
            cells = (f"{held.mean():.0%}", f"{root:.2f}", f"{expected.mean():.0%}")
            print(f"| {grid} x {grid} | {seeds} | {' | '.join(cells)} | {told.mean():.0%} |")


if __name__ == "__main__":
    main()
