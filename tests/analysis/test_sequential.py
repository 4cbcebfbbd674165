"""Rules that are compared while seeds are added: p-values against enumeration and SciPy,
corrections against closed testing, and the error over many made-up studies.
"""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import permutation_test

from saddle.analysis import simulate_sequential as made_up
from saddle.analysis.permutation import deals, p_values, smallest_p
from saddle.analysis.sequential import Comparison, Group, Looks, compare
from saddle.analysis.simulate_sequential import LAWS
from saddle.analysis.step_down import counts_of_equal_pairs, shaffer
from saddle.analysis.until_decided import Family, _of_limit
from saddle.study.sequential import Design, UntilDecided

VALUES = st.lists(st.integers(-50, 50), min_size=4, max_size=4)


def p_value(first, second, **options):
    return p_values(np.array([first], float), np.array([second], float), **options)[0]


def test_by_hand():
    """Three of 1, 2, 4, 8, 16 go to the sample that lacks 32, in ten ways: with the sums 7, 11, 13,
    14, 19, 21, 22, 25, 26 and 28 of 63. As far from a half as 14 are the first four.
    """
    assert deals(3, 3) == 10
    assert p_value([2, 4, 8], [1, 16, 32]) == 4 / 10
    assert p_value([1, 2, 4], [8, 16, 32]) == 1 / 10 == smallest_p(3, 3)
    # Two of five: 3 of 59 is 20.6 from its share of 23.6, and only 48 is farther.
    assert p_value([1, 2], [8, 16, 32]) == 2 / 10
    assert p_value([5, 5, 5], [5, 5, 5]) == 1


@pytest.mark.parametrize(("first", "second"), [(5, 5), (4, 6), (2, 7)])
def test_p_values_are_those_of_scipy(first, second):
    rng = np.random.default_rng(first)
    a, b = rng.standard_t(2, size=(3, first)), rng.standard_t(2, size=(3, second)) + 1

    def difference(x, y, axis):
        return x.mean(axis=axis) - y.mean(axis=axis)

    theirs = []
    for own, other in zip(a, b, strict=True):
        test = permutation_test((own, other), difference, n_resamples=10**6, vectorized=True)
        both = abs(test.null_distribution) >= abs(test.statistic) - 1e-12
        theirs.append(both.mean())
    assert p_values(a, b) == pytest.approx(theirs)


def test_drawn_deals_are_near_all_of_them():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(20, 7)), rng.normal(size=(20, 7)) + 0.7
    drawn = p_values(a, b, most=1500)
    exact = p_values(a, b)
    assert deals(7, 7) == 1716 and not np.array_equal(drawn, exact)
    error = np.sqrt(exact * (1 - exact) / 1500)
    assert (abs(drawn - exact) <= 4 * error + 1 / 1500).all()
    assert np.array_equal(drawn, p_values(a, b, most=1500))


@given(VALUES, VALUES, st.integers(-1000, 1000), st.permutations(range(4)))
@settings(max_examples=60, deadline=None)
def test_what_p_values_do_not_depend_on(a, b, moved, order):
    p = p_value(a, b)
    assert p == p_value(b, a)
    assert p == p_value([a[i] for i in order], b)
    assert p == p_value([value + moved for value in a], [value + moved for value in b])
    assert p == p_value([-value for value in a], [-value for value in b])
    assert p == p_value([3 * value for value in a], [3 * value for value in b])


@given(VALUES, VALUES, st.integers(0, 50))
@settings(max_examples=60, deadline=None)
def test_farther_apart_is_never_less_sure(a, b, farther):
    if sum(a) < sum(b):
        a, b = b, a
    assert p_value([value + farther for value in a], b) <= p_value(a, b)


