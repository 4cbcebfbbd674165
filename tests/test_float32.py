"""What JAX is set to by a program or its surroundings, and what Saddle makes of it."""

import jax
import pytest

import saddle
from saddle.accelerate.untraced import untraced
from saddle.errors import SaddleError

TASK = "learners.toys:Bandit"
SMALL = saddle.PPO(steps_per_epoch=100, worlds=1, hidden=(4,), passes=1, batch=50)


def trained(out):
    return saddle.train(TASK, out, limits=0.25, steps=200, learner=SMALL)


def test_a_training_is_the_same_where_jax_is_set_to_64_bits(tmp_path):
    plain = trained(tmp_path / "plain")
    scores = saddle.evaluate(plain, episodes=2)
    with jax.enable_x64(True):
        study = trained(tmp_path / "s")
        assert saddle.evaluate(plain, episodes=2) == scores
        assert jax.numpy.zeros(1).dtype == "float64", "the program keeps its own"
    assert study.runs["status"].to_list() == ["done"]
    assert study.metrics.equals(plain.metrics, null_equal=True)


def test_what_is_not_traced_has_the_precision_of_what_is():
    for precise in (False, True):
        with jax.enable_x64(precise):
            made = untraced(lambda: jax.numpy.zeros(1))
            assert made.dtype == ("float64" if precise else "float32")


@pytest.mark.parametrize("error", [RuntimeError("Unable to initialize backend"), AssertionError()])
def test_a_platform_that_is_not_there_is_one_line(tmp_path, monkeypatch, error):
    def devices():
        raise error

    monkeypatch.setenv("JAX_PLATFORMS", "abacus")
    monkeypatch.setattr(jax, "devices", devices)
    with pytest.raises(SaddleError, match=r"no device .* .none of JAX_PLATFORMS=abacus.; set"):
        trained(tmp_path / "s")
    assert not (tmp_path / "s").exists()
