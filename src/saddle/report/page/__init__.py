"""The report: one HTML file that shows a study, without a network."""

from saddle.report.page.build import write

__all__ = ["write"]
