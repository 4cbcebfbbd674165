"""Exit codes of verbs. Of a study that stopped early, `saddle.study.stop` has them."""

FINISHED = 0
SOME_FAILED = 1
