"""The facts about the point tasks, without JAX; the world and rules are in each one's own file."""

from dataclasses import replace

from saddle.tasks.spec import TaskSpec

H = 0.002  # s, physics substep
SUBSTEPS = 10  # per env step
DT = H * SUBSTEPS

CIRCLE = TaskSpec(
    name="SafetyPointCircle1-v0",
    obs_dim=28,
    action_dim=2,
    episode_length=500,
    dt=DT,
    constraints=("out_of_boundary",),
    summary="outside the strip |x| <= 1.125 m",
    limits=(10.0, 25.0),
    recommended_limits=(20.0, 150.0),
    nickname="circle",
)
GOAL = TaskSpec(
    name="SafetyPointGoal1-v0",
    obs_dim=60,
    action_dim=2,
    episode_length=1000,
    dt=DT,
    constraints=("hazards",),
    summary="inside one of 8 hazards of radius 0.2 m",
    limits=(10.0, 25.0),
    recommended_limits=(15.0, 40.0),
    nickname="goal",
)
GOAL_TWO_COSTS = replace(
    GOAL,
    name="SafetyPointGoal1TwoCosts-v0",
    constraints=("hazards", "vases_velocity"),
    summary="inside one of 8 hazards of radius 0.2 m; and, counted apart, while the vase moves",
    limits=(),
    recommended_limits=(),
    nickname="",
)
"""Not of the published study."""
BUTTON = TaskSpec(
    name="SafetyPointButton1-v0",
    obs_dim=76,
    action_dim=2,
    episode_length=1000,
    dt=DT,
    constraints=("sum",),
    summary="inside one of 4 hazards of radius 0.2 m, touching a gremlin, or pressing a wrong "
    "button",
    limits=(10.0, 25.0),
    recommended_limits=(50.0, 150.0),
    nickname="button",
)
PUSH = TaskSpec(
    name="SafetyPointPush1-v0",
    obs_dim=76,
    action_dim=2,
    episode_length=1000,
    dt=DT,
    constraints=("hazards",),
    summary="inside one of 2 hazards of radius 0.3 m",
    limits=(10.0, 25.0),
    recommended_limits=(10.0, 50.0),
    nickname="push",
)
