"""Products of warp groups (wgmma) on odd operands and by odd descriptors, and what an H200 makes of them.

`python warpgroup_products.py compile` writes the kernels' cubin (those of `shape_forms`, which are large, into a file
that is not kept). On a machine with the GPU, `launch FOLDER` runs them and writes `warpgroup_products.npz`: digests of
the results, of each tile. Counts come to the same file:

    ncu --clock-control none --cache-control none --metrics METRIC.sum -o counts python warpgroup_products.py count
    ncu --import counts.ncu-rep --csv --page raw > counts.csv
    python warpgroup_products.py convert counts.csv

METRIC is l1tex__data_pipe_lsu_wavefronts_mem_shared_op_gmma; each of its launches is one product.
"""

import csv
import ctypes
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matrix
import numpy as np
from matrix import Kind, numbers
from recorder import DATA, HERE, commands, digests

IMAGE = 40960
"""Bytes of shared memory."""
KINDS = matrix.KINDS | {"b1": Kind(0, 0, 8), "e4m3": Kind(4, 4, 8), "e5m2": Kind(3, 5, 8)}


@dataclass(frozen=True)
class Form:
    """A form of wgmma: types of D, A and B; columns of B; whether A is in registers; what is transposed and negated."""

    d: str
    a: str
    b: str
    columns: int
    registers: bool = False
    across: tuple[int, int] = (0, 0)
    signs: tuple[int, int] = (1, 1)
    more: str = ""

    @property
    def k(self) -> int:
        return 256 if self.a == "b1" else 256 // KINDS[self.a].bits

    @property
    def words(self) -> int:
        """Registers of D."""
        return self.columns // (4 if self.d == "f16" else 2)

    @property
    def name(self) -> str:
        marks = "".join("m" if sign < 0 else "p" for sign in self.signs) + "".join(map(str, self.across))
        more = self.more.replace(".", "_")
        return f"{self.d}_{self.a}_{self.b}_n{self.columns}_{'r' if self.registers else 's'}_{marks}{more}"

    @property
    def product(self) -> str:
        """PTX that loads the registers from %out and %in, multiplies by the descriptors %da and %db, stores to %out."""
        d = [f"%r{n}" for n in range(self.words)]
        a = [f"%q{n}" for n in range(4)]
        left = f"{{{', '.join(a)}}}" if self.registers else "%da"
        tail = ", %p1"
        if self.d in ("f32", "f16"):
            tail += f", {self.signs[0]}, {self.signs[1]}"
            if KINDS[self.a].bits == 16:
                tail += "".join(f", {v}" for v in (self.across[1:] if self.registers else self.across))
        name = f"wgmma.mma_async.sync.aligned.m64n{self.columns}k{self.k}.{self.d}.{self.a}.{self.b}{self.more}"
        load = "\n".join(f"ld.global.u32 {r}, [%out+{512 * n}];" for n, r in enumerate(d))
        load += "\n".join(f"ld.global.u32 {r}, [%in+{512 * n}];" for n, r in enumerate(a))
        store = "\n".join(f"st.global.u32 [%out+{512 * n}], {r};" for n, r in enumerate(d))
        return f"""{load}
  wgmma.fence.sync.aligned;
  {name} {{{", ".join(d)}}}, {left}, %db{tail};
  wgmma.commit_group.sync.aligned;
  wgmma.wait_group.sync.aligned 0;
  {store}
"""

    @property
    def ptx(self) -> str:
        """A kernel of (D of each block, in and out; images of shared memory; their bytes; A's registers; descriptors of
        each block; whether D is added to the product)."""
        return f"""
.visible .entry {self.name}(.param .u64 d, .param .u64 image, .param .u32 size, .param .u64 a, .param .u64 which,
  .param .u32 add) .maxntid 128 {{
  .reg .b32 %r<128>; .reg .b32 %q<4>; .reg .b32 %t<12>; .reg .b64 %x<4>; .reg .b64 %out, %in, %from, %da, %db;
  .reg .pred %p<4>;
  .shared .align 1024 .b8 s_{self.name}[{IMAGE}];
  mov.u32 %t0, %tid.x; mov.u32 %t7, %ctaid.x; mul.wide.u32 %x0, %t0, 4;
  ld.param.u64 %out, [d]; add.u64 %out, %out, %x0; mad.wide.u32 %out, %t7, {512 * self.words}, %out;
  ld.param.u64 %in, [a]; add.u64 %in, %in, %x0; mad.wide.u32 %in, %t7, 2048, %in;
  ld.param.u32 %t8, [size];
  ld.param.u64 %from, [image]; add.u64 %from, %from, %x0; mad.wide.u32 %from, %t7, %t8, %from;
  mov.u32 %t1, s_{self.name}; shl.b32 %t2, %t0, 2; add.u32 %t2, %t1, %t2; add.u32 %t3, %t1, %t8;
COPY:
  ld.global.u32 %t4, [%from]; st.shared.u32 [%t2], %t4;
  add.u64 %from, %from, 512; add.u32 %t2, %t2, 512; setp.lt.u32 %p0, %t2, %t3; @%p0 bra COPY;
  bar.sync 0;
  fence.proxy.async.shared::cta;
  bar.sync 0;
  and.b32 %t5, %t1, 0x3FFFF; shr.u32 %t5, %t5, 4; cvt.u64.u32 %x1, %t5;
  ld.param.u64 %x2, [which]; mad.wide.u32 %x2, %t7, 16, %x2; ld.global.v2.u64 {{%da, %db}}, [%x2];
  add.u64 %da, %da, %x1; add.u64 %db, %db, %x1;
  ld.param.u32 %t6, [add]; setp.ne.u32 %p1, %t6, 0;
  {self.product}
  ret;
}}
"""


