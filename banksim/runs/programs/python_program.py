"""Runs a Python program in a process of its own: `python -m` this module `[-m] PROGRAM ARGUMENT …`.

numba-cuda runs there unchanged, on the stand-in for the driver. Two things are added: kernels are compiled with line
information, so that conflicts have lines, and banksim is told the names of kernels and of their arguments."""

import ctypes
import functools
import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from typing import Any

from banksim.errors import InputError
from banksim.kernels.compilers.numba_arguments import fields
from banksim.kernels.compilers.numba_without_gpu import SIMULATOR, as_if_unasked, require
from banksim.runs.programs import standins
from banksim.runs.programs.main_module import read, require_module
from banksim.runs.programs.notebook import run_python
from banksim.system import ending
from banksim.system.changed_modules import Changed
from banksim.system.visible import say

CODEGEN, DEBUG_INFO, DISPATCHER = "numba.cuda.codegen", "numba.cuda.debuginfo", "numba.cuda.dispatcher"
DRIVER, NVRTC = "numba.cuda.cudadrv.driver", "numba.cuda.cudadrv.nvrtc"
RUNTIME = "cuda.bindings.runtime"
MLIR, MLIR_LIBRARIES = "numba_cuda_mlir.decorators", "numba_cuda_mlir.numba_cuda.cudadrv.libs"
ROLES = ("data", "record")
"""The roles of parameters that are addresses."""
GRID_GROUPS = standins.SOURCES / "grid_groups.cu"


def command(words: Sequence[str], module: bool) -> list[str]:
    """The command that runs a Python program so, with this interpreter's options. InputError if there is none."""
    if module:
        require_module(words[0])
    else:
        read(words[0])
    flags: list[str] = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
    return [sys.executable, *flags, "-m", __name__, *["-m"] * module, *words]


def main(words: Sequence[str]) -> int:
    os.environ.pop(SIMULATOR, None)
    sys.meta_path.insert(0, Changed(CHANGES))
    as_module = words[0] == "-m"
    words = words[as_module:]
    ended = run_python(words, as_module)
    if ended.error is not None:
        say(ended.error)
    return ended.status


# ---- lines
def with_lines(dispatcher: Any) -> None:
    """Compile functions with lines, unless debug information is asked for. Not with Numba's runtime (NRT): its calls
    have no place in the source, and LLVM refuses them then."""
    compile_function, launch = dispatcher.compile_cuda, dispatcher._Kernel.launch

    @functools.wraps(compile_function)
    def compiled(*args: object, debug: bool = False, lineinfo: bool = False, **kwargs: object) -> object:
        lines = lineinfo or not (debug or dispatcher.config.CUDA_ENABLE_NRT)
        with as_if_unasked({"debug": debug, "lineinfo": lineinfo}):
            return compile_function(*args, debug=debug, lineinfo=lines, **kwargs)

    @functools.wraps(launch)
    def launched(kernel: Any, *args: object, **kwargs: object) -> None:
        tell_names(kernel)
        launch(kernel, *args, **kwargs)

    dispatcher.compile_cuda = compiled
    dispatcher._Kernel.launch = launched


def linked_with_lines(driver: Any) -> None:
    """Keep lines when code is linked. InputError where this is numba's own driver, which numba-cuda replaces."""
    require()
    options = driver._Linker._get_linker_options

    @functools.wraps(options)
    def chosen(linker: Any, ptx: bool) -> object:
        linker.lineinfo = True
        return options(linker, ptx)

    driver._Linker._get_linker_options = chosen


def source_with_lines(nvrtc: Any) -> None:
    """Compile CUDA C++ with lines too, but not what is linked as LLVM's code: its debug data do not fit Numba's."""
    compile_source = nvrtc.compile

    @functools.wraps(compile_source)
    def compiled(
        *args: object, ltoir: bool = False, debug: bool = False, lineinfo: bool = False, **kwargs: object
    ) -> object:
        lines = lineinfo or not (debug or ltoir)
        return compile_source(*args, ltoir=ltoir, debug=debug, lineinfo=lines, **kwargs)

    nvrtc.compile = compiled


