"""Learners as an axis of a stage: their runs, their units, their lambda*, and what is refused."""

import json

import pytest
from fake import FakeProgram
from helpers import TASK, small, work

from saddle.analysis import Options, analyze
from saddle.errors import SaddleError
from saddle.learners import PPO, learner_to_dict
from saddle.multipliers import GradientAscent
from saddle.study.params import learner_fields, upgraded_plan
from saddle.study.plan import Stage, runs
from saddle.study.plan_dict import to_dict
from saddle.study.toml import plan_from, read_file

BASE = PPO(steps_per_epoch=100, worlds=1)
OFF = PPO(steps_per_epoch=100, worlds=1, rsi="off")
SWEEP = Stage("sweep", lambdas=(0.1, 1.0, 10.0), variants=(BASE, OFF))
COMPARE = Stage(
    "compare",
    rules=(GradientAscent(),),
    lambda_star="sweep",
    limits=((10.0,),),
    variants=(BASE, OFF),
)


class Dearer(FakeProgram):
    """Costs twice as much without scale invariance, so that lambda* is another one."""

    def __init__(self, task, learner, members, steps):
        super().__init__(task, learner, members, steps)
        self.factor = 2.0 if learner.rsi == "off" else 1.0

    def epoch(self, state):
        state, metrics = super().epoch(state)
        return state, metrics | {"cost": self.factor * metrics["cost"]}


def test_every_variant_has_runs_and_units_of_its_own(tmp_path):
    study, _ = work(small(stages=(SWEEP, COMPARE), members=50), tmp_path / "s", make=Dearer)
    assert study.finished
    assert study.units() == [
        "PointCircle1-ppo-00",
        "PointCircle1-ppo-rsi_off-00",
        "PointCircle1-ppo-rsi_off-star-00",
        "PointCircle1-ppo-star-00",
    ]
    for run, unit, params in study.runs.select("run", "unit", "params").iter_rows():
        off = learner_fields(params)["rsi"] == "off"
        assert run.endswith("-rsi_off") == off == ("rsi_off" in unit)
    assert set(study.runs["algorithm"]) == {"ppo"}


def test_lambda_star_comes_from_the_sweep_of_the_same_learner(tmp_path):
    """Cost 40 / (1 + lambda), or twice that, is 10 at lambda 3 and 7; the sweep has three lambdas,
    so roughly.
    """
    study, _ = work(small(stages=(SWEEP, COMPARE), members=50), tmp_path / "s", make=Dearer)
    stars = study.runs.filter(stage="compare", rule="fixed")
    found = {
        learner_fields(params)["rsi"]: value
        for params, value in stars.select("params", "lambda").iter_rows()
    }
    assert 1.0 < found["published"] < found["off"] < 10.0


def test_analysis_tells_variants_apart(tmp_path):
    study, _ = work(small(stages=(SWEEP,), members=50), tmp_path / "s", make=Dearer)
    findings = analyze(study.runs, study.scan_metrics(), Options(replicates=100))
    assert {(part.task, part.algorithm) for part in findings.tasks} == {
        (TASK, "ppo rsi=published"),
        (TASK, "ppo rsi=off"),
    }


def test_variants_survive_a_study_file_and_a_manifest(tmp_path):
    file = tmp_path / "v.toml"
    file.write_text(
        f'tasks = ["{TASK}"]\nsteps = 1000\nseeds = 1\n[learner]\nsteps_per_epoch = 100\nhidden = '
        f"[8]\n"
        '[[stages]]\nname = "sweep"\nlambdas = [1]\nvariants = [{}, { rsi = "off" }, '
        '{ algorithm = "ppo", lam = 0.9 }]\n'
    )
    plan = read_file(file)
    shared = {"steps_per_epoch": 100, "hidden": (8,)}
    assert plan.stages[0].variants == (
        PPO(**shared),
        PPO(**shared, rsi="off"),
        PPO(**shared, lam=0.9),
    )
    assert plan_from(json.loads(json.dumps(to_dict(plan)))) == plan
    names = ["PointCircle1-ppo-fixed-1-s0" + end for end in ("", "-rsi_off", "-lam_0.9")]
    assert [run.name for run in runs(plan)] == names


@pytest.mark.parametrize(
    ("stages", "message"),
    [
        (
            (Stage("sweep", lambdas=(1.0,), variants=(BASE, BASE)),),
            "variant of stage 'sweep': .* is there twice",
        ),
        (
            (Stage("sweep", lambdas=(1.0,), variants=(BASE,)), COMPARE),
            "lacks the variant ppo-rsi_off",
        ),
        (
            (Stage("s", lambdas=(1.0,), variants=(PPO(steps_per_epoch=10**6),)),),
            "less than one epoch of 1000000",
        ),
    ],
)
def test_variants_that_cannot_be_run(stages, message):
    with pytest.raises(SaddleError, match=message):
        small(stages=stages)


@pytest.mark.parametrize(
    ("table", "line", "message"),
    [
        (
            "{ rsy = false }",
            6,
            "unknown key 'rsy' in stages\\[0\\].variants\\[0\\]; did you mean 'rsi'",
        ),
        ("{ rsi = false }", 6, "rsi is False, but must be one of 'published', 'bounded', 'off'"),
        ("{ lr_decay = 3 }", 6, "must be true or false"),
        ('{ algorithm = "poo" }', 6, "unknown learner 'poo'; did you mean 'ppo'"),
        ("3", 6, "must be a table"),
    ],
)
def test_mistakes_in_a_variant_are_answered_with_their_line(tmp_path, table, line, message):
    file = tmp_path / "v.toml"
    file.write_text(
        f'tasks = ["{TASK}"]\n\n[[stages]]\nname = "s"\nlambdas = [1]\nvariants = [{table}]\n'
    )
    with pytest.raises(SaddleError, match=f"v.toml:{line}: .*{message}"):
        read_file(file)


def test_what_stores_of_the_first_schema_call_ppo_is_a_learner():
    params = json.dumps({"ppo": {"clip": 0.1, "steps_per_epoch": 50}, "limits": [1.0]})
    assert learner_fields(params) == {"algorithm": "ppo", "clip": 0.1, "steps_per_epoch": 50}
    assert learner_fields("{}") == learner_fields(None) == learner_fields("[") == {}
    old = {"name": "s", "algorithm": "ppo", "ppo": {"clip": 0.1}}
    assert upgraded_plan(old) == {"name": "s", "learner": {"algorithm": "ppo", "clip": 0.1}}
    assert upgraded_plan(upgraded_plan(old)) == upgraded_plan(old)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ({"rsi": True, "rsi_max": "inf"}, PPO()),
        ({"rsi": False, "rsi_max": "inf"}, PPO(rsi="off")),
        ({"rsi": True, "rsi_max": 5.0}, PPO(rsi="bounded", rsi_max=5.0)),
        ({"rsi": "bounded", "rsi_max": 10.0}, PPO(rsi="bounded")),
    ],
)
def test_older_stores_have_scale_invariance_in_the_words_of_today(old, new):
    """In the settings of a run, of a plan, and of a variant."""
    fields = {**learner_to_dict(PPO()), **old}
    assert learner_fields(json.dumps({"learner": fields})) == learner_to_dict(new)
    plan = upgraded_plan({"learner": fields, "stages": [{"name": "s", "variants": [fields]}]})
    assert plan["learner"] == plan["stages"][0]["variants"][0] == learner_to_dict(new)
    assert upgraded_plan(plan) == plan
    assert fields["rsi"] == old["rsi"]  # what was read is left as it is
