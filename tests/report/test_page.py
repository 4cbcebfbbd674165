"""The report in a real browser: what a reader sees, clicks and types, against what `saddle analyze`
says.
"""

import io
import json
import re

import numpy as np
import polars as pl
import pytest
from PIL import Image
from playwright.sync_api import expect, sync_playwright
from report.made import store
from report.pages import CHROMIUM, NO_CHROMIUM

from saddle import cli
from saddle.analysis.simulate import BEND, simulate
from saddle.analysis.simulate_several import TwoCosts, simulate_two

ARGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]
ARGS += ["--disable-background-networking", "--disable-component-update", "--disable-sync"]
NOTHING = "\N{EN DASH}"
ODD = "Odd </script><img src=x onerror=alert(1)>-v0"  # a name that must stay a name

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason=NO_CHROMIUM)


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """One task with a sweep and a comparison; one with a comparison alone."""
    runs, metrics = simulate(
        [BEND], np.random.default_rng(3), seeds=5, epochs=40, lambdas=np.geomspace(0.1, 10, 11)
    )
    alone = runs.filter(pl.col("stage") == "compare").with_columns(
        pl.lit(ODD).alias("task"), pl.lit("odd").alias("unit"), ("x" + pl.col("run")).alias("run")
    )
    more = metrics.with_columns(("x" + pl.col("run")).alias("run")).filter(
        pl.col("run").is_in(alone["run"].to_list())
    )
    return store(
        tmp_path_factory.mktemp("report") / "study",
        pl.concat([runs, alone]),
        pl.concat([metrics, more]),
    )


@pytest.fixture(scope="module")
def report(study):
    out = study.parent / "folder" / "report.html"
    assert cli.main(["report", str(study), "--out", str(out), "--limit", "17.3"]) == 0
    return out


@pytest.fixture(scope="module")
def browser():
    with sync_playwright() as play:
        chromium = play.chromium.launch(executable_path=CHROMIUM, args=ARGS)
        yield chromium
        chromium.close()


@pytest.fixture
def opened(browser, report):
    """Opens the report; at the end nothing must have gone wrong, and nothing been asked of a
    network.
    """
    troubles, requests, pages = [], [], []

    def open_page(width=1200, height=900, fragment="", **context):
        page = browser.new_page(viewport={"width": width, "height": height}, **context)
        page.on("console", lambda message: troubles.append(message.text))
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("request", lambda request: requests.append(request.url))
        page.goto(report.as_uri() + fragment)
        pages.append(page)
        return page

    yield open_page
    for page in pages:
        page.close()
    assert not troubles
    assert {request.partition("#")[0] for request in requests} <= {report.as_uri(), "data:,"}


def analyzed(study, capsys, limits):
    assert cli.main(["analyze", str(study), "--json", "--limit", *map(str, limits)]) == 0
    return json.loads(capsys.readouterr().out)


def shown(page, name):
    card = page.locator(f"#{name}")
    values = [card.get_attribute(f"data-{part}") for part in ("value", "lo", "hi")]
    return [None if value is None else float(value) for value in values]


def same(page, name, estimate):
    wanted = [estimate[part] for part in ("value", "lo", "hi")]
    assert shown(page, name) == [
        None if value is None else pytest.approx(value, rel=1e-5) for value in wanted
    ]


