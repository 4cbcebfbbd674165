"""The one exception that reaches a person: a single line that says what is wrong and what to do."""


class SaddleError(Exception):
    """Bad input. The command line prints its message and exits with code 2, without a traceback."""