def test_how_many_pairs_can_be_equal():
    """The divisors of Shaffer (1986)."""
    assert counts_of_equal_pairs(3) == (0, 1, 3)
    assert counts_of_equal_pairs(4) == (0, 1, 2, 3, 6)
    assert shaffer([0.01, 0.02, 0.03], 3) == pytest.approx([0.03, 0.03, 0.03])
    values = [0.001 * 2**i for i in range(6)]
    divisors = [6, 3, 3, 3, 2, 1]
    assert shaffer(values, 4) == pytest.approx(
        [d * p for d, p in zip(divisors, values, strict=True)]
    )


def partitions(things):
    """Every way to group them."""
    if not things:
        yield []
        return
    first, *rest = things
    for grouped in partitions(rest):
        yield [[first], *grouped]
        for i, group in enumerate(grouped):
            yield [*grouped[:i], [first, *group], *grouped[i + 1 :]]


@given(st.lists(st.floats(0, 0.2), min_size=6, max_size=6))
@settings(max_examples=100, deadline=None)
def test_step_down_claims_no_more_than_closed_testing(values):
    """A pair is told apart only if every way in which rules can be equal, that pair among them, is
    refused by Bonferroni's test of it.
    """
    pairs = list(itertools.combinations(range(4), 2))
    of_pair = dict(zip(pairs, values, strict=True))
    corrected = dict(zip(pairs, shaffer(values, 4), strict=True))
    for grouped in partitions(list(range(4))):
        equal = [pair for group in grouped for pair in itertools.combinations(sorted(group), 2)]
        refused = any(of_pair[pair] * len(equal) <= 0.05 for pair in equal)
        if not refused:
            assert all(corrected[pair] > 0.05 for pair in equal)


def test_looks_that_cannot_decide_spend_nothing():
    """Of three seeds each the smallest p-value is 1/10, of six 1/462."""
    looks = Looks((3, 6, 9, 12), 0.05)
    assert looks.shares(3) == pytest.approx((0, 4 / 16, 5 / 16, 7 / 16))
    assert looks.shares(10) == pytest.approx((0, 0, 9 / 16, 7 / 16))
    assert not any(Looks((3,), 0.05).shares(2))


@pytest.mark.parametrize(
    ("wish", "looks"),
    [
        (UntilDecided(), (3, 6, 9, 12, 15)),
        (UntilDecided(most=10, group=4), (3, 7, 10)),
        (UntilDecided(most=4), (3, 4)),
    ],
)
def test_when_rules_are_looked_at(wish, looks):
    design = Design(wish, ((0, 1, 5),))
    assert design.looks == looks
    seeds = design.groups
    while more := Design(wish, seeds).next_seeds():
        seeds = (*seeds, more)
    assert seeds[1][0] == 6
    assert tuple(np.cumsum([len(group) for group in seeds])) == looks


LOOKS = Looks((5, 8), 0.05)
STUDIES = 400


def share_of(law, happens):
    rng = np.random.default_rng(1)
    studies = [made_up.made(rng, LAWS[law], (0, 0, 0), 8) for _ in range(STUDIES)]
    return np.mean([happens(study) for study in studies])


@pytest.mark.parametrize("law", LAWS)
def test_the_error_is_kept_and_would_not_be_without_correction(law):
    """At most 5 % of studies of equal rules, give or take three standard errors; if every look at
    every pair had 5 %, it would be three times as many.
    """
    noise = 3 * np.sqrt(0.05 * 0.95 / STUDIES)
    assert share_of(law, lambda made: made_up.errs(made, made.compared(LOOKS))) <= 0.05 + noise
    assert share_of(law, lambda made: made_up.errs_uncorrected(made, LOOKS)) > 0.05 + 2 * noise


def groups(rules, excess=-1.0):
    """Three groups of eight seeds: of each rule the mean, and seeds that lie evenly around it."""
    around = np.linspace(-1, 1, 8)
    own = {}
    for rule, mean in rules.items():
        above = excess if not isinstance(excess, dict) else excess.get(rule, -1.0)
        own[rule] = [Group(mean + around, above + 0.1 * around)] * 3
    return own


