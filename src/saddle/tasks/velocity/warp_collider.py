"""The floor-capsule contact for Warp, with MuJoCo C's friction directions; `colliders` says why.
Needs Warp.
"""

import warp as wp  # type: ignore[import-not-found]
from mujoco.mjx.third_party.mujoco_warp._src.collision_primitive_core import mat23f, plane_sphere


@wp.func
def plane_capsule(  # noqa: ANN201 (Warp finds out)
    plane_normal: wp.vec3,
    plane_pos: wp.vec3,
    capsule_pos: wp.vec3,
    capsule_axis: wp.vec3,
    capsule_radius: float,
    capsule_half_length: float,
):
    """Distances and positions of both ends, and the frame that they share."""
    n = plane_normal
    along = capsule_axis - n * wp.dot(n, capsule_axis)
    length = wp.length(along)
    b = wp.vec3(1.0, 0.0, 0.0)
    if length >= 1.0e-15:
        b = along / length
    c = wp.cross(n, b)
    reach = capsule_axis * capsule_half_length
    dist0, pos0 = plane_sphere(n, plane_pos, capsule_pos + reach, capsule_radius)
    dist1, pos1 = plane_sphere(n, plane_pos, capsule_pos - reach, capsule_radius)
    frame = wp.mat33(n[0], n[1], n[2], b[0], b[1], b[2], c[0], c[1], c[2])
    places = mat23f(pos0[0], pos0[1], pos0[2], pos1[0], pos1[1], pos1[2])
    return wp.vec2(dist0, dist1), places, frame
