"""Numba function → cubin with no GPU. Only this file and the two `numba_…` beside it know numba-cuda's inside."""

import inspect
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import dropwhile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from banksim.errors import CompileError, InputError, UnsupportedError
from banksim.kernels.compilers.cuda import compile_cuda
from banksim.kernels.compilers.numba_arguments import Field, argument_type, fields, signature
from banksim.kernels.compilers.numba_objects import Function, Types
from banksim.kernels.compilers.numba_without_gpu import as_if_unasked, capability, module, no_gpu, replaced
from banksim.kernels.compilers.ptx import assemble, link

UNIQUE = re.compile(r"B\d+v(\d+)(?=B\d+c)")
"""Numba's number of a function in a mangled name, different in every process."""
UNSUPPORTED = {
    "cudaCGSynchronize": "cuda.cg.GridGroup.sync, which waits for the whole grid,",
    "cudaCGGetIntrinsicHandle": "cuda.cg.this_grid",
    "NRT_": "an array that a kernel allocates",
}
"""Functions that Numba's code may call and that are not simulated: refused by name before a linker complains."""
Callback = Callable[[object], object]


@dataclass(frozen=True)
class CompiledKernel:
    """A kernel's cubin, its mangled `name` there, its arguments' names and Numba types, its parameters."""

    cubin: bytes
    name: str
    arguments: tuple[str, ...]
    signature: tuple[str, ...]
    fields: tuple[Field, ...]
    ptx: tuple[str, ...] = ()
    setup: tuple[Callback, ...] = ()
    teardown: tuple[Callback, ...] = ()
    """What linked code wants to be called with the module once it is loaded, and before it goes."""


def compile_numba(function: Function, argument_types: Sequence[object], arch: str = "sm_90") -> CompiledKernel:
    """Compile a Python function, or a dispatcher that `cuda.jit` made of one, for `arch`.

    `argument_types` are Numba types, or values (arrays, scalars) to type as a launch would. A dispatcher with
    signatures is compiled for the one that fits best. CompileError with Numba's message, file and line first.
    """
    types = signature(function, tuple(argument_type(value) for value in argument_types))
    body = getattr(function, "py_func", function)
    options = getattr(function, "targetoptions", {})
    try:
        with no_gpu(capability(arch)) as target, callbacks(options) as (setup, teardown):
            codes, cubins = generate(body, types, target, options)
    except (CompileError, InputError, UnsupportedError):
        raise
    except Exception as error:  # Numba raises errors of every kind for functions that it cannot compile
        raise CompileError(located(error, body)) from error
    codes = renumbered(codes)
    limit = options.get("max_registers")
    flags = ["--maxrregcount", str(limit)] if limit else []
    if len(codes) + len(cubins) == 1:
        cubin = assemble(codes[0], arch, flags)
    else:
        cubin = link([*(assemble(code, arch, [*flags, "-c"]) for code in codes), *cubins], arch)
    entry = next((found for code in codes if (found := re.search(r"\.entry\s+([\w$]+)", code))), None)
    if entry is None:
        raise CompileError(f"{where(body)}: {body.__name__}: Numba made no kernel of this function")
    return CompiledKernel(
        cubin=cubin,
        name=entry[1],
        arguments=tuple(inspect.signature(body).parameters),
        signature=tuple(map(str, types)),
        fields=tuple(field for number, kind in enumerate(types) for field in fields(kind, number)),
        ptx=tuple(codes),
        setup=tuple(setup),
        teardown=tuple(teardown),
    )


@contextmanager
def callbacks(options: dict[str, Any]) -> Iterator[tuple[list[Callback], list[Callback]]]:
    """Collects the setup and teardown callbacks of the code that is linked with a function, while it is compiled.
    Those of numba-cuda itself are left out: they only warn of how it would link."""
    setup: list[Callback] = []
    teardown: list[Callback] = []
    compiler = module("numba.cuda.compiler")
    compile_function = compiler._compile_pyfunc_with_fixup

    def compile_and_collect(*args: object, **kwargs: object) -> tuple[object, object]:
        library, returned = compile_function(*args, **kwargs)
        linked = options.get("link") or ()
        for found, of_library, name in (
            (setup, library._setup_functions, "setup_callback"),
            (teardown, library._teardown_functions, "teardown_callback"),
        ):
            own = [call for code in linked if (call := getattr(code, name, None))]
            found.extend(
                c for c in (*of_library, *own) if not str(getattr(c, "__module__", "")).startswith("numba.cuda")
            )
        return library, returned

    with replaced(compiler, "_compile_pyfunc_with_fixup", compile_and_collect):
        yield setup, teardown


