"""Plans: what the presets count to, how runs are packed, and what a wrong study file is told."""

import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers import TASK
from hypothesis import given
from hypothesis import strategies as st

from saddle.errors import SaddleError
from saddle.learners import PPO
from saddle.multipliers import PID, Fixed, GradientAscent, rules
from saddle.study import presets
from saddle.study.packing import units
from saddle.study.plan import Plan, Stage, runs
from saddle.study.plan_dict import to_dict
from saddle.study.sequential import UntilDecided
from saddle.study.toml import plan_from, read_file
from saddle.study.until_decided import rounds_words

FILE = """\
name = "mine"
tasks = ["SafetyPointCircle1-v0", "SafetyPointGoal1-v0"]
seeds = 2
steps = 100_000

[learner]
hidden = [64, 64]
layout = "wide"

[chunk]
epochs = 3

[[stages]]
name = "sweep"
lambdas = { from = 0.1, to = 10.0, count = 5 }

[[stages]]
name = "compare"
lambda_star = "sweep"
limits = [10, 25]
rules = [
    { rule = "ga", lr = 0.1 },
    { rule = "pid", kp = [1e-3, 1e-2], ki = [1e-4, 1e-3] },
]
"""


DOC = Path(__file__).parents[2] / "docs" / "how-to" / "studies.md"


def written(tmp_path: Path, text: str) -> Path:
    file = tmp_path / "study.toml"
    file.write_text(text)
    return file


def test_the_study_file_of_the_docs_is_one(tmp_path):
    (text,) = re.findall(
        r'^```toml\n(name = "mine".*?)^```', DOC.read_text(), re.DOTALL | re.MULTILINE
    )
    planned = runs(read_file(written(tmp_path, text)))
    assert {run.stage for run in planned} == {"sweep", "compare", "map", "scale-invariance"}


@pytest.mark.parametrize(
    ("name", "sweep", "compare"),
    [
        ("paper", 2000, 480),
        ("paper-sweep", 2000, 0),
        ("paper-compare", 0, 480),
        ("paper-circle", 250, 60),
        ("paper-ant", 250, 60),
        ("limits", 0, 510),
    ],
)
def test_the_presets_count_what_the_study_counts(name, sweep, compare):
    planned = runs(presets.load(name))
    assert sum(run.stage == "sweep" for run in planned) == sweep
    assert sum(run.stage == "compare" for run in planned) == compare
    plan = presets.load(name)
    assert plan.epochs_of(plan.learner) == 1750


def test_the_study_sweeps_25_multipliers_and_compares_three_rules():
    plan = presets.load("paper-hopper")
    lambdas = sorted({run.rule.init for run in runs(plan) if isinstance(run.rule, Fixed)})
    assert lambdas == pytest.approx([10 ** (-1 + i / 12) for i in range(25)])
    compared = {
        (run.rule and run.rule.name, run.limit) for run in runs(plan) if run.stage == "compare"
    }
    assert compared == {
        (rule, limit) for rule in (None, "ga", "pid") for limit in ((25.0,), (400.0,))
    }


@pytest.mark.parametrize(("name", "seeds"), [("rules-map", 3), ("rules-map-full", 10)])
def test_a_map_has_every_rule_that_moves_lambda_at_every_limit_of_the_frontier(name, seeds):
    plan = presets.load(name)
    moving = {kind.name for kind in rules().values() if kind is not Fixed and not kind.drawn}
    planned = [run for run in runs(plan) if run.stage == "map"]
    places = [(i, presets.MAP_LIMITS) for i in range(1, presets.MAP_LIMITS + 1)]
    for task in plan.tasks:
        own = {(run.rule and run.rule.name, run.place) for run in planned if run.task == task}
        assert own == {(rule, place) for rule in (None, *moving) for place in places}
    assert len(planned) == len(plan.tasks) * len(places) * (len(moving) + 1) * seeds
    assert all(run.star == "sweep" and run.limit is None for run in planned)


@pytest.mark.parametrize("name", list(presets.PRESETS))
def test_every_preset_survives_its_manifest(name):
    plan = presets.load(name)
    assert plan.name == name
    assert plan_from(to_dict(plan)) == plan


