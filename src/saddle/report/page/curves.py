"""Training curves small enough for a page: at most 200 points a run, two characters a point."""

import math
from typing import Any

import numpy as np
import polars as pl

POINTS = 200  # of a run's curve, at most
QUANTITIES = ("return", "cost", "lambda")
LEVELS = 4095  # two characters of 6 bits; the last code means that there is no value
ALPHABET = np.frombuffer(
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_", np.uint8
)


def binned(runs: list[str], metrics: pl.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Means over bins of epochs: env steps at each bin's end [runs, bins], and values [runs, bins,
    quantities].

    NaN where a run has no row, or no episode finished. Rows of other runs are ignored.
    """
    index = pl.DataFrame({"run": runs}).with_row_index("place")
    rows = metrics.join(index, on="run", how="inner")
    last = rows["epoch"].max()
    epochs = int(last) + 1 if isinstance(last, int) else 1
    epochs_of_a_bin = math.ceil(epochs / POINTS)
    bins = math.ceil(epochs / epochs_of_a_bin)
    bin_of_epoch = pl.col("epoch") // epochs_of_a_bin
    quantities = pl.col(*QUANTITIES)
    means = rows.group_by("place", bin=bin_of_epoch).agg(
        pl.col("env_steps").max(),
        quantities.cast(pl.Float64).fill_nan(None).mean(),
    )
    steps = np.full((len(runs), bins), np.nan)
    values = np.full((len(runs), bins, len(QUANTITIES)), np.nan)
    at = means["place"].to_numpy(), means["bin"].to_numpy()
    steps[at] = means["env_steps"].cast(pl.Float64).to_numpy()
    values[at] = means.select(QUANTITIES).fill_null(float("nan")).to_numpy()
    return steps, values


def pack(values: np.ndarray) -> dict[str, Any] | None:
    """Curves [runs, bins] as text: levels between the lowest and the highest value of all. None: no
    value at all.

    A value that never changes needs no text.
    """
    known = np.isfinite(values)
    if not known.any():
        return None
    lo = float(values[known].min())
    hi = float(values[known].max())
    if lo == hi and known.all():
        return {"lo": lo, "hi": hi, "runs": []}
    share = (np.where(known, values, lo) - lo) / (hi - lo or 1.0)
    levels = np.rint(share * (LEVELS - 1))
    codes = np.where(known, levels, LEVELS).astype(np.int64)
    first = ALPHABET[codes >> 6]
    second = ALPHABET[codes & 63]
    letters = np.stack([first, second], axis=-1).reshape(len(values), -1)
    return {"lo": lo, "hi": hi, "runs": [row.tobytes().decode() for row in letters]}