def flags_as_nvrtc(debuginfo: Any) -> None:
    """LLVM's modules have a flag for the version of their debug information. NVRTC's code can be linked with them only
    where that flag is of the same kind: an error if versions differ. numba-cuda makes it a warning."""
    set_flags = debuginfo.DIBuilder._set_module_flags

    @functools.wraps(set_flags)
    def set_as_nvrtc(builder: Any) -> None:
        set_flags(builder)
        flags = builder.module.get_named_metadata("llvm.module.flags")
        found = [flag for flag in flags.operands if "Debug Info Version" in str(flag.operands[1])]
        error_if_different = builder._const_int(1)
        one = builder.module.add_metadata([error_if_different, *found[0].operands[1:]])
        flags.operands[:] = [one, *(flag for flag in flags.operands if flag not in found)]

    debuginfo.DIBuilder._set_module_flags = set_as_nvrtc


def grids_meet(user: Any) -> None:
    """Link what grids need to synchronize from a file of ours, which says why."""
    library = user.get_cudalib

    @functools.wraps(library)
    def chosen(name: str, *args: object, **kwargs: object) -> str:
        return str(GRID_GROUPS) if name == "cudadevrt" else library(name, *args, **kwargs)

    user.get_cudalib = chosen


def mlir_with_lines(decorators: Any) -> None:
    """The same for numba-cuda-mlir, numba-cuda's successor: lines, unless debug information is asked for."""
    verify = decorators.verify_target_options

    @functools.wraps(verify)
    def verified(*args: object, **kwargs: object) -> object:
        options = verify(*args, **kwargs)
        if not options.get("debug"):
            options["lineinfo"] = True
        return options

    decorators.verify_target_options = verified


def own_runtime_told(runtime: Any) -> None:
    """Say which functions of cuda.bindings.runtime fail: it contains NVIDIA's own, which runs on NVIDIA's driver only,
    and programs need not look at what it returns."""

    def told(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def called(*args: object, **kwargs: object) -> Any:
            answer = function(*args, **kwargs)
            if answer[0] == runtime.cudaError_t.cudaErrorNotSupported:
                ctypes.CDLL(standins.DRIVER).banksim_missing(f"{name} of cuda.bindings.runtime".encode())
            return answer

        return called

    for name, function in [*vars(runtime).items()]:
        if name.startswith("cuda") and callable(function) and not isinstance(function, type):
            setattr(runtime, name, told(name, function))


CHANGES = {
    CODEGEN: grids_meet, DEBUG_INFO: flags_as_nvrtc, DISPATCHER: with_lines, DRIVER: linked_with_lines,
    MLIR: mlir_with_lines, MLIR_LIBRARIES: grids_meet, NVRTC: source_with_lines,
    RUNTIME: own_runtime_told,
}  # fmt: skip


# ---- names
def tell_names(kernel: Any) -> None:
    """Tell banksim, once for each kernel, its arguments' names, and which parameters are addresses of arrays."""
    if vars(kernel).setdefault("banksim_knows", False) or os.environ.get("BANKSIM_SOCKET") is None:
        return
    kernel.banksim_knows = True
    code = getattr(getattr(kernel, "py_func", None), "__code__", None)
    names = code.co_varnames[: code.co_argcount] if code else ()
    types = kernel.argument_types
    arrays: dict[int, str] = {}
    try:
        if len(names) == len(types):
            parameters = [field for number, kind in enumerate(types) for field in fields(kind, number)]
            arrays = {place: names[one.argument] for place, one in enumerate(parameters) if one.role in ROLES}
    except InputError:  # a type of which only an extension of the program knows the parts
        pass
    text = json.dumps({"kernel": kernel.entry_name, "signature": list(map(str, types)), "arrays": arrays}).encode()
    ctypes.CDLL(standins.DRIVER).banksim_names(text, ctypes.c_size_t(len(text)))


if __name__ == "__main__":
    sys.exit(ending.run("banksim", lambda: main(sys.argv[1:])))
