"""Estimates, and what is found of several constraints, as text."""

from collections.abc import Sequence

from saddle.analysis.findings import Estimate, JointLambda, JointMultiplier
from saddle.analysis.welch import SURE


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


def percent(found: Estimate, digits: int = 0) -> str:
    """A share as 'value [lo, hi]' in per cent, with so many digits behind the point."""
    if found.value is None:
        return "-"
    value = f"{found.value:z.{digits}%}"
    if found.lo is None or found.hi is None:
        return value
    return f"{value} [{found.lo:z.{digits}%}, {found.hi:z.{digits}%}]"


def plain(value: float) -> str:
    """Three digits, or all of them before the point."""
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"


def lambdas(own: float, others: Sequence[float] = ()) -> str:
    """The multiplier of the constraint that is looked at, and those of the others behind it."""
    return "; ".join(f"{one:.3g}" for one in (own, *others))


def joint_sentences(joint: Sequence[JointLambda]) -> list[str]:
    """lambda* of all constraints together, a sentence for each set of limits."""
    return [
        f"{found.task}, all constraints together: {'; '.join(map(_share, found.multipliers))}. "
        f"Return {text(found.return_)}; {found.reason}; {violating(found)}."
        for found in joint
    ]


def violating(found: JointLambda) -> str:
    """How many seeds break any limit at the joint lambda*."""
    share = found.violating.share
    if share.value is None or share.lo is None or share.hi is None:
        return f"seeds violating any limit: cannot be told, {found.violating.reason}"
    between = f"[{share.lo:.0%}, {share.hi:.0%}]"
    return f"seeds violating any limit: {share.value:.0%} {between}, {found.violating.reason}"


def _share(share: JointMultiplier) -> str:
    at = f"{share.constraint} at {share.limit:g}"
    if share.binds is None:
        return f"{at} {binds(share)}"
    return f"{at} {'binds' if share.binds else 'does not bind'}, lambda* {joint_star(share)}"


def t_and_p(t: float | None, p: float | None, corrected: float | None) -> str:
    """Welch's t with its p-value; a star where that is below 0.05 also when corrected."""
    if t is None or p is None:
        return "-"
    star = "*" if corrected is not None and corrected < SURE else ""
    return f"{t:+.1f} ({p:.2g}){star}"


def binds(share: JointMultiplier) -> str:
    """Whether a constraint binds at the joint lambda*."""
    if share.binds is None:
        return "cannot be told" if share.status is None else "cannot be kept"
    return "yes" if share.binds else "no"


def joint_star(share: JointMultiplier) -> str:
    """A constraint's part of the joint lambda*, or the end of the sweep that it lies beyond."""
    if share.lambda_.value is not None or share.train_at is None:
        return text(share.lambda_)
    side = "beyond" if share.status == "always above" else "at most"
    return f"{side} {plain(share.train_at)}"
