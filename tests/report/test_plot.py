"""The figures of `saddle.plot`: axes in, axes out."""

import matplotlib
import numpy as np
import polars as pl
import pytest
from matplotlib import pyplot
from matplotlib.axes import Axes
from report.made import store

import saddle
from saddle import plot
from saddle.analysis.simulate import LINE, simulate
from saddle.errors import SaddleError


@pytest.fixture(autouse=True)
def _closed():
    pyplot.switch_backend("Agg")
    yield
    pyplot.close("all")


@pytest.fixture(scope="module")
def line(tmp_path_factory):
    """A study of one task in a directory."""
    runs, metrics = simulate([LINE], np.random.default_rng(0), seeds=3, epochs=20)
    return saddle.open_study(store(tmp_path_factory.mktemp("made") / "line", runs, metrics))


@pytest.fixture
def bend(findings):
    return findings.task("Bend-v0", algorithm="ppo")


DRAWINGS = {
    "frontier": plot.frontier,
    "profile": plot.profile,
    "seeds": plot.seeds,
    "rules": lambda task, ax=None: plot.rules(task, 10.0, ax=ax),
}


@pytest.mark.parametrize("name", DRAWINGS)
def test_draws_into_the_axes_that_are_given(bend, name):
    _, (left, right) = pyplot.subplots(1, 2)
    assert DRAWINGS[name](bend, ax=left) is left
    assert left.has_data() and not right.has_data()
    assert len(pyplot.get_fignums()) == 1
    assert left.get_legend() is not None


@pytest.mark.parametrize("name", DRAWINGS)
def test_makes_axes_where_none_are_given(bend, name):
    size = pyplot.rcParams["font.size"]
    axes = DRAWINGS[name](bend)
    assert isinstance(axes, Axes) and len(pyplot.get_fignums()) == 1
    axes.figure.canvas.draw()
    assert pyplot.rcParams["font.size"] == size


def test_what_a_backend_sets_outlasts_the_first_figure(monkeypatch):
    """A notebook's makes pyplot interactive, without which no later cell shows its figures."""
    new = pyplot.figure

    def first_figure(*args, **options):
        pyplot.ion()
        return new(*args, **options)

    monkeypatch.setattr(pyplot, "figure", first_figure)
    with plot._drawing(None):
        pass
    assert matplotlib.is_interactive()
    pyplot.ioff()


def test_the_frontier_is_that_of_the_findings(bend):
    dashed = next(line for line in plot.frontier(bend).lines if line.get_linestyle() == "--")
    np.testing.assert_allclose(np.asarray(dashed.get_xdata()), bend.frontier.grid)
    np.testing.assert_allclose(np.asarray(dashed.get_ydata()), bend.frontier.curve.value)


def test_what_cannot_be_drawn_is_said(findings, bend):
    with pytest.raises(SaddleError, match="at the limit 7; there is 10, 25"):
        plot.rules(bend, 7.0)
    empty = next(part for part in findings.tasks if not part.comparison)
    with pytest.raises(SaddleError, match="there is no comparison"):
        plot.rules(empty, 10.0)


def test_one_task_is_found_by_what_tells_it_from_the_others(findings):
    assert findings.task("Line-v0").task == "Line-v0"
    assert findings.task(algorithm="sac").algorithm == "sac"
    with pytest.raises(SaddleError, match=r"which of these.*'ppo'.*'sac'"):
        findings.task("Bend-v0")
    with pytest.raises(SaddleError, match="nothing was found about task 'Bent'; there is"):
        findings.task("Bent")


def test_findings_show_themselves(findings, bend):
    html = findings._repr_html_()
    assert html.count("<table>") == sum(
        bool(part.limits) + 2 * bool(part.comparison) + bool(part.critics)
        for part in findings.tasks
    )
    for part in findings.tasks:
        assert part.task in html
    assert bend._repr_html_() in html
    assert len(repr(findings)) < 400 and len(repr(bend)) < 100
    assert f"<td>{bend.limits[0].limit:g}</td>" in html
    assert bend.limits[0].reason in html


def test_a_study_shows_itself_and_draws_its_frontier(line):
    html = line._repr_html_()
    assert "<b>made</b>" in html and "Line-v0" in html
    axes = line.plot_frontier()
    assert axes.get_title() == "Line" and len(axes.lines) >= 1
    with pytest.raises(SaddleError, match="nothing was found about algorithm 'sac'"):
        line.plot_frontier(algorithm="sac")


def test_training_is_the_mean_over_seeds(line):
    axes = plot.training(line, "cost")
    runs = line.runs.filter(rule="fixed", stage="sweep")
    lam = runs["lambda"][0]
    own = runs.filter(runs["lambda"] == lam)["run"]
    metrics = line.metrics
    mine = metrics.filter(metrics["run"].is_in(own.implode())).select("env_steps", "cost")
    means = mine.group_by("env_steps").mean()
    wanted = means.sort("env_steps")["cost"].to_numpy()
    drawn = next(curve for curve in axes.lines if str(curve.get_label()).endswith(f"= {lam:.3g}"))
    np.testing.assert_allclose(np.asarray(drawn.get_ydata()), wanted, rtol=1e-5)
    with pytest.raises(SaddleError, match="no column 'costs'; try cost"):
        plot.training(line, "costs")
    with pytest.raises(SaddleError, match="one of the study's: Line-v0"):
        plot.training(line, task="Bend-v0")


def test_training_tells_learners_and_settings_apart_and_leaves_failed_runs_out(tmp_path):
    runs, metrics = simulate([LINE], np.random.default_rng(0), seeds=2, epochs=20)
    runs = runs.filter(rule="pid", limit=LINE.limits[0])
    metrics = metrics.filter(pl.col("run").is_in(runs["run"].implode()))
    levels = {"ppo": 1.0, "sac": 2.0, "failed": 100.0}
    parts = []
    curves = []
    for name, level in levels.items():
        renamed = pl.format(f"{name}-{{}}", "run").alias("run")
        own = runs.with_columns(
            renamed,
            pl.format(f"{name}-{{}}", "unit").alias("unit"),
            algorithm=pl.lit("ppo" if name == "failed" else name),
            status=pl.lit("failed" if name == "failed" else "done"),
        )
        parts.append(own)
        curves.append(metrics.with_columns(renamed, pl.lit(level).alias("return")))
    is_first = pl.col("seed") == 0
    small = pl.lit('{"rule": {"kp": 0.001}}')
    large = pl.lit('{"rule": {"kp": 0.01}}')
    params = pl.when(is_first).then(small).otherwise(large)
    with_settings = pl.concat(parts).with_columns(params=params)
    made = saddle.open_study(store(tmp_path / "S", with_settings, pl.concat(curves)))
    axes = plot.training(made)
    drawn = {str(line.get_label()): set(np.asarray(line.get_ydata())) for line in axes.lines}
    assert len(drawn) == 4
    for label, values in drawn.items():
        assert values == {1.0 if label.endswith("(ppo)") else 2.0}
        assert "kp=0.01" in label or "kp=0.001" in label
