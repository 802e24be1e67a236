"""Products of warp groups (wgmma) on both engines: every layout of their operands, against NumPy's product."""

from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest
from warpgroup_products import Form

import banksim
from banksim.kernels.compilers import assemble
from banksim.kernels.cubin import decode, decode_ahead
from helpers.operations import ENGINES

BYTES = {"f16": 2, "bf16": 2, "tf32": 4, "s8": 1, "u8": 1, "b1": 0}
A_BYTES = 1 << 14
"""Bytes of shared memory in front of B."""


def ptx(form: Form) -> str:
    """A kernel of (D in and out, image of shared memory, A's registers, two descriptors, whether D is added)."""
    return f""".version 8.4
.target sm_90a
.address_size 64
.visible .entry product(
  .param .u64 d, .param .u64 image, .param .u64 a, .param .u64 da, .param .u64 db, .param .u32 add)
.maxntid 128 {{
  .reg .b32 %r<128>; .reg .b32 %q<4>; .reg .b32 %t<8>; .reg .b64 %x<4>; .reg .b64 %out, %in, %from, %da, %db;
  .reg .pred %p<4>;
  .shared .align 1024 .b8 s[40960];
  mov.u32 %t0, %tid.x; mul.wide.u32 %x0, %t0, 4;
  ld.param.u64 %out, [d]; add.u64 %out, %out, %x0;
  ld.param.u64 %in, [a]; add.u64 %in, %in, %x0;
  ld.param.u64 %from, [image]; add.u64 %from, %from, %x0;
  mov.u32 %t1, s; shl.b32 %t2, %t0, 2; add.u32 %t2, %t1, %t2; add.u32 %t3, %t1, 40960;
COPY:
  ld.global.u32 %t4, [%from]; st.shared.u32 [%t2], %t4;
  add.u64 %from, %from, 512; add.u32 %t2, %t2, 512; setp.lt.u32 %p0, %t2, %t3; @%p0 bra COPY;
  bar.sync 0;
  fence.proxy.async.shared::cta;
  and.b32 %t5, %t1, 0x3FFFF; shr.u32 %t5, %t5, 4; cvt.u64.u32 %x1, %t5;
  ld.param.u64 %da, [da]; add.u64 %da, %da, %x1; ld.param.u64 %db, [db]; add.u64 %db, %db, %x1;
  ld.param.u32 %t6, [add]; setp.ne.u32 %p1, %t6, 0;
  {form.product}
  ret;
}}
"""


@cache
def kernel(form: Form) -> Any:
    return decode(assemble(ptx(form), "sm_90a"))["product"]


class Layout(NamedTuple):
    """The layout of an operand: the bytes of its swizzle, and how far core matrices lie apart."""

    swizzle: int
    leading: int
    stride: int
    shift: int = 0

    def descriptor(self, start: int) -> int:
        kind = {0: 0, 128: 1, 64: 2, 32: 3}[self.swizzle]
        return (start + self.shift) >> 4 | self.leading >> 4 << 16 | self.stride >> 4 << 32 | kind << 62


