"""Hand-written kernels, and the one gate to them.

`switch` reads SADDLE_KERNELS, `probe` finds out whether this machine runs kernels, and `gate` is
what every kernel asks. Each kernel has a plain twin in JAX that runs where the gate says no.

`compiler` makes kernels from JAX functions, which `cpu_kernel` and `gpu_kernel` run inside an XLA
program: on a CPU through XLA's foreign function interface (`xla_ffi`), on a GPU through its call
for PTX (`ptx_launch`). `triton` is where Pallas' back end for Triton comes from.
"""
