"""LOWESS: locally weighted lines, for one curve or for thousands of bootstrap replicates at once.

For each place the nearest share of the points is fitted by a line with tricube weights; robust
iterations then weigh points down by their residuals (Cleveland 1979). Tests hold it to statsmodels
within 1e-10.
"""

import numpy as np

LEAST_NEIGHBOURS = 5  # below that a local line has too few weights that are not zero


def lowess(
    x: np.ndarray, y: np.ndarray, frac: float, iterations: int = 0, at: np.ndarray | None = None
) -> np.ndarray:
    """Smooth y [..., points] over rising x [points], at the points themselves or at rising places
    `at` [places].

    Where fewer than two points have weight the fit is the point itself, or NaN at other places.
    """
    robust = np.ones_like(y)
    near = tricube_weights(x, x, frac)
    for _ in range(iterations):
        robust = _bisquare(np.abs(y - _lines(near * robust[..., None, :], x, x, y)))
    places = x if at is None else at
    near = near if at is None else tricube_weights(x, at, frac)
    return _lines(
        near if iterations == 0 else near * robust[..., None, :], x, places, y, own=at is None
    )


def smooth(
    x: np.ndarray,
    y: np.ndarray,
    at: np.ndarray,
    frac: float,
    iterations: int = 0,
    correct: bool = False,
) -> np.ndarray:
    """LOWESS with at least five neighbours; with fewer points than that, straight lines between
    them.

    `correct` smooths the residuals as well and adds them (Tukey's twicing): LOWESS flattens bends,
    and this takes back most of that bias, which intervals would otherwise ignore.
    """
    points = len(x)
    if points < LEAST_NEIGHBOURS:
        return lines_between(x, y, at)
    frac = neighbour_share(frac, points)
    fit = lowess(x, y, frac, iterations, at)
    return (
        fit + lowess(x, y - lowess(x, y, frac, iterations), frac, iterations, at)
        if correct
        else fit
    )


def lines_between(x: np.ndarray, y: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Straight lines between neighbours of y [..., points] over rising x [points], at places `at`
    [places].
    """
    segment = np.clip(np.searchsorted(x, at, side="right") - 1, 0, len(x) - 2)
    weight = (at - x[segment]) / (x[segment + 1] - x[segment])
    return y[..., segment] + weight * (y[..., segment + 1] - y[..., segment])


def neighbour_share(frac: float, points: int) -> float:
    """The share of points that makes at least five neighbours, or all there are."""
    return min(max(frac, LEAST_NEIGHBOURS / points), 1.0)


def tricube_weights(x: np.ndarray, at: np.ndarray, frac: float) -> np.ndarray:
    """Weight [places, points] of each point for each place: tricube over the nearest int(frac *
    points) of them.
    """
    points = len(x)
    k = min(max(int(frac * points + 1e-10), 2), points)
    # The window of k neighbours moves right while the place lies past the middle of it and the next
    # point.
    left = np.searchsorted((x[:-k] + x[k:]) / 2, at, side="left")
    radius = np.maximum(at - x[left], x[left + k - 1] - at)
    inside = (np.arange(points) >= left[:, None]) & (np.arange(points) < left[:, None] + k)
    distance = np.abs(x - at[:, None]) / radius[:, None]
    return np.where(inside, (1 - np.minimum(distance, 1) ** 3) ** 3, 0.0)


def _lines(
    weights: np.ndarray, x: np.ndarray, at: np.ndarray, y: np.ndarray, own: bool = True
) -> np.ndarray:
    """Weighted least squares; weights [..., places, points]. `own`: the places are the points.

    Of differences from the first point, so that what is constant stays so to the last bit on any
    machine.
    """
    enough = (weights > 1e-12).sum(-1) >= 2
    w = weights / np.where(enough, weights.sum(-1), 1.0)[..., None]
    centre = (w * x).sum(-1, keepdims=True)
    spread = np.maximum((w * (x - centre) ** 2).sum(-1, keepdims=True), 1e-12)
    projection = w * (1 + (at[:, None] - centre) * (x - centre) / spread)
    base = y[..., :1]
    return np.where(
        enough, base + (projection @ (y - base)[..., None])[..., 0], y if own else np.nan
    )


def _bisquare(residual: np.ndarray) -> np.ndarray:
    """Robustness weights [..., points] from absolute residuals, in units of six times their
    median.
    """
    median = np.median(residual, axis=-1, keepdims=True)
    scaled = np.where(median > 0, residual / np.where(median > 0, 6 * median, 1.0), residual > 0)
    return (1 - np.minimum(scaled, 1) ** 2) ** 2
