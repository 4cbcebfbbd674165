"""What the docs' site has besides the pages in docs/: pages made from the code when it is built,
and the repository's own texts. A hook of mkdocs (see mkdocs.yml).
"""

import contextlib
import io
import json
import os
import posixpath
import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any
from unittest import mock

from latex2mathml.converter import convert
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

import saddle
from saddle import cli, multipliers
from saddle.learners import PPO
from saddle.learners.registry import learners

COMMANDS = "reference/command-line.md"
PYTHON = "reference/python.md"
OUTSIDE = {
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "results/README.md": "results/data.md",
    "examples/README.md": "tutorials/examples.md",
}
"""Texts of the repository that are pages of the site: where they lie in each."""
NOTEBOOKS = {"examples/frontier_in_ten_minutes.ipynb": "tutorials/notebook.md"}
"""Notebooks that are pages, with the results that they were stored with."""

_LINK = re.compile(r"(?<=\]\()(?!data:)[^)#\s]+")
_FORMULA = re.compile(r'<(span|div) class="arithmatex">\\[(\[](.*?)\\[)\]]</\1>', re.DOTALL)
_FETCHED = re.compile(
    r"""<(?:script|link|img|iframe)\b[^>]*\b(?:src|href)="((?:https?:)?//[^"]*)"""
)
_CODE = re.compile(r"<(code|pre|script)\b.*?</\1>", re.DOTALL)
_UNREAD = re.compile(r"<p>\||\$\\\w")
"""What Markdown leaves of a table with a gap in it, and of a formula with a blank at an end."""
_STYLE = re.compile(r"<style>.*?</style>", re.DOTALL)
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that do not lie in docs/."""
    files.append(File.generated(config, COMMANDS, content=command_line()))
    files.append(File.generated(config, PYTHON, content=python_interface()))
    studies = [path.as_posix() for path in Path("results").glob("*.toml")]  # linked to by the data
    for source, page in (OUTSIDE | dict(zip(studies, studies, strict=True))).items():
        files.append(File.generated(config, page, abs_src_path=str(Path(source).resolve())))
    for source, page in NOTEBOOKS.items():
        files.append(File.generated(config, page, content=notebook_page(Path(source))))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Links between docs/ and the rest of the repository become links within the site."""
    at = page.file.src_uri
    moved = OUTSIDE | NOTEBOOKS
    source = next((name for name, own in moved.items() if own == at), f"docs/{at}")

    def in_site(match: re.Match[str]) -> str:
        if "://" in match[0]:
            return match[0]
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source), match[0]))
        target = moved.get(path, path.removeprefix("docs/"))
        return posixpath.relpath(target, posixpath.dirname(at) or ".")

    return _LINK.sub(in_site, markdown)


def on_page_content(html: str, **_: object) -> str:
    """Formulas as MathML, which browsers show without a script."""

    def mathml(match: re.Match[str]) -> str:
        display = "block" if match[1] == "div" else "inline"
        return convert(unescape(match[2]), display=display)

    return _FORMULA.sub(mathml, html)


def on_post_page(output: str, page: Page, **_: object) -> str:
    """No page may ask a network for what it needs."""
    if fetched := _FETCHED.search(output):
        raise PluginError(f"{page.file.src_uri} fetches {fetched[1]}; the site has to work offline")
    if 'class="arithmatex"' in output:
        raise PluginError(f"{page.file.src_uri} has a formula that was not turned into MathML")
    text = _CODE.sub("", output)
    if unread := _UNREAD.search(text):
        shown = text[unread.start() : unread.start() + 60]
        raise PluginError(f"{page.file.src_uri} has a table or a formula that is broken: {shown}")
    return output


def notebook_page(path: Path) -> str:
    """A notebook's cells and results as Markdown."""
    parts = []
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
            continue
        parts.append(f"```python\n{source}\n```")
        parts += [_result(output) for output in cell["outputs"]]
    return "\n\n".join(parts)


def _result(output: dict[str, Any]) -> str:
    """What a cell printed or showed."""
    if output["output_type"] == "stream":
        return f"```text\n{''.join(output['text']).rstrip()}\n```"
    data = {kind: "".join(content) for kind, content in output["data"].items()}
    if "image/png" in data:
        picture = data["image/png"].replace("\n", "")
        return f"![What the cell draws](data:image/png;base64,{picture})"
    if "text/html" in data:  # on one line it is one block of HTML to Markdown
        return f'<div class="shown">{" ".join(_STYLE.sub("", data["text/html"]).split())}</div>'
    return f"```text\n{data['text/plain']}\n```"


def command_line() -> str:
    """The page of all that `--help` says."""
    parts = ["# Command line", "What each verb's `--help` prints."]
    for words in verbs():
        parts += [f"## saddle {' '.join(words)}", _block(words)]
    parts += ["## Rules", "How lambda moves in `saddle train`."]
    for name in multipliers.rules():
        words = ["train", "TASK", f"--multiplier:{name}"]
        parts += [f"### --multiplier:{name}", _block(words, "multiplier options")]
    parts += ["## Learners", "Other learners than ppo have other settings."]
    for name in sorted(learners().keys() - {PPO.algorithm}):
        words = ["train", f"--learner:{name}"]
        parts += [f"### --learner:{name}", _block(words, "learner options")]
    return "\n\n".join(parts)


def _block(words: list[str], panel: str = "") -> str:
    """A command's help as a block of Markdown: all of it, or one of its panels."""
    text = help_of(words)
    if panel:
        inside = rf"^ {panel}\n -+\n(.*?)(?=\n\n [a-z ]+\n -+\n|\Z)"
        found = re.search(inside, text, re.DOTALL | re.MULTILINE)
        text = found[1] if found else "It has no options."
    return f"```text\n{text}\n```"


def verbs() -> Iterator[list[str]]:
    """Words of each verb, a verb of verbs before its own."""
    for verb in names_in(help_of([])):
        yield [verb]
        for own in names_in(help_of([verb])):
            yield [verb, own]


def names_in(text: str) -> list[str]:
    """The verbs that a help text's usage offers."""
    usage = text.partition("\n\n")[0].replace("\n", "")
    found = re.search(r"\{([\w,-]+)\}$", usage)
    return found[1].split(",") if found else []


def help_of(words: list[str]) -> str:
    """What a command prints with `--help` on a terminal as wide as a page of the site."""
    shown = io.StringIO()
    with mock.patch.dict(os.environ, COLUMNS="96"), contextlib.redirect_stdout(shown):
        assert cli.main([*words, "--help"]) == 0
    lines = _COLOUR.sub("", shown.getvalue()).splitlines()
    return "\n".join(line.rstrip() for line in lines).strip()


def python_interface() -> str:
    """The page of the names of `saddle`, with their docstrings."""
    values = {name: getattr(saddle, name) for name in sorted(saddle.__all__)}
    kinds = {"Functions": [], "Classes": [], "Modules": []}
    for name, value in values.items():
        kind = "Classes" if isinstance(value, type) else "Functions"
        kinds["Modules" if name in saddle._MODULES else kind].append(name)
    parts = ["# Python", "Every name is loaded when it is first used; `import saddle` loads none."]
    for kind, names in kinds.items():
        parts += [f"## {kind}", *(f"::: saddle.{name}" for name in names)]
    return "\n\n".join(parts)
