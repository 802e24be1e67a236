"""What LLVM compiles of a kernel."""

from __future__ import annotations

import banksim
from banksim.machine.llvm.compile import prepare_llvm, target_machine, whole
from banksim.machine.llvm.translate import translate
from helpers.places import TRITON


def test_only_what_the_kernel_calls_is_compiled() -> None:
    prepare_llvm()
    kernel = banksim.load(TRITON / "transpose.cubin")["transpose"]
    module = whole(translate(kernel), watched=False, machine=target_machine())
    compiled = {function.name for function in module.functions if not function.is_declaration}
    called = {
        str(operand.name)
        for function in module.functions
        for block in function.blocks
        for instruction in block.instructions
        for operand in instruction.operands
    }
    assert compiled - called == {"blocks"}, "all but where it begins is called"
