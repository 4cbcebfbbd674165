"""What is drawn of an agent at several multipliers, and where the page shows it."""

import json
import re
import shutil

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
    (drawn,) = json.loads((out / "episodes" / "episodes.json").read_text())["drawn"]
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


def test_a_dial_has_no_course_of_lambda_and_its_address_names_no_point_unasked(out, page):
    page.goto((out / "report.html").as_uri())
    expect(page.locator("#training-cost svg")).to_be_visible()
    expect(page.locator("#training-lambda")).to_be_hidden()
    page.wait_for_url(re.compile("limit="))
    assert "lambda=" not in page.url  # else the page, loaded anew, would mark that point's episode


def test_a_point_marks_its_episode_and_an_episode_its_point(out, page):
    page.goto((out / "report.html").as_uri())
    page.locator("#frontier").press("End")
    (task,) = page_data(out / "report.html")["tasks"]
    last = task["groups"][-1]["lambda"]
    near = min(task["episodes"], key=lambda one: abs(np.log(one["lambda"] / last)))
    marked = page.locator("#episodes figure[aria-current]")
    expect(marked).to_contain_text(f"λ {near['lambda']:.3g}: return")
    expect(marked).to_contain_text("nearest to λ = ")
    page.get_by_role("button", name="Show λ 0.08 on the frontier").click()
    expect(marked).to_contain_text("λ 0.08: return")
    chosen = float(page.locator("#series option:checked").inner_text().split("=")[1])
    assert chosen == pytest.approx(task["groups"][0]["lambda"], rel=1e-2)


def sweep_of(tasks, path, settings):
    """A study of two lambdas on these tasks, trained in this folder."""
    named = ", ".join(f'"{task}"' for task in tasks)
    (path / "study.toml").write_text(
        f"tasks = [{named}]\n{settings}\npasses = 1\n"
        '[[stages]]\nname = "sweep"\nlambdas = [0.1, 1.0]\n'
    )
    assert main(["study", "run", str(path / "study.toml"), "--out", str(path / "study")]) == 0
    return path / "study"


@pytest.fixture(scope="module")
def swept(tmp_path_factory):
    """A sweep, of which two lambdas are ordinary policies."""
    settings = (
        'seeds = [0, 1]\nsteps = 4000\n[learner]\nalgorithm = "ppo"\n'
        "steps_per_epoch = 2000\nhidden = [8, 8]\nbatch = 500"
    )
    return sweep_of([TASK], tmp_path_factory.mktemp("sweep"), settings)


def test_policies_of_a_sweep_are_drawn_when_that_is_asked_for(swept, tmp_path, capsys):
    assert main(["report", str(swept), "--out", str(tmp_path / "plain.html")]) == 0
    assert page_data(tmp_path / "plain.html")["tasks"][0]["episodes"] is None
    assert main(["report", str(swept), "--draw", "--out", str(tmp_path / "drawn.html")]) == 0
    assert f"drawing episodes of {TASK}" in capsys.readouterr().err
    episodes = page_data(tmp_path / "drawn.html")["tasks"][0]["episodes"]
    assert [one["lambda"] for one in episodes] == [0.1, 1.0]
    assert (tmp_path / "drawn.html").stat().st_size < 6e6


def test_a_study_without_policies_says_so(swept, tmp_path, capsys):
    shutil.copytree(swept, tmp_path / "bare")
    shutil.rmtree(tmp_path / "bare" / "policies")
    shutil.rmtree(tmp_path / "bare" / "episodes", ignore_errors=True)
    assert (
        main(["report", str(tmp_path / "bare"), "--draw", "--out", str(tmp_path / "r.html")]) == 0
    )
    assert "has no policy to draw" in capsys.readouterr().err


def test_a_page_without_its_pictures_is_written_all_the_same(out, tmp_path):
    kept = out / "episodes" / "0-4.png"
    aside = kept.rename(tmp_path / "0-4.png")
    assert main(["report", str(out), "--out", str(tmp_path / "report.html")]) == 0
    aside.rename(kept)
    (part,) = page_data(tmp_path / "report.html")["tasks"]
    assert part["episodes"] is None


PAINTS, PAINTS_NOTHING = (
    f"toy_environments:{kind}?cost=info:cost&length=15" for kind in ("Paints", "PaintsNothing")
)


@pytest.fixture(scope="module")
def filmed(tmp_path_factory):
    """A sweep on environments that draw themselves, or say so and do not."""
    settings = (
        'seeds = [0]\nsteps = 120\n[learner]\nalgorithm = "ppo"\n'
        "steps_per_epoch = 60\nhidden = [4]\nbatch = 30"
    )
    return sweep_of([PAINTS, PAINTS_NOTHING], tmp_path_factory.mktemp("filmed"), settings)


def test_environments_that_draw_themselves_are_filmed(filmed, page, tmp_path, capsys):
    out = tmp_path / "page.html"
    assert main(["report", str(filmed), "--draw", "--out", str(out)]) == 0
    assert "no episodes are drawn: toy_environments:PaintsNothing" in capsys.readouterr().err
    of_tasks = {one["task"]: one["episodes"] for one in page_data(out)["tasks"]}
    assert of_tasks[PAINTS_NOTHING] is None
    for one in of_tasks[PAINTS]:
        assert one["picture"].startswith("data:image/png;") and one["cost"] >= 0
        assert one["film"].startswith("data:image/gif;")

    pictures = page.locator("#episodes img")
    choose = page.get_by_role("button", name="Show λ 1 on the frontier")
    for motion, kind in (("no-preference", "gif"), ("reduce", "png")):
        page.emulate_media(reduced_motion=motion)
        page.goto(out.as_uri())
        page.select_option("#task", index=0)
        expect(pictures).to_have_count(2)
        choose.click()
        expect(pictures.last).to_have_attribute("src", re.compile(f"^data:image/{kind};"))
        expect(pictures.first).to_have_attribute("src", re.compile("^data:image/png;"))
