"""A study that adds seeds until it is decided which rule to use: who gets them, what is said, and
that it is the same however often it was interrupted.
"""

import dataclasses
import json
import shutil

import numpy as np
import pytest
from fake import FakeProgram
from helpers import TASK, After, Notes, killed_after, small

import saddle
from saddle import interface
from saddle.analysis.until_decided import decisions
from saddle.cli import main
from saddle.errors import SaddleError
from saddle.multipliers import CRPO, PID, GradientAscent, LogBarrier
from saddle.study import until_decided
from saddle.study.local import Worker
from saddle.study.merge import merge
from saddle.study.plan import Stage
from saddle.study.plan_dict import to_dict
from saddle.study.prepare import plan_of
from saddle.study.sequential import Round, UntilDecided
from saddle.study.stop import Stopper
from saddle.study.toml import plan_from
from saddle.study.until_decided import most_runs, open_study_of, run_study_of
from saddle.verbs.study.run import run

LIMIT = 20.0
PLUS = {"crpo": -9.0}
"""What a rule returns beside the others."""
ABOVE = {"barrier": 30.0}
"""What it costs; others cost half the limit."""


class Ranked(FakeProgram):
    """One rule returns less than the others, one is above the limit; seeds differ a little."""

    def epoch(self, state):
        state, metrics = super().epoch(state)
        names = [member.rule.name for member in self.members]
        swept = np.array([name == "fixed" for name in names])
        drawn = [
            np.random.default_rng([member.seed, *map(ord, name)]).normal()
            for member, name in zip(self.members, names, strict=True)
        ]
        noise = 0.2 * np.array(drawn)
        costs = np.array([ABOVE.get(name, LIMIT / 2) for name in names])
        swept_costs = 40 / (1 + self.lambdas)
        costs = np.where(swept, swept_costs, costs) + noise
        beside = np.array([PLUS.get(name, 0.0) for name in names])
        metrics["return"] = np.minimum(costs, 30.0) / 10 + beside + noise
        metrics["cost"] = costs[:, None]
        return state, metrics


PROGRAM = f"{Ranked.__module__}:Ranked"
RULES = (GradientAscent(), PID(), LogBarrier(), CRPO())
STAGES = (
    Stage("sweep", lambdas=(0.1, 1.0, 10.0)),
    Stage("compare", rules=RULES, limits=((LIMIT,),)),
)
WISH = UntilDecided(most=24)


def planned(wish: UntilDecided | None = WISH, **fields):
    options = {"stages": STAGES, "seeds": range(8), "members": 100, "epochs": 4, "chunk": 2}
    return small(**{**options, **fields}, until_decided=wish)


def trained(out, plan=None, stop=None, resume=True):
    plan = plan or planned()
    notes = Notes()
    study = open_study_of(plan, out, resume)
    stop = stop or Stopper()

    def carry_out(study):
        Worker(study, Ranked, plan.chunk, notes, stop).work()

    return run_study_of(plan, study, notes, carry_out), notes


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return trained(tmp_path_factory.mktemp("whole") / "s")


def test_rules_that_it_is_open_between_get_more_seeds(whole):
    study, notes = whole
    assert study.finished and set(study.runs["status"]) == {"done"}
    compared = study.runs.filter(stage="compare")
    seeds = dict(compared.group_by("rule").len().iter_rows())
    assert seeds == {"ga": 24, "pid": 24, "barrier": 8, "crpo": 8}
    assert study.runs.filter(stage="sweep").height == 3 * 8
    assert [added.seeds for added in plan_of(study).rounds] == [
        tuple(range(8, 16)),
        tuple(range(16, 24)),
    ]
    assert notes.said == [
        "after 8 seeds: one rule to use at 0 of 1 limit; open at 1",
        "after 16 seeds: one rule to use at 0 of 1 limit; open at 1",
        "after 24 seeds: one rule to use at 0 of 1 limit; the most there are",
    ]


