"""Global accesses whose lanes go to different places: several buffers, or what is no global memory."""

from pathlib import Path

import numpy as np
import pytest

import banksim
from banksim.errors import Fault
from banksim.kernels.compilers import assemble
from banksim.kernels.cubin import decode_ahead
from helpers.places import written_to

PTX = """
.version 8.0
.target sm_90
.address_size 64
.visible .entry scattered(.param .u64 first, .param .u64 second, .param .u64 results, .param .u32 window)
{{
    .shared .align 4 .b8 words[128];
    .reg .pred %odd, %shared;
    .reg .b32 %x, %bit, %window, %v, %at;
    .reg .b64 %a, %b, %out, %offset, %s;
    ld.param.u64 %a, [first];
    ld.param.u64 %b, [second];
    ld.param.u64 %out, [results];
    ld.param.u32 %window, [window];
    mov.u32 %x, %tid.x;
    mov.u32 %at, words;
    mov.u32 %v, 1000;
    st.shared.u32 [%at], %v;
    and.b32 %bit, %x, 1;
    setp.ne.u32 %odd, %bit, 0;
    setp.ne.u32 %shared, %window, 0;
    mov.u64 %s, words;
    cvta.shared.u64 %s, %s;
    selp.b64 %b, %s, %b, %shared;
    selp.b64 %a, %b, %a, %odd;
    mul.wide.u32 %offset, %x, 4;
    add.u64 %a, %a, %offset;
    add.u64 %out, %out, %offset;
    {access}
    st.global.u32 [%out], %v;
    ret;
}}
"""
ACCESSES = {
    "load": "ld.global.u32 %v, [%a];",
    "store": "st.global.u32 [%a], %v;",
    "atomic": "atom.global.add.u32 %v, [%a], %x;",
}
WIDE = """
    sub.u64 %a, %a, %offset;
    ld.global.v4.u32 {%v, %bit, %window, %at}, [%a];
    add.u32 %v, %v, %bit;
    add.u32 %v, %v, %window;
    add.u32 %v, %v, %at;
"""
"""The sum of the first four words of each thread's array."""


@pytest.fixture(scope="module", autouse=True)
def listed() -> None:
    """With one start of nvdisasm."""
    decode_ahead(assemble(PTX.format(access=access)) for access in (*ACCESSES.values(), WIDE))


def run(access: str, window: int, engine: str, folder: Path) -> list[np.ndarray]:
    file = written_to(folder / "scattered.ptx", PTX.format(access=ACCESSES.get(access, access)))
    arrays = [np.arange(32, dtype=np.uint32) + first for first in (0, 100, 0)]
    banksim.run(banksim.load(file)["scattered"], 1, 32, [*arrays, np.uint32(window)], engine=engine)
    return arrays


@pytest.mark.parametrize("engine", ["llvm", "numpy"])
@pytest.mark.parametrize("access", ACCESSES)
def test_lanes_in_two_buffers(access: str, engine: str, tmp_path: Path) -> None:
    lane = np.arange(32)
    a, b, out = run(access, 0, engine, tmp_path)
    odd = lane % 2 == 1
    old = np.where(odd, lane + 100, lane)
    np.testing.assert_array_equal(out, 1000 if access == "store" else old)
    new = {"load": old, "store": np.full(32, 1000), "atomic": old + lane}[access]
    np.testing.assert_array_equal(a, np.where(odd, lane, new))
    np.testing.assert_array_equal(b, np.where(odd, new, lane + 100))


@pytest.mark.parametrize("engine", ["llvm", "numpy"])
def test_lanes_at_the_same_byte_of_two_buffers(engine: str, tmp_path: Path) -> None:
    """Wide loads gather lanes by the byte that they name."""
    *_, out = run(WIDE, 0, engine, tmp_path)
    np.testing.assert_array_equal(out, np.where(np.arange(32) % 2 == 1, 406, 6))


@pytest.mark.parametrize("engine", ["llvm", "numpy"])
@pytest.mark.parametrize("access", ACCESSES)
def test_lanes_in_shared_memory_are_a_fault(access: str, engine: str, tmp_path: Path) -> None:
    with pytest.raises(Fault, match="an address of shared memory"):
        run(access, 1, engine, tmp_path)