def test_the_slider_gives_what_analyze_gives(opened, study, capsys):
    page = opened()
    ladder = [finding["limit"] for finding in shown_data(page)["tasks"][0]["limits"]]
    limits = [ladder[i] for i in (0, 3, len(ladder) // 2, len(ladder) - 1)] + [10.0, 17.3, 25.0]
    found = {
        limit["limit"]: limit for limit in analyzed(study, capsys, limits)["tasks"][0]["limits"]
    }
    assert {finding["status"] for finding in found.values()} == {
        "reached",
        "always below",
        "always above",
    }
    for limit in limits:
        page.locator("#limit").fill(str(ladder.index(limit)))
        finding = found[limit]
        assert float(page.locator("#limit-number").input_value()) == limit
        same(page, "lambda-star", finding["lambda"])
        same(page, "expected-return", finding["return"])
        same(page, "violation-share", finding["violation_share"])
        same(page, "training-limit", finding["margins"][0]["training_limit"])
        assert page.locator("#regime .value").inner_text() == (finding["regime"] or NOTHING)
        if finding["status"] == "reached":
            ends = [finding["lambda"][part] for part in ("value", "lo", "hi")]
            numbers = re.findall(r"[\d.]+", page.locator("#lambda-star").inner_text())
            assert [float(number) for number in numbers] == [
                float(f"{end:.3g}") for end in ends if end is not None
            ]


def shown_data(page):
    return json.loads(page.locator("#data").text_content())


def test_typed_limits_snap_to_those_in_the_file_and_say_so(opened):
    page = opened()
    number = page.locator("#limit-number")
    number.fill("17.3")
    number.press("Enter")
    assert page.locator("#snap").inner_text() == ""
    number.fill("17.4")
    number.press("Enter")
    assert number.input_value() == "17.3"
    assert "--limit 17.4" in page.locator("#snap").inner_text()


def test_the_headline_carries_its_intervals(opened, study, capsys):
    page = opened()
    limit = float(page.locator("#limit-number").input_value())
    (finding,) = analyzed(study, capsys, [limit])["tasks"][0]["limits"]
    sentence = page.locator("#sentence").inner_text()
    fixed = next(margin for margin in finding["margins"] if margin["rule"] == "fixed")
    found = re.findall(r"([\d.]+)(?: %)? \[([\d.…]+)(?: %)?, ([\d.…]+)(?: %)?\]", sentence)
    for estimate in (finding["lambda"], finding["return"], fixed["training_limit"]):
        ends = [estimate[part] for part in ("value", "lo", "hi")]
        assert tuple("…" if end is None else f"{float(f'{end:.3g}'):g}" for end in ends) in found
    assert len(found) == 4  # and the share of seeds that violate


def test_it_opens_on_the_first_task_at_the_limit_that_was_asked_for(opened):
    page = opened()
    first = shown_data(page)["tasks"][0]
    assert page.locator("#task option:checked").inner_text() == first["task"] == "Bend-v0"
    assert page.locator("#limit-number").input_value() == "17.3"
    assert page.locator("#chips button[aria-pressed='true']").inner_text() == "17.3 · asked"


def test_it_opens_at_a_limit_trained_at_where_none_was_asked_for(browser, both):
    page = browser.new_page()
    page.goto(both.as_uri())
    first = shown_data(page)["tasks"][0]
    assert float(page.locator("#limit-number").input_value()) == first["comparison"][0]["limit"]
    assert "trained at" in page.locator("#chips button[aria-pressed='true']").inner_text()
    page.close()


def test_every_limit_that_was_asked_for_has_a_button(browser, study):
    out = study.parent / "asked.html"
    assert cli.main(["report", str(study), "--out", str(out), "--limit", "31", "10"]) == 0
    page = browser.new_page()
    page.goto(out.as_uri())
    assert page.locator("#limit-number").input_value() == "31"
    texts = page.locator("#chips button", has_text="asked").all_inner_texts()
    assert texts[0].startswith("10 · asked, trained at")
    assert texts[1:] == ["31 · asked"]
    page.close()


def test_the_address_names_task_and_limit_and_opens_there(opened):
    page = opened()
    page.locator("#task").select_option(label=ODD)
    page.locator("#limit-number").fill("25")
    page.locator("#limit-number").press("Enter")
    page.wait_for_url(re.compile("limit=25$"))
    other = opened(fragment=page.evaluate("location.hash"))
    assert other.locator("#task option:checked").inner_text() == ODD
    assert other.locator("#limit-number").input_value() == "25"
    other.evaluate("location.hash = '#task=Bend-v0&limit=17.4'")
    expect(other.locator("#limit-number")).to_have_value("17.3")
    assert other.locator("#task option:checked").inner_text() == "Bend-v0"
    assert "--limit 17.4" in other.locator("#snap").inner_text()


@pytest.mark.parametrize(
    "fragment", ["#task=nothing&limit=3", "#limit", "#task=Bend-v0&limit=x", "#%"]
)
def test_an_address_that_names_nothing_opens_as_without(opened, fragment):
    usual, page = opened(), opened(fragment=fragment)
    for name in ("#task", "#limit-number"):
        assert page.locator(name).input_value() == usual.locator(name).input_value()


def test_the_keyboard_reaches_and_moves_everything(opened):
    page = opened()
    order = []
    for _ in range(60):
        page.keyboard.press("Tab")
        order.append(page.evaluate("document.activeElement.id || document.activeElement.tagName"))
        if order[-1] == "series":
            break
    wanted = ["theme", "task", "limit", "limit-number", "frontier", "profile", "series"]
    assert [name for name in order if name in wanted] == wanted
    slider = page.locator("#limit")
    before, star = slider.get_attribute("aria-valuetext"), shown(page, "lambda-star")
    slider.focus()
    page.keyboard.press("ArrowRight")
    assert slider.get_attribute("aria-valuetext") != before
    assert shown(page, "lambda-star") != star
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.locator("#frontier").focus()
    page.keyboard.press("End")
    assert page.locator("#series option:checked").inner_text() == "λ = 10"
    page.keyboard.press("ArrowLeft")
    assert (
        page.locator("#profile").get_attribute("aria-valuetext").startswith("lambda 6.31: return")
    )


def test_hovering_a_point_shows_its_runs_in_both_charts(opened, study, capsys):
    page = opened()
    page.locator("#frontier circle.dot").nth(4).hover()
    seeds = [
        row for row in analyzed(study, capsys, [10])["tasks"][0]["scatter"] if row["limit"] is None
    ]
    lambdas = sorted({row["lambda"] for row in seeds})
    rows = page.locator("#tip tr").all_inner_texts()[1:]
    wanted = [row for row in seeds if row["lambda"] == lambdas[4]]
    got = [[float(cell) for cell in row.split()] for row in rows]
    assert got == [
        [row["seed"], *(float(f"{row[key]:.3g}") for key in ("return", "cost"))] for row in wanted
    ]
    assert page.locator("#frontier .seed").count() == len(wanted) == 5
    for panel in page.locator("#profile svg").all():
        classes = [dot.get_attribute("class") for dot in panel.locator("circle.dot").all()]
        assert [i for i, name in enumerate(classes) if "hot" in name] == [4]


def test_a_chosen_point_shows_its_training(opened):
    page = opened()
    page.locator("#frontier circle.dot").nth(0).click()
    assert page.locator("#series option:checked").inner_text() == "λ = 0.1"
    for quantity in ("return", "cost", "lambda"):
        assert page.locator(f"#training-{quantity} path.thin").count() == 5
    page.locator("#runs-box summary").click()
    assert page.locator("#runs tbody tr").count() == 5
    page.locator("#series").select_option(label="all rules, limit 10")
    assert page.locator("#training-lambda path.line").count() == 3


def test_near_the_limit_the_frontier_is_drawn_larger(opened):
    page = opened()
    place = lambda: page.locator("#frontier .limit-line").bounding_box()["x"]
    page.locator("#limit-number").fill("10")
    page.locator("#limit-number").press("Enter")
    before = place()
    page.locator("#near").check()
    middle = place()
    assert middle > before + 100
    page.locator("#limit").press("ArrowRight")
    assert place() == pytest.approx(middle, abs=1)  # the window follows the limit


def test_the_comparison_is_that_of_analyze_and_sorts(opened, study, capsys):
    page = opened()
    cells = analyzed(study, capsys, [10])["tasks"][0]["comparison"]
    marks = page.locator("#comparison tbody tr td:nth-child(3)").all_inner_texts()
    assert marks == [
        "✓ best" if cell["best"] else "✕ violated" if cell["violated"] else "" for cell in cells
    ]
    assert {"✓ best", "✕ violated"} <= set(marks)
    head = page.locator("#comparison th", has_text="return")
    texts = page.locator("#comparison tbody tr td:nth-child(4)")
    value = lambda text: float(text.split()[0])
    head.locator("button").click()
    assert head.get_attribute("aria-sort") == "ascending"
    rising = [value(text) for text in texts.all_inner_texts()]
    assert rising == sorted(float(f"{cell['return']['value']:.3g}") for cell in cells)
    head.locator("button").click()
    assert [value(text) for text in texts.all_inner_texts()] == rising[::-1]
    page.locator("#comparison tbody tr[data-limit='25'] button").first.click()
    assert page.locator("#limit-number").input_value() == "25"


def test_a_task_without_a_sweep_says_so_and_its_name_stays_text(opened):
    page = opened()
    page.locator("#task").select_option(label=ODD)
    assert page.locator("img").count() == 0
    assert "no sweep" in page.locator("#notes").inner_text()
    assert page.locator("#lambda-star .value").inner_text() == NOTHING
    assert page.locator("#frontier path.dot").count() == 6
    assert page.locator("#training-return path.line").count() == 3


@pytest.mark.parametrize("width", [360, 800, 1600])
def test_it_fits_the_screen_in_light_and_dark(opened, width):
    tones = {}
    for scheme in ("light", "dark"):
        page = opened(width, color_scheme=scheme)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        image = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
        colours = image.getcolors(1 << 24) or []
        assert len(colours) > 100  # text, lines and a ramp of lambdas; a blank page has one or two
        count, paper = max(colours)
        assert count < 0.97 * image.width * image.height
        assert isinstance(paper, tuple)
        tones[scheme] = sum(paper)
    assert tones["light"] > 600 and tones["dark"] < 150
    page.locator("#theme").click()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"


def test_without_javascript_it_says_so_and_gives_the_findings(opened, study, capsys):
    page = opened(java_script_enabled=False)
    text = page.locator("body").inner_text()
    assert "JavaScript, which is switched off" in text
    (finding,) = analyzed(study, capsys, [25])["tasks"][0]["limits"]
    assert f"{finding['lambda']['value']:.4g}" in text
    assert not page.locator("#app").is_visible()


def test_the_file_stands_alone(report):
    text = report.read_text()
    assert set(re.findall(r"\bhttps?://[^\s\"'<>)]+", text)) == {
        "http://www.w3.org/2000/svg"
    }  # a namespace
    assert not re.search(
        r"<(script|link|img|iframe)[^>]+(src|href)=(?!\"data:)", text.split('<script type="app')[0]
    )
    assert len(text) < 500_000


def test_each_of_two_constraints_has_its_answers_and_its_address(browser, tmp_path, capsys):
    axis = (0.1, 0.5, 2.0)
    rng = np.random.default_rng(0)
    runs, metrics = simulate_two(TwoCosts(), rng, [axis, axis], [(69.44, 25.0)], seeds=3)
    study, out = store(tmp_path / "two", runs, metrics), tmp_path / "two.html"
    assert cli.main(["report", str(study), "--out", str(out)]) == 0
    capsys.readouterr()
    assert cli.main(["analyze", str(study), "--json", "--limit", "69.44", "25"]) == 0
    views = json.loads(capsys.readouterr().out)["tasks"]
    page, troubles = browser.new_page(), []
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.goto(out.as_uri())
    names = ["both (second at 25)", "second (both at 69.44)"]
    for i, (name, limit) in enumerate(zip(names, (69.44, 25), strict=True)):
        page.locator("#task").select_option(str(i))
        expect(page.locator("#sentence")).to_contain_text(f"{name}. To keep the mean cost at")
        expect(page.locator("#together li")).to_have_count(1)
        assert float(page.locator("#limit-number").input_value()) == limit
        same(page, "lambda-star", views[i]["limits"][0]["lambda"])
    page.wait_for_timeout(300)  # the address follows a little later
    assert "constraint=second" in page.url
    page.reload()
    expect(page.locator("#sentence")).to_contain_text(names[1])
    series = page.locator("#series option").all_text_contents()
    assert any("(others" in text for text in series)
    page.close()
    assert not troubles


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """A task under two learners, of which one logs what its critics say."""
    runs, metrics = simulate(
        [BEND], np.random.default_rng(5), seeds=3, epochs=20, lambdas=np.geomspace(0.1, 10, 6)
    )
    renamed = ("s" + pl.col("run")).alias("run")
    other = runs.with_columns(renamed, algorithm=pl.lit("sac"), unit=pl.lit("s"))
    said = {"start_q_r": 2.0, "start_mc_r": 4.0, "start_q_c": 3.0, "start_mc_c": 2.0}
    own = metrics.with_columns(renamed, pl.col("return") * 0.8)
    own = own.with_columns(pl.lit(value, pl.Float32).alias(name) for name, value in said.items())
    folder = tmp_path_factory.mktemp("both")
    study = store(
        folder / "study",
        pl.concat([runs, other]),
        pl.concat([metrics, own], how="diagonal"),
    )
    assert cli.main(["report", str(study), "--out", str(folder / "report.html")]) == 0
    return folder / "report.html"


def test_other_learners_are_drawn_beside_the_one_that_is_shown(browser, both):
    page = browser.new_page(viewport={"width": 1200, "height": 900})
    for shown_one, other in (("ppo", "sac"), ("sac", "ppo")):
        page.goto(both.as_uri() + f"#task=Bend-v0&algorithm={shown_one}")
        page.reload()
        for chart, count in (("#frontier", 1), ("#profile", 2)):
            lines = page.locator(f"{chart} path.other[data-algorithm={other}]")
            expect(lines).to_have_count(count)
            assert all(len(line.get_attribute("d")) > 100 for line in lines.all())
        expect(page.locator("#frontier-legend")).to_contain_text(f"frontier of {other}")
        expect(page.locator("#profile-legend")).to_contain_text(f"profiles of {other}")
        expect(page.locator("#critics-box")).to_be_visible(visible=shown_one == "sac")
    page.locator("#critics-box summary").click()
    row = page.locator("#critics tbody tr").first
    expect(row).to_contain_text("reward")
    expect(row.locator("td").last).to_have_text("-50 %")
    page.close()


def test_charts_and_tables_are_saved_as_files(opened, tmp_path):
    page = opened()

    def saved(label):
        with page.expect_download() as started:
            page.get_by_role("button", name=label, exact=True).click()
        name = started.value.suggested_filename
        started.value.save_as(tmp_path / name)
        return tmp_path / name

    for chart in ("frontier", "profile", "training-cost"):
        drawing = saved(f"Save {chart} as SVG")
        assert drawing.name == f"Bend-v0-{chart}.svg"
        text = drawing.read_text()
        assert text.startswith("<svg") and "var(" not in text and "<path" in text
        picture = Image.open(saved(f"Save {chart} as PNG"))
        assert picture.format == "PNG" and picture.width > 400
        pixels = np.asarray(picture.convert("RGB").resize((60, 40))).reshape(-1, 3)
        assert len(np.unique(pixels, axis=0)) > 5
    table = pl.read_csv(saved("Save comparison as CSV"))
    assert {"limit", "rule", "return", "return lo", "return hi"} <= set(table.columns)
    (task, *_) = shown_data(page)["tasks"]
    cells = {(cell["limit"], cell["return"]["value"]) for cell in task["comparison"]}
    assert set(table.select("limit", "return").iter_rows()) == cells


def test_buttons_stand_below_their_charts(opened):
    page = opened()
    for name in ("frontier", "profile", "training-return", "training-cost", "training-lambda"):
        chart = page.locator(f"#{name}").bounding_box()
        buttons = page.locator(f"#{name} + .exports").bounding_box()
        assert buttons["y"] >= chart["y"] + chart["height"] - 1
        assert buttons["width"] == chart["width"] and buttons["height"] < 50


def test_a_link_keeps_the_rule_or_the_lambda(opened):
    page = opened(fragment="#task=Bend-v0&limit=25&rule=pid")
    assert page.locator("#series option:checked").inner_text() == "PID, limit 25"
    page.wait_for_timeout(300)  # the address follows a little later
    assert page.url.endswith("limit=25&rule=pid")
    page.locator("#frontier").press("Home")
    page.wait_for_timeout(300)
    assert page.url.endswith("limit=25&lambda=0.1")
    page.reload()
    assert page.locator("#series option:checked").inner_text() == "λ = 0.1"
