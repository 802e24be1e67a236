"""Mangled names as people write them."""

import ctypes
import functools
import re
from typing import Any

LIBRARIES = ("libstdc++.so.6", "libc++abi.so.1", "libc++abi.dylib")
"""The C++ libraries that have a demangler."""
INTERNAL = re.compile(r"\b_INTERNAL_[0-9a-f]{8}_\d+_\w+::")
"""The namespace that the compiler adds to what is known in one file only."""
OF_VERSION = re.compile(r"\b(?:_V_\w+|__\d+)::")
"""The inline namespaces by which CUB, Thrust and libcu++ tell their versions apart: no one writes them."""
ARGUMENTS = re.compile(r"<[^<>]*>")
LONGEST = 60
"""How many letters of a name with its template arguments are read at a glance."""
NUMBA_TAG = re.compile(r"\[abi:[^\]]*\]")


@functools.cache
def demangler() -> Any:
    """__cxa_demangle, or None where no C++ library is to be found."""
    for library in LIBRARIES:
        try:
            function = ctypes.CDLL(library).__cxa_demangle
        except (OSError, AttributeError):
            continue
        function.restype = ctypes.c_void_p
        function.argtypes = [ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
        return function
    return None


@functools.lru_cache(65536)
def demangled(name: str) -> str:
    """A C++ symbol as in C++ (`void copy<32>(float*)`); one that cannot be read stays as it is."""
    function = demangler()
    if function is None or not name.startswith("_Z"):
        return name
    status = ctypes.c_int()
    text = function(name.encode(), None, None, ctypes.byref(status))
    if status.value or not text:
        return name
    try:
        return ctypes.string_at(text).decode(errors="replace")
    finally:
        free = ctypes.CDLL(None).free
        free.argtypes = [ctypes.c_void_p]
        free(text)


CUTILE = re.compile(r"(\w+?)_Kt\d+_\w+")
"""A function of cuTile: its name, the calling convention, and what was assumed of each argument."""


@functools.lru_cache(65536)
def plain_name(symbol: str) -> str:
    """A kernel's name without result and arguments, with namespaces and template arguments: `ns::copy<32>`.

    Of a function of Numba or of cuTile, whose symbol also tells how it was compiled, the name alone.
    """
    if match := CUTILE.fullmatch(symbol):
        return match[1]
    text = demangled(symbol)
    start, end = head(text)
    name = text[start:end]
    return NUMBA_TAG.sub("", name).rpartition("::")[2] if "[abi:" in name else name


def template_name(symbol: str) -> str:
    """A kernel's plain name without template arguments: `ns::copy`."""
    return plain_name(symbol).partition("<")[0]


def unqualified(symbol: str) -> str:
    """A kernel's plain name without namespaces: `copy<32>`."""
    namespaces, separator, _ = template_name(symbol).rpartition("::")
    return plain_name(symbol)[len(namespaces) + len(separator) :]


@functools.lru_cache(65536)
def readable(symbol: str) -> str:
    """The name of a function that was inlined, as short as one can read."""
    return shortened(INTERNAL.sub("", plain_name(symbol)))


def shortened(name: str) -> str:
    """A plain name as short as one can read: of a long one template arguments as <…>, and of one that is still long no
    namespaces."""
    if len(name) > LONGEST:
        name = OF_VERSION.sub("", name)
    while len(name) > LONGEST and (shorter := ARGUMENTS.sub("…", name)) != name:
        name = shorter
    name = name.replace("…", "<…>")
    return name if len(name) <= LONGEST else name.rpartition("::")[2]


def last_part(symbol: str) -> str:
    """A kernel's name without namespaces and template arguments: `copy`."""
    return template_name(symbol).rpartition("::")[2]


def signature(symbol: str) -> str:
    """A kernel's plain name with the types of its arguments: `ns::copy<32>(float*)`."""
    text = demangled(symbol)
    start, _ = head(text)
    return plain_name(symbol) if "[abi:" in text else text[start:]


def head(text: str) -> tuple[int, int]:
    """Where in `void ns::copy<(ns::Mode)1>(float*)` the name begins and ends, template arguments included."""
    depth = start = 0
    for at, letter in enumerate(text):
        if letter == "(" and depth == 0 and not text.startswith("(anonymous namespace)", at):
            return start, at
        if letter in "<([":
            depth += 1
        elif letter in ">)]":
            depth -= 1
        elif letter == " " and depth == 0:
            start = at + 1
    return start, len(text)


@functools.lru_cache(65536)
def function_name(symbol: str) -> str:
    """What to call a function inside a cubin: `$_Z3recPi$_Z3fibi` is fib, as called by rec."""
    parts = [part for part in symbol.split("$") if part]
    last = parts[-1] if not parts[-1].isdigit() or len(parts) == 1 else parts[-2]
    return plain_name(last)


def is_internal(symbol: str) -> bool:
    """Whether the compiler brought this function along (division, square root): it has no source lines."""
    return function_name(symbol).startswith("__cuda_sm") or "__internal_" in symbol


def normalised(name: str) -> str:
    """A name to compare by: without blanks, and without the suffixes of integers (`32u`)."""
    return re.sub(r"(?<=\d)[uUlL]+\b", "", name.replace(" ", ""))
