"""One GPU kernel from a JAX function: a world per thread.

`scalars` takes the function's jaxpr apart into operations on single numbers, `ptx` writes them down, and `call` runs
the result inside an XLA program. `rolled` tells code that it is being traced for this.
"""
