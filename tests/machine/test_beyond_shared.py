"""Accesses to shared memory outside of what a kernel declares, as measured on one H200.

Everything passes from byte 0, in the part that is reserved, up to the block's allocation: 1 KiB and its own bytes, in
units of 128. That was tried with 22 sizes from 0 to 232,448 bytes, by loads and stores of each width, atomics,
ldmatrix, cp.async and bulk copies, by shared, cluster and generic addresses; beyond, all are faults, and so are
addresses of other blocks, and those below the window. What is read there is zero or what blocks before have left.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import banksim
from banksim.errors import Fault
from helpers.commands import out_of
from helpers.fixtures import Patch, Said, source_file
from helpers.operations import ENGINES

OWN = 28
GIVEN = 1152
"""Bytes of a block with `OWN` bytes of its own, those that are reserved included."""
SOURCE = """
#define OF(kind) \\
    if (which == number++) { unsigned r = 0, b = 0, c = 0, d = 0; kind; out[threadIdx.x] = r ^ b ^ c ^ d; }
extern "C" __global__ void touch(unsigned *out, const unsigned *in, int which, unsigned at, unsigned long long add) {
    extern __shared__ __align__(16) unsigned own[];
    unsigned long long generic; int number = 0;
    asm volatile("{ .reg .u64 t; mov.u64 t, 0; cvta.shared.u64 %0, t; }" : "=l"(generic));
    generic += at;
    OF(asm volatile("ld.shared.u8 %0, [%1];" : "=r"(r) : "r"(at) : "memory"))
    OF(asm volatile("ld.shared.u32 %0, [%1];" : "=r"(r) : "r"(at) : "memory"))
    OF(asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];" : "=r"(r), "=r"(b) : "r"(at) : "memory"))
    OF(asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(r), "=r"(b), "=r"(c), "=r"(d) : "r"(at)))
    OF(asm volatile("st.shared.u32 [%1], %2; ld.shared.u32 %0, [%1];" : "=r"(r) : "r"(at), "r"(7) : "memory"))
    OF(asm volatile("atom.shared.add.u32 %0, [%1], %2;" : "=r"(r) : "r"(at), "r"(7) : "memory"))
    OF(asm volatile("ld.u32 %0, [%1];" : "=r"(r) : "l"(generic) : "memory"))
    OF(asm volatile("st.u32 [%1], %2; ld.u32 %0, [%1];" : "=r"(r) : "l"(generic), "r"(7) : "memory"))
    OF(asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(r) : "r"(at) : "memory"))
    OF(asm volatile("cp.async.ca.shared.global [%0], [%1], 16; cp.async.wait_all;" ::"r"(at), "l"(in) : "memory"))
    if (add) own[0] = 1;
}
extern "C" __global__ void declared(int *out, int index) {
    volatile __shared__ int own[32];
    own[threadIdx.x + index] = threadIdx.x;
    out[threadIdx.x] = own[threadIdx.x + index];
}
extern "C" __global__ void unrolled(int *out, int index) {
    volatile __shared__ int own[32];
#pragma unroll
    for (int n = 0; n < 24; ++n) own[threadIdx.x + n + index] = out[n], out[n] = own[threadIdx.x + index - n];
}
extern "C" __global__ void step(unsigned *out, unsigned first, unsigned by) {
    extern __shared__ __align__(16) unsigned own[];
    unsigned at = first + blockIdx.x * by, r, b, c, d;
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(r), "=r"(b), "=r"(c), "=r"(d) : "r"(at) : "memory");
    out[blockIdx.x] = r ^ b ^ c ^ d;
}
"""
WIDTHS = {0: 1, 2: 8, 3: 16, 8: 16, 9: 16}
"""Bytes of each kind of access that are not 4."""


source = source_file("touch.cu", SOURCE)


@pytest.fixture(scope="module")
def kernels(source: Path) -> Any:
    return banksim.load(source)


def touch(kernels: Any, which: int, at: int, engine: str, own: int = OWN) -> Any:
    out, numbers = np.zeros(32, np.uint32), np.arange(32, dtype=np.uint32)
    return banksim.run(kernels["touch"], 1, 32, [out, numbers, which, at, 0], dynamic_shared=own, engine=engine)


@ENGINES
@pytest.mark.parametrize("which", range(10))
def test_what_the_block_is_given_can_be_accessed_and_is_told(kernels: Any, which: int, engine: str) -> None:
    width = WIDTHS.get(which, 4)
    assert not touch(kernels, which, 1024 + OWN // width * width - width, engine).out_of_bounds or width == 16
    for at in (0, 1024 - width, 1024 + OWN // width * width + width, GIVEN - width):
        (told,) = touch(kernels, which, at, engine).out_of_bounds[:1]
        assert told.startswith("Outside of the 28 bytes of shared memory that a block has: ")
        assert "touch.cu:" in told
    for at in (GIVEN, 1 << 17, (1 << 24) + 1024, (1 << 32) - 16):
        with pytest.raises(Fault, match="in shared memory"):
            touch(kernels, which, at, engine)


@ENGINES
def test_a_wide_load_that_begins_inside(kernels: Any, engine: str) -> None:
    """As compilers widen them."""
    run = touch(kernels, 3, 1024 + 16, engine)
    assert [("LDS.128" in text) for text in run.out_of_bounds] == [True]
    assert run.out_of_bounds[0] in run.notes
    assert not touch(kernels, 3, 1024 + 16, engine, own=32).out_of_bounds
    with pytest.raises(Fault, match="misaligned load of 16 bytes"):
        touch(kernels, 3, 1024 + 20, engine)


@ENGINES
@pytest.mark.parametrize("which", [which for which in range(10) if WIDTHS.get(which, 4) > 1])
def test_what_is_wrong_with_a_misaligned_address_outside(kernels: Any, which: int, engine: str) -> None:
    """A GPU lets the place pass, but not the address; beyond all that the block is given it is the place."""
    for at, where in ((2, "1022 bytes below the kernel's own"), (1024 + 42, "at byte 42")):
        with pytest.raises(Fault, match=f": misaligned .* in shared memory, {where}, at "):
            touch(kernels, which, at, engine)
    with pytest.raises(Fault, match=f"out of bounds in shared memory, at byte {GIVEN + 2 - 1024} of 28, at "):
        touch(kernels, which, GIVEN + 2, engine)


@ENGINES
@pytest.mark.parametrize("own", [1, 127, 128, 129, 1000, 40_000])
def test_the_unit_of_allocation(kernels: Any, own: int, engine: str) -> None:
    end = -(-(1024 + own) // 128) * 128
    touch(kernels, 1, end - 4, engine, own)
    with pytest.raises(Fault, match="in shared memory, at byte"):
        touch(kernels, 1, end, engine, own)


@ENGINES
def test_a_store_below_an_array_goes_on(kernels: Any, engine: str) -> None:
    out = np.zeros(32, np.int32)
    run = banksim.run(kernels["declared"], 2, 32, [out, -33], engine=engine)
    assert out.tolist() == list(range(32))
    assert [("STS" in text, "LDS" in text) for text in run.out_of_bounds] == [(True, False), (False, True)]
    assert all("touch.cu:" in text for text in run.out_of_bounds)


@ENGINES
def test_copies_of_one_line_of_the_source_are_told_together(kernels: Any, engine: str) -> None:
    stored, loaded = banksim.run(kernels["unrolled"], 1, 32, [np.zeros(32, np.int32), -64], engine=engine).out_of_bounds
    for told, name in ((stored, "STS"), (loaded, "LDS")):
        assert told.startswith("Outside of the 128 bytes of shared memory that a block has: ")
        assert f" {name} " in told
        assert ") (and at 23 more instructions). A GPU" in told


@pytest.mark.parametrize(
    ("first", "by", "outside"),
    [(1024, 16, 32), (1520, 16, 1), (1280, 128, 2), (0, 16, 0), (1520, 2**32 - 16, 0), (16, 1 << 20, 1), (1024, 1, 1)],
)
def test_no_block_of_a_class_goes_beyond_unseen(
    kernels: Any, monkeypatch: Patch, first: int, by: int, outside: int
) -> None:
    """The block that is executed has 504 bytes of 512, and may itself be outside of them. (`outside`: which block
    faults first, where blocks are so much work that none is executed whole.)"""
    monkeypatch.setattr("banksim.runs.by_classes.SMALL", 0)

    def step(blocks: int, values: bool) -> Any:
        out = np.zeros(blocks, np.uint32)
        return banksim.run(kernels["step"], blocks, 1, [out, first, by], dynamic_shared=504, values=values)

    if outside:
        for values in (False, True):
            with pytest.raises(Fault, match=rf"block \({outside}, 0, 0\)"):
                step(64, values)
    done, full = (step(outside or 64, values) for values in (False, True))
    assert done.classes
    assert not done.whole
    assert (done.judged, done.out_of_bounds) == (full.judged, full.out_of_bounds)


def test_other_architectures_are_not_known_to_let_it_pass(source: Path) -> None:
    for arch in ("sm_80", "sm_120"):
        with pytest.raises(Fault, match=r"out of bounds in shared memory, 132 bytes below the kernel's own"):
            banksim.run(banksim.load(source, arch)["declared"], 1, 32, [np.zeros(32, np.int32), -33])


@pytest.mark.parametrize("asked", [{"check": ("races", "uninitialized")}, {"timing": True}, {"trace": print}])
def test_whatever_is_asked_for(kernels: Any, asked: dict[str, Any]) -> None:
    assert banksim.run(kernels["declared"], 9, 64, [np.zeros(64, np.int32), -33], **asked).out_of_bounds


def test_it_is_in_every_report_and_fails_the_command(source: Path, tmp_path: Path, capsys: Said) -> None:
    from banksim.__main__ import main

    words = ["kernel", f"{source}:declared", "--block", "32", "--arg", "int32[32]", "--arg"]
    html = tmp_path / "report.html"
    said = " ".join(out_of(capsys, [*words, "-33", "--html", str(html)], status=1).split())
    assert "Outside of the 128 bytes of shared memory that a block has" in said
    assert "Outside of the 128 bytes" in html.read_text(encoding="utf-8")
    for form in ("json", "sarif", "github"):
        assert main([*words, "-33", *(["--json"] if form == "json" else ["--format", form])]) == 1
        assert "Outside of the 128 bytes" in capsys.readouterr().out
    assert main([*words, "0"]) == 0
