"""Other ways to give the same accesses of a pattern to threads, where its expressions allow it.

Every thread's work is done once, by another thread: what changes is which accesses meet in one warp.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from banksim.patterns.inputs import Description
from banksim.patterns.threads import Loop

AXIS = re.compile(r"\b(threadIdx|blockDim)\.([xy])\b")


@dataclass(frozen=True)
class ReadPattern:
    """A pattern as it was given, and its block and loops as read."""

    description: Description
    block: tuple[int, int, int]
    looped: tuple[Loop, ...]

    def rewritten(self, change: Callable[[str], str], **more: Any) -> Description:
        """The same with another text for each expression."""
        given = self.description
        texts = {name: each(getattr(given, name), change) for name in ("accesses", "stores", "let", "where")}
        return replace(given, **{"block": self.block, **texts, **more})

    def names(self, what: str) -> bool:
        """Whether an expression has this name."""
        found: list[str] = []
        self.rewritten(lambda text: found.append(text) or text)  # type: ignore[func-returns-value]
        return any(re.search(rf"\b{re.escape(what)}\b", text) for text in found)


@dataclass(frozen=True)
class Mapped:
    """The pattern with another order of the threads: its name, what to write, and its description."""

    name: str
    how: tuple[str, ...]
    description: Description


def each(given: object, change: Callable[[str], str]) -> Any:
    """What a user gave, with each text in it changed."""
    if isinstance(given, str):
        return change(given)
    if isinstance(given, Mapping):
        return {name: each(value, change) for name, value in given.items()}
    return [each(value, change) for value in given] if isinstance(given, Sequence) else given


def mappings(given: ReadPattern) -> Iterator[Mapped]:
    yield from swapped(given)
    yield from striped(given)


def swapped(given: ReadPattern) -> Iterator[Mapped]:
    """x and y of the threads exchanged, in a block whose sides are exchanged too."""
    x, y, z = given.block
    if min(x, y) < 2 or z > 1 or not (given.names("threadIdx.x") and given.names("threadIdx.y")):
        return

    def change(text: str) -> str:
        return AXIS.sub(lambda match: f"{match[1]}.{'y' if match[2] == 'x' else 'x'}", text)

    how = (f"block ({y}, {x}), with threadIdx.x for threadIdx.y and threadIdx.y for threadIdx.x",)
    yield Mapped(f"x and y of the threads swapped, block {y} × {x}", how, given.rewritten(change, block=(y, x, 1)))


def striped(given: ReadPattern) -> Iterator[Mapped]:
    """Neighbouring threads take neighbouring iterations of the only loop."""
    threads, y, z = given.block
    if max(y, z) > 1 or len(given.looped) != 1 or threads < 2 or not given.names("threadIdx.x"):
        return
    (loop,) = given.looped
    values = [int(value) for value in loop.values]
    steps = {after - before for before, after in pairwise(values)}
    if len(steps) != 1:
        return
    (step,), count = steps, len(values)
    item = f"({loop.name} * {threads} + threadIdx.x)"
    texts = {
        "threadIdx.x": f"({item} / {count})",
        loop.name: f"({f'{values[0]} + ' if values[0] else ''}{f'{step} * ' if step != 1 else ''}({item} % {count}))",
    }
    word = re.compile(rf"\b(?:cuda\.)?(threadIdx\.x|{loop.name})\b")

    def change(text: str) -> str:
        return word.sub(lambda match: texts[match[1]], text)

    description = given.rewritten(change, loops=[f"{loop.name}=0..{count - 1}"])
    how = (
        f"{loop.name} from 0 to {count - 1}, with i = {item[1:-1]}: "
        f"i / {count} for threadIdx.x and {texts[loop.name].replace(item, 'i')[1:-1]} for {loop.name}",
    )
    yield Mapped(f"neighbouring threads on neighbouring {loop.name}", how, description)
