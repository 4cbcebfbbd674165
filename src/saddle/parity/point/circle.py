"""The reference rows of Circle: the robot alone."""

import numpy as np

from saddle.parity import motion
from saddle.parity.golden import Golden
from saddle.parity.point.reference import Margins, PointReference
from saddle.tasks.point import specs

BOUNDARY = 1.125  # m, to either side of the origin


class Circle(PointReference):
    """A cost outside a strip, and no goal."""

    name = specs.CIRCLE.name

    def margins(self, golden: Golden) -> Margins:
        """The strip's edge."""
        x = motion.agents(golden, after=True)[:, 0]
        return Margins(
            goal=np.full(golden.rows, np.inf),
            costs={"out_of_boundary": np.abs(np.abs(x) - BOUNDARY)},
        )
