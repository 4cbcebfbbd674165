"""Findings in a terminal: `saddle analyze` and `saddle compare-paper`."""

from functools import partial

from rich.markup import escape
from rich.text import Text

from saddle.analysis.agreement import Agreement, Comparison
from saddle.analysis.constraints import title
from saddle.analysis.findings import (
    Cell,
    CriticBias,
    Findings,
    JointMultiplier,
    LimitFinding,
    TaskFindings,
)
from saddle.analysis.show_until_decided import show_decisions
from saddle.analysis.text import binds, joint_star, lambdas, percent, t_and_p, text, violating
from saddle.console import console
from saddle.tables import Column, Content, print_table
from saddle.words import counted


def show(findings: Findings) -> None:
    """Print what was found, task by task."""
    out = console()
    # A sentence stays on one line of a file.
    say = partial(out.print, soft_wrap=not out.is_terminal)
    runs = findings.runs
    say(f"{runs.used} of {counted(runs.total, 'run counts', 'runs count')}.")
    for note in findings.notes:
        say(f"[yellow]note[/] {escape(note)}")
    for part in findings.tasks:
        say(f"\n[bold]{escape(part.task)}[/] · {escape(whose(part))}")
        for note in part.notes:
            say(f"[yellow]note[/] {escape(note)}")
        for line in sweep_lines(part):
            say(escape(line))
        if part.limits:
            print_table(out, *limits_table(part))
            for finding in part.limits:
                say(f"  {finding.limit:g}: {escape(finding.reason)}")
        if part.comparison:
            print_table(out, *cells_table(part))
            say("  while training:")
            print_table(out, OVER_TRAINING_COLUMNS, over_training_table(part))
        if part.critics:
            say(CRITICS_SAY)
            print_table(out, CRITIC_COLUMNS, [critic_row(one) for one in part.critics])
    for joint in findings.joint:
        say(f"\n[bold]{escape(joint.task)}[/] · {escape(joint.algorithm)} · all constraints")
        print_table(out, JOINT_COLUMNS, [joint_row(share) for share in joint.multipliers])
        say(f"  return {text(joint.return_)}; {escape(joint.reason)}")
        say(f"  {escape(violating(joint))}")
    show_decisions(findings.until_decided)


def show_agreement(comparison: Comparison) -> None:
    """Print our table beside the published one."""
    out = console()
    if comparison.cells:
        rows = []
        for cell in comparison.cells:
            rows.append([cell.task + comparison.learner(cell), *_agreement_row(cell)])
        print_table(out, AGREEMENT_COLUMNS, rows)
    for note in comparison.notes:
        out.print(f"[yellow]note[/] {escape(note)}", soft_wrap=not out.is_terminal)


def whose(part: TaskFindings) -> str:
    """The algorithm, and the constraint where there are several."""
    return " · ".join(filter(None, [part.algorithm, title(part.constraint)]))


JOINT_COLUMNS = (
    Column("constraint", identifies=True),
    Column("limit", right=True),
    Column("lambda*"),
    Column("cost there"),
    Column("binds"),
    Column("in", right=True),
)


def joint_row(share: JointMultiplier) -> list[Content]:
    """One constraint's share in a joint lambda*, in the order of `JOINT_COLUMNS`."""
    sure = "-" if share.binds_share is None else f"{share.binds_share:.0%} of replicates"
    limit = f"{share.limit:g}"
    return [share.constraint, limit, joint_star(share), text(share.cost), binds(share), sure]


def sweep_lines(part: TaskFindings) -> list[str]:
    """What the sweep of a task shows, in sentences."""
    lines = []
    if part.profile and part.frontier:
        first, last = part.groups[0], part.groups[-1]
        seeds = {group.seeds for group in part.groups}
        many = (
            counted(min(seeds), "seed")
            if len(seeds) == 1
            else f"{min(seeds)} to {max(seeds)} seeds"
        )
        noun, plural = ("combination", "combinations") if part.constraint else ("lambda", "lambdas")
        lines.append(
            f"sweep: {counted(len(part.groups), noun, plural)} from {first.lambda_:.3g} to "
            f"{last.lambda_:.3g}, {many}; "
            f"hypervolume {text(part.frontier.hypervolume)}"
        )
        for rise in part.profile.rises:
            sure = "clearly" if rise.clear else "perhaps"
            lines.append(
                f"{rise.quantity} {sure} rises from lambda {rise.lambda_from:.3g} to "
                f"{rise.lambda_to:.3g}"
            )
    for regime in part.regimes:
        lines.append(
            f"{regime.kind}: {regime.reason}; normalised slope {text(regime.normalised_slope)}"
        )
    for advice in part.recommended:
        lines.append(f"recommended limit {advice.limit:g} ({advice.kind}); {advice.published}")
    return lines