@given(st.integers(1, 400), st.integers(1, 4))
def test_units_hold_every_run_once_and_stay_within_memory(capacity, seeds):
    stages = (
        Stage("sweep", lambdas=(0.1, 1.0, 10.0)),
        Stage(
            "compare",
            rules=(GradientAscent(), PID()),
            lambda_star="sweep",
            limits=((10.0,), (25.0,)),
        ),
    )
    plan = Plan(
        tasks=("SafetyPointGoal1-v0", "SafetyPointPush1-v0"),
        seeds=tuple(range(seeds)),
        stages=stages,
    )
    packed = units(plan, lambda task, learner: capacity)
    assert sorted(run.name for some in packed.values() for run in some) == sorted(
        run.name for run in runs(plan)
    )
    for some in packed.values():
        assert 1 <= len(some) <= capacity
        assert (
            len({(run.task, run.star) for run in some}) == 1
        )  # one program, and either all wait or none
    for task in plan.tasks:
        sizes = [
            len(some)
            for name, some in packed.items()
            if some[0].task == task and "star" not in name
        ]
        assert max(sizes) - min(sizes) <= 1  # as even as can be
        assert len(sizes) == math.ceil(7 * seeds / capacity)


def test_a_study_file_is_read(tmp_path):
    plan = read_file(written(tmp_path, FILE))
    assert plan.learner == PPO(hidden=(64, 64), layout="wide")
    assert plan.chunk.epochs == 3 and plan.seeds == (0, 1)
    assert plan.stages[0].lambdas == pytest.approx([0.1, math.sqrt(0.1), 1, math.sqrt(10), 10])
    gains = [(rule.kp, rule.ki) for rule in plan.stages[1].rules if isinstance(rule, PID)]
    assert gains == [(1e-3, 1e-4), (1e-3, 1e-3), (1e-2, 1e-4), (1e-2, 1e-3)]
    assert len(runs(plan)) == 2 * 2 * (5 + 2 * (1 + 1 + 4))
    assert plan_from(to_dict(plan)) == plan


