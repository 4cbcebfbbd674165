"""Metrics of runs, epoch by epoch, where somebody else shows them."""

from saddle.trackers.registry import NAMES, TrackerKind, tracker_kinds
from saddle.trackers.tracker import Tracker, tracked

__all__ = ["NAMES", "Tracker", "TrackerKind", "tracked", "tracker_kinds"]
