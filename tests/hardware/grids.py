"""Launches of one to ten million blocks, counted by a GPU: what counting by classes must give.

SET is `grids`, `irregular`, `customary`, `library`, `practice` or `unusual`, a file of kernels beside this one:

python grids.py compile SET           makes tests/data/hardware/SET.cubin
python grids.py launch SET NAME …     launches, on a GPU
python grids.py device SET FOLDER     all of them under the profiler, what it says into a folder
python grids.py convert SET FOLDER    that as tests/data/hardware/SET.json, as `record.py` describes it
"""

import json
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from recorder import DATA, HERE, commands

from cuda_kernels.evidence_records import with_neutral_folders

SMALL = 8 << 20
"""Bytes of each array of launches that do not say how much memory they need."""
COUNTERS = (
    ("smsp__inst_executed.sum", "smsp__thread_inst_executed.sum"),
    tuple(f"smsp__inst_executed_op_shared_{kind}.sum" for kind in ("ld", "st", "atom")),
    tuple(f"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{kind}.sum" for kind in ("ld", "st", "atom")),
)
"""Each group is counted in one pass."""


@dataclass(frozen=True)
class Grid:
    """A launch; `memory`: bytes of its arrays, `numbers`: its arguments behind them."""

    kernel: str
    grid: Sequence[int]
    block: Sequence[int]
    numbers: Sequence[int]
    memory: Sequence[int] = (SMALL, SMALL)
    dynamic_shared: int = 0
    paged: bool = True
    """Whether its source page is recorded, for which a GPU takes many times as long."""

    @property
    def name(self) -> str:
        return f"{self.kernel} {'x'.join(map(str, self.grid))} {','.join(map(str, self.numbers))}"


