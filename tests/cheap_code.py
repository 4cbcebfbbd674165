"""XLA's flags for tests: compiling is most of what they do, and code that is cheaper to make saves
more than half of that and loses no speed.
"""

from importlib import metadata

FLAGS = ["--xla_backend_optimization_level=1"]
if metadata.version("jaxlib").startswith("0.10."):
    # Newer versions refuse it, so that 'make newest' runs what users' programs are made of.
    FLAGS.append("--xla_cpu_use_fusion_emitters=false")
