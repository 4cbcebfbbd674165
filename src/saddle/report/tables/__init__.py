"""Tables of a study as LaTeX (booktabs), Markdown and CSV. CSV holds plain numbers, the other two
rounded text.
"""

from saddle.analysis.findings import Findings
from saddle.report.tables import limits, rules, sweep
from saddle.report.tables.table import Table as Table


def tables(findings: Findings) -> list[Table]:
    """Every table that the findings have rows for."""
    made = [
        rules.comparison(findings),
        rules.over_training(findings),
        rules.over_all(findings),
        limits.limits(findings),
        limits.recommended(findings),
        sweep.sweep(findings),
        limits.joint(findings),
        sweep.critics(findings),
        rules.agreement(findings),
    ]
    return [table for table in made if table.rows]
