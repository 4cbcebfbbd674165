"""Kernels that are given as PTX, called from JAX."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

TARGET = "__gpu$xla.gpu.ptx"  # XLA's custom call for a kernel given as PTX


def launch(
    name: str, text: str, grid: tuple[int, int, int], threads: int, results: Any
) -> Callable[..., Any]:
    """The kernel as a function of arrays, whose pointers come before those of the results
    (shapes).
    """
    x, y, z = grid
    config = (
        f'{{name = "{name}", kernel_type = "ptx", kernel_data = "{text}", '
        f"grid_x = {x}, grid_y = {y}, grid_z = {z}, block_x = {threads}, block_y = 1, block_z = 1, "
        "shared_mem_bytes = 0}"
    )
    return jax.ffi.ffi_call(
        TARGET,
        results,
        custom_call_api_version=1,
        legacy_backend_config=config.replace("\n", "\\n"),
    )


def entry(name: str, arrays: int, registers: int | None = None) -> list[str]:
    """How a kernel's text begins; its arrays are at0, at1, ... registers: how many a thread may
    have at most.
    """
    pointers = ", ".join(f".param .u64 at{k}" for k in range(arrays))
    head = [
        ".version 7.0",
        ".target sm_80",
        ".address_size 64",
        f".visible .entry {name}({pointers})",
    ]
    return [*head, *([] if registers is None else [f".maxnreg {registers}"]), "{"]


def at(target: str, pointer: int, index: str, each: int) -> list[str]:
    """Instructions for the address of item `index` (a register) of so many bytes each; uses
    %far.
    """
    far = f"mul.wide.u32 %far, {index}, {each}"
    return [f"ld.param.u64 {target}, [at{pointer}]", far, f"add.u64 {target}, {target}, %far"]


def finished(head: list[str], lines: list[str]) -> str:
    """The text of a kernel: lines as they stand, then instructions and labels."""
    return "\n".join(
        [*head, *(line if line.endswith(":") else f"{line};" for line in lines), "}", ""]
    )


def half_name(x: Array) -> str:
    """Of a 16-bit type in PTX."""
    return "bf16" if x.dtype == jnp.bfloat16 else "f16"
