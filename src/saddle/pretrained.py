"""Policies that come with a checkout of Saddle, each with a card: what it was trained on, how, and
what it does.

They lie in results/policies, which an installed package does not have.
"""

import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import saddle
from saddle.errors import SaddleError

CARD = "card.json"


class Interval(NamedTuple):
    """A mean over episodes, and the ends of its 95 % t-interval."""

    mean: float
    lo: float
    hi: float


@dataclass(frozen=True)
class Played:
    """What a policy did in some episodes."""

    return_: Interval
    cost: Interval


@dataclass(frozen=True)
class Verified:
    """The same, in an implementation of the task that nobody here wrote."""

    where: str
    episodes: int
    deterministic: Played
    stochastic: Played


@dataclass(frozen=True)
class Setting:
    """A policy as it was trained, or with its dial set for a limit, and what it does then."""

    multiplier: float | None
    """Lambda, where that was fixed or the dial is set to it."""
    limit: float | None
    """Cost limit that it was trained at or is set for."""
    deterministic: Played
    """By its mean."""
    stochastic: Played
    """As trained."""
    verified: Verified | None
    """None: nowhere else."""


@dataclass(frozen=True)
class Card:
    """What is known about a policy."""

    name: str
    task: str
    rule: str
    seed: int
    env_steps: int
    study: str
    """Of results, whose TOML file says all of how it was trained."""
    commit: str
    episodes: int
    """Of each mode, in worlds that follow from the seed 0."""
    settings: tuple[Setting, ...]
    """One, or of a policy with a dial one for each of some limits."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return _plain(dataclasses.asdict(self))


def folder() -> Path | None:
    """Where they lie; None without a checkout."""
    found = Path(saddle.__file__).resolve().parents[2] / "results" / "policies"
    return found if found.is_dir() else None


def names() -> list[str]:
    """Of all there are."""
    there = folder()
    return sorted(path.parent.name for path in there.glob(f"*/{CARD}")) if there else []


def find(name: str) -> Path | None:
    """The folder of the policy of that name, if there is one."""
    there = folder()
    return there / name if there and name in names() else None


def cards() -> list[Card]:
    """Of all of them, in the order of their names."""
    there = folder()
    if there is None:
        raise SaddleError(
            "there are no policies here: they come with a checkout of Saddle (results/policies), "
            "not with the installed package"
        )
    return [read_card(there / name) for name in names()]


def read_card(path: Path) -> Card:
    """The card in a policy's folder."""
    try:
        facts = json.loads((path / CARD).read_text(encoding="utf-8"))
        settings = [_setting(one) for one in facts.pop("settings")]
        return Card(name=path.name, settings=tuple(settings), **facts)
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise SaddleError(f"cannot read {path / CARD}: {error}; check out the file again") from None


def _setting(facts: dict[str, Any]) -> Setting:
    verified = facts["verified"]
    return Setting(
        multiplier=facts["multiplier"],
        limit=facts["limit"],
        deterministic=_played(facts["deterministic"]),
        stochastic=_played(facts["stochastic"]),
        verified=None if verified is None else _verified(verified),
    )


def _verified(facts: dict[str, Any]) -> Verified:
    return Verified(
        where=facts["where"],
        episodes=facts["episodes"],
        deterministic=_played(facts["deterministic"]),
        stochastic=_played(facts["stochastic"]),
    )


def _played(facts: dict[str, Any]) -> Played:
    return Played(return_=Interval(*facts["return"]), cost=Interval(*facts["cost"]))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key.rstrip("_"): _plain(item) for key, item in value.items()}
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value
