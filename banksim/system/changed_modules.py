"""Changes modules of other packages when they are imported. A program that imports none of them is left alone."""

import functools
import importlib.abc
import importlib.machinery
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from types import ModuleType

Change = Callable[[ModuleType], None]
"""What is done to a module after it was executed."""


@contextmanager
def changed(changes: Mapping[str, Change]) -> Iterator[None]:
    """Within, these modules are changed: those already imported at once, in this order."""
    finder = Changed(changes)
    sys.meta_path.insert(0, finder)
    try:
        for name, change in changes.items():
            if name in sys.modules:
                change(sys.modules[name])
        yield
    finally:
        with suppress(ValueError):  # the program took it away
            sys.meta_path.remove(finder)


class Changed(importlib.abc.MetaPathFinder):
    """Finds the modules that are changed, by their names, as the other finders find them. It stands before those.
    One of them, numba-cuda's, asks all finders itself, and so this one again: `asked` is what it looks for by then."""

    def __init__(self, changes: Mapping[str, Change]) -> None:
        self.changes = changes
        self.asked: set[str] = set()

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        change = self.changes.get(name)
        if change is None or name in self.asked:
            return None
        self.asked.add(name)
        try:
            for finder in sys.meta_path:
                find = None if finder is self else getattr(finder, "find_spec", None)
                spec: importlib.machinery.ModuleSpec | None = find and find(name, path, target)
                if spec is not None and spec.loader is not None:
                    execute = functools.partial(executed, spec.loader.exec_module, change)
                    spec.loader.exec_module = execute  # type: ignore[method-assign]
                    return spec
            return None
        finally:
            self.asked.discard(name)


def executed(execute: Callable[[ModuleType], None], change: Change, module: ModuleType) -> None:
    execute(module)
    change(module)
