"""What is yes or no in every row, and in how many rows it agrees with the reference."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from saddle.parity.tolerances import AT_THRESHOLD


@dataclass(frozen=True)
class Agreement:
    """How many rows agree. `at_threshold` of the others are decided by less than AT_THRESHOLD."""

    regime: str
    event: str
    rows: int
    agree: int
    at_threshold: int
    required: float  # share of the rows that must agree or be decided at the threshold

    @property
    def passed(self) -> bool:
        """Enough rows agree."""
        return self.agree + self.at_threshold >= self.required * self.rows


class Decided(NamedTuple):
    """An event in every row."""

    agree: Bool[np.ndarray, " rows"]
    distance: Float[np.ndarray, " rows"]
    """How far what decides it is from its threshold; infinite where there is none."""

    def agreement(
        self, regime: str, event: str, rows: Bool[np.ndarray, " rows"], required: float
    ) -> Agreement:
        """Over the rows of a regime."""
        near = ~self.agree & (self.distance <= AT_THRESHOLD)
        return Agreement(
            regime=regime,
            event=event,
            rows=int(rows.sum()),
            agree=int((self.agree & rows).sum()),
            at_threshold=int((near & rows).sum()),
            required=required,
        )
