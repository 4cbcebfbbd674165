"""OmniSafe's logs, made by OmniSafe itself (tests/data/omnisafe_logs): everything comes over,
damage is named.
"""

import csv
import json
import math
import shutil
from pathlib import Path

import polars as pl
import pytest

import saddle
from saddle.analysis import Options, analyze
from saddle.cli import main
from saddle.report.page.data import study_data
from saddle.study.columns import METRICS
from saddle.study.importers.omnisafe import COLUMNS

LOGS = Path(__file__).parent.parent / "data" / "omnisafe_logs"
PPO = "PPOLag-{SafetyHopperVelocity-v1}"
FIXED = f"{PPO}/seed-000-2026-11-15-07-55-32"


def imported(logs, out, capsys):
    code = main(["import", "omnisafe", str(logs), "--out", str(out)])
    said = capsys.readouterr()
    return code, saddle.open_study(out) if code == 0 else None, said.out, said.err


@pytest.fixture
def logs(tmp_path):
    """A copy that a test may damage."""
    return Path(shutil.copytree(LOGS, tmp_path / "logs"))


def test_runs_are_recognised(tmp_path, capsys):
    code, study, out, err = imported(LOGS, tmp_path / "s", capsys)
    assert (
        code == 0 and study is not None and "6 runs imported, 0 folders skipped" in out and not err
    )
    runs = study.runs.sort("run")
    assert runs.select("run", "rule", "lambda", "limit", "seed", "stage").rows() == [
        ("CPPOPID-HopperVelocity-pid-d25-s0", "pid", None, 25.0, 0, "compare"),
        ("CPPOPID-HopperVelocity-pid-d25-s1", "pid", None, 25.0, 1, "compare"),
        ("PPOLag-HopperVelocity-fixed-0.1-s0", "fixed", 0.1, None, 0, "sweep"),
        ("PPOLag-HopperVelocity-fixed-0.1-s1", "fixed", 0.1, None, 1, "sweep"),
        ("PPOLag-HopperVelocity-fixed-1-s0", "fixed", 1.0, None, 0, "sweep"),
        ("PPOLag-HopperVelocity-ga-d25-s0", "ga", None, 25.0, 0, "compare"),
    ]
    assert set(runs["algorithm"]) == {"omnisafe-PPO"}
    assert set(runs["status"]) == {"done"} and set(runs["steps"]) == {16000}
    assert json.loads(runs["params"][2])["omnisafe"]["lagrange_cfgs"]["lambda_lr"] == 0.0


def test_sweep_and_rules_stand_in_one_analysis_and_on_one_page(tmp_path, capsys):
    _, study, _, _ = imported(LOGS, tmp_path / "s", capsys)
    assert study is not None
    (found,) = analyze(study.runs, study.scan_metrics(), Options(replicates=100)).tasks
    assert [group.lambda_ for group in found.groups] == [0.1, 1.0]
    assert found.profile is not None and found.frontier is not None
    assert {(cell.rule, cell.limit) for cell in found.comparison} == {("ga", 25.0), ("pid", 25.0)}
    assert [(pair.first, pair.second) for pair in found.pairs] == [("ga", "pid")]
    assert len(found.scatter) == 6
    (part,) = study_data(study, Options(replicates=100))["tasks"]
    assert [cell["rule"] for cell in part["comparison"]] == ["ga", "pid"] and len(
        part["groups"]
    ) == 2
    assert [(row["rule"], row["lambda"]) for row in part["series"]] == [
        ("fixed", 0.1),
        ("fixed", 1),
        ("ga", None),
        ("pid", None),
    ]


