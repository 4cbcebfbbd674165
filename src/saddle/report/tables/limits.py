"""Tables of cost limits: lambda* at each of them, and which to test at."""

from saddle.analysis.findings import Estimate, Findings, LimitFinding
from saddle.analysis.text import binds, joint_star
from saddle.multipliers.fixed import Fixed
from saddle.report.style import short
from saddle.report.tables.cells import ends, head, percent, ranged, whose
from saddle.report.tables.table import Draft, Table


def limits(findings: Findings) -> Table:
    """lambda*, expected return, violations and training limit, per limit."""
    share = findings.options["satisfied_share"]
    draft = Draft(
        "limits",
        f"At each limit: λ*, the return there, violations, and the limit to train at so that "
        f"{share:.0%} satisfy it.",
        ("task", "limit", "λ*", "return", "regime", "seeds violating", "train at"),
    )
    for part in findings.tasks:
        for i, at in enumerate(part.limits):
            training = _training_limit(at)
            star = at.status or "no sweep"
            if at.lambda_.value is not None:
                star = ranged(at.lambda_)
            row = (
                *head(part, i == 0, f"{at.limit:g}"),
                star,
                ranged(at.return_),
                at.regime or "",
                percent(at.violation_share),
                ranged(training),
            )
            numbers = {
                **whose(part),
                "limit": at.limit,
                "status": at.status,
                **ends("lambda", at.lambda_),
                **ends("return", at.return_),
                "regime": at.regime,
                **ends("violation_share", at.violation_share),
                **ends("training_limit", training),
                "reason": at.reason,
            }
            draft.add(row, numbers)
    return draft.table()


def _training_limit(at: LimitFinding) -> Estimate:
    """What to train a fixed multiplier at."""
    for margin in at.margins:
        if margin.rule == Fixed.name:
            return margin.training_limit
    return Estimate(None)


def recommended(findings: Findings) -> Table:
    """Recommended limits with their regimes."""
    draft = Draft(
        "recommended_limits",
        "Cost limits worth testing at: one from each regime of the frontier.",
        ("task", "limit", "regime", "reason", "published list"),
    )
    for part in findings.tasks:
        for i, advice in enumerate(part.recommended):
            begin = head(part, i == 0, f"{advice.limit:g}")
            row = (*begin, advice.kind, advice.reason, advice.published)
            numbers = {
                **whose(part),
                "limit": advice.limit,
                "kind": advice.kind,
                "reason": advice.reason,
                "published": advice.published,
            }
            draft.add(row, numbers)
    return draft.table()


def joint(findings: Findings) -> Table:
    """lambda* of several constraints, found together."""
    draft = Draft(
        "joint",
        "λ* of all constraints together, and what each costs there.",
        ("task", "constraint", "limit", "λ*", "cost there", "binds"),
    )
    for place, found in enumerate(findings.joint):
        draft.separate()
        for i, share in enumerate(found.multipliers):
            row = (
                f"{short(found.task)} ({found.algorithm})" if i == 0 else "",
                share.constraint,
                f"{share.limit:g}",
                ranged(share.lambda_) or joint_star(share),
                ranged(share.cost),
                binds(share),
            )
            numbers = {
                "task": found.task,
                "algorithm": found.algorithm,
                "set": place,
                "constraint": share.constraint,
                "limit": share.limit,
                "status": share.status,
                **ends("lambda", share.lambda_),
                "train_at": share.train_at,
                "binds": share.binds,
                "binds_share": share.binds_share,
                **ends("cost", share.cost),
                "reason": share.reason,
                **ends("violating_any", found.violating.share),
                "violating_seeds": found.violating.seeds,
            }
            draft.add(row, numbers)
    return draft.table()
