"""From LLVM modules to object code of this computer. Routines are objects of their own, kept for all the kernels that
share them: compiling those anew would take longer than the rest of most kernels.
"""

import re
from collections.abc import Sequence
from functools import cache, lru_cache
from pathlib import Path

import llvmlite.binding as llvm

import banksim.system.cache
from banksim.machine.llvm import ir
from banksim.machine.llvm.emit import APART, MOVES
from banksim.system.ending import interruptible
from banksim.system.native_code import WELL, prepare_llvm, target_machine

TRANSLATING = ("requests", "architectures", "kernels", "machine", "classes")
"""The rooms whose code decides what a kernel is translated to."""
NAMED = re.compile(r'@"([^"]+)"')
QUICKLY = 0
"""How LLVM chooses instructions and registers where code need not run as fast as `WELL`: it is compiled in half the
time, but runs up to a fifth longer. Nor does it make the code smaller first."""
LONG = 860_000
"""Characters of a kernel's own code from which it is compiled quickly: some 1,200 instructions."""


@cache
def engine_version() -> str:
    """A digest of the sources that translate: another version of banksim translates anew."""
    return banksim.system.cache.sources(Path(banksim.__file__).parent, TRANSLATING)


def objects(module: ir.Module, how: int = WELL) -> list[bytes]:
    """The object code of a module: that of its routines one by one, and of the rest."""
    prepare_llvm()
    functions = [function for function in module.functions.values() if not function.is_declaration]
    apart = [function for function in functions if APART in function.attributes]
    rest = [function for function in functions if APART not in function.attributes]
    return [routine(text(module, [function])) for function in apart] + [kernel(text(module, rest), how)]


def text(module: ir.Module, functions: Sequence[ir.Function]) -> str:
    """Some functions of a module as a module of their own, the same wherever they are the same: what they call is
    declared, and vector moves are added."""
    bodies = "".join(map(str, functions))
    own = {function.name for function in functions}
    called = [name for name in dict.fromkeys(NAMED.findall(bodies)) if name not in own]
    outside = (MOVES.get(name) or module.declared(name) for name in called)
    return "\n".join([*outside, bodies, ir.WEIGHTS])


@lru_cache(maxsize=1024)
def routine(text: str) -> bytes:
    """The object code of a routine: from the user's cache if any kernel had it before."""
    key = banksim.system.cache.key("routine", engine_version(), prepare_llvm(), text)
    code = banksim.system.cache.get(key)
    if code is None:
        code = compiled(text, WELL)
        banksim.system.cache.put(key, code)
    return code


def kernel(text: str, how: int = WELL) -> bytes:
    """The code of a kernel itself."""
    return compiled(text, QUICKLY if len(text) > LONG else how, smaller=how == WELL)


def compiled(text: str, how: int, smaller: bool = True) -> bytes:
    def work() -> bytes:
        machine = target_machine(how)
        return bytes(machine.emit_object(optimised(text, machine, smaller)))

    return interruptible(work)


def optimised(text: str, machine: llvm.TargetMachine, smaller: bool = True) -> llvm.ModuleRef:
    """A module as LLVM is to compile it, its code made `smaller` or as it is. LLVM's own pipelines take seven times as
    long as these passes, and the code is slower: they see one loop around all of it, which the scheduler is, and keep
    in registers the address of every field that it uses."""
    module = llvm.parse_assembly(text)
    module.triple = llvm.get_process_triple()
    passes = llvm.create_new_module_pass_manager()
    passes.add_always_inliner_pass()
    if smaller:
        passes.add_sroa_pass()
        passes.add_instruction_combine_pass()
        passes.add_simplify_cfg_pass()
    passes.run(module, llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options()))
    return module
