"""What is fuzzed: for each target, a function that makes an input: the words of a command and its standard input."""

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from random import Random

from banksim.kernels.cubin import decode, entry_names
from banksim.storage import FORMATS
from fuzz import pattern_words as expressions
from helpers.places import KERNELS, TRITON
from helpers.trace_files import FILES, PACKERS
from helpers.traces import random_trace

Made = tuple[list[str], bytes]
CUBINS = [TRITON / f"{name}.cubin" for name in ("add", "softmax", "transpose")]
PTX = (KERNELS / "plain.ptx").read_bytes()
CUDA = b"""\
#include <cstdio>
struct Pair { int a; float b; };
__constant__ int table[4] = {1, 2, 3, 4};
template <int N> __device__ int twice(int x) { return x * N; }
extern "C" __global__ void k(int *out, int n, Pair p) {
    __shared__ int s[32][33];
    extern __shared__ float more[];
    s[threadIdx.x % 32][threadIdx.y] = n + table[threadIdx.x % 4];
    __syncthreads();
    if (n > 100) printf("%d %s\\n", n, "many");
    out[threadIdx.x] = s[threadIdx.y][threadIdx.x % 32] + twice<2>(p.a) + atomicAdd(&s[0][0], 1);
}
"""
NUMBERS = [
    *("0", "1", "-1", "32", "1024", "65536", "2147483647", "4294967296", "99999999999999999999", "0x10", "1,2,3,4"),
    *("1e999", "nan", "inf", "-0.5", "3.", ",", "é", "٣"),
]
WORDS = [
    *(word for words in (expressions.SIGNS, expressions.NAMES, expressions.CALLS) for word in words.split()),
    *expressions.NUMBERS.split(),
]
TYPES = ["int32", "float32", "float64", "uint8", "int64", "bool", "complex64", "float16", "int128", "object", "void"]
VALUES = [
    *("zeros", "ones", "arange", "random", "x.npy", "random(0,1)", "random(1,0)", "random(0,inf)", "random(nan,1)"),
    "random(-1e308,1e308)",
]


def changed(random: Random, data: bytes | bytearray, words: list[str] | None = None) -> bytes:
    """`data` with some pieces changed, doubled, lost, moved, replaced by words, or cut."""
    found = bytearray(data)
    for _ in range(random.choice([1, 1, 2, 3, 8])):
        size = len(found)
        at = random.randrange(size + 1)
        end = min(size, at + random.choice([1, 1, 2, 4, 16, 300]))
        change = random.randrange(8)
        if change == 0 and at < size:
            found[at] ^= 1 << random.randrange(8)
        elif change == 1 and at < size:
            found[at] = random.choice([0, 1, 0x20, 0x7F, 0x80, 0xFF, random.randrange(256)])
        elif change == 2:
            del found[at:end]
        elif change == 3:
            found[at:at] = found[at:end] * random.choice([1, 1, 2, 100])
        elif change == 4 and words:
            found[at:end] = random.choice(words).encode()
        elif change == 5 and words:
            found[at:at] = random.choice(words).encode() * random.choice([1, 1, 50])
        elif change == 6:
            found[at:end] = random.choice(NUMBERS).encode()
        elif change == 7 and random.randrange(4) == 0:
            del found[at:]
    return bytes(found)


def text(random: Random, seed: str) -> str:
    """A changed text, as a command line can have it."""
    return changed(random, seed.encode(), WORDS).decode("utf-8", "replace").replace("\0", "\x01")


def expression(random: Random) -> Made:
    words = ["pattern", text(random, random.choice(expressions.VALID))]
    declare = random.choice([expressions.DECLARE, text(random, expressions.DECLARE)])
    words += ["--declare", declare, "--block", random.choice(["16,4", "32", "1024", random.choice(NUMBERS)])]
    for option, seed in (
        ("--let", "N=32"), ("--for", "k=0..31..2"), ("--where", "threadIdx.x < 8"), ("--arch", "sm_90"),
    ):  # fmt: skip
        if random.randrange(4) == 0:
            words += [option, text(random, seed)]
    return words + random.choice([[], ["--json"], ["--picture", "all"]]), b""


def launch(random: Random) -> Made:
    """A kernel that is whole, with arguments that may not be."""
    path = random.choice(CUBINS)
    words = ["kernel", f"{path}:{kernel(path)[0]}", "--max-instructions", "3000", "--dynamic-shared", "8192"]
    arguments = kernel(path)[1]
    for argument in arguments[: random.choice([len(arguments)] * 6 + [0, -1])]:
        if random.randrange(3) == 0:
            shapes = ["", "[8]", "[64,64]", "[0]", "[-1]", f"[{random.choice(NUMBERS)}]", "[" + "1," * 65 + "1]"]
            value = random.choice(["", f"={random.choice(VALUES)}", f"={random.choice(NUMBERS)}"])
            argument = random.choice(TYPES) + random.choice(shapes) + value
        words += ["--arg", text(random, argument) if random.randrange(8) == 0 else argument]
    for option in ("--grid", "--block", "--dynamic-shared", "--arch", "--max-instructions"):
        if random.randrange(10) == 0:
            words += [option, random.choice(NUMBERS)]
    return words, b""


