"""The project's file: `[tool.banksim]` of the nearest pyproject.toml, or banksim.toml, which has the same without that.

[tool.banksim]
arch = ["sm_90", "A100"]
fail-above = 0

[[tool.banksim.kernels]]
kernel = "transpose.py:transpose"
grid = [4, 4]
block = [32, 32]
args = ["float32[128,128]", "float32[128,128]=random"]

[[tool.banksim.programs]]
command = "my_program.py --size 64"
"""

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal

from banksim.banks.limits import Limit, limit
from banksim.errors import InputError, near
from banksim.kernels.file_and_name import file_and_name
from banksim.project import keys
from banksim.project.toml_lines import Lines

Kind = Literal["kernel", "program"]
KINDS: dict[Kind, dict[str, keys.Key]] = {"kernel": keys.KERNEL, "program": keys.PROGRAM}
SUBJECTS: dict[Kind, str] = {"kernel": "kernel", "program": "command"}
"""The key that every entry has."""
COMMANDS: dict[Kind, str] = {"kernel": "kernel", "program": "run"}
"""The command of banksim that executes it."""
OWN, SHARED = "banksim.toml", "pyproject.toml"
CUDA_SOURCE = re.compile(r".*?\.(?:cu|cuh|cpp|cxx|cc)(?::.+)?", re.DOTALL)
DEFAULT_LIMIT = "excess=0"
"""What fails where an entry names no limit: any conflict, as with `banksim.testing.assert_conflict_free`."""


@dataclass(frozen=True)
class Entry:
    """A kernel or a program: `words` are its command behind `banksim`, `subject` what it names there, `inputs` the
    only files that it depends on, as its owner says (None: the owner does not say)."""

    name: str
    kind: Kind
    words: tuple[str, ...]
    subject: tuple[str, ...]
    limits: tuple[Limit, ...]
    line: int | None = None
    inputs: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Project:
    """A project's file with its entries; paths in it are relative to its folder."""

    file: Path
    entries: tuple[Entry, ...]
    baseline: str | None = None

    @property
    def folder(self) -> Path:
        return self.file.parent

    def chosen(self, names: Sequence[str]) -> tuple[Entry, ...]:
        """The entries of these names, or of those that they match (`transpose*`); all if none is given."""
        for name in names:
            if not any(fnmatchcase(one.name, name) or one.name == name for one in self.entries):
                known = [one.name for one in self.entries]
                listed = near(name, known) or f": it has {', '.join(known)}"
                raise InputError(f"{self.file.name} has no entry {name!r}{listed}")
        return tuple(
            one for one in self.entries if not names or any(fnmatchcase(one.name, n) or one.name == n for n in names)
        )


def find(folder: Path) -> Path:
    """The project's file of a folder: the nearest one, there or above."""
    for place in (folder, *folder.parents):
        if (place / OWN).is_file():
            return place / OWN
        if (place / SHARED).is_file() and "banksim" in tables(place / SHARED, content(place / SHARED)).get("tool", {}):
            return place / SHARED
    raise InputError(
        f"no {OWN}, and no {SHARED} with [tool.banksim], in {folder} or above: list kernels in one, "
        'each as [[tool.banksim.kernels]] with kernel = "FILE:NAME", grid, block and args'
    )


