"""Small studies for the tests."""

from fake import FakeProgram

from saddle.learners import PPO
from saddle.multipliers import GradientAscent
from saddle.study import grow
from saddle.study.local import Worker
from saddle.study.plan import Chunking, Plan, Stage
from saddle.study.prepare import prepare
from saddle.study.program import Factory
from saddle.study.stop import Stopper
from saddle.study.sweep import open_sweep, sweep_of

TASK = "SafetyPointCircle1-v0"


class Notes:
    """A listener that remembers."""

    def __init__(self):
        self.said, self.epochs = [], []

    def epoch(self, done):
        self.epochs.append((done.unit, done.epoch))

    def say(self, text):
        self.said.append(text)


def small(epochs=12, chunk=4, tasks=(TASK,), seeds=(0, 1), members=5, **fields):
    """Sweep of three lambdas, and gradient ascent and lambda* at two limits: 14 runs at two
    seeds.
    """
    stages = (
        Stage("sweep", lambdas=(0.1, 1.0, 10.0)),
        Stage("compare", rules=(GradientAscent(),), lambda_star="sweep", limits=((10.0,), (25.0,))),
    )
    return Plan(
        name="small",
        tasks=tasks,
        seeds=seeds,
        steps=epochs * 100,
        learner=fields.pop("learner", PPO(steps_per_epoch=100, worlds=1)),
        stages=fields.pop("stages", stages),
        chunk=Chunking(epochs=chunk, share=1e9),
        members=members,
        **fields,
    )


class After(Stopper):
    """Stops when it was asked that often."""

    def __init__(self, questions):
        super().__init__()
        self.left_over = questions

    def before(self, seconds):
        self.left_over -= 1
        return self.left_over < 0


def work(plan, out, resume=False, stop=None, sweep=None, make: Factory = FakeProgram, lease=60.0):
    """Run a study in this process; returns it and what was said."""
    notes = Notes()
    given = sweep.path if sweep else None
    study = prepare(plan, out, resume, given)
    source = open_sweep(sweep_of(study, given))
    Worker(study, make, plan.chunk, notes, stop or Stopper(), source, lease).work()
    return study, notes


def killed_after(written, patch):
    """Let a process that adds runs be killed when it has written so many units."""
    write = grow.write_runs
    left = iter(range(written))

    def write_some(*arguments):
        if next(left, None) is None:
            raise KeyboardInterrupt
        write(*arguments)

    patch.setattr(grow, "write_runs", write_some)