def test_what_is_decided_and_what_is_not(whole):
    (found,) = decisions(whole[0])
    (at,) = found.limits
    standing = {rule.rule: (rule.standing, rule.at) for rule in at.rules}
    assert standing["crpo"] == ("beaten", 8)
    assert standing["barrier"] == ("above the limit", 8)
    assert standing["ga"] == standing["pid"] == ("to use", None)
    assert at.use == ("ga", "pid") and not at.decided and at.open == ()
    assert at.words == (
        "not decided between GA, PID after 24 seeds, the most; beaten: CRPO by GA, PID (after 8); "
        "above the limit: log barrier (after 8)"
    )
    told = {(pair.first, pair.second): pair for pair in at.pairs}
    assert told["ga", "pid"].seeds == 24 and told["ga", "pid"].p > found.error
    assert told["crpo", "pid"].better == "pid" and told["crpo", "pid"].p <= found.error
    assert found.looks == (8, 16, 24) and found.seen == 3


def test_a_winner_that_may_be_above_the_limit_is_told(tmp_path, monkeypatch):
    """By return alone it wins; whether its cost is above 20 these seeds do not tell."""
    monkeypatch.setitem(PLUS, "pid", 5.0)
    monkeypatch.setitem(ABOVE, "pid", LIMIT + 0.05)
    study, _ = trained(tmp_path / "s", planned(UntilDecided(most=24, score="return")))
    (found,) = decisions(study)
    assert found.limits[0].use == ("pid",)
    assert "; mean cost above the limit, perhaps by chance: PID; beaten" in found.limits[0].words


def test_a_clear_winner_ends_it_early(tmp_path, monkeypatch):
    monkeypatch.setitem(PLUS, "pid", 5.0)
    study, notes = trained(tmp_path / "s")
    assert plan_of(study).rounds == ()
    (found,) = decisions(study)
    assert found.limits[0].decided and found.limits[0].use == ("pid",)
    assert found.limits[0].words.startswith("use PID, decided after 8 seeds; beaten: ")
    assert notes.said == ["after 8 seeds: one rule to use at 1 of 1 limit; open at 0"]


def same(study, other):
    assert study.finished
    assert study.metrics.equals(other.metrics)
    assert study.runs.equals(other.runs)
    assert study.manifest["plan"] == other.manifest["plan"]
    assert decisions(study) == decisions(other)


@pytest.mark.parametrize("questions", [3, 14])
def test_stopped_and_resumed_it_ends_the_same(whole, questions, tmp_path):
    study, _ = trained(tmp_path / "s", stop=After(questions))
    assert not study.finished
    assert all(one.seen < 3 for one in decisions(study))
    study, _ = trained(tmp_path / "s")
    same(study, whole[0])


@pytest.fixture(scope="module")
def in_parts(tmp_path_factory):
    """The same with groups of two units each."""
    return trained(tmp_path_factory.mktemp("parts") / "s", planned(members=10))[0]


@pytest.mark.parametrize("written", [0, 1])
def test_a_group_that_was_planned_half_is_completed(in_parts, written, tmp_path, monkeypatch):
    """Killed between the plan and its runs, or between two units."""
    plan = planned(members=10)
    with monkeypatch.context() as patch:
        killed_after(written, patch)
        with pytest.raises(KeyboardInterrupt):
            trained(tmp_path / "s", plan)
    killed = saddle.open_study(tmp_path / "s")
    assert len(plan_of(killed).rounds) == 1
    assert sum("round2" in unit for unit in killed.units()) == written
    same(trained(tmp_path / "s", plan)[0], in_parts)


def test_a_group_that_another_process_added_is_not_added_again(whole, tmp_path):
    """It decided on the same runs, and was quicker."""
    shutil.copytree(whole[0].path, tmp_path / "s")
    study = saddle.open_study(tmp_path / "s")
    again = until_decided._add(study, plan_of(study).rounds[-1])
    same(again, whole[0])


