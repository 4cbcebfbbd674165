"""Tables of the runs behind a frontier: every fixed lambda, and what critics say of episodes."""

from saddle.analysis.findings import Findings
from saddle.analysis.text import lambdas
from saddle.report.tables.cells import ends, head, ranged, rule_at, spread, whose
from saddle.report.tables.table import Draft, Table


def sweep(findings: Findings) -> Table:
    """Every fixed lambda."""
    draft = Draft(
        "sweep",
        "Fixed λ: mean ± SD over seeds at the end of training.",
        ("task", "λ", "seeds", "return", "cost"),
    )
    for part in findings.tasks:
        for i, group in enumerate(part.groups):
            row = (
                *head(part, i == 0, lambdas(group.lambda_, group.others)),
                str(group.seeds),
                spread(group.return_.value, group.return_sd),
                spread(group.cost.value, group.cost_sd),
            )
            numbers = {
                **whose(part),
                "lambda": group.lambda_,
                "seeds": group.seeds,
                **ends("return", group.return_),
                "return_sd": group.return_sd,
                "return_iqm": group.return_iqm,
                **ends("cost", group.cost),
                "cost_sd": group.cost_sd,
                "cost_iqm": group.cost_iqm,
            }
            draft.add(row, numbers)
    return draft.table()


def critics(findings: Findings) -> Table:
    """What critics say of episodes as these begin, beside what they come to."""
    draft = Draft(
        "critics",
        "What critics say as an episode begins, beside what it comes to, both discounted, at the "
        "end of training.",
        ("task", "limit", "rule", "of", "seeds", "critics", "episodes", "bias", "share"),
    )
    for part in findings.tasks:
        for i, one in enumerate(part.critics):
            limit = "" if one.limit is None else f"{one.limit:g}"
            share = "" if one.share is None else f"{one.share:+.0%}"
            row = (
                *head(part, i == 0, limit),
                rule_at(one.rule, one.lambda_, one.others),
                one.signal,
                str(one.seeds),
                ranged(one.said),
                ranged(one.came),
                ranged(one.bias),
                share,
            )
            numbers = {
                **whose(part),
                "limit": one.limit,
                "rule": one.rule,
                "lambda": one.lambda_,
                "signal": one.signal,
                "seeds": one.seeds,
                **ends("said", one.said),
                **ends("came", one.came),
                **ends("bias", one.bias),
                "share": one.share,
            }
            draft.add(row, numbers)
    return draft.table()
