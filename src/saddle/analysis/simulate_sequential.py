"""Made-up rules whose true order is known, compared while seeds are added: how often that errs, and
how many seeds it takes.
"""

import itertools
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from saddle.analysis.permutation import p_values
from saddle.analysis.sequential import Comparison, Group, Looks, compare

Law = Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]
"""Scores of a rule: so many of mean or median 0."""


def normal(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Of standard deviation 1."""
    return rng.normal(size=shape)


def heavy(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Student's t with 2 degrees of freedom, which has no variance."""
    return rng.standard_t(2, size=shape)


def skewed(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Minus a log-normal: most seeds alike, some far below."""
    return 1 - np.exp(rng.normal(size=shape))


def failing(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Normal, but one seed in five comes to nothing."""
    return rng.normal(size=shape) - 10 * (rng.random(shape) < 0.2)


LAWS: dict[str, Law] = {"normal": normal, "heavy": heavy, "skewed": skewed, "failing": failing}


class Made(NamedTuple):
    """A made-up study of rules at a limit."""

    scores: np.ndarray
    """[rules, seeds], as many seeds as there are at most."""
    shifts: np.ndarray
    """By how much each rule is better than it would be: equal ones are equal rules. [rules]"""

    @property
    def rules(self) -> list[str]:
        """Their names, in the order in which they sort."""
        return [f"rule {i:02d}" for i in range(len(self.shifts))]

    def groups(self, looks: Looks) -> dict[str, list[Group]]:
        """As many seeds a group as come between two looks; every cost is below the limit."""
        ends = looks.seeds[:-1]
        found = {}
        for rule, scores in zip(self.rules, self.scores, strict=True):
            parts = np.split(scores[: looks.seeds[-1]], ends)
            found[rule] = [Group(part, np.full(len(part), -1.0)) for part in parts]
        return found

    def equal(self, first: str, second: str) -> bool:
        """Whether these two rules are equal."""
        a, b = (self.shifts[self.rules.index(rule)] for rule in (first, second))
        return bool(a == b)

    def compared(self, looks: Looks) -> Comparison:
        """The rules, after as many looks as it takes."""
        return compare(self.groups(looks), looks, len(looks.seeds))


def made(
    rng: np.random.Generator, law: Law, shifts: Sequence[float], seeds: int, shared: float = 0.0
) -> Made:
    """Rules with scores of a law; `shared` is the share of it that all rules' runs of a seed have
    in common.
    """
    moved = np.array(shifts, float)
    own = law(rng, (len(moved), seeds))
    common = law(rng, (1, seeds))
    return Made((1 - shared) * own + shared * common + moved[:, None], moved)


def errs(study: Made, found: Comparison) -> bool:
    """Whether any two equal rules were told apart."""
    told = [pair for pair, state in found.pairs.items() if state.better is not None]
    return any(study.equal(*pair) for pair in told)


def errs_uncorrected(study: Made, looks: Looks) -> bool:
    """The same if each look at each pair had the whole error."""
    equal = [
        (a, b)
        for a, b in itertools.combinations(range(len(study.rules)), 2)
        if study.shifts[a] == study.shifts[b]
    ]
    first, second = (study.scores[list(side)] for side in zip(*equal, strict=True))
    for seeds in looks.seeds:
        values = p_values(first[:, :seeds], second[:, :seeds], looks.most_deals)
        if (values <= looks.error).any():
            return True
    return False


def finds_best(study: Made, found: Comparison) -> bool:
    """Whether no rule is left to use but the best."""
    best = study.rules[int(np.argmax(study.shifts))]
    return found.use == [best]


def mean_seeds(found: Comparison) -> float:
    """Seeds that a rule was given, on average over rules."""
    given = [state.stopped_at or found.looks.seeds[-1] for state in found.rules.values()]
    return float(np.mean(given))
