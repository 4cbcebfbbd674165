"""XLA's flags for tests: compiling is most of what they do, and code that is cheaper to make saves
half of that and loses no speed.

It rounds in other places, and a gradient by automatic differentiation came out wrong with it
(`tests/learners/test_clip.py`; why was not found). Such tests, and those that two programs agree to
the last bit, are marked `generated`, and run with what users' programs are made of.
"""

import os
from importlib import metadata

FLAGS: list[str] = []
if os.environ.get("SADDLE_TEST_CODE") != "users":
    FLAGS.append("--xla_backend_optimization_level=1")
    if metadata.version("jaxlib").startswith("0.10."):
        FLAGS.append("--xla_cpu_use_fusion_emitters=false")  # newer versions refuse it