def transposed(kernel: str, rows: int, columns: int) -> Grid:
    return Grid(kernel, (-(-columns // 32), -(-rows // 32)), (32, 8), (rows, columns), (4 * rows * columns,) * 2)


def product(m: int, n: int, k: int) -> Grid:
    return Grid("product", (-(-n // 16), -(-m // 16)), (16, 16), (m, n, k), (4 * m * n, 4 * m * k, 4 * k * n))


def reduced(n: int, neighbours: int) -> Grid:
    return Grid("reduce", (-(-n // 128),), (128,), (n, neighbours))


GRIDS = [
    transposed("transpose", 32768, 32768),
    transposed("transpose", 32749, 32719),
    transposed("transpose_padded", 32750, 40001),
    product(16384, 16384, 32),
    product(16383, 16381, 45),
    *(reduced(n, n % 2) for n in (1, 129, 128 * 36 + 5, 128 * 1008 + 127, 128 * 30011, 128 * 1_000_003 - 1)),
    reduced(1_280_002_432, 0),
    reduced(1_280_002_305, 1),
    Grid("scan", (1_050_001,), (64,), (134_400_100, 0)),
    Grid("strides", (1201, 1009), (64,), (0, 0)),
    Grid("swizzles", (1300, 811), (128,), (0, 0)),
    Grid("causal", (1200, 901), (64,), (0, 0)),
    Grid("loops", (150_001, 7), (64,), (0, 0)),
    Grid("decomposed", (1_100_003,), (64,), (1237, 7000)),
    Grid("wrapping", (3_100_001,), (64,), (0, 0)),
    Grid("stencil", (1251, 1125), (32, 8), (40_011, 8_999)),
    Grid("convolution", (1_000_001,), (128,), (128_000_001, 13)),
    Grid("wide", (101_003, 11), (64,), (6_000_000, 0)),
    Grid("atomics", (101_003, 11), (64,), (6_000_000, 0)),
    Grid("warps", (43_211, 31), (128,), (5_000_000, 0)),
    Grid("local_arrays", (100_003, 11), (64,), (0, 0)),
    Grid("copies", (262_147, 4), (64,), (0, 0)),
    Grid("volume", (103, 101, 107), (64,), (411, 401)),
    Grid("striding", (1_000_003,), (64,), (1_234_567, 0)),
    Grid("distant", (1_000_003, 2), (64,), (30_000_001, 0)),
    Grid("matrices", (131_075, 9), (64,), (0, 0)),
    Grid("divergent", (1_000_003, 3), (64,), (50_000_000, 700_000)),
    Grid("strides", (10_000_019,), (64,), (0, 0)),
]
IRREGULAR = [
    Grid("switched", (300_007, 4), (64,), (0, 0)),
    Grid("pointers", (250_007, 5), (64,), (199_999, 1)),
    Grid("shuffled", (100_003, 11), (64,), (0, 0)),
    Grid("spilled", (501_001, 2), (64,), (250_000, 17)),
    Grid("triangle", (1_200_003,), (64,), (0, 0)),
    Grid("rastered", (18_752, 64), (64,), (1_000_001, 3)),
    Grid("bits", (262_147, 4), (64,), (0, 0)),
    Grid("signs", (1_048_577, 3), (64,), (600_000, 0)),
    Grid("doubling", (510_001, 2), (64,), (1_000_000, 50_000)),
    Grid("crossed", (131_075, 8), (64,), (50_000_000, 0)),
    Grid("clustered", (1_000_006,), (64,), (40_000_000, 0)),
    Grid("boxes", (127, 101, 83), (64,), (401, 330)),
    Grid("switched", (20_011, 3), (64,), (0, 0)),
    Grid("pointers", (10_007, 5), (64,), (4_999, 1)),
    Grid("shuffled", (5_003, 7), (64,), (0, 0)),
    Grid("spilled", (25_001, 2), (64,), (15_000, 17)),
    Grid("triangle", (60_003,), (64,), (0, 0)),
    Grid("rastered", (1_504, 32), (64,), (90_001, 2)),
    Grid("bits", (32_771, 2), (64,), (0, 0)),
    Grid("doubling", (20_001, 2), (64,), (900, 2_000)),
    Grid("crossed", (8_195, 8), (64,), (4_000_000, 0)),
    Grid("clustered", (20_006,), (64,), (1_200_001, 0)),
    Grid("boxes", (43, 41, 37), (64,), (163, 144)),
]
CUSTOMARY = [
    Grid("clamped_stencil", (1001, 1009), (32, 8), (32_001, 8_065)),
    Grid("batched", (5, 4, 50_003), (16, 16), (75, 0)),
    Grid("grouped", (1_001_000,), (64,), (1000, 1001)),
    Grid("zigzag", (1_024_000,), (64,), (1000, 63_990)),
    Grid("striding_loop", (1_000_003,), (64,), (10_000, 10_007)),
    Grid("persistent", (1056,), (16, 16), (4001, 3999)),
    Grid("morton", (1 << 20,), (64,), (1000, 900)),
    Grid("hilbert", (1_048_576,), (64,), (0, 0)),
    Grid("split_k", (64, 65, 240), (16, 16), (1023, 10_001)),
    Grid("halo3d", (101, 103, 105), (8, 4, 4), (803, 411)),
    Grid("pairs", (1_000_405,), (64,), (90_000, 0)),
    Grid("strided_convolution", (15, 29, 2301), (16, 8), (451, 449)),
    Grid("fft", (1_000_003,), (64,), (97, 0)),
    Grid("fft_pass", (1_000_003,), (64,), (128_000_000, 11)),
    Grid("fft_pass", (1_000_003,), (64,), (128_000_000, 4)),
    Grid("tensor_product", (1_024_000,), (64,), (1000, 32_000)),
    Grid("pipeline", (1_000_003,), (64,), (4_500_000, 64)),
    Grid("shifted_copies", (1_000_003,), (64,), (64, 3)),
    Grid("shifted_copies", (100_003, 11), (64,), (37, 3)),
    Grid("long_indices", (1_000_003,), (64,), (200, 1001)),
    Grid("reshaped", (10_000_000,), (64,), (100, 64)),
    Grid("early", (100_003, 11), (128,), (1200, 0)),
    Grid("attention", (33, 32_003), (128,), (1029, 510)),
    Grid("interleaved", (1_000_003,), (64,), (132, 11)),
    Grid("bitonic", (1_000_003,), (128,), (1 << 20, 0)),
    Grid("rotated", (1_000_003,), (64,), (0, 0)),
    Grid("packed_rows", (1000, 1001), (64,), (0, 0)),
    Grid("floats_of_places", (1_000_003,), (64,), (100, 100_000)),
]
LIBRARY = [
    Grid("im2col", (1_000_008,), (64,), (1_000, 611)),
    Grid("causal_softmax", (1_000_003,), (128,), (517, 0)),
    Grid("layer_norm", (1_000_003,), (64,), (460, 0)),
    Grid("radix_ranks", (1_000_003,), (128,), (64, 10)),
    Grid("odd_even_merge", (1_000_003,), (64,), (128_000_301, 0)),
    Grid("windowed_attention", (16_001, 64), (128,), (2048, 100)),
    Grid("wave", (313, 1251, 3), (32, 8), (10_003, 10_001)),
    Grid("banded_rows", (5_000_003,), (64,), (21, 10_000_001)),
    Grid("compressed_rows", (1_000_003,), (64,), (70, 0)),
    Grid("tiles_of_threads", (1_000_003,), (64,), (8_000_013, 7)),
    Grid("swizzled_transpose", (1_002_001,), (64,), (32_012, 32_028)),
    Grid("prefetched_product", (1_003, 1_001), (256,), (64_123, 30)),
    Grid("dilated", (10_000_019,), (64,), (640_001_201, 11)),
    Grid("pooled", (16, 32, 2003), (16, 8), (509, 511)),
    Grid("enlarged", (1_000_003,), (64,), (720, 1080)),
    Grid("blelloch", (1_000_003,), (64,), (128_000_301, 5)),
    Grid("trailing_update", (1_009, 1_013), (16, 16), (700, 16_200)),
    Grid("shrinking", (1_001, 1_003), (16, 16), (8_001, 8_011)),
    Grid("planes_of_colours", (10_000_019,), (64,), (640_001_203, 77)),
    Grid("life", (1_003, 1_009), (32, 8), (32_090, 8_069)),
    Grid("shortest_paths", (1_003, 1_009), (16, 16), (517, 16_040)),
    Grid("stream_k", (1_000_003,), (64,), (90_001, 37)),
    Grid("specialised", (1_000_003,), (128,), (7, 96)),
    Grid("unpacked", (1_000_003,), (64,), (512_001_001, 96)),
    Grid("experts", (1_300_013,), (64,), (75_000, 4_000)),
    Grid("rotated_tiles", (1_000_003,), (64,), (12, 757)),
]
PRACTICE = [
    Grid("doubled_scan", (1_000_003,), (128,), (1000, 128_000_300)),
    Grid("grouped_queries", (129, 8400), (128,), (512, 3)),
    Grid("stockham", (1_000_003,), (64,), (1024, 2)),
    Grid("permuted_axes", (1_200_000,), (64,), (475, 630)),
    Grid("turned_volume", (100, 200, 60), (32, 8), (3190, 197)),
    Grid("xor_tiles", (1024, 1024), (64,), (16_100, 16_377)),
    Grid("morton_product", (1_048_576,), (64,), (7001, 8100)),
    Grid("hilbert_copy", (1_048_576,), (64,), (16_384, 10)),
    Grid("two_tile_stream_k", (1_000_003,), (64,), (2_300_007, 24)),
    Grid("packed_sequences", (1_000_003,), (64,), (40_001, 25)),
    Grid("pyramid", (1001, 1003), (16, 16), (16_000, 16_033)),
    Grid("wrapped_hash", (1_000_003,), (64,), (1001, 3_000_000_000)),
    Grid("tensor_pipeline", (1_001_000,), (64,), (1001, 72)),
    Grid("bulk_rows", (100_003,), (64,), (3, 2)),
    Grid("scaled_rows", (1_000_003,), (64,), (700_001, 64)),
    Grid("dropped", (1_000_003,), (64,), (700_001, 64)),
    Grid("packed_triangles", (1_000_405,), (64,), (1414, 45_248)),
    Grid("winograd", (1_000_003,), (64,), (113, 111)),
    Grid("magic_divisions", (1_000_003,), (64,), (100, 37)),
    Grid("searched_by_one", (1_000_003,), (64,), (40_001, 25)),
    Grid("compacted", (1_000_003,), (64,), (100, 37)),
    Grid("offsets_in_shared", (1_000_003,), (64,), (24, 1000)),
]
UNUSUAL = [
    Grid("table_of_functions", (1_000_003,), (64,), (32, 50_000)),
    Grid("jumps", (1_000_003,), (64,), (3, 400_000)),
    Grid("layouts_of_structs", (1_000_003,), (64,), (70_000, 2)),
    Grid("strides_of_bytes", (1_000_003,), (64,), (9, 64)),
    Grid("carved", (500_009, 3), (64,), (100, 30_000), dynamic_shared=4096),
    Grid("carries", (1_000_003, 2), (64,), (0x01000001, 0x40)),
    Grid("ring", (1_000_003,), (64,), (64, 259)),
    Grid("leaving_lanes", (1_000_003,), (64,), (13, 5)),
    Grid("elected", (1_000_003,), (64,), (1, 7)),
    Grid("sorted_warps", (1_000_003,), (64,), (7, 13)),
    Grid("some_warps", (100_003, 11), (128,), (5, 9)),
    Grid("stored_matrices", (1_000_003, 2), (64,), (128, 1)),
    Grid("signed_places", (1_000_003,), (64,), (64, 1000)),
    Grid("hashed_shift", (10_000_019,), (64,), (0x70000000, 29)),
    Grid("filled_copies", (1_000_003,), (64,), (1000, 1)),
    Grid("compacted_by_index", (1_000_003,), (128,), (7, 3)),
    Grid("diagonals", (301, 1009), (64,), (19_205, 64_500)),
    Grid("ranks", (500_002, 4), (64,), (20_000_001, 3)),
    Grid("plain", (33_554_431,), (32,), (1_000_000_011, 7)),
    Grid("plain", (7, 65_535, 3), (32,), (150, 5)),
    Grid("plain", (2**31 - 1,), (32,), (4_000_000_007, 1 << 31), paged=False),
    Grid("plain", (65_537, 65_535), (32,), (2_000_000, 7), paged=False),
    Grid("plain", (100_003, 3, 7000), (32,), (3_000_000, 5), paged=False),
]
SETS = {"grids": GRIDS, "irregular": IRREGULAR, "customary": CUSTOMARY, "library": LIBRARY, "practice": PRACTICE,
        "unusual": UNUSUAL}  # fmt: skip


def compile_all(chosen: str) -> None:
    """Compile the kernels with the compiler that banksim finds."""
    from banksim.kernels.compilers import compile_cuda

    (DATA / f"{chosen}.cubin").write_bytes(with_neutral_folders(compile_cuda(HERE / f"{chosen}.cu", "sm_90")))


def launch_all(chosen: str, names: list[str]) -> None:
    from driver import Driver, raw

    driver = Driver()
    module = driver.module((DATA / f"{chosen}.cubin").read_bytes())
    for one in SETS[chosen]:
        if names and one.name not in names:
            continue
        arrays = [driver.zeros(size) for size in one.memory]
        numbers = [raw(np.uint32(number).tobytes()) for number in one.numbers]
        driver.launch(driver.function(module, one.kernel), one.grid, one.block, [*arrays, *numbers], one.dynamic_shared)
        driver.free(arrays)


def device(chosen: str, out: Path) -> None:
    """Run the profiler on all launches: once for each group of counters, and once for the source page."""
    work = Path("/tmp") / chosen
    work.mkdir(exist_ok=True)
    program = [sys.executable, __file__, "launch", chosen]
    quiet = ["--clock-control", "none", "--cache-control", "none"]
    collected = {f"counters{n}": ["--metrics", ",".join(names)] for n, names in enumerate(COUNTERS)}
    collected["source"] = ["--section", "SourceCounters"]
    for name, what in collected.items():
        launches = [one.name for one in SETS[chosen] if one.paged or name != "source"]
        report = str(work / f"{name}.ncu-rep")
        limit = "45" if name == "source" else "20"
        done = subprocess.run(["timeout", limit, "ncu", *quiet, "-f", *what, "-o", report, *program, *launches])
        print(name, done.returncode, flush=True)
        page = ["ncu", "--import", report, "--csv", "--print-kernel-base", "mangled", "--page"]
        text = subprocess.run([*page, "source" if name == "source" else "raw"], capture_output=True).stdout
        (out / f"{name}.csv").write_bytes(text)
    about = subprocess.run(
        "nvidia-smi --query-gpu=name,driver_version --format=csv,noheader; ncu --version | grep Version",
        shell=True,
        capture_output=True,
        text=True,
    )
    (out / "about.txt").write_text(about.stdout)


def convert(chosen: str, folder: Path) -> None:
    from record import listing, row

    from banksim.runs.validation import profiler

    grids = SETS[chosen]
    paged = [one for one in grids if one.paged]
    pages = dict(zip(paged, profiler.source_pages((folder / "source.csv").read_text(), len(paged)), strict=True))
    counters: list[dict[str, int]] = [{} for _ in grids]
    for n, names in enumerate(COUNTERS):
        found = profiler.counted((folder / f"counters{n}.csv").read_text(), {name: name for name in names})
        for one, more in zip(counters, found, strict=True):
            one |= more
    about, profiled = (folder / "about.txt").read_text().splitlines()[:2]
    name, driver = about.split(", ")
    launches: list[dict[str, Any]] = []
    for one, counted in zip(grids, counters, strict=True):
        rows = [row(found) for found in profiler.rows(pages[one])] if one.paged else []
        launches.append({"name": one.name, "rows": rows, "hardware": counted})
    listings = {one.kernel: listing(page) for one, page in pages.items()}
    recorded = {"device": name, "driver": driver, "profiler": f"Nsight Compute {profiled.split()[1]}"}
    text = json.dumps({"recorded": recorded, "listings": listings, "launches": launches}, separators=(",", ":"))
    (DATA / f"{chosen}.json").write_text(re.sub(r'(\{"name"|\[\d+,\d+,)', r"\n\1", text) + "\n")


if __name__ == "__main__":
    commands(__doc__, compile=compile_all, launch=launch_all, device=device, convert=convert)