def test_a_study_of_given_seeds_goes_on_until_decided(whole, tmp_path):
    given = planned(wish=None)
    study, _ = trained(tmp_path / "s", given)
    assert decisions(study) == () and study.finished
    same(trained(tmp_path / "s")[0], whole[0])
    with pytest.raises(SaddleError, match="until decided; add --until-decided --most-seeds 24"):
        open_study_of(given, tmp_path / "s", resume=True)
    other = planned(UntilDecided(most=32))
    with pytest.raises(SaddleError, match=r"most is 24 there, 32 here"):
        open_study_of(other, tmp_path / "s", resume=True)


def test_groups_that_another_process_adds_meanwhile_stay(whole, tmp_path, monkeypatch):
    """Both found a study of given seeds, and the other was quicker."""
    trained(tmp_path / "s", planned(wish=None))
    first = until_decided.prepare

    def slow(*arguments):
        monkeypatch.setattr(until_decided, "prepare", first)
        study = first(*arguments)
        trained(tmp_path / "s")
        return study

    monkeypatch.setattr(until_decided, "prepare", slow)
    same(trained(tmp_path / "s")[0], whole[0])


def test_plans_are_read_as_they_were_written():
    added = Round((8, 9), ("PointCircle1-ppo-ga-d20",))
    plan = dataclasses.replace(planned(), rounds=(added,))
    assert plan_from(json.loads(json.dumps(to_dict(plan)))) == plan
    assert "until_decided" not in to_dict(planned(wish=None))
    assert most_runs(planned()) == 3 * 8 + 4 * 24


def test_lambda_star_and_limits_of_a_frontier_have_more_seeds_too(tmp_path):
    compare = Stage(
        "compare", rules=(GradientAscent(),), lambda_star="sweep", limits_from_frontier=2
    )
    lambdas = (0.1, 0.5, 1.0, 3.0, 10.0)
    stages = (Stage("sweep", lambdas=lambdas), compare)
    plan = planned(UntilDecided(most=6, group=2), stages=stages, seeds=range(4))
    study, _ = trained(tmp_path / "s", plan)
    assert study.finished
    placed = study.runs.filter(stage="compare")
    assert placed["limit"].n_unique() == 2
    assert placed.filter(rule="fixed")["lambda"].n_unique() == 2
    assert placed.select("rule", "limit", "seed").is_unique().all()
    assert placed["seed"].max() == 5


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({"stages": STAGES[:1]}, "compares no rules"),
        ({"stages": STAGES[1:]}, "no sweep of fixed lambdas"),
        ({"wish": UntilDecided(most=8)}, "at most 8 seeds until decided, but .* begins with 8"),
        ({"wish": UntilDecided(error=1e-9)}, "40 seeds cannot tell 4 rules apart"),
    ],
)
def test_plans_that_decide_nothing(fields, complaint, tmp_path):
    with pytest.raises(SaddleError, match=complaint):
        open_study_of(planned(**fields), tmp_path / "s", resume=False)
    assert not (tmp_path / "s").exists()


def test_an_error_over_a_study_is_shared_by_all_places_that_compare(tmp_path):
    """Each learner's comparison is one: what is decidable with one is not with so many."""
    learner = planned().learner
    variants = tuple(dataclasses.replace(learner, window=20 + k) for k in range(60))
    compare = dataclasses.replace(STAGES[1], variants=variants)
    wish = UntilDecided(most=16, error=0.002, error_over="study", score="return")
    open_study_of(planned(wish, stages=STAGES[1:]), tmp_path / "one", resume=False)
    with pytest.raises(SaddleError, match="16 seeds cannot tell 4 rules apart"):
        open_study_of(planned(wish, stages=(compare,)), tmp_path / "many", resume=False)


@pytest.mark.parametrize("wrong", [{"error": 0.0}, {"error": 1.0}, {"group": 0}])
def test_wishes_that_cannot_be(wrong):
    with pytest.raises(SaddleError, match="it must"):
        UntilDecided(**wrong)


