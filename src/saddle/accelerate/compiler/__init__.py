"""One kernel from a JAX function: a world per thread, or one world after the other.

`scalars` takes the function's jaxpr apart into operations on single numbers, by the `rules` for
each primitive and as long as its `parameters` are understood; what is `known` in advance is
computed at once, and calls, loops and branches become `blocks`. `ptx` and `llvm` write all that
down. `rolled` tells code that it is being traced for this.
"""
