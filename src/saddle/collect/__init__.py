"""Rollouts of a population: on the device, as a scan over a JAX task, or on the host, as a loop
over its worlds.

Axes: T steps, M members, W worlds per member. Physics sees one flat batch of M * W worlds; networks
and statistics are vmapped over members. A member's random numbers come from its own key alone.
"""
