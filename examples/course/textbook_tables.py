"""The textbook's tiles: transactions of a request, store / load, published for a K40 and measured on an H200.

Published: nvprof's shared_store_ and shared_load_transactions_per_request on a Tesla K40 (compute capability 3.5,
4-byte mode). kepler-4, kepler-8 and sm_90 are banksim's counts of the same index expressions; measured is what an
H200's profiler counted in the kernels of cuda_kernels/kernels/tiles.py.
"""

import banksim
from cuda_kernels import evidence_records

ARCHITECTURES = ("kepler-4", "kepler-8", "sm_90")
EVIDENCE = evidence_records.load(evidence_records.EVIDENCE)
ROWS, COLUMNS = "tile[y][x]", "tile[x][y]"
TURNED = "tile[number % 16][number / 16]"
TABLES = {
    ("square tile, block 32 × 32", "x = threadIdx.x; y = threadIdx.y", (32, 32)): (
        ("setRowReadRow", "int tile[32][32]", ROWS, ROWS, "1 / 1"),
        ("setColReadCol", "int tile[32][32]", COLUMNS, COLUMNS, "16 / 16"),
        ("setRowReadCol", "int tile[32][32]", ROWS, COLUMNS, "1 / 16"),
        ("setRowReadColDyn", "int tile[32][32]", ROWS, COLUMNS, "1 / 16"),
        ("setRowReadColPad", "int tile[32][33]", ROWS, COLUMNS, "1 / 1"),
        ("setRowReadColDynPad", "int tile[32][33]", ROWS, COLUMNS, "1 / 1"),
        ("setRowReadColPad2", "int tile[32][34]", ROWS, COLUMNS, "–"),
    ),
    (
        "rectangular tile, block 32 × 16",
        "x = threadIdx.x; y = threadIdx.y; number = 32 * threadIdx.y + threadIdx.x",
        (32, 16),
    ): (
        ("setRowReadRowRect", "int tile[16][32]", ROWS, ROWS, "1 / 1"),
        ("setColReadColRect", "int tile[32][16]", COLUMNS, COLUMNS, "8 / 8"),
        ("setRowReadColRect", "int tile[16][32]", ROWS, TURNED, "1 / 8"),
        ("setRowReadColRectDyn", "int tile[16][32]", ROWS, TURNED, "1 / 8"),
        ("setRowReadColRectPad", "int tile[16][34]", ROWS, TURNED, "1 / 1"),
        ("setRowReadColRectDynPad", "int tile[16][34]", ROWS, TURNED, "1 / 1"),
        ("setRowReadColRectPad1", "int tile[16][33]", ROWS, TURNED, "–"),
    ),
}


def counted(declare: str, store: str, load: str, names: str, block: tuple[int, int], arch: str) -> str:
    let = [name.strip() for name in names.split(";")]
    trace = banksim.pattern([f"{store} = number_of_thread", load], declare=declare, let=let, block=block)
    return " / ".join(f"{site.transactions_per_request:g}" for site in banksim.replay(trace, arch).sites)


def measured(name: str) -> str:
    record = EVIDENCE.record(name)
    if record is None:
        return "–"
    rows = {row.opcode: row for row in record.rows}
    return " / ".join(f"{(rows[opcode].transactions or 0) / rows[opcode].warps:g}" for opcode in ("STS", "LDS"))


for (title, names, block), kernels in TABLES.items():
    print(f"{title}: store / load transactions of a request\n")
    print(f"{'kernel':24} {'K40 published':>13} {'kepler-4':>8} {'kepler-8':>8} {'sm_90':>7} {'H200 measured':>13}")
    for name, declare, store, load, published in kernels:
        found = [counted(declare, store, load, names, block, arch) for arch in ARCHITECTURES]
        print(f"{name:24} {published:>13} {found[0]:>8} {found[1]:>8} {found[2]:>7} {measured(name):>13}")
    print()
device = EVIDENCE.machine
print(f"Measured: {device['device']}, driver {device['driver']}, {device['profiler']}, {device['date']}.")
