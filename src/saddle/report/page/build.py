"""The study's data, the page's files and a plain table for readers without
JavaScript, in one file.
"""

import html
import json
import os
from importlib import resources
from pathlib import Path
from typing import Any

from saddle import files
from saddle.analysis import Options
from saddle.errors import SaddleError
from saddle.report.page.data import study_data
from saddle.report.page.plain import plain_tables
from saddle.study.store import open_study

SCRIPTS = (
    "base",
    "plot",
    "frontier",
    "profile",
    "training",
    "tables",
    "answers",
    "episodes",
    "export",
    "main",
)  # each needs those before it


def write(study: Path, out: Path, options: Options) -> int:
    """Analyse the study in this directory and write its report; returns the bytes written."""
    opened = open_study(study)
    _check_out(out)
    with opened.reading():
        data = study_data(opened, options)
    page = render(data).encode()
    files.write(out, page, files.AGAIN)
    return len(page)


def render(data: dict[str, Any]) -> str:
    """The page of these data."""
    name = html.escape(str(data["study"].get("name", "study")))
    parts = {
        "title": f"{name}: Saddle report",
        "name": name,
        "style": _asset("page.css"),
        "script": "\n".join(_asset(f"{script}.js") for script in SCRIPTS),
        "plain": plain_tables(data),
        # Within a script element only '<' could end it.
        "data": json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c"),
    }
    before, *rest = _asset("page.html").split("{{")
    for piece in rest:
        key, after = piece.split("}}", 1)
        before += parts[key] + after
    return before


def _asset(name: str) -> str:
    return (resources.files("saddle.report.page") / "assets" / name).read_text(encoding="utf-8")


def _check_out(out: Path) -> None:
    """Fail before the analysis rather than after it."""
    if out.is_dir():
        raise SaddleError(f"{out} is a folder; name a file, for example {out / 'report.html'}")
    folder = next(folder for folder in out.absolute().parents if folder.exists())
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        raise SaddleError(
            f"cannot write {out}: {folder} takes no files; choose another place with --out"
        )
