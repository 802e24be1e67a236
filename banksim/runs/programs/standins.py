"""The stand-ins for libcuda.so.1 and libcudart.so.13: C sources beside this file, compiled when they are first needed.

They provide the functions of cuda.h and cuda_runtime_api.h, and use nothing but these headers. For each function of
the headers that they lack, one is generated that prints its name and returns cudaErrorNotSupported."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from banksim.errors import CompileError, InputError
from banksim.kernels.compilers import tools
from banksim.kernels.global_addresses import PROGRAM, STRIDE
from banksim.runs.programs import cublas_names, passed_on
from banksim.system import cache
from banksim.system.extras import missing
from banksim.system.writing import write

SOURCES = Path(__file__).parent / "cuda"
GENERATORS = [Path(file).read_bytes() for file in (__file__, f"{cublas_names.__file__}", f"{passed_on.__file__}")]
"""The code that makes the stand-ins, as it was when it was imported: another version has others."""
DRIVER, RUNTIME = "libcuda.so.1", "libcudart.so.13"
LIBRARIES = {
    "cublas": "libcublas.so.13",
    "cublasLt": "libcublasLt.so.13",
    "cufft": "libcufft.so.12",
    "curand": "libcurand.so.10",
    "cusolver": "libcusolver.so.12",
    "cusparse": "libcusparse.so.12",
}
"""The stand-ins for other libraries (cuda/libraries): their file names by the names of their sources."""
DECLARED = {library: f"banksim_{library}_declared.h" for library in LIBRARIES}
FLAGS = ("-cudart shared", "-lineinfo")
"""What nvcc is told where a program starts it: the runtime for which there is a stand-in, and lines for the report."""
COMPILERS = ("libnvrtc*.so.*", "libnvJitLink.so.*")
"""Libraries of NVIDIA's wheels that programs call as they are: they need no GPU. The wheels lack the names without a
version by which programs are linked to them."""
EVERY_LIBRARY = (DRIVER, RUNTIME, *LIBRARIES.values())
FIRST_SLOT, MODULE_SLOTS = 66, 64
"""The memory of a program: slots 1 to 63 are for the variables of its modules, 64 for the heap of malloc."""
HEAP_SLOT = 64
FILE_BYTES = 1 << 44
"""Size of the sparse file that all device memory lies in: of addresses, not of memory."""
SMALL_BYTES = 1 << 30
"""How much of it is for small allocations: around these, all pages are mapped."""
NUMBERS = {
    "SLOTS": PROGRAM.slots,
    "STRIDE": STRIDE,
    "INVERSE": PROGRAM.inverse,
    "FIRST_ADDRESS": f"{PROGRAM.first:#x}ull",
    "FIRST_SLOT": FIRST_SLOT,
    "MODULE_SLOTS": MODULE_SLOTS,
    "FILE_BYTES": f"{FILE_BYTES:#x}ull",
    "SMALL_BYTES": f"{SMALL_BYTES:#x}ull",
}
OPTIONS = ("-shared", "-fPIC", "-O1", "-w", "-std=gnu11", "-Wl,-Bsymbolic", "-Wl,-z,defs")
OTHER_HEADERS = ("cudaGL.h", "cudaEGL.h", "cudaVDPAU.h", "cudaProfiler.h")
ALWAYS = ("cuGetExportTable", "cuGetProcAddress_v2", "cuProfilerStart", "cuProfilerStop")
"""Functions that the driver has even if the headers lack them: those of the profiler come in a wheel of their own."""
NEEDED = {"cuda.h": "nvidia-cuda-runtime", "crt/host_defines.h": "nvidia-cuda-crt"}
"""Headers that must lie in one folder, and the wheel that brings each."""
BEYOND_HEADERS = ("__cudaLaunchKernel",)
"""Functions not in these headers that have a variant for per-thread default streams. crt/host_runtime.h calls them."""


def c_compiler() -> str | None:
    """The host's C compiler."""
    return next(filter(None, map(shutil.which, ("gcc", "cc", "clang"))), None)


def compilers() -> list[Path]:
    """The files of `COMPILERS` that are there."""
    return [file for root in tools.roots() for pattern in COMPILERS for file in (root / "lib").glob(pattern)]


