"""What the docs' site refuses to be built of."""

import importlib.util
from pathlib import Path
from types import SimpleNamespace

import pytest
from mkdocs.exceptions import PluginError

HOOK = Path(__file__).parents[1] / "tools" / "docs_pages.py"
PAGE = SimpleNamespace(file=SimpleNamespace(src_uri="page.md"))


@pytest.fixture(scope="module")
def hook():
    spec = importlib.util.spec_from_file_location("docs_pages", HOOK)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("html", "why"),
    [
        (r"<td>where $\xi &gt; $ falls</td>", "broken: \\$"),
        ("<p>| <code>crpo</code> | 100 |</p>", "broken: <p>|"),
        ('<img src="https://somewhere.org/a.png">', "has to work offline"),
        ('<span class="arithmatex">x</span>', "not turned into MathML"),
    ],
)
def test_a_broken_page_is_refused(hook, html, why):
    with pytest.raises(PluginError, match=why.replace("|", r"\|")):
        hook.on_post_page(html, PAGE)


def test_code_may_hold_what_text_may_not(hook):
    html = r"<p>as in <code>$\xi &gt; $</code></p><pre>| a | b |</pre>"
    assert hook.on_post_page(html, PAGE) == html


def test_a_formula_becomes_mathml(hook):
    html = hook.on_page_content(r'<span class="arithmatex">\(\lambda \ge 0\)</span>')
    assert html.startswith("<math") and "arithmatex" not in html
