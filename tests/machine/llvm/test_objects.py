"""What LLVM compiles for a kernel, and which of it kernels share."""

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import banksim
from banksim.kernels.kernel import Kernel
from banksim.machine.llvm import compile, objects
from banksim.machine.llvm.compile import build
from banksim.machine.llvm.emit import APART
from banksim.machine.llvm.translate import translate
from banksim.system import llvm_compiler
from banksim.system.llvm_compiler import Code, all_compiled, optimised
from banksim.system.native_code import target_machine
from helpers.assembler import kernel as assembled
from helpers.places import TRITON


@pytest.fixture(scope="module")
def transpose() -> Kernel:
    return banksim.load(TRITON / "transpose.cubin")["transpose"]


def test_only_what_the_kernel_calls_is_compiled(transpose: Kernel) -> None:
    objects.prepare_llvm()
    module = translate(transpose).module
    whole = objects.text(module, [one for one in module.functions.values() if not one.is_declaration])
    functions = [one for one in optimised(whole, target_machine()).functions if not one.is_declaration]
    called = {
        str(operand.name)
        for function in functions
        for block in function.blocks
        for instruction in block.instructions
        for operand in instruction.operands
    }
    assert {function.name for function in functions} - called == {"warp"}, "all but where it begins is called"


@pytest.mark.parametrize(
    ("text", "most"),
    [
        ("DFMA R4, R6, R8, R4", 600),
        ("DADD R4, R4, R6", 600),
        ("HADD2 R4, R5, R6", 600),
        ("HMUL2 R4, R5, R6", 600),
        ("HFMA2 R4, R5, R6, R4", 600),
        ("HFMA2.BF16_V2 R4, R5, R6.H0_H0, R4", 600),
    ],
)
def test_one_more_instruction_of_a_long_kind_is_short(text: str, most: int) -> None:
    """What makes words of doubles and doubles of words, and what rounds to halves, is not repeated at each of them:
    kernels of such instructions took LLVM seconds."""
    sizes = []
    for length in (10, 20):
        module = translate(assembled([*[text] * length, "EXIT"])).module
        own = [function for function in module.functions.values() if APART not in function.attributes]
        sizes.append(sum(len(str(function)) for function in own if not function.is_declaration))
    assert sizes[1] - sizes[0] < 10 * most


def test_kernels_share_their_routines(transpose: Kernel, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Of another kernel with the same accesses, only its own code is compiled, in another process too."""
    monkeypatch.setenv("BANKSIM_CACHE", str(tmp_path))
    compiled: list[str] = []

    def watched(codes: Sequence[Code]) -> list[bytes]:
        compiled.extend(code.text for code in codes)
        return all_compiled(codes)

    monkeypatch.setattr(objects, "all_compiled", watched)
    results = []
    for kernel in (transpose, replace(transpose, plain_name="another")):
        objects.ROUTINES.clear()
        results.append(build(kernel, traced=False, stepwise=False, watched=False, clustered=False))
    *routines, own, other = compiled
    assert len(routines) > 5
    assert not any('define i32 @"warp"' in text for text in routines)
    assert own == other
    assert 'define i32 @"warp"' in own
    assert results[0] == results[1]


def test_the_same_code_in_another_cubin_is_not_compiled_again(
    transpose: Kernel, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """As after a change to a comment: other lines, another name, and another process, but the same instructions."""
    monkeypatch.setenv("BANKSIM_CACHE", str(tmp_path))
    plain, compiled = compile.build, []

    def watched(kernel: Kernel, *ways: Any) -> compile.Built:
        compiled.append(kernel.name)
        return plain(kernel, *ways)

    monkeypatch.setattr(compile, "build", watched)
    lines = tuple(replace(i, site=replace(i.site, line=7)) for i in transpose.instructions)
    first, *others = transpose.instructions
    for kernel in (
        transpose,
        replace(transpose, name="moved", instructions=lines, cubin=b"moved"),
        replace(
            transpose,
            name="other",
            instructions=(replace(first, opcode="NOP", name="NOP", operands=()), *others),
            cubin=b"o",
        ),
        replace(transpose, name="large", shared_base=transpose.shared_base + 16, cubin=b"l"),
    ):
        compile.compile_kernel.__wrapped__(kernel)
    assert compiled == ["transpose", "other", "large"]


def test_long_code_is_compiled_quickly() -> None:
    """But it is made smaller first, unless little of it is executed."""
    half = objects.LONG // 2 * " "
    assert objects.kernel([half, half]) == [Code(half, objects.WELL)] * 2
    assert objects.kernel([half, half, " "])[-1] == Code(" ", objects.QUICKLY)
    assert objects.kernel([" "], objects.QUICKLY) == [Code(" ", objects.QUICKLY, smaller=False)]


def test_a_long_kernel_is_compiled_in_two_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In pieces, which call each other; if the other process ends, all is compiled here. The code is the same."""
    text = "".join(f"IADD3 R{4 + n % 8}, R{4 + n % 7}, {n}, R2; " for n in range(600))
    kernel = assembled([*text.split("; ")[:-1], "EXIT"])
    monkeypatch.setattr(objects, "PIECE", 1)
    monkeypatch.setattr(llvm_compiler, "cores", lambda: 2)
    done, here, plain = [], [0, 0, 0], llvm_compiler.compiled

    def watched(code: Code) -> bytes:
        here[len(done)] += 1
        return plain(code)

    monkeypatch.setattr(llvm_compiler, "compiled", watched)
    for much, works in ((math.inf, True), (0, True), (0, False)):
        monkeypatch.setenv("BANKSIM_CACHE", str(tmp_path / f"{much} {works}"))
        monkeypatch.setattr(llvm_compiler, "MUCH", much)
        llvm_compiler.other_process.cache_clear()
        if not works:
            monkeypatch.setattr(llvm_compiler, "other_process", lambda _: None)
        objects.ROUTINES.clear()
        done.append(build(kernel, traced=False, stepwise=False, watched=False, clustered=False))
    assert json.loads(done[0][1])["sizes"][3:]
    assert done[0] == done[1] == done[2]
    assert here[1] < here[0] == here[2]


def test_what_executes_little_is_compiled_quickly(transpose: Kernel, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiling would take longer than what it gains. The results are the same."""
    plain, asked = compile.compile_kernel, []

    def watched(*how: Any) -> compile.Compiled:
        asked.append(how[-1])
        return plain(*how)

    monkeypatch.setattr(compile, "compile_kernel", watched)
    done = []
    for little in (compile.LITTLE, 0):
        monkeypatch.setattr(compile, "LITTLE", little)
        given, out = np.arange(64 * 32, dtype=np.float32).reshape(64, 32), np.zeros((32, 64), np.float32)
        run = banksim.run(transpose, (2, 1), None, [out, given, 64, 32])
        done.append((out.tolist(), run.instructions, run.conflicts.sites))
    assert asked == [objects.QUICKLY, objects.WELL]
    assert done[0] == done[1]
