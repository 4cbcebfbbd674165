"""Classes of one kind by name, as rules and learners are: Saddle's own, those of installed
packages, and those that a program registers.
"""

import importlib.metadata
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, TypeVar

from saddle import references
from saddle.errors import SaddleError, did_you_mean

Kind = TypeVar("Kind")


class Classes(Generic[Kind]):
    """All classes of a kind that are known in this process."""

    def __init__(
        self,
        what: str,
        kind: type[Kind],
        group: str,
        name_of: Callable[[type[Kind]], str],
        own: Iterable[type[Kind]],
    ) -> None:
        """what: a word for one of them; kind: what they are derived from; group: of the entry
        points by which packages name theirs; own: those that come with Saddle.
        """
        self._what = what
        self._kind = kind
        self._group = group
        self._name_of = name_of
        self.known = {name_of(one): one for one in own}
        """By name, without those of packages that nobody has asked for yet."""
        self.packages_read = False

    def register(self, one: Any) -> Any:
        """Make a class known by its name, and return it; another one of the same name is
        refused.
        """
        name = self._name_of(one)
        known = self.known.get(name)
        if known is not None and known is not one:
            raise SaddleError(
                f"there is a {self._what} {name!r} already ({known.__module__}); choose another "
                f"name"
            )
        self.known[name] = one
        return one

    def all(self) -> dict[str, type[Kind]]:
        """Every class by name, Saddle's own first. Packages are asked once, when somebody first
        wants to know.
        """
        if not self.packages_read:
            for found in self._of_packages():
                self.register(found)
            self.packages_read = True
        return dict(self.known)

    def find(self, name: str) -> type[Kind]:
        """The class of that name, or of the reference `module:Class`; a wrong one says what there
        is.
        """
        if name in self.known:  # without asking packages
            return self.known[name]
        if references.is_reference(name):
            found = references.load(name, self._what)
            if not self._is_one(found):
                raise SaddleError(
                    f"{name} is not a {self._what}: name a class derived from "
                    f"saddle.{self._kind.__name__}"
                )
            return found
        known = self.all()
        if name in known:
            return known[name]
        raise SaddleError(
            f"unknown {self._what} {name!r}{did_you_mean(name, known)}; {self._what}s are "
            f"{', '.join(known)}, or name module:Class"
        )

    def name_elsewhere(self, one: type[Kind]) -> str:
        """The name, or reference, by which another process finds a class."""
        name = self._name_of(one)
        return name if self.known.get(name) is one else references.reference_to(one)

    def _of_packages(self) -> Iterator[type[Kind]]:
        """Those that installed packages name as entry points."""
        for entry in importlib.metadata.entry_points(group=self._group):
            package = entry.dist.name if entry.dist else entry.module
            called = f"the {self._what} {entry.name!r} of the package {package}"
            try:
                found = entry.load()
            except Exception as error:
                raise SaddleError(
                    f"{called} cannot be imported ({references.because(error)}); mend the package, "
                    f"or uninstall it"
                ) from error
            if not self._is_one(found):
                raise SaddleError(
                    f"{called} is not derived from saddle.{self._kind.__name__}; mend the package, "
                    f"or uninstall it"
                )
            yield found

    def _is_one(self, thing: Any) -> bool:
        return isinstance(thing, type) and issubclass(thing, self._kind)
