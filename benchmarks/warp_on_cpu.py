"""Parity of MuJoCo Warp's own kernels, run on the CPU: for machines without a CUDA GPU, where MJX cannot call them.

    pip install warp-lang==1.18.0
    python benchmarks/warp_on_cpu.py [TASK ...]

Steps the reference rows through `mujoco_warp` directly, with our floor-capsule contact, and judges them as
`saddle parity --engine mjx-warp` does. Also counts the kernels that an env step launches. The first run compiles for
about two minutes per task.
"""

import sys

import numpy as np
import warp as wp  # type: ignore[import-not-found]
from mujoco.mjx.third_party import mujoco_warp

from saddle.console import console
from saddle.parity import report, velocity
from saddle.parity.golden import Golden, load
from saddle.tasks.velocity import colliders, models
from saddle.tasks.velocity.bodies import BODIES
from saddle.tasks.velocity.body import settle
from saddle.tasks.velocity.steppers import TORSO, most_contacts


def step(golden: Golden) -> tuple[velocity.Outcome, int]:
    """One env step of every row in float32, and the number of kernels launched for it."""
    body = BODIES[golden.task]
    native = models.compiled(body.model())
    native.opt.disableflags = 0
    contacts, rows = most_contacts(body)
    k = body.travels
    start = golden["qpos"].astype(np.float32)
    start[:, :k] = 0
    launched = 0
    launch = wp.launch

    def counted(*args, **options):
        nonlocal launched
        launched += 1
        return launch(*args, **options)

    with wp.ScopedDevice("cpu"):
        model = mujoco_warp.put_model(native)
        sizes = {"naconmax": golden.rows * contacts, "njmax": rows}
        data = mujoco_warp.make_data(native, nworld=golden.rows, **sizes)
        put = lambda to, values: wp.copy(to, wp.array(np.asarray(values, np.float32), dtype=float))
        put(data.qpos, start)
        put(data.qvel, golden["qvel"])
        put(data.ctrl, np.clip(golden["action"], -1, 1))
        wp.launch = counted
        for _ in range(body.substeps):
            mujoco_warp.step(model, data)
        wp.launch = launch
        qpos, qvel, xpos = data.qpos.numpy(), data.qvel.numpy(), data.xpos.numpy()
    seen = xpos[:, TORSO, :k] if body.free else qpos[:, :k]
    lag = (golden["xpos_torso"] - golden["qpos"][:, :3])[:, :k] if body.free else 0
    speed = (seen - lag) / body.spec.dt
    qpos = np.concatenate([qpos[:, :k] + golden["qpos"][:, :k], qpos[:, k:]], axis=1)
    ruled = settle(body, qpos, qvel, speed, golden["action"], np)
    truncated = golden["step"] + 1 >= body.spec.episode_length
    flags = (ruled.terminated, truncated)
    return velocity.Outcome(qpos, qvel, speed, ruled.obs, ruled.reward, ruled.cost, *flags), launched


def main() -> int:
    colliders.in_warp()
    passed = True
    for golden in load(None, tuple(sys.argv[1:]) or tuple(BODIES)):
        out, launched = step(golden)
        found = velocity.report(golden, out, "mujoco_warp on the CPU", "float32")
        report.print_tables([found], console())
        print(f"{golden.task}: {launched} kernels launched for an env step", flush=True)
        passed &= found.passed
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
