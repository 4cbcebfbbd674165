"""Policies that come with a checkout: their cards, their names, and that the cards are true."""

import json
import shutil

import numpy as np
import pytest
from scipy.stats import t as student

import saddle
from saddle import pretrained
from saddle.cli import main
from saddle.errors import SaddleError

NAMES = pretrained.names()


def folder_of(name):
    folder = pretrained.find(name)
    assert folder is not None
    return folder


def test_every_policy_has_a_card():
    folder = pretrained.folder()
    assert folder is not None
    there = sorted(path.parent.name for path in folder.glob("*/policy.json"))
    assert there == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_cards_agree_with_policies_and_studies(name):
    folder = folder_of(name)
    card = pretrained.read_card(folder)
    assert card.task == json.loads((folder / "policy.json").read_text())["task"]
    runs = saddle.open_study(folder.parents[1] / card.study).runs
    own = runs.filter((runs["rule"] == card.rule) & (runs["seed"] == card.seed))
    if card.rule != "dial":
        (setting,) = card.settings
        same_lambda = own["lambda"].eq_missing(setting.multiplier)
        own = own.filter(same_lambda & own["limit"].eq_missing(setting.limit))
    assert own["steps"].to_list() == [card.env_steps]
    for setting in card.settings:
        for played in (setting.deterministic, setting.stochastic):
            for found in (played.return_, played.cost):
                assert found.lo <= found.mean <= found.hi


def error(found, episodes):
    """The standard error that an interval of Student's t says."""
    return (found.hi - found.lo) / 2 / student.ppf(0.975, episodes - 1)


@pytest.mark.parametrize("name", NAMES)
def test_the_reference_agrees_with_the_card(name):
    """Of 80 such numbers one beyond 3.5 standard errors would be no chance."""
    card = pretrained.read_card(folder_of(name))
    for here in card.settings:
        there = here.verified
        assert there is not None
        for mode in ("deterministic", "stochastic"):
            for quantity in ("return_", "cost"):
                own, other = (getattr(getattr(played, mode), quantity) for played in (here, there))
                errors = error(own, card.episodes), error(other, there.episodes)
                assert abs(own.mean - other.mean) <= 3.5 * np.hypot(*errors)


def test_a_card_holds_when_its_policy_is_played_again():
    """Other worlds, fewer of them: the means' intervals meet."""
    (setting,) = pretrained.read_card(folder_of("circle1-fixed-1")).settings
    for score in saddle.evaluate("circle1-fixed-1", episodes=20, seed=7):
        played = getattr(setting, score.mode)
        half = 3 * score.return_sd / np.sqrt(20)
        assert played.return_.lo - half < score.return_mean < played.return_.hi + half


def test_names_stand_for_paths(tmp_path):
    obs = np.zeros(28, np.float32)
    own = saddle.load_policy("circle1-fixed-1")(obs)
    np.testing.assert_array_equal(own, saddle.load_policy(folder_of("circle1-fixed-1"))(obs))
    out = tmp_path / "episode.png"
    words = ["play", "SafetyPointCircle1-v0", "--policy", "circle1-fixed-1", "--steps", "20"]
    assert main([*words, "--out", str(out)]) == 0
    assert out.exists()


def test_they_are_listed(capsys):
    assert main(["policies"]) == 0
    shown = capsys.readouterr().out
    assert all(name in shown for name in NAMES)
    assert main(["policies", "--json"]) == 0
    plain = json.loads(capsys.readouterr().out)
    assert [card["name"] for card in plain] == NAMES
    assert len(plain[0]["settings"][0]["stochastic"]["return"]) == 3


def test_unknown_names_say_which_there_are():
    with pytest.raises(SaddleError, match=r"one of Saddle's own: .*circle1-fixed-0\.1, ") as caught:
        saddle.load_policy("circle1-fixed-7")
    assert "\n" not in str(caught.value)


def test_without_a_checkout_there_are_none(monkeypatch, capsys):
    monkeypatch.setattr(pretrained, "folder", lambda: None)
    assert pretrained.names() == [] and pretrained.find("circle1-fixed-1") is None
    assert main(["policies"]) == 2
    assert "come with a checkout" in capsys.readouterr().err
    with pytest.raises(SaddleError, match=r"policy.json\)$"):
        saddle.load_policy("circle1-fixed-1")


def test_damaged_cards_are_one_line(tmp_path):
    folder = folder_of("circle1-fixed-1")
    shutil.copytree(folder, tmp_path / "damaged")
    (tmp_path / "damaged" / "card.json").write_text('{"task": 1}')
    with pytest.raises(SaddleError, match=r"cannot read .*card\.json") as caught:
        pretrained.read_card(tmp_path / "damaged")
    assert "\n" not in str(caught.value)