def value_forms() -> list[Form]:
    """Forms whose sums are recorded."""
    found = []
    for a in ("f16", "bf16", "tf32"):
        found += [Form("f32", a, a, 8), Form("f32", a, a, 8, registers=True, signs=(-1, 1))]
    found += [Form("f16", "f16", "f16", 8), Form("f16", "f16", "f16", 8, registers=True, signs=(1, -1))]
    for a in ("s8", "u8"):
        found += [Form("s32", a, b, 8) for b in ("s8", "u8")] + [Form("s32", a, a, 8, more=".satfinite")]
    found += [Form("s32", "b1", "b1", 8, more=".and.popc"), Form("s32", "b1", "b1", 8, True, more=".and.popc")]
    for a in ("e4m3", "e5m2"):
        for b in ("e4m3", "e5m2"):
            found += [Form("f32", a, b, 8), Form("f16", a, b, 8)]
    return [*found, Form("f32", "e4m3", "e4m3", 8, registers=True, signs=(-1, 1))]


def shape_forms() -> list[Form]:
    """Forms with every number of columns."""
    found = [Form("f32", "f16", "f16", n) for n in range(16, 257, 8)]
    for n in (16, 24, 96, 128, 192, 256):
        found += [Form("f32", a, a, n) for a in ("bf16", "tf32", "e4m3")]
        found += [Form("s32", "s8", "s8", n), Form("s32", "b1", "b1", n, more=".and.popc")]
        found += [Form("f16", "f16", "f16", n), Form("f32", "f16", "f16", n, True)]
    return [form for form in found if form not in value_forms()]


def layout_forms() -> list[Form]:
    """Forms whose results show where descriptors read."""
    found = [Form("f32", "f16", "f16", 16, across=(a, b)) for a in (0, 1) for b in (0, 1)]
    return [*found, Form("s32", "s8", "s8", 16), Form("f32", "tf32", "tf32", 16)]


TILES = {"e4m3": 64, "e5m2": 64}
LAYOUTS = 48
"""How many descriptors each form has."""


