"""Settings of the whole suite."""

from pathlib import Path

import jax
from hypothesis import settings

# A first example compiles, which takes longer than any deadline worth having.
settings.register_profile("saddle", deadline=None)
settings.load_profile("saddle")

# A contact world takes seconds to compile: workers, and later runs, share what any of them has compiled.
jax.config.update("jax_compilation_cache_dir", str(Path(__file__).parent.parent / ".pytest_cache" / "xla"))
jax.config.update("jax_persistent_cache_min_compile_time_secs", 2.0)
