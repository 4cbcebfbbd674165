"""How much a rule's numbers matter: the sweep that is planned, and what is said of known truths."""

import json

import numpy as np
import polars as pl
import pytest
from fake import FakeProgram
from helpers import TASK
from hypothesis import given
from hypothesis import strategies as st

from saddle.analysis import Options, analyze
from saddle.analysis.sensitivity import sensitivities, share_of_decades
from saddle.analysis.simulate import BEND, LAMBDAS, curves_of, row_of, sweep_finals
from saddle.cli import main
from saddle.errors import SaddleError
from saddle.multipliers import PID, rule_to_dict
from saddle.study.columns import RUNS
from saddle.study.sensitivity import FACTORS, sensitivity_plan, swept
from saddle.verbs.sensitivity import sensitivity

LIMITS = (20.0, 60.0)
EPOCHS = 20
POOR = 1e-2  # this kp and above have less return, ...
LOOSE = 1e-5  # ... and this one and below exceed the limit
KP = tuple(float(f"{1e-4 * factor:.4g}") for factor in FACTORS)


class Priced(FakeProgram):
    """The fake learner, whose return falls with lambda as its cost does."""

    def epoch(self, state):
        state, metrics = super().epoch(state)
        return state, metrics | {"return": metrics["cost"][:, 0] + 1.0}


def study_of(seeds):
    """A sweep, and PID whose kp is good over the middle of its range."""
    rng = np.random.default_rng(0)
    lambdas = LAMBDAS[::3]
    rows = []
    for lam in lambdas:
        rows += [row_of(BEND.task, "s", "fixed", float(lam), None, seed) for seed in range(seeds)]
    finals = [sweep_finals(BEND, rng, seeds, lambdas, 0.5)]
    span = np.ptp(BEND.returns(LAMBDAS))
    for limit in LIMITS:
        for kp in KP:
            params = json.dumps({"rule": rule_to_dict(PID(kp=kp))})
            for seed in range(seeds):
                rows.append(row_of(BEND.task, "s", "pid", None, limit, seed) | {"params": params})
            share = 1.5 if kp <= LOOSE else 0.8
            costs = limit * (share + 0.02 * rng.normal(size=seeds))
            beside = -0.4 if kp >= POOR else 0.0
            returns = BEND.gain(costs) + span * (beside + 0.02 * rng.normal(size=seeds))
            finals.append(np.stack([returns, costs, np.ones(seeds)], -1))
    runs = pl.DataFrame(rows, schema=RUNS).with_columns(
        run=pl.format("r{}", pl.int_range(pl.len())), steps=pl.lit(20_000 * EPOCHS)
    )
    return runs, curves_of(runs, np.concatenate(finals), rng, EPOCHS)


def sensitivity_of(seeds):
    runs, metrics = study_of(seeds)
    (found,) = sensitivities(analyze(runs, metrics, Options(replicates=100)), runs, PID())
    return found


def test_the_good_region_is_the_one_that_was_made():
    found = sensitivity_of(6)
    assert (found.setting, found.default, found.decades) == ("kp", 1e-4, pytest.approx(4))
    assert [one.value for one in found.values] == list(KP)
    inside = [one for one in found.values if one.value > LOOSE]
    assert [one.less_return for one in inside] == [one.value >= POOR for one in inside]
    assert [one.violates_more for one in found.values] == [kp <= LOOSE for kp in KP]
    assert {one.runs for one in found.values} == {6 * len(LIMITS)}
    good = sum(LOOSE < kp < POOR for kp in KP)
    assert found.flat == pytest.approx(good / 8, abs=1e-3)
    assert found.words == f"kp: flat over {good / 8:.0%} of 4.0 decades"


def test_of_too_few_runs_nothing_is_called_flat():
    found = sensitivity_of(2)
    assert found.flat is None and "with so few runs" in found.words


def test_the_ends_have_half_a_stretch():
    values = (0.01, 0.1, 1.0, 10.0, 100.0)
    shares = [share_of_decades(values, np.arange(5) == i) for i in range(5)]
    assert shares == pytest.approx([1 / 8, 1 / 4, 1 / 4, 1 / 4, 1 / 8])


@given(st.sets(st.integers(-40, 40), min_size=2, max_size=9), st.integers(0, 2**9 - 1))
def test_what_is_good_and_what_is_not_make_the_whole(places, bits):
    values = [10 ** (place / 10) for place in sorted(places)]
    good = np.array([bool(bits >> i & 1) for i in range(len(values))])
    parts = share_of_decades(values, good), share_of_decades(values, ~good)
    assert sum(parts) == pytest.approx(1)
    scaled = share_of_decades([1000 * value for value in values], good)
    assert scaled == pytest.approx(parts[0])


def test_each_setting_is_swept_alone_as_far_as_the_rule_takes_it():
    found = swept(PID(), (0.1, 1.0, 10.0))
    assert found.rules[0] == PID() and PID(kp=1e-5) in found.rules and PID(ki=1e-3) in found.rules
    for rule in found.rules[1:]:
        changed = [name for name, value in vars(rule).items() if value != vars(PID())[name]]
        assert len(changed) == 1 and changed[0] not in ("kd", "delay")
    assert found.notes == (
        "kd is 0 by default, and has no multiples: it is not swept.",
        "ema_p cannot be 9.5: the rule refuses it.",
        "ema_d cannot be 9.5: the rule refuses it.",
    )


def test_a_frontier_that_spans_nothing_is_refused(tmp_path):
    asked = {"task": TASK, "limits": [(25.0,)], "seeds": 2, "factors": (10.0,), "steps": 12_000}
    with pytest.raises(SaddleError, match="span no return"):
        sensitivity("ga", tmp_path / "s", **asked, program="fake:FakeProgram")


def test_all_settings_are_one_stage():
    plan = sensitivity_plan("ga", TASK, [(25.0,)], 3)
    (stage,) = plan.stages
    assert stage.limits == ((25.0,),) and len(stage.lambdas) == 7
    assert plan.seeds == (0, 1, 2) and plan.name == "sensitivity-ga"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"name": "fixed"}, "keeps no limit"),
        ({"name": "dial"}, "keeps no limit"),
        ({"name": "pidd"}, "did you mean 'pid'"),
        ({"seeds": 1}, "seeds is 1; a comparison takes 2 or more"),
        ({"factors": (0.0, 10.0)}, "the factor 0 has no logarithm"),
    ],
)
def test_what_cannot_be_swept_is_refused(changes, words):
    asked = {"name": "pid", "task": TASK, "limits": [(25.0,)], "seeds": 3} | changes
    with pytest.raises(SaddleError, match=words):
        sensitivity_plan(**asked)


def test_the_verb_trains_and_tells_and_goes_on(tmp_path, capsys):
    asked = {"task": TASK, "limits": [(25.0,)], "seeds": 2, "factors": (0.1, 10.0)}
    asked |= {"steps": 12_000, "program": f"{__name__}:Priced"}
    assert sensitivity("ga", tmp_path / "s", **asked) == 0
    said = capsys.readouterr().out
    assert "lr (default)" in said and "gap to frontier" in said
    assert sensitivity("ga", tmp_path / "s", **asked, resume=True, as_json=True) == 0
    last = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert {one["setting"] for one in last["settings"]} >= {"lr", "init"}
    assert sensitivity("ga", tmp_path / "s", **asked, resume=True, limit_time="0s") == 3
    assert "stopped: the time limit is reached" in capsys.readouterr().out
    assert main(["sensitivity", "fixed", "--out", str(tmp_path / "t")]) == 2
    assert "keeps no limit" in capsys.readouterr().err
