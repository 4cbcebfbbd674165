"""Where tables go."""

from rich.console import Console

WIDTH_OF_A_FILE = 160  # columns; output that is not read on a terminal keeps one row per line


def console() -> Console:
    """A console on the current stdout, as wide as the terminal or, in a pipe or file, wide enough
    not to wrap.
    """
    # No emoji: a task my_tasks:Car is no picture of one.
    terminal = Console(highlight=False, emoji=False)
    if terminal.is_terminal:
        return terminal
    return Console(highlight=False, emoji=False, width=WIDTH_OF_A_FILE)
