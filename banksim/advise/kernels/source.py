"""A kernel's source: where it declares its shared arrays and uses their elements, and how both are rewritten there.

Places are byte offsets of the file: nothing changes in it but lengths and indices.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, Protocol

from banksim.architectures.bank_rules import Architecture
from banksim.errors import InputError
from banksim.system.writing import require_writable
from banksim.system.writing import write as write_file

SIMPLE = re.compile(r"[\w.]+(?: *[-+*/] *[\w.]+)*")
"""Expressions to which a number can be added without brackets."""
Texts = tuple[str, ...]


class SourceSpan(NamedTuple):
    """Bytes `start` to `end` of a file and the text there; `value` if it is a number that is known."""

    start: int
    end: int
    text: str
    value: int | None = None

    def longer(self, more: int) -> str:
        """A length with `more` added."""
        if self.value is not None:
            return str(self.value + more)
        return f"{self.text} + {more}" if SIMPLE.fullmatch(self.text) else f"({self.text}) + {more}"


class Use(NamedTuple):
    """An access to one element, at bytes `start` to `end`. `wide`: its address is cast, so it may be to several."""

    start: int
    end: int
    indices: tuple[SourceSpan, ...]
    wide: bool = False


@dataclass(frozen=True)
class SourceArray:
    """A shared array in a kernel's source, whose declaration ends at byte `end`; a dynamic one has no lengths.

    `size`: bytes of an element, None if the source does not tell. `fixed`: why its indices cannot be rewritten
    (empty: they can), as where the whole array goes elsewhere.
    """

    name: str
    line: int
    end: int
    lengths: tuple[SourceSpan, ...]
    size: int | None
    uses: tuple[Use, ...] = field(default=(), repr=False)
    fixed: str = ""

    @property
    def is_wide(self) -> bool:
        return any(use.wide for use in self.uses)


@dataclass(frozen=True)
class LayoutChange:
    """Another layout of an array: new lengths, and new indices in the place of those that every use has.

    `requires`: what has to be true of lengths that the source names, as C++ says it and in words. `bytes_after`: how
    much dynamic shared memory the array takes in the place of so many bytes.
    """

    array: SourceArray
    layout: str
    lengths: Texts
    index: Callable[[Texts], Texts] | None = None
    requires: Texts = ()
    bytes_after: Callable[[int], int] | None = None

    @property
    def name(self) -> str:
        return f"{self.array.name}: {self.layout}"


class KernelSource(Protocol):
    """A kernel's source: a file's content, the shared arrays declared in the kernel, and how to compile it anew."""

    file: Path
    name: str
    content: bytes
    declared: tuple[SourceArray, ...]

    def kernel(self, content: bytes) -> object:
        """The kernel compiled from this content of the file, as `banksim.run` takes it."""

    def ahead(self, contents: Iterable[bytes], args: Sequence[object], archs: Sequence[Architecture]) -> None:
        """Do together what a launch with these arguments does for contents that all will be launched."""


# ---- rewriting
class Edit(NamedTuple):
    """What replaces bytes `start` to `end`: `made` returns it, given a function that rewrites a part of the file."""

    start: int
    end: int
    made: Callable[[Callable[[int, int], bytes]], bytes]


def rewritten(content: bytes, changes: Sequence[LayoutChange]) -> bytes:
    """The file with other layouts."""
    edits = sorted((edit for change in changes for edit in edits_of(content, change)), key=lambda one: one[:2])

    def applied(start: int, end: int) -> bytes:
        parts, at = [], start
        for edit in edits:
            if at <= edit.start and edit.end <= end:  # else another edit holds this one, or it is elsewhere
                parts += [content[at : edit.start], edit.made(applied)]
                at = edit.end
        return b"".join([*parts, content[at:end]])

    return applied(0, len(content))


def edits_of(content: bytes, change: LayoutChange) -> Iterator[Edit]:
    array = change.array
    for length, text in zip(array.lengths, change.lengths, strict=True):
        if text != length.text:
            yield Edit(length.start, length.end, lambda _, text=text: text.encode())  # type: ignore[misc]
    if change.requires:
        line = content[content.rfind(b"\n", 0, array.end) + 1 : array.end]
        indent = line[: len(line) - len(line.lstrip())].decode()
        condition, words = change.requires
        check = f'\n{indent}static_assert({condition}, "{change.name}: {words}");'
        yield Edit(array.end, array.end, lambda _: check.encode())
    if change.index:
        yield from (index_edit(content, use, change.index) for use in array.uses)


def index_edit(content: bytes, use: Use, index: Callable[[Texts], Texts]) -> Edit:
    """The edit of a use's indices. They may hold uses themselves; the text between them stays."""

    def made(applied: Callable[[int, int], bytes]) -> bytes:
        before = tuple(applied(place.start, place.end).decode(errors="surrogateescape") for place in use.indices)
        parts, at = [], use.start
        for place, text in zip(use.indices, index(before), strict=True):
            parts += [content[at : place.start], text.encode(errors="surrogateescape")]
            at = place.end
        return b"".join([*parts, content[at : use.end]])

    return Edit(use.start, use.end, made)


# ---- the file
def require_unchanged(file: Path, before: bytes) -> None:
    """`InputError` if the file does not hold `before`."""
    try:
        if file.read_bytes() == before:
            return
    except OSError as error:
        raise InputError(f"{file}: {error.strerror}: nothing was written") from None
    raise InputError(f"{file}: it changed meanwhile: nothing was written; run again")


def write(file: Path, before: bytes, after: bytes) -> None:
    """Put `after` into the file in one step. `InputError` if it is read-only or no longer holds `before`."""
    require_writable(file)
    require_unchanged(file, before)
    write_file(file, after)
