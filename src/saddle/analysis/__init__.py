"""From a study's tables to what they show. Nothing here imports JAX or a plotting library."""

from saddle.analysis.assemble import analyze
from saddle.analysis.findings import Findings, TaskFindings
from saddle.analysis.options import Options

__all__ = ["Findings", "Options", "TaskFindings", "analyze"]
