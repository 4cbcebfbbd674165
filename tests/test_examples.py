"""The programs and the notebook of examples/ run, in small."""

import ast
import json
import runpy
import sys
from pathlib import Path

import pytest
from matplotlib import pyplot

import saddle
from saddle.multipliers import registry as rule_registry
from saddle.tasks import registry as task_registry

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"
LOGS = ROOT / "tests" / "data" / "omnisafe_logs"

PROGRAMS = {
    "own_jax_task": ("--quick", "limit 5: lambda"),
    "own_gymnasium_task": ("--quick", "deterministic: return"),
    "two_constraints": ("--quick", "strain at 0.25: lambda"),
    "dial": ("--quick", "an episode at the limit"),
    "own_rule": ("--quick", "Reservoir-ppo-deadband-d10-s1: return"),
    "import_omnisafe": (str(LOGS), "pid at 25: return"),
}
"""What makes them small, and what each then prints."""


@pytest.fixture(autouse=True)
def _as_it_was(monkeypatch, tmp_path):
    """Programs register tasks and rules, and draw; none of it stays."""
    monkeypatch.setattr(task_registry, "_TASKS", dict(task_registry._TASKS))
    monkeypatch.setattr(rule_registry.RULES, "known", dict(rule_registry.RULES.known))
    monkeypatch.chdir(tmp_path)
    pyplot.switch_backend("Agg")
    yield
    pyplot.close("all")


def test_every_program_is_run():
    assert {file.stem for file in EXAMPLES.glob("*.py")} == set(PROGRAMS)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_runs(name, capsys, monkeypatch, tmp_path):
    argument, said = PROGRAMS[name]
    program = EXAMPLES / f"{name}.py"
    monkeypatch.setattr(sys, "argv", [str(program), argument, "--out", str(tmp_path / "out")])
    monkeypatch.syspath_prepend(EXAMPLES)
    values = runpy.run_path(str(program), run_name="__main__")
    assert said in capsys.readouterr().out
    assert f"python examples/{name}.py" in values["__doc__"]


NOTEBOOK = json.loads((EXAMPLES / "frontier_in_ten_minutes.ipynb").read_text(encoding="utf-8"))
CODE = [cell for cell in NOTEBOOK["cells"] if cell["cell_type"] == "code"]


def run_cell(cell, names):
    """As a notebook runs it: what its last line is worth is shown, unless it ends in a
    semicolon.
    """
    source = "".join(cell["source"])
    body = ast.parse(source).body
    shows = isinstance(body[-1], ast.Expr) and not source.rstrip().endswith(";")
    last = body.pop() if shows else None
    exec(compile(ast.Module(body, []), "cell", "exec"), names)
    if isinstance(last, ast.Expr):
        value = eval(compile(ast.Expression(last.value), "cell", "eval"), names)
        shown = getattr(value, "_repr_html_", value.__repr__)()
        assert isinstance(shown, str) and shown


def test_the_notebook_runs():
    small = {
        "steps": 4000,
        "seeds": 1,
        "limits": (10, 400),
        "episodes": 10,
        "learner": saddle.Conditioned(steps_per_epoch=2000, hidden=(16, 16), passes=1, batch=500),
    }
    names: dict = {}
    for cell in CODE:
        run_cell(cell, names)
        if "parameters" in cell["metadata"].get("tags", []):
            assert set(small) < set(names)
            names.update(small)
    assert len(names["settings"]) == 2 and names["study"].finished


def test_the_notebook_was_stored_with_its_results():
    assert [cell["execution_count"] for cell in CODE] == list(range(1, len(CODE) + 1))
    outputs = [output for cell in CODE for output in cell["outputs"]]
    assert {output["output_type"] for output in outputs} <= {
        "display_data",
        "execute_result",
        "stream",
    }
    assert any("image/png" in output.get("data", {}) for output in outputs)
