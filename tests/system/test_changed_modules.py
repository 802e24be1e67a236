"""Modules of other packages that are changed when they are imported."""

import importlib
import importlib.util
import sys
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

import pytest

from banksim.errors import InputError
from banksim.runs.programs import python_program
from banksim.system.changed_modules import changed
from helpers.fixtures import Patch


class Asking(MetaPathFinder):
    """A finder that asks all others, as that of numba-cuda does."""

    asked = False

    def find_spec(self, name: str, path: object, target: object = None) -> ModuleSpec | None:
        if name != "changed_once" or self.asked:
            return None
        self.asked = True
        found = (finder.find_spec(name, None) for finder in sys.meta_path)
        return next(filter(None, found))


def test_a_module_is_changed_once_though_finders_ask_each_other(tmp_path: Path, monkeypatch: Patch) -> None:
    (tmp_path / "changed_once.py").write_text("number = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "meta_path", [Asking(), *sys.meta_path])

    def change(module: ModuleType) -> None:
        module.number += 1

    with changed({"changed_once": change}):
        assert importlib.import_module("changed_once").number == 2
    del sys.modules["changed_once"]


def test_finders_without_find_spec_are_passed_over_and_a_program_may_drop_all(
    tmp_path: Path, monkeypatch: Patch
) -> None:
    """Python passes over them too: up to 3.11 they may find by `find_module`."""
    (tmp_path / "changed_once.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "meta_path", [object(), *sys.meta_path])
    with changed({"changed_once": lambda module: None}):
        assert importlib.util.find_spec("changed_once")
        sys.meta_path.clear()


def test_numbas_own_driver_says_that_numba_cuda_is_missing(monkeypatch: Patch) -> None:
    """Without numba-cuda, `import numba.cuda` finds that one, which has other parts."""
    monkeypatch.setitem(sys.modules, "numba_cuda", None)
    with pytest.raises(InputError, match="need numba-cuda"):
        python_program.CHANGES[python_program.DRIVER](ModuleType("driver"))
