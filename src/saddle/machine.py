"""The cores of this machine that a process may use. Without JAX, which is told of them before it
looks.
"""

import contextlib
import os
import sys

from saddle.errors import SaddleError, first_line
from saddle.words import counted

VARIABLE = "SADDLE_CORES"
PLATFORMS = "JAX_PLATFORMS"
JAX_VARIABLE = "JAX_NUM_CPU_DEVICES"


def cores() -> int:
    """How many there are for this process, which in a container or under taskset is fewer than the
    machine has.
    """
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def cores_to_use() -> int:
    """As many as SADDLE_CORES says, or all of them."""
    value = os.environ.get(VARIABLE)
    if value is None:
        return cores()
    if not value.isascii() or not value.isdecimal() or int(value) < 1:
        raise SaddleError(
            f"{VARIABLE} is {value!r}; set it to a whole number of cores, 1 or more, or unset it "
            f"to use all"
        )
    most = os.cpu_count() or 1
    if int(value) > most:
        raise SaddleError(f"{VARIABLE} is {value}, and this machine has {counted(most, 'core')}")
    return int(value)


def check_device() -> None:
    """JAX has a device to compute on."""
    import jax

    try:
        jax.devices()
    except (RuntimeError, AssertionError) as error:
        asked = os.environ.get(PLATFORMS)
        why = f"none of {PLATFORMS}={asked}" if asked else first_line(error)
        raise SaddleError(
            f"JAX finds no device to compute on ({why}); set {PLATFORMS} to cpu, or unset it"
        ) from None


def show_cores_to_jax() -> None:
    """Have JAX see every core as a device, over which populations spread their members.

    Where JAX has looked already, or was told something else, that stays.
    """
    if JAX_VARIABLE in os.environ or "xla_force_host_platform" in os.environ.get("XLA_FLAGS", ""):
        return
    count = cores_to_use()
    if "jax" not in sys.modules:
        os.environ[JAX_VARIABLE] = str(count)
        return
    with contextlib.suppress(RuntimeError):  # it has looked
        sys.modules["jax"].config.update("jax_num_cpu_devices", count)