def headers() -> Path:
    """The folder with the headers of one release. `InputError` where none has them all."""
    folders = tools.include_folders()
    for name, wheel in NEEDED.items():
        folders = [one for one in folders if (one / name).is_file()]
        if not folders:
            raise missing(f"CUDA programs need {name} ({wheel}), which is not here", "cuda")
    return folders[0]


def folder() -> Path:
    """Where the two libraries lie. InputError where nothing can compile them, CompileError if that fails."""
    include = headers()
    compiler = c_compiler()
    if compiler is None:
        raise InputError("CUDA programs need a C compiler, once, and there is none: install gcc (apt install gcc)")
    sources = sorted(SOURCES.rglob("*.[ch]"))
    read_here = [include / name for name in ("cuda.h", "cuda_runtime_api.h", "cudaTypedefs.h", "driver_types.h")]
    state = "".join(f"{file} {file.stat().st_size} {file.stat().st_mtime_ns}\n" for file in read_here)
    state += "".join(f"{file}\n" for file in compilers())
    contents = (file.read_bytes() for file in sources)
    key = cache.key("stand-ins", compiler, state, repr(NUMBERS), *GENERATORS, *contents)
    for base in (cache.folder, cache.passing):
        with suppress(OSError, RuntimeError):
            place = base()
            if not cache.made(place):
                continue
            target = place / "programs" / key[:16]
            libraries = (name for whole in EVERY_LIBRARY for name in (whole, linked(whole)))
            if not all((target / name).is_file() for name in (*libraries, *cublas_names.headers(), *DECLARED.values())):
                target.mkdir(parents=True, exist_ok=True)
                for file in compilers():  # before what another process looks for, which may be making the same
                    for name in {file.name, linked(file.name)}:
                        with suppress(FileExistsError):
                            (target / name).symlink_to(file)
                for name, content in build(compiler, include).items():
                    write(target / name, content, own=True)
            return target
    raise InputError("no folder that can be written to, not even for temporary files: CUDA programs need one")


def build(compiler: str, include: Path) -> dict[str, bytes]:
    """The libraries by their file names, each once more under the name that programs are linked to; and headers."""
    with tempfile.TemporaryDirectory(prefix="banksim-") as name:
        there = Path(name)
        driver, runtime = LibraryFunctions.of_driver(include), LibraryFunctions.of_runtime(include)
        (there / "driver_stubs.c").write_text("\n".join([*driver.stubs(), *driver.table()]))
        (there / "runtime_stubs.c").write_text("\n".join(runtime.stubs()))
        (there / "driver_passed_on.c").write_text(passed_on.of_driver(read(include / "cuda.h")))
        (there / "runtime_passed_on.c").write_text(passed_on.of_runtime(read(include / "cuda_runtime_api.h")))
        (there / "error_names.h").write_text("\n".join(error_names(include)))
        headers = cublas_names.headers() | dict.fromkeys(DECLARED.values(), "")
        for name, text in headers.items():
            (there / name).write_text(text)
        numbers = [f"-DBANKSIM_{key}={value}" for key, value in NUMBERS.items()]
        compiled = [compiler, *OPTIONS, *numbers, f"-I{there}", f"-I{SOURCES}"]
        common = [*compiled, f"-I{include}"]
        # NVIDIA's own headers may be there as well. What only passes calls on gains nothing by being optimised.
        of_libraries = [*compiled, "-O0", f"-I{SOURCES / 'include'}", f"-I{include}"]
        own = [str(file) for file in sorted(SOURCES.glob("*.c"))]
        of_runtime = [file for file in own if Path(file).name.startswith("runtime_")]
        of_driver = [file for file in own if file not in of_runtime]
        sources = {
            DRIVER: [*common, *of_driver, "driver_passed_on.c", "driver_stubs.c"],
            RUNTIME: [*common, *of_runtime, "runtime_passed_on.c", "runtime_stubs.c"],
        }
        (there / "driver.map").write_text("{ global: cu*; banksim_*; local: *; };\n")
        (there / "runtime.map").write_text(f"{RUNTIME} {{ global: cuda*; __cuda*; local: *; }};\n")
        with_driver = ["-L.", f"-l:{DRIVER}", "-Wl,-rpath,$ORIGIN"]
        linking = {
            DRIVER: driver.linking("driver", DRIVER),
            RUNTIME: [*runtime.linking("runtime", RUNTIME), *with_driver],
        }
        for source, name in LIBRARIES.items():
            parts = (SOURCES / "libraries" / f"{source}.c", *sorted((SOURCES / "libraries").glob(f"{source}_*.c")))
            sources[name] = [*of_libraries, *map(str, parts)]
            headers[DECLARED[source]] = declarations(there, sources[name], source)
            (there / DECLARED[source]).write_text(headers[DECLARED[source]])
            (there / f"{source}.map").write_text(f"{name} {{ global: {source}*; local: *; }};\n")
            own_name = [f"-Wl,-soname,{name}", f"-Wl,--version-script={source}.map"]
            linking[name] = [*own_name, f"-l:{RUNTIME}", *with_driver]
        run(there, {name: [*command, "-c"] for name, command in sources.items()})
        for name, options in linking.items():
            objects = [f"{Path(word).stem}.o" for word in sources[name] if word.endswith(".c")]
            run(there, {name: [compiler, *OPTIONS, *objects, *options, "-lpthread", "-ldl", "-o", name]})
        made = {name: (there / name).read_bytes() for name in EVERY_LIBRARY}
        linked_to = {linked(name): content for name, content in made.items()}
        return made | linked_to | {name: text.encode() for name, text in headers.items()}


