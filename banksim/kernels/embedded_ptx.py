"""The PTX that a cubin was made of, which it holds where it was compiled with line information."""

import re

from banksim.kernels.elf import Elf, is_cubin

SECTION = ".nv_debug_ptx_txt"
"""Its lines end with zeros."""
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
DYNAMIC_SHARED = re.compile(r"\.extern\s+\.shared\b[^;]*?([\w$]+)\s*\[\s*\]\s*;")
PART = re.compile(r"(?=\.(?:entry|func|section)\b)")
FUNCTION = re.compile(r"\.(?:entry|func)\s*(?:\([^)]*\)\s*)?([\w$]+)")
WORD = re.compile(r"[%\w$]+")


def embedded_ptx(cubin: bytes) -> str:
    """The PTX in a cubin; nothing where it has none, or there is no cubin, but instructions alone."""
    return Elf(cubin).content(SECTION).replace(b"\0", b"\n").decode(errors="replace") if is_cubin(cubin) else ""


def uses_dynamic_shared(cubin: bytes, kernel: str) -> bool:
    """Whether a kernel, or a function that it reaches, names an array of dynamic shared memory in the embedded PTX.

    Such an array belongs to the whole file, and machine code tells nothing of it: it has no size and no symbol."""
    text = COMMENT.sub("", embedded_ptx(cubin))
    arrays = frozenset(DYNAMIC_SHARED.findall(text))
    words: dict[str, set[str]] = {}
    for part in PART.split(DYNAMIC_SHARED.sub("", text)):
        if named := FUNCTION.match(part):
            words.setdefault(named[1], set()).update(WORD.findall(part))
    reached, open_ends = {kernel}, [kernel]
    while open_ends:
        called = (words.get(open_ends.pop(), set()) & words.keys()) - reached
        reached |= called
        open_ends += called
    return any(arrays & words.get(name, set()) for name in reached)
