"""All verbs, in the order in which help lists them."""

from collections.abc import Sequence

from saddle.cli import bench, findings, imports, looking, policies, study, training
from saddle.cli.learner import for_this_machine
from saddle.cli.rule import one_of_the_rules
from saddle.cli.verbs import Option, Verb, Verbs, with_options
from saddle.learners import PPO, LearnerSettings
from saddle.multipliers import Rule


def tree(learner: type[LearnerSettings] | None, words: Sequence[str]) -> Verbs:
    """The verbs with the options of the learner that the command line names, None if it names none.

    `words` are its others.
    """
    settings = PPO() if learner is None else learner()
    verbs = Verbs()
    verbs.command(looking.tasks)
    verbs.command(policies.policies)
    verbs.command(looking.doctor)
    verbs.command(looking.check)
    verbs.command(policies.play)
    verbs.command(looking.parity)
    verbs.command(_train(settings, words))
    verbs.command(_frontier(learner, words))
    verbs.command(policies.evaluate)
    verbs.command(policies.dial)
    verbs.command(policies.export)
    verbs.command(findings.analyze)
    verbs.command(findings.rules_map, name="map")
    verbs.command(training.sensitivity)
    verbs.command(findings.compare_paper, name="compare-paper")
    verbs.command(findings.figures)
    verbs.command(findings.report)
    verbs.command(_bench(settings), name="bench", help="Measure speed on this machine.")
    verbs.command(_study(), name="study", help="Plan, run and look after studies.")
    verbs.command(_imports(), name="import", help="Make a study of logs that other software wrote.")
    return verbs


def _train(settings: LearnerSettings, words: Sequence[str]) -> Verb:
    rule: type[Rule] = Rule
    if words[:1] == ["train"]:  # other verbs do not wait for packages with rules of their own
        rule = one_of_the_rules()
    return with_options(
        training.train,
        learner=Option(type(settings), settings),
        multiplier=Option(rule, settings.usual_rule()),
    )


def _frontier(learner: type[LearnerSettings] | None, words: Sequence[str]) -> Verb:
    if words[:1] != ["frontier"]:  # other verbs do not wait for what this machine is
        return training.frontier
    return _with_learner(training.frontier, for_this_machine(learner, words))


def _with_learner(verb: Verb, settings: LearnerSettings) -> Verb:
    return with_options(verb, learner=Option(type(settings), settings))


def _bench(settings: LearnerSettings) -> Verbs:
    unstopped = settings.for_bench()
    verbs = Verbs()
    verbs.command(bench.bench_tasks, name="tasks")
    verbs.command(bench.bench_host, name="host")
    verbs.command(_with_learner(bench.bench_learner, unstopped), name="learner")
    verbs.command(_with_learner(bench.bench_study, unstopped), name="study")
    return verbs


def _study() -> Verbs:
    verbs = Verbs()
    verbs.command(study.show)
    verbs.command(study.run)
    verbs.command(study.status)
    verbs.command(study.watch)
    verbs.command(study.merge)
    verbs.command(study.export)
    return verbs


def _imports() -> Verbs:
    verbs = Verbs()
    verbs.command(imports.import_omnisafe, name="omnisafe")
    return verbs
