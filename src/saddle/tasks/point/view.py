"""What a picture of a point task's world from above needs to know, without any drawing library."""

from dataclasses import dataclass


@dataclass(frozen=True)
class TopView:
    """How a point task is drawn; where things are, its states say."""

    lidars: tuple[str, ...]
    """In the order of the observation, each named after the kind of thing that it sees."""
    circle: float | None = None
    """m, radius of a circle to follow around the origin."""
    boundary: float | None = None
    """m, |x| beyond which a step costs; None: things stand in a square arena."""
