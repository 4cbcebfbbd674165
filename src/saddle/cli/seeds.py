"""What a command line says of seeds that are added until rules are told apart."""

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from tyro.conf import arg

from saddle.cli.options import flag
from saddle.errors import SaddleError


@dataclass(frozen=True)
class SeedOptions:
    """Options that add seeds to a study."""

    until_decided: Annotated[
        bool,
        flag(
            "Add seeds to rules at a limit while it is open which of them to use; the study's "
            "seeds are the first group."
        ),
    ] = False
    most_seeds: Annotated[
        int | None,
        arg(
            metavar="N",
            help="Until decided: most seeds of a rule.",
            help_behavior_hint="(default: five times the study's)",
        ),
    ] = None
    group: Annotated[
        int | None,
        arg(
            metavar="N",
            help="Until decided: seeds that are added at a time.",
            help_behavior_hint="(default: the study's)",
        ),
    ] = None
    error: Annotated[
        float | None,
        arg(
            metavar="P",
            help="Until decided: chance of telling apart any two equal rules.",
            help_behavior_hint="(default: 0.05)",
        ),
    ] = None
    error_over: Annotated[
        Literal["limit", "study"] | None,
        arg(
            metavar="{limit,study}",
            help="Until decided: whether that holds for each task and limit, or for all together.",
            help_behavior_hint="(default: limit)",
        ),
    ] = None
    score: Annotated[
        Literal["gap", "return", "violation"] | None,
        arg(
            metavar="{gap,return,violation}",
            help="Until decided: what rules are compared by. The gap is return beside the "
            "frontier's at equal cost.",
            help_behavior_hint="(default: gap)",
        ),
    ] = None

    def settings(self) -> dict[str, Any] | None:
        """Those that were given, by the names of `UntilDecided`; None if no seeds are added."""
        given = {
            "most": self.most_seeds,
            "group": self.group,
            "error": self.error,
            "error_over": self.error_over,
            "score": self.score,
        }
        told = {name: value for name, value in given.items() if value is not None}
        if told and not self.until_decided:
            raise SaddleError(
                "--most-seeds, --group, --error, --error-over and --score are for seeds that are "
                "added; add --until-decided"
            )
        return told if self.until_decided else None
