"""XLA's flags for tests: compiling is most of what they do.

With SADDLE_TEST_CODE=cheap, which `make test` sets for most of them, code is another third cheaper
to make. It is also wrong in places: beside a minibatch of PPO, in the same program, the gradient of
a sum of the actor's outputs is off by 10 % or more. A test that holds numbers against a reference
fails where that happens: those that do, and those in which two programs agree to the last bit, are
marked `exact` and run without.
"""

import os
from importlib import metadata

FLAGS = ["--xla_backend_optimization_level=1"]
if os.environ.get("SADDLE_TEST_CODE") == "cheap" and metadata.version("jaxlib").startswith("0.10."):
    FLAGS.append("--xla_cpu_use_fusion_emitters=false")  # newer versions refuse it
