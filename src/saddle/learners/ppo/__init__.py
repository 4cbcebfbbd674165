"""Proximal policy optimisation with a Lagrange multiplier.

To read it from a rollout to metrics: `settings.py`, `learner.py` (an epoch), `advantages.py`,
`passes.py` (an epoch's passes over its samples), `minibatch.py` (one gradient step), and
`learners/scale.py` (reward-scale invariance).
"""
