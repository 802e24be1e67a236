"""Every special register of the PTX ISA, on every architecture whose code is executed: its value, or a refusal by name.

The values of sm_90 were read on an H200, from a launch of this grid, this block and these bytes of shared memory.
"""

import functools
import re
import struct
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import banksim
from banksim.architectures.code_layout import MACHINES, WINDOWS
from banksim.errors import CompileError, Fault, UnsupportedError
from banksim.kernels.compilers import assemble, compile_cuda
from banksim.kernels.cubin import decode, decode_ahead
from banksim.kernels.kernel import BYTES, Kernel
from banksim.machine.launch import constants_written, prepare
from banksim.machine.launch_constants import REFUSED, SIZES, written
from banksim.machine.llvm.translate import translate

GRID, BLOCK, STATIC, DYNAMIC = (4, 3, 2), (48, 1, 1), 40, 100
BLOCKS, THREADS = 4 * 3 * 2, 48
Expected = Callable[[int, int], int]
"""(block, thread) → the value."""


def fixed(value: int) -> Expected:
    return lambda block, thread: value


def capability(arch: str) -> int:
    return int(arch[3:])


def rounded(arch: str) -> int:
    unit = 128 if capability(arch) >= 80 else 256
    return -(-(STATIC + DYNAMIC) // unit) * unit


def expected(arch: str) -> dict[str, Expected]:
    """The values of the known registers, by name. Those of %clock and the like are left to the clocks."""
    axes = {
        "tid": [lambda b, t: t, fixed(0), fixed(0)],
        "ntid": [fixed(n) for n in BLOCK],
        "ctaid": [lambda b, t: b % 4, lambda b, t: b // 4 % 3, lambda b, t: b // 12],
        "nctaid": [fixed(n) for n in GRID],
    }
    clusters = {
        "clusterid": axes["ctaid"],
        "nclusterid": axes["nctaid"],
        "cluster_ctaid": [fixed(0)] * 3,
        "cluster_nctaid": [fixed(1)] * 3,
    }
    known: dict[str, Expected] = {
        "laneid": lambda b, t: t % 32,
        "lanemask_eq": lambda b, t: 1 << t % 32,
        "lanemask_lt": lambda b, t: (1 << t % 32) - 1,
        "lanemask_le": lambda b, t: (2 << t % 32) - 1,
        "lanemask_gt": lambda b, t: -(2 << t % 32) & 0xFFFFFFFF,
        "lanemask_ge": lambda b, t: -(1 << t % 32) & 0xFFFFFFFF,
        "dynamic_smem_size": fixed(DYNAMIC),
        "total_smem_size": fixed(rounded(arch)),
        "current_graph_exec": fixed(0),
    }
    if capability(arch) >= 90:
        axes |= clusters
        known |= {
            "is_explicit_cluster": fixed(0), "cluster_ctarank": fixed(0), "cluster_nctarank": fixed(1),
            "aggr_smem_size": fixed(1024 + STATIC + DYNAMIC), "reserved_smem_offset_begin": fixed(0),
            "reserved_smem_offset_cap": fixed(1024), "reserved_smem_offset_0": fixed(0 if arch == "sm_90" else 64),
            "reserved_smem_offset_end": fixed(0x120), "reserved_smem_offset_1": fixed(0), "envreg10": fixed(0x120),
            "envreg11": fixed(0),
        }  # fmt: skip
    elif capability(arch) >= 80:
        known |= {
            "reserved_smem_offset_begin": fixed(rounded(arch)),
            "reserved_smem_offset_cap": fixed(rounded(arch) + 1024),
            "reserved_smem_offset_0": fixed(rounded(arch)),
        }
    if capability(arch) < 90:
        known["nwarpid"] = fixed({75: 32, 80: 64}.get(capability(arch), 48))
    elif arch == "sm_90":
        known["nwarpid"] = fixed(64)  # as an H200 told
    return known | {f"{name}.{axis}": values[n] for name, values in axes.items() for n, axis in enumerate("xyz")}


CLOCKS = ("clock", "clock_hi", "clock64", "globaltimer", "globaltimer_lo", "globaltimer_hi")
REFUSALS = {"warpid", "smid", "nsmid", "gridid"}
WIDE = ("clock64", "globaltimer", "current_graph_exec")
FIRST = ("sm_75", "sm_80", "sm_90", "sm_100")
"""The first architecture of each layout."""
REFUSED_BY_THE_REFERENCE = ("smid", "nsmid", "envreg5")
LATE = re.compile(r"envreg(\d|1[0-5])")


SOURCE = """
struct Four { int n[64]; };
extern "C" __global__ void pick(Four four, int *out, int n) {
    out[threadIdx.x] = four.n[threadIdx.x + n];
}
struct S { char a; long long b; char c; };
extern "C" __global__ void pad(S s, int i, S *o, char last) { o[i] = s; o[i].a += last; }
__constant__ int table[4] = {1, 2, 3, 4};
extern "C" __global__ void far(int *out, int n) { out[threadIdx.x] = table[threadIdx.x + n]; }
"""
"""Kernels that read constant banks in other ways."""


def refused(arch: str) -> set[str]:
    """The names of the registers that are not known."""
    hopper, ampere = capability(arch) >= 90, capability(arch) >= 80
    names = REFUSALS | {f"pm{n}" for n in range(8)} | {f"envreg{n}" for n in range(32) if n not in (1, 2)}
    if hopper:
        return (names | ({"nwarpid"} if capability(arch) > 90 else set())) - {"envreg10", "envreg11"}
    return names | ({"reserved_smem_offset_end", "reserved_smem_offset_1"} if ampere else set())


def refused_late(arch: str) -> list[str]:
    """The unknown registers that are refused only when read: their address is computed from a register."""
    return sorted(name for name in refused(arch) if capability(arch) >= 100 and LATE.fullmatch(name))


def refused_early(arch: str) -> list[str]:
    return sorted(refused(arch) - {*refused_late(arch)})


def code(arch: str, names: Sequence[str]) -> str:
    """PTX of a kernel that stores each of the registers for every thread, as 64 bits."""
    reads = []
    for number, name in enumerate(names):
        if name == "is_explicit_cluster":
            read = f"mov.pred p, %{name}; selp.b64 v, 1, 0, p;"
        elif name in WIDE:
            read = f"mov.u64 v, %{name};"
        else:
            read = f"mov.u32 w, %{name}; cvt.u64.u32 v, w;"
        reads.append(f"{read} st.global.u64 [a+{8 * BLOCKS * THREADS * number}], v;")
    lines = "\n".join(reads)
    return f"""
        .version 9.0
        .target {arch}
        .address_size 64
        .visible .entry k(.param .u64 out) {{
            .shared .align 4 .b8 memory[{STATIC}];
            .reg .pred p; .reg .b32 w, n, m; .reg .b64 v, a, o;
            mov.u32 w, memory; st.shared.u32 [memory], w;
            mov.u32 n, %ctaid.z; mul.lo.u32 n, n, {GRID[1]}; mov.u32 m, %ctaid.y; add.u32 n, n, m;
            mul.lo.u32 n, n, {GRID[0]}; mov.u32 m, %ctaid.x; add.u32 n, n, m;
            mul.lo.u32 n, n, {THREADS}; mov.u32 m, %tid.x; add.u32 n, n, m;
            ld.param.u64 a, [out]; mul.wide.u32 o, n, 8; add.u64 a, a, o;
            {lines}
            ret;
        }}"""


@pytest.fixture(scope="module", autouse=True)
def decoded(by_nvrtc: None) -> None:
    """The kernels of most tests, with one start of nvdisasm for each architecture."""
    lists = [(arch, names) for arch in MACHINES for names in ([*expected(arch)], refused_early(arch))]
    lists += [("sm_100", [name]) for name in refused_late("sm_100")]
    lists += [("sm_80", [name]) for name in REFUSED_BY_THE_REFERENCE] + [(arch, ["laneid"]) for arch in FIRST]
    decode_ahead([*(assemble(code(arch, names), arch) for arch, names in lists), *map(compiled, FIRST)])


@functools.cache
def compiled(arch: str) -> bytes:
    return compile_cuda(SOURCE, arch)


def kernel(arch: str, names: Sequence[str]) -> Kernel:
    return decode(assemble(code(arch, names), arch))["k"]


def stored(arch: str, names: Sequence[str], engine: str) -> np.ndarray:
    out = np.full((len(names), BLOCKS, THREADS), 77, np.uint64)
    banksim.run(kernel(arch, names), GRID, BLOCK, [out], dynamic_shared=DYNAMIC, engine=engine)
    return out


@pytest.mark.parametrize("arch", MACHINES)
def test_values(arch: str) -> None:
    values = expected(arch)
    for engine in ("llvm", "numpy") if arch in FIRST else ("llvm",):
        for found, (name, value) in zip(stored(arch, [*values], engine), values.items(), strict=True):
            want = np.array([[value(b, t) for t in range(THREADS)] for b in range(BLOCKS)], np.uint64)
            np.testing.assert_array_equal(found, want, f"%{name}")


NOTHING: dict[str, Any] = {"name": "NOP", "modifiers": frozenset(), "predicate": None, "operands": ()}


def refusals(arch: str, names: Sequence[str]) -> list[str]:
    """What is refused, one instruction after the other: each time the code behind the last one is tried."""
    found, told = kernel(arch, names), []
    while True:
        try:
            translate(found)
            return told
        except UnsupportedError as error:
            match = re.fullmatch(r"k: (\S+) \(.*\) is not known \(SASS (0x\w+) .*\)", str(error))
            if match is None:
                raise
            told.append(match[1].removeprefix("%"))
            behind = int(match[2], 16) // BYTES + 1
            tried = (replace(one, **NOTHING) for one in found.instructions[:behind])
            found = replace(found, instructions=(*tried, *found.instructions[behind:]))


@pytest.mark.parametrize("arch", MACHINES)
def test_refusals(arch: str) -> None:
    """From sm_100 on, the address of some of these registers is computed with a register, which holds 0."""
    assert {*refusals(arch, refused_early(arch))} == {*refused_early(arch)}
    if arch == "sm_100":
        for name in refused_late(arch):
            with pytest.raises(UnsupportedError, match=f"^k: %{name} .*SASS 0x"):
                stored(arch, [name], "numpy")
        with pytest.raises(UnsupportedError, match=r"^k: %envreg5 \(constant bank 0 at 0x264\) .*SASS 0x"):
            stored(arch, ["envreg5"], "llvm")


@pytest.mark.parametrize("name", REFUSED_BY_THE_REFERENCE)
def test_refusals_of_the_reference(name: str) -> None:
    with pytest.raises(UnsupportedError, match=f"^k: %{name} .*SASS 0x"):
        stored("sm_80", [name], "numpy")


@pytest.mark.parametrize("arch", FIRST)
def test_every_register_is_a_value_a_clock_or_refused(arch: str) -> None:
    """Of all names in the PTX ISA, those that ptxas accepts for this architecture; none is in two of the lists."""
    lists = [set(expected(arch)), set(CLOCKS), refused(arch)]
    assert sum(map(len, lists)) == len(set.union(*lists))
    newest = set(expected("sm_120")) | refused("sm_120")
    for name in sorted(newest - set.union(*lists)):
        with pytest.raises(CompileError):
            assemble(code(arch, [name]), arch)


# ---- the bank itself
@pytest.mark.parametrize("arch", FIRST)
def test_what_is_written_is_what_may_be_read(arch: str) -> None:
    found = kernel(arch, ["laneid"])
    launch = prepare(found, GRID, BLOCK, [struct.pack("<Q", 0)], [], DYNAMIC)
    for name, content in constants_written(launch).items():
        assert len(content) == SIZES[name]
    assert set(SIZES) == {*constants_written(launch), *WINDOWS, "variables", "workspace"}
    for machine in MACHINES.values():
        assert not set(machine.places) - set(SIZES) - set(REFUSED)
        spans = sorted(
            (at, at + SIZES[name]) for name, at in machine.places.items() if name in SIZES and name != "workspace"
        )
        assert all(end <= start for (_, end), (start, _) in pairwise(spans))
    mask = written(found)
    assert mask[launch.constants[0] != 0].all()


@pytest.mark.parametrize("arch", ["sm_75", "sm_90", "sm_100"])
def test_computed_place_that_nothing_wrote(arch: str) -> None:
    """A register holds the offset in the constant bank: parameters can be read, what lies behind them is refused."""
    found = decode(compiled(arch))["pick"]
    four = np.arange(5, 69, dtype=np.int32).tobytes()
    end = max(p.offset + p.size for p in found.parameters)
    place = found.parameter_base + -(-end // 4) * 4
    n = (place - found.parameter_base) // 4 - 2
    for engine in ("llvm", "numpy"):
        out = np.zeros(32, np.int32)
        banksim.run(found, 1, 4, [four, out, 0], engine=engine)
        assert out[:4].tolist() == [5, 6, 7, 8], engine
        with pytest.raises(UnsupportedError, match=rf"^pick: constant bank 0 at {place:#x} is not known"):
            banksim.run(found, 1, 4, [four, out, n], engine=engine)


def test_padding_between_parameters_is_read_along() -> None:
    """The compiler copies a structure and what lies beside it in words of 8 bytes, padding and all."""
    s = np.zeros(1, np.dtype({"names": "abc", "formats": ["i1", "i8", "i1"], "offsets": [0, 8, 16], "itemsize": 24}))
    s["a"], s["b"], s["c"] = 3, 1 << 40, -4
    for arch in FIRST:
        out = np.zeros(2, s.dtype)
        banksim.run(decode(compiled(arch))["pad"], 1, 1, [s.tobytes(), 1, out, np.int8(2)])
        assert out[1].tolist() == (5, 1 << 40, -4)


def test_constant_variable_read_beyond_its_bank() -> None:
    """Reads beyond the module's constant variables do not give zeros, but are refused too."""
    found = decode(compiled("sm_90"))["far"]
    for engine in ("llvm", "numpy"):
        out = np.zeros(4, np.int32)
        banksim.run(found, 1, 4, [out, 0], engine=engine)
        assert out.tolist() == [1, 2, 3, 4], engine
        with pytest.raises(Fault, match="read beyond the end of constant memory, at byte 16"):
            banksim.run(found, 1, 4, [out, 1], engine=engine)
