"""How numba compiles banksim's own loops in less time: what these never use is left out.

Numba takes every function through some twenty-five passes, optimises it, writes machine code for it, and optimises it
again within every function that calls it. These loops neither allocate nor raise, and have no closures; and of
functions that only compiled code calls, nothing runs but what their callers contain.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir
from numba import types
from numba.core import compiler, interpreter, typed_passes
from numba.core.analysis import dead_branch_prune, rewrite_semantic_constants
from numba.core.codegen import Codegen, JITCodeLibrary
from numba.core.compiler_machinery import FunctionPass, PassManager, register_pass
from numba.core.ir import FunctionIR
from numba.core.ir_utils import build_definitions
from numba.core.rewrites.registry import Rewrite
from numba.core.rewrites.static_getitem import RewriteConstGetitems, RewriteConstSetitems
from numba.core.rewrites.static_raise import RewriteConstRaises
from numba.core.ssa import reconstruct_ssa
from numba.core.transforms import canonicalize_cfg
from numba.extending import intrinsic

from banksim.system.collector import paused
from banksim.system.compiled_types import Code, NumbaType, Signature, TargetContext, TypingContext
from banksim.system.contexts import contexts
from banksim.system.lowering import LowerLoops, array_of, part_of, parts_of


class Reader(interpreter.Interpreter):
    """Numba's reader of byte code, less what looks for `with` and for large dictionaries."""

    def post_process(self, peepholes: list[Callable[..., None]], func_ir: FunctionIR) -> FunctionIR:
        wanted = [one for one in peepholes if one.__name__ not in ABSENT]
        code: FunctionIR = super().post_process(wanted, func_ir)
        return code


ABSENT = "peep_hole_delete_with_exit", "peep_hole_fuse_dict_add_updates"
REWRITES = RewriteConstGetitems, RewriteConstSetitems, RewriteConstRaises
"""Numba's rewrites of indices and errors that are constants."""


@register_pass(mutates_CFG=True, analysis_only=False)
class Read(FunctionPass):
    """From byte code to numba's own code in SSA form. Numba goes through all of it after each of these steps to find
    out what is alive where, for the sake of reference counts."""

    _name = "read_loop"

    def __init__(self) -> None:
        FunctionPass.__init__(self)

    def run_pass(self, state: compiler.StateDict) -> bool:
        state.func_ir = code = Reader(state.func_id).interpret(state.bc)
        state.nargs = code.arg_count
        code.blocks = canonicalize_cfg(code.blocks)
        rewrite_semantic_constants(code, state.args)
        dead_branch_prune(code, state.args)
        code.blocks = canonicalize_cfg(code.blocks)
        for one in REWRITES:
            self.rewrite(state, one(state))
        reconstruct_ssa(code)
        code._definitions = build_definitions(code.blocks)
        return True

    def rewrite(self, state: compiler.StateDict, rule: Rewrite) -> None:
        code = state.func_ir
        for offset, block in code.blocks.items():
            while rule.match(code, block, state.typemap, state.calltypes):
                code.blocks[offset] = block = rule.apply()


@register_pass(mutates_CFG=True, analysis_only=False)
class InferTypes(FunctionPass):
    """Numba's own pass refuses functions that return arrays where references are not counted. Those of the loops are
    views of memory that outlives the call."""

    _name = "infer_types_of_loops"

    def __init__(self) -> None:
        FunctionPass.__init__(self)

    def run_pass(self, state: compiler.StateDict) -> bool:
        given = state.typingctx, state.targetctx, state.func_ir, state.args, state.return_type, state.locals
        state.typemap, state.return_type, state.calltypes, state.typing_errors = typed_passes.type_inference_stage(
            *given
        )
        state.func_ir = typed_passes.PreLowerStripPhis()._strip_phi_nodes(state.func_ir)
        return True


@register_pass(mutates_CFG=True, analysis_only=False)
class NativeLowering(typed_passes.NativeLowering):
    _name = "lowering_of_loops"

    @property
    def lowering_class(self) -> type[LowerLoops]:
        return LowerLoops


PASSES = Read, InferTypes, NativeLowering, typed_passes.NoPythonBackend


class Unchecked(PassManager):
    _ENFORCING = False


@cache
def all_passes() -> PassManager:
    passes = Unchecked("loops")
    for one in PASSES:
        passes.add_pass(one, one.__name__)
    passes.finalize()
    return passes


