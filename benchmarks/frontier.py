"""How near a frontier comes to the true one: means that fall with lambda beside LOWESS and beside
the means alone.

    python benchmarks/frontier.py [--studies 100]

Each simulated study is a sweep of a made-up task whose frontier is known: one with a cliff, as
Circle1 has, and three smooth ones. It has the quickstart's 7 lambdas or the published 25, and 3, 5
or 10 seeds. Printed as a Markdown table, in per cent of the frontier's span of return, at three or
four costs a task: the bias that is farthest from 0 and the root mean square error, and the share of
studies whose 95 % band holds the true return.

- falling: what `saddle analyze` draws. The nearest means over seeds that do not rise with lambda,
  joined by lines.
- smoothed: LOWESS of return and of cost over log lambda, corrected once, then the nearest profile
  that falls.
- means: the undominated ones of all means over seeds, joined by lines. The best of many noisy means
  is too good.
"""

import argparse
import itertools
import sys
from collections import defaultdict
from collections.abc import Callable

import numpy as np

from saddle.analysis import frontier as pareto
from saddle.analysis import profile as prof
from saddle.analysis.bootstrap import interval
from saddle.analysis.geometry import geometry
from saddle.analysis.options import Options
from saddle.analysis.simulate import CLIFF, LAMBDAS, TRUTHS, Truth, sweep_finals
from saddle.study.presets import QUICKSTART

SHARED = 0.5  # of a seed's variance, by all its lambdas
SEEDS = (3, 5, 10)
REPLICATES = 300


def falling(sweep: prof.Sweep, options: Options) -> prof.Fits:
    """What the analysis reads frontiers from."""
    return geometry(sweep, options).points


def smoothed(sweep: prof.Sweep, options: Options) -> prof.Fits:
    """LOWESS first, then isotonic regression along the grid."""
    means = prof.group_means(sweep, options)
    curves = prof.smoothed(sweep, means, prof.even_grid(means, options), options)
    alike = np.ones(options.grid)
    returns, costs = (prof.falling(curve, alike, []) for curve in (curves.returns, curves.costs))
    return prof.Fits(curves.lambdas, curves.axis, returns, costs)


def means(sweep: prof.Sweep, options: Options) -> prof.Fits:
    """The means as they are."""
    return prof.group_means(sweep, options)


ESTIMATORS: dict[str, Callable[[prof.Sweep, Options], prof.Fits]] = {
    "falling": falling,
    "smoothed": smoothed,
    "means": means,
}


def simulated(truth: Truth, lambdas: np.ndarray, seeds: int, number: int) -> prof.Sweep:
    """One study's sweep."""
    rng = np.random.default_rng([number, seeds, len(lambdas)])
    finals = sweep_finals(truth, rng, seeds, lambdas, SHARED).reshape(len(lambdas), seeds, 3)
    return prof.Sweep(lambdas, np.arange(seeds), finals[..., 0], finals[..., 1])


def errors(truth: Truth, fits: prof.Fits) -> np.ndarray:
    """Error of the return in units of its span, and whether its band holds the truth: [2,
    limits].
    """
    limits = np.array(truth.limits)
    true = truth.gain(limits)
    span = np.ptp(truth.returns(LAMBDAS))
    own = pareto.trace(fits.costs.value, fits.returns.value)
    replicates = pareto.traces(fits.costs.replicates, fits.returns.replicates)
    lo, hi = interval(pareto.returns_at(replicates, limits), 0.95)
    known = np.isfinite(lo)
    held = np.where(known, (lo <= true) & (true <= hi), np.nan)
    return np.stack([(pareto.return_at(own, limits) - true) / span, held])


def summary(found: list[np.ndarray]) -> tuple[float, float, float]:
    """Farthest bias, RMSE and coverage of tasks, each [studies, 2, limits]."""
    bias = np.concatenate([np.nanmean(task[:, 0], axis=0) for task in found])
    square = np.concatenate([np.nanmean(task[:, 0] ** 2, axis=0) for task in found])
    held = np.concatenate([np.nanmean(task[:, 1], axis=0) for task in found])
    return float(bias[np.abs(bias).argmax()]), float(np.sqrt(square.mean())), float(held.mean())


def row(truths: tuple[Truth, ...], lambdas: np.ndarray, seeds: int, studies: int) -> str:
    """The cells of one line of the table: each estimator on the same studies."""
    found: dict[str, list[np.ndarray]] = defaultdict(list)
    options = Options(replicates=REPLICATES)
    for truth in truths:
        sweeps = [simulated(truth, lambdas, seeds, number) for number in range(studies)]
        for name, estimator in ESTIMATORS.items():
            found[name].append(
                np.stack([errors(truth, estimator(sweep, options)) for sweep in sweeps])
            )
    cells = []
    for name in ESTIMATORS:
        bias, rmse, held = summary(found[name])
        cells.append(f"{100 * bias:+.1f} | {100 * rmse:.1f} | {100 * held:.0f}")
    return " | ".join(cells)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--studies", type=int, default=100)
    studies = parser.parse_args().studies
    names = " | ".join(f"{name}: bias | RMSE | held" for name in ESTIMATORS)
    print(f"| truth | lambdas | seeds | {names} |")
    print("|---" * (3 + 3 * len(ESTIMATORS)) + "|")
    kinds = {"cliff": (CLIFF,), "smooth": TRUTHS}
    grids = (np.array(QUICKSTART.stages[0].lambdas), LAMBDAS)
    for (kind, truths), lambdas, seeds in itertools.product(kinds.items(), grids, SEEDS):
        print(
            f"| {kind} | {len(lambdas)} | {seeds} | {row(truths, lambdas, seeds, studies)} |",
            flush=True,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
