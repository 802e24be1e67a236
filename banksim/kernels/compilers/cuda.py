"""CUDA C++ → cubin: nvcc where there is a host compiler, NVRTC where there is none."""

import contextlib
import functools
import json
import os
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from banksim.errors import CompileError
from banksim.kernels.compilers import nvrtc, tools
from banksim.kernels.compilers.host_part import LeftOut, compile_device_part
from banksim.kernels.compilers.included import folders, not_found, read_all
from banksim.kernels.compilers.source import Compilation, require_source, resolved
from banksim.system import cache
from banksim.system.paths import from_here
from banksim.system.visible import say
from banksim.system.writing import write

FLAGS = ("NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS")
"""The environment variables from which nvcc reads more options: the user's, not those of whoever wrote a source."""


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
    folders = resolved(includes)
    wanted = Compilation(source_file(source), arch, tuple(defines), folders, std, tuple(instances), relocatable)
    try:
        cubin, left_out = compiled(wanted)
    except CompileError as error:
        raise CompileError(from_here(str(error))) from None
    if left_out:
        tell_once(f"{from_here(str(wanted.file))}: compiled without {left_out}, which the host needs")
    return cubin


@functools.cache
def tell_once(line: str) -> None:
    """Tell what a file is compiled without, which it may be for several instances."""
    say(line)


def compiled(wanted: Compilation) -> tuple[bytes, LeftOut | None]:
    """The cubin, and what the file was compiled without, if anything."""
    host = tools.host_compiler()
    wanted = replace(wanted, helpers=(*wanted.helpers, *folders([wanted.file], wanted.includes)))
    contents = list(read_all(wanted.file, [*wanted.includes, *wanted.helpers]))
    key = cache.key(
        "cuda",
        f"{tools.identity('nvcc')} {host}" if host else nvrtc.identity(),
        *(os.environ.get(name, "") for name in FLAGS),
        wanted.arch,
        *wanted.preprocessing(),
        *wanted.options(),
        *wanted.instances,
        str(wanted.file),
        *(content for content in contents if content is not None),
    )
    whole = None not in contents
    cubin = cache.get(key) if whole else None
    left_out = None
    if cubin is None and host:
        cubin, left_out = again(wanted, key) or compile_nvcc(wanted)
        if whole:
            cache.put(*(part_kept(key, cubin, left_out) if left_out else (key, cubin)))
    elif cubin is None:
        cubin = nvrtc.compile_nvrtc(wanted)
        if whole:
            cache.put(key, cubin)
    return cubin, left_out


def part_kept(key: str, cubin: bytes, left: LeftOut) -> tuple[str, bytes]:
    """How a file's device part is kept, apart from whole ones: a header that was missing may come."""
    return cache.key("device part", key), json.dumps(vars(left)).encode() + b"\n" + cubin


def again(source: Compilation, key: str) -> tuple[bytes, LeftOut] | None:
    """A device part that was compiled before, if all that was missing still is."""
    stored = cache.get(cache.key("device part", key))
    if stored is None:
        return None
    head, _, cubin = stored.partition(b"\n")
    left = LeftOut(**json.loads(head))
    places = [source.file.parent, *source.includes, *source.helpers, *tools.include_folders()]
    return None if any((place / name).is_file() for place in places for name in left.headers) else (cubin, left)


def source_file(source: str | Path) -> Path:
    """The file to compile. Source text is kept in a file, so that its lines can be shown later."""
    if isinstance(source, str) and ("\n" in source or "{" in source):
        return cache.keep(source.encode(), "kernel.cu")
    require_source(Path(source))
    return Path(source).resolve()


def compile_nvcc(source: Compilation) -> tuple[bytes, LeftOut | None]:
    """The cubin that nvcc makes, and what the file was compiled without, if anything. CompileError with its message."""
    try:
        return nvcc(source, f'#include "{source.file}"'), None
    except CompileError as error:
        first = f'#line 1 "{source.file}"\n'
        nowhere = not_found(source.file, [*source.includes, *source.helpers])
        return compile_device_part(source.file, nowhere, lambda text, names: nvcc(source, first + text, names), error)


def nvcc(source: Compilation, text: str, empty: Sequence[str] = ()) -> bytes:
    """The cubin of a text that stands for the source's, with empty headers of these names.

    nvcc hands its command line to a shell. So no name of the user's stands there: a neutral file has the text, a file
    of options, which the host compiler reads, macros and folders.
    """
    # Taking a kernel's address on the host side instantiates it.
    lines = [text, *(f"static auto banksim_{n} = &{one};" for n, one in enumerate(source.instances))]
    with tempfile.TemporaryDirectory(prefix="banksim-") as name:
        folder = Path(name)
        for header in empty:
            with contextlib.suppress(
                OSError
            ):  # no file can have the name: then the compiler says again that it is missing
                (folder / "empty" / header).parent.mkdir(parents=True, exist_ok=True)
                (folder / "empty" / header).touch()
        options = [*source.preprocessing(), "-iquote", str(source.file.parent)]
        for last in (*source.helpers, folder / "empty"):
            options += ["-idirafter", str(last)]
        write(folder / "kernel.cu", os.fsencode("\n".join([*lines, ""])), own=True)
        write(folder / "options", os.fsencode("\n".join(map(quoted, options))), own=True)
        command = ["-cubin", "-arch", source.arch, "-w", *source.options(), "-Xcompiler", "@options"]
        tools.run("nvcc", [*command, "-o", "made.cubin", "kernel.cu"], folder, what=str(source.file))
        return (folder / "made.cubin").read_bytes()


def quoted(option: str) -> str:
    """An option as compilers read it from a file."""
    return '"' + option.replace("\\", "\\\\").replace('"', '\\"') + '"'