def test_limits_by_task_and_by_constraint(tmp_path):
    by_task = "limits = { SafetyPointCircle1-v0 = [20, 150], SafetyPointGoal1-v0 = [15] }"
    plan = read_file(written(tmp_path, FILE.replace("limits = [10, 25]", by_task)))
    assert {run.limit for run in runs(plan) if run.task == "SafetyPointGoal1-v0"} == {None, (15.0,)}
    both = read_file(
        written(tmp_path, FILE.replace("limits = [10, 25]", "limits = [[10, 3], [25, 3]]"))
    )
    assert {run.limit for run in runs(both)} == {None, (10.0, 3.0), (25.0, 3.0)}
    assert plan_from(to_dict(plan)) == plan and plan_from(to_dict(both)) == both


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ("seeds = 2", "sedes = 2", 3, r"unknown key 'sedes' in the study; did you mean 'seeds'\?"),
        ("hidden =", "hiden =", 7, r"unknown key 'hiden' in learner; did you mean 'hidden'\?"),
        ("limits =", "limit =", 20, r"unknown key 'limit' in stages\[1\]; did you mean 'limits'\?"),
        ("kp = [", "kpp = [", 23, "unknown key 'kpp' .* did you mean 'kp'"),
        ("seeds = 2", 'layout = "wide"', 3, r"'layout' in the study; it belongs into \[learner\]"),
        ("steps = 100_000", 'steps = "many"', 4, "steps is 'many', but must be a whole number"),
        (
            'layout = "wide"',
            'layout = "narrow"',
            8,
            "learner.layout is 'narrow', but must be one of 'study', 'wide'",
        ),
        ("hidden = [64, 64]", "hidden = [64, 0.5]", 7, "must be a list, each entry a whole number"),
        (
            "limits = [10, 25]",
            "limits = [10, 10]",
            17,
            "limit of stage 'compare': 10 is there twice",
        ),
        ("limits = [10, 25]", "limits = [-1]", 17, "cost limit below 0"),
        ("limits = [10, 25]", "", 17, "rules that need a cost limit, but no limits"),
        ("limits = [10, 25]", "limits = [[1, 2], 3]", 17, "different numbers of constraints"),
        (
            'lambda_star = "sweep"',
            'lambda_star = "compare"',
            None,
            "takes lambda\\* from 'compare', which has no fixed",
        ),
        (
            'lambda_star = "sweep"',
            'lambda_star = "sweep"\nlambda_star_method = "lowess"',
            20,
            "lambda_star_method is 'lowess', but must be one of 'profile', 'published'",
        ),
        (
            'lambda_star = "sweep"',
            'lambda_star_method = "published"',
            17,
            "a lambda_star_method, but no lambda_star: name the stage",
        ),
        (
            "limits = [10, 25]",
            'limits = [[10, 3]]\nlambda_star_method = "published"',
            17,
            "several constraints, for which lambda\\* was never published",
        ),
        ("lambdas = {", "limits = [3]\nlambdas = {", 13, "has limits, but no rule that uses them"),
        ("count = 5", "cnt = 5", 15, "lambdas must be a list, or a table with from, to and count"),
        (
            '{ rule = "ga", lr = 0.1 },',
            '{ rule = "gradient" },',
            21,
            "rule = one of 'fixed', 'ga', 'pid'",
        ),
        (
            '{ rule = "ga", lr = 0.1 },',
            '{ rule = "ga" }, { rule = "ga" },',
            None,
            "run .*ga-d10-s0 is there twice",
        ),
        ("steps = 100_000", "steps = 10", None, "less than one epoch"),
        ("limits = [10, 25]", "limits_from_frontier = -1", 17, "takes -1 limits from a frontier"),
        (
            "limits = [10, 25]",
            "limits = [10]\nlimits_from_frontier = 2",
            17,
            "has limits, and takes limits from a frontier",
        ),
        (
            'lambda_star = "sweep"\nlimits = [10, 25]',
            "limits_from_frontier = 2",
            17,
            "takes limits from a frontier, but names no stage that has one",
        ),
        ("limits = [10, 25]", 'limits_from_frontier = "six"', 20, "must be a whole number"),
        ("epochs = 3", "epochs = 0", 10, "must be positive"),
        (
            "limits = [10, 25]",
            "limits = { SafetyPointGoal1-v0 = { x = [1] } }",
            20,
            "SafetyPointGoal1-v0 must be a list",
        ),
        (
            "limits = [10, 25]",
            "limits = { SafetyPointGoal1-v0 = [], SafetyPointCircle1-v0 = [1] }",
            17,
            "has no limits for SafetyPointGoal1-v0",
        ),
        ('lambda_star = "sweep"', 'lambda_star = ""', 17, "a stage's name is empty"),
        (
            "limits = [10, 25]",
            "limits = { SafetyPointGoal1-v0 = [1] }",
            None,
            "SafetyPointCircle1-v0 has none",
        ),
    ],
)
def test_a_mistake_is_named_with_its_line(tmp_path, old, new, line, words):
    assert old in FILE
    file = written(tmp_path, FILE.replace(old, new, 1))
    with pytest.raises(SaddleError, match=words) as caught:
        read_file(file)
    assert str(caught.value).startswith(f"{file}:{line}:" if line else f"{file}: ")
    assert "\n" not in str(caught.value)


def test_lambda_star_as_published_is_asked_for_by_a_file_or_for_a_whole_study(tmp_path):
    asked = 'lambda_star = "sweep"\nlambda_star_method = "published"'
    plan = read_file(written(tmp_path, FILE.replace('lambda_star = "sweep"', asked)))
    assert plan.stages[1].lambda_star_method == "published"
    assert plan_from(to_dict(plan)) == plan
    assert {run.star_method for run in runs(plan) if run.star} == {"published"}
    usual = read_file(written(tmp_path, FILE))
    assert "lambda_star_method" not in to_dict(usual)["stages"][1]  # as before there was a choice
    assert presets.load(str(tmp_path / "study.toml"), published=True) == plan


