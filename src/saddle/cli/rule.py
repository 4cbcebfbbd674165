"""The option --multiplier of `saddle train`: a subcommand to the parser, with the rule's settings
as its options.
"""

from collections.abc import Sequence
from typing import Annotated, Any, Union

from tyro.conf import subcommand

from saddle.multipliers import rules


def one_of_the_rules() -> Any:
    """The type of --multiplier: a subcommand for each rule. Asks installed packages for theirs."""
    choices = [Annotated[rule, subcommand(name=name)] for name, rule in rules().items()]
    return Union[tuple(choices)]  # noqa: UP007  (X | Y cannot be written of a list)


def rule_last(argv: Sequence[str]) -> list[str]:
    """Put the rule (--multiplier:pid) and its options last, where the parser wants them, wherever
    they were written. --help comes after them, so that it explains the rule's options too.
    """
    others: list[str] = []
    rule: list[str] = []
    options: list[str] = []
    asks_help: list[str] = []
    # Of the option of a rule that came last: it has no value yet, or may have further numbers.
    wants_value = False
    takes_more = False
    for word in argv:
        if word.startswith("--multiplier:"):
            rule.append(word.removeprefix("--"))
            wants_value = False
            takes_more = False
        elif word.startswith("--multiplier."):
            options.append(word)
            wants_value = "=" not in word
            takes_more = wants_value
        elif word in ("-h", "--help"):
            asks_help.append(word)
        elif wants_value or (takes_more and _is_number(word)):
            options.append(word)
            wants_value = False
        else:
            others.append(word)
            takes_more = False
    return others + rule + options + asks_help


def _is_number(word: str) -> bool:
    """Whether a word can be one of several values, as in --multiplier.init 0.5 2."""
    try:
        float(word)
    except ValueError:
        return False
    return True
