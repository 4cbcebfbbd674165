"""Made-up rules whose true order is known, compared while seeds are added: how often that errs, and
how many seeds it takes.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from numpy.random import Generator

from saddle.analysis.permutation import p_values
from saddle.analysis.sequential import Comparison, Group, Looks, compare

Shape = tuple[int, ...]
Law = Callable[[Generator, Shape], np.ndarray]
"""Scores of a rule: so many of mean or median 0."""


def normal(rng: Generator, shape: Shape) -> np.ndarray:
    """Of standard deviation 1."""
    return rng.normal(size=shape)


def heavy(rng: Generator, shape: Shape) -> np.ndarray:
    """Student's t with 2 degrees of freedom, which has no variance."""
    return rng.standard_t(2, size=shape)


def skewed(rng: Generator, shape: Shape) -> np.ndarray:
    """Minus a log-normal: most seeds alike, some far below."""
    return 1 - np.exp(rng.normal(size=shape))


def failing(rng: Generator, shape: Shape) -> np.ndarray:
    """Normal, but one seed in five comes to nothing."""
    scores = rng.normal(size=shape)
    fails = rng.random(shape) < 0.2
    return scores - 10 * fails


LAWS: dict[str, Law] = {"normal": normal, "heavy": heavy, "skewed": skewed, "failing": failing}


class Made(NamedTuple):
    """A made-up study of rules at a limit."""

    scores: Float[np.ndarray, "rules seeds"]
    """With as many seeds as there are at most."""
    shifts: Float[np.ndarray, " rules"]
    """By how much each rule is better than it would be: equal ones are equal rules."""

    @property
    def rules(self) -> list[str]:
        """Their names, in the order in which they sort."""
        return [f"rule {i:02d}" for i in range(len(self.shifts))]

    def groups(self, looks: Looks) -> dict[str, list[Group]]:
        """As many seeds a group as come between two looks; every cost is below the limit."""
        *ends, most = looks.seeds
        found = {}
        for rule, scores in zip(self.rules, self.scores, strict=True):
            parts = np.split(scores[:most], ends)
            found[rule] = [Group(part, np.full(len(part), -1.0)) for part in parts]
        return found

    def equal(self, first: str, second: str) -> bool:
        """Whether these two rules are equal."""
        shift = dict(zip(self.rules, self.shifts, strict=True))
        return bool(shift[first] == shift[second])

    def compared(self, looks: Looks) -> Comparison:
        """The rules, after as many looks as it takes."""
        return compare(self.groups(looks), looks, len(looks.seeds))


def made(
    rng: Generator, law: Law, shifts: Sequence[float], seeds: int, shared: float = 0.0
) -> Made:
    """Rules with scores of a law; `shared` is the share of it that all rules' runs of a seed have
    in common.
    """
    better_by = np.array(shifts, float)
    own = law(rng, (len(better_by), seeds))
    common = law(rng, (1, seeds))
    scores = (1 - shared) * own + shared * common
    return Made(scores + better_by[:, None], better_by)


def errs(study: Made, found: Comparison) -> bool:
    """Whether any two equal rules were told apart."""
    told = [pair for pair, state in found.pairs.items() if state.better is not None]
    return any(study.equal(*pair) for pair in told)


def errs_uncorrected(study: Made, looks: Looks) -> bool:
    """The same if each look at each pair had the whole error."""
    first, second = np.triu_indices(len(study.shifts), k=1)
    equal = study.shifts[first] == study.shifts[second]
    scores_first = study.scores[first[equal]]
    scores_second = study.scores[second[equal]]
    for seeds in looks.seeds:
        values = p_values(scores_first[:, :seeds], scores_second[:, :seeds], looks.most_deals)
        if (values <= looks.error).any():
            return True
    return False


def finds_best(study: Made, found: Comparison) -> bool:
    """Whether no rule is left to use but the best."""
    best = study.rules[int(np.argmax(study.shifts))]
    return found.use == [best]


def mean_seeds(found: Comparison) -> float:
    """Seeds that a rule was given, on average over rules."""
    most = found.looks.seeds[-1]
    given = [state.stopped_at or most for state in found.rules.values()]
    return float(np.mean(given))