@cache
def kernel(path: Path) -> tuple[str, list[str]]:
    """The name of a cubin's kernel and arguments for it."""
    content = path.read_bytes()
    name = next(iter(entry_names(content)))
    found = decode(content)[name].parameters
    return name, ["float32[4096]" if one.size == 8 else "int32=40" for one in found]


def cubin(random: Random) -> Made:
    """Bits of code and of tables, or anything."""
    path = random.choice(CUBINS)
    content = bytearray(path.read_bytes())
    if random.randrange(4) == 0:
        content = bytearray(changed(random, content))
    else:
        for _ in range(random.choice([1, 1, 2, 4])):
            content[random.randrange(len(content))] ^= 1 << random.randrange(8)
    Path("k.cubin").write_bytes(content)
    name, arguments = kernel(path)
    words = ["kernel", "k.cubin:" + name, "--max-instructions", "2000", "--dynamic-shared", "8192"]
    return [*words, *(word for argument in arguments for word in ("--arg", argument))], b""


def ptx(random: Random) -> Made:
    Path("k.ptx").write_bytes(
        changed(random, PTX, [".reg", "%r1", "%p", ".shared", "[%rd1]", "ld.global.u32", ";", "{"])
    )
    return ["kernel", "k.ptx", "--max-instructions", "2000", "--arg", "int32[4096]"], b""


def cuda(random: Random) -> Made:
    words = [*WORDS, "#include", "#define", "template <", "\\\n", "__global__"]
    Path("k.cu").write_bytes(CUDA if random.randrange(4) == 0 else changed(random, CUDA, words))
    options = ["--max-instructions", "2000", "--dynamic-shared", "64"]
    return ["kernel", "k.cu:k", *options, "--arg", "int32[4096]", "--arg", "int32=3", "--arg", "int64=3"], b""


@cache
def traces() -> dict[str, bytes]:
    """A trace in every format, those of others too, and a report: name → content."""
    trace = random_trace(3, 40, [("ld", 4), ("st", 4), ("atom", 4), ("ld", 16)])
    return {name: write(trace) for name, write in FILES.items()} | {"t.json": json.dumps({"conflicts": []}).encode()}


def trace(random: Random) -> Made:
    """A damaged trace, packed or not, damaged before or after; from a file or a pipe."""
    name = random.choice([*traces()])
    content = traces()[name]
    ending = random.choice(["", "", *PACKERS])
    if random.randrange(3):
        content = changed(random, content, ["\n", ",", "0x", "-", "ld", "LDS", "insts =", "#BEGIN_TB", '"'])
    content = PACKERS[ending](content)
    if random.randrange(3) == 0:
        content = changed(random, content)
    words = ["--json"] if random.randrange(2) else []
    if random.randrange(8) == 0:
        words += ["--input-format", random.choice([*FORMATS])]
    if random.randrange(8) == 0:
        return ["replay", "-", *words], content
    Path(name + ending).write_bytes(content)
    if name == "t.json" or random.randrange(8) == 0:
        return ["diff", name + ending, name + ending], b""
    return ["replay", name + ending, *words], b""


def bomb(random: Random) -> Made:
    """A packed file of some kilobytes that holds megabytes of one line over and over."""
    name = random.choice(["t.csv", "t.txt", "t.traceg"])
    lines = traces()[name].splitlines(keepends=True)
    line = random.choice([b"\0", b"\n", b"#\n", b"x", b'"', b",", random.choice(lines), bytes([random.randrange(256)])])
    start = random.choice([b"", lines[0], traces()[name]])
    ending = random.choice([".gz", ".xz", ".zst"])
    size = random.choice([1 << 12, 1 << 16, 1 << 20])
    member = PACKERS[ending](line * (size // len(line)))
    Path(name + ending).write_bytes(PACKERS[ending](start) + member * random.choice([1, 2, 8]))
    return ["replay", name + ending], b""


TARGETS: dict[str, Callable[[Random], Made]] = {
    "expression": expression, "launch": launch, "cubin": cubin, "ptx": ptx, "cuda": cuda, "trace": trace, "bomb": bomb,
}  # fmt: skip
SHARES = {"expression": 400, "launch": 200, "cubin": 60, "ptx": 20, "cuda": 5, "trace": 300, "bomb": 15}
"""How often each is taken: what is fast more often."""
