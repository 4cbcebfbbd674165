"""Values brought to the types of settings: from files, command lines and Python alike."""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import saddle
from saddle.errors import SaddleError
from saddle.hints import Unfit, bring_to_hints, fitting
from saddle.multipliers import CRPO, PID, GradientAscent
from saddle.multipliers.stacked import Rules
from saddle.study.plan import Chunking
from saddle.study.plan_dict import to_dict
from saddle.study.toml import plan_from, read_file


@dataclass(frozen=True)
class Settings:
    """One of each type."""

    rate: float = 1.0
    count: int = 1
    flag: bool = True
    kind: Literal["a", "b"] = "a"
    perhaps: int | None = None
    widths: tuple[int, ...] = (1,)

    def __post_init__(self) -> None:
        bring_to_hints(self)


@given(st.integers(-(2**40), 2**40))
def test_whole_numbers_are_numbers(number):
    for written in (number, np.int64(number)):
        rate = fitting(written, float)
        assert rate == number and type(rate) is float
    count = fitting(float(number), int)
    assert count == number and type(count) is int


@given(st.floats())
def test_only_whole_floats_are_whole(number):
    if math.isfinite(number) and number == int(number):
        assert fitting(number, int) == number
    else:
        with pytest.raises(Unfit):
            fitting(number, int)


def test_settings_have_their_types():
    made = Settings(rate=2, count=3.0, perhaps=4.0, widths=[5, 6.0])  # type: ignore[arg-type]
    assert made == Settings(2.0, 3, True, "a", 4, (5, 6))
    assert type(made.rate) is float and type(made.count) is int and type(made.widths[1]) is int
    assert Settings(rate="inf").rate == math.inf  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"rate": "fast"}, "rate is 'fast'; it must be a number"),
        ({"rate": True}, "rate is True; it must be a number"),
        ({"count": 1.5}, "count is 1.5; it must be a whole number"),
        ({"count": math.inf}, "count is inf; it must be a whole number"),
        ({"flag": 1}, "flag is 1; it must be true or false"),
        ({"kind": "c"}, "kind is 'c'; it must be one of 'a', 'b'"),
        ({"kind": []}, r"kind is \[\]; it must be one of"),
        ({"perhaps": "no"}, "perhaps is 'no'; it must be a whole number"),
        ({"widths": 3}, "widths is 3; it must be a list, each entry a whole number"),
        ({"widths": [0.5]}, r"widths is \[0.5\]; it must be a list"),
    ],
)
def test_what_does_not_fit_is_one_line(wrong, said):
    with pytest.raises(SaddleError, match=said):
        Settings(**wrong)


@pytest.mark.parametrize(
    ("kind", "wrong"),
    [
        (GradientAscent, {"optimizer": "sgd"}),
        (saddle.PPO, {"layout": "Wide"}),
        (saddle.PPO, {"activation": "gelu"}),
        (saddle.PPO, {"precision": "fp8"}),
        (saddle.PPO, {"batch": "many"}),
        (saddle.SAC, {"replay_type": "fp16"}),
        (saddle.SAC, {"cost_target": "best"}),
        (saddle.SAC, {"clock": "step"}),
        (saddle.SAC, {"cost_caution": math.nan, "cost_critics": 2}),
        (saddle.SAC, {"cost_caution": -1.0, "cost_critics": 2}),
    ],
)
def test_settings_from_python_are_checked_as_those_of_files(kind, wrong):
    with pytest.raises(SaddleError, match=f"{next(iter(wrong))} is .*; it must be"):
        kind(**wrong)


def test_a_whole_number_first_leaves_the_others_as_they_are(tmp_path):
    """What the first member has says nothing about the column's type."""
    (gains,) = Rules([PID(kd=0), PID(kd=0.01), PID(kd=0.5)]).numbers.settings
    np.testing.assert_allclose(gains.kd, [0.0, 0.01, 0.5])
    (steps,) = Rules([GradientAscent(lr=1), GradientAscent()]).numbers.settings
    np.testing.assert_allclose(steps.lr, [1.0, 0.035])
    file = tmp_path / "grid.toml"
    file.write_text(
        'tasks = ["SafetyPointCircle1-v0"]\n[[stages]]\nname = "c"\nlimits = [25]\n'
        'rules = [{ rule = "pid", kd = [0, 0.01] }]\n'
    )
    rules = read_file(file).stages[0].rules
    (gains,) = Rules(rules).numbers.settings
    np.testing.assert_allclose(gains.kd, [0.0, 0.01])


def test_columns_of_whole_numbers_and_of_flags_stay_such():
    (numbers,) = Rules([PID(delay=3), PID()]).numbers.settings
    assert numbers.delay.dtype == np.int32
    (numbers,) = Rules([GradientAscent(optimizer="plain")]).numbers.settings
    assert numbers.adam.dtype == np.bool_


def test_infinity_is_a_word_in_files(tmp_path):
    """Where a number may be infinite it is; where not, that is one line."""
    stage = saddle.Stage("s", lambdas=(1.0,))
    plan = saddle.Plan(
        tasks=("SafetyPointCircle1-v0",), stages=(stage,), chunk=Chunking(seconds=math.inf)
    )
    written = to_dict(plan)
    assert written["chunk"]["seconds"] == "inf" and plan_from(written) == plan
    file = tmp_path / "wrong.toml"
    file.write_text(
        'tasks = ["SafetyPointCircle1-v0"]\n[[stages]]\nname = "c"\nlimits = [25]\n'
        'rules = [{ rule = "crpo", maximum = "inf" }]\n'
    )
    with pytest.raises(SaddleError, match=r"wrong.toml:5: maximum is inf"):
        read_file(file)
    with pytest.raises(SaddleError, match="maximum is inf"):
        CRPO(maximum=math.inf)