def limits_table(part: TaskFindings) -> tuple[list[Column], list[list[Content]]]:
    """What is known at each limit: columns and rows."""
    columns = [
        Column("limit", identifies=True, right=True),
        Column("lambda*"),
        Column("return there"),
        Column("regime"),
        Column("seeds violating it" if part.constraint else "seeds violating"),
        Column(f"train at ({_wanted(part)} of seeds stay within)"),
    ]
    rows: list[list[Content]] = []
    for finding in part.limits:
        row = (
            f"{finding.limit:g}",
            text(finding.lambda_),
            text(finding.return_),
            finding.regime or "-",
            percent(finding.violation_share),
            _margins(finding),
        )
        rows.append([*row])
    return columns, rows


def _wanted(part: TaskFindings) -> str:
    """The share of seeds that a training limit is to keep within the limit."""
    shares = {f"{margin.wanted_share:.0%}" for finding in part.limits for margin in finding.margins}
    return shares.pop() if len(shares) == 1 else "the wanted share"


def _margins(finding: LimitFinding) -> str:
    return "; ".join(f"{margin.rule} {text(margin.training_limit)}" for margin in finding.margins)


CELL_COLUMNS = (
    Column("limit", identifies=True, right=True),
    Column("rule", identifies=True),
    Column("seeds", right=True),
    Column("return"),
    Column("cost"),
    Column("violating", right=True),
    Column("gap to frontier"),
    Column(""),
)


def cells_table(part: TaskFindings) -> tuple[list[Column], list[list[Content]]]:
    """The rules that were trained at limits: columns and rows."""
    others = part.constraint.others if part.constraint else ()
    columns = [*CELL_COLUMNS]
    columns[5:5] = [Column(f"{one.name} costs") for one in others]
    rows: list[list[Content]] = []
    for cell in part.comparison:
        row = (
            f"{cell.limit:g}",
            cell.rule,
            str(cell.seeds),
            text(cell.return_),
            text(cell.cost),
            *(text(cost) for cost in cell.other_costs),
            f"{cell.violation.share:.0%}",
            text(cell.gap),
            _mark(cell),
        )
        rows.append([*row])
    return columns, rows


CRITICS_SAY = "What critics say as an episode begins, beside what it comes to (discounted):"
CRITIC_COLUMNS = (
    Column("rule", identifies=True),
    Column("lambda", right=True),
    Column("limit", right=True),
    Column("of", identifies=True),
    Column("seeds", right=True),
    Column("they say"),
    Column("it comes to"),
    Column("bias"),
    Column("share", right=True),
)


def critic_row(one: CriticBias) -> list[Content]:
    """What a critic says, in the order of `CRITIC_COLUMNS`."""
    return [
        one.rule,
        "-" if one.lambda_ is None else lambdas(one.lambda_, one.others),
        "-" if one.limit is None else f"{one.limit:g}",
        one.signal,
        str(one.seeds),
        text(one.said),
        text(one.came),
        text(one.bias),
        "-" if one.share is None else f"{one.share:+.0%}",
    ]


OVER_TRAINING_COLUMNS = (
    Column("limit", identifies=True, right=True),
    Column("rule", identifies=True),
    Column("epochs above"),
    Column("episodes above"),
    Column("excess cost"),
    Column("settles after"),
    Column("of seeds", right=True),
    Column("overshoot"),
    Column("oscillation"),
    Column("worst tenth"),
)


def over_training_table(part: TaskFindings) -> list[list[Content]]:
    """How the rules kept their limits while they trained: rows of `OVER_TRAINING_COLUMNS`."""
    rows: list[list[Content]] = []
    for cell in part.comparison:
        told = cell.over_training
        if told is None:
            continue
        row = (
            f"{cell.limit:g}",
            cell.rule,
            percent(told.epochs_above),
            percent(told.episodes_above),
            text(told.excess),
            text(told.settled_after),
            f"{told.settled_share:.0%}",
            text(told.overshoot),
            text(told.oscillation),
            text(told.tail_cost),
        )
        rows.append([*row])
    return rows


def _mark(cell: Cell) -> Text:
    if cell.best:
        return Text("best", style="green")
    return Text("violated", style="red") if cell.violated else Text()


AGREEMENT_COLUMNS = (
    Column("task", identifies=True),
    Column("limit", identifies=True, right=True),
    Column("rule", identifies=True),
    Column("return", right=True),
    Column("published return", right=True),
    Column("t (p)", right=True),
    Column("cost", right=True),
    Column("published cost", right=True),
    Column("t (p)", right=True),
    Column("mark"),
    Column(""),
)


def _agreement_row(cell: Agreement) -> list[str]:
    """What stands behind the task, in the order of `AGREEMENT_COLUMNS`."""
    same = (
        "same mark"
        if cell.mark == cell.published_mark
        else f"published: {cell.published_mark or 'neither'}"
    )
    return [
        f"{cell.limit:g}",
        cell.rule,
        f"{cell.return_:.2f}",
        f"{cell.published_return:.2f} ± {cell.published_return_sd:.2f}",
        t_and_p(cell.return_t, cell.return_p, cell.return_p_holm),
        f"{cell.cost:.2f}",
        f"{cell.published_cost:.2f} ± {cell.published_cost_sd:.2f}",
        t_and_p(cell.cost_t, cell.cost_p, cell.cost_p_holm),
        cell.mark or "-",
        same,
    ]
