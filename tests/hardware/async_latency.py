"""Records what asynchronous instructions take on one SM: async_latency.cu and products of warp groups, on a GPU.

`compile FOLDER` makes the machine code (nvcc and ptxas on the path), `record FOLDER NPZ` runs it on a GPU.
"""

import ctypes
import itertools
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
from recorder import commands, compile_kernels

from helpers.places import written_to

SHARED = 224 << 10
ALL = 132
COPIES = ("bulk_in_", "tensor_in_", "bulk_ring", "tensor_ring", "bulk_out_", "tensor_out_", "bulk_add_", "tensor_add_")
K = {"f16": 16, "bf16": 16, "tf32": 8, "e4m3": 32, "s8": 32, "b1": 256}
Form = tuple[str, str, int, bool, str]
KEEP = ("f16_n128_ss", "f16_n256_ss", "f16_n64_ss", "f16_n128_rs")


def forms() -> list[Form]:
    """(type of D, type of A and B, columns, whether A is in registers, marks) of the products."""
    found = [("f32", "f16", n, regs, "") for n in (8, 16, 32, 64, 96, 128, 192, 256) for regs in (False, True)]
    found += [("f16", "f16", n, False, "") for n in (64, 128, 256)]
    found += [("f32", "bf16", 128, False, "")]
    for kind in ("tf32", "e4m3", "s8"):
        result = "s32" if kind == "s8" else "f32"
        found += [(result, kind, n, False, "") for n in (8, 64, 128, 256)] + [(result, kind, 128, True, "")]
    found += [("f16", "e4m3", 128, False, "")]
    found += [("s32", "b1", n, False, "") for n in (64, 128, 256)]
    found += [("f32", "f16", n, regs, "t") for n in (64, 128, 256) for regs in (False, True)]
    return found


def name(form: Form) -> str:
    result, kind, n, regs, marks = form
    return f"{kind}{'' if result in ('f32', 's32') else '_' + result}_n{n}_{'rs' if regs else 'ss'}{marks}"


def variants() -> list[tuple[Form, int, int, int]]:
    """(form, groups of products committed, products of each, groups that may be under way)."""
    found = [(form, 1, count, 0) for form in forms() for count in (1, 2, 4, 16)]
    return found + [
        (form, *how) for form in forms() if name(form) in KEEP for how in ((4, 4, 1), (4, 4, 0), (8, 1, 1), (8, 1, 0))
    ]


def label(form: Form, rounds: int, count: int, keep: int) -> str:
    return f"product_{name(form)}_{rounds}_{count}_{keep}"


def product(form: Form, rounds: int, count: int, keep: int) -> str:
    result, kind, n, regs, marks = form
    words = n // 4 if result == "f16" else n // 2
    d = ", ".join(f"%d{k}" for k in range(words))
    a = "{%a0, %a1, %a2, %a3}" if regs else "%rd1"
    operator = ".and.popc" if kind == "b1" else ""
    scales = "" if result == "s32" else ", 1, 1"
    if kind in ("f16", "bf16"):
        transposed = 1 if marks == "t" else 0
        scales += f", {transposed}" if regs else f", 0, {transposed}"
    types = f"{result}.{kind}.{kind}{operator}"
    one = f"wgmma.mma_async.sync.aligned.m64n{n}k{K[kind]}.{types} {{{d}}}, {a}, %rd2, 1{scales};\n"
    group = f"wgmma.fence.sync.aligned;\n{one * count}wgmma.commit_group.sync.aligned;\n"
    waits = f"wgmma.wait_group.sync.aligned {keep};\n"
    return f"""
.visible .entry {label(form, rounds, count, keep)}(.param .u64 time, .param .u32 passes,
  .param .u64 a, .param .u64 b) .maxntid {512 if words <= 64 else 256} {{
.reg .b32 %a<4>;
.reg .{"f32" if result == "f32" else "b32"} %d<{words}>; .reg .pred %p<4>; .reg .b32 %r<20>; .reg .b64 %rd<6>;
ld.param.u64 %rd0, [time]; ld.param.u32 %r0, [passes]; ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b];
mov.u32 %r1, %tid.x; shr.u32 %r2, %r1, 5; mul.lo.u32 %r2, %r2, %r0;
mul.wide.u32 %rd3, %r2, 12; add.u64 %rd0, %rd0, %rd3;
mov.u32 %a0, 0; mov.u32 %a1, 0; mov.u32 %a2, 0; mov.u32 %a3, 0;
{"".join(f"mov.b32 %d{k}, 0;" for k in range(words))}
PASS: bar.sync 0; mov.u32 %r3, %clock;
SPIN: mov.u32 %r4, %clock; sub.u32 %r4, %r4, %r3; setp.lt.u32 %p0, %r4, 3000; @%p0 bra SPIN;
bar.red.popc.u32 %r5, 0, %p0; setp.eq.u32 %p1, %r5, 77; @%p1 st.global.u32 [%rd0], %r5;
mov.u32 %r6, %clock;
{waits.join([group] * rounds)}mov.u32 %r7, %clock;
wgmma.wait_group.sync.aligned 0; mov.u32 %r8, %clock;
and.b32 %r9, %r1, 31; setp.eq.u32 %p3, %r9, 0;
@%p3 st.global.u32 [%rd0], %r6; @%p3 st.global.u32 [%rd0+4], %r7; @%p3 st.global.u32 [%rd0+8], %r8;
add.u64 %rd0, %rd0, 12; sub.u32 %r0, %r0, 1; setp.ne.u32 %p1, %r0, 0; @%p1 bra PASS;
{"".join(f"mov.b32 %r14, %d{k}; setp.eq.u32 %p1, %r14, 7; @%p1 st.global.u32 [%rd0], %r14;" for k in (0, words - 1))}
ret; }}
"""