def operands(form: Form) -> tuple[Any, Any, Any, Any]:
    """The operands of one of `value_forms`: D (tiles, words, 128), images, A's registers (tiles, 4, 128), descriptors
    (tiles, 2)."""
    rng = np.random.default_rng(sum(form.name.encode()))
    tiles = TILES.get(form.a, 24 if KINDS[form.a].digits else 8)
    image_bytes = 2048 + 32 * form.columns + 511 & ~511
    images, a, d = [], [], []
    for tile in range(tiles):
        flavour = tile % 8
        left = packed(form.a, flavour, 64 * 32, rng)
        right = packed(form.b, flavour, 32 * form.columns, rng)
        if form.a in TILES and tile >= 32:  # few products
            left = left * (rng.random(left.size) < (0.05, 0.1, 0.3)[tile % 3]).astype(np.uint8)
        images.append(np.concatenate([left, right, np.zeros(image_bytes - left.size - right.size, np.uint8)]))
        a.append(left.view(np.uint32).reshape(4, 128))
        d.append(packed(form.d, flavour, 512 * form.words, rng).view(np.uint32).reshape(form.words, 128))
        if form.a in TILES and tile % 4 == 3:
            d[-1][:] = 0
    dense = 128 >> 4 << 16 | 256 >> 4 << 32
    which = np.array([[dense, dense | 2048 >> 4]] * tiles, np.uint64)
    return np.array(d), np.array(images), np.array(a), which


