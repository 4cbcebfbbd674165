"""Settings of the whole suite."""

import os
from pathlib import Path

import cheap_code

# These have to be asked for before JAX is there.
os.environ["XLA_FLAGS"] = " ".join([os.environ.get("XLA_FLAGS", ""), *cheap_code.FLAGS]).strip()

# On one core, which compiles faster, but for tests of several.
os.environ.setdefault("JAX_NUM_CPU_DEVICES", "1")

import jax
import pytest
import shapes
from hypothesis import settings

shapes.install()

# A first example compiles, which takes longer than any deadline worth having. The same examples
# each time, so that what fails is what was changed.
settings.register_profile("saddle", deadline=None, derandomize=True)
settings.load_profile("saddle")

# Workers, and later runs, share what any of them has compiled.
jax.config.update(
    "jax_compilation_cache_dir", str(Path(__file__).parent.parent / ".pytest_cache" / "xla")
)
jax.config.update("jax_persistent_cache_min_compile_time_secs", 2.0)

# Files whose programs run for longer than they take to compile.
RUN_LONG = ("test_cmdp", "test_sac_cmdp", "test_frontier", "test_distribution")


@pytest.fixture(autouse=True, scope="module")
def optimisation(request):
    """The other files' programs are compiled with next to none, which takes a fifth less of the
    processor.
    """
    jax.config.update("jax_disable_most_optimizations", request.path.stem not in RUN_LONG)


SLOW = (
    "test_distribution",
    "test_env_step",
    "test_substep",
    "test_gym",
    "test_cmdp",
    "test_device_paths",
    "test_mjx",
)
SLOW += (
    "test_collect",
    "test_population",
    "test_compiler",
    "test_ray",
    "test_frontier",
    "test_multipliers",
)
SLOW += (
    "test_evaluate",
    "test_estimate",
    "test_train",
    "test_bench",
    "test_own_tasks",
    "test_outside",
)
SLOW += ("test_gpu_backend", "test_passes", "test_sac", "test_examples")


def pytest_collection_modifyitems(items):
    """Slow files first: with a file per worker, one that begins last would keep the others
    waiting.
    """
    items.sort(key=lambda item: not item.path.stem.startswith(SLOW))
