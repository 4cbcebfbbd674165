"""An environment of Gymnasium with a cost of one's own: a pendulum that shall not spin fast.

    python examples/own_gymnasium_task.py --out pendulum

trains a policy with gradient ascent of the multiplier (two minutes on two cores), plays it, and
says how often its episodes keep the limit.
"""

import argparse

import gymnasium

import saddle

LIMIT = 20


def make_env():
    """Any function that makes an environment will do."""
    return gymnasium.make("Pendulum-v1")


def too_fast(obs, action, reward, info):
    """What a step costs: 1 where the pendulum turns by more than 4 rad/s."""
    return float(abs(obs[2]) > 4)


def main(arguments=None):
    """Train and evaluate."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", default="pendulum")
    parser.add_argument("--quick", action="store_true", help="seconds, to see that it runs")
    options = parser.parse_args(arguments)

    saddle.register("CalmPendulum", saddle.Environment(make_env, cost=too_fast))
    study = saddle.train(
        "CalmPendulum",
        options.out,
        rule=saddle.GradientAscent(lr=0.05),
        limits=(LIMIT,),
        steps=4000 if options.quick else 400_000,
        learner=saddle.PPO(steps_per_epoch=4000, hidden=(64, 64), passes=8, batch=500),
        progress=True,
    )
    for score in saddle.evaluate(study.path, episodes=5 if options.quick else 50):
        print(
            f"{score.mode}: return {score.return_mean:.1f}, cost {score.cost_mean:.1f}, "
            f"{score.violating:.0%} of episodes above {LIMIT}"
        )


if __name__ == "__main__":
    main()
