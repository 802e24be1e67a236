"""CUDA C++ → cubin: nvcc where there is a host compiler, NVRTC where there is none."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from banksim.errors import InputError
from banksim.kernels.compilers import nvrtc, tools
from banksim.kernels.compilers.source import Compilation
from banksim.system import cache
from banksim.system.writing import write

FLAGS = ("NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS")
"""What nvcc reads more options from. They are the user's own, not those of whoever wrote a source."""
INCLUDE = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*(?:(["<])([^">\n]+)[">]|(\S.*))', re.MULTILINE)


def compile_cuda(
    source: str | Path,
    arch: str = "sm_90",
    defines: Sequence[str] = (),
    includes: Sequence[str | Path] = (),
    std: str | None = None,
    *,
    instances: Sequence[str] = (),
    relocatable: bool = False,
) -> bytes:
    """The cubin of a CUDA C++ file (a Path, or its name) or of source text (a str with a { or many lines).

    `defines` are NAME or NAME=VALUE, `includes` folders, `std` a standard (c++17), `instances` kernels
    to make of templates that the source leaves alone, as in C++ (transpose<32>). `relocatable` leaves calls
    between files open for `link`. CompileError with the compiler's message, InputError for no such file.
    """
    wanted = Compilation(
        file=source_file(source),
        arch=arch,
        defines=tuple(defines),
        includes=tuple(Path(folder).resolve() for folder in includes),
        std=std.removeprefix("-std=").removeprefix("--std=") if std else None,
        instances=tuple(instances),
        relocatable=relocatable,
    )
    wanted.check()
    host = tools.host_compiler()
    contents = list(read_all(wanted.file, wanted.includes))
    key = cache.key(
        "cuda",
        f"{tools.identity('nvcc')} {host}" if host else nvrtc.identity(),
        *(os.environ.get(name, "") for name in FLAGS),
        arch,
        *wanted.preprocessing(),
        *wanted.options(),
        *wanted.instances,
        str(wanted.file),
        *(content for content in contents if content is not None),
    )
    whole = None not in contents
    cubin = cache.get(key) if whole else None
    if cubin is None:
        cubin = compile_nvcc(wanted) if host else nvrtc.compile_nvrtc(wanted)
        if whole:
            cache.put(key, cubin)
    return cubin


def source_file(source: str | Path) -> Path:
    """The file to compile. Source text is kept in a file, so that its lines can be shown later."""
    if isinstance(source, str) and ("\n" in source or "{" in source):
        return cache.keep(source.encode(), "kernel.cu")
    file = Path(source)
    if not file.is_file():
        raise InputError(f"{file}: no such file")
    return file.resolve()


def read_all(
    file: Path, includes: Sequence[Path], seen: set[Path] | None = None, missing: set[str] | None = None
) -> Iterator[bytes | None]:
    """The contents of a file and of the headers that it may include, those of compilers and system aside, whose names
    are added to `missing`.

    Reads more than a preprocessor would, never less. None stands for a header that only a preprocessor can
    name.
    """
    seen = set() if seen is None else seen
    seen.add(file)
    content = file.read_bytes()
    yield content
    for quote, name, computed in INCLUDE.findall(content):
        if computed:
            yield None
            continue
        folders = ([file.parent] if quote == b'"' else []) + list(includes)
        found = next((path for folder in folders if (path := folder / os.fsdecode(name)).is_file()), None)
        if found is None:
            if missing is not None:
                missing.add(os.fsdecode(name))
        elif found.resolve() not in seen:
            yield from read_all(found.resolve(), includes, seen, missing)


def compile_nvcc(source: Compilation) -> bytes:
    """The cubin that nvcc makes. CompileError with its message.

    nvcc hands its command line to a shell. So no name of the user's stands there: a neutral file includes the source,
    and macros and folders are in a file of options that the host compiler reads.
    """
    lines = [f'#include "{source.file}"']
    # Taking a kernel's address on the host side instantiates it.
    lines += [f"static auto banksim_{n} = &{text};" for n, text in enumerate(source.instances)]
    with tempfile.TemporaryDirectory(prefix="banksim-") as name:
        folder = Path(name)
        write(folder / "kernel.cu", os.fsencode("\n".join([*lines, ""])), own=True)
        write(folder / "options", os.fsencode("\n".join(map(quoted, source.preprocessing()))), own=True)
        command = ["-cubin", "-arch", source.arch, "-w", *source.options(), "-Xcompiler", "@options"]
        tools.run("nvcc", [*command, "-o", "made.cubin", "kernel.cu"], folder, what=str(source.file))
        return (folder / "made.cubin").read_bytes()


def quoted(option: str) -> str:
    """An option as compilers read it from a file."""
    return '"' + option.replace("\\", "\\\\").replace('"', '\\"') + '"'