FRUGAL: dict[str, Any] = {"_nrt": False, "error_model": "numpy"}
"""No code that counts references, or looks for divisions by zero."""


DEBUGGING = ("debuginfo", "boundscheck")
"""Flags that NUMBA_DEBUGINFO=1 sets for a program's own functions. Loops with them would raise Python's exceptions,
which nobody catches; NUMBA_BOUNDSCHECK=1 checks them in a way of their own (lowering.py)."""


class Settled(compiler.Flags):
    """The flags of a loop: equal to those of every other. Numba compares all of them for every call of every function,
    and compiles a function anew for callers with other flags; what a loop calls is the same whoever calls it."""

    __slots__ = ()

    def __hash__(self) -> int:
        return hash(Settled)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Settled)


class Passes(compiler.CompilerBase):
    """What the loops need of numba's pipeline."""

    library: type[Library]

    def __init__(self, typing: Any, target: Any, library: Any, args: Any, result: Any, flags: Any, local: Any) -> None:
        settled = Settled(flags)
        for name in DEBUGGING:
            setattr(settled, name, False)
        super().__init__(*contexts(typing, target), library, args, result, settled, local)

    def compile_extra(self, function: Callable[..., object]) -> Any:
        with paused():
            return super().compile_extra(function)

    def define_pipelines(self) -> list[PassManager]:
        self.state.library = self.library(self.state.targetctx.codegen(), self.state.func_id.func_qualname)
        return [all_passes()]


class Library(JITCodeLibrary):
    """The code of a function, left as it is until all that it calls is there too."""

    def _optimize_functions(self, ll_module: llvm.ModuleRef) -> None:
        ll_module.data_layout = self._codegen._data_layout


class Whole(Library):
    """The code of a function with all that it calls, optimised once. Numba does so function by function, then for the
    sake of reference counts, and then again. LLVM's higher levels take half as long again for no faster loops."""

    def __init__(self, codegen: Codegen, name: str) -> None:
        super().__init__(codegen, name)
        self.enable_object_caching()

    def add_linking_library(self, library: JITCodeLibrary) -> None:
        if library not in self._linking_libraries:
            super().add_linking_library(library)
            for called in library._linking_libraries:
                self.add_linking_library(called)

    def _optimize_final_module(self) -> None:
        choices = llvm.create_pipeline_tuning_options(speed_level=1)
        choices.loop_vectorization = choices.slp_vectorization = True
        builder = llvm.create_pass_builder(self._codegen._tm, choices)
        builder.getModulePassManager().run(self._final_module, builder)


class PartOfCallers(Library):
    """The code of a function that is linked into its callers and optimised there; nothing runs it by itself."""

    def get_pointer_to_function(self, name: str) -> int:
        return 0

    @property
    def codegen(self) -> PartOfCallers:
        return self

    def set_env(self, name: str, environment: object) -> None:
        """Numba calls this of a library's `codegen`; code that does not run by itself has no environment."""

    def finalize(self) -> None:
        """What it calls is linked into its callers too, each once."""
        for function in self._final_module.functions:
            if not function.is_declaration and function.linkage == llvm.Linkage.external:
                function.linkage = "linkonce_odr"
        self._shared_module = self._final_module
        self._finalize_dynamic_globals()
        self._finalized = True


class PassesOfOuter(Passes):
    library = Whole


class PassesOfInner(Passes):
    library = PartOfCallers


@intrinsic
def carray(typing_context: TypingContext, place: NumbaType, shape: NumbaType, dtype: NumbaType = types.none) -> Code:
    """numba.carray compiles two functions for every type that it is used with; this one is code of its caller."""
    element = getattr(place if isinstance(place, types.CPointer) else dtype, "dtype")  # noqa: B009
    several = isinstance(shape, types.BaseTuple)
    dimensions = len(parts_of(shape))
    array = types.Array(element, dimensions, "C")

    def generate(context: TargetContext, builder: ir.IRBuilder, signature: Signature, args: list[ir.Value]) -> ir.Value:
        given = [part_of(builder, args[1], n) for n in range(dimensions)] if several else [args[1]]
        lengths = [
            context.cast(builder, one, kind, types.intp) for one, kind in zip(given, parts_of(shape), strict=True)
        ]
        data = builder.bitcast(args[0], context.get_data_type(element).as_pointer())
        return array_of(context, builder, array, data, lengths)

    return array(place, shape, dtype), generate
