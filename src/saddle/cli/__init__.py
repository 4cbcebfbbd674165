"""The command `saddle`: the verbs' names, options and help, no logic.

`main` is the command. `tree.py` has the verbs in the order of help; their functions stand with
their options in `looking.py`, `policies.py`, `training.py`, `findings.py`, `bench.py`, `study.py`
and `imports.py`, whose files share the types of `options.py`, `environment.py` and `seeds.py`.
`learner.py` and `rule.py` are the options that choose further options, `verbs.py` is what the
parser is given, and `parse.py` and `mistakes.py` what becomes of a command line.

Everything heavy (JAX, MuJoCo, matplotlib) is imported inside the verbs, so that help and mistakes
answer at once.
"""

import sys
from collections.abc import Sequence

import saddle
from saddle import machine, process, references, streams
from saddle.cli.learner import split_learner
from saddle.cli.parse import parse
from saddle.cli.rule import rule_last
from saddle.cli.tree import tree
from saddle.errors import OutputError, SaddleError

DESCRIPTION = """Constrained reinforcement-learning tasks, fast and faithful to Safety-Gymnasium.

'saddle VERB --help' explains one verb, 'saddle --version' prints the version."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code: 0 good, 1 a check failed, 2 bad input, 130
    interrupted.
    """
    try:
        if argv is None:
            process.becomes_command()
            machine.show_cores_to_jax()
            argv = sys.argv[1:]
        with streams.guarded(), references.announcing(streams.note):
            return _dispatch(argv)
    except OutputError as error:
        if not error.reader_left:
            streams.complain(str(error))
        return 141 if error.reader_left else 2
    except SaddleError as error:
        streams.complain(str(error))
        return 2
    except KeyboardInterrupt:
        return 130
    finally:
        process.leaves()


def _dispatch(argv: Sequence[str]) -> int:
    if list(argv) == ["--version"]:
        print(f"saddle {saddle.__version__}")
        return 0
    learner, words = split_learner(argv)
    verbs = tree(learner, words)
    try:
        call = parse(verbs, DESCRIPTION, rule_last(words) or ["--help"])
    except SystemExit:  # the parser leaves this way after printing help
        return 0
    return call() or 0