@pytest.mark.parametrize(
    ("algorithm", "lagrange", "learner", "rule"),
    [
        ("SACLag", {"lambda_lr": 1e-5}, "omnisafe-SAC", "ga"),
        ("SACPID", {"pid_kp": 0.1}, "omnisafe-SAC", "pid"),
        (
            "TRPOLag",
            {"lambda_lr": 0.0, "lagrangian_multiplier_init": 2.0},
            "omnisafe-TRPO",
            "fixed",
        ),
        ("MyLag", {"lambda_lr": 0.1}, "omnisafe-MyLag", "ga"),
    ],
)
def test_learner_and_rule_are_told_apart(
    logs, tmp_path, capsys, algorithm, lagrange, learner, rule
):
    file = logs / FIXED / "config.json"
    changes = {"algo": algorithm, "lagrange_cfgs": {"cost_limit": 10.0, **lagrange}}
    file.write_text(json.dumps(json.loads(file.read_text()) | changes))
    _, study, _, _ = imported(logs, tmp_path / "s", capsys)
    assert study is not None
    row = study.runs.row(by_predicate=pl.col("run").str.starts_with(algorithm), named=True)
    assert (row["algorithm"], row["rule"]) == (learner, rule)


def test_learners_that_were_set_differently_are_named(logs, tmp_path, capsys):
    file = logs / FIXED / "config.json"
    config = json.loads(file.read_text())
    config["algo_cfgs"]["batch_size"] = 17
    config["model_cfgs"]["actor"]["lr"] = 1.0
    file.write_text(json.dumps(config))
    _, study, _, err = imported(logs, tmp_path / "s", capsys)
    note = (
        "omnisafe-PPO on SafetyHopperVelocity-v1 was run with different actor, batch_size; such "
        "runs may not compare"
    )
    assert note in err
    assert study is not None and note in study.manifest["plan"]["notes"]


def test_every_number_of_every_log_is_in_the_study(tmp_path, capsys):
    _, study, _, _ = imported(LOGS, tmp_path / "s", capsys)
    assert study is not None
    metrics = study.metrics
    for run, params in study.runs.select("run", "params").iter_rows():
        text = (LOGS / json.loads(params)["folder"] / "progress.csv").read_text()
        rows = list(csv.DictReader(text.splitlines()))
        own = metrics.filter(run=run)
        assert own.height == len(rows) == 8
        for name in rows[0]:
            for ours in COLUMNS.get(name, (name,)):
                wanted = pl.Series([float(row[name]) for row in rows]).cast(
                    METRICS.get(ours, pl.Float32)
                )
                assert own[ours].to_list() == wanted.to_list()


def test_damage_is_reported_by_name_and_skipped(logs, tmp_path, capsys):
    ppo = sorted((logs / PPO).iterdir())
    (ppo[0] / "config.json").write_text("{ torn")
    (ppo[1] / "progress.csv").unlink()
    lines = (ppo[2] / "progress.csv").read_text().splitlines()
    (ppo[2] / "progress.csv").write_text("\n".join([lines[0], lines[1][:40], *lines[2:]]) + "\n")
    header = lines[0].split(",")
    cells = [*lines[1].split(",")]
    cells[header.index("Metrics/EpCost")] = "abc"
    (ppo[3] / "progress.csv").write_text("\n".join([lines[0], ",".join(cells)]) + "\n")
    code, study, out, err = imported(logs, tmp_path / "s", capsys)
    assert code == 0 and study is not None and "2 runs imported, 4 folders skipped" in out
    why = study.manifest["plan"]["skipped"]
    assert [why[str(folder.relative_to(logs))] for folder in ppo] == [
        "config.json cannot be read (Expecting property name enclosed in double quotes: line 1 "
        "column 3 (char 2))",
        "there is no progress.csv beside config.json",
        "progress.csv line 2 has 3 values for 32 columns",
        "progress.csv has 'abc' in column Metrics/EpCost",
    ]
    assert all(f"skipped {PPO}/{folder.name}: " in err for folder in ppo)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda text: "", "progress.csv is empty"),
        (lambda text: text.splitlines()[0] + "\n", "no whole epoch"),
        (lambda text: text.replace("TotalEnvSteps", "Steps"), "no column TotalEnvSteps"),
        (lambda text: text + text.splitlines()[1] + "\n", "does not count its epochs"),
        (lambda text: text.replace("Time/FPS", "Time/Total"), "names a column twice"),
    ],
)
def test_tables_that_are_none(logs, tmp_path, capsys, change, why):
    file = logs / FIXED / "progress.csv"
    file.write_text(change(file.read_text()))
    code, _, _, err = imported(logs, tmp_path / "s", capsys)
    assert code == 0 and f"skipped {FIXED}: " in err and why in err


