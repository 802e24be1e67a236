"""Ask a trace file questions in SQL: which access touches how much shared memory, and at which stride?"""

import tempfile
from pathlib import Path

import duckdb

import banksim
from banksim.storage import write_trace

trace = banksim.pattern(
    ["tile[threadIdx.y][threadIdx.x] = 0", "tile[threadIdx.x][threadIdx.y]"],
    declare="float tile[32][33]",
    block=(32, 32),
)
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "trace.parquet"
    with write_trace(path) as writer:
        writer.write(trace)
    rows = duckdb.sql(f"""
        select site, op, width, count(*) as requests,
               min(address[1]) as first_byte, max(address[32]) as last_byte,
               mode(cast(address[2] as int) - address[1]) as stride
        from '{path}' group by all order by site
    """).fetchall()

print("access                              op  requests  bytes   stride")
for site, op, _, requests, first, last, stride in rows:
    print(f"{trace.sites[site].text:34}  {op}  {requests:8}  {first}–{last:4}  {stride:4}")
