"""One policy for every multiplier: PPO whose networks take lambda as an input.

`settings.py` has its settings, `strata.py` how multipliers are drawn, and `learner.py` an epoch.
"""
