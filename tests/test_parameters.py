"""No function takes more than seven parameters but those named here, each with a reason; others bundle them."""

import ast
from collections.abc import Iterator
from pathlib import Path

import banksim

ROOT = Path(banksim.__file__).parent.parent
MOST = 7
COMPILED = {"inner", "outer", "inlined", "callback", "intrinsic"}
"""Decorators of functions that Numba compiles, in which a bundle is not free."""
EXCEPTIONS = {
    "banksim.runs.run.run": "public: keywords are what help() and editors show; all else takes Options",
    "banksim.patterns.pattern": "public: keywords are what help() and editors show; all else takes Description",
    "banksim.requests.trace.from_arrays": "public: one array for each column of a trace",
    "banksim.machine.llvm.atomics.lane_by_lane": "emits a function whose own parameters these are",
    "banksim.machine.llvm.atomics.exchange": "emits a part of that function",
    "banksim.machine.launch.prepare": "what a launch of CUDA is given, under CUDA's names; half of it has defaults",
    "banksim.machine.llvm.workers.execute": "keywords that few callers need; runs.options stands above it",
    "banksim.timing.simulation.__init__": "keywords that say how one multiprocessor differs from another",
}
AS_C_HAS_THEM = {f"banksim.runs.programs.libraries.{name}" for name in ("cublas", "cusolver", "factors")}
"""Modules whose functions take what a library's functions take, in its order."""


def functions(module: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(ast.parse(module.read_text("utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def is_compiled(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    made_by = [one.func if isinstance(one, ast.Call) else one for one in function.decorator_list]
    return any(isinstance(one, ast.Name) and one.id in COMPILED for one in made_by)


def parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """How many a caller gives."""
    given = function.args
    names = [one.arg for one in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
    return len(names) - (names[:1] in (["self"], ["cls"]))


def long_ones() -> Iterator[str]:
    for package in ("banksim", "cuda_kernels"):
        for file in sorted((ROOT / package).rglob("*.py")):
            module = ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
            for function in functions(file):
                if parameters(function) > MOST and not is_compiled(function) and module not in AS_C_HAS_THEM:
                    yield f"{module}.{function.name}"


def test_only_functions_with_a_reason_take_many_parameters() -> None:
    found = sorted(long_ones())
    assert found == sorted(EXCEPTIONS)
