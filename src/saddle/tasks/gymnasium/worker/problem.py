"""What a person can get wrong about an environment."""

from __future__ import annotations


class Problem(Exception):
    """One line that says what is wrong with the environment, and what to do."""
