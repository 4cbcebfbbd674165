"""Progress in a notebook, whose parts stand in for IPython's here."""

import sys
from types import ModuleType, SimpleNamespace

import pytest

from saddle import notebook
from saddle.interface import _Callbacks, _listening
from saddle.study.listener import EpochDone


@pytest.fixture
def shown(monkeypatch):
    """What a notebook shows: one entry per bar, as it looks last, and how often it was drawn."""
    bars: list[dict] = []

    def display(picture, raw, display_id):
        assert raw and display_id
        bar = {"picture": picture, "drawn": 1}
        bars.append(bar)

        def update(picture, raw):
            bar["picture"] = picture
            bar["drawn"] += 1

        return SimpleNamespace(update=update)

    ipython = ModuleType("IPython")
    ipython.get_ipython = lambda: SimpleNamespace(kernel=object())  # pyright: ignore
    screen = ModuleType("IPython.display")
    screen.display = display  # pyright: ignore
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", screen)
    return bars


def epochs(count):
    for epoch in range(1, count + 1):
        yield EpochDone("unit", epoch, count, ("a", "b"), 1.0, {})


def test_a_bar_per_unit_goes_to_its_end(shown):
    with _listening(_Callbacks(None, None), None) as listener:
        for done in epochs(50):
            listener.epoch(done)
    (bar,) = shown
    assert bar["picture"]["text/plain"] == "unit (2 runs), epochs: 50/50"
    assert '<progress value="50" max="50">' in bar["picture"]["text/html"]
    assert bar["drawn"] < 50  # not at every epoch


def test_what_was_asked_for_wins(shown, capsys):
    seen, said = [], []
    with _listening(_Callbacks(seen.append, said.append), False) as listener:
        for done in epochs(3):
            listener.epoch(done)
        listener.say("a word")
    assert shown == [] and len(seen) == 3 and said == ["a word"]
    with _listening(_Callbacks(None, said.append), True) as listener:
        listener.say("another")
    assert said == ["a word", "another"] and capsys.readouterr().out == ""


def test_a_terminal_shows_progress_only_when_asked(capsys):
    with _listening(_Callbacks(None, None), None) as listener:
        listener.epoch(next(epochs(1)))
        listener.say("a word")
    assert capsys.readouterr().out == ""
    with _listening(_Callbacks(None, None), True) as listener:
        listener.epoch(next(epochs(1)))
        listener.say("a word")
    assert capsys.readouterr().out.splitlines() == ["unit: 2 runs, epoch 1 of 1", "a word"]


def test_counting_shows_a_bar_in_a_notebook_and_nothing_elsewhere(shown, monkeypatch, capsys):
    with notebook.counting("policies <of S>", 3) as done:
        done(3)
    (bar,) = shown
    assert "policies &lt;of S&gt;: 3/3" in bar["picture"]["text/html"]
    monkeypatch.delitem(sys.modules, "IPython")
    with notebook.counting("policies", 3) as done:
        done(3)
    assert len(shown) == 1 and capsys.readouterr() == ("", "")
