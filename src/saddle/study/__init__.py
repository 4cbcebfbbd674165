"""Studies: a plan of runs and a store of what they produced."""

from saddle.study.store import Study, open_study

__all__ = ["Study", "open_study"]
