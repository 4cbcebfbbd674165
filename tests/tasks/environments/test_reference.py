"""References to environments, and the grammar of costs: read, written, and what is wrong said."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import saddle
from saddle.cli.environment import EnvironmentOptions
from saddle.errors import SaddleError
from saddle.study.names import short
from saddle.tasks.gymnasium.costs import Component, Cost, costs_of
from saddle.tasks.gymnasium.environment import Environment, is_environment

WORDS = st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=12)
NAMES = st.lists(st.from_regex(r"[A-Za-z_-]\w{0,6}", fullmatch=True), max_size=2, unique=True)
MODULES = st.from_regex(r"[a-z]{1,6}(\.[a-z]{1,6})?", fullmatch=True).filter(
    lambda name: not name.startswith(("info", "event", "reward"))
)
COMPONENTS = st.builds(Component, st.integers(0, 99), st.sampled_from([1, -1]))
SOURCES = st.one_of(
    st.tuples(st.sampled_from(["info", "event"]), WORDS),
    st.tuples(st.just("reward"), COMPONENTS.map(str)),
    st.tuples(st.sampled_from(["terminated", "six"]), st.just("")),
    st.tuples(st.just("function"), MODULES.map(lambda name: f"{name}:cost_of")),
)
COSTS = st.builds(lambda source, names: Cost(source[0], source[1], tuple(names)), SOURCES, NAMES)
ENVIRONMENTS = st.builds(
    Environment,
    st.one_of(
        WORDS.filter(lambda id: "?" not in id).map("gym:{}".format), MODULES.map("{}:make".format)
    ),
    cost=st.lists(COSTS, max_size=3),
    reward=st.none() | COMPONENTS,
    length=st.none() | st.integers(1, 10**9),
    imports=st.lists(MODULES, max_size=2),
    python=st.none() | WORDS,
    timeout=st.floats(1e-3, 1e6),
)


@given(COSTS)
def test_costs_round_trip(cost):
    assert Cost.parse(str(cost)) == cost


@given(ENVIRONMENTS)
def test_references_round_trip(environment):
    text = str(environment)
    assert Environment.parse(text) == environment
    assert str(Environment.parse(text)) == text


@pytest.mark.parametrize(
    ("written", "full", "names"),
    [
        ("cost", "info:cost", ("cost",)),
        ("-2", "reward:-2", ("minus_reward_2",)),
        ("0", "reward:0", ("reward_0",)),
        ("reward:-0", "reward:-0", ("minus_reward_0",)),
        ("speed=info:v", "speed=info:v", ("speed",)),
        ("info:a=b", "info:a=b", ("a=b",)),
        ("event:crash", "event:crash", ("crash",)),
        ("terminated", "terminated", ("terminated",)),
        ("six", "six", ("cost",)),
        ("my.costs:of_step", "my.costs:of_step", ("of_step",)),
    ],
)
def test_what_can_be_written(written, full, names):
    cost = Cost.parse(written)
    assert str(cost) == full
    assert cost.constraints(1) == names


def test_sources_of_several_costs_are_numbered_or_named():
    assert Cost.parse("my:costs").constraints(2) == ("costs_0", "costs_1")
    assert Cost.parse("far,fast=my:costs").constraints(2) == ("far", "fast")
    with pytest.raises(SaddleError, match="has 2 names, but its source gives 3"):
        Cost.parse("far,fast=my:costs").constraints(3)


def test_python_gives_texts_functions_or_several():
    def dear(obs, action, reward, info):
        return 1.0

    assert costs_of("cost") == (Cost("info", "cost"),)
    assert costs_of(["cost", "terminated"]) == (Cost("info", "cost"), Cost("terminated"))
    assert costs_of(dear)[0].function is dear
    assert costs_of(dear)[0].constraints(1) == ("dear",)
    with pytest.raises(SaddleError, match="no text can name it"):
        Environment("a:b", cost=dear).reference()


@pytest.mark.parametrize(
    ("reference", "words"),
    [
        ("gym:", "write gym:ID"),
        ("a:b?cost", "write 'cost' as cost=VALUE"),
        ("a:b?costs=x", "has an option 'costs'"),
        ("a:b?length=1&length=2", "gives length twice"),
        ("a:b?length=1.5", "length is '1.5'"),
        ("a:b?length=0", "the episode length is 0"),
        ("a:b?timeout=soon", "timeout is 'soon'"),
        ("a:b?timeout=-1", "the timeout is -1"),
        ("a:b?reward=x", "reward is 'x'"),
        ("a:b?import=a-b", "import 'a-b' is no module's name"),
        ("a:b?cost=reward:x", "the cost 'reward:x' is 'x'"),
        ("a:b?cost=info:", "cannot be read; write info:KEY"),
        ("a:b?cost=a,a=x:y", "names two constraints alike"),
        ("a-b:c?length=3", "names no environment"),
    ],
)
def test_what_cannot_be_read_is_one_line(reference, words):
    with pytest.raises(SaddleError, match=words.replace("(", r"\(")) as caught:
        saddle.make(reference)
    assert "\n" not in str(caught.value)


def test_options_of_a_command_line_join_those_of_the_reference():
    options = EnvironmentOptions(cost=("-1",), imports=("b",), episode_length=5)
    given = "gym:X-v0?import=a&cost=info:cost&length=9"
    assert options.applied_to(given) == (
        "gym:X-v0?import=a&import=b&cost=info:cost&cost=reward:-1&length=5"
    )
    assert EnvironmentOptions().applied_to("SafetyPointGoal1-v0") == "SafetyPointGoal1-v0"
    assert EnvironmentOptions().applied_to_option(None) is None
    with pytest.raises(SaddleError, match="has costs and a length of its own"):
        options.applied_to("SafetyPointGoal1-v0")
    with pytest.raises(SaddleError, match="name it with --task"):
        options.applied_to_option(None)


def test_names_of_runs_are_safe_readable_and_distinct():
    first, second = (
        short("gym:mo-hopper-v5?cost=reward:-2"),
        short("gym:mo-hopper-v5?cost=reward:-1"),
    )
    assert first != second
    for name in (first, second):
        assert name.startswith("mo_hopper_v5_") and name.replace("_", "").isalnum()
    assert short("gym:Hopper-v5") == "Hopper_v5" and short("gym:Hopper-v4") == "Hopper_v4"
    assert short("my_package:make_env") == "my_package_make_env"
    assert short("SafetyPointGoal1-v0") == "PointGoal1"


def test_what_is_an_environment_by_its_name():
    assert is_environment("gym:X-v0") and is_environment("a:b?length=3")
    assert not is_environment("a:b") and not is_environment("SafetyPointGoal1-v0")
