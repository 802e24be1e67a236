"""Matrix instructions and asynchronous copies: results and counts per instruction as an H200 gave them."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import matrix
import numpy as np
import pytest

import banksim
from banksim.errors import Fault, UnsupportedError
from banksim.runs.outcome import Run
from helpers import recordings
from helpers.operations import ENGINES
from helpers.places import written_to
from helpers.recorded_launches import ENTRIES, executed, launched


def assert_rows_equal(name: str, done: Run) -> None:
    """Executions of every instruction, and the transactions of every one of which banksim knows them."""
    profile = {e.instruction.pc: [e.warps, e.threads, e.predicated_on] for e in done.profile}
    sites = {s.offset: s for s in done.conflicts.sites}
    rows = ENTRIES[name]["rows"]
    for offset, *counts in rows:
        assert profile[offset] == counts[:3], hex(offset)
        if len(counts) > 3 and sites[offset].transactions is not None:
            assert [sites[offset].transactions, sites[offset].ideal] == counts[3:], hex(offset)
    assert sum(counts[0] for counts in profile.values()) == sum(row[1] for row in rows)


@pytest.mark.parametrize(
    "name",
    [
        *(f"matrix_load_store/{pitch}" for pitch in (16, 32, 48, 80, 128)),
        *(f"copy_async_words/{words}" for words in (1, 2, 32)),
        *("gemm_half", "gemm_wmma", "matrix_shapes", "transaction_barrier"),
    ],
)
def test_recorded_launches_on_the_reference_engine(name: str) -> None:
    """test_hardware.py has them on the other one. Who waits at a transaction barrier executes its instruction once."""
    name = f"tensor.{name}"
    done, arguments = launched(name, engine="numpy")
    for number in ENTRIES[name]["changed"]:
        np.testing.assert_array_equal(arguments[number], recordings.arrays("tensor")[f"{name}/{number}"])
    assert_rows_equal(name, done)


def test_copies_are_counted_where_the_count_is_known() -> None:
    """Copies count the transactions of their source too. Past the L1 cache, the profiler's figure stands."""
    done, _ = executed("tensor.gemm_async")
    copies = [s for s in done.conflicts.sites if s.op.startswith("cp_async")]
    assert [(s.op, s.width, s.status, s.transactions) for s in copies] == [
        ("cp_async", 8, "measured", 384),
        ("cp_async_bypass", 16, "Nsight's", 256),
        ("cp_async", 8, "measured", 1152),
        ("cp_async_bypass", 16, "Nsight's", 768),
    ]
    words, _ = executed("tensor.copy_async_words/2")
    (copy,) = (s for s in words.conflicts.sites if s.op == "cp_async")
    assert (copy.requests, copy.transactions, copy.ideal, copy.status) == (2, 4, 2, "measured")


@ENGINES
@pytest.mark.parametrize("product", matrix.products(), ids=lambda p: p.name)
def test_products_equal_the_h200_bit_for_bit(product: Any, engine: str) -> None:
    """Tiles of numbers near one, of all magnitudes, with zeros, denormal, huge, infinite and NaN, and of any bits."""
    tiles = 64 if engine == "llvm" else 8
    arguments = matrix.operands(product)
    expected = recordings.arrays("matrix")[product.name]
    assert len(expected) == matrix.TILES == 64
    out = np.zeros_like(expected)
    banksim.run(recordings.kernels("matrix")[product.name], tiles, 32, [*arguments, out], engine=engine)
    np.testing.assert_array_equal(out[:tiles], expected[:tiles])


@ENGINES
@pytest.mark.parametrize(
    ("name", "opcode"),
    [
        ("m16n8k4_f32_tf32_tf32", "HMMA.1684.F32"),
        ("m16n8k8_f32_tf32_tf32", "HMMA.1688.F16.TF32"),
        ("m16n8k16_f32_f16_f16", "HMMA.SP.16816.F32"),
        ("m16n8k32_s32_s8_s8", "IMMA.16832.S8.S4"),
        ("m16n8k32_s32_s8_s8", "IMMA.16832.S8"),
        ("m8n8k4_f64_f64_f64", "DMMA.8x8x8"),
    ],
)
def test_other_forms_are_refused(name: str, opcode: str, engine: str) -> None:
    kernel = recordings.kernels("matrix")[name]
    head, *marks = opcode.split(".")
    code = tuple(
        replace(i, opcode=opcode, modifiers=frozenset(marks)) if i.name == head else i for i in kernel.instructions
    )
    changed = replace(kernel, instructions=code, cubin=kernel.cubin + opcode.encode())
    arguments = [np.zeros(4096, np.float64) for _ in range(4)]
    with pytest.raises(UnsupportedError, match=head):
        banksim.run(changed, 1, 32, arguments, engine=engine)


BARRIER = """
.version 8.0
.target sm_90
.address_size 64
.visible .entry barrier(.param .u64 results, .param .u32 count, .param .u32 bytes, .param .u32 parity)
{
    .shared .align 8 .b64 word;
    .reg .pred %p, %over;
    .reg .b32 %x, %at, %count, %bytes, %parity, %before, %after;
    .reg .b64 %out, %offset;
    ld.param.u64 %out, [results];
    ld.param.u32 %count, [count];
    ld.param.u32 %bytes, [bytes];
    ld.param.u32 %parity, [parity];
    mov.u32 %x, %tid.x;
    mov.u32 %at, word;
    mov.u32 %before, 0;
    setp.ne.u32 %p, %x, 0;
    @%p bra JOIN;
    mbarrier.init.shared.b64 [%at], %count;
    mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%at], %bytes;
JOIN:
    bar.sync 0;
    @%p bra ARRIVED;
    mbarrier.arrive.shared.b64 _, [%at], %count;
    mbarrier.test_wait.parity.shared.b64 %over, [%at], 0;
    selp.u32 %before, 1, 0, %over;
    mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%at], 64;
ARRIVED:
    bar.sync 0;
    mbarrier.try_wait.parity.shared.b64 %over, [%at], %parity;
    selp.u32 %after, 1, 0, %over;
    shl.b32 %before, %before, 1;
    or.b32 %after, %after, %before;
    mul.wide.u32 %offset, %x, 4;
    add.u64 %out, %out, %offset;
    st.global.u32 [%out], %after;
    ret;
}
"""


def barrier(count: int, bytes_: int, parity: int, engine: str, folder: Path) -> Any:
    file = written_to(folder / "barrier.ptx", BARRIER)
    out = np.zeros(64, np.uint32)
    numbers = [np.uint32(n) for n in (count, bytes_, parity)]
    banksim.run(banksim.load(file)["barrier"], 1, 64, [out, *numbers], engine=engine, workers=1)
    return out


@ENGINES
def test_a_phase_ends_when_all_have_arrived_and_all_bytes_have_come(engine: str, tmp_path: Path) -> None:
    for count in (1, 7, 1 << 19):
        out = barrier(count, 64, 0, engine, tmp_path)
        assert out[1:].tolist() == [1] * 63
        assert out[0] == 1, "over before its bytes had come"


@ENGINES
def test_a_phase_that_never_ends_is_a_fault(engine: str, tmp_path: Path) -> None:
    for bytes_, parity in ((65, 0), (64, 1)):
        with pytest.raises(Fault, match=r"not all can reach.*SYNCS\.PHASECHK\.TRANS64\.TRYWAIT"):
            barrier(3, bytes_, parity, engine, tmp_path)
