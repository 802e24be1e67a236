"""CUDA C++ → cubin where there is no host compiler: NVRTC, which knows a file's device side only.

What a file holds for the host is in its way: host headers are replaced by the C++ library for devices or by
nothing, and host functions that NVRTC complains of are blanked, so that every other line keeps its number.
"""

import os
import re
from collections.abc import Mapping
from typing import Any

from banksim.errors import CompileError
from banksim.kernels.compilers import tools
from banksim.kernels.compilers.source import Compilation
from banksim.system.extras import missing

MISSING = re.compile(r'error: cannot open source file "([^"]+)"')
HOST_FUNCTION = re.compile(r"^(.*)\((\d+)\): error: A function without execution space", re.MULTILINE)
TOKEN = re.compile(
    r"""//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|^[ \t]*\#(?:\\\n|[^\n])*|[{};\n]""",
    re.DOTALL | re.MULTILINE,
)
STANDARD = """
    algorithm array atomic bitset cassert cctype cerrno cfloat chrono climits cmath complex csignal
    cstddef cstdint cstdio cstdlib cstring ctime deque exception fstream functional iomanip
    initializer_list ios iostream istream iterator limits list map memory mutex new numeric optional
    ostream queue random ratio regex set sstream stack stdexcept streambuf string string_view
    system_error thread tuple type_traits typeinfo unordered_map unordered_set utility valarray variant
    vector assert.h ctype.h errno.h float.h inttypes.h limits.h malloc.h math.h memory.h stdbool.h
    stddef.h stdint.h stdio.h stdlib.h string.h strings.h sys/time.h time.h unistd.h windows.h
"""
"""Headers of the host that a file with kernels may include."""
DEVICE_TWIN = {"stdint.h": "cstdint", "stddef.h": "cstddef", "limits.h": "climits", "float.h": "cfloat"}


def identity() -> str:
    """What tells this version of NVRTC from others."""
    major, minor = ask("nvrtcVersion")
    return f"nvrtc {major}.{minor}"


def compile_nvrtc(source: Compilation) -> bytes:
    """The cubin of a file's device side. CompileError with NVRTC's log."""
    text = source.file.read_text(errors="replace")
    folders = [source.file.parent, *tools.include_folders(), *source.helpers]
    options = [f"--gpu-architecture={source.arch}", "-w", "--device-int128", *source.options(), *source.preprocessing()]
    options += [f"-I{folder}" for folder in folders]
    headers: dict[str, str] = {}
    while True:
        cubin, log = compile_once(str(source.file), text, options, headers, source.instances)
        if cubin is not None:
            return cubin
        missing = {name for name in MISSING.findall(log) if name in STANDARD.split()} - headers.keys()
        lines = {int(line) for file, line in HOST_FUNCTION.findall(log) if file == str(source.file)}
        before = text
        headers.update((name, device_header(name)) for name in missing)
        text = without_functions(text, lines)
        if not missing and text == before:
            raise CompileError(tools.complaint(log))


def device_header(name: str) -> str:
    """What stands in for a host header: the device library's of that name, else nothing."""
    twin = DEVICE_TWIN.get(name, name)
    if any((folder / "cuda" / "std" / twin).is_file() for folder in tools.include_folders()):
        # Of the namespace it declares nothing where it has macros alone.
        names = "namespace cuda { namespace std {} }\nnamespace std { using namespace cuda::std; }\n"
        return f"#include <cuda/std/{twin}>\n{names}"
    return ""


def without_functions(text: str, lines: set[int]) -> str:
    """`text` with the functions blanked whose heads stand on one of `lines` (counted from 1)."""
    kept: list[str] = []
    at = head = 0  # what is kept so far; the end of whatever stands before the next function's head
    line = first = 1  # the line of the token; that of the head
    depth = 0  # of braces inside a function that is being left out
    for match in TOKEN.finditer(text):
        token, end = match[0], match.end()
        line += token.count("\n")
        if depth:
            depth += {"{": 1, "}": -1}.get(token, 0)
            if depth == 0:
                kept.append("\n" * text.count("\n", at, end))
                at = end
        elif token == "{" and ")" in text[head:end] and any(first <= wanted <= line for wanted in lines):
            kept.append(text[at:head])
            at, depth = head, 1
        if depth == 0 and (token in "{};" or token.lstrip().startswith("#")):
            head, first = end, line
    return "".join([*kept, text[at:]])


def compile_once(
    name: str, text: str, options: list[str], headers: Mapping[str, str], instances: tuple[str, ...]
) -> tuple[bytes | None, str]:
    """The cubin, or None, and NVRTC's log."""
    bodies, names = [body.encode() for body in headers.values()], [header.encode() for header in headers]
    (program,) = ask("nvrtcCreateProgram", text.encode(), os.fsencode(name), len(headers), bodies, names)
    try:
        for instance in instances:
            ask("nvrtcAddNameExpression", program, instance.encode())
        encoded = [os.fsencode(option) for option in options]
        try:
            ask("nvrtcCompileProgram", program, len(encoded), encoded)
        except CompileError:
            return None, result(program, "ProgramLog").decode(errors="replace").rstrip("\0")
        return result(program, "CUBIN"), ""
    finally:
        ask("nvrtcDestroyProgram", program)


def result(program: object, what: str) -> bytes:
    (size,) = ask(f"nvrtcGet{what}Size", program)
    buffer = bytearray(size)
    ask(f"nvrtcGet{what}", program, buffer)
    return bytes(buffer)


def ask(function: str, *arguments: object) -> tuple[Any, ...]:
    """What a function of NVRTC returns beside its status. CompileError names a status that is not success."""
    try:
        from cuda.bindings import nvrtc
    except ImportError:
        raise missing("CUDA C++ needs a host compiler for nvcc (g++) or NVRTC", "cuda") from None
    status, *values = getattr(nvrtc, function)(*arguments)
    if status != nvrtc.nvrtcResult.NVRTC_SUCCESS:
        raise CompileError(f"{function}: {status.name}")
    return tuple(values)
