"""What is wrong with a command line, in one line, with a suggestion that belongs to its verb."""

import difflib
import itertools
import re
from collections.abc import Sequence

from saddle.cli.verbs import Verbs

# Of "--multiplier:ga", which names a rule, nothing is an option.
_OPTION = re.compile(r"(?<![\w-])--[a-z][\w.-]*(?![\w.:-])")
_BETWEEN_PARAGRAPHS = re.compile(r"^ *-{3,} *$", re.MULTILINE)


class Mistake:
    """What the parser has to say about a command line: a title and paragraphs, of which the first
    says it all.
    """

    def __init__(self, verbs: Verbs, argv: Sequence[str]) -> None:
        self.verbs = verbs
        self.argv = list(argv)
        title, *self.paragraphs = _BETWEEN_PARAGRAPHS.split(verbs.printed(argv))
        self.title = title.strip()
        first = self.paragraphs[0] if self.paragraphs else ""
        self.text = " ".join(first.split())
        self.verb = " ".join(["saddle", *self._verb_words()])

    def line(self) -> str:
        """The mistake in one line."""
        known = {
            "Unrecognized options": self._unknown,
            "Required options": self._missing,
            "Missing subcommand": self._no_verb,
        }
        describe = known.get(self.title, self._wrong_value)
        said = describe()
        between = "" if said.endswith("?") else ";"
        return f"{said}{between} see '{self.verb} --help'"

    def _verb_words(self) -> list[str]:
        """The words of the command line that name a verb: study, run."""
        found: list[str] = []
        for word in self.argv[:2]:
            if word not in self._verbs_after(found):
                break
            found.append(word)
        return found

    def _unknown(self) -> str:
        """An option or a word that the verb does not know."""
        word = self.text.partition(":")[2].split()[0].rstrip(",")
        if word.startswith("-"):
            options = self._options_by_rule()
            holders = [f"--{rule}" for rule, own in options.items() if rule and word in own]
            if holders and self._asked(word) == self.verb:
                return f"{word} belongs to a rule; name one that has it: {', '.join(holders)}"
            near = _nearest_option(word, list(itertools.chain.from_iterable(options.values())))
            return f"{self._asked(word)} has no option {word}{_did_you_mean(near)}"
        names = self._subcommands()
        close = difflib.get_close_matches(word, names, n=1, cutoff=0.5)
        if close:
            return f"{self.verb} has no {word!r}{_did_you_mean(close[0])}"
        takes_a_verb = names and self.verb.count(" ") < 2
        if takes_a_verb and word in self.argv[:2]:
            return f"{self.verb} has no {word!r}: it has {', '.join(names)}"
        return f"{self.verb} does not take {word!r}"

    def _asked(self, option: str) -> str:
        """Who does not know an option: the verb or, of a rule's options, the rule that was
        chosen.
        """
        rules = [word for word in self.argv if word.startswith("multiplier:")]
        if rules and option.startswith("--multiplier."):
            return f"--{rules[0]}"
        return self.verb

    def _missing(self) -> str:
        """Options that have to be given. Their names stand six columns in, their help ten."""
        names = re.findall(r"^ {6}(\S.*?) *$", self.paragraphs[0], re.MULTILINE)
        return f"{self.verb} needs {' and '.join(names)}" if names else self.text

    def _no_verb(self) -> str:
        """A verb that has verbs of its own, without one of them."""
        names = re.search(r"\{(.*)\}", self.text)
        return f"{self.verb} needs one of {names[1]}" if names else self.text

    def _wrong_value(self) -> str:
        """A value that cannot be read, or none at all."""
        choice = re.match(
            r"invalid choice '(.*)' for argument '(.*)'\. Expected one of \((.*)\)", self.text
        )
        if choice:
            given, option, expected = choice.groups()
            # An option that may be left out can be None, which nobody writes.
            known = [word for word in re.findall(r"'[^']*'", expected) if word != "'None'"]
            return f"{option} cannot be {given!r}; choose one of {', '.join(known)}"
        absent = re.match(r"Missing value for argument '(.*)'", self.text)
        if absent:
            return f"{absent[1]} needs a value"
        wrong = re.fullmatch(r"Error parsing (\S+): (.*)", self.text)
        if wrong:
            return self._unread(option=wrong[1], why=wrong[2])
        return self.text.rstrip(".") or "this command line cannot be read"

    def _unread(self, option: str, why: str) -> str:
        """Values that are not of the kind that a later paragraph says the option takes."""
        given = re.search(r"instantiated from \[(.*?)\]", why)
        values = re.findall(r"'([^']*)'", given[1] if given else why)
        if given and "invalid literal for int()" in why:
            return f"{option} cannot be {' '.join(values)!r}; it takes whole numbers"
        said = f"{option} cannot be {' '.join(values)!r}" if values else f"{option} is wrong: {why}"
        explained = "\n".join(self.paragraphs[1:])
        kind = re.search(re.escape(option) + r" +(\S[^\n]*)", explained)
        return f"{said}; write {option} {kind[1].strip()}" if kind else said

    def _subcommands(self) -> list[str]:
        """Those that the parser says there are: verbs, or rules."""
        for paragraph in self.paragraphs:
            if paragraph.strip().startswith("Available subcommands:"):
                names = " ".join(paragraph.split()).partition(":")[2]
                return re.findall(r"[\w:-]+", names)
        return []

    def _verbs_after(self, words: list[str]) -> list[str]:
        """Verbs that can follow these words."""
        usage = self._help(words).partition("\n\n")[0].replace("\n", "")
        found = re.search(r"\{([\w,-]+)\}", usage)
        return found[1].split(",") if found else []

    def _options_by_rule(self) -> dict[str, list[str]]:
        """Options of the verb that was asked, under no name, and those of the rule that is named
        or, where none is, of each.
        """
        words = self.verb.split()[1:]
        shown = self._help(words)
        rules = list(dict.fromkeys(re.findall(r"(?<![\w-])multiplier:\w+", shown)))
        chosen = [word for word in self.argv if word in rules]
        found = {"": _OPTION.findall(shown)}
        for rule in chosen or rules:
            found[rule] = _OPTION.findall(self._help([*words, rule]))
        return found

    def _help(self, words: list[str]) -> str:
        return self.verbs.printed([*words, "--help"])


def _nearest_option(word: str, options: list[str]) -> str | None:
    """By the whole name or, as --lr for --multiplier.lr, by its last part."""
    close = difflib.get_close_matches(word.lower(), options, n=1, cutoff=0.75)
    if close:
        return close[0]
    last_parts = {option: _last_part(option) for option in options}
    alike = difflib.get_close_matches(
        _last_part(word.lower()), list(last_parts.values()), n=1, cutoff=0.7
    )
    for option, part in last_parts.items():
        if part in alike:
            return option
    return None


def _last_part(option: str) -> str:
    return re.split(r"[.]|--", option)[-1]


def _did_you_mean(name: str | None) -> str:
    return f"; did you mean {name}?" if name else ""