@contextmanager
def device_arrays() -> Iterator[list[tuple[int, ...]]]:
    """Collects the shapes of device arrays whose addresses become part of the code."""
    found: list[tuple[int, ...]] = []
    arrays = module("numba.cuda.np.arrayobj")
    lower = arrays._lower_constant_device_array

    def collect(context: object, builder: object, kind: object, value: Any) -> object:
        found.append(value.__cuda_array_interface__["shape"])
        return lower(context, builder, kind, value)

    with replaced(arrays, "_lower_constant_device_array", collect):
        yield found


def generate(
    body: Function, types: Types, target: tuple[int, int], options: dict[str, Any]
) -> tuple[list[str], list[bytes]]:
    """A function and what it is linked with: PTX, the function's own first, and cubins."""
    cuda = module("numba.cuda")
    debug = bool(options.get("debug"))
    nvrtc = module("numba.cuda.cudadrv.nvrtc")
    linked = replaced(nvrtc, "compile", lambda source, name, cc, **_: (SimpleNamespace(kind="cu", data=source), None))
    with linked, device_arrays() as outside, as_if_unasked(options):
        parts, _ = cuda.compile_all(
            body,
            types,
            device=False,
            abi="numba",
            output="ptx",
            cc=target,
            debug=debug,
            lineinfo=not debug,
            opt=options.get("opt"),
            fastmath=options.get("fastmath", False),
            launch_bounds=options.get("launch_bounds"),
        )
    if outside:
        feature = f"a device array of shape {outside[0]} that is no argument but a global or closure variable"
        raise UnsupportedError(f"{where(body)}: {body.__name__}: {feature} is not simulated")
    headers = [Path(cuda.__file__).parent / "include" / str(cuda.runtime.get_version()[0])]
    headers += map(Path, filter(None, (nvrtc.config.CUDA_NVRTC_EXTRA_SEARCH_PATHS or "").split(":")))
    dispatcher = module("numba.cuda.dispatcher")
    parts += options.get("link") or ()
    if any(name in parts[0] for name in dispatcher.reshape_funcs):
        parts.append(str(Path(dispatcher.__file__).parent / "reshape_funcs.cu"))
    codes, cubins = [], []
    for part in parts:
        if isinstance(part, str) and "\n" not in part:
            kind, content = Path(part).suffix[1:], Path(part)
        else:
            kind, content = getattr(part, "kind", "ptx"), getattr(part, "data", getattr(part, "code", part))
        if kind == "ptx":
            codes.append(text(content))
        elif kind == "cu":
            source = content if isinstance(content, Path) else text(content)
            cubins.append(compile_cuda(source, "sm_{}{}".format(*target), includes=headers, relocatable=True))
        elif kind == "cubin":
            cubins.append(content.read_bytes() if isinstance(content, Path) else content)
        else:
            raise CompileError(f"{where(body)}: linked with {part}, which is no CUDA C++, PTX or cubin")
    for function, feature in UNSUPPORTED.items():
        if any(re.search(rf"\.extern \.func [^;]*\b{function}", code) for code in codes):
            raise UnsupportedError(f"{where(body)}: {body.__name__}: {feature} is not simulated")
    return codes, cubins


def text(content: Path | bytes | str) -> str:
    if isinstance(content, Path):
        return content.read_text()
    return content.decode() if isinstance(content, bytes) else content


def renumbered(codes: Sequence[str]) -> list[str]:
    """PTX with functions numbered in the order of their mention, so that equal functions give equal text."""
    order: dict[str, int] = {}

    def name(match: re.Match[str]) -> str:
        tag = f"v{order.setdefault(match[1], len(order) + 1)}"
        return f"B{len(tag)}{tag}"

    return [UNIQUE.sub(name, code) for code in codes]


def where(body: Function) -> str:
    code = getattr(body, "__code__", None)
    return f"{code.co_filename}:{code.co_firstlineno}" if code else "a function without source"


def located(error: Exception, body: Function) -> str:
    """Numba's message. Its first line is file, line, and what is wrong."""
    message = re.sub(r"\x1b\[[\d;]*m", "", str(error))
    places = re.findall(r" at (\S+) \((\d+)\)", message) or re.findall(r'File "([^"]+)", line (\d+)', message)
    file = getattr(getattr(body, "__code__", None), "co_filename", "")
    near = (f"{file}:{line}" for name, line in places if Path(name).name == Path(file).name)
    place = next(near, where(body))
    lines = dropwhile(lambda line: not line.strip() or line.startswith("Failed in "), message.splitlines())
    gist = next(lines, type(error).__name__).strip()
    return "\n".join([f"{place}: {body.__name__}: {gist}", *lines])
