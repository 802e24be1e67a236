"""The PTX ISA's newer instructions, as ptxas compiles them for sm_90: what they give, or why they are refused."""

from functools import cache
from typing import Any

import numpy as np
import pytest

import banksim
from banksim.errors import UnsupportedError
from banksim.kernels.compilers import assemble
from banksim.kernels.cubin import decode
from banksim.machine.supported import check
from helpers.operations import ENGINES

FLOATS, WORDS, MORE = "{%f1, %f2, %f3, %f4}", "{%r1, %r2, %r3, %r4}", "{%r5, %r6, %r7, %r8}"
SPARSE_OF_GROUPS = "wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16"
SPARSE = "mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32"
IM2COL = "cp.async.bulk.tensor.3d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes"
REFUSED = {
    f"{SPARSE_OF_GROUPS} {FLOATS}, %x1, %x2, %r1, 0, 1, 1, 1, 0, 0;": "a sparse matrix product",
    f"{SPARSE} {FLOATS}, {WORDS}, {MORE}, {FLOATS}, %r9, 0;": "a sparse matrix product",
    "multimem.ld_reduce.relaxed.sys.global.add.f32 %f1, [%x1];": r"multimem. is not simulated",
    "mbarrier.arrive.noComplete.shared.b64 %x1, [%r1], 3;": "RPCMOV is not known|TMASK of SYNCS",
}
"""Why instructions are refused: results that only hardware could show, memory of several GPUs, or not implemented."""
TAKEN = [
    f"{IM2COL} [%r1], [%x1, {{%r2, %r3, %r4}}], [%r5], {{%h1}};",
    "fence.proxy.async; fence.proxy.async.global; fence.mbarrier_init.release.cluster;",
    "fence.proxy.tensormap::generic.acquire.gpu [%x1], 128; fence.proxy.tensormap::generic.release.sys;",
    "fence.acq_rel.cluster; fence.sc.sys; membar.gl;",
    "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; cp.async.bulk.wait_group.read 0;",
    "cp.async.bulk.prefetch.L2.global [%x1], 64; prefetch.tensormap [%x1]; prefetch.global.L2::evict_last [%x1];",
    "discard.global.L2 [%x1], 128; applypriority.global.L2::evict_normal [%x1], 128;",
    "createpolicy.fractional.L2::evict_last.b64 %x1, 0.5; ld.global.L2::cache_hint.u32 %r1, [%x2], %x1;",
    "atom.global.exch.b128 %q1, [%x1], %q2;",
    "mbarrier.arrive_drop.expect_tx.shared.b64 %x1, [%r1], 64; mbarrier.complete_tx.relaxed.cta.shared.b64 [%r1], 64;",
    "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u64 [%r1], %x2, [%r3];",
    "st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.f32 [%r1], {%f1, %f2}, [%r2];",
    "tensormap.replace.tile.swizzle_mode.shared::cta.b1024.b32 [%x1], 2;",
    "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%x1], [%x2], 128;",
]
"""Lines that are executed without a result to check."""
GIVEN = {
    "elect.sync %r1|%p1, -1; selp.u32 %r2, 100, 0, %p1; add.u32 %r1, %r1, %r2;": lambda v: (np.arange(32) == 0) * 100,
    "redux.sync.add.s32 %r1, %r2, -1;": lambda v: np.full(32, v.sum()),
    "redux.sync.max.u32 %r1, %r2, -1;": lambda v: np.full(32, v.max()),
    "redux.sync.xor.b32 %r1, %r2, -1;": lambda v: np.full(32, np.bitwise_xor.reduce(v)),
    "add.u32 %r3, %r2, -1000; shr.u32 %r2, %r2, 13; cvt.pack.sat.s8.s32.b32 %r1, %r2, %r3, %r4;": lambda v: (
        v << 16 | np.clip(v >> 13, 0, 127) << 8 | np.clip(v.astype("i4") - 1000, -128, 127).astype("u1")
    ),
    "add.u32 %r3, %r2, -1000; shr.u32 %r2, %r2, 16; cvt.pack.sat.u4.s32.b32 %r1, %r2, %r3, %r4;": lambda v: (
        v << 8 | np.clip(v >> 16, 0, 15) << 4 | np.clip(v.astype("i4") - 1000, 0, 15).astype("u4")
    ),
    "add.u32 %r3, %r2, -1000; shr.u32 %r2, %r2, 18; cvt.pack.sat.s2.s32.b32 %r1, %r2, %r3, %r4;": lambda v: (
        v << 4 | np.clip(v >> 18, 0, 1) << 2 | np.clip(v.astype("i4") - 1000, -2, 1).astype("u4") & 3
    ),
    "sub.u32 %r3, 500000, %r2; cvt.pack.sat.s16.s32 %r1, %r3, %r2;": lambda v: (
        np.clip(500_000 - v.astype("i4"), -32768, 32767).astype("u2").astype("u4") << 16 | np.clip(v, 0, 32767)
    ),
    "griddepcontrol.wait; add.u32 %r1, %r2, 1; griddepcontrol.launch_dependents;": lambda v: v + 1,
    "nanosleep.u32 40; add.u32 %r1, %r2, 2;": lambda v: v + 2,
    "setmaxnreg.dec.sync.aligned.u32 40; add.u32 %r1, %r2, 3; setmaxnreg.inc.sync.aligned.u32 232;": lambda v: v + 3,
}
"""By lines: what they leave in %r1 for the numbers in %r2."""