def declarations(folder: Path, command: list[str], library: str) -> str:
    """The prototypes of all functions that the source of a library defines for programs, in C or C++."""
    command = [*command, "-E", "-P", "-DBANKSIM_DECLARING"]
    text = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout
    found = re.findall(rf"((?:\w+(?:_t|Result) |const char \*){library}\w+\([^;{{}}]+ [^;{{}}]+\)) \{{", text)
    begin, end = (f"#ifdef __cplusplus\n{text}\n#endif\n" for text in ('extern "C" {', "}"))
    return "".join([begin, *(f"{prototype};\n" for prototype in found), end])


def linked(name: str) -> str:
    """The name by which programs are linked to a library."""
    return name.partition(".so")[0] + ".so"


def run(folder: Path, commands: Mapping[str, Sequence[str]]) -> None:
    """Run compilers side by side, each for the library of its name. If this ends early, so do they."""
    started = dict[str, subprocess.Popen[str]]()
    try:
        for name, command in commands.items():
            started[name] = subprocess.Popen(
                command, cwd=folder, stderr=subprocess.PIPE, text=True, start_new_session=True
            )
        for name, process in started.items():
            _, said = process.communicate()
            if process.returncode:
                why = f"{commands[name][0]} cannot compile the stand-in for {name}: {tools.error_first(said)}"
                raise CompileError(why)
    finally:
        for process in started.values():
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.communicate()


class LibraryFunctions:
    """The functions of a library, from its headers. `per_thread`: those with a variant for per-thread default streams,
    which here does the same; and the ending of its name."""

    def __init__(self, names: Iterable[str], per_thread: Iterable[tuple[str, str]]) -> None:
        self.names = sorted(set(names))
        self.per_thread = sorted({(name, ending) for name, ending in per_thread if name in self.names})
        self.versions: dict[str, list[tuple[int, str]]] = {}

    @staticmethod
    def of_driver(include: Path) -> LibraryFunctions:
        text = "".join(read(include / name) for name in ("cuda.h", *OTHER_HEADERS))
        per_thread = re.findall(r"__CUDA_API_(PT[DS]S?Z?)\((cu\w+)\)", text)
        current = re.findall(r"#define\s+(cu[A-Z]\w+)\s+(cu[A-Z]\w+)\b", text)
        names = {*re.findall(r"\bCUDAAPI\s+(cu[A-Z]\w+)\s*\(", text), *(name for _, name in per_thread)}
        names |= {name for pair in current for name in pair} | set(ALWAYS)
        names = {name for name in names if not name.endswith(("_ptsz", "_ptds"))}
        found = LibraryFunctions(names, ((name, ending.lower()) for ending, name in per_thread))
        found.versions = versions(names, read(include / "cudaTypedefs.h"))
        return found

    @staticmethod
    def of_runtime(include: Path) -> LibraryFunctions:
        text = read(include / "cuda_runtime_api.h")
        names = re.findall(r"\bCUDARTAPI\s+(cuda[A-Z]\w+)\s*\(", text)
        per_thread = re.findall(r"__CUDART_API_(PT[DS]S?Z?)\((cuda\w+)\)", text)
        names += [name for _, name in per_thread] + list(BEYOND_HEADERS)
        pairs = [(name, ending.lower()) for ending, name in per_thread]
        return LibraryFunctions(names, [*pairs, *((name, "ptsz") for name in BEYOND_HEADERS)])

    def stubs(self) -> Iterator[str]:
        """C code that defines each function that the sources do not define."""
        yield "extern int banksim_missing(const char *);"
        for name in self.names:
            yield f'__attribute__((weak)) int {name}(void) {{ return banksim_missing("{name}"); }}'

    def table(self) -> Iterator[str]:
        """C code of the table in which cuGetProcAddress looks up functions."""
        yield "const struct { const char *name; int version; void *function; } banksim_functions[] = {"
        for base, symbols in sorted(self.versions.items()):
            yield from (f'{{"{base}", {version}, (void *){name}}},' for version, name in sorted(symbols))
        yield "{0, 0, 0}};"

    def linking(self, what: str, name: str) -> list[str]:
        aliases = [f"-Wl,--defsym={base}_{ending}={base}" for base, ending in self.per_thread]
        return [f"-Wl,-soname,{name}", f"-Wl,--version-script={what}.map", *aliases]


