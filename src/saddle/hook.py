"""Registers Saddle's environments with Gymnasium whichever of the two is imported first.

Gymnasium looks for no plugins, and `import saddle` should not cost its import. So where Gymnasium
is not loaded yet, a finder waits for somebody to import it, and `saddle.gym` is imported right
after it.
"""

import importlib
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

GYMNASIUM = "gymnasium"


def register_with_gymnasium() -> None:
    """Now where Gymnasium is loaded, else as soon as it is."""
    if GYMNASIUM in sys.modules:
        importlib.import_module("saddle.gym")
    else:
        sys.meta_path.insert(0, _AfterGymnasium())


class _AfterGymnasium(MetaPathFinder):
    """Finds Gymnasium where the others find it, and has `saddle.gym` imported once it is there."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """None for every module but Gymnasium: the next finder is asked."""
        if fullname != GYMNASIUM:
            return None
        others = [finder for finder in sys.meta_path if finder is not self]
        specs = (finder.find_spec(fullname, path, target) for finder in others)
        spec = next((found for found in specs if found is not None), None)
        if spec is not None and spec.loader is not None:
            self._follow(spec.loader)
        return spec

    def _follow(self, loader: Loader) -> None:
        """Let the loader go on to `saddle.gym` when it has executed Gymnasium."""
        execute = loader.exec_module

        def execute_and_register(module: ModuleType) -> None:
            execute(module)
            if self in sys.meta_path:
                sys.meta_path.remove(self)
            importlib.import_module("saddle.gym")

        loader.exec_module = execute_and_register