def test_files_that_are_no_study(tmp_path):
    with pytest.raises(SaddleError, match=r"not valid TOML.*line 1"):
        read_file(written(tmp_path, "a = = 3"))
    (tmp_path / "x.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(SaddleError, match="not a text file"):
        presets.load(str(tmp_path / "x.toml"))
    with pytest.raises(SaddleError, match="there is no study file"):
        presets.load("nowhere.toml")
    with pytest.raises(
        SaddleError, match=r"unknown study 'paper-hoper'; did you mean 'paper-hopper'\?"
    ):
        presets.load("paper-hoper")


def of_anything(kind: Any, **fields: Any) -> Any:
    """What a program makes whose types nobody has checked."""
    return kind(**fields)


def test_a_program_may_write_a_plan_as_a_study_file_does():
    stage = of_anything(Stage, name="compare", rules=[PID()], limits=(10, 25))
    assert stage.limits == ((10.0,), (25.0,)) and stage.rules == (PID(),)
    by_task = of_anything(Stage, name="compare", rules=(PID(),), limits={TASK: np.array([10, 25])})
    assert by_task.limits == {TASK: ((10.0,), (25.0,))}
    two = of_anything(Stage, name="compare", rules=(PID(),), limits=[(10, 25), (5, 5)])
    assert two.limits == ((10.0, 25.0), (5.0, 5.0))
    plan = of_anything(Plan, tasks=[TASK], stages=[stage], seeds=5, steps=3e6, members=np.int64(4))
    assert plan.seeds == (0, 1, 2, 3, 4) and plan.tasks == (TASK,)
    assert (type(plan.steps), type(plan.members)) == (int, int)
    seeds = of_anything(Plan, tasks=(TASK,), stages=(stage,), seeds=np.arange(3)).seeds
    assert seeds == (0, 1, 2) and {type(seed) for seed in seeds} == {int}
    assert plan_from(json.loads(json.dumps(to_dict(plan)))) == plan


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({"limits": 25}, "limits are 25; give a list of numbers"),
        ({"limits": "10"}, "limits are '10'; give a list of numbers"),
        ({"limits": {TASK: {"x": [1]}}}, "limits are {'x': .1.}; give a list"),
        ({"limits": {TASK: []}}, f"has no limits for {TASK}"),
        ({"rules": PID()}, "rules is PID.*; it must be a list"),
        ({"rules": (PID,)}, "rules is .*; it must be a list, each entry Rule"),
        ({"lambda_star": ""}, "a stage's name is empty"),
        ({"name": ""}, "a stage's name is empty"),
        ({"name": 3}, "name is 3; it must be a string"),
        ({"lambdas": 3}, "lambdas is 3; it must be a list"),
        ({"variants": (3,)}, "variants is .3,.; it must be a list"),
        ({"limits_from_frontier": "x"}, "limits_from_frontier is 'x'"),
    ],
)
def test_what_is_no_stage_is_one_line(fields, complaint):
    with pytest.raises(SaddleError, match=complaint):
        Stage(**{"name": "compare", "rules": (PID(),), "limits": (10,), **fields})


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({"tasks": TASK}, "tasks is .*; it must be a list, each entry a string"),
        ({"tasks": (3,)}, "tasks is .3,.; it must be a list, each entry a string"),
        ({"stages": (3,)}, "stages is .3,.; it must be a list, each entry Stage"),
        ({"seeds": 2.5}, "seeds is 2.5"),
        ({"seeds": (0.5,)}, "seeds is .0.5,.; it must be a list, each entry a whole number"),
        ({"steps": "many"}, "steps is 'many'; it must be a whole number"),
        ({"learner": PPO}, "learner is .*; it must be LearnerSettings"),
        ({"name": 3}, "name is 3; it must be a string"),
        ({"until_decided": 3}, "until_decided is 3; it must be UntilDecided"),
    ],
)
def test_what_is_no_plan_is_one_line(fields, complaint):
    stages = (Stage("sweep", lambdas=(1.0,)),)
    with pytest.raises(SaddleError, match=complaint):
        Plan(**{"tasks": (TASK,), "stages": stages, **fields})


def test_settings_of_seeds_until_decided_are_of_their_types():
    assert of_anything(UntilDecided, most=1e2).most == 100
    with pytest.raises(SaddleError, match="until decided: most is 'x'; it must be a whole number"):
        of_anything(UntilDecided, most="x")


STAGES = (
    Stage("sweep", lambdas=(0.1, 1.0)),
    Stage("compare", rules=(PID(kp=1), PID()), limits=((1.0,),)),
)


@pytest.mark.parametrize("most", [3_000_000_000, 10**20])
def test_more_seeds_until_decided_than_memory_has_room_for_are_refused(most):
    with pytest.raises(SaddleError, match=f"{most} seeds of 4 run.s. each do not fit into memory"):
        Plan(tasks=(TASK,), stages=STAGES, until_decided=UntilDecided(most=most))


def test_of_many_rounds_the_first_and_the_last_are_said():
    wish = UntilDecided(most=3000)
    plan = Plan(tasks=(TASK,), stages=STAGES, seeds=range(3), until_decided=wish)
    assert "after 3, 6, 9, 12, 15, 18 … 3000 seeds" in rounds_words(plan)