def after(seen, **options) -> Comparison:
    return compare(groups(**options), Looks((8, 16, 24), 0.05), seen)


def test_the_beaten_rule_stops_and_the_rest_go_on():
    found = after(1, rules={"a": 0, "b": 0.1, "worse": -9})
    assert found.rules["worse"].stopped_at == 8
    assert set(found.rules["worse"].beaten_by) == {"a", "b"}
    assert found.open == [("a", "b")] and set(found.use) == {"a", "b"}
    last = after(3, rules={"a": 0, "b": 0.1, "worse": -9})
    assert last.rules["worse"].stopped_at == 8 and last.pairs["a", "worse"].seeds == 8
    assert last.pairs["a", "b"].seeds == 24 and last.pairs["a", "b"].better is None


def test_who_is_alone_needs_no_more_seeds():
    found = after(1, rules={"best": 9, "b": 0, "c": 0})
    assert found.use == ["best"] and found.open == []
    assert {state.stopped_at for state in found.rules.values()} == {8}
    assert found.pairs["b", "c"].better is None


def test_rules_above_the_limit_are_not_to_use_whatever_they_score():
    found = after(1, rules={"cheat": 9, "a": 0, "b": 0}, excess={"cheat": 5.0})
    assert found.rules["cheat"].above_at == 8 and found.rules["cheat"].stopped_at == 8
    assert found.use == ["a", "b"] and found.open == [("a", "b")]
    assert found.rules["a"].beaten_by == ["cheat"]


def test_what_rules_above_the_limit_have_beaten_is_not_decided():
    """Two rules beat the others at the first look, and are told to be above the limit at the
    second.
    """
    wide = 2 * np.linspace(-1, 1, 8) + 0.1
    clear = np.linspace(5, 6, 8)
    own = groups({"a": 0, "b": 0.1, "cheat": 9, "twin": 9.1})
    for rule in ("cheat", "twin"):
        scores = own[rule][0].scores
        own[rule] = [Group(scores, wide), Group(scores, clear)]
    found = compare(own, Looks((8, 16, 24), 0.05), 2)
    assert found.rules["twin"].above_at == found.rules["cheat"].above_at == 16
    assert found.rules["a"].stopped_at == found.rules["b"].stopped_at == 8
    told = _of_limit(Family(None, 20.0, found, {rule: [] for rule in own}))  # pyright: ignore
    assert told.use == ("a", "b") and not told.decided and told.open == ()
    assert told.words.startswith("not decided between a, b: what beat them is above the limit")


def test_runs_that_failed_make_samples_smaller():
    own = groups({"a": 0, "b": -9})
    own["b"] = [Group(group.scores[:6], group.excess[:6]) for group in own["b"]]
    found = compare(own, Looks((8, 16), 0.05), 2)
    assert found.use == ["a"]
    own["b"] = [Group(np.array([]), np.array([]))] * 3
    assert compare(own, Looks((8, 16), 0.05), 2).use == ["a", "b"]


@given(
    st.permutations(["ga", "pid", "crpo"]), st.integers(-3, 3), st.randoms(use_true_random=False)
)
@settings(max_examples=25, deadline=None)
def test_verdicts_depend_on_no_name_order_or_unit(names, moved, random):
    rng = np.random.default_rng(random.randrange(100))
    scores = np.round(rng.normal(size=(3, 3, 4)) + np.array([0, 1, 3])[:, None, None], 2)

    def uses(called, plus, shuffled):
        own = {}
        for rule, parts in zip(called, scores, strict=True):
            parts = [list(part) for part in parts]
            for part in parts:
                if shuffled:
                    random.shuffle(part)
            own[rule] = [Group(np.array(part) + plus, -np.ones(4)) for part in parts]
        found = compare(own, Looks((4, 8, 12), 0.05), 3)
        seeds = [found.rules[rule].stopped_at for rule in called]
        return [rule in found.use for rule in called], seeds

    assert uses(["a", "b", "c"], 0, False) == uses(names, moved, True)