def test_a_task_with_two_constraints_is_refused(tmp_path):
    stage = Stage("compare", rules=(GradientAscent(), PID()), limits=((25.0, 10.0),))
    two = "SafetyPointGoal1TwoCosts-v0"
    plan = planned(UntilDecided(score="return"), tasks=(two,), stages=(stage,))
    with pytest.raises(SaddleError, match="has 2 constraints"):
        open_study_of(plan, tmp_path / "s", resume=False)


@pytest.mark.parametrize("score", ["return", "violation"])
def test_other_scores_take_no_sweep(score, tmp_path, monkeypatch):
    monkeypatch.setitem(ABOVE, "barrier", LIMIT / 2)
    plan = planned(UntilDecided(most=12, score=score), stages=STAGES[1:])
    (found,) = decisions(trained(tmp_path / "s", plan)[0])
    standing = {rule.rule: rule.standing for rule in found.limits[0].rules}
    assert standing["crpo"] == ("beaten" if score == "return" else "to use")
    assert found.score == score


FILE = f"""
tasks = ["{TASK}"]
seeds = 6
steps = 400
members = 100
[learner]
steps_per_epoch = 100
worlds = 1
[until_decided]
most = 12
[[stages]]
name = "sweep"
lambdas = [0.1, 1.0, 10.0]
[[stages]]
name = "compare"
limits = [{LIMIT:g}]
rules = [{{ rule = "ga" }}, {{ rule = "pid" }}, {{ rule = "crpo" }}]
"""


def test_what_the_commands_say(tmp_path, capsys):
    file, out = tmp_path / "s.toml", tmp_path / "s"
    file.write_text(FILE)
    assert run(str(file), out, program=PROGRAM) == 0
    said = capsys.readouterr().out
    assert "until decided: rules compared after 6, 12 seeds; 54 runs at most" in said
    assert "48 of 48 runs done, 0 failed, 0 left" in said
    verdict = "20: not decided between GA, PID after 12 seeds, the most; beaten: CRPO"
    assert verdict in said
    assert main(["study", "status", str(out)]) == 0
    assert "group 2 of at most 2, 12 seeds of at most 12" in capsys.readouterr().out
    assert main(["analyze", str(out)]) == 0
    said = capsys.readouterr().out
    assert "Seeds were added until decided, 6 to 12 of a rule" in said and verdict in said
    assert main(["analyze", str(out), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["until_decided"]
    assert found[0]["limits"][0]["use"] == ["ga", "pid"]
    page = tmp_path / "r.html"
    assert main(["report", str(out), "--out", str(page)]) == 0
    assert "Seeds were added until decided" in page.read_text() and verdict in page.read_text()
    capsys.readouterr()
    assert main(["study", "show", str(file), "--no-calibrate", "--error-over", "study"]) == 2
    assert "add --until-decided" in capsys.readouterr().err
    more = ["--until-decided", "--most-seeds", "18", "--json"]
    assert main(["study", "show", str(file), "--no-calibrate", *more]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["until_decided"]["looks"] == [6, 12, 18]
    assert facts["until_decided"]["most_runs"] == 18 + 3 * 18


def test_a_merged_study_says_that_seeds_were_added(whole, tmp_path):
    other, _ = trained(tmp_path / "o", planned(wish=None, seeds=range(30, 33)))
    merged = merge([whole[0].path, other.path], tmp_path / "m")
    (note,) = [note for note in saddle.analyze(merged).notes if "seeds added" in note]
    assert "depends on what they showed" in note
    assert saddle.analyze(other).notes == ()


def test_from_python(tmp_path, monkeypatch):
    monkeypatch.setitem(PLUS, "pid", 5.0)
    monkeypatch.setattr(interface, "POPULATION", PROGRAM)
    wish = saddle.UntilDecided(most=12)
    study = saddle.run_study(planned(wish=None), tmp_path / "p", until_decided=wish)
    assert saddle.analyze(study).until_decided[0].limits[0].use == ("pid",)
    plan = planned(wish=None, stages=STAGES[:1])
    with pytest.raises(SaddleError, match="compares no rules"):
        saddle.run_study(plan, tmp_path / "s", until_decided=saddle.UntilDecided())
