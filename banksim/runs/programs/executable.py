"""What `banksim run` is given to run: CUDA C++ to compile, an executable, a script, or a Python file, told apart."""

import os
import platform
import re
import shlex
import shutil
import struct
from collections.abc import Sequence
from contextlib import suppress
from itertools import takewhile
from pathlib import Path

from banksim.errors import CompileError, InputError
from banksim.kernels.compilers import included, tools
from banksim.kernels.compilers.cuda import FLAGS
from banksim.kernels.compilers.headers import hint
from banksim.kernels.compilers.included import read_all
from banksim.kernels.compilers.source import require_source
from banksim.kernels.elf import HEADER, SECTION, SYMBOL
from banksim.runs.programs import standins
from banksim.system import cache
from banksim.system.writing import replaced, write

CUDA, HOST = (".cu",), (".cpp", ".cxx", ".cc", ".c")
"""Endings of sources: of CUDA C++, and of those for the host's compiler alone."""
PYTHON = (".py", ".pyw", ".ipynb")
KERNELS = (".ptx", ".cubin", ".fatbin", ".cuh", ".cpp", ".cxx", ".cc")
MACHINES = {62: "x86_64", 183: "aarch64"}
"""The processors that CUDA 13 has host code for, by their numbers in ELF files."""
UNDEFINED, DYNAMIC_SYMBOLS, DYNAMIC = 0, 11, 6
NEEDED = 1
FOR_A_SHELL = re.compile(r"[^\w./+,=@%:~-]")
"""Characters that names given to nvcc cannot have, because it hands its command line to a shell."""
OF_DRIVER = re.compile(
    rb"^[ \t]*(?:(?:import|from)[ \t]+(?:numba_cuda_mlir|cuda\.(?:tile|core|bindings))"
    rb"|from[ \t]+cuda[ \t]+import[ \t]+(?:tile|core|bindings))\b|[\"']libcuda(?:rt)?\.so",
    re.MULTILINE,
)
"""How a Python file names what launches kernels through the driver or the runtime: cuTile and the like."""
OF_NUMBA = re.compile(rb"^[ \t]*(?:import|from)[ \t]+numba\b", re.MULTILINE)
IN_PROCESS = re.compile(rb"^[ \t]*(?:import|from)[ \t]+(?:torch|triton|warp)\b", re.MULTILINE)
"""What a Python file imports that is simulated in banksim's own process only."""
WITHOUT_MAIN = re.compile(r"undefined (?:reference to|symbol:?) [`'\"]?main\b")
"""What linkers say of sources that are no program."""
WITHOUT_STAND_IN = re.compile(
    r"(?:reference to [`'\"]|symbol:? |find -l|error: |file \")"
    r"(?P<library>cudnn|cutensor|nccl|npp|nvjpeg)\w*"
)
"""What compilers and linkers say of a library of NVIDIA's that banksim does not have."""
NOT_PROVIDED = re.compile(rf'identifier "((?:{"|".join(standins.LIBRARIES)})[A-Z]\w*)" is undefined')
"""What compilers say of a function that a stand-in's header lacks."""
PROVIDED = "cuBLAS, cuBLASLt, cuFFT, cuRAND, cuSOLVER and cuSPARSE"
UNQUOTABLE = re.compile(r'["\\\n]')
"""Characters that not even an #include can have in a file's name."""
CURE = (
    'link with -cudart shared: nvcc -cudart shared, NVCC_APPEND_FLAGS="-cudart shared" for a build that calls nvcc, '
    "-DCMAKE_CUDA_RUNTIME_LIBRARY=Shared for CMake"
)


def calls_driver(word: str) -> bool:
    """Whether a Python file itself names something that launches kernels through the driver, as cuTile does."""
    with suppress(OSError):
        return OF_DRIVER.search(Path(word).read_bytes()) is not None
    return False


def is_of_numba(word: str) -> bool:
    """Whether a Python file itself names numba, and nothing beside it that launches kernels in other ways."""
    with suppress(OSError):
        text = Path(word).read_bytes()
        return OF_NUMBA.search(text) is not None and IN_PROCESS.search(text) is None
    return False


def is_program(words: Sequence[str]) -> bool:
    """Whether the words begin with something to run as it is, or with CUDA C++, rather than with a Python file."""
    if leading_sources(words):
        return True
    word, file = words[0], Path(words[0])
    if word == "-" or file.suffix in (*PYTHON, *KERNELS) or file.is_dir():
        return False
    if not file.exists():
        return "/" not in word and shutil.which(word) is not None
    with suppress(OSError), open(file, "rb") as opened:
        first = opened.readline(256)
        return os.access(file, os.X_OK) and (first[:4] == b"\x7fELF" or (first[:2] == b"#!" and b"python" not in first))
    return False


