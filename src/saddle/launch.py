"""Kernels that are given as PTX, called from JAX."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array
from jax.custom_batching import custom_vmap

TARGET = "__gpu$xla.gpu.ptx"  # XLA's custom call for a kernel given as PTX


def launch(name: str, text: str, grid: tuple[int, int, int], threads: int, results: Any) -> Callable[..., Any]:
    """The kernel as a function of arrays, whose pointers come before those of the results (shapes)."""
    x, y, z = grid
    config = (
        f'{{name = "{name}", kernel_type = "ptx", kernel_data = "{text}", '
        f"grid_x = {x}, grid_y = {y}, grid_z = {z}, block_x = {threads}, block_y = 1, block_z = 1, "
        "shared_mem_bytes = 0}"
    )
    return jax.ffi.ffi_call(
        TARGET, results, custom_call_api_version=1, legacy_backend_config=config.replace("\n", "\\n")
    )


def of_members(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """For one member what `kernel` is for M of them, arrays [M, ...] in and out; `jax.vmap` adds the members."""
    every = custom_vmap(kernel)

    @every.def_vmap
    def _rule(size: int, batched, *args):  # noqa: ANN001, ANN002, ANN202
        full = [v if of else jnp.broadcast_to(v, (size, *v.shape)) for v, of in zip(args, batched, strict=True)]
        out = every(*(v.reshape(-1, *v.shape[2:]) for v in full))
        split = jax.tree.map(lambda v: v.reshape(size, -1, *v.shape[1:]), out)
        return split, jax.tree.map(lambda _: True, split)

    return lambda *args: jax.tree.map(lambda v: v[0], every(*(v[None] for v in args)))


def entry(name: str, arrays: int) -> list[str]:
    """How a kernel's text begins; its arrays are at0, at1, ..."""
    pointers = ", ".join(f".param .u64 at{k}" for k in range(arrays))
    return [".version 7.0", ".target sm_80", ".address_size 64", f".visible .entry {name}({pointers})", "{"]


def at(target: str, pointer: int, index: str, each: int) -> list[str]:
    """Instructions for the address of item `index` (a register) of so many bytes each; uses %far."""
    far = f"mul.wide.u32 %far, {index}, {each}"
    return [f"ld.param.u64 {target}, [at{pointer}]", far, f"add.u64 {target}, {target}, %far"]


def finished(head: list[str], lines: list[str]) -> str:
    """The text of a kernel: lines as they stand, then instructions and labels."""
    return "\n".join([*head, *(line if line.endswith(":") else f"{line};" for line in lines), "}", ""])


def half_name(x: Array) -> str:
    """Of a 16-bit type in PTX."""
    return "bf16" if x.dtype == jnp.bfloat16 else "f16"
