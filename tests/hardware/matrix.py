"""Matrix instructions on odd operands, and what an H200 makes of them.

`python matrix.py compile` writes the kernels' cubin, `launch FOLDER` (on a machine with the GPU) runs them and writes
`matrix.npz`: for each instruction the registers of its results, (TILES, 32 lanes, registers).
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from driver import Driver
from recorder import DATA, commands, compile_kernels

TILES = 64


@dataclass(frozen=True)
class Kind:
    """The numbers in a register: significant binary digits (the hidden one counted; 0: integers), bits of the
    exponent, bits of one number, PTX's letter for the register."""

    digits: int
    exponent: int
    bits: int
    letter: str = "r"


KINDS = {
    "f16": Kind(11, 5, 16), "bf16": Kind(8, 8, 16), "tf32": Kind(24, 8, 32), "f32": Kind(24, 8, 32),
    "f64": Kind(53, 11, 64, "d"), "s8": Kind(0, 0, 8), "u8": Kind(0, 0, 8), "s32": Kind(0, 0, 32),
}  # fmt: skip


@dataclass(frozen=True)
class Product:
    """An mma.sync instruction: its shape; the kind of numbers and the number of registers of A, of B, and of C and
    D."""

    shape: str
    a: tuple[str, int]
    b: tuple[str, int]
    c: tuple[str, int]
    marks: str = ""

    @property
    def name(self) -> str:
        return f"{self.shape}_{self.c[0]}_{self.a[0]}_{self.b[0]}{self.marks.replace('.', '_')}"

    @property
    def ptx(self) -> str:
        kinds = f"{self.c[0]}.{self.a[0]}.{self.b[0]}.{self.c[0]}"
        return f"mma.sync.aligned.{self.shape}.row.col.{kinds}{self.marks}"


def products() -> list[Product]:
    found = []
    for half in ("f16", "bf16"):
        found += [
            Product("m16n8k16", (half, 4), (half, 2), ("f32", 4)),
            Product("m16n8k8", (half, 2), (half, 1), ("f32", 4)),
        ]
    found += [
        Product("m16n8k16", ("f16", 4), ("f16", 2), ("f16", 2)),
        Product("m16n8k8", ("f16", 2), ("f16", 1), ("f16", 2)),
        Product("m16n8k8", ("tf32", 4), ("tf32", 2), ("f32", 4)),
        Product("m16n8k4", ("tf32", 2), ("tf32", 1), ("f32", 4)),
        Product("m8n8k4", ("f64", 1), ("f64", 1), ("f64", 2)),
        Product("m16n8k4", ("f64", 2), ("f64", 1), ("f64", 4)),
        Product("m16n8k8", ("f64", 4), ("f64", 2), ("f64", 4)),
        Product("m16n8k16", ("f64", 8), ("f64", 4), ("f64", 4)),
    ]
    found += [Product("m16n8k32", (a, 4), (b, 2), ("s32", 4)) for a in ("s8", "u8") for b in ("s8", "u8")]
    found += [
        Product("m16n8k32", ("s8", 4), ("s8", 2), ("s32", 4), ".satfinite"),
        Product("m16n8k32", ("u8", 4), ("u8", 2), ("s32", 4), ".satfinite"),
        Product("m16n8k16", ("u8", 2), ("s8", 1), ("s32", 4)),
        Product("m8n8k16", ("s8", 1), ("u8", 1), ("s32", 2)),
    ]
    return found


def source() -> str:
    """One kernel for each product; every block of a warp multiplies one tile."""
    lines = []
    for p in products():
        kind = "double" if p.a[0] == "f64" else "unsigned"
        letter = KINDS[p.a[0]].letter
        counts = [p.c[1], p.a[1], p.b[1]]
        lists, first = [], 0
        for count in counts:
            lists.append("{" + ",".join(f"%{first + n}" for n in range(count)) + "}")
            first += count
        d, a, b = lists
        results = ", ".join(f'"+{letter}"(c[{n}])' for n in range(p.c[1]))
        values = ", ".join(
            f'"{letter}"({x}[{n}])' for x, count in zip("ab", counts[1:], strict=True) for n in range(count)
        )
        lines.append(
            f'extern "C" __global__ void {p.name}('
            f"const {kind} *a_, const {kind} *b_, const {kind} *c_, {kind} *d_) {{\n"
            f"    int x = blockIdx.x * 32 + threadIdx.x;\n    {kind} a[{p.a[1]}], b[{p.b[1]}], c[{p.c[1]}];\n"
            + "".join(
                f"    for (int n = 0; n < {n}; ++n) {x}[n] = {x}_[x * {n} + n];\n"
                for x, n in zip("cab", counts, strict=True)
            )
            + f'    asm volatile("{p.ptx} {d}, {a}, {b}, {d};" : {results} : {values});\n'
            f"    for (int n = 0; n < {p.c[1]}; ++n) d_[x * {p.c[1]} + n] = c[n];\n}}\n"
        )
    return "\n".join(lines)


