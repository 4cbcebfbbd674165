"""LOWESS: locally weighted lines, for one curve or for thousands of bootstrap replicates at once.

For each place the nearest share of the points is fitted by a line with tricube weights; robust
iterations then weigh points down by their residuals (Cleveland 1979). Tests hold it to statsmodels
within 1e-10.
"""

import numpy as np
from jaxtyping import Float, Num

from saddle.analysis.interpolate import locate

LEAST_NEIGHBOURS = 5  # below that a local line has too few weights that are not zero


def lowess(
    x: Num[np.ndarray, " points"],
    y: Num[np.ndarray, "*rows points"],
    frac: float,
    iterations: int = 0,
    at: Num[np.ndarray, " places"] | None = None,
) -> Float[np.ndarray, "*rows places_or_points"]:
    """Smooth y over rising x, at the points themselves or at rising places `at`.

    Where fewer than two points have weight the fit is the point itself, or NaN at other places.
    """
    at_points = tricube_weights(x, x, frac)
    robust = np.ones_like(y)
    for _ in range(iterations):
        fit = _lines(at_points * robust[..., None, :], x, x, y)
        robust = _bisquare(np.abs(y - fit))
    near = at_points if at is None else tricube_weights(x, at, frac)
    weights = near if iterations == 0 else near * robust[..., None, :]
    return _lines(weights, x, x if at is None else at, y, own=at is None)


def smooth(
    x: Num[np.ndarray, " points"],
    y: Num[np.ndarray, "*rows points"],
    at: Num[np.ndarray, " places"],
    frac: float,
    iterations: int = 0,
    correct: bool = False,
) -> Float[np.ndarray, "*rows places"]:
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
    if not correct:
        return fit
    residuals = y - lowess(x, y, frac, iterations)
    return fit + lowess(x, residuals, frac, iterations, at)


def lines_between(
    x: Num[np.ndarray, " points"],
    y: Num[np.ndarray, "*rows points"],
    at: Num[np.ndarray, " places"],
) -> Float[np.ndarray, "*rows places"]:
    """Straight lines between neighbours of y over rising x, at places `at`."""
    return locate(x, at).along(y)


def neighbour_share(frac: float, points: int) -> float:
    """The share of points that makes at least five neighbours, or all there are."""
    return min(max(frac, LEAST_NEIGHBOURS / points), 1.0)


def tricube_weights(
    x: Num[np.ndarray, " points"], at: Num[np.ndarray, " places"], frac: float
) -> Float[np.ndarray, "places points"]:
    """Weight of each point for each place: tricube over the nearest int(frac * points) of them."""
    points = len(x)
    share = int(frac * points + 1e-10)
    k = min(max(share, 2), points)
    # The window of k neighbours moves right while the place lies past the middle of it and the next
    # point.
    middles = (x[:-k] + x[k:]) / 2
    left = np.searchsorted(middles, at, side="left")
    radius = np.maximum(at - x[left], x[left + k - 1] - at)
    place_in_window = np.arange(points) - left[:, None]
    inside = (place_in_window >= 0) & (place_in_window < k)
    distance = np.abs(x - at[:, None]) / radius[:, None]
    tricube = (1 - np.minimum(distance, 1) ** 3) ** 3
    return np.where(inside, tricube, 0.0)


def _lines(
    weights: np.ndarray, x: np.ndarray, at: np.ndarray, y: np.ndarray, own: bool = True
) -> np.ndarray:
    """Weighted least squares; weights [..., places, points]. `own`: the places are the points.

    Of differences from the first point, so that what is constant stays so to the last bit on any
    machine.
    """
    enough = (weights > 1e-12).sum(-1) >= 2
    total = np.where(enough, weights.sum(-1), 1.0)
    w = weights / total[..., None]
    centre = (w * x).sum(-1, keepdims=True)
    off_centre = x - centre
    variance = (w * off_centre**2).sum(-1, keepdims=True)
    leverage = (at[:, None] - centre) * off_centre / np.maximum(variance, 1e-12)
    projection = w * (1 + leverage)
    base = y[..., :1]
    differences = (y - base)[..., None]
    fit = base + (projection @ differences)[..., 0]
    return np.where(enough, fit, y if own else np.nan)


def _bisquare(residual: np.ndarray) -> np.ndarray:
    """Robustness weights [..., points] from absolute residuals, in units of six times their
    median.
    """
    median = np.median(residual, axis=-1, keepdims=True)
    unit = np.where(median > 0, 6 * median, 1.0)
    scaled = np.where(median > 0, residual / unit, residual > 0)
    return (1 - np.minimum(scaled, 1) ** 2) ** 2