def products() -> str:
    return ".version 8.4\n.target sm_90a\n.address_size 64\n" + "".join(product(*v) for v in variants())


def compile_all(folder: Path) -> None:
    folder = folder.resolve()
    compile_kernels("nvcc", "async_latency.cu", folder / "async_latency.cubin", "-w", "-O3", arch="sm_90a")
    file = written_to(folder / "async_products.ptx", products())
    subprocess.run(["ptxas", "-arch=sm_90a", "-o", folder / "async_products.cubin", file], check=True)
    file.unlink()


class Recorder:
    def __init__(self, folder: Path) -> None:
        from driver import Driver

        self.driver = Driver()
        self.copies = self.driver.module((folder / "async_latency.cubin").read_bytes())
        self.products = self.driver.module((folder / "async_products.cubin").read_bytes())
        self.buffer = self.driver.zeros(ALL << 18)
        self.time = self.driver.zeros(1 << 22)

    def function(self, module: Any, label: str) -> Any:
        function = self.driver.function(module, label)
        self.driver("cuFuncSetAttribute", function, 8, SHARED)
        return function

    def run(self, function: Any, grid: int, block: int, given: list[Any], shape: tuple[int, ...]) -> Any:
        self.driver.launch(function, (grid,), (block,), [self.time, *given], SHARED)
        return self.driver.download(self.time, np.empty(shape, np.uint32))

    def tensor_map(self, inner: int, rows: int, swizzle: int) -> Any:
        """Rows of `inner` floats, as many as the buffer has, in boxes of so many rows."""
        found = (ctypes.c_ubyte * 256)()
        start = ctypes.addressof(found) + -ctypes.addressof(found) % 64
        whole = (ALL << 18) // (4 * inner)
        self.driver(
            "cuTensorMapEncodeTiled",
            ctypes.c_void_p(start),
            7,
            2,
            self.buffer,
            (ctypes.c_uint64 * 2)(inner, whole),
            (ctypes.c_uint64 * 1)(4 * inner),
            (ctypes.c_uint32 * 2)(inner, rows),
            (ctypes.c_uint32 * 2)(1, 1),
            0,
            swizzle,
            2,
            0,
        )
        map_ = (ctypes.c_ubyte * 192)()
        at = -ctypes.addressof(map_) % 64
        ctypes.memmove(ctypes.addressof(map_) + at, start, 128)
        return (ctypes.c_ubyte * 128).from_buffer(map_, at)


def copy_cases() -> list[tuple[str, int, int, int, int, int, int]]:
    """(kernel, blocks, bytes, row bytes, rows, swizzle, count)."""
    found = []
    for kernel in COPIES:
        tensor, rings = kernel.startswith("tensor"), kernel.endswith("ring")
        shapes: list[tuple[int, int, int]] = []
        if tensor:
            shapes = [(128, r, 3) for r in (1, 2, 4, 8, 16, 32, 64, 128, 256)] + [(128, r, 0) for r in (8, 64)]
            shapes += [(64, r, 2) for r in (8, 64, 128, 256)] + [(32, r, 1) for r in (8, 64, 256)]
            shapes += (
                [(16, r, 0) for r in (1, 8, 64, 256)]
                + [(256, r, 0) for r in (8, 64)]
                + [(1024, r, 0) for r in (1, 8, 32)]
            )
        else:
            shapes = [
                (b, 1, 0) for b in (16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072)
            ]
        for (row, rows, swizzle), count in itertools.product(
            shapes, (1, 2, 3, 4, 8, 16) if not rings else (1, 2, 4, 8)
        ):
            if (max(row * rows, 1024) if tensor else row * rows) * count <= 192 << 10:
                found += [(kernel, blocks, row * rows, row, rows, swizzle, count) for blocks in (1, ALL)]
    return found