def command(words: Sequence[str], arch: str, options: str) -> list[str]:
    """The command to run, CUDA C++ replaced by its program. InputError or CompileError for what cannot be run."""
    sources = [*map(Path, leading_sources(words))]
    if sources:
        return [str(compiled(sources, arch, shlex.split(options))), *words[len(sources) :]]
    if options:
        raise InputError("--nvcc: options for the compiler, and there is no .cu file to compile")
    program = Path(called_file(words[0]))
    try:
        with open(program, "rb") as opened:
            content = opened.read(4)
        if content == b"\x7fELF":
            require_runnable(words[0], program.read_bytes())
    except OSError as error:
        raise InputError(f"{words[0]}: {error.strerror}") from None
    return [str(program.absolute()), *words[1:]]


def called_file(word: str) -> str:
    """The file that a command's first word means: one of this folder, or else one of those that shells look in."""
    return word if "/" in word or Path(word).is_file() else shutil.which(word) or word


def called(word: str) -> str:
    """A program's argv[0]. For CUDA C++ it is the name of the program that nvcc would leave beside the source."""
    file = Path(word)
    if file.suffix not in (*CUDA, *HOST):
        return word
    return str(file.with_suffix("")) if "/" in word else f"./{file.stem}"


def leading_sources(words: Sequence[str]) -> list[str]:
    """The sources that the words begin with: .cu files, and those of C and C++ that are there."""

    def is_source(word: str) -> bool:
        return Path(word).suffix in CUDA or (Path(word).suffix in HOST and Path(word).is_file())

    return [*takewhile(is_source, words)]


# ---- CUDA C++
def compiled(sources: Sequence[Path], arch: str, options: Sequence[str]) -> Path:
    """The program that nvcc makes of the sources, kept in the cache. CompileError with its message."""
    for file in sources:
        require_source(file)
        if match := UNQUOTABLE.search(str(file)):
            raise InputError(f"{str(file)!r}: nvcc cannot have {match[0]!r} in a name: rename it")
    if tools.host_compiler() is None:
        raise InputError("CUDA programs need the host's C++ compiler, and there is none: install g++ (apt install g++)")
    libraries = standins.folder()
    includes = [Path(option[2:]) for option in options if option.startswith("-I") and len(option) > 2]
    found = included.folders(sources, includes)
    helpers = [folder for folder in found if not FOR_A_SHELL.search(f"{folder}") and "," not in f"{folder}"]
    arguments = ["-arch", arch, "-lineinfo", "-cudart", "shared", "-include", str(standins.SOURCES / "compatibility.h")]
    for folder in (*helpers, standins.SOURCES / "include", libraries):
        arguments += ["-Xcompiler", f"-idirafter,{folder}"]
    compilers = (file.name.partition(".so")[0].removeprefix("lib") for file in standins.compilers())
    linked = [f"-l{name}" for name in ("cuda", *standins.LIBRARIES, *compilers)]
    arguments += [f"-L{libraries}", "-Xlinker", "--as-needed", *linked, *options]
    key = kept_under(sources, [*arguments, *map(str, sources)], options, [*includes, *helpers])
    target = place = None
    if key is not None:
        with suppress(OSError, RuntimeError):
            if cache.made(cache.folder()):
                place = cache.folder() / "programs" / key[:16]
                target = place / sources[0].stem
                if target.is_file():
                    return target
    folder = cache.passing()
    made = folder / "program"
    given = [nameable(file, folder / f"{number}{file.suffix}") for number, file in enumerate(sources)]
    try:
        tools.run("nvcc", [*arguments, *given, "-o", made], Path.cwd(), what=str(sources[0]))
    except CompileError as error:
        if WITHOUT_MAIN.search(str(error)):
            raise InputError(
                f"{sources[0]} is no program, it has no main(): name a program's other sources with it, or execute a "
                f"kernel alone: banksim kernel {sources[0]}:NAME"
            ) from None
        if used := WITHOUT_STAND_IN.search(str(error)):
            what = f"{used['library']} has no stand-in: of NVIDIA's libraries, programs find {PROVIDED}"
            wheel = hint(str(error))  # which would not help
            raise CompileError(f"{what}\n{str(error).removeprefix(wheel).lstrip()}") from None
        if missing := NOT_PROVIDED.search(str(error)):
            raise CompileError(f"{missing[1]} is not provided by banksim's stand-in\n{error}") from None
        raise
    if target is None or place is None:
        return made
    place.mkdir(parents=True, exist_ok=True)
    with replaced(target, own=True) as kept:  # others may run it as soon as it has its name
        kept.write(made.read_bytes())
        os.chmod(kept.fileno(), 0o700)
    return target


