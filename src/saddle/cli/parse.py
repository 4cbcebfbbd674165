"""Parsing apart from running: a mistake in a command line is one line with a suggestion that
belongs to its verb.
"""

import contextlib
import difflib
import errno
import functools
import io
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tyro.conf import FlagCreatePairsOff
from tyro.extras import SubcommandApp

from saddle.errors import SaddleError

_OPTION = re.compile(
    r"(?<![\w-])--[a-z][\w.-]*(?![\w.:-])"
)  # not --multiplier:ga, which names a rule
_RULE = re.compile(r"^ *-{3,} *$", re.MULTILINE)  # the line between two paragraphs of an error
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


class Verbs(SubcommandApp):
    """Verbs that the parser does not call: it hands back the call, so that its errors are not mixed
    with theirs.
    """

    def command(self, func: Any = None, **options: Any) -> Any:
        """Register a function, or a group of verbs, as the parser's own `command` does."""
        if func is None:
            return functools.partial(self.command, **options)
        group = isinstance(func, SubcommandApp)
        super().command(func if group else _later(func), **options)
        return func


def _later(verb: Callable[..., Any]) -> Callable[..., Callable[[], Any]]:
    @functools.wraps(verb)
    def bound(*args: Any, **options: Any) -> Callable[[], Any]:
        return functools.partial(verb, *args, **options)

    return bound


def parse(app: Verbs, description: str, argv: Sequence[str]) -> functools.partial[Any]:
    """The call that a command line asks for. Prints help and leaves by SystemExit(0) where that is
    asked for.
    """
    try:
        with contextlib.redirect_stderr(io.StringIO()):
            call = _tyro(app, description, argv)
    except SystemExit as stop:
        if not stop.code:
            raise
        raise SaddleError(_Mistake(app, argv).line()) from None
    for value in (*call.args, *call.keywords.values()):
        for path in value if isinstance(value, tuple) else (value,):
            if isinstance(path, Path):
                _check_path(path)
    return call


def _check_path(path: Path) -> None:
    """It may be there or not, but it is a path that the system can look up."""
    try:
        full = path.absolute()
    except FileNotFoundError:
        raise SaddleError("the current folder is gone; change to one that exists") from None
    try:
        full.lstat()
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise SaddleError(
                f"the name {path.name[:20]}... is too long for a file; choose a shorter one"
            ) from None


def _printed(app: Verbs, words: Sequence[str]) -> str:
    """What the parser prints about these words: where nothing is a terminal, without frames and
    colours.
    """
    shown = io.StringIO()
    with (
        contextlib.redirect_stdout(shown),
        contextlib.redirect_stderr(shown),
        contextlib.suppress(SystemExit),
    ):
        _tyro(app, "", words)
    return _COLOUR.sub("", shown.getvalue())


def _tyro(app: Verbs, description: str, argv: Sequence[str]) -> Any:
    return app.cli(
        prog="saddle", description=description, args=list(argv), config=(FlagCreatePairsOff,)
    )