def record(folder: Path, out: Path) -> None:
    r = Recorder(folder)
    found: dict[str, Any] = {}
    passes = 6
    maps: dict[Any, Any] = {}
    plain = r.tensor_map(32, 8, 0)
    for kernel in COPIES:
        readings = 3 if kernel.endswith(("in_", "ring")) else 4
        function = r.function(r.copies, kernel)
        cases = [c[1:] for c in copy_cases() if c[0] == kernel]
        rows_: list[Any] = []
        for blocks, nbytes, row, rows, swizzle, count in cases:
            key = row, rows, swizzle
            if kernel.startswith("tensor") and key not in maps:
                maps[key] = r.tensor_map(row // 4, rows, swizzle)
            given = [r.buffer, maps.get(key, plain), *map(ctypes.c_int, (nbytes, rows, count, passes))]
            for _ in range(2 if kernel.endswith("ring") else 1):
                raw = r.run(function, blocks, 32, given, (blocks, passes, readings))
            relative = (raw - raw[:, :, :1]).astype(np.int64)
            if kernel.endswith("ring"):
                rows_.append([np.median(relative[:, 0, -1]), relative[:, 0, -1].max(), 0, 0])
            else:  # the median of warm passes and blocks of each reading, and the worst of the last
                warm = relative[:, 1:].reshape(-1, readings)
                rows_.append([*np.median(warm, 0)[1:], *([0] * (4 - readings)), warm[:, -1].max()][:4])
        found[f"{kernel}_case"], found[kernel] = np.array(cases, np.int32), np.array(rows_, np.int32)
        print(kernel, len(cases), flush=True)
        np.savez_compressed(out, **found)
    steps = r.function(r.copies, "mbarrier_steps")
    found["mbarrier_steps"] = np.stack(
        [r.run(steps, 1, 32, [ctypes.c_int(3), ctypes.c_int(n)], (3, 20)) for n in (1, 32)]
    )
    release = r.function(r.copies, "mbarrier_release")
    for warps in (2, 5, 9, 32):
        found[f"mbarrier_release_{warps}"] = r.run(
            release, 1, 32 * warps, [ctypes.c_int(4), ctypes.c_int(2000)], (warps, 4, 2)
        )
    print("mbarriers", flush=True)
    for kernel in ("remote_ld", "remote_st", "remote_red", "remote_atom"):
        function = r.function(r.copies, kernel)
        for warps, own in itertools.product((1, 8), (0, 1)):
            every = [
                r.run(function, 2, 32 * warps, [ctypes.c_int(s), ctypes.c_int(3), ctypes.c_int(own)], (warps, 3, 4))
                for s in (0, 1, 2, 4, 8, 16, 32)
            ]
            found[f"{kernel}_{warps}_{own}"] = np.stack(every)
    print("remote", flush=True)
    np.savez_compressed(out, **found)
    swizzled = 16 >> 4 << 16 | 1024 >> 4 << 32 | 1 << 62
    dense = 128 >> 4 << 16 | 256 >> 4 << 32
    for form, *how in variants():
        what = label(form, *how)
        function = r.function(r.products, what)
        cases, rows_ = [], []
        for groups, layout in itertools.product((1, 2, 3, 4), (0, 1)):
            if (layout and name(form) not in KEEP) or (groups > 2 and form[2] > 128):
                continue
            a, b = ((swizzled | 64, swizzled | 1088), (dense | 64, dense | 1088))[layout]
            given = [ctypes.c_int(3), ctypes.c_uint64(a), ctypes.c_uint64(b)]
            raw = r.run(function, 1, 128 * groups, given, (4 * groups, 3, 3))[:, -1]
            relative = (raw - raw[:, 0].min()).astype(np.int32)
            cases.append((groups, layout))
            rows_.append([relative[:, 0].max(), relative[:, 1].max(), relative[:, 2].min(), relative[:, 2].max()])
        found[f"{what}_case"], found[what] = np.array(cases, np.int32), np.array(rows_, np.int32)
    np.savez_compressed(out, **found)
    print("products", flush=True)


if __name__ == "__main__":
    commands(__doc__, compile=compile_all, record=record)