def numbers(kind: Kind, flavour: int, count: int, rng: Any) -> Any:
    """`count` bit patterns. Flavours: 0 near one; 1 of every magnitude; 2 a third of them zeros; 3 tiny and denormal; 4
    huge; 5 some infinite or NaN; 6 near one with a few exceptions; 7 any bits."""
    if not kind.digits:
        bits = rng.integers(0, 1 << kind.bits, count, dtype=np.uint64)
        top = np.uint64(1 << (kind.bits - 1))
        return (
            np.where(rng.random(count) < 0.5, bits, rng.choice([top, top - np.uint64(1)], count))
            if flavour == 4
            else bits
        )
    fraction = kind.digits - 1
    most, bias = (1 << kind.exponent) - 1, (1 << (kind.exponent - 1)) - 1
    spread = {0: (bias - 3, bias + 3), 3: (0, kind.exponent), 4: (most - 6, most - 1), 5: (bias - 3, bias + 3)}
    low, high = spread.get(flavour, (1, most - 1) if flavour == 1 else (bias - 2, bias + 2))
    exponent = rng.integers(low, high + 1, count).astype(np.uint64)
    if flavour == 6:
        exponent = np.where(rng.random(count) < 0.1, rng.integers(bias - 12, bias + 13, count), exponent).astype(
            np.uint64
        )
    digits = rng.integers(0, 1 << fraction, count, dtype=np.uint64)
    bits = rng.integers(0, 2, count, dtype=np.uint64) << np.uint64(kind.bits - 1)
    bits |= exponent << np.uint64(fraction) | digits
    if flavour == 2:
        bits[rng.random(count) < 0.3] &= np.uint64(1 << (kind.bits - 1))
    if flavour == 5:
        special = np.array(
            [most << fraction, most << fraction | 1, (most << fraction) | 1 << (kind.bits - 1)], np.uint64
        )
        bits = np.where(rng.random(count) < 0.02, rng.choice(special, count), bits)
    if flavour == 7:
        bits = rng.integers(0, 2, count, dtype=np.uint64) << np.uint64(kind.bits - 1)
        bits |= rng.integers(0, most << fraction, count, dtype=np.uint64)
    return bits


def operands(p: Product) -> list[Any]:
    """A, B and C as registers, (TILES, 32, registers), uint32 or, of doubles, uint64."""
    rng = np.random.default_rng(sum(p.name.encode()))
    wide: Callable[[Any], Any] = np.dtype(np.uint64 if p.a[0] == "f64" else np.uint32).type
    out = []
    for name, registers in (p.a, p.b, p.c):
        kind = KINDS[name]
        in_register = 1 if kind.bits == 64 else 32 // kind.bits
        tiles = []
        for tile in range(TILES):
            bits = numbers(kind, tile % 8, 32 * registers * in_register, rng).reshape(32, registers, in_register)
            shifts = np.arange(in_register, dtype=np.uint64) * np.uint64(kind.bits % 64)
            tiles.append((bits << shifts).sum(2, dtype=np.uint64))
        out.append(np.array(tiles).astype(wide))
    return out


def launch(folder: Path) -> None:
    """Run every kernel on the GPU and save the results."""
    driver = Driver()
    module = driver.module((DATA / "matrix.cubin").read_bytes())
    results = {}
    for p in products():
        a, b, c = operands(p)
        pointers = [driver.upload(array) for array in (a, b, c, np.zeros_like(c))]
        driver.launch(driver.function(module, p.name), (TILES,), (32,), pointers)
        results[p.name] = driver.download(pointers[3], np.empty_like(c))
        driver.free(pointers)
    np.savez_compressed(folder / "matrix.npz", **results)


def compile_all(nvcc: str = "nvcc") -> None:
    compile_kernels(nvcc, source().encode(), DATA / "matrix.cubin")


if __name__ == "__main__":
    commands(__doc__, compile=compile_all, launch=launch)