def test_a_killed_run_keeps_its_whole_epochs(logs, tmp_path, capsys):
    file = logs / FIXED / "progress.csv"
    file.write_text("\n".join(file.read_text().splitlines()[:6])[:-200])
    code, study, _, err = imported(logs, tmp_path / "s", capsys)
    assert code == 0 and study is not None
    row = study.runs.row(
        by_predicate=pl.col("run") == "PPOLag-HopperVelocity-fixed-0.1-s0", named=True
    )
    assert row["status"] == "failed"
    assert row["reason"] == "the log ends after 4 of 8 epochs, in the middle of a line"
    assert row["reason"] in err
    assert study.metrics.filter(run=row["run"])["epoch"].to_list() == [0, 1, 2, 3]


def test_odd_columns_and_repeated_seeds_are_kept(logs, tmp_path, capsys):
    lines = (logs / FIXED / "progress.csv").read_text().splitlines()
    lines = [
        lines[0] + ",Mine/Number,Mine/Word",
        *(f"{line},{i},w{i}" for i, line in enumerate(lines[1:])),
    ]
    (logs / FIXED / "progress.csv").write_text("\n".join(lines) + "\n")
    shutil.copytree(logs / FIXED, logs / "again")
    code, study, _, err = imported(logs, tmp_path / "s", capsys)
    assert code == 0 and study is not None and "more than once" in err
    for run in ("PPOLag-HopperVelocity-fixed-0.1-s0", "PPOLag-HopperVelocity-fixed-0.1-s0-again1"):
        own = study.metrics.filter(run=run)
        assert own["Mine/Number"].to_list() == list(range(8))
        assert own["Mine/Word"].to_list() == [f"w{i}" for i in range(8)]


def test_an_algorithm_without_multiplier_keeps_its_name(logs, tmp_path, capsys):
    config = json.loads((logs / FIXED / "config.json").read_text())
    del config["lagrange_cfgs"]
    config["algo"], config["algo_cfgs"]["cost_limit"] = "CPO", 10.0
    (logs / FIXED / "config.json").write_text(json.dumps(config))
    _, study, _, _ = imported(logs, tmp_path / "s", capsys)
    assert study is not None
    row = study.runs.row(by_predicate=pl.col("algorithm") == "omnisafe-CPO", named=True)
    assert (row["rule"], row["lambda"], row["limit"]) == ("cpo", None, 10.0)


def test_nothing_to_import_is_an_error(tmp_path, capsys):
    (tmp_path / "empty").mkdir()
    assert imported(tmp_path / "empty", tmp_path / "s", capsys)[0] == 2
    assert imported(tmp_path / "nowhere", tmp_path / "s", capsys)[0] == 2
    assert not (tmp_path / "s").exists()


def test_nan_is_a_number(logs, tmp_path, capsys):
    file = logs / FIXED / "progress.csv"
    lines = file.read_text().splitlines()
    cells = lines[1].split(",")
    cells[0] = "nan"
    file.write_text("\n".join([lines[0], ",".join(cells), *lines[2:]]) + "\n")
    _, study, _, _ = imported(logs, tmp_path / "s", capsys)
    assert study is not None
    assert math.isnan(study.metrics.filter(run="PPOLag-HopperVelocity-fixed-0.1-s0")["return"][0])
