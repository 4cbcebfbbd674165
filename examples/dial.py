"""One policy for any limit: a dial that is set without training.

    python examples/dial.py --out circle

trains one policy that takes the multiplier as an input (a minute on two cores), finds where to set
it for three limits, and plays it as a Gymnasium environment at the last of them.
"""

import argparse

import gymnasium

import saddle

TASK = "SafetyPointCircle1-v0"


def main(arguments=None):
    """Train, set the dial, play."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", default="circle")
    parser.add_argument("--quick", action="store_true", help="seconds, to see that it runs")
    options = parser.parse_args(arguments)

    if options.quick:
        small = saddle.Conditioned(steps_per_epoch=2000, hidden=(16, 16), passes=1, batch=500)
        study = saddle.frontier(TASK, options.out, seeds=1, steps=4000, learner=small)
    else:  # sized for this machine
        study = saddle.frontier(TASK, options.out, seeds=1, progress=True)
    episodes = 10 if options.quick else 100
    settings = saddle.dial(study.path, limits=(10, 25, 50), episodes=episodes)
    for found in settings:
        print(
            f"limit {found.limits[0]:g}: {found.verdict}, lambda {found.multipliers[0]:.3g}, "
            f"return {found.returns.value:.1f}, cost {found.costs[0].value:.1f}"
        )

    policy = study.policy(settings[-1].run, multiplier=settings[-1].multipliers)
    env = gymnasium.make(f"saddle/{TASK}")
    obs, _ = env.reset(seed=0)
    earned = paid = 0.0
    ended = False
    while not ended:
        obs, reward, terminated, truncated, info = env.step(policy(obs))
        earned += float(reward)
        paid += info["cost"]
        ended = terminated or truncated
    print(f"an episode at the limit 50: return {earned:.1f}, cost {paid:g}")


if __name__ == "__main__":
    main()
