"""How often the analysis's intervals hold the truth, over simulated studies with a known frontier
and lambda*.

    python benchmarks/coverage.py [--studies 200] [--seeds 10]

Each simulated study has a sweep of 25 lambdas on three made-up tasks (a bend, steps, a line) and is
analysed by `saddle.analysis.analyze` with its defaults. Printed per task: the share of studies
whose 95 % interval holds the true value, for lambda* at each limit, the frontier's return at the
same costs, the return expected at lambda*, the limit to train at for nine seeds in ten, and the
share of the cost profile's band that holds the true cost. Exits with 1 when the mean over limits of
lambda* or of the frontier falls outside 90 to 99 %.
"""

import argparse
import json
import sys
from collections import defaultdict

import numpy as np
from scipy.special import ndtri

from saddle.analysis import Options, analyze
from saddle.analysis.findings import Estimate, LimitFinding, TaskFindings
from saddle.analysis.simulate import TRUTHS, Truth, simulate
from saddle.multipliers import Fixed

LOW, HIGH = 0.90, 0.99


def holds(found: Estimate, truth: float) -> bool:
    """Whether the interval holds the truth; an open end holds everything on its side."""
    return (found.lo is None or found.lo <= truth) and (found.hi is None or truth <= found.hi)


def holds_star(found: LimitFinding, truth: float) -> bool:
    """The same for lambda*, of which a limit outside the profile may leave only a bound, or say
    'beyond the sweep'.
    """
    bound = {
        "reached": True,
        "always below": found.lambda_.hi is not None,
        "always above": found.lambda_.lo is not None,
    }
    return bound[found.status or "reached"] and holds(found.lambda_, truth)


def check(truth: Truth, found: TaskFindings, tally: dict[str, list[bool]]) -> None:
    assert found.frontier and found.profile
    for limit in found.limits:
        best = float(truth.gain(np.array(limit.limit)))
        tally[f"lambda* at {limit.limit:g}"].append(
            holds_star(limit, truth.lambda_star(limit.limit))
        )
        tally[f"return at lambda* of {limit.limit:g}"].append(holds(limit.return_, best))
        lo, hi = (
            float(np.interp(limit.limit, found.frontier.grid, np.array(end, float)))
            for end in (found.frontier.curve.lo, found.frontier.curve.hi)
        )
        tally[f"frontier at {limit.limit:g}"].append(lo <= best <= hi)
        (margin,) = (one for one in limit.margins if one.rule == Fixed.name)
        spread = np.sqrt(np.log1p(truth.cost_noise**2))  # costs are made up lognormal
        quantile = np.exp(spread * ndtri(margin.wanted_share) - spread**2 / 2)
        stricter = limit.limit / quantile
        tally[f"training limit for {limit.limit:g}"].append(holds(margin.training_limit, stricter))
    cost = truth.cost(np.array(found.profile.lambda_))
    inside = (np.array(found.profile.cost.lo) <= cost) & (cost <= np.array(found.profile.cost.hi))
    tally["cost profile"] += inside.tolist()


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--studies", type=int, default=200)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument(
        "--shared", type=float, default=0.5, help="share of variance that a seed's lambdas share"
    )
    args = parser.parse_args()
    tallies: dict[str, dict[str, list[bool]]] = {truth.task: defaultdict(list) for truth in TRUTHS}
    for number in range(args.studies):
        rng = np.random.default_rng([number, args.seeds])
        for truth in TRUTHS:
            runs, metrics = simulate([truth], rng, args.seeds, shared=args.shared, compare=False)
            (found,) = analyze(runs, metrics, Options(limits=truth.limits, seed=number)).tasks
            check(truth, found, tallies[truth.task])
    shares = {
        task: {name: float(np.mean(hits)) for name, hits in tally.items()}
        for task, tally in tallies.items()
    }
    pooled = {
        task: {
            kind: float(np.mean([share for name, share in tally.items() if name.startswith(kind)]))
            for kind in ("lambda*", "frontier", "training limit")
        }
        for task, tally in shares.items()
    }
    print(json.dumps(vars(args) | {"coverage": shares}, indent=2))
    print(json.dumps({"mean over limits": pooled}, indent=2))
    return (
        0
        if all(
            LOW <= tally[kind] <= HIGH
            for tally in pooled.values()
            for kind in ("lambda*", "frontier")
        )
        else 1
    )


if __name__ == "__main__":
    sys.exit(main())
