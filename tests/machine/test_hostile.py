"""Whatever a kernel does: a result or an error, no byte of memory but its own, and an end when it is told to."""

import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import banksim
from banksim.architectures.code_layout import LOCAL_WINDOW
from banksim.errors import Fault, UnsupportedError
from banksim.kernels.kernel import Instruction, Kernel, Operand
from banksim.machine import state
from banksim.machine.reference import run as reference_run
from banksim.requests.kinds import LANES
from banksim.timing import simulation
from helpers import assembler, hostile
from helpers.operations import ENGINES
from helpers.places import PACKAGES, TESTS


def program(*arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS), str(PACKAGES)])}
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=TESTS, env=environment, capture_output=True, text=True, check=False, timeout=300)


# ---- addresses
def test_no_access_leaves_the_buffers_of_the_engine() -> None:
    done = program("-m", "helpers.hostile", "15")
    assert done.returncode == 0, done.stderr
    ran, refused = (int(words.split()[0]) for words in done.stdout.split(","))
    assert ran > 300
    assert refused > 1500


@pytest.mark.parametrize("behind", [True, False])
def test_a_guarded_buffer_ends_the_process_that_leaves_it(behind: bool) -> None:
    lines = [
        "import ctypes, numpy; from helpers import hostile",
        f"buffer = hostile.guarded(numpy.dtype('u1'), 128, {behind})",
        "ctypes.memset(buffer.ctypes.data, 1, 128)",
        f"ctypes.memset(buffer.ctypes.data + {128 if behind else -1}, 1, 1)",
    ]
    assert program("-c", "\n".join(lines)).returncode == -signal.SIGSEGV


