"""Records the conflicts of shared memory that no address explains, beside traffic of global memory.

`compile FOLDER` makes the machine code; `launch FOLDER CLOCKS`, under the profiler and for the counters that `metrics`
prints, launches one case after the other; `convert CSV CLOCKS JSON` keeps, of each of the `cases`, how it was launched
(the fields of `Case` in arbitration.cu; `kernel`, `grid`, `threads`, bytes of `dynamic` shared memory; `carveout`, KB
of it that were asked for, -1: the driver's choice), what the counters had beyond the conflicts of its addresses
(`load`, `store`: of shared memory; `all`: of any request) and cycles of the slowest warp of either kind in one block.
The recording's `launches` are kernels of public programs, each profiled twice: their requests' transactions by address
and what the counters had beyond them.
"""

import ctypes
import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
from recorder import commands, compile_kernels, counts

CONFLICTS = "l1tex__data_bank_conflicts_"
METRICS = {
    "load": f"{CONFLICTS}pipe_lsu_mem_shared_op_ld.sum",
    "store": f"{CONFLICTS}pipe_lsu_mem_shared_op_st.sum",
    "all": f"{CONFLICTS}type_arbitration.sum",
}
MOST, ALL = 227, 0xFFFFFFFF
"""KB of shared memory of a block."""
PLAIN = {
    "grid": 1, "threads": 256, "dynamic": MOST << 10, "carveout": 228, "shared_warps": 0x0F, "global_warps": 0xF0,
    "requests": 4096, "global_requests": 256, "lane": 4, "place": 160 << 10, "global_lane": 4, "lanes": 32,
    "step": 128, "wrap": ALL, "few": 0, "quiet": 0, "first": 0,
}  # fmt: skip
"""One block whose warps 0 to 3 access the upper half of shared memory, 4 to 7 a line of global memory each time."""
WORDS = (
    "shared_warps", "global_warps", "requests", "global_requests", "lane", "place", "global_lane", "lanes", "step",
    "wrap", "few", "quiet",
)  # fmt: skip
PAIRS = {"load4_store4": 1024, "store4_load4": 256}
"""Which conflict, and how many of the global requests."""
LOW = {"dynamic": 30 << 10, "carveout": 32, "place": 0}
WIDE = {"requests": 1024, "lane": 16}
NEAR = {
    "load4": {}, "load16": WIDE, "matrices": WIDE, "store4": {}, "store16": WIDE, "atom": {"requests": 2048},
}  # fmt: skip
FAR: dict[str, dict[str, int]] = {
    "load4": {}, "load16": {"global_lane": 16, "step": 512}, "load_l2": {}, "store4": {"global_requests": 1024},
    "store16": {"global_lane": 16, "step": 512}, "add": {"global_requests": 128}, "atom": {"global_requests": 128},
    "copy": {"global_lane": 16, "step": 512}, "copy_l2": {"global_lane": 16, "step": 512},
}  # fmt: skip


def cases() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []

    def case(group: str, kernel: str, **how: Any) -> None:
        found.append({"group": group, "kernel": kernel, **PLAIN, **how})

    for near, one in NEAR.items():
        for far, other in FAR.items():
            case("kinds", f"{near}_{far}", **one, **other)
        case("hits", f"{near}_load4", global_requests=2048, wrap=511, **one)
    for kernel, many in PAIRS.items():
        for kb in (0, 32, 64, 96, 120, 124, 128, 132, 160, 192, 220):
            case("places", kernel, global_requests=many, place=kb << 10)
        for requests in (32, 128, 192, 224, 256, 288, 320, 384, 448, 512, 768, 1024, 1536):
            case("lines", kernel, global_requests=requests, **LOW)
        for kb in (8, 16, 32, 64, 100, 132, 164, 196, 228):
            case("carveouts", kernel, global_requests=1024, dynamic=7 << 10, place=0, carveout=kb)
        for column in range(4):
            for sector in range(4):
                case("columns", kernel, global_requests=many, lane=0, place=(160 << 10) + 32 * column,
                     lanes=8, first=32 * sector)  # fmt: skip
        for lanes in (8, 16, 24):
            case("sectors", kernel, global_requests=many, lanes=lanes)
        for one, other in ((1, 1), (1, 8), (2, 4), (4, 1), (4, 8), (8, 4), (8, 8)):
            case("warps", kernel, global_requests=many, threads=512, shared_warps=(1 << one) - 1,
                 global_warps=(1 << other) - 1 << 8)  # fmt: skip
        case("scattered", kernel, global_requests=64, global_lane=128, step=4096)
    for where in (LOW, {}):
        for lanes in (1, 2, 8, 16, 31):
            case("few", "load4_store4", few=1, lanes=lanes, global_requests=64, **where)
        case("again", "load4_store4", global_requests=1024, wrap=511, **where)
    for grid in (132, 1056, 4224, 8448):
        for near in ("load4", "store4"):
            for quiet in (0, 1):
                case("blocks", f"{near}_nothing", grid=grid, requests=256, dynamic=4096, place=0, carveout=-1,
                     quiet=quiet)  # fmt: skip
    return found


def launch(folder: Path, clocks: Path) -> None:
    from driver import Driver, raw

    driver = Driver()
    module = driver.module((folder / "arbitration.cubin").read_bytes())
    memory, out, taken = driver.zeros(20 << 20), driver.zeros(1 << 16), []
    for one in cases():
        function = driver.function(module, one["kernel"])
        driver("cuFuncSetAttribute", function, 8, MOST << 10)
        driver("cuFuncSetAttribute", function, 9, max(one["carveout"] * 100 // 228, -1))
        words = [one[name] for name in WORDS]
        given = struct.pack(f"<QQ{len(words)}I", memory.value + one["first"], out.value, *words)
        driver.launch(function, [one["grid"]], [one["threads"]], [raw(given)], one["dynamic"])
        taken.append(driver.download(out, np.zeros((64, 2), np.uint32)))
        driver("cuMemsetD8_v2", out, ctypes.c_ubyte(0), ctypes.c_size_t(1 << 16))
    np.save(clocks, np.array(taken))


def convert(table: Path, clocks: Path, file: Path) -> None:
    counted = {name: counts(table, metric).tolist() for name, metric in METRICS.items()}
    rows = []
    for n, (one, times) in enumerate(zip(cases(), np.load(clocks).astype(np.int64), strict=True)):
        spans = (times[:, 1] - times[:, 0]).clip(0)[: one["threads"] // 32]
        cycles = [int(max((spans[w] for w in range(len(spans)) if one[mask] >> w & 1), default=0))
                  for mask in ("shared_warps", "global_warps")]  # fmt: skip
        rows.append([*one.values(), *(counted[name][n] for name in METRICS), *(cycles if one["grid"] == 1 else (0, 0))])
    columns = [*cases()[0], *METRICS, "shared_cycles", "global_cycles"]
    body = ",\n".join(json.dumps(row, separators=(",", ":")) for row in rows)
    kept = file.read_text().partition('"launch columns"') if file.exists() else ("", "", "}\n")
    file.write_text(f'{{"columns":{json.dumps(columns)},\n"cases":[\n{body}\n],\n{kept[1]}{kept[2]}')


def compile_all(folder: Path) -> None:
    compile_kernels("nvcc", "arbitration.cu", folder.resolve() / "arbitration.cubin", "-w")


def metrics() -> None:
    """Print those which `launch` is to be profiled for."""
    print(",".join(METRICS.values()))


if __name__ == "__main__":
    commands(__doc__, compile=compile_all, launch=launch, convert=convert, metrics=metrics)