def packed(name: str, flavour: int, count: int, rng: Any) -> Any:
    """`count` bytes of numbers of a type."""
    kind = KINDS[name]
    bits = numbers(kind, flavour, count * 8 // kind.bits, rng)
    if name == "e4m3" and flavour == 5:  # it has one NaN, and no infinity
        bits = np.where((bits & 0x78) == 0x78, bits | 0x7F, bits)
    if kind.bits == 8 and kind.digits and flavour == 7:
        bits = rng.integers(0, 256, bits.size)
        bits = np.where((bits & 0x7F) > 0x7B, 0x35, bits)
    return bits.astype({8: np.uint8, 16: np.uint16, 32: np.uint32}[kind.bits]).view(np.uint8)


def small_numbers(name: str, count: int, rng: Any) -> Any:
    """`count` bytes of numbers of a type, whose sums are exact."""
    if name == "b1":
        return rng.integers(0, 256, count).astype(np.uint8)
    v = rng.integers(-8, 9, count * 8 // KINDS[name].bits)
    if name == "e4m3":
        table = [0, 0x38, 0x40, 0x44, 0x48, 0x4A, 0x4C, 0x4E, 0x50]
        return np.array([table[abs(n)] | 0x80 * (n < 0) for n in v], np.uint8)
    if name == "bf16":
        return (v.astype("f4").view("u4") >> 16).astype("u2").view(np.uint8)
    return v.astype({"f16": "f2", "tf32": "f4", "s8": "i1"}[name]).view(np.uint8)


def shapes(form: Form) -> tuple[Any, Any, Any, Any]:
    """The operands of one tile of exact sums, with rows of A and B swizzled by 128 bytes."""
    rng = np.random.default_rng(form.columns)
    size = 64 * 128 + 128 * form.columns
    image = np.zeros(size + 511 & ~511, np.uint8)
    image[:size] = small_numbers(form.a, size, rng)
    a = small_numbers(form.a, 2048, rng).view(np.uint32).reshape(1, 4, 128)
    descriptor = 16 >> 4 << 16 | 1024 >> 4 << 32 | 1 << 62
    which = np.array([[descriptor, descriptor | 64 * 128 >> 4]], np.uint64)
    return np.zeros((1, form.words, 128), np.uint32), image[None], a, which


def layouts(form: Form) -> tuple[Any, Any, Any, Any]:
    """The operands of LAYOUTS tiles with random descriptors, all of which stay within the image."""
    rng = np.random.default_rng(sum(form.name.encode()) + 1)
    image = small_numbers(form.a, IMAGE, rng)
    which = np.array([[descriptor(rng, n) for _ in range(2)] for n in range(LAYOUTS)], np.uint64)
    d = np.zeros((LAYOUTS, form.words, 128), np.uint32)
    a = np.zeros((LAYOUTS, 4, 128), np.uint32)
    return d, np.repeat(image[None], LAYOUTS, 0), a, which


def descriptor(rng: Any, number: int) -> int:
    """A descriptor. By its number it is plain, begins anywhere, has a base offset, or is any."""
    swizzle = int(rng.integers(0, 4))
    line = {0: 16, 1: 128, 2: 64, 3: 32}[swizzle]
    how = number % 4
    leading = int(rng.integers(0, 64)) * 16 if how else (128 if swizzle == 0 else 1024 * int(rng.integers(0, 3)))
    stride = int(rng.integers(0, 128)) * 16 if how > 1 else 8 * line * int(rng.integers(0, 3))
    start = int(rng.integers(0, 512)) * 16 if how else 1024 * int(rng.integers(0, 8))
    base = int(rng.integers(0, 8)) if how > 1 else 0
    return start >> 4 | leading >> 4 << 16 | stride >> 4 << 32 | base << 49 | swizzle << 62


GROUPS = {"values": (value_forms, operands), "shapes": (shape_forms, shapes), "layouts": (layout_forms, layouts)}


KEPT, LARGE = DATA / "warpgroup_products.cubin", HERE / "warpgroup_shapes.cubin"


def source(forms: list[Form]) -> str:
    return ".version 8.4\n.target sm_90a\n.address_size 64\n" + "".join(form.ptx for form in forms)


def run(driver: Any, module: Any, form: Form, given: tuple[Any, Any, Any, Any], one_by_one: bool = False) -> Any:
    d, images, _a, _which = given
    pointers = [driver.upload(np.ascontiguousarray(array)) for array in given]
    size, add = ctypes.c_uint32(images.shape[1]), ctypes.c_uint32(1)
    function = driver.function(module, form.name)
    for tile in range(len(d)) if one_by_one else [0]:
        at = [
            ctypes.c_uint64(p.value + tile * array.nbytes // len(d)) for p, array in zip(pointers, given, strict=True)
        ]
        grid = 1 if one_by_one else len(d)
        driver.launch(function, (grid,), (128,), [at[0], at[1], size, at[2], at[3], add])
    out = driver.download(pointers[0], np.empty_like(d))
    driver.free(pointers)
    return out


def launched(one_by_one: bool = False) -> dict[str, Any]:
    """Digests of what every kernel gives on the GPU. `one_by_one`, to be counted: each tile by itself, and of those for
    values only the first."""
    from driver import Driver

    driver = Driver()
    results: dict[str, Any] = {}
    for group, (forms, operands_of) in GROUPS.items():
        module = driver.module((LARGE if group == "shapes" else KEPT).read_bytes())
        for form in forms():
            given = operands_of(form)
            if one_by_one and group == "values":
                given = tuple(array[:1] for array in given)
            results[f"{group}/{form.name}"] = digests(run(driver, module, form, given, one_by_one))
    return results


def launch(folder: Path) -> None:
    np.savez_compressed(folder / "warpgroup_products.npz", **launched())


def count() -> None:
    launched(one_by_one=True)


def convert(table: Path) -> None:
    """Add the profiler's counts of launches, by form, to the recording."""
    with table.open() as lines:
        head, _, *rows = csv.reader(lines)
    name, count = head.index("Kernel Name"), next(n for n, word in enumerate(head) if word.endswith("op_gmma.sum"))
    found: dict[str, list[int]] = {}
    for row in rows:
        found.setdefault(f"counts/{row[name]}", []).append(int(row[count]))
    file = DATA / "warpgroup_products.npz"
    with np.load(file) as stored:
        results = dict(stored) | {key: np.array(counts, np.int32) for key, counts in found.items()}
    np.savez_compressed(file, **results)


def compile_all(ptxas: str = "ptxas") -> None:
    file = HERE / "warpgroup_products.ptx"
    for output, forms in ((KEPT, [*value_forms(), *layout_forms()]), (LARGE, shape_forms())):
        file.write_text(source(forms))
        try:
            subprocess.run([ptxas, "-arch=sm_90a", "-o", output, file], check=True)
        finally:
            file.unlink()


if __name__ == "__main__":
    commands(__doc__, compile=compile_all, launch=launch, count=count, convert=convert)