addresses = st.one_of(
    st.sampled_from(hostile.places()),
    st.integers(0, (1 << 64) - 1),
    st.tuples(st.sampled_from(hostile.places()), st.integers(-300, 300)).map(lambda t: sum(t) & ((1 << 64) - 1)),
)
inside = st.integers(0, hostile.BUFFER // 8 - 1).map(lambda n: hostile.HEAP + (3 << 32) + 8 * n)
vectors = st.one_of(
    st.lists(addresses, min_size=LANES, max_size=LANES),
    st.lists(inside, min_size=LANES, max_size=LANES),
    st.tuples(st.lists(inside, min_size=LANES, max_size=LANES), st.integers(0, 31), addresses).map(
        lambda t: [*t[0][: t[1]], t[2], *t[0][t[1] + 1 :]]
    ),
    st.tuples(addresses, st.sampled_from([0, 1, 2, 4, 8, 12, 16, 32, 1 << 27, -4, -16])).map(
        lambda t: [t[0] + t[1] * lane & ((1 << 64) - 1) for lane in range(LANES)]
    ),
)


@given(st.sampled_from(hostile.INSTRUCTIONS), vectors)
def test_an_access_anywhere_does_what_the_reference_says_and_nothing_else(text: str, addresses: list[int]) -> None:
    """Both engines give the same error or results and memory, and memory around the buffer does not change."""
    outcomes = []
    for engine in ("llvm", "numpy"):
        around = np.full(3 * 4096, 0xA5, np.uint8)
        target = around[4096 : 4096 + hostile.BUFFER]
        target[:] = np.arange(hostile.BUFFER, dtype=np.uint8)
        outcome = hostile.attempt(text, addresses, engine, target)
        outcomes.append((*outcome, target.tolist() if outcome[0] == "ran" else None))
        target[:] = 0xA5
        assert (around == 0xA5).all()
    assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize("text", [text for text in hostile.INSTRUCTIONS if text.lstrip().startswith(("ATOM.", "RED."))])
@pytest.mark.parametrize("place", [0, 8, hostile.LOCAL - 1, hostile.LOCAL])
def test_generic_atomics_reach_local_memory_with_32_bits_only(text: str, place: int) -> None:
    """As one H200 did; the code behind those of 64 bits does them there."""
    addresses = [LOCAL_WINDOW + place] * LANES
    target = np.zeros(hostile.BUFFER, np.uint8)
    llvm, numpy = (hostile.attempt(text, addresses, engine, target) for engine in ("llvm", "numpy"))
    assert llvm == numpy
    if "64" in text.split()[0]:
        assert "global atomic operation" in llvm[1]
    else:
        assert llvm[0] == "ran" if place <= 8 else "local memory" in llvm[1]


@ENGINES
@pytest.mark.parametrize("target", [0x12FD1, 0x8, 0x7FFF0])
def test_a_branch_to_nowhere_is_told_without_a_wrong_place(engine: str, target: int) -> None:
    lines = ["S2R R0, SR_TID.X", "ISETP.LT.U32.AND P0, PT, R0, 0x3, PT", "@P0 EXIT", f"MOV R4, {target:#x}"]
    wrong = written([*lines, "MOV R5, RZ", "RET.ABS.NODEC R4", "EXIT"])
    what = f"a branch, call or return led to {target:#x}, where no instruction begins"
    message = f"written: {what}, block (0, 0, 0), warp 0, lane 3"
    with pytest.raises(Fault, match=f"^{re.escape(message)}$"):
        run(wrong, engine, 32)


# ---- code that never ends, registers that are not there
def written(lines: list[str], **more: Any) -> Kernel:
    """A kernel of one pointer and 16 registers."""
    return assembler.kernel(lines, 1, registers=16, **more)


def run(kernel: Kernel, engine: str = "llvm", block: int = 64, **options: Any) -> Any:
    return banksim.run(kernel, 1, block, [np.zeros(64, np.uint32)], engine=engine, **options)


ENDLESS = {
    "branch": ["NOP", "BRA 0x0", "EXIT"],
    "return": ["RET.REL.NODEC R4, 0x0", "EXIT"],
    "half a warp": ["S2R R0, SR_TID.X", "ISETP.LT.U32.AND P0, PT, R0, 0x10, PT", "@P0 BRA 0x20", "EXIT"],
    "barrier": ["BAR.SYNC.DEFER_BLOCKING 0x0", "BRA 0x0", "EXIT"],
    "sleep": ["NANOSLEEP 0x10", "BRA 0x0", "EXIT"],
    "yield": ["S2R R0, SR_TID.X", "ISETP.LT.U32.AND P0, PT, R0, 0x10, PT", "@P0 BRA 0x30", "YIELD", "BRA 0x30", "EXIT"],
    "recursion": ["NOP", "CALL.REL.NOINC 0x0", "EXIT"],
    "lock that nobody gives back": [
        "IMAD.MOV.U32 R2, RZ, RZ, c[0x0][0x210]",
        "IMAD.MOV.U32 R3, RZ, RZ, c[0x0][0x214]",
        "MOV R5, 0x1",
        "ATOMG.E.CAS.STRONG.GPU PT, R4, [R2.64], RZ, R5",
        "ISETP.NE.U32.AND P0, PT, R4, RZ, PT",
        "@P0 BRA 0x30",
        "EXIT",
    ],
}


def endless(name: str) -> Kernel:
    lines = ENDLESS[name]
    kernel = written(lines)
    code = [
        i if i.name not in ("BRA", "CALL") else instruction_to(i, line)
        for i, line in zip(kernel.instructions, lines, strict=True)
    ]
    return written(lines, instructions=tuple(code))


def instruction_to(i: Instruction, line: str) -> Instruction:
    """The instruction of a line, with its branch target resolved as the decoder does."""
    return replace(i, operands=(*i.operands[:-1], Operand("code", int(line.split()[-1], 16))))


@ENGINES
@pytest.mark.parametrize("name", ENDLESS)
def test_code_that_never_ends_is_stopped_at_the_limit(name: str, engine: str) -> None:
    with pytest.raises(Fault, match="the instruction limit is used up"):
        run(endless(name), engine, max_instructions=3000)


@pytest.mark.parametrize(
    "mode", [{}, {"engine": "numpy"}, {"timing": True}, {"check": "races"}, {"trace": "t.parquet"}], ids=str
)
def test_without_a_limit_an_endless_loop_is_told_with_its_place(
    mode: dict[str, Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    for module, name in (
        (state, "ALLOWANCE"),
        (state, "OBSERVED_ALLOWANCE"),
        (simulation, "ALLOWANCE"),
        (reference_run, "ALLOWANCE"),
    ):
        monkeypatch.setattr(module, name, 1000)
    where = r"limit is used up.*SASS 0x.*(, warp 0, lane 0, block \(0, 0, 0\)|, block \(0, 0, 0\), warp 0, lane 0)"
    with pytest.raises(Fault, match=where):
        run(endless("branch"), block=32, **mode)


@pytest.mark.parametrize("name", ENDLESS)
def test_code_that_never_ends_is_stopped_by_an_interrupt(name: str) -> None:
    """Within a second of it; what was counted is kept, and marked as partial."""
    signal.setitimer(signal.ITIMER_REAL, 0)
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    kernel = endless(name)
    try:
        with pytest.raises(Fault):
            run(kernel, max_instructions=100)  # compiled
        began = time.perf_counter()
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        done = run(kernel)
        assert time.perf_counter() - began < 1.2
    finally:
        signal.signal(signal.SIGALRM, before)
    assert done.partial
    assert done.instructions > 1000


@ENGINES
@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("MOV R16, R2", "register R16 (of 16)"),
        ("MOV R2, R200", "register R200 (of 16)"),
        ("IADD3 R2, P0, R14, R254, RZ", "register R254 (of 16)"),
        ("LDS.128 R16, [RZ]", "register R16 (of 16)"),
        ("LDS.128 R13, [RZ]", "4 registers from R13 on, which a GPU stops at as at an illegal instruction,"),
        ("BSYNC B16", "convergence barrier B16"),
        ("IMAD.MOV.U32 R2, RZ, RZ, c[0x9][0x0]", "constant bank 9"),
        ("SHFL.IDX PT, R2, R3", "this form of SHFL"),
        ("BSSY", "this form of BSSY"),
        ("LDS R2", "this form of LDS"),
    ],
)
def test_what_no_thread_has_is_refused_by_name(line: str, complaint: str, engine: str) -> None:
    with pytest.raises(UnsupportedError) as refusal:
        run(written([line, "EXIT"], shared_bytes=16), engine)
    assert str(refusal.value) == f"written: {complaint} is not known (SASS 0x0000 {line}; no source line)"