def tables(file: Path, text: str) -> dict[str, Any]:
    """What the text of a TOML file holds. `InputError`, with the line, for text that is not TOML."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        what, _, place = str(error).rpartition(" (at ")
        line = re.match(r"line (\d+)", place)
        raise InputError(f"{file.name}{f':{line[1]}' if line else ''}: no TOML: {what or error}") from None


def content(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"{file}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InputError(f"{file}: it is not UTF-8, as TOML files are") from None


def read(file: Path) -> Project:
    """The project of a file. `InputError` for what is wrong in it, a line each: file, line, key, what to do."""
    file = file.absolute()
    text = content(file)
    found = tables(file, text)
    inner = "" if file.name != SHARED else "tool.banksim"
    if inner:
        found = found.get("tool", {}).get("banksim", {})
    reader = Reader(file.name, inner, Lines(text))
    project = reader.project(file, found)
    if reader.wrong:
        raise InputError("\n".join(reader.wrong))
    return project


class Reader:
    """Reads the tables of a file, and gathers what is `wrong` in them."""

    def __init__(self, file: str, table: str, lines: Lines) -> None:
        self.file, self.table, self.lines = file, table, lines
        self.wrong: list[str] = []

    def project(self, file: Path, found: object) -> Project:
        if not isinstance(found, Mapping):
            self.complain("", None, "give a table")
            return Project(file, ())
        own = {name: value for name, value in found.items() if name not in ("kernels", "programs")}
        own = self.readable(own, keys.PROJECT, None, ("kernels", "programs"))
        entries = [one for kind in KINDS for one in self.entries(kind, found.get(f"{kind}s", []), own, file.parent)]
        if not entries and not self.wrong:
            self.complain("kernels", None, "no entry is there: list kernels or programs")
        seen: dict[str, int | None] = {}
        for one in entries:
            if one.name in seen:
                where = f" (line {seen[one.name]})" if seen[one.name] else ""
                told = f"{self.file}:{one.line}" if one.line else self.file
                self.wrong.append(f'{told}: another entry is called {one.name!r} too{where}: add name = "…" to one')
            seen[one.name] = one.line
        return Project(file, tuple(entries), own.get("baseline"))

    def entries(self, kind: Kind, found: object, defaults: Mapping[str, Any], folder: Path) -> Iterator[Entry]:
        if not isinstance(found, list):
            self.complain(f"{kind}s", None, f"give an array of tables: [[{self.full(f'{kind}s')}]]")
            return
        for number, given in enumerate(found, 1):
            if not isinstance(given, Mapping):
                self.complain(f"{kind}s", number, f"give a table: [[{self.full(f'{kind}s')}]]")
                continue
            before = len(self.wrong)
            known = KINDS[kind]
            self.readable(given, known, (kind, number))
            if SUBJECTS[kind] not in given:
                self.complain(f"{kind}s", number, f"{SUBJECTS[kind]} is missing: give {known[SUBJECTS[kind]].what}")
            if len(self.wrong) == before:
                entry = self.entry(kind, number, defaults, given)
                self.require_files(entry, number, folder)
                yield entry

    def entry(self, kind: Kind, number: int, defaults: Mapping[str, Any], given: Mapping[str, Any]) -> Entry:
        """An entry of which every key has been read once."""
        known = KINDS[kind]
        subject = known[SUBJECTS[kind]].read(given[SUBJECTS[kind]])
        fitting = keys.COMMON if kind == "program" or not CUDA_SOURCE.fullmatch(subject[0]) else known
        merged = {name: value for name, value in defaults.items() if name in fitting} | dict(given)
        options = [word for name, value in merged.items() for word in known[name].words(value)]
        return Entry(
            name=merged.get("name", " ".join(subject)),
            kind=kind,
            words=(COMMANDS[kind], *options, *subject),
            subject=tuple(subject),
            limits=tuple(map(limit, keys.limits(merged.get("fail-above", DEFAULT_LIMIT)))),
            line=self.lines.of(self.full(f"{kind}s"), number),
            inputs=tuple(keys.texts(merged["inputs"])) if "inputs" in merged else None,
        )

    def require_files(self, entry: Entry, number: int, folder: Path) -> None:
        """Complain of a kernel's file that is not there."""
        file = file_of(entry)
        if entry.kind == "kernel" and not (folder / file).is_file():
            self.complain("kernels", number, f"{file}: no such file in {folder}", "kernel")

    def readable(
        self,
        given: Mapping[str, Any],
        known: Mapping[str, keys.Key],
        entry: tuple[Kind, int] | None,
        more: Sequence[str] = (),
    ) -> dict[str, Any]:
        """What of `given` can be read; the rest is complained of. `more` are keys that are read elsewhere."""
        array, number = (f"{entry[0]}s", entry[1]) if entry else ("", None)
        found = {}
        for name, value in given.items():
            try:
                if name not in known:
                    names = [*known, *more]
                    raise InputError(f"there is no such key{near(name, names)}: give one of {', '.join(names)}")
                known[name].read(value)
                found[name] = value
            except InputError as error:
                self.complain(array, number, str(error), name)
        return found

    def full(self, name: str) -> str:
        return ".".join(filter(None, (self.table, name)))

    def complain(self, array: str, number: int | None, what: str, key: str = "") -> None:
        line = self.lines.of(self.full(array), number, key)
        where = ".".join(filter(None, (f"{array}[{number}]" if number else array, key))) or self.table
        self.wrong.append(f"{self.file}{f':{line}' if line else ''}: {where}: {what}")


def file_of(entry: Entry) -> str:
    """The file of a kernel, the first word of a program."""
    return file_and_name(entry.subject[0])[0] if entry.kind == "kernel" else entry.subject[0]
