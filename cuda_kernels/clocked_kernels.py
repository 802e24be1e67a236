"""A kernel's twin that takes the time: the same statements between two readings of the SM's cycle counter."""

import ast
import functools
import inspect
import textwrap

from banksim.system.compiled_types import Code, Signature, TargetContext, TypingContext
from cuda_kernels.numba_cuda import Dispatcher, cuda, jit, module

BEFORE = "_began = _clock()"
AFTER = """
_ended = _clock()
_thread = (cuda.threadIdx.z * cuda.blockDim.y + cuda.threadIdx.y) * cuda.blockDim.x + cuda.threadIdx.x
if _thread % 32 == 0:
    _block = (cuda.blockIdx.z * cuda.gridDim.y + cuda.blockIdx.y) * cuda.gridDim.x + cuda.blockIdx.x
    _cycles[_block, _thread // 32, 0] = _began
    _cycles[_block, _thread // 32, 1] = _ended
"""


@functools.cache
def clock() -> Dispatcher:
    """A device function that reads the SM's cycle counter, in its place among barriers and memory accesses."""
    from llvmlite import ir

    @module("extending").intrinsic  # type: ignore[untyped-decorator]
    def clock64(context: TypingContext) -> Code:
        def generate(
            _context: TargetContext, builder: ir.IRBuilder, _signature: Signature, _arguments: list[ir.Value]
        ) -> ir.Value:
            kind = ir.FunctionType(ir.IntType(64), [])
            return builder.call(ir.InlineAsm(kind, "mov.u64 $0, %clock64;", "=l,~{memory}", side_effect=True), [])

        return module("types").int64(), generate

    return clock64


def twin(kernel: Dispatcher) -> Dispatcher:
    """The kernel with one argument more: int64[blocks, warps, 2], where each warp leaves when it began and ended."""
    body = kernel.py_func
    tree = ast.parse(textwrap.dedent(inspect.getsource(body)))
    function = tree.body[0]
    assert isinstance(function, ast.FunctionDef)
    function.decorator_list = []
    function.args.args.append(ast.arg("_cycles"))
    function.returns = None
    for argument in function.args.args:
        argument.annotation = None
    if any(isinstance(node, ast.Return) for node in ast.walk(function)):
        raise ValueError(f"{function.name} returns early, so its twin would not see its end")
    function.body = [*ast.parse(BEFORE).body, *function.body, *ast.parse(AFTER).body]
    function.name = f"{function.name}Timed"
    ast.fix_missing_locations(tree)
    names = inspect.getclosurevars(body).nonlocals
    space = {**body.__globals__, **names, "_clock": clock(), "cuda": cuda}
    exec(compile(tree, body.__code__.co_filename, "exec"), space)
    return jit(space[function.name], lines=False)
