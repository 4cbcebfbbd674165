"""The tutorial docs/tutorials/constraints.md as it stands: its files, commands and programs, in
order. `examples/two_constraints.py`, which goes the same way in Python, runs in `make test`.
"""

import re
import sys
from pathlib import Path

import pytest

from saddle.cli import main

DOC = Path(__file__).parents[1] / "docs" / "tutorials" / "constraints.md"


@pytest.mark.slow
def test_the_tutorial_runs_from_top_to_bottom(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    blocks = re.findall(r"^```(\w*)\n(.*?)^```", DOC.read_text(encoding="utf-8"), re.M | re.S)
    done = []
    for language, text in blocks:
        file = re.match(r"# (\S+\.\w+)\n", text)
        if language == "text":  # what a command prints
            continue
        if file:
            (tmp_path / file[1]).write_text(text)
        elif language == "python":
            exec(compile(text, "example", "exec"), {})
        else:
            for line in text.splitlines():
                program, *words = line.split()
                assert program == "saddle" and main(words) == 0, line
                done.append(words[0])
    assert done == ["study", "analyze", "analyze", "analyze", "report", "evaluate"]
    said = capsys.readouterr().out
    assert "all constraints" in said and "wear (strain at 0.25)" in said
    assert "wear (strain at 0.25)" in (tmp_path / "report.html").read_text()
    sys.modules.pop("courier", None)
