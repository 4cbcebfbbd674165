"""Tables of a study as LaTeX (booktabs), Markdown and CSV. CSV holds plain numbers, the other two
rounded text.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from saddle import files
from saddle.analysis.aggregates import aggregates
from saddle.analysis.agreement import compare_with_published, mark_of
from saddle.analysis.constraints import title
from saddle.analysis.findings import Cell, Estimate, Findings, Score, TaskFindings
from saddle.analysis.text import binds, joint_star, percent, t_and_p
from saddle.multipliers import label
from saddle.report.style import heading, short

_LATEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "#": r"\#",
    "_": r"\_",
    "$": r"\$",
    "{": r"\{",
    "}": r"\}",
}
_LATEX |= {
    "±": r"$\pm$",
    "λ": r"$\lambda$",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "…": r"\dots",
}


@dataclass(frozen=True)
class Table:
    """One table: words to print, and the numbers behind them."""

    name: str
    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    marks: tuple[str, ...]
    """Per row: 'best', 'violated' or ''."""
    numbers: pl.DataFrame
    breaks: tuple[int, ...] = ()
    """Rows before which a thin rule separates."""

    def latex(self) -> str:
        """For a document that loads booktabs and xcolor."""
        lines = ["% needs \\usepackage{booktabs,xcolor}", f"% {self.caption}"]
        lines += [f"\\begin{{tabular}}{{{'l' * len(self.columns)}}}", "\\toprule"]
        lines += [" & ".join(map(_escape, self.columns)) + r" \\", "\\midrule"]
        for i, (row, mark) in enumerate(zip(self.rows, self.marks, strict=True)):
            if i in self.breaks:
                lines.append("\\midrule")
            lines.append(" & ".join(_decorate(_escape(cell), mark) for cell in row) + r" \\")
        return "\n".join([*lines, "\\bottomrule", "\\end{tabular}", ""])

    def markdown(self) -> str:
        """Best rows are bold, violated ones in italics."""
        paint: dict[str, Callable[[str], str]] = {
            "best": lambda t: f"**{t}**",
            "violated": lambda t: f"*{t}*",
        }
        lines = [
            f"{self.caption}",
            "",
            "| " + " | ".join(self.columns) + " |",
            "|" + "---|" * len(self.columns),
        ]
        for row, mark in zip(self.rows, self.marks, strict=True):
            cells = (
                paint.get(mark, str)(cell) if cell else ""
                for cell in (c.replace("|", "\\|") for c in row)
            )
            lines.append("| " + " | ".join(cells) + " |")
        return "\n".join([*lines, ""])

    def write(self, out: Path) -> list[Path]:
        """NAME.tex, NAME.md and NAME.csv."""
        texts = {
            "tex": self.latex(),
            "md": self.markdown(),
            "csv": self.numbers.write_csv(),
        }
        written = []
        for ending, text in texts.items():
            file = out / f"{self.name}.{ending}"
            files.write(file, text.encode(), files.AGAIN)
            written.append(file)
        return written


def tables(findings: Findings) -> list[Table]:
    """Every table that the findings have rows for."""
    made = [
        comparison(findings),
        over_training(findings),
        over_all(findings),
        limits(findings),
        recommended(findings),
        sweep(findings),
        joint(findings),
        critics(findings),
        agreement(findings),
    ]
    return [table for table in made if table.rows]


def comparison(findings: Findings) -> Table:
    """Rules by limits: mean and SD of return and cost."""
    rows = []
    marks = []
    numbers = []
    breaks = []
    for part in findings.tasks:
        for i, cell in enumerate(part.comparison):
            first = i == 0 or part.comparison[i - 1].limit != cell.limit
            if first and rows:
                breaks.append(len(rows))
            limit = f"{cell.limit:g}" if first else ""
            mark = mark_of(cell.best, cell.violated)
            rows.append((*_head(part, first, limit), *_cell_text(cell), mark))
            marks.append(mark)
            numbers.append(_cell_numbers(part, cell))
    caption = (
        "Mean ± SD over seeds at the end of training. Best: highest return of those within the "
        "limit."
    )
    columns = ("task", "limit", "rule", "seeds", "return", "cost", "seeds violating", "mark")
    return Table(
        "comparison", caption, columns, tuple(rows), tuple(marks), _frame(numbers), tuple(breaks)
    )


def _head(part: TaskFindings, first: bool, which: str) -> tuple[str, str]:
    """How a row begins: task and learner, in the first of their rows alone; limit or lambda."""
    return (_name(part) if first else "", which)


def _cell_text(cell: Cell) -> tuple[str, ...]:
    name = label(cell.rule)
    if cell.lambda_ is not None:
        name += f" = {cell.lambda_:.3g}"
    returns = _spread(cell.return_.value, cell.return_sd)
    cost = _spread(cell.cost.value, cell.cost_sd)
    return name, str(cell.seeds), returns, cost, f"{cell.violation.share:.0%}"


def _cell_numbers(part: TaskFindings, cell: Cell) -> dict[str, float | str | bool | None]:
    return {
        **_whose(part),
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
        "gap": cell.gap.value,
        "gap_lo": cell.gap.lo,
        "gap_hi": cell.gap.hi,
        "best": cell.best,
        "violated": cell.violated,
    }


def over_training(findings: Findings) -> Table:
    """How rules kept their limits while they were trained."""
    rows = []
    numbers = []
    breaks = []
    for part in findings.tasks:
        for i, cell in enumerate(part.comparison):
            told = cell.over_training
            if told is None:
                continue
            first = i == 0 or part.comparison[i - 1].limit != cell.limit
            if first and rows:
                breaks.append(len(rows))
            row = (
                *_head(part, first, f"{cell.limit:g}" if first else ""),
                label(cell.rule),
                _percent(told.epochs_above),
                _percent(told.episodes_above),
                _ranged(told.excess),
                _ranged(told.settled_after),
                f"{told.settled_share:.0%}",
                _ranged(told.overshoot),
                _ranged(told.oscillation),
                _ranged(told.tail_cost),
            )
            rows.append(row)
            own: dict[str, Any] = {"limit": cell.limit, "rule": cell.rule, "seeds": cell.seeds}
            for name, found in vars(told).items():
                own |= _ends(name, found) if isinstance(found, Estimate) else {name: found}
            numbers.append(_whose(part) | own)
    caption = (
        "While training: epochs and episodes above the limit, summed excess cost, epochs until the "
        "cost settles (and the share of seeds that do), overshoot, oscillation, and the mean cost "
        "of the worst tenth of episodes at the end."
    )
    columns = ("task", "limit", "rule", "epochs above", "episodes above", "excess")
    columns += ("settles after", "of seeds", "overshoot", "oscillation", "worst tenth")
    marks = ("",) * len(rows)
    return Table(
        "over_training", caption, columns, tuple(rows), marks, _frame(numbers), tuple(breaks)
    )


def over_all(findings: Findings) -> Table:
    """Rules over all tasks and limits, by gap and by violation."""
    rows = []
    numbers = []
    breaks = []
    for one in aggregates(findings):
        for score in (one.gap, one.violation):
            if rows and score.rules:
                breaks.append(len(rows))
            for i, rule in enumerate(score.rules):
                beaten = score.better_than(rule.rule, 1 - one.level)
                head = (one.algorithm, score.name) if i == 0 else ("", "")
                middle = percent(rule.iqm, 1)
                better = ", ".join(map(label, beaten))
                rows.append((*head, label(rule.rule), str(rule.runs), middle, better))
                own = {
                    "algorithm": one.algorithm,
                    "score": score.name,
                    "rule": rule.rule,
                    "strata": score.strata,
                    "runs": rule.runs,
                    "without": rule.without,
                    **_ends("iqm", rule.iqm),
                    **_improved(score, rule.rule),
                }
                numbers.append(own)
    columns = ("learner", "score", "rule", "runs", "interquartile mean", "better than")
    caption = (
        "Over all tasks and limits: gap to the frontier as a share of its span of return (higher "
        "is better), and violation as a share of the limit (lower is better)."
    )
    marks = ("",) * len(rows)
    return Table("aggregates", caption, columns, tuple(rows), marks, _frame(numbers), tuple(breaks))


def _improved(score: Score, rule: str) -> dict[str, float | None]:
    """Of every pair in which the rule is named first: probability of improvement and p-value."""
    found: dict[str, float | None] = {}
    for pair in score.improvements:
        if pair.first == rule:
            found |= _ends(f"improves_on_{pair.second}", pair.probability)
            found[f"p_holm_{pair.second}"] = pair.p_holm
    return found


def limits(findings: Findings) -> Table:
    """lambda*, expected return, violations and training limit, per limit."""
    rows = []
    numbers = []
    for part in findings.tasks:
        for i, at in enumerate(part.limits):
            training = Estimate(None)
            for margin in at.margins:
                if margin.rule == "fixed":
                    training = margin.training_limit
                    break
            star = at.status or "no sweep"
            if at.lambda_.value is not None:
                star = _ranged(at.lambda_)
            row = (
                *_head(part, i == 0, f"{at.limit:g}"),
                star,
                _ranged(at.return_),
                at.regime or "",
                _percent(at.violation_share),
                _ranged(training),
            )
            rows.append(row)
            own = {
                **_whose(part),
                "limit": at.limit,
                "status": at.status,
                **_ends("lambda", at.lambda_),
                **_ends("return", at.return_),
                "regime": at.regime,
                **_ends("violation_share", at.violation_share),
                **_ends("training_limit", training),
                "reason": at.reason,
            }
            numbers.append(own)
    share = findings.options["satisfied_share"]
    caption = (
        f"At each limit: λ*, the return there, violations, and the limit to train at so that "
        f"{share:.0%} satisfy it."
    )
    columns = ("task", "limit", "λ*", "return", "regime", "seeds violating", "train at")
    return Table("limits", caption, columns, tuple(rows), ("",) * len(rows), _frame(numbers))


def recommended(findings: Findings) -> Table:
    """Recommended limits with their regimes."""
    rows = []
    numbers = []
    for part in findings.tasks:
        for i, advice in enumerate(part.recommended):
            head = _head(part, i == 0, f"{advice.limit:g}")
            rows.append((*head, advice.kind, advice.reason, advice.published))
            keys = ("limit", "kind", "reason", "published")
            own = {key: getattr(advice, key) for key in keys}
            numbers.append(_whose(part) | own)
    columns = ("task", "limit", "regime", "reason", "published list")
    caption = "Cost limits worth testing at: one from each regime of the frontier."
    return Table(
        "recommended_limits", caption, columns, tuple(rows), ("",) * len(rows), _frame(numbers)
    )


def sweep(findings: Findings) -> Table:
    """Every fixed lambda."""
    rows = []
    numbers = []
    for part in findings.tasks:
        for i, group in enumerate(part.groups):
            lambdas = "; ".join(f"{lam:.3g}" for lam in (group.lambda_, *group.others))
            row = (
                *_head(part, i == 0, lambdas),
                str(group.seeds),
                _spread(group.return_.value, group.return_sd),
                _spread(group.cost.value, group.cost_sd),
            )
            rows.append(row)
            own = {
                **_whose(part),
                "lambda": group.lambda_,
                "seeds": group.seeds,
                **_ends("return", group.return_),
                "return_sd": group.return_sd,
                "return_iqm": group.return_iqm,
                **_ends("cost", group.cost),
                "cost_sd": group.cost_sd,
                "cost_iqm": group.cost_iqm,
            }
            numbers.append(own)
    caption = "Fixed λ: mean ± SD over seeds at the end of training."
    columns = ("task", "λ", "seeds", "return", "cost")
    return Table("sweep", caption, columns, tuple(rows), ("",) * len(rows), _frame(numbers))


def joint(findings: Findings) -> Table:
    """lambda* of several constraints, found together."""
    rows, numbers, breaks = [], [], []
    for found in findings.joint:
        if rows:
            breaks.append(len(rows))
        for i, share in enumerate(found.multipliers):
            name = f"{short(found.task)} ({found.algorithm})" if i == 0 else ""
            star = _ranged(share.lambda_) or joint_star(share)
            limit, cost = f"{share.limit:g}", _ranged(share.cost)
            rows.append((name, share.constraint, limit, star, cost, binds(share)))
            numbers.append(
                {"task": found.task, "algorithm": found.algorithm, "set": len(breaks)}
                | {"constraint": share.constraint, "limit": share.limit, "status": share.status}
                | _ends("lambda", share.lambda_)
                | {
                    "train_at": share.train_at,
                    "binds": share.binds,
                    "binds_share": share.binds_share,
                }
                | _ends("cost", share.cost)
                | {"reason": share.reason}
                | _ends("violating_any", found.violating.share)
                | {"violating_seeds": found.violating.seeds}
            )
    columns = ("task", "constraint", "limit", "λ*", "cost there", "binds")
    caption = "λ* of all constraints together, and what each costs there."
    marks = ("",) * len(rows)
    return Table("joint", caption, columns, tuple(rows), marks, _frame(numbers), tuple(breaks))


def critics(findings: Findings) -> Table:
    """What critics say of episodes as these begin, beside what they come to."""
    rows = []
    numbers = []
    for part in findings.tasks:
        for i, one in enumerate(part.critics):
            name = label(one.rule)
            if one.lambda_ is not None:
                name += f" = {one.lambda_:.3g}"
            limit = "" if one.limit is None else f"{one.limit:g}"
            share = "" if one.share is None else f"{one.share:+.0%}"
            estimates = (_ranged(one.said), _ranged(one.came), _ranged(one.bias))
            head = _head(part, i == 0, limit)
            rows.append((*head, name, one.signal, str(one.seeds), *estimates, share))
            own = {
                **_whose(part),
                "limit": one.limit,
                "rule": one.rule,
                "lambda": one.lambda_,
                "signal": one.signal,
                "seeds": one.seeds,
                **_ends("said", one.said),
                **_ends("came", one.came),
                **_ends("bias", one.bias),
                "share": one.share,
            }
            numbers.append(own)
    columns = ("task", "limit", "rule", "of", "seeds", "critics", "episodes", "bias", "share")
    caption = (
        "What critics say as an episode begins, beside what it comes to, both discounted, at the "
        "end of training."
    )
    return Table("critics", caption, columns, tuple(rows), ("",) * len(rows), _frame(numbers))


def agreement(findings: Findings) -> Table:
    """Beside the published table."""
    cells = compare_with_published(findings).cells
    rows = []
    for cell in cells:
        row = (
            short(cell.task),
            f"{cell.limit:g}",
            label(cell.rule),
            _spread(cell.return_, cell.return_sd),
            _spread(cell.published_return, cell.published_return_sd),
            t_and_p(cell.return_t, cell.return_p, cell.return_p_holm),
            _spread(cell.cost, cell.cost_sd),
            _spread(cell.published_cost, cell.published_cost_sd),
            t_and_p(cell.cost_t, cell.cost_p, cell.cost_p_holm),
        )
        rows.append(row)
    quantities = ("return", "published", "t (p)", "cost", "published", "t (p)")
    columns = ("task", "limit", "rule", *quantities)
    numbers = _frame([cell.to_dict() for cell in cells])
    caption = (
        "This study beside the published table: Welch's t of the difference of means and its "
        "p-value, with a star where that is below 0.05 also by Holm's correction for all of them."
    )
    return Table("agreement", caption, columns, tuple(rows), ("",) * len(rows), numbers)


def _name(part: TaskFindings) -> str:
    return f"{heading(part)} ({part.algorithm})"


def _whose(part: TaskFindings) -> dict[str, Any]:
    """Task and algorithm, and the constraint where there are several."""
    own: dict[str, Any] = {"task": part.task, "algorithm": part.algorithm}
    return own | ({"constraint": title(part.constraint)} if part.constraint else {})


def _frame(rows: list[dict]) -> pl.DataFrame:
    return pl.DataFrame(rows, infer_schema_length=None)


def _spread(mean: float | None, sd: float | None) -> str:
    """Mean and SD, with as many digits as the mean's size asks for."""
    if mean is None:
        return ""
    digits = 2
    if abs(mean) >= 100:
        digits = 1
    if abs(mean) >= 1000:
        digits = 0
    if sd is None:
        return f"{mean:.{digits}f}"
    return f"{mean:.{digits}f} ± {sd:.{digits}f}"


def _ranged(found: Estimate) -> str:
    """A number and its interval, as far as they are known."""
    if found.value is None:
        return ""
    if found.lo is None and found.hi is None:
        return _round(found.value)
    lo = "…" if found.lo is None else _round(found.lo)
    hi = "…" if found.hi is None else _round(found.hi)
    return f"{_round(found.value)} [{lo}, {hi}]"


def _round(value: float) -> str:
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"


def _percent(found: Estimate) -> str:
    if found.value is None or found.lo is None or found.hi is None:
        return ""
    return f"{found.value:.0%} [{found.lo:.0%}, {found.hi:.0%}]"


def _ends(name: str, found: Estimate) -> dict[str, float | None]:
    return {name: found.value, f"{name}_lo": found.lo, f"{name}_hi": found.hi}


def _escape(text: str) -> str:
    return "".join(_LATEX.get(letter, letter) for letter in text)


def _decorate(text: str, mark: str) -> str:
    if not text or not mark:
        return text
    if mark == "best":
        return f"\\textcolor{{green!45!black}}{{\\textbf{{{text}}}}}"
    return f"\\textcolor{{red!70!black}}{{{text}}}"