class _Mistake:
    """What the parser has to say about a command line: a title and paragraphs, of which the first
    says it all.
    """

    def __init__(self, app: Verbs, argv: Sequence[str]) -> None:
        self.app, self.argv = app, list(argv)
        title, *self.paragraphs = _RULE.split(_printed(app, argv))
        self.title = title.strip()
        self.text = " ".join("".join(self.paragraphs[:1]).split())
        self.verb = self._verb()

    def line(self) -> str:
        """The mistake in one line."""
        known = {
            "Unrecognized options": self._unknown,
            "Required options": self._missing,
            "Missing subcommand": self._no_verb,
        }
        said = known.get(self.title, self._other)()
        between = "" if said.endswith("?") else ";"
        return f"{said}{between} see '{self.verb} --help'"

    def _verb(self) -> str:
        """The part of the command line that names a verb: 'saddle study run'."""
        found = [self.argv[0]] if self.argv and self.argv[0] in self._names([]) else []
        if found and len(self.argv) > 1 and self.argv[1] in self._names(found):
            found.append(self.argv[1])
        return " ".join(["saddle", *found])

    def _unknown(self) -> str:
        word = self.text.partition(":")[2].split()[0].rstrip(",")
        if word.startswith("-"):
            near = _nearest_option(word, self._options())
            return f"{self._at_hand(word)} has no option {word}{_did_you_mean(near)}"
        names = self._available()
        close = difflib.get_close_matches(word, names, n=1, cutoff=0.5)
        if close:
            return f"{self.verb} has no {word!r}{_did_you_mean(close[0])}"
        if names and self.verb.count(" ") < 2 and word in self.argv[:2]:
            return f"{self.verb} has no {word!r}: it has {', '.join(names)}"
        return f"{self.verb} does not take {word!r}"

    def _at_hand(self, option: str) -> str:
        """Who does not know an option: the verb or, of a rule's options, the rule that was
        chosen.
        """
        rules = [word for word in self.argv if word.startswith("multiplier:")]
        return f"--{rules[0]}" if rules and option.startswith("--multiplier.") else self.verb

    def _missing(self) -> str:
        """Names stand six columns in, their help ten."""
        names = re.findall(r"^ {6}(\S.*?) *$", self.paragraphs[0], re.MULTILINE)
        return f"{self.verb} needs {' and '.join(names)}" if names else self.text

    def _no_verb(self) -> str:
        names = re.search(r"\{(.*)\}", self.text)
        return f"{self.verb} needs one of {names[1]}" if names else self.text

    def _other(self) -> str:
        """A value that cannot be read, or none at all."""
        choice = re.match(
            r"invalid choice '(.*)' for argument '(.*)'\. Expected one of \((.*)\)", self.text
        )
        if choice:
            # An option that may be left out can be None, which nobody writes.
            known = [word for word in re.findall(r"'[^']*'", choice[3]) if word != "'None'"]
            return f"{choice[2]} cannot be {choice[1]!r}; choose one of {', '.join(known)}"
        absent = re.match(r"Missing value for argument '(.*)'", self.text)
        if absent:
            return f"{absent[1]} needs a value"
        wrong = re.fullmatch(r"Error parsing (\S+): (.*)", self.text)
        if wrong is None:
            return self.text.rstrip(".") or "this command line cannot be read"
        values = re.findall(r"'([^']*)'", wrong[2])
        given = f"cannot be {' '.join(values)!r}" if values else f"is wrong: {wrong[2]}"
        kind = re.search(re.escape(wrong[1]) + r" +(\S[^\n]*)", "\n".join(self.paragraphs[1:]))
        return f"{wrong[1]} {given}" + (f"; write {wrong[1]} {kind[1].strip()}" if kind else "")

    def _available(self) -> list[str]:
        for part in self.paragraphs:
            if part.strip().startswith("Available subcommands:"):
                return re.findall(r"[\w:-]+", " ".join(part.split()).partition(":")[2])
        return []

    def _names(self, words: list[str]) -> list[str]:
        """Verbs after these words."""
        usage = self._help(words).partition("\n\n")[0].replace("\n", "")
        found = re.search(r"\{([\w,-]+)\}", usage)
        return found[1].split(",") if found else []

    def _options(self) -> list[str]:
        """Options of the verb at hand and, where a rule is named or one is the default, of the
        rule.
        """
        words = self.verb.split()[1:]
        shown = self._help(words)
        rules = re.findall(r"(?<![\w-])multiplier:\w+", shown)
        chosen = [word for word in self.argv if word in rules]
        for rule in chosen or rules:
            shown += self._help([*words, rule])
        return list(dict.fromkeys(_OPTION.findall(shown)))

    def _help(self, words: list[str]) -> str:
        return _printed(self.app, [*words, "--help"])


def _nearest_option(word: str, options: list[str]) -> str | None:
    """By the whole name or, as --lr for --multiplier.lr, by its last part."""
    close = difflib.get_close_matches(word.lower(), options, n=1, cutoff=0.75)
    if close:
        return close[0]
    last = {option: re.split(r"[.]|--", option)[-1] for option in options}
    wanted = re.split(r"[.]|--", word.lower())[-1]
    alike = difflib.get_close_matches(wanted, list(last.values()), n=1, cutoff=0.7)
    return next((option for option, part in last.items() if alike and part == alike[0]), None)


def _did_you_mean(name: str | None) -> str:
    return f"; did you mean {name}?" if name else ""
