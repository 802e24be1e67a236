"""Numba function → cubin with no GPU. All that knows numba-cuda's inside is in this file."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import inspect
import os
import re
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

from banksim.errors import BanksimError, CompileError, InputError, UnsupportedError
from banksim.kernels.compilers.cuda import compile_cuda
from banksim.kernels.compilers.ptx import assemble, link
from banksim.system.extras import missing

SIMULATOR = "NUMBA_ENABLE_CUDASIM"
NEWEST = (9, 0)
"""What device functions with a signature are compiled for while their module is imported."""
UNIQUE = re.compile(r"B\d+v(\d+)(?=B\d+c)")
"""Numba's number of a function in a mangled name, different in every process."""
UNSUPPORTED = {
    "cudaCGSynchronize": "cuda.cg.GridGroup.sync, which waits for the whole grid,",
    "cudaCGGetIntrinsicHandle": "cuda.cg.this_grid",
    "NRT_": "an array that a kernel allocates",
}
"""What Numba calls from a kernel and nobody here answers; named before a linker or the machine complain of it."""
Callback = Callable[[Any], object]
_lock = threading.RLock()


@dataclass(frozen=True)
class Field:
    """One kernel parameter: `size` bytes that hold `role` of an argument, or its part that `path` leads to.

    roles                                  of
    meminfo parent nitems itemsize data    an array (the first two are 0, data is its address)
    shape stride                           an array, along axis `index`
    value                                  a scalar, as NumPy's `dtype`
    real imag                              a complex number, as NumPy's `dtype`
    record                                 a record: the address of its bytes
    """

    argument: int
    role: str
    size: int = 8
    index: int = 0
    dtype: str = "int64"
    path: tuple[int, ...] = ()


@dataclass(frozen=True)
class Compiled:
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


