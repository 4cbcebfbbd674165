"""A learner and a rule from a package outside the tree: through training, a study, analysis and
report.
"""

import importlib
import re
import sys
from pathlib import Path

import pytest

import saddle
from saddle import references
from saddle.cli import main
from saddle.errors import SaddleError
from saddle.learners import learner_class, learner_from, learner_to_dict
from saddle.learners import registry as learner_registry
from saddle.multipliers import registry as rule_registry
from saddle.multipliers import rule_class

DOC = Path(__file__).parents[1] / "docs" / "explanation" / "algorithms.md"
TASK = "SafetyPointCircle1-v0"
SMALL = ("--learner.steps-per-epoch", "1000", "--learner.window", "5")
STUDY = """
tasks = ["SafetyPointCircle1-v0"]
seeds = 2
steps = 2000

[learner]
algorithm = "PACKAGE:ReinforceSettings"
steps_per_epoch = 1000

[[stages]]
name = "sweep"
lambdas = [0.1, 1.0]
variants = [{}, { lr = 0.5 }]

[[stages]]
name = "compare"
limits = [10]
rules = [{ rule = "PACKAGE:Switch", price = 2.0 }]
"""


def examples() -> str:
    """The learner and the rule that the docs write, as they write them."""
    blocks = re.findall(r"^```python\n(.*?)^```", DOC.read_text(), re.DOTALL | re.MULTILINE)
    return "\n\n".join(
        block
        for block in blocks
        if "@saddle.register_learner" in block or "@register_rule" in block
    )


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Write a package with both, and make it known for the length of a test: how, the test says."""
    monkeypatch.setattr(learner_registry.LEARNERS, "known", dict(learner_registry.LEARNERS.known))
    monkeypatch.setattr(rule_registry.RULES, "known", dict(rule_registry.RULES.known))
    folder = tmp_path / "site"

    def write(name: str, code: str, entry_points: str = "") -> None:
        folder.mkdir(exist_ok=True)
        (folder / f"{name}.py").write_text(code)
        if entry_points:
            info = folder / f"{name}-1.0.dist-info"
            info.mkdir()
            (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
            (info / "entry_points.txt").write_text(entry_points)
            monkeypatch.setattr(learner_registry.LEARNERS, "packages_read", False)
            monkeypatch.setattr(rule_registry.RULES, "packages_read", False)
        monkeypatch.syspath_prepend(folder)
        importlib.invalidate_caches()

    yield write
    for name in ("own_entry", "own_reference", "own_broken"):
        sys.modules.pop(name, None)


def test_a_learner_of_an_installed_package_trains(package, tmp_path, capsys):
    """By an entry point: the command line has its settings as options, the store its metrics, and
    its policy plays.
    """
    points = (
        "[saddle.learners]\nreinforce = own_entry:ReinforceSettings\n[saddle.rules]\nswitch = "
        "own_entry:Switch\n"
    )
    package("own_entry", examples(), points)
    out = str(tmp_path / "s")
    words = [
        "train",
        TASK,
        "--learner:reinforce",
        "--learner.lr",
        "0.1",
        "--multiplier:switch",
        "--limit",
        "1",
    ]
    assert main([*words, *SMALL, "--seeds", "2", "--steps", "3000", "--out", out]) == 0
    study = saddle.open_study(out)
    assert study.finished
    assert study.runs["run"].to_list() == [
        f"PointCircle1-reinforce-switch-d1-s{seed}" for seed in (0, 1)
    ]
    assert set(study.runs["algorithm"]) == {"reinforce"}
    metrics = study.metrics
    assert metrics["loss"].is_finite().all() and "kl" not in metrics.columns
    assert main(["evaluate", out, "--episodes", "2"]) == 0
    assert main(["train", TASK, "--learner:reinforce", "--learner.hidden", "3", "--out", out]) == 2
    assert "has no option --learner.hidden" in capsys.readouterr().err


def test_a_study_names_a_learner_and_a_rule_by_reference(package, tmp_path, capsys):
    """Then the package goes: what was made with it is still read, and nothing tries to import
    it.
    """
    package(
        "own_reference",
        examples().replace("@saddle.register_learner\n", "").replace("@register_rule\n", ""),
    )
    file = tmp_path / "own.toml"
    file.write_text(STUDY.replace("PACKAGE", "own_reference"))
    out = tmp_path / "s"
    assert main(["study", "run", str(file), "--out", str(out)]) == 0
    study = saddle.open_study(out)
    assert {"PointCircle1-reinforce-fixed-1-s0", "PointCircle1-reinforce-fixed-1-s0-lr_0.5"} <= set(
        study.runs["run"]
    )
    assert set(study.runs["rule"]) == {"fixed", "switch"}
    both = study.metrics.filter(study.metrics["epoch"] == 1).sort("run")
    assert len(set(both["loss"])) > 2  # other step sizes, other losses

    sys.modules.pop("own_reference")
    (tmp_path / "site" / "own_reference.py").write_text(
        "raise AssertionError('a reader imported it')"
    )
    importlib.invalidate_caches()
    capsys.readouterr()
    assert main(["analyze", str(out)]) == 0
    printed = capsys.readouterr().out
    assert "reinforce lr=0.01" in printed and "reinforce lr=0.5" in printed
    assert main(["figures", str(out), "--out", str(tmp_path / "f")]) == 0
    assert main(["report", str(out), "--out", str(tmp_path / "r.html")]) == 0
    assert main(["study", "status", str(out)]) == 0
    assert main(["study", "export", str(out), "--csv", str(tmp_path / "csv")]) == 0
    assert main(["study", "run", str(file), "--out", str(out), "--resume"]) == 2
    assert "AssertionError: a reader imported it" in capsys.readouterr().err


def test_merged_studies_of_one_learner_with_two_settings_stay_apart(package, tmp_path, capsys):
    package("own_entry", examples())
    learner = learner_class("own_entry:ReinforceSettings")
    folders = [tmp_path / name for name in ("a", "b")]
    for folder, lr in zip(folders, (0.01, 0.5), strict=True):
        settings = learner_from(
            {"algorithm": "own_entry:ReinforceSettings", "steps_per_epoch": 1000, "lr": lr}
        )
        assert isinstance(settings, learner)
        saddle.train(TASK, folder, rule=saddle.Fixed(1.0), steps=2000, learner=settings)
    assert main(["study", "merge", *map(str, folders), "--out", str(tmp_path / "m")]) == 0
    merged = saddle.open_study(tmp_path / "m")
    names = ["PointCircle1-reinforce-fixed-1-s0", "PointCircle1-reinforce-fixed-1-s0-lr_0.5"]
    assert sorted(merged.runs["run"]) == names
    assert sorted(set(merged.metrics["run"])) == names
    for name, folder in zip(names, folders, strict=True):
        own = saddle.open_study(folder).metrics["loss"].to_list()
        assert merged.metrics.filter(merged.metrics["run"] == name)["loss"].to_list() == own
        assert merged.policy_folder(name).is_dir()
    findings = saddle.analyze(merged)
    assert {part.algorithm for part in findings.tasks} == {"reinforce lr=0.01", "reinforce lr=0.5"}


def test_callbacks_see_every_epoch_and_nothing_is_printed(package, tmp_path, capsys):
    package("own_entry", examples())
    settings = learner_from({"algorithm": "own_entry:ReinforceSettings", "steps_per_epoch": 1000})
    seen = []
    out = tmp_path / "s"
    study = saddle.train(
        TASK, out, limits=(10.0,), seeds=2, steps=2000, learner=settings, on_epoch=seen.append
    )
    assert isinstance(study, saddle.Study) and study.finished
    assert [(done.epoch, done.epochs, len(done.runs)) for done in seen] == [(1, 2, 2), (2, 2, 2)]
    stored = study.metrics.filter(study.metrics["run"] == seen[0].runs[1])
    assert [float(done.metrics["loss"][1]) for done in seen] == stored["loss"].to_list()
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("no_such_module:Settings", "there is no module 'no_such_module' here"),
        ("own_broken:Settings", "cannot be imported .ZeroDivisionError: division by zero"),
        ("saddle.errors:Nothing", "has no 'Nothing'"),
        ("saddle.errors:SaddleError", "is not a"),
        ("pp", "did you mean 'ppo'?|rules are fixed"),
    ],
)
def test_references_that_lead_nowhere(package, name, message):
    package("own_broken", "1 / 0")
    for find in (learner_class, rule_class):
        with pytest.raises(SaddleError, match=message):
            find(name)


def test_settings_survive_their_json_by_name_and_by_reference(package):
    package(
        "own_reference",
        examples().replace("@saddle.register_learner\n", "").replace("@register_rule\n", ""),
    )
    settings = learner_from({"algorithm": "own_reference:ReinforceSettings", "lr": 0.25})
    assert learner_to_dict(settings)["algorithm"] == "own_reference:ReinforceSettings"
    assert learner_from(learner_to_dict(settings)) == settings
    unbounded = saddle.PPO(hidden=(3,), rsi_max=float("inf"))
    assert learner_to_dict(unbounded)["rsi_max"] == "inf"  # JSON has no infinity
    assert learner_from(learner_to_dict(unbounded)) == unbounded
    with pytest.raises(SaddleError, match="has no setting 'hiden'"):
        learner_from({"algorithm": "ppo", "hiden": 3})


def test_what_a_reference_looks_like():
    assert (
        references.is_reference("a.b:C.d")
        and references.reference_to(saddle.PPO) == "saddle.learners.ppo.settings:PPO"
    )
    for name in ("ppo", "SafetyPointGoal1-v0", "a.b"):
        assert not references.is_reference(name)