def entry(name: str, body: str) -> str:
    return f""".visible .entry {name}(.param .u64 p) .maxntid 128 {{
  .reg .b32 %r<10>; .reg .b64 %x<4>; .reg .f32 %f<10>; .reg .b16 %h<2>; .reg .b128 %q<3>; .reg .pred %p<4>;
  .reg .b64 %at, %wide, %low, %high;
  .reg .b32 %t;
  ld.param.u64 %at, [p]; mov.u32 %t, %tid.x; mad.wide.u32 %wide, %t, 8, %at;
  mad.wide.u32 %at, %t, 4, %at;
  {" ".join(f"ld.volatile.global.u32 %r{n}, [%at];" for n in range(1, 10))}
  {" ".join(f"ld.volatile.global.f32 %f{n}, [%at];" for n in range(1, 10))}
  {" ".join(f"ld.volatile.global.u64 %x{n}, [%wide+{512 * n}];" for n in range(1, 4))}
  ld.volatile.global.u16 %h1, [%at]; mov.b128 %q1, {{%x1, %x2}}; mov.b128 %q2, {{%x2, %x3}};
  {body}
  st.volatile.global.u32 [%at], %r1;
  st.volatile.global.u64 [%wide+2048], %x1; st.volatile.global.f32 [%at+3072], %f1;
  mov.b128 {{%low, %high}}, %q1; st.volatile.global.u64 [%wide+4096], %low;
  ret;
}}
"""


HALVES = {
    "red.global.add.noftz.v2.f16x2": 2, "red.global.add.noftz.v4.f16x2": 4,
    "red.global.add.noftz.v2.bf16x2": 2, "red.global.add.noftz.v4.bf16x2": 4,
}  # fmt: skip
"""Reductions of vectors of pairs of halves: words a lane."""


def reduction(name: str, line: str) -> str:
    """Each lane's words are added to its own place and to the next lane's, so that every number is added to twice."""
    words = HALVES[line]
    list_ = "{" + ", ".join(f"%r{n + 1}" for n in range(words)) + "}"
    body = f"""{" ".join(f"ld.global.u32 %r{n + 1}, [%src+{4 * n}];" for n in range(words))}
      {line} [%to], {list_}; {line} [%to+{4 * words}], {list_};"""
    return f""".visible .entry {name}(.param .u64 to, .param .u64 src) {{
      .reg .b32 %r<6>; .reg .b64 %to, %src;
      ld.param.u64 %to, [to]; ld.param.u64 %src, [src]; mov.u32 %r5, %tid.x;
      mad.wide.u32 %to, %r5, {4 * words}, %to; mad.wide.u32 %src, %r5, {4 * words}, %src;
      {body} ret; }}
"""


LINES = [*REFUSED, *TAKEN, *GIVEN, *HALVES]


@cache
def kernels() -> Any:
    """A kernel for each line, all in one module."""
    text = "".join((reduction if line in HALVES else entry)(f"k{n}", line) for n, line in enumerate(LINES))
    return decode(assemble(f".version 8.6\n.target sm_90a\n.address_size 64\n{text}", "sm_90a"))


def kernel(line: str) -> Any:
    return kernels()[f"k{LINES.index(line)}"]


@pytest.mark.parametrize("line", REFUSED, ids=lambda line: line.split()[0])
def test_refused_by_name(line: str) -> None:
    with pytest.raises(UnsupportedError, match=REFUSED[line]):
        check(kernel(line))


@ENGINES
@pytest.mark.parametrize("line", HALVES)
def test_vectors_of_halves_are_added(line: str, engine: str) -> None:
    words, brain = HALVES[line], "bf16" in line
    given = np.random.default_rng(words).integers(-40, 40, (32, 2 * words)).astype(np.float32)
    wanted = np.zeros((33, 2 * words), np.float32)
    wanted[:32] += given
    wanted[1:] += given
    as_bits = (lambda v: (v.view("u4") >> 16).astype("u2")) if brain else (lambda v: v.astype("f2").view("u2"))
    out = np.zeros((33, 2 * words), np.uint16)
    banksim.run(kernel(line), 1, 32, [out, as_bits(given)], engine=engine)
    np.testing.assert_array_equal(out, as_bits(wanted))


@pytest.mark.parametrize("line", TAKEN, ids=lambda line: line.split(";")[0])
def test_taken(line: str) -> None:
    check(kernel(line))


@ENGINES
@pytest.mark.parametrize("line", GIVEN, ids=lambda line: line.split()[0])
def test_given(line: str, engine: str) -> None:
    memory = np.zeros(2048, np.uint32)
    given = np.random.default_rng(1).integers(0, 1 << 20, 32).astype(np.uint32)
    memory[:32] = given
    banksim.run(kernel(line), 1, 32, [memory], engine=engine)
    np.testing.assert_array_equal(memory[:32], GIVEN[line](given))
