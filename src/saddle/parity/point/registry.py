"""The point tasks that there are reference rows of, in the order in which they are told."""

from collections.abc import Mapping

from saddle.parity.golden import Golden
from saddle.parity.point.button import Button
from saddle.parity.point.circle import Circle
from saddle.parity.point.goal import Goal
from saddle.parity.point.push import Push
from saddle.parity.point.reference import PointReference

POINT: Mapping[str, PointReference] = {
    reference.name: reference for reference in (Circle(), Goal(), Button(), Push())
}


def reference_of(golden: Golden) -> PointReference:
    """What is particular to these rows of a point task."""
    return POINT[golden.task]
