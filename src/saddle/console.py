"""Where tables go."""

from rich.console import Console

WIDTH_OF_A_FILE = 160  # columns; output that is not read on a terminal keeps one row per line


def console() -> Console:
    """A console on the current stdout, as wide as the terminal or, in a pipe or file, wide enough
    not to wrap.
    """
    terminal = Console(highlight=False)
    return terminal if terminal.is_terminal else Console(highlight=False, width=WIDTH_OF_A_FILE)
