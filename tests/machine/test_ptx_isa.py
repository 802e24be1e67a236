"""The PTX ISA 9.0 by its chapters: a kernel for each family of instructions, as ptxas compiles them for sm_90a. Both
engines execute them; what is refused stands in the guide with the reason, and nothing else does."""

import re
from functools import cache
from typing import Any

import numpy as np
import pytest

import banksim
from banksim.errors import Fault, UnsupportedError
from banksim.kernels.compilers.ptx import assemble
from banksim.kernels.cubin import decode
from banksim.machine.llvm.translate import translate
from helpers import recordings
from helpers.places import KERNELS, ROOT

FAMILIES = dict(
    line.split(" | ") for line in (KERNELS / "ptx_isa.txt").read_text().splitlines() if not line.startswith("//")
)
GUIDE = ROOT / "examples" / "guide" / "ptx.md"
REFUSED = {
    family: words
    for families, words in re.findall(r"^\| ((?:`\w+`,? ?)+)\|.*\| `([^`]+)` \|$", GUIDE.read_text(), re.MULTILINE)
    for family in re.findall(r"`(\w+)`", families)
}
"""Of each family that is refused, by the table of the guide's page, words of the message."""
HEAD = """.version 9.0
.target sm_90a
.address_size 64
.global .align 16 .b8 gl[4096];
.const .align 16 .b8 co[256] = {1, 2, 3, 4};
.global .texref tref;
.func (.reg .b32 o) callee(.reg .b32 i) { add.u32 o, i, 1; ret; }
.func (.reg .b32 o) callee2(.reg .b32 i) { add.u32 o, i, 2; ret; }
"""
ENTRY = """.visible .entry NAME(.param .u64 out, .param .u64 n) {
.reg .b32 r<64>; .reg .b64 d<64>; .reg .f32 f<32>; .reg .f64 g<32>; .reg .pred p<16>; .reg .b16 h<32>; .reg .b128 q<8>;
.shared .align 1024 .b8 sm[8192]; .local .align 16 .b8 lo[64];
ld.param.u64 d0, [out]; mov.u32 r0, %tid.x; cvt.u64.u32 d1, r0; mad.wide.u32 d2, r0, 16, d0; mov.u32 r1, sm;
mad.lo.u32 r2, r0, 16, r1; mov.u32 r3, 7; ld.global.u32 r4, [d2]; ld.global.u32 r5, [d2+4]; cvt.u64.u32 d3, r4;
mov.b64 d4, {r4, r5}; cvt.rn.f32.u32 f0, r4; cvt.rn.f32.s32 f1, r5; cvt.rn.f64.u32 g0, r4; cvt.rn.f64.u32 g1, r5;
cvt.u16.u32 h0, r4; cvt.u16.u32 h1, r5; setp.lt.u32 p0, r0, 16; mov.u64 d5, gl; cvta.global.u64 d6, d5;
cvta.to.global.u64 d7, d0; mov.u32 r60, r4; mov.b64 d60, d4; mov.f32 f20, f0; mov.f64 g20, g0; mov.b16 h20, h0;
mov.u32 r61, 0; add.s64 d20, d0, d1; mov.b32 f2, 0f3F000000; mov.f64 g2, 0d3FE0000000000000;
mov.u32 r10, 305419896; mov.u32 r11, 2271560481;
{ BODY }
st.global.v4.u32 [d2], {r60, r61, r0, r0}; mov.b64 {r50, r51}, d60; st.global.v2.u32 [d2+1024], {r50, r51};
st.global.f32 [d2+1032], f20; st.global.f64 [d2+2048], g20; st.global.b16 [d2+2056], h20;
ret;
}
"""


@cache
def kernels() -> Any:
    entries = (ENTRY.replace("NAME", name).replace("BODY", body) for name, body in FAMILIES.items())
    return decode(assemble(HEAD + "".join(entries), "sm_90a"))


OTHERWISE = {
    "float__single_13": "functions that are approximated, to the last digit",
    "half__arith_f16_2": "functions that are approximated, to the last digit",
    "half__arith_bf16_2": "functions that are approximated, to the last digit",
    "move__addresses": "addresses",
    "sync__mbarrier_0": "the state that arrivals return: there, of all lanes the one before the first",
    "sync__mbarrier_3": "the state that arrivals return: there, of all lanes the one before the first",
    "texture__istype_0": "not recorded",
}
"""What was executed and is not what an H200 left."""
OF_CLUSTERS = ("move__bulk_1", "move__bulk_reduce_1", "sync__st_async")
"""What an H200 stopped at in a launch without clusters, as at an illegal instruction. In clusters of a block it ran."""


