"""Tables of rules beside each other: at the end of training, while they trained, over all tasks,
and beside the published ones.
"""

from typing import Any

from saddle.analysis.aggregates import aggregates
from saddle.analysis.agreement import compare_with_published, mark_of
from saddle.analysis.findings import Cell, Estimate, Findings, Score, TaskFindings
from saddle.analysis.text import percent as percent_or_dash
from saddle.analysis.text import t_and_p
from saddle.multipliers import label
from saddle.report.style import short
from saddle.report.tables.cells import ends, head, percent, ranged, rule_at, spread, whose
from saddle.report.tables.table import Draft, Table


def comparison(findings: Findings) -> Table:
    """Rules by limits: mean and SD of return and cost."""
    draft = Draft(
        "comparison",
        "Mean ± SD over seeds at the end of training. Best: highest return of those within the "
        "limit.",
        ("task", "limit", "rule", "seeds", "return", "cost", "seeds violating", "mark"),
    )
    for part in findings.tasks:
        for i, cell in enumerate(part.comparison):
            first = _begins_limit(part, i)
            if first:
                draft.separate()
            mark = mark_of(cell.best, cell.violated)
            row = (
                *head(part, first, f"{cell.limit:g}" if first else ""),
                rule_at(cell.rule, cell.lambda_),
                str(cell.seeds),
                spread(cell.return_.value, cell.return_sd),
                spread(cell.cost.value, cell.cost_sd),
                f"{cell.violation.share:.0%}",
                mark,
            )
            draft.add(row, _cell_numbers(part, cell), mark)
    return draft.table()


def _begins_limit(part: TaskFindings, i: int) -> bool:
    """Whether the cell is the first of its limit."""
    cells = part.comparison
    return i == 0 or cells[i - 1].limit != cells[i].limit


def _cell_numbers(part: TaskFindings, cell: Cell) -> dict[str, float | str | bool | None]:
    return {
        **whose(part),
        "limit": cell.limit,
        "rule": cell.rule,
        "lambda": cell.lambda_,
        "seeds": cell.seeds,
        "return_mean": cell.return_.value,
        "return_sd": cell.return_sd,
        "return_lo": cell.return_.lo,
        "return_hi": cell.return_.hi,
        "return_iqm": cell.return_iqm,
        "cost_mean": cell.cost.value,
        "cost_sd": cell.cost_sd,
        "cost_lo": cell.cost.lo,
        "cost_hi": cell.cost.hi,
        "cost_iqm": cell.cost_iqm,
        "violation_share": cell.violation.share,
        "violation_normalised": cell.violation.normalised,
        **ends("gap", cell.gap),
        "best": cell.best,
        "violated": cell.violated,
    }


def over_training(findings: Findings) -> Table:
    """How rules kept their limits while they were trained."""
    draft = Draft(
        "over_training",
        "While training: epochs and episodes above the limit, summed excess cost, epochs until the "
        "cost settles (and the share of seeds that do), overshoot, oscillation, and the mean cost "
        "of the worst tenth of episodes at the end.",
        (
            "task",
            "limit",
            "rule",
            "epochs above",
            "episodes above",
            "excess",
            "settles after",
            "of seeds",
            "overshoot",
            "oscillation",
            "worst tenth",
        ),
    )
    for part in findings.tasks:
        for i, cell in enumerate(part.comparison):
            told = cell.over_training
            if told is None:
                continue
            first = _begins_limit(part, i)
            if first:
                draft.separate()
            row = (
                *head(part, first, f"{cell.limit:g}" if first else ""),
                label(cell.rule),
                percent(told.epochs_above),
                percent(told.episodes_above),
                ranged(told.excess),
                ranged(told.settled_after),
                f"{told.settled_share:.0%}",
                ranged(told.overshoot),
                ranged(told.oscillation),
                ranged(told.tail_cost),
            )
            numbers: dict[str, Any] = whose(part)
            numbers |= {"limit": cell.limit, "rule": cell.rule, "seeds": cell.seeds}
            for name, found in vars(told).items():
                numbers |= ends(name, found) if isinstance(found, Estimate) else {name: found}
            draft.add(row, numbers)
    return draft.table()


def over_all(findings: Findings) -> Table:
    """Rules over all tasks and limits, by gap and by violation."""
    draft = Draft(
        "aggregates",
        "Over all tasks and limits: gap to the frontier as a share of its span of return (higher "
        "is better), and violation as a share of the limit (lower is better).",
        ("learner", "score", "rule", "runs", "interquartile mean", "better than"),
    )
    for one in aggregates(findings):
        for score in (one.gap, one.violation):
            if score.rules:
                draft.separate()
            for i, rule in enumerate(score.rules):
                beaten = score.better_than(rule.rule, 1 - one.level)
                row = (
                    one.algorithm if i == 0 else "",
                    score.name if i == 0 else "",
                    label(rule.rule),
                    str(rule.runs),
                    percent_or_dash(rule.iqm, 1),
                    ", ".join(map(label, beaten)),
                )
                numbers = {
                    "algorithm": one.algorithm,
                    "score": score.name,
                    "rule": rule.rule,
                    "strata": score.strata,
                    "runs": rule.runs,
                    "without": rule.without,
                    **ends("iqm", rule.iqm),
                    **_improved(score, rule.rule),
                }
                draft.add(row, numbers)
    return draft.table()


def _improved(score: Score, rule: str) -> dict[str, float | None]:
    """Of every pair in which the rule is named first: probability of improvement and p-value."""
    found: dict[str, float | None] = {}
    for pair in score.improvements:
        if pair.first == rule:
            found |= ends(f"improves_on_{pair.second}", pair.probability)
            found[f"p_holm_{pair.second}"] = pair.p_holm
    return found


def agreement(findings: Findings) -> Table:
    """Beside the published table."""
    quantities = ("return", "published", "t (p)", "cost", "published", "t (p)")
    draft = Draft(
        "agreement",
        "This study beside the published table: Welch's t of the difference of means and its "
        "p-value, with a star where that is below 0.05 also by Holm's correction for all of them.",
        ("task", "limit", "rule", *quantities),
    )
    comparison = compare_with_published(findings)
    for cell in comparison.cells:
        row = (
            short(cell.task) + comparison.learner(cell),
            f"{cell.limit:g}",
            label(cell.rule),
            spread(cell.return_, cell.return_sd),
            spread(cell.published_return, cell.published_return_sd),
            t_and_p(cell.return_t, cell.return_p, cell.return_p_holm),
            spread(cell.cost, cell.cost_sd),
            spread(cell.published_cost, cell.published_cost_sd),
            t_and_p(cell.cost_t, cell.cost_p, cell.cost_p_holm),
        )
        draft.add(row, cell.to_dict())
    return draft.table()
