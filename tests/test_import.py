"""What `import saddle` gives, and what it does not load."""

import subprocess
import sys

import pytest

import saddle


def test_dir_shows_the_public_names_alone():
    shown = [name for name in dir(saddle) if not name.startswith("__")]
    assert shown == sorted(saddle.__all__)
    wanted = {
        "make",
        "register",
        "train",
        "open_study",
        "analyze",
        "evaluate",
        "load_policy",
        "PPO",
        "GradientAscent",
    }
    assert wanted <= set(shown)
    for name in shown:
        assert getattr(saddle, name) is not None
    with pytest.raises(AttributeError, match="module 'saddle' has no attribute 'nothing'"):
        _ = saddle.nothing


def test_tasks_are_loaded_when_they_are_used():
    code = (
        "import sys, saddle; before = {'jax', 'numpy', 'gymnasium'} & set(sys.modules); "
        "made = saddle.tasks.make('SafetyPointButton1-v0', timer_at_reset=10); "
        "sys.exit(bool(before) or made.spec.name != 'SafetyPointButton1-v0')"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
