"""The types of a kernel's parameters, as far as its mangled name or else its source or PTX tells them, and what may be
given for each."""

import functools
import re

import numpy as np

from banksim.errors import ArgumentTypeError
from banksim.kernels import demangling
from banksim.kernels.embedded_ptx import embedded_ptx
from banksim.kernels.kernel import Kernel
from banksim.machine.structs import Struct

OF_PTX = " (of PTX)"
NUMBERS = {
    **dict.fromkeys(("bool", "char", "signed char", "unsigned char"), ("i", 1)),
    **dict.fromkeys(("short", "unsigned short"), ("i", 2)),
    **dict.fromkeys(("int", "unsigned int"), ("i", 4)),
    **dict.fromkeys(("long", "unsigned long", "long long", "unsigned long long"), ("i", 8)),
    "__half": ("f", 2),
    "float": ("f", 4),
    "double": ("f", 8),
    **{f".{kind}{8 * size}{OF_PTX}": ("i", size) for kind in "us" for size in (1, 2, 4, 8)},
    **{f".f{8 * size}{OF_PTX}": ("f", size) for size in (2, 4, 8)},
}
"""Kind and bytes of C++'s numbers, as compilers of Linux have them, and of PTX's."""
ADDRESS = re.compile(r"\.[us]64 \(of PTX\)")
"""An address or a number: PTX tells no more."""
PTX_PARAMETER = re.compile(r"\.param\s+(?:\.align\s+\d+\s+)?(\.[usf]\d+)(?=\s)[^,\[)]*(\[)?")
VECTOR = re.compile(r"u?(char|short|int|longlong|long|float|double)[1-4]|(__half)2")
SPELLED = {"longlong": "long long"}
POINTER = re.compile(r"([^*&()]+?)(?: const| volatile)*\*(?: const| volatile| __restrict__)*")
ENUM_BYTES = 4
"""What a Python int may be given for, if the parameter is of a named type: an enumeration, rarely larger than int."""


def parameter_types(kernel: Kernel) -> list[str | None]:
    """The type of each parameter as in C++; where the name is not mangled (extern "C"), as the source declares it or
    else as in PTX; None where nothing tells it."""
    text = demangling.demangled(kernel.name)
    _, end = demangling.head(text)
    listed = split(text[end + 1 : text.rfind(")")]) if end < len(text) and "[abi:" not in text else []
    known: list[str | None] = [*listed] or in_ptx(kernel.cubin, kernel.name)
    count = len(kernel.parameters)
    known = known if len(known) == count else [None] * count
    return [a or b for a, b in zip(kernel.declared, known, strict=True)] if len(kernel.declared) == count else known


@functools.lru_cache(64)
def in_ptx(cubin: bytes, name: str) -> list[str | None]:
    """The types of a kernel's parameters in the PTX that a cubin holds; None for structs and plain bits (.b32).
    Nothing where there is no cubin, but instructions alone."""
    entry = re.search(rf"\.entry\s+{re.escape(name)}\s*\(([^{{]*)", embedded_ptx(cubin))
    declared = re.split(r"(?=\.param\b)", entry[1])[1:] if entry else []
    found = [PTX_PARAMETER.match(one) for one in declared]
    return [f"{one[1]}{OF_PTX}" if one and not one[2] else None for one in found]


def with_types(kernel: Kernel) -> str:
    """A kernel's name with the parameters that callers give: their types, or where nothing tells these their sizes."""
    signature = demangling.signature(kernel.name)
    if signature.endswith(")"):
        return signature
    hidden = len(kernel.preset.scratch) if kernel.preset else 0
    given = [*zip(parameter_types(kernel), kernel.parameters, strict=True)][: len(kernel.parameters) - hidden]
    listed = (kind.removesuffix(OF_PTX) if kind else f"{parameter.size} bytes" for kind, parameter in given)
    return f"{signature}({', '.join(listed)})"


def split(listed: str, opening: str = "<([{", closing: str = ">)]}") -> list[str]:
    """Types, or other texts, with commas between them, apart; commas within brackets part nothing."""
    parts, depth = [""], 0
    for letter in listed:
        depth += (letter in opening) - (letter in closing)
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts if part.strip()]


def as_declared(value: object, size: int, declared: str | None, where: str) -> object:
    """The value for a parameter of `size` bytes. `ArgumentTypeError` where C++ would take it for something else: the
    bits of a number of another kind, the address of other elements. A Python int for a float is converted."""
    if declared is None:
        return value
    array, dtype = isinstance(value, np.ndarray) and value.ndim > 0, dtype_of(value)
    pointer, kind = POINTER.fullmatch(declared), NUMBERS.get(declared, ("", 0))[0]
    if isinstance(value, Struct):
        fits = not (pointer or kind)
    elif pointer:
        fits = points_to(dtype, pointer[1]) if array and dtype else dtype is None or dtype.kind in "iuVS"
    elif ADDRESS.fullmatch(declared):
        fits = array or dtype is None or dtype.kind in "iubVS"
    elif kind == "f" and isinstance(value, bool | int):
        return float(value)
    elif kind:
        fits = not array and (dtype is None or dtype.kind in {"i": "iubVS", "f": "fVS"}[kind])
    else:
        fits = not isinstance(value, float) and (not isinstance(value, int) or size <= ENUM_BYTES)
    if fits:
        return value
    plain = value.item() if isinstance(value, np.generic) else value  # 1.5 and not np.float32(1.5)
    given = f"an array of {dtype}" if array else f"{plain!r} ({type(value).__name__})"
    raise ArgumentTypeError(f"{where} is {given}, and the parameter is {declared}")


def dtype_of(value: object) -> np.dtype | None:
    """Of a number or an array; None for anything else."""
    if isinstance(value, np.ndarray | np.generic):
        return value.dtype
    return np.asarray(value).dtype if isinstance(value, float | complex) else None


def points_to(dtype: np.dtype, element: str) -> bool:
    """Whether an array may stand for a pointer to a C++ type: of its numbers (unsigned: bits of floats) or bytes."""
    vector = VECTOR.fullmatch(element)
    base = (vector[1] or vector[2]) if vector else element
    kind, size = NUMBERS.get(SPELLED.get(base, base), ("", 1))
    if size == 1 or dtype.itemsize == 1 or dtype.kind in "VSU":
        return True
    parts = 2 if dtype.kind == "c" else 1
    return dtype.kind in {"i": "iumM", "f": "fcu"}[kind] and dtype.itemsize == size * parts