def read(header: Path) -> str:
    return header.read_text() if header.is_file() else ""


def versions(names: Iterable[str], typedefs: str) -> dict[str, list[tuple[int, str]]]:
    """The symbols of each function's variants, by its plain name; each with the version of CUDA from which on it is
    meant. The types (PFN_cuMemAlloc_v3020) are named by these versions. There may be more types than symbols; the
    newest of both belong together."""
    known = defaultdict(set)
    for base, version in re.findall(r"\*PFN_(cu\w+?)_v(\d+)\)", typedefs):
        known[base].add(int(version))
    variants = defaultdict(list)
    for name in names:
        if match := re.fullmatch(r"(\w+?)(?:_v(\d))?", name):
            variants[match[1]].append((int(match[2] or 1), name))
    found = {}
    for base, symbols in variants.items():
        newest_first = [name for _, name in sorted(symbols, reverse=True)]
        since = [*sorted(known[base], reverse=True), *[0] * len(symbols)]
        pairs = list(zip(since, newest_first, strict=False))
        found[base] = [*pairs[:-1], (0, pairs[-1][1])]
    return found


def error_names(include: Path) -> Iterator[str]:
    """C code of the numbers and names of the runtime's errors."""
    text = read(include / "driver_types.h")
    text = text[text.index("enum __device_builtin__ cudaError") :]
    for name, number in re.findall(r"\b(cudaError\w*|cudaSuccess)\s*=\s*(\d+)", text[: text.index("};")]):
        yield f'{{{number}, "{name}"}},'


def environment(libraries: Path) -> dict[str, str]:
    """The additions to a program's environment. With them it, and all that it starts, finds the stand-ins first;
    compilers and linkers find the headers and libraries that NVIDIA's wheels leave out. NVIDIA's own tools come last,
    in the order of a CUDA installation; nvcc gets `FLAGS`. Triton is told that its
    kernels are for an NVIDIA GPU: it would ask PyTorch, which may be one for processors only."""

    def beside(name: str, folder: object, first: bool) -> str:
        before = os.environ.get(name)
        return os.pathsep.join(filter(None, (f"{folder}", before) if first else (before, f"{folder}")))

    found = {name: beside(name, libraries, first=True) for name in ("LD_LIBRARY_PATH", "LIBRARY_PATH")}
    found["CPATH"] = beside("CPATH", f"{SOURCES / 'include'}{os.pathsep}{libraries}", first=False)
    flags = os.environ.get("NVCC_APPEND_FLAGS", "")
    wanted = [flag for flag in FLAGS if flag.split()[0] not in flags]
    found["NVCC_APPEND_FLAGS"] = " ".join(filter(None, [flags, *wanted]))
    found["TRITON_DEFAULT_BACKEND"] = os.environ.get("TRITON_DEFAULT_BACKEND", "nvidia")
    tools_last = [os.environ.get("PATH", os.defpath), *(str(root / "bin") for root in tools.roots())]
    return found | {"PATH": os.pathsep.join(tools_last)}
