"""The four bodies by the names of their tasks, in the published order."""

from saddle.tasks.velocity.ant import ANT
from saddle.tasks.velocity.body import Body
from saddle.tasks.velocity.half_cheetah import HALF_CHEETAH
from saddle.tasks.velocity.hopper import HOPPER
from saddle.tasks.velocity.walker2d import WALKER2D

BODIES: dict[str, Body] = {body.spec.name: body for body in (HOPPER, WALKER2D, HALF_CHEETAH, ANT)}
