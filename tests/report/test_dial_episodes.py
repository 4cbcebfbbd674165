"""What `saddle frontier` draws of an agent at several settings of its dial, and the page."""

import json
import re

import numpy as np
import pytest
from playwright.sync_api import expect, sync_playwright
from report.pages import CHROMIUM, NO_CHROMIUM, page_data

import saddle
from saddle.cli import main
from saddle.errors import SaddleError

TASK = "SafetyPointCircle1-v0"
SMALL = "--learner.steps-per-epoch 2000 --learner.hidden 8 8 --learner.passes 1 --learner.batch 500"


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    path = tmp_path_factory.mktemp("dial") / "study"
    words = f"frontier {TASK} --limit 100 300 --steps 4e3 --seeds 2 {SMALL} --out".split()
    assert main([*words, str(path)]) == 0
    return path


@pytest.fixture
def page():
    if CHROMIUM is None:
        pytest.skip(NO_CHROMIUM)
    with sync_playwright() as play:
        chromium = play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield chromium.new_page()
        chromium.close()


def test_nine_settings_are_drawn_in_one_world(out):
    drawn = json.loads((out / "episodes" / "episodes.json").read_text())
    assert drawn["run"] == "PointCircle1-conditioned-dial-s0"
    lambdas = [one["lambda"] for one in drawn["episodes"]]
    assert lambdas == sorted(lambdas) and len(lambdas) == 9
    assert lambdas[0] == pytest.approx(0.08) and lambdas[-1] == pytest.approx(12.5)
    for one in drawn["episodes"]:
        assert (out / "episodes" / one["picture"]).read_bytes().startswith(b"\x89PNG")
    (part,) = page_data(out / "report.html")["tasks"]
    shown = [(one["return"], one["cost"]) for one in part["episodes"]]
    kept = [(one["return"], one["cost"]) for one in drawn["episodes"]]
    assert shown == [pytest.approx(pair, rel=1e-5) for pair in kept]


def test_a_run_of_the_study_is_a_policy_at_a_setting(out):
    study = saddle.open_study(out)
    run = study.runs["run"][0]
    obs = np.zeros(saddle.make(TASK).spec.obs_dim)
    careless, careful = (study.policy(run, multiplier=lam)(obs) for lam in (0.1, 10.0))
    assert not np.array_equal(careless, careful)
    with pytest.raises(SaddleError, match="say where to set it"):
        study.policy(run)


def test_the_page_marks_the_setting_that_is_nearest_to_lambda_star(out, page):
    page.goto((out / "report.html").as_uri())
    figures = page.locator("#episodes figure")
    expect(figures).to_have_count(9)
    expect(figures.first.locator("img")).to_have_attribute(
        "alt", re.compile("An episode from above at λ 0.08: return")
    )
    for finding in page_data(out / "report.html")["tasks"][0]["limits"]:
        page.fill("#limit-number", str(finding["limit"]))
        page.press("#limit-number", "Enter")
        marked = page.locator("#episodes figure[aria-current]")
        expect(marked).to_have_count(1 if finding["lambda"]["value"] else 0)


def test_a_page_without_its_pictures_is_written_all_the_same(out, tmp_path):
    kept = out / "episodes" / "4.png"
    aside = kept.rename(tmp_path / "4.png")
    assert main(["report", str(out), "--out", str(tmp_path / "report.html")]) == 0
    aside.rename(kept)
    (part,) = page_data(tmp_path / "report.html")["tasks"]
    assert part["episodes"] is None
