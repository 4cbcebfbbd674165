"""Every figure draws from a study's findings and shows what they say."""

import dataclasses
import itertools

import numpy as np
import polars as pl
import pytest
from PIL import Image

from saddle import multipliers
from saddle.errors import SaddleError
from saddle.report import figures_algorithms, figures_rules, figures_sweep, style
from saddle.report.write import drawings, write_all


@pytest.fixture(autouse=True)
def _styled():
    with style.styled():
        yield


@pytest.fixture
def bend(findings):
    return next(
        part for part in findings.tasks if part.task == "Bend-v0" and part.algorithm == "ppo"
    )


def test_every_kind_of_figure_is_drawn_once_per_task(findings, curves):
    names = [name for name, _ in drawings(findings, curves)]
    assert len(names) == len(set(names))
    for kind in ("frontier", "profile", "seeds", "slope"):
        assert sum(name.startswith(kind + "-") for name in names) == 3
    assert sum(name.startswith("rules-") for name in names) == 2
    assert sum(name.startswith("training-") for name in names) == 4
    assert "frontiers-ppo" in names and "algorithms-Bend-v0" in names


def test_figures_fit_a_column(findings, curves):
    wide = {
        name for name, draw in drawings(findings, curves) if draw().get_figwidth() > style.COLUMN
    }
    assert wide <= {"frontiers-ppo"}


def test_frontier_shows_groups_frontier_and_band(bend):
    axes = figures_sweep.frontier(bend).axes[0]
    dashed = next(line for line in axes.lines if line.get_label() == "frontier, 95 % band")
    np.testing.assert_allclose(np.asarray(dashed.get_xdata()), bend.frontier.grid)
    np.testing.assert_allclose(np.asarray(dashed.get_ydata()), bend.frontier.curve.value)
    assert dashed.get_linestyle() == "--"
    points = max(
        (np.asarray(c.get_offsets()) for c in axes.collections), key=lambda offsets: offsets.size
    )
    np.testing.assert_allclose(points[:, 0], [group.cost.value for group in bend.groups])


def test_profile_marks_lambda_star_on_its_limit(bend):
    drawn = figures_sweep.profile(bend)
    right = drawn.axes[1]
    marked = {
        tuple(np.asarray(line.get_xydata())[0]) for line in right.lines if line.get_marker() == "o"
    }
    assert marked == {(limit.lambda_.value, limit.limit) for limit in bend.limits}
    assert legend(drawn) == ["limit $d$", "$\\lambda^*$ with its 95 % interval"]


def legend(drawn):
    return [text.get_text() for text in drawn.legends[0].get_texts()]


def test_labels_of_limits_in_a_profile_do_not_collide(bend):
    near = [
        dataclasses.replace(bend.limits[0], limit=limit)
        for limit in (10.0, 10.5, 12.0, 15.0, 20.0, 25.0, 40.0)
    ]
    drawn = figures_sweep.profile(dataclasses.replace(bend, limits=tuple(near)))
    drawn.draw_without_rendering()
    labels = [text for text in drawn.axes[1].texts if text.get_text().startswith("$d$")]
    boxes = [text.get_window_extent() for text in labels]
    assert not [1 for one, other in itertools.combinations(boxes, 2) if one.overlaps(other)]
    named = ", ".join(text.get_text().removeprefix("$d$ = ") for text in labels)
    assert named.split(", ") == ["10", "10.5", "12", "15", "20", "25", "40"]


def test_slope_strip_has_a_span_per_regime(bend):
    strip = figures_sweep.slope(bend).axes[1]
    assert len(strip.patches) == len(bend.regimes)


def test_zoom_projects_every_rule_onto_the_frontier(bend):
    drawn = figures_rules.zoom(bend)
    assert len(drawn.axes) == 2
    first = [cell for cell in bend.comparison if cell.limit == 10.0]
    dotted = [
        np.asarray(line.get_ydata()) for line in drawn.axes[0].lines if line.get_linestyle() == ":"
    ]
    assert len(dotted) == len(first)
    for (top, foot), cell in zip(dotted, first, strict=True):
        assert top - foot == pytest.approx(cell.gap.value)
    assert {"$\\pm$ 1 SD over seeds", "gap to the frontier"} <= set(legend(drawn))


def test_training_shows_every_rule_and_the_limit(curves, frames):
    rows = curves.filter((pl.col("task") == "Bend-v0") & (pl.col("limit") == 25.0))
    drawn = figures_rules.training("PointGoal1", 25.0, rows)
    labels = [text.get_text() for text in drawn.legends[0].get_texts()]
    assert labels == ["fixed $\\lambda^*$", "GA", "PID", "$d$ = 25"]
    assert drawn.axes[0].get_title() == "PointGoal1, limit 25"
    runs, metrics = frames
    ga = runs.filter(
        (pl.col("rule") == "ga") & (pl.col("limit") == 25.0) & (pl.col("task") == "Bend-v0")
    )["run"]
    last = metrics.filter(pl.col("run").is_in(ga.implode()) & (pl.col("epoch") == 39))["cost"]
    line = next(line for line in drawn.axes[2].lines if line.get_label() == "GA")
    assert np.asarray(line.get_ydata())[-1] == pytest.approx(last.mean(), rel=1e-6)


def test_overlay_has_a_frontier_per_algorithm(findings):
    parts = [part for part in findings.tasks if part.task == "Bend-v0"]
    drawn = figures_algorithms.overlay(parts)
    assert [text.get_text() for text in drawn.legends[0].get_texts()] == ["ppo", "sac"]
    drawn.draw_without_rendering()


@pytest.mark.parametrize("kind", ["frontiers-ppo", "seeds-Bend-v0-ppo", "slope-Line-v0-ppo"])
def test_saved_as_pdf_and_png(findings, curves, tmp_path, kind):
    draw = dict(drawings(findings, curves))[kind]
    pdf, png = style.save(draw(), tmp_path, kind)
    assert pdf.read_bytes().startswith(b"%PDF") and b"CreationDate" not in pdf.read_bytes()
    with Image.open(png) as image:
        assert len(np.unique(np.asarray(image.convert("L")))) > 20  # something was drawn


def test_rules_keep_their_look_whatever_else_was_run():
    alone, many = multipliers.looks(["pid"]), multipliers.looks(["pid", "bandit", "ga"])
    assert (
        alone["pid"] == many["pid"] and len({many[rule] for rule in ("pid", "bandit", "ga")}) == 3
    )


def test_a_folder_that_cannot_be_made_is_told(findings, curves, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(SaddleError, match="cannot write"):
        write_all(findings, curves, tmp_path / "file" / "below")
