"""How verbs that train end: what they say, and their exit codes."""

from saddle.study.status import failure_lines, failures
from saddle.study.stop import Stopper
from saddle.study.store import Study
from saddle.verbs.exit_codes import FINISHED, SOME_FAILED


def unfinished(study: Study, stop: Stopper) -> int:
    """Of a study that has runs left: it had to stop, or some of them failed."""
    if stop.refused:
        print(f"stopped: {stop.why}; go on with the same command and --resume")
        return stop.exit_code
    told_failures(study)
    print("not finished; the same command with --resume tries again what failed")
    return SOME_FAILED


def told_failures(study: Study) -> int:
    """Of a study that is through: a line for each reason why runs failed."""
    failed = failures(study)
    for line in failure_lines(failed):
        print(line)
    return SOME_FAILED if failed else FINISHED
