"""Soft contacts between the robot and free bodies, for many worlds at once.

Everything here works component by component on arrays whose LAST axis runs over worlds, with
contacts and bodies on the axes before it: each line is one fused, vectorised loop on the CPU and on
a GPU, and there is not one small matrix product for a compiler to trip over.
"""
