"""Soft actor-critic with a Lagrange multiplier.

To read it from steps to metrics: `settings.py`, `learner.py` (a cycle), `replay.py` (what is
learned from), `update.py` (one update), which is made of `critics.py` and `actor.py`; `networks.py`
(what is updated), `draws.py` (its random numbers), and `learners/scale.py` (reward-scale
invariance).
"""
