"""Estimates as text."""

from saddle.analysis.findings import Estimate


def text(found: Estimate) -> str:
    """'value [lo, hi]'; an end that is not known, or lies beyond the sweep, is '…'. Of bounds
    alone, 'at most hi'.
    """
    if found.value is None:
        known = [
            f"{word} {plain(end)}"
            for word, end in (("at least", found.lo), ("at most", found.hi))
            if end is not None
        ]
        return known[0] if len(known) == 1 else "-"
    if found.lo is None and found.hi is None:
        return plain(found.value)
    lo, hi = ("…" if end is None else plain(end) for end in (found.lo, found.hi))
    return f"{plain(found.value)} [{lo}, {hi}]"


def plain(value: float) -> str:
    """Three digits, or all of them before the point."""
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"
