"""The switch: SADDLE_KERNELS says whether hand-written kernels may run. It is read here and nowhere
else.
"""

import os

from saddle.errors import SaddleError

VARIABLE = "SADDLE_KERNELS"
AUTO = "auto"
OFF = "off"


def is_off() -> bool:
    """Whether the plain code is to run even where kernels would work."""
    value = os.environ.get(VARIABLE, AUTO)
    if value not in (AUTO, OFF):
        raise SaddleError(
            f"{VARIABLE} is {value!r}; set it to {AUTO} (kernels where they work) or {OFF} (plain "
            f"JAX everywhere)"
        )
    return value == OFF
