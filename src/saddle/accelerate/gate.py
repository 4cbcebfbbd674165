"""The gate: may a kernel run here? Every kernel asks this and nothing else, and runs its plain twin
where it may not.

There are three kinds of kernels, by what they are written in. A kind may run where SADDLE_KERNELS
leaves it to the machine, JAX runs on the kind's backend, and the kind's probe came out right, which
is tried once a process. A single kernel that then does not compile runs as its plain twin as well.
Whoever did not ask for that is told once, in one warning that says why.
"""

import warnings
from collections.abc import Callable, Collection
from functools import cache
from typing import Any, Literal, NamedTuple, TypeVar

import jax

from saddle.accelerate import probe, switch
from saddle.accelerate.probe import Kind
from saddle.accelerate.untraced import untraced
from saddle.errors import first_line

X = TypeVar("X")

BACKENDS: dict[Kind, str] = {
    "llvm": "cpu",
    "ptx": "gpu",
    "triton": "gpu",
}  # of JAX, that each kind runs on


class Answer(NamedTuple):
    """Whether kernels of a kind may run, and if not, why."""

    allowed: bool
    by: Literal["", "switch", "backend", "probe"] = ""  # what said no
    why: str = ""  # in one line


def kinds() -> list[Kind]:
    """The kinds of kernels that there are for the backend that JAX runs on."""
    here = jax.default_backend()
    return [kind for kind, backend in BACKENDS.items() if backend == here]


def answer(kind: Kind) -> Answer:
    """Whether kernels of this kind may run, without a word to anybody."""
    if switch.is_off():
        return Answer(False, "switch", f"{switch.VARIABLE}={switch.OFF}")
    here = jax.default_backend()
    if BACKENDS[kind] != here:
        return Answer(
            False, "backend", f"they are for JAX on a {BACKENDS[kind]}, and this is a {here}"
        )
    fault = _fault(kind)
    return Answer(True) if fault is None else Answer(False, "probe", fault)


def allows(kind: Kind, capabilities: Collection[str] | None = None) -> bool:
    """Whether kernels of this kind may run; a machine that cannot run them is warned about once.

    capabilities: where given, the compute capabilities of the GPUs that the kernel is made for.
    """
    found = answer(kind)
    if found.by == "probe":
        _warn(f"no {kind} kernels, everything that has one runs many times slower: {found.why}")
    return found.allowed and (capabilities is None or _capability() in capabilities)


def attempt(kind: Kind, name: str, kernel: Callable[[], X], plain: Callable[[], X]) -> X:
    """What `kernel` gives where its kind may run and it compiles, else what `plain` gives."""
    if not allows(kind):
        return plain()
    try:
        return kernel()
    except (
        Exception
    ) as error:  # whatever breaks, a rule of ours, LLVM or XLA, the plain twin is right
        _warn_of_kernel(name, error)
        return plain()


def works(name: str, trial: Callable[[], Any]) -> bool:
    """Whether a kernel compiles and runs. `trial` runs it on arrays of its own; ask once and
    remember the answer.

    XLA compiles a program long after it was traced, when it is too late to choose the plain twin.
    So the trial is a program of its own, which runs at once even while another one is traced.
    """
    try:
        jax.block_until_ready(untraced(trial))
    except Exception as error:
        _warn_of_kernel(name, error)
        return False
    return True


def forget() -> None:
    """Probe again at the next question, and warn again."""
    _fault.cache_clear()
    _warned.clear()


_fault = cache(probe.fault)
_warned: set[str] = set()


def _warn(message: str) -> None:
    if message not in _warned:
        _warned.add(message)
        warnings.warn(message, stacklevel=3)


def _warn_of_kernel(name: str, error: Exception) -> None:
    _warn(f"{name} runs without its kernel, many times slower: {first_line(error)}")


def _capability() -> str:
    """Of the GPU, as NVIDIA numbers them; empty where there is none."""
    return str(getattr(jax.devices()[0], "compute_capability", ""))
