"""The tasks that come with Saddle, the published ones first, in their order: names and specs. JAX
and MuJoCo wait until one is made.
"""

from collections.abc import Callable
from typing import Any

from saddle.tasks.point import specs
from saddle.tasks.registry import add_ours
from saddle.tasks.spec import TaskSpec
from saddle.tasks.velocity.bodies import BODIES

POINT = {
    specs.CIRCLE: "saddle.tasks.point.circle:Circle",
    specs.GOAL: "saddle.tasks.point.goal:Goal",
    specs.BUTTON: "saddle.tasks.point.button:Button",
    specs.PUSH: "saddle.tasks.point.push:Push",
}
UNPUBLISHED = {specs.GOAL_TWO_COSTS: "saddle.tasks.point.goal_two_costs:GoalTwoCosts"}
SPECS: dict[str, TaskSpec] = {
    spec.name: spec for spec in (*POINT, *(body.spec for body in BODIES.values()), *UNPUBLISHED)
}


def _on_an_engine(name: str) -> Callable[..., Any]:
    """What makes the velocity task of that name."""

    def make(**options: Any) -> Any:
        from saddle.tasks.velocity import engines

        return engines.make(name, **options)

    return make


for _spec, _class in POINT.items():
    add_ours(_spec, _class)
for _name, _body in BODIES.items():
    add_ours(_body.spec, _on_an_engine(_name))
for _spec, _class in UNPUBLISHED.items():
    add_ours(_spec, _class)
