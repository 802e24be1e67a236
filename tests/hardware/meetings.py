"""Records the conflicts of shared memory of whole launches, and how much of it the driver gives a multiprocessor.

`compile` makes the machine code; `launch KIND`, under the profiler and for the counters that `metrics` prints, launches
the cases of that kind: `blocks`, a kernel that does nothing with blocks of many sizes, or `launches`, those of
tests/helpers/*_cases.py that access shared memory, each twice. `convert BLOCKS WARM COLD JSON` keeps what the profiler
gave as CSV: of `blocks`; of `launches` with `--cache-control none`, and with `all`. Run with tests/ in PYTHONPATH, and
`--clock-control none` for the profiler. It keeps the recording's `lines`, too: whether the last of so many lines, so
far apart, met loads from the lower half, as the time of these told. What recorded them is not in the repository.
"""

import ctypes
import json
from pathlib import Path
from typing import Any

import numpy as np
from recorder import HERE, commands, compile_kernels, counts

from helpers.meeting_launches import launches

FOLDER = HERE.parent / "data" / "timing"
CONFLICTS = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op"
METRICS = {"loads": f"{CONFLICTS}_ld.sum", "stores": f"{CONFLICTS}_st.sum"}
SIZE = "launch__shared_mem_config_size"
BYTES = (
    0, 512, 1024, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152, 65536, 100000, 131072, 200000,
)  # fmt: skip
NOTHING = b"""
extern "C" __global__ void nothing(unsigned* out) {
    extern __shared__ unsigned memory[];
    if (out == 0) memory[threadIdx.x] = 1;
}"""


def blocks() -> list[tuple[int, int]]:
    """Threads, and bytes of dynamic shared memory."""
    return [(threads, size) for threads in (32, 64, 128, 256, 512, 1024) for size in BYTES]


def launch(kind: str) -> None:
    from driver import Driver, raw

    driver = Driver()
    if kind == "blocks":
        function = driver.function(driver.module((HERE / "nothing.cubin").read_bytes()), "nothing")
        driver("cuFuncSetAttribute", function, 8, 227 << 10)
        for threads, size in blocks():
            driver.launch(function, [2112], [threads], [driver.zeros(4)], size)
        return
    modules: dict[str, ctypes.c_void_p] = {}
    for name, case in launches():
        if name not in modules:
            modules[name] = driver.module((FOLDER / f"{name}.cubin").read_bytes())
        function = driver.function(modules[name], case.kernel)
        if case.dynamic:
            driver("cuFuncSetAttribute", function, 8, case.dynamic)
        arguments = case.arguments
        arrays = [driver.upload(one) for one in arguments if isinstance(one, np.ndarray)]
        pointers = iter(arrays)
        given = [next(pointers) if isinstance(one, np.ndarray) else raw(one.tobytes()) for one in arguments]
        grid, block = ([one] if isinstance(one, int) else list(one) for one in (case.grid, case.block))
        for _ in range(2):
            driver.launch(function, grid, block, given, case.dynamic)
        driver.free(arrays)


def kilobytes(table: Path) -> list[int]:
    """The profiler gives thousands of bytes, `counts` the whole ones."""
    found: list[int] = np.round((counts(table, SIZE) + 0.5) / 1.024).astype(int).tolist()
    return found


def convert(sizes: Path, warm: Path, cold: Path, file: Path) -> None:
    columns: dict[str, list[Any]] = {"cubin": [], "launch": []}
    for name, case in launches():
        columns["cubin"].append(name)
        columns["launch"].append(case.name)
    for kind, metric in METRICS.items():
        columns[kind] = counts(warm, metric)[1::2].tolist()
        columns[f"{kind}, cold"] = counts(cold, metric)[1::2].tolist()
    columns["kilobytes"] = kilobytes(warm)[1::2]
    kept = {
        "columns": [*columns],
        "launches": [*zip(*columns.values(), strict=True)],
        "block columns": ["threads", "dynamic", "kilobytes"],
        "blocks": [[*block, size] for block, size in zip(blocks(), kilobytes(sizes), strict=True)],
    }
    kept = (json.loads(file.read_text()) if file.exists() else {}) | kept
    file.write_text(json.dumps(kept).replace("], [", "],\n[") + "\n")


def compile_all() -> None:
    for name in ("meetings", "later_meetings"):
        compile_kernels("nvcc", (FOLDER / f"{name}.cu").read_bytes(), FOLDER / f"{name}.cubin", "-w")
    compile_kernels("nvcc", NOTHING, HERE / "nothing.cubin", "-w")


def metrics() -> None:
    """Print those which `launch` is to be profiled for."""
    print(",".join([*METRICS.values(), SIZE]))


if __name__ == "__main__":
    commands(__doc__, compile=compile_all, launch=launch, convert=convert, metrics=metrics)
