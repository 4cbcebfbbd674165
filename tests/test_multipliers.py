"""Rules as things that anybody may add: one class is known to the command line, study files, tables
and figures.
"""

import dataclasses
import importlib.metadata
import re
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import saddle
from saddle import multipliers
from saddle.cli import main
from saddle.errors import SaddleError
from saddle.multipliers import PID, Fixed, GradientAscent, registry
from saddle.multipliers.stacked import Rules

TASK = "SafetyPointCircle1-v0"
SMALL = (
    "--learner.steps-per-epoch",
    "1000",
    "--learner.hidden",
    "8",
    "8",
    "--learner.passes",
    "1",
    "--learner.batch",
    "500",
)


DOC = Path(__file__).parents[1] / "docs" / "explanation" / "algorithms.md"


def example():
    """The rule that the docs write, as they write it. Running it registers it."""
    (code,) = re.findall(
        r"^```python\n((?:(?!^```).)*register_rule.*?)^```",
        DOC.read_text(),
        re.DOTALL | re.MULTILINE,
    )
    names: dict = {"__name__": "example"}
    exec(compile(code, str(DOC), "exec"), names)
    return names["Switch"]


@pytest.fixture
def switch(monkeypatch):
    """The rule, known for the length of a test."""
    monkeypatch.setattr(registry.RULES, "known", dict(registry.RULES.known))
    return example()


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A training with the rule, which is not known any more afterwards."""
    out = tmp_path_factory.mktemp("rule") / "s"
    words = (
        "--multiplier:switch",
        "--multiplier.price",
        "2.5",
        "--limit",
        "1",
        "--seeds",
        "2",
        "--steps",
        "3000",
    )
    with pytest.MonkeyPatch.context() as known:
        known.setattr(registry.RULES, "known", dict(registry.RULES.known))
        example()
        assert main(["train", TASK, *words, "--out", str(out), *SMALL]) == 0
    return out


def test_a_rule_of_ones_own_trains_and_is_analysed(trained, switch, tmp_path, capsys):
    study = saddle.open_study(trained)
    assert set(study.runs["rule"]) == {"switch"}
    assert "PointCircle1-ppo-switch-d1-price2.5-s0" in study.runs["run"].to_list()
    assert (
        set(study.metrics["lambda"].unique()) <= {0.0, 2.5}
        and 2.5 in study.metrics["lambda"].to_list()
    )
    assert main(["analyze", str(trained)]) == 0
    assert "switch" in capsys.readouterr().out
    assert main(["report", str(trained), "--out", str(tmp_path / "r.html")]) == 0
    assert '"switch":"switch"' in (tmp_path / "r.html").read_text().replace(" ", "")
    assert main(["figures", str(trained), "--out", str(tmp_path / "f")]) == 0
    assert "switch" in (tmp_path / "f" / "comparison.md").read_text()


def test_a_store_is_read_where_its_rule_is_unknown(trained, tmp_path):
    assert "switch" not in multipliers.rules()
    for verb in (["analyze"], ["study", "status"], ["report", "--out", str(tmp_path / "r.html")]):
        assert main([*verb, str(trained)]) == 0
    assert multipliers.label("my_rule eta=2") == "my rule eta=2"


def test_a_study_file_names_it(switch, tmp_path):
    from saddle.study.toml import read_file

    file = tmp_path / "s.toml"
    file.write_text(
        f'tasks = ["{TASK}"]\n[[stages]]\nname = "compare"\nlimits = [10]\n'
        'rules = [{ rule = "switch", price = [1.0, 2.0] }]\n'
    )
    assert [rule.price for rule in read_file(file).stages[0].rules] == [1.0, 2.0]  # type: ignore[attr-defined]


def test_rules_of_packages_are_found(monkeypatch):
    monkeypatch.setattr(registry.RULES, "known", dict(registry.RULES.known))

    class Entry:
        name = "switch"
        dist = None
        module = "example"

        def load(self):
            return example()

    monkeypatch.setattr(registry.RULES, "packages_read", False)
    asked = []
    found = lambda group: asked.append(group) or [Entry()]
    monkeypatch.setattr(importlib.metadata, "entry_points", found)
    assert multipliers.rule_class("switch").name == "switch"
    assert "switch" in multipliers.rules() and asked == ["saddle.rules"]


@pytest.mark.parametrize(
    ("loaded", "said"),
    [
        (
            ImportError("no torch here\nand more"),
            r"cannot be imported \(ImportError: no torch here\)",
        ),
        (dict, "is not derived from saddle.Rule"),
    ],
)
def test_a_broken_package_is_one_line_each_time(loaded, said, monkeypatch):
    class Entry:
        name = "broken"
        dist = None
        module = "their_package"

        def load(self):
            if isinstance(loaded, Exception):
                raise loaded
            return loaded

    monkeypatch.setattr(registry.RULES, "packages_read", False)
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda group: [Entry()])
    for _ in range(2):
        with pytest.raises(
            SaddleError, match=f"'broken' of the package their_package {said}"
        ) as caught:
            multipliers.rules()
        assert "\n" not in str(caught.value)


def test_names_are_taken_once_and_mistakes_are_told(switch):
    other = dataclasses.make_dataclass("Other", [], bases=(switch,), frozen=True)
    with pytest.raises(SaddleError, match="there is a rule 'switch' already"):
        multipliers.register_rule(other)
    assert multipliers.register_rule(switch) is switch
    with pytest.raises(SaddleError, match="did you mean 'switch'"):
        multipliers.rule_class("swich")


def test_the_order_and_the_looks_of_rules(switch):
    names = ["zeta", "pid", "switch", "fixed", "ga kp=2"]
    assert sorted(names, key=lambda name: (multipliers.place(name), name))[:2] == ["fixed", "pid"]
    looks = multipliers.looks(names)
    assert looks["pid"] == (PID.colour, PID.marker)
    assert len({looks[name] for name in names}) == len(names)
    known = [*multipliers.rules(), *names]
    looks = multipliers.looks(known)
    assert len({looks[name] for name in known}) == len(set(known))
    assert (
        multipliers.label("pid kp=0.1") == "PID kp=0.1" and multipliers.label("switch") == "switch"
    )


def any_of(kind):
    """A rule of this kind from any usual start."""
    return st.builds(kind, st.floats(0.1, 10))


RULES = st.one_of(
    *map(any_of, multipliers.rules().values()),
    st.builds(
        GradientAscent, st.floats(0, 10), st.floats(0, 1), st.sampled_from(["adam", "plain"])
    ),
    st.builds(
        PID,
        st.floats(0, 10),
        st.floats(0, 1),
        st.floats(0, 1),
        st.floats(0, 1),
        delay=st.integers(1, 32),
    ),
)


@settings(max_examples=8)
@given(st.lists(RULES, min_size=3, max_size=3), st.lists(st.floats(0, 100), min_size=1, max_size=6))
def test_a_rule_in_company_is_the_rule_alone(rules, costs):
    """Whatever the others are, and through epochs without a finished episode."""

    def lambdas(some):
        stacked = Rules(some)
        state = jax.vmap(lambda numbers: stacked.init(numbers, 1))(stacked.numbers)
        rows = []
        for i, cost in enumerate(costs):
            seen = np.nan if i % 4 == 3 else cost
            shape = (len(some), 1)
            args = (state, stacked.numbers, jnp.full(shape, seen), jnp.full(shape, 25.0))
            state = jax.vmap(stacked.update)(*args)
            rows.append(np.asarray(state.lam)[:, 0])
        return np.array(rows)

    together = lambdas(rules)
    for i, rule in enumerate(rules):
        np.testing.assert_array_equal(together[:, i], lambdas([rule])[:, 0])
        assert rule.drawn or (together[:, i] >= 0).all()
        assert multipliers.rule_from(multipliers.rule_to_dict(rule)) == rule


EACH = st.lists(st.tuples(st.floats(0.1, 5), st.floats(0.5, 50)), min_size=2, max_size=3)


@settings(max_examples=4)
@given(EACH, RULES, st.lists(st.floats(0, 100), min_size=2, max_size=3))
def test_every_constraint_has_a_multiplier_as_if_it_were_alone(starts, rule, costs):
    """From a start, cost and limit of its own; whatever the rule, and beside a rule with one start
    for all.
    """
    inits = tuple(init for init, _ in starts)
    limits = jnp.asarray([limit for _, limit in starts])

    def lambdas(rules, own_limits, shift):
        count = len(own_limits)
        stacked = Rules(rules)
        state = jax.vmap(lambda numbers: stacked.init(numbers, count))(stacked.numbers)
        rows = []
        for cost in costs:
            each = jnp.tile(cost + 3.0 * shift, (len(rules), 1))
            every = jnp.tile(own_limits, (len(rules), 1))
            state = jax.vmap(stacked.update)(state, stacked.numbers, each, every)
            rows.append(np.asarray(state.lam))
        return np.array(rows)

    together = [dataclasses.replace(rule, init=inits), dataclasses.replace(rule, init=1.0)]
    found = lambdas(together, limits, jnp.arange(len(starts)))
    for i, init in enumerate(inits):
        own = [dataclasses.replace(rule, init=init), together[1]]
        alone = lambdas(own, limits[i : i + 1], jnp.asarray([i]))
        np.testing.assert_allclose(found[:, :, i], alone[:, :, 0], rtol=1e-5, atol=1e-6)
    assert multipliers.rule_from(multipliers.rule_to_dict(together[0])) == together[0]


def test_a_rule_of_ones_own_takes_a_number_for_each_constraint(switch):
    stacked = Rules([dataclasses.replace(switch(), init=(0.5, 2.0)), Fixed(3.0)])
    state = jax.vmap(lambda numbers: stacked.init(numbers, 2))(stacked.numbers)
    np.testing.assert_array_equal(state.lam, [[0.5, 2.0], [3.0, 3.0]])


def test_the_command_line_takes_a_number_for_each_constraint(tmp_path, capsys):
    words = ["--multiplier:fixed", "--multiplier.init", "0.5", "2", "--steps", "1000"]
    out = ["--out", str(tmp_path / "s")]
    assert main(["train", *words, TASK, *out, *SMALL]) == 2
    said = capsys.readouterr().err
    assert f"{TASK} has 1 constraint(s) (out_of_boundary), but lambda has 2 numbers" in said
    assert main(["train", TASK, "--multiplier.init", "0.5", "x", *out]) == 2
    assert "saddle train does not take 'x'" in capsys.readouterr().err
    assert not (tmp_path / "s").exists()