@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_of_instructions(family: str) -> None:
    """What an executed one leaves is what an H200 left: of each word that changed there its place, and its content."""
    kernel = kernels()[family]
    numbers = (np.arange(4096, dtype=np.uint32) * np.uint32(2654435761) >> np.uint32(7)).astype(np.uint32)
    numbers[8::7] = 0x3F800000 | numbers[8::7] >> 9
    wanted = numbers.copy()

    def run() -> None:
        translate(kernel, False, False, False)
        banksim.run(
            kernel, 1, 32, [numbers, np.uint64(5)], engine="numpy", cluster=1 if family in OF_CLUSTERS else None
        )

    if family not in REFUSED:
        run()
        if family not in OTHERWISE and family not in OF_CLUSTERS:
            place, content = recordings.arrays("ptx_isa")[family].reshape(2, -1)
            wanted[place] = content
            np.testing.assert_array_equal(numbers, wanted)
        return
    for part in (run, lambda: translate(kernel, False, False, False)):
        with pytest.raises(UnsupportedError, match=re.escape(REFUSED[family])):
            part()


@pytest.mark.parametrize("engine", ["llvm", "numpy"])
@pytest.mark.parametrize("family", OF_CLUSTERS)
def test_what_needs_a_launch_of_clusters(family: str, engine: str) -> None:
    """Without clusters it is refused where threads get to it, as a GPU stops only there."""
    arguments = [np.zeros(4096, np.uint32), np.uint64(5)]
    with pytest.raises(Fault, match="outside of a launch of clusters"):
        banksim.run(kernels()[family], 1, 32, arguments, engine=engine)
    banksim.run(passed_by()[family], 1, 32, arguments, engine=engine)
    with pytest.raises(Fault, match="outside of a launch of clusters"):
        banksim.run(passed_by()[family], 1, 64, arguments, engine=engine)


@cache
def passed_by() -> Any:
    """Kernels that get to it in blocks of 64 threads only."""
    start = "mov.u32 r30, %ntid.x; setp.ne.u32 p9, r30, 64; @p9 bra OVER;"
    bodies = {name: f"{start} {FAMILIES[name]} OVER: mov.u32 r30, 0;" for name in OF_CLUSTERS}
    entries = (ENTRY.replace("NAME", name).replace("BODY", body) for name, body in bodies.items())
    return decode(assemble(HEAD + "".join(entries), "sm_90a"))


@pytest.mark.parametrize("engine", ["llvm", "numpy"])
def test_products_of_what_lies_out_of_bounds(engine: str) -> None:
    """Of pairs of halves, many of them such a NaN or one beside it: what an H200 gave."""
    rng, count = np.random.default_rng(9), 1 << 13
    special = [0x7FF7, 0xFFF7, 0x7FF6, 0x7FF8, 0xFFF6, 0x7FF5, 0x3C00, 0xBC00, 0x7C00, 0xFC00, 0, 0x8000, 0x7FFF]
    special += [0x7F80, 0x3F80, 0x7FE7, 0x7FB7]
    given = np.zeros((count, 4), np.uint32)
    often, drawn = rng.random((count, 6)) < 0.8, rng.choice(np.array(special, np.uint16), (count, 6))
    given[:, :3] = np.where(often, drawn, rng.integers(0, 1 << 16, (count, 6)).astype(np.uint16)).view(np.uint32)
    forms = [f"fma.rn.oob{relu}.{kind}" for kind in ("f16x2", "bf16x2") for relu in ("", ".relu")]
    text = f""".version 9.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 p) {{ .reg .b32 a, b, c, r<4>; .reg .b64 at; ld.param.u64 at, [p];
mov.u32 a, %ctaid.x; mov.u32 b, %ntid.x; mov.u32 c, %tid.x; mad.lo.u32 a, a, b, c; mad.wide.u32 at, a, 16, at;
ld.global.v4.u32 {{a, b, c, r0}}, [at]; {" ".join(f"{form} r{n}, a, b, c;" for n, form in enumerate(forms))}
st.global.v4.u32 [at], {{r0, r1, r2, r3}}; ret; }}"""
    rows = slice(None) if engine == "llvm" else slice(0, 1024)
    out = np.ascontiguousarray(given[rows])
    banksim.run(decode(assemble(text, "sm_90a"))["k"], len(out) // 128, 128, [out], engine=engine)
    np.testing.assert_array_equal(out, recordings.arrays("ptx_isa")["fma_oob"][rows])


def test_what_the_guide_says_is_refused_is_tried() -> None:
    assert REFUSED
    assert {*REFUSED} <= {*FAMILIES}