def compile_numba(function: Callable[..., Any], argument_types: Sequence[Any], arch: str = "sm_90") -> Compiled:
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
    return Compiled(
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
    """Collects the setup and teardown callbacks of what a function that is compiled meanwhile is linked with; those of
    numba-cuda itself warn of how it would link."""
    setup: list[Callback] = []
    teardown: list[Callback] = []
    compiler = module("numba.cuda.compiler")
    compile_function = compiler._compile_pyfunc_with_fixup

    def compile_and_collect(*args: Any, **kwargs: Any) -> Any:
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


def generate(
    body: Any, types: tuple[Any, ...], target: tuple[int, int], options: dict[str, Any]
) -> tuple[list[str], list[bytes]]:
    """A function and what it is linked with: PTX, the function's own first, and cubins."""
    cuda = module("numba.cuda")
    debug = bool(options.get("debug"))
    nvrtc = module("numba.cuda.cudadrv.nvrtc")
    linked = replaced(nvrtc, "compile", lambda source, name, cc, **_: (SimpleNamespace(kind="cu", data=source), None))
    with linked, as_if_unasked(options):
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
    headers = Path(cuda.__file__).parent / "include" / str(cuda.runtime.get_version()[0])
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
            cubins.append(compile_cuda(source, "sm_{}{}".format(*target), includes=[headers], relocatable=True))
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


# ---- types
def argument_type(value: Any) -> Any:
    """The Numba type that a launch would give an argument; a type stands for itself."""
    if isinstance(value, module("numba.cuda.types").Type):
        return value
    try:
        return module("numba.cuda.typing.typeof").typeof(value)
    except Exception as error:
        raise InputError(f"Numba CUDA has no type for a {type(value).__name__} argument: {error}") from None


def declared(function: Any) -> list[tuple[Any, ...]]:
    """The signatures that a dispatcher was given, or []: it is compiled for what it is called with."""
    if getattr(function, "_can_compile", True):
        return []
    return list(getattr(function, "banksim_signatures", ())) or list(function.overloads)


def signature(function: Any, types: tuple[Any, ...]) -> tuple[Any, ...]:
    """The argument types to compile for: those of the call, or the declared signature that fits them best."""
    choices = declared(function)
    body = getattr(function, "py_func", function)
    count = len(inspect.signature(body).parameters)
    if len(types) != count:
        listed = ", ".join(inspect.signature(body).parameters)
        raise InputError(f"{body.__name__} takes {count} arguments ({listed}), {len(types)} were given")
    if not choices or types in choices:
        return types
    fitting = [
        (sum(int(step) for step in steps), number)
        for number, choice in enumerate(choices)
        if None not in (steps := conversions(types, choice))
    ]
    if not fitting:
        wanted = " or ".join(f"({', '.join(map(str, choice))})" for choice in choices)
        raise InputError(f"{body.__name__} is declared for {wanted}, not for ({', '.join(map(str, types))})")
    return choices[min(fitting)[1]]


def conversions(types: tuple[Any, ...], choice: tuple[Any, ...]) -> list[Any]:
    """How much each argument has to change to fit a signature; None where it cannot."""
    if len(types) != len(choice):
        return [None]
    context = module("numba.cuda.descriptor").cuda_target.typing_context
    return [context.can_convert(given, wanted) for given, wanted in zip(types, choice, strict=True)]


def fields(kind: Any, argument: int, path: tuple[int, ...] = ()) -> Iterator[Field]:
    """The parameters that an argument of a type becomes, as numba-cuda's launcher flattens it."""
    types = module("numba.cuda.types")

    def field(role: str, size: int = 8, index: int = 0, dtype: str = "int64") -> Field:
        return Field(argument, role, size, index, dtype, path)

    if isinstance(kind, types.Array):
        yield from map(field, ("meminfo", "parent", "nitems", "itemsize", "data"))
        yield from (field("shape", index=axis) for axis in range(kind.ndim))
        yield from (field("stride", index=axis) for axis in range(kind.ndim))
    elif isinstance(kind, types.BaseTuple):
        for index, part in enumerate(kind):
            yield from fields(part, argument, (*path, index))
    elif isinstance(kind, types.Complex):
        size = kind.bitwidth // 16
        yield from (field(role, size, dtype=f"float{8 * size}") for role in ("real", "imag"))
    elif isinstance(kind, types.Record):
        yield field("record")
    elif isinstance(kind, types.IntEnumMember | types.EnumMember):
        yield from fields(kind.dtype, argument, path)
    elif isinstance(kind, types.Integer | types.Float):
        yield field("value", kind.bitwidth // 8, dtype=kind.name)
    elif isinstance(kind, types.Boolean):
        yield field("value", 1, dtype="bool")
    elif isinstance(kind, types.NPDatetime | types.NPTimedelta):
        yield field("value")
    elif isinstance(kind, types.CPointer):
        yield field("value", dtype="uint64")
    else:
        raise InputError(f"argument {argument + 1}: Numba CUDA cannot pass a {kind} to a kernel")


# ---- numba-cuda without a GPU
def module(name: str) -> Any:
    """A module of numba-cuda, imported when it is wanted; none of them has types that a checker could use."""
    numba_cuda()
    return importlib.import_module(name)


@functools.cache
def numba_cuda() -> Any:
    """numba.cuda as it is for GPUs, whatever NUMBA_ENABLE_CUDASIM says. InputError where it cannot be used."""
    if importlib.util.find_spec("numba_cuda") is None:
        raise missing("Numba kernels need numba-cuda", "cuda")
    wanted = os.environ.pop(SIMULATOR, None)
    try:
        cuda = importlib.import_module("numba.cuda")
        if importlib.import_module("numba.cuda.core.config").ENABLE_CUDASIM:
            raise InputError(f"numba.cuda is its own simulator in this process: unset {SIMULATOR}")
        importlib.import_module("numba.cuda.np.arrayobj")  # most of what it wants of NumPy
    except (ImportError, AttributeError) as error:
        found = " and ".join(f"{package} {metadata.version(package)}" for package in ("numba-cuda", "numba", "numpy"))
        raise missing(f"{found} do not go together ({error})", "cuda") from error
    finally:
        if wanted is not None:
            os.environ[SIMULATOR] = wanted
    return cuda


def capability(arch: str) -> tuple[int, int]:
    """(9, 0) of sm_90."""
    number = re.fullmatch(r"sm_(\d+)[af]?", arch)
    if number is None:
        raise InputError(f"no architecture {arch!r} to compile for: give one such as sm_90")
    return divmod(int(number[1]), 10)


def in_vain() -> str | None:
    """What the environment asks of numba-cuda in vain, as a message."""
    if os.environ.get(SIMULATOR, "0") in ("", "0"):
        return None
    return f"{SIMULATOR} has no effect here: kernels are compiled and their machine code executed"


@contextmanager
def no_gpu(target: tuple[int, int]) -> Iterator[tuple[int, int]]:
    """Let numba-cuda compile for a compute capability without asking a driver what the GPU is.

    Device functions are compiled with line information, and anew where the last time was for something else.
    """
    dispatcher = module("numba.cuda.dispatcher")
    kind = dispatcher.CUDADispatcher
    compile_device, get_call_template = kind.compile_device, kind.get_call_template

    def with_lines(self: Any, args: Any, return_type: Any = None) -> Any:
        options, made = self.targetoptions, self.__dict__.setdefault("banksim_made", {})
        if made.get(args) != target:
            self.overloads.pop(args, None)
        self.targetoptions = {**options, "lineinfo": not options.get("debug")}
        try:
            with as_if_unasked(options):
                result = compile_device(self, args, return_type)
        finally:
            self.targetoptions = options
        made[args] = target
        return result

    def up_to_date(self: Any, args: Any, kws: Any) -> Any:
        if not self._can_compile:
            for known, result in list(self.overloads.items()):
                with_lines(self, known, result.signature.return_type)
        return get_call_template(self, args, kws)

    gpu = SimpleNamespace(compute_capability=target)
    with (
        _lock,
        replaced(dispatcher, "get_current_device", lambda: gpu),
        replaced(kind, "compile_device", with_lines),
        replaced(kind, "get_call_template", up_to_date),
    ):
        yield target


@contextmanager
def as_if_unasked(options: Mapping[str, Any]) -> Iterator[None]:
    """Line information that nobody but banksim asks for is no reason to warn that a function has no source."""
    with warnings.catch_warnings():
        if not options.get("lineinfo") and not options.get("debug"):
            warnings.simplefilter("ignore", module("numba.cuda.core.errors").NumbaDebugInfoWarning)
        yield


@contextmanager
def importable() -> Iterator[None]:
    """Let modules be imported that give `cuda.jit` signatures: their kernels are compiled when they run."""
    dispatcher = module("numba.cuda.dispatcher")

    def remember(self: Any, sig: Any) -> None:
        types, _ = module("numba.cuda.core.sigutils").normalize_signature(sig)
        self.__dict__.setdefault("banksim_signatures", []).append(types)

    def close(self: Any, val: bool = True) -> None:  # the original wants at least one compiled kernel
        self._can_compile = not val

    kind = dispatcher.CUDADispatcher
    with no_gpu(NEWEST), replaced(kind, "compile", remember), replaced(kind, "disable_compile", close):
        yield


@contextmanager
def replaced(owner: Any, name: str, value: Any) -> Iterator[None]:
    """Give `owner` another attribute `name` for a while; what it inherits is hidden, not changed."""
    own, original = name in vars(owner), getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        if own:
            setattr(owner, name, original)
        else:
            delattr(owner, name)


def load_python(path: str | Path) -> ModuleType:
    """Import a Python file with Numba kernels, with or without a GPU. InputError when that fails."""
    file = Path(path).resolve()
    if not file.is_file():
        raise InputError(f"{path}: no such file")
    spec = importlib.util.spec_from_file_location(file.stem, file)
    if spec is None or spec.loader is None:
        raise InputError(f"{path}: not a Python file")
    loaded = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(file.parent))
    known = sys.modules.get(file.stem)
    sys.modules[file.stem] = loaded
    try:
        with importable():
            spec.loader.exec_module(loaded)
    except (Exception, SystemExit) as error:
        if known is not None:
            sys.modules[file.stem] = known
        else:
            del sys.modules[file.stem]
        if isinstance(error, BanksimError):
            raise
        raise InputError(f"{path}: importing it failed with {type(error).__name__}: {error}") from error
    finally:
        sys.path.remove(str(file.parent))
    return loaded


# ---- messages
def where(body: Any) -> str:
    code = getattr(body, "__code__", None)
    return f"{code.co_filename}:{code.co_firstlineno}" if code else "a function without source"


def located(error: Exception, body: Any) -> str:
    """Numba's message, with file, line and the gist of it on the first line."""
    message = re.sub(r"\x1b\[[\d;]*m", "", str(error))
    places = re.findall(r" at (\S+) \((\d+)\)", message) or re.findall(r'File "([^"]+)", line (\d+)', message)
    file = getattr(getattr(body, "__code__", None), "co_filename", "")
    near = (f"{file}:{line}" for name, line in places if Path(name).name == Path(file).name)
    place = next(near, where(body))
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    gist = next((line for line in lines if not line.startswith("Failed in ")), type(error).__name__)
    return f"{place}: {body.__name__}: {gist}\n{message}"