def lay(rows: np.ndarray, layout: Layout, start: int, image: np.ndarray, across: bool) -> None:
    """Put the rows (n, 32) of bytes where CUTLASS's canonical layouts have them, in pieces of 16 bytes; of one that
    runs across, (K, rows) of 16 bits."""
    width = max(layout.swizzle // 16, 1)
    if across:
        halves = rows.view(np.uint16).T  # (K, rows)
        pieces = {(row, k): halves[k, 8 * row : 8 * row + 8] for k in range(16) for row in range(halves.shape[1] // 8)}
    else:
        pieces = {(row, half): rows[row, 16 * half : 16 * half + 16] for row in range(len(rows)) for half in (0, 1)}
    for (row, second), content in pieces.items():
        if across and layout.swizzle:
            at = (
                16 * (row % width + width * (second % 8))
                + layout.leading * (row // width)
                + layout.stride * (second // 8)
            )
        elif across:
            at = layout.stride * row + 16 * (second % 8) + layout.leading * (second // 8)
        elif layout.swizzle:
            at = 16 * width * (row % 8) + layout.stride * (row // 8) + 16 * second
        else:
            at = 16 * (row % 8) + layout.stride * (row // 8) + layout.leading * second
        at += start + layout.shift
        at ^= (at >> 7 & width - 1) << 4
        image[at : at + 16] = np.ascontiguousarray(content).view(np.uint8)


def as_bytes(values: np.ndarray, kind: str) -> np.ndarray:
    """Values as rows of 32 bytes."""
    if kind == "b1":
        return np.packbits(values.astype(bool), axis=1, bitorder="little")
    if kind == "bf16":
        return np.ascontiguousarray((values.astype("f4").view("u4") >> 16).astype("u2")).view(np.uint8)
    return np.ascontiguousarray(values.astype({"f16": "f2", "tf32": "f4", "s8": "i1", "u8": "u1"}[kind])).view(np.uint8)


def of_threads(matrix: np.ndarray) -> np.ndarray:
    """(rows 64, columns) → (threads 128, numbers) as D's fragment has them."""
    out = np.zeros((128, matrix.shape[1] // 2), matrix.dtype)
    for thread in range(128):
        row, column = thread // 32 * 16 + thread % 32 // 4, 2 * (thread % 4)
        for n in range(matrix.shape[1] // 8):
            block = matrix[:, 8 * n + column : 8 * n + column + 2]
            out[thread, 4 * n : 4 * n + 4] = [*block[row], *block[row + 8]]
    return out


def registers_of_a(rows: np.ndarray) -> np.ndarray:
    """(4, 128) words of A's rows of 32 bytes."""
    words = rows.view(np.uint32)  # (64, 8)
    thread = np.arange(128)
    row, four = thread // 32 * 16 + thread % 32 // 4, thread % 4
    return np.stack([words[row + 8 * (n & 1), four + 4 * (n >> 1)] for n in range(4)])


def numbers(kind: str, shape: tuple[int, int], seed: int) -> np.ndarray:
    random = np.random.default_rng(seed)
    low, high = {"b1": (0, 2), "u8": (0, 256), "s8": (-128, 128)}.get(kind, (-8, 9))
    return random.integers(low, high, shape)


def check(form: Form, layouts: tuple[Layout, Layout], engine: str, add: bool = True) -> banksim.Conflicts:
    a, b = numbers(form.a, (64, form.k), 1), numbers(form.b, (form.columns, form.k), 2)
    c = np.random.default_rng(3).integers(-20, 20, (64, form.columns))
    rows = as_bytes(a, form.a), as_bytes(b, form.b)
    image = np.zeros(40960, np.uint8)
    if not form.registers:
        lay(rows[0], layouts[0], 0, image, bool(form.across[0]))
    lay(rows[1], layouts[1], A_BYTES, image, bool(form.across[1]))
    dtype = {"f32": "f4", "f16": "f2", "s32": "i4"}[form.d]
    d = np.ascontiguousarray(of_threads(c).astype(dtype).view(np.uint32).T)
    wanted = form.signs[0] * form.signs[1] * (a @ b.T) + (c if add else 0)
    descriptors = [np.uint64(layouts[n].descriptor(start)) for n, start in enumerate((0, A_BYTES))]
    args = [d, image, registers_of_a(rows[0]), *descriptors, int(add)]
    run = banksim.run(kernel(form), 1, 128, args, engine=engine)
    found = np.ascontiguousarray(d.T).view(dtype)
    np.testing.assert_array_equal(found, of_threads(wanted).astype(dtype))
    return run.conflicts


ALONG = [Layout(0, 128, 256), Layout(0, 1024, 128), Layout(32, 16, 256), Layout(64, 16, 512), Layout(128, 16, 1024)]
ALONG += [Layout(128, 16, 1024, shift) for shift in (32, 64, 96)] + [Layout(64, 0, 1024, 32), Layout(32, 0, 768)]
ACROSS = [
    Layout(0, 128, 256), Layout(0, 1024, 128), Layout(32, 1024, 256), Layout(64, 1024, 512), Layout(128, 2048, 1024),
]  # fmt: skip


ROWS = Form("f32", "f16", "f16", 64)
COLUMNS = Form("f32", "f16", "f16", 64, across=(1, 1))
ONE_ACROSS = [Form("f32", "bf16", "bf16", 16, across=across) for across in ((1, 0), (0, 1))]


@ENGINES
@pytest.mark.parametrize("layout", ALONG, ids=str)
def test_rows_along_k(layout: Layout, engine: str) -> None:
    conflicts = check(ROWS, (layout, layout), engine)
    [site] = [s for s in conflicts.sites if s.op == "wgmma"]
    assert (site.transactions, site.ideal, site.status) == (32, 32, "measured"), "(A + B) / 128 bytes"


@ENGINES
@pytest.mark.parametrize("layout", ACROSS, ids=str)
def test_rows_across(layout: Layout, engine: str) -> None:
    conflicts = check(COLUMNS, (layout, layout), engine)
    [site] = [s for s in conflicts.sites if s.op == "wgmma"]
    assert (site.transactions, site.ideal) == (32, 32)


@ENGINES
@pytest.mark.parametrize("form", ONE_ACROSS, ids=lambda form: str(form.across))
def test_one_of_them_across(form: Form, engine: str) -> None:
    first, second = (ACROSS[4] if one else ALONG[3] for one in form.across)
    check(form, (first, second), engine)


FORMS = [
    Form("f32", "bf16", "bf16", 8),
    Form("f32", "tf32", "tf32", 24, signs=(1, -1)),
    Form("f16", "f16", "f16", 16, signs=(-1, 1)),
    Form("f32", "f16", "f16", 40, signs=(-1, -1), registers=True),
    Form("f32", "tf32", "tf32", 8, registers=True, signs=(-1, 1)),
    Form("f32", "bf16", "bf16", 32, registers=True, across=(0, 1)),
    Form("s32", "s8", "u8", 16),
    Form("s32", "u8", "s8", 8, registers=True),
    Form("s32", "s8", "s8", 24, more=".satfinite"),
    Form("s32", "b1", "b1", 16, more=".and.popc"),
    Form("f32", "f16", "f16", 256),
]


@pytest.fixture(scope="module", autouse=True)
def decoded() -> None:
    """The kernels of all forms, with one start of nvdisasm."""
    decode_ahead(assemble(ptx(form), "sm_90a") for form in (*FORMS, ROWS, COLUMNS, *ONE_ACROSS))


@ENGINES
@pytest.mark.parametrize("form", FORMS, ids=lambda form: f"{form.d}-{form.a}-{form.columns}")
def test_forms(form: Form, engine: str) -> None:
    layouts = ALONG[4], ACROSS[3] if form.across[1] else ALONG[2]
    conflicts = check(form, layouts, engine)
    [site] = [s for s in conflicts.sites if s.op == "wgmma"]
    assert site.transactions == (0 if form.registers else 16) + form.columns // 4


@ENGINES
def test_nothing_is_added_where_the_scale_is_0(engine: str) -> None:
    check(FORMS[0], (ALONG[0], ALONG[0]), engine, add=False)


@ENGINES
def test_a_pattern_that_begins_elsewhere(engine: str) -> None:
    """A descriptor's base offset is the line, modulo 8, at which the swizzle's pattern begins."""
    form, shift = FORMS[0], 3 * 128
    plain = Layout(128, 16, 1024)
    image = np.zeros(40960, np.uint8)
    rows = as_bytes(numbers("bf16", (64, 16), 1), "bf16"), as_bytes(numbers("bf16", (8, 16), 2), "bf16")
    lay(rows[0], plain, 0, image, False)
    image[:A_BYTES] = np.roll(image[:A_BYTES], shift)
    lay(rows[1], plain, A_BYTES, image, False)
    d = np.zeros((4, 128), np.uint32)
    moved = np.uint64(plain.descriptor(0) + (shift >> 4) | 3 << 49)
    args = [d, image, np.zeros((4, 128), np.uint32), moved, np.uint64(plain.descriptor(A_BYTES)), 0]
    banksim.run(kernel(form), 1, 128, args, engine=engine)
    wanted = numbers("bf16", (64, 16), 1) @ numbers("bf16", (8, 16), 2).T
    np.testing.assert_array_equal(np.ascontiguousarray(d.T).view("f4"), of_threads(wanted))
