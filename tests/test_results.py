"""The results that ship: whole, made by the study files beside them, and quoted correctly."""

import contextlib
import io
import json
import re
from pathlib import Path

import pytest

from saddle import policies
from saddle.analysis import Options, analyze
from saddle.analysis.text import t_and_p
from saddle.cli import main
from saddle.study import open_study
from saddle.study.prepare import plan_of
from saddle.study.toml import read_file

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "results"
TASKS = {
    "circle1": "SafetyPointCircle1-v0",
    "goal1": "SafetyPointGoal1-v0",
    "halfcheetah": "SafetyHalfCheetahVelocity-v1",
}
PRECISIONS = ("highest", "tf32", "bf16")
SMALL = (
    "circle1-small-sweep",
    "sac-circle1-small",
    "hopper-small-sweep",
    "hopper-dial",
    "button1-dial",
)
POLICIES = sorted(path.name for path in (RESULTS / "policies").iterdir())
ROWS = ("lambda", "return", "cost")
RULES = {"fixed": "fixed lambda*", "ga": "gradient ascent", "pid": "PID"}


@pytest.fixture(scope="module")
def text():
    return (ROOT / "docs" / "results.md").read_text(encoding="utf-8")


def answer(capsys, *argv):
    assert main([*argv, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("name", [*TASKS, *(f"precision-{name}" for name in PRECISIONS), *SMALL])
def test_every_run_is_there_to_its_last_epoch(name):
    study = open_study(RESULTS / name)
    plan = plan_of(study)
    assert plan == read_file(RESULTS / f"{name}.toml")
    assert set(study.runs["status"]) == {"done"}
    assert study.metrics.height == study.runs.height * plan.epochs_of(plan.learner)


@pytest.mark.parametrize(
    ("name", "epochs"), [("circle1-full-length", 1750), ("goal1-full-length", 1711)]
)
def test_runs_of_full_length_are_those_of_their_plan(name, epochs):
    study = open_study(RESULTS / name)
    assert plan_of(study) == read_file(RESULTS / f"{name}.toml")
    assert study.metrics.height == study.runs.height * epochs


@pytest.mark.parametrize("name", ["circle1", "goal1"])
def test_the_published_table_beside_ours_is_quoted_correctly(name, capsys, text):
    cells = answer(capsys, "compare-paper", str(RESULTS / name))["cells"]
    assert len(cells) == 6
    for cell in cells:
        row = [f"{cell['limit']:g}", RULES[cell["rule"]]]
        for key in ("return", "cost"):
            row += [
                f"{cell[start + key]:.2f} ± {cell[f'{start}{key}_sd']:.2f}"
                for start in ("", "published_")
            ]
            row += [t_and_p(*(cell[f"{key}_{name}"] for name in ("t", "p", "p_holm")))]
        assert f"| {' | '.join(row)} |" in text


FULL_LENGTH = {
    "circle1-full-length": ["--sweep", str(RESULTS / "circle1")],
    "goal1-full-length": ["--sweep", str(RESULTS / "goal1"), "--unfinished"],
}


@pytest.fixture(scope="module")
def full_length():
    """Both studies of the published length beside the published table."""
    found = {}
    for name, words in FULL_LENGTH.items():
        study = str(RESULTS / name)
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            assert main(["compare-paper", study, "--published", *words, "--json"]) == 0
        found[name] = json.loads(printed.getvalue())
    return found


@pytest.mark.parametrize("name", FULL_LENGTH)
def test_the_table_at_full_length_is_quoted_correctly(name, full_length, text):
    cells = full_length[name]["cells"]
    assert len(cells) == 6
    for cell in cells:
        multiplier = f"lambda {cell['lambda']:.4g}" if cell["rule"] == "fixed" else None
        task = cell["task"].removeprefix("Safety").removesuffix("-v0")
        rule = multiplier or RULES[cell["rule"]]
        row = [task, f"{cell['limit']:g}", rule]
        for key in ("return", "cost"):
            row += [f"{cell[key]:.2f} ± {cell[f'{key}_sd']:.2f}"]
            row += [f"{cell[f'published_{key}']:.2f} ± {cell[f'published_{key}_sd']:.2f}"]
            row += [f"{cell[f'{key}_p']:.2g}"]
        assert f"| {' | '.join(row)} |" in text


def test_at_full_length_the_rules_agree_with_the_published_table(full_length):
    """Circle1 also at the published lambda*, at which its sweep was run."""
    circle, goal = (full_length[f"{name}1-full-length"] for name in ("circle", "goal"))
    fixed = {cell["limit"]: cell for cell in circle["cells"] if cell["rule"] == "fixed"}
    assert {limit: cell["lambda"] for limit, cell in fixed.items()} == {25.0: 0.987, 10.0: 1.383}
    assert circle["overall"]["values"] == 12 and circle["overall"]["below"] == 0
    rules = [cell for cell in goal["cells"] if cell["rule"] != "fixed"]
    raw = [cell[f"{key}_p"] for cell in rules for key in ("return", "cost")]
    corrected = [cell[f"{key}_p_holm"] for cell in rules for key in ("return", "cost")]
    assert sum(p < 0.05 for p in raw) == 1
    assert min(corrected) > 0.05


@pytest.mark.parametrize("name", TASKS)
def test_the_sweep_is_quoted_correctly(name, capsys, text):
    (found,) = answer(capsys, "analyze", str(RESULTS / name))["tasks"]
    groups = {f"{group['lambda']:.3g}": group for group in found["groups"]}
    section = text.split(f"## {TASKS[name]}\n")[1].split("\n## ")[0]
    header, returns, costs = (
        re.search(rf"^\| {row} \| (.+) \|$", section, re.MULTILINE) for row in ROWS
    )
    assert header and returns and costs
    quoted = [groups[value] for value in header[1].split(" | ")]
    digits = 0 if name == "halfcheetah" else 1
    for row, key, places in ((returns, "return", digits), (costs, "cost", 1)):
        figures = [
            f"{group[key]['value']:.{places}f} ± {group[f'{key}_sd']:.{places}f}"
            for group in quoted
        ]
        assert row[1].split(" | ") == figures


def test_a_page_of_all_three_has_the_figures_of_each(tmp_path):
    """Every figure of a sweep or a rule in the report of the merged studies is that of the study by
    itself.
    """
    parts = [str(RESULTS / name) for name in TASKS]
    assert main(["study", "merge", *parts, "--out", str(tmp_path / "all")]) == 0
    assert main(["report", str(tmp_path / "all"), "--out", str(tmp_path / "report.html")]) == 0
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    data = json.loads(re.findall(r'id="data">(.*?)</script>', page, re.DOTALL)[-1])
    shown = {part["task"]: part for part in data["tasks"]}
    assert set(shown) == set(TASKS.values())
    for name, task in TASKS.items():
        study = open_study(RESULTS / name)
        (found,) = analyze(study.runs, study.metrics, Options()).to_dict()["tasks"]
        for part in ("groups", "comparison", "regimes", "recommended"):
            assert figures(shown[task][part]) == pytest.approx(
                figures(found[part]), rel=1e-4, abs=1e-4
            )


def figures(found):
    """All numbers of nested findings, each at its path, but for details that the page leaves
    out.
    """
    if isinstance(found, dict):
        found = {key: value for key, value in found.items() if key != "violations"}
    elif isinstance(found, list | tuple):
        found = dict(enumerate(found))
    else:
        return {(): found} if isinstance(found, int | float) else {}
    return {(key, *path): n for key, value in found.items() for path, n in figures(value).items()}


def cell(found):
    """Return / cost as the table of precisions has them, where costs of 50 and more have no
    decimals.
    """
    places = 0 if found["cost"]["value"] >= 50 else 1
    figures = [
        (found[key]["value"], found[f"{key}_sd"], n) for key, n in (("return", 1), ("cost", places))
    ]
    return " / ".join(f"{value:.{n}f} ± {sd:.{n}f}" for value, sd, n in figures)


@pytest.mark.parametrize("place", range(len(PRECISIONS)))
def test_what_precision_does_is_quoted_correctly(place, capsys, text):
    (found,) = answer(capsys, "analyze", str(RESULTS / f"precision-{PRECISIONS[place]}"))["tasks"]
    cells = {f"lambda {group['lambda']:.3g}": cell(group) for group in found["groups"]}
    cells["gradient ascent, limit 10"] = cell(found["comparison"][0])
    section = text.split("## Does the precision change the result?\n")[1].split("\n## ")[0]
    rows = [
        line.strip("|").split("|")
        for line in section.splitlines()
        if line.startswith(("| lambda", "| gradient"))
    ]
    assert len(rows) == 5
    quoted = {name.strip(): columns[place].strip() for name, *columns in rows}
    assert {name: value for name, value in quoted.items() if value} == cells


@pytest.mark.parametrize("name", POLICIES)
def test_policies_are_small_and_whole(name, text):
    folder = RESULTS / "policies" / name
    assert sum(file.stat().st_size for file in folder.iterdir()) < 3 * 2**20
    assert policies.network(folder).task == TASKS[name.split("-")[0]]
    assert f"`{name}`" in text
