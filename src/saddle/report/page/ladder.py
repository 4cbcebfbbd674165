"""Cost limits at which the report answers: plain numbers, closer together where costs are low."""

import math

COARSE = 30  # steps from 0 to the top, at most
FINE = 5  # each of the first coarse steps is cut into as many
CUT = 4  # coarse steps that are


def ladder(top: float) -> list[float]:
    """Rising limits from near 0 to just above `top`, steps of 1, 2 or 5 times a power of ten.

    Frontiers bend at low costs, so the first steps are finer. Empty when `top` is not a positive
    number.
    """
    if not (math.isfinite(top) and top > 0):
        return []
    step = _plain_step(top / COARSE)
    count = math.floor(top / step * (1 + 1e-9)) + 1
    coarse = [_plain(i * step) for i in range(1, count + 1)]
    fine = [_plain(i * step / FINE) for i in range(1, CUT * FINE)]
    return sorted({*coarse, *fine[: count * FINE]})


def _plain_step(least: float) -> float:
    tens = 10.0 ** math.floor(math.log10(least))
    return next(factor * tens for factor in (1, 2, 5, 10) if factor * tens >= least * (1 - 1e-9))


def _plain(value: float) -> float:
    return float(f"{value:.6g}")
