"""Options that name what is written: what cannot be written is refused before anything is executed."""

from argparse import Action, ArgumentParser, Namespace
from pathlib import PurePath
from typing import Any

from banksim.errors import InputError
from banksim.system.writing import require_writable, require_writable_folder


class OutputFile(Action):
    """A file to write. A metavar such as FILE.svg says how it has to end."""

    makes_folders = False

    def __call__(self, parser: ArgumentParser, namespace: Namespace, values: Any, option: str | None = None) -> None:
        self.require(values)
        setattr(namespace, self.dest, values)

    def require(self, path: Any) -> None:
        """`InputError` for what cannot be written."""
        if str(path) == "-":
            raise InputError(f"{self.option_strings[0]} -: standard output has another use: give a file")
        ending = PurePath(str(self.metavar)).suffix
        if ending and PurePath(path).suffix not in ("", ending):
            raise InputError(f"{path}: {ending[1:].upper()} is written: give a name that ends in {ending}")
        require_writable(path, self.makes_folders)


class OutputStream(OutputFile):
    """A file to write, or `-` for standard output."""

    def require(self, path: Any) -> None:
        if path != "-":
            super().require(path)


class OutputInFolder(OutputFile):
    """A file to write into a folder, which is made if it is not there."""

    makes_folders = True


class OutputFolder(OutputFile):
    """A folder to write files into, which is made if it is not there."""

    def require(self, path: Any) -> None:
        require_writable_folder(path)