def nameable(file: Path, other: Path) -> Path:
    """The file; or where nvcc cannot take its name, another file that includes it."""
    if not FOR_A_SHELL.search(str(file)):
        return file
    write(other, os.fsencode(f'#include "{file.resolve()}"\n'), own=True)
    return other


def kept_under(
    sources: Sequence[Path], arguments: Sequence[str], options: Sequence[str], folders: Sequence[Path]
) -> str | None:
    """The cache key of a compiled program, made of all that goes into it, headers in `folders` included. None where
    what goes into it cannot be found out."""
    others = [
        option for option in options if not option.startswith(("-D", "-I", "-O", "-std", "-l", "-X", "-rdc", "--"))
    ]
    contents = [content for file in sources for content in read_all(file.resolve(), folders)]
    if others or None in contents:
        return None
    environment = [os.environ.get(name, "") for name in FLAGS]
    whole = [tools.identity("nvcc"), str(tools.host_compiler()), os.getcwd(), *environment, *arguments]
    return cache.key("program", *whole, *(content for content in contents if content is not None))


# ---- executables
def require_runnable(name: str, content: bytes) -> None:
    """InputError for an executable that this computer or banksim cannot run, with what to do about it."""
    try:
        _, bits, order, _, _, _, _, machine, *_ = HEADER.unpack_from(content)
        if (bits, order) != (2, 1) or MACHINES.get(machine) != platform.machine():
            raise InputError(f"{name} is an executable for another processor than this computer's")
        headers, names = sections(content)
        if not any(string(content, headers[names][4], one[0]) == ".nvFatBinSegment" for one in headers):
            return  # no device code in the program itself
        needed, undefined = dynamic(content, headers)
    except (struct.error, IndexError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{name} is a damaged executable") from None
    if "__cudaRegisterFatBinary" not in undefined:
        raise InputError(f"{name} has NVIDIA's own CUDA runtime in it, which runs on NVIDIA's driver only: {CURE}")
    old = [one for one in needed if one.startswith("libcudart.so.") and one != standins.RUNTIME]
    if old:
        raise InputError(f"{name} needs {old[0]}: compile it with CUDA 13, of which the runtime is {standins.RUNTIME}")


def not_started(name: str, program: Path, error: OSError) -> str:
    """What the system says of a program that it could not start. Of a file that is there it says that there is none
    where it means what the file is to be loaded or read by."""
    if not (isinstance(error, FileNotFoundError) and program.is_file()):
        return f"{name}: {error.strerror}"
    with open(program, "rb") as opened:
        first = os.fsdecode(opened.readline(256))
    interpreter = first.removeprefix("#!").split() if first.startswith("#!") else []
    return f"{name} is started by {' '.join(interpreter[:1]) or 'a loader'}, which is not here"


def lacking(program: Path, libraries: Path) -> str:
    """Which functions a program takes from stand-ins that lack them; empty if there are none, or it is no ELF file."""
    content = program.read_bytes()
    if content[:4] != b"\x7fELF":
        return ""
    needed, undefined = dynamic(content, sections(content)[0])
    found = []
    for prefix, library in (standins.LIBRARIES | {"cuda": standins.RUNTIME, "cu": standins.DRIVER}).items():
        if library in needed:
            provided = (libraries / library).read_bytes()
            names = (name for name in sorted(undefined) if re.match(f"{prefix}[A-Z]", name))
            found += [f"{name} ({library})" for name in names if f"{name}\0".encode() not in provided]
    return ", ".join(found)


def sections(content: bytes) -> tuple[list[tuple[int, ...]], int]:
    """The headers of an executable's sections, and the number of that with their names."""
    *_, table, _, _, _, _, width, count, names = HEADER.unpack_from(content)
    return [SECTION.unpack_from(content, table + width * n) for n in range(count)], names


def dynamic(content: bytes, headers: Sequence[tuple[int, ...]]) -> tuple[list[str], set[str]]:
    """The libraries that an executable needs, and the functions that it takes from them."""
    needed, undefined = [], set()
    for _, kind, _, _, offset, size, linked, _, _, _ in headers:
        part = content[offset : offset + size]
        if kind == DYNAMIC_SYMBOLS:
            symbols = SYMBOL.iter_unpack(part)
            undefined |= {string(content, headers[linked][4], one[0]) for one in symbols if one[3] == UNDEFINED}
        elif kind == DYNAMIC:
            entries = struct.iter_unpack("<QQ", part)
            needed += [string(content, headers[linked][4], value) for tag, value in entries if tag == NEEDED]
    return needed, undefined


def string(content: bytes, table: int, at: int) -> str:
    start = table + at
    return content[start : content.index(b"\0", start)].decode(errors="replace")
