"""Trace files of banksim: what is written is read, others can query it, and what is damaged is refused in one line."""

import json
import os
import subprocess
import sys
from dataclasses import asdict, replace
from functools import partial
from itertools import pairwise
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from banksim.__main__ import main
from banksim.architectures.bank_rules import architecture
from banksim.banks.pieces import judge_pieces, replay
from banksim.errors import InputError
from banksim.requests.kinds import FULL_MASK, OPS
from banksim.requests.trace import Trace, concatenated
from banksim.storage import FORMATS as READ
from banksim.storage import checksums, open_trace, parquet, parquet_pages, schema, write_trace
from helpers.commands import err_of, out_of, refused
from helpers.fixtures import Patch, Said
from helpers.traces import SITES, complaint, damaged, damages, random_trace, same

RULES = [architecture(name) for name in ("kepler-4", "sm_90")]
FORMATS = ["parquet", "arrow"]


def whole(path: Path | str, format: str | None = None) -> Trace:
    return concatenated(list(open_trace(path, format)))


@pytest.fixture
def small_groups(monkeypatch: Patch) -> None:
    monkeypatch.setattr(parquet, "GROUP", 1000)


@pytest.fixture
def written(tmp_path: Path, small_groups: None) -> Path:
    with write_trace(tmp_path / "trace.parquet") as writer:
        writer.write(random_trace(1, 3500))
    return tmp_path / "trace.parquet"


# ---- what is written is read
@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("cuts", [[0, 3500], [0, 1, 999, 1000, 1000, 3500], [0, 2500, 3500]])
def test_a_trace_comes_back_however_it_was_cut(
    tmp_path: Path, small_groups: None, format: str, cuts: list[int]
) -> None:
    trace = random_trace(2, 3500)
    path = tmp_path / f"trace.{format}"
    with write_trace(path) as writer:
        for first, last in pairwise(cuts):
            writer.write(part(trace, first, last))
    assert same(whole(path), trace)
    assert os.listdir(tmp_path) == [path.name]


def part(trace: Trace, first: int, last: int) -> Trace:
    names = ("site", "block", "warp", "op", "width", "mask", "address", "epoch")
    return Trace(**{name: getattr(trace, name)[first:last] for name in names}, sites=trace.sites)


@pytest.mark.parametrize("format", FORMATS)
def test_sites_may_grow_while_a_trace_is_written(tmp_path: Path, format: str) -> None:
    first, then = random_trace(3, 10, sites=SITES[:2]), random_trace(4, 10)
    with write_trace(tmp_path / f"t.{format}") as writer:
        writer.write(first)
        writer.write(then)
    assert [len(chunk.sites) for chunk in open_trace(tmp_path / f"t.{format}")][-1] == len(SITES)


@pytest.mark.parametrize("format", FORMATS)
def test_traces_of_several_programs_share_a_file(tmp_path: Path, format: str) -> None:
    a, b = random_trace(3, 50, sites=SITES[:3]), random_trace(4, 50, sites=SITES[::-1])
    with write_trace(tmp_path / f"t.{format}") as writer:
        writer.write(a)
        writer.write(b)
    found = whole(tmp_path / f"t.{format}")
    assert [found.sites[k] for k in found.site] == [t.sites[k] for t in (a, b) for k in t.site]
    assert sorted(map(repr, found.sites)) == sorted(map(repr, SITES))


@pytest.mark.parametrize("format", FORMATS)
def test_a_trace_without_requests(tmp_path: Path, format: str) -> None:
    with write_trace(tmp_path / f"t.{format}"):
        pass
    assert len(whole(tmp_path / f"t.{format}")) == 0
    assert judge_pieces(open_trace(tmp_path / f"t.{format}").pieces, RULES)[0].sites == ()


def test_row_groups_are_of_bounded_size(written: Path) -> None:
    footer = pq.ParquetFile(written).metadata
    assert [footer.row_group(group).num_rows for group in range(footer.num_row_groups)] == [1000, 1000, 1000, 500]


def test_the_schema_is_as_documented(written: Path) -> None:
    file = pq.ParquetFile(written)
    table = [line.split("|")[1:3] for line in (schema.__doc__ or "").splitlines() if line.startswith("| ")][1:]
    assert [name.strip() for name, _ in table] == file.schema_arrow.names
    assert not any(field.nullable for field in file.schema_arrow)
    assert file.schema_arrow.field("address").type.list_size == 32
    assert file.metadata.metadata[b"banksim.schema"] == b"1"
    assert json.loads(file.metadata.metadata[b"banksim.sites"])[0] == json.loads(json.dumps(asdict(SITES[0])))


def test_duckdb_reads_the_file(written: Path) -> None:
    trace = random_trace(1, 3500)
    rows = duckdb.sql(f"select op, count(*), max(address[1]) from '{written}' group by op").fetchall()
    ops = np.array(OPS)[trace.op]
    assert sorted(rows) == sorted(
        (op, int((ops == op).sum()), int(trace.address[ops == op, 0].max())) for op in set(ops.tolist())
    )


def test_what_others_write_is_read_whatever_the_integers(tmp_path: Path) -> None:
    address = [[4 * lane for lane in range(32)]] * 2
    table = pa.table({"op": ["ld", "st"], "width": [4, 4], "mask": [0xFFFFFFFF, 1], "address": address})
    pq.write_table(table, tmp_path / "t.parquet")
    assert same(whole(tmp_path / "t.parquet"), Trace.from_arrays(["ld", "st"], 4, [0xFFFFFFFF, 1], address))


@pytest.mark.parametrize(
    "options",
    [
        {}, {"compression": "none"}, {"compression": "gzip"}, {"compression": "snappy"}, {"compression": "lz4"},
        {"use_dictionary": True}, {"data_page_version": "2.0"}, {"data_page_size": 1000}, {"row_group_size": 3000},
        {"row_group_size": 700, "column_encoding": {"address.list.element": "BYTE_STREAM_SPLIT"}},
    ],
    ids=str,
)  # fmt: skip
@pytest.mark.usefixtures("small_groups")
def test_however_the_pages_are_written_they_are_read(tmp_path: Path, options: dict[str, object]) -> None:
    trace = random_trace(11, 3000)
    table = pa.Table.from_batches([schema.batch_of(trace)])
    table = table.replace_schema_metadata(schema.metadata_of(trace.sites, []))
    wanted: dict[str, object] = {"row_group_size": 1000, "compression": "zstd", "use_dictionary": ["op"], **options}
    pq.write_table(table, tmp_path / "t.parquet", **wanted)
    assert same(whole(tmp_path / "t.parquet"), trace)


@pytest.mark.parametrize("small", [0, 1 << 20])
def test_our_own_pages_are_read_as_a_whole(written: Path, monkeypatch: Patch, small: int) -> None:
    monkeypatch.setattr(parquet_pages, "SMALL", small)
    monkeypatch.delattr(pq.ParquetFile, "iter_batches")
    assert same(whole(written), random_trace(1, 3500))


@pytest.mark.parametrize("at_once", [1 << 12, 1 << 15, 1 << 20])
def test_pages_longer_and_shorter_than_what_is_read_at_once_are_read(
    tmp_path: Path, monkeypatch: Patch, at_once: int
) -> None:
    monkeypatch.setattr(parquet_pages, "AT_ONCE", at_once)
    monkeypatch.delattr(pq.ParquetFile, "iter_batches")
    address = np.random.default_rng(1).integers(0, 1 << 14, (17_000, 32), np.uint32) * 4
    address[:8000] = address[0]
    trace = Trace.from_arrays("ld", 4, FULL_MASK, address)
    with write_trace(tmp_path / "ours.parquet") as writer:
        writer.write(trace)
    table = pa.Table.from_batches([schema.batch_of(trace)])
    pq.write_table(table, tmp_path / "short.parquet", compression="lz4", data_page_size=1 << 13, use_dictionary=["op"])
    for name in ("ours", "short"):
        assert same(whole(tmp_path / f"{name}.parquet"), trace)


@pytest.mark.parametrize("small", [0, 1 << 20])
def test_an_address_at_no_multiple_of_the_width_is_found_in_our_own_pages(
    tmp_path: Path, small_groups: None, monkeypatch: Patch, small: int
) -> None:
    monkeypatch.setattr(parquet_pages, "SMALL", small)
    address = np.tile(np.arange(0, 128, 4, dtype=np.uint32), (1000, 1))
    trace = Trace.from_arrays("ld", 4, FULL_MASK, address)
    address[777, 5] ^= 2
    for mask in (FULL_MASK, FULL_MASK ^ 1 << 5):
        with write_trace(tmp_path / "t.parquet") as writer:
            writer.write(replace(trace, address=address, mask=np.full(1000, mask, np.uint32)))
        message = complaint(lambda: whole(tmp_path / "t.parquet"))
        assert (message is None) == (mask != FULL_MASK)
        assert message is None or "request 777, lane 5: address 22 is not a multiple of 4" in message


@pytest.mark.parametrize(
    "page",
    [
        b"\x15",
        b"\x19\x15\x00\x00",
        b"\x15" + b"\xff" * 100_000,
        b"\x1c" * 50,
        b"\x15\x00\x15\x9c\x02\x15\x02\x1c\x00\x1c\x15\x40\x15\x00\x15\x06\x15\x06\x00\x00x",
    ],
    ids=["cut", "a list", "a number without end", "nested without end", "a checksum that is none"],
)
def test_page_headers_that_are_not_known_are_left_to_pyarrow(written: Path, page: bytes) -> None:
    with pq.ParquetFile(written) as file:
        group = file.metadata.row_group(0)
        columns = [group.column(k).path_in_schema for k in range(group.num_columns)]
        assert parquet_pages.addresses(lambda *_: page, group, columns.index("address.list.element"), 1000) is None


@pytest.mark.parametrize("lists", [[31, 33], [16, 48], [0, 32, 32], [16, 16, 32], [64]])
def test_lists_that_are_not_of_32_are_refused(tmp_path: Path, small_groups: None, lists: list[int]) -> None:
    """Though the file claims that they are, as a damaged one might."""
    rows = len(lists)
    loose = pa.array([[4] * length for length in lists], pa.list_(pa.field("element", pa.uint32(), nullable=False)))
    table = pa.table({"op": ["ld"] * rows, "width": [4] * rows, "mask": [1] * rows})
    table = table.append_column(pa.field("address", loose.type, nullable=False), [loose])
    pq.write_table(table, tmp_path / "t.parquet", compression="zstd", use_dictionary=False, store_schema=False)
    with pq.ParquetFile(tmp_path / "t.parquet") as file, open(tmp_path / "t.parquet", "rb") as raw:
        group = file.metadata.row_group(0)
        columns = [group.column(k).path_in_schema for k in range(group.num_columns)]
        read = partial(checksums.read_at, raw)
        assert parquet_pages.addresses(read, group, columns.index("address.list.element"), 1000) is None
    with pytest.raises(InputError, match="addresses: give 32"):
        whole(tmp_path / "t.parquet")


def test_a_remote_file_is_read(written: Path) -> None:
    assert same(whole(f"file://{written}"), whole(written))


# ---- interrupted writing
@pytest.mark.parametrize("format", FORMATS)
def test_an_interrupted_write_leaves_no_file(tmp_path: Path, format: str) -> None:
    before = random_trace(6, 3)
    path = tmp_path / f"t.{format}"
    with write_trace(path) as writer:
        writer.write(before)
    with pytest.raises(KeyboardInterrupt):
        interrupted(path)
    assert os.listdir(tmp_path) == [path.name]
    assert same(whole(path), before)


def interrupted(path: Path) -> None:
    with write_trace(path) as writer:
        writer.write(random_trace(5, 100))
        raise KeyboardInterrupt


def test_a_killed_writer_leaves_nothing_that_looks_whole(tmp_path: Path) -> None:
    code = (
        "import os; from helpers.traces import random_trace; from banksim.storage import write_trace\n"
        "with write_trace('t.parquet') as w: w.write(random_trace(1, 200000)); os._exit(9)"
    )
    path = os.pathsep.join(sys.path)
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env={**os.environ, "PYTHONPATH": path}, check=False)
    assert not (tmp_path / "t.parquet").exists()


def test_a_stream_that_is_cut_off_is_refused(tmp_path: Path) -> None:
    with write_trace(tmp_path / "t.arrow") as writer:
        for seed in range(3):
            writer.write(random_trace(seed, 100))
    data = (tmp_path / "t.arrow").read_bytes()
    for cut in (1, 4, 8, 9, len(data) // 2, len(data) - 1):
        (tmp_path / "cut.arrow").write_bytes(data[:-cut])
        with pytest.raises(InputError, match=r"cut\.arrow: batch \d"):
            whole(tmp_path / "cut.arrow")


# ---- damaged files
@pytest.mark.parametrize("format", FORMATS)
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_damaged_file_is_refused_in_one_line_or_read(
    tmp_path: Path, small_groups: None, format: str, data: st.DataObject
) -> None:
    good = tmp_path / f"good.{format}"
    if not good.exists():
        with write_trace(good) as writer:
            writer.write(random_trace(7, 1200))
    content = good.read_bytes()
    bad = tmp_path / f"bad.{format}"
    bad.write_bytes(damaged(content, data.draw(damages(len(content)))))
    message = complaint(lambda: judge_pieces(open_trace(bad).pieces, RULES[1:]))
    assert message is None or message.startswith(str(bad))
    assert "\n" not in (message or "")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.drop_columns("mask"), "no column mask"),
        (lambda t: t.set_column(6, "mask", pa.array(["x"] * len(t))), "column mask is string"),
        (lambda t: t.set_column(6, "mask", pa.array([1 << 32] * len(t))), "mask 4294967296 is outside"),
        (lambda t: t.set_column(6, "mask", pa.array([None] * len(t), pa.uint32())), "column mask has nulls"),
        (lambda t: t.set_column(5, "width", pa.array([3] * len(t))), "width 3"),
        (lambda t: t.set_column(4, "op", pa.array(["load"] * len(t))), "unknown op 'load'"),
        (lambda t: t.set_column(4, "op", pa.array([1] * len(t))), "column op is int64"),
        (lambda t: t.set_column(0, "site", pa.array([5] * len(t))), "site 5 names no entry"),
        (lambda t: t.set_column(1, "block", pa.array([-1] * len(t))), "block -1 is outside"),
        (lambda t: t.set_column(7, "address", pa.array([[0] * 31] * len(t))), "a list of 31 addresses"),
        (lambda t: t.set_column(7, "address", pa.array([7] * len(t))), "column address is int64"),
        (lambda t: t.set_column(7, "address", pa.array([[1] * 32] * len(t))), "is not a multiple of"),
        (lambda t: t.set_column(7, "address", pa.array([[None] * 32] * len(t), pa.list_(pa.uint32()))), "nulls"),
        (lambda t: t.append_column("mask", t.column("mask")), "2 columns mask"),
        (lambda t: t.replace_schema_metadata({"banksim.schema": "2"}), "schema version 2, but"),
        (lambda t: t.replace_schema_metadata({"banksim.sites": "[1]"}), "no list of sites"),
        (lambda t: t.replace_schema_metadata({"banksim.sites": "[" * 100000}), "no list of sites"),
    ],
)
def test_what_a_file_lacks_is_named(tmp_path: Path, change: object, message: str) -> None:
    kinds = [("ld", 4), ("st", 8)]
    batch = schema.batch_of(random_trace(8, 10, kinds))
    sites = schema.metadata_of(SITES, [])
    table = pa.Table.from_batches([batch]).replace_schema_metadata(sites)
    pq.write_table(change(table), tmp_path / "t.parquet")  # type: ignore[operator]
    with pytest.raises(InputError, match=r"t\.parquet: .*" + message):
        whole(tmp_path / "t.parquet")


def test_a_bad_row_group_is_named_with_its_position(written: Path) -> None:
    footer = pq.ParquetFile(written).metadata
    column = footer.row_group(2).column(7)
    data = bytearray(written.read_bytes())
    data[column.data_page_offset : column.data_page_offset + 40] = b"\xff" * 40
    written.write_bytes(data)
    with pytest.raises(InputError, match=r"trace\.parquet: row group 2, from request 2,000 on: "):
        judge_pieces(open_trace(written).pieces, RULES)


def test_a_file_that_claims_too_much_is_refused(tmp_path: Path, monkeypatch: Patch) -> None:
    with write_trace(tmp_path / "t.parquet") as writer:
        writer.write(random_trace(9, 5000))
    monkeypatch.setattr(parquet, "LARGEST_GROUP", 1 << 16)
    with pytest.raises(InputError, match=r"it claims .* bytes: write row groups of at most 65,536"):
        whole(tmp_path / "t.parquet")


@pytest.mark.parametrize(
    "content", [b"", b"PAR1", b"PAR1\0\0\0\0PAR1", b"PAR1" + b"\xff" * 8 + b"PAR1", b"hello\n" * 99]
)
@pytest.mark.parametrize("format", READ)
def test_what_is_no_trace_is_refused(tmp_path: Path, capsys: Said, format: str, content: bytes) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    assert refused(capsys, ["replay", str(path), "--input-format", format]).startswith(f"banksim: {path}")


@pytest.mark.parametrize("name", ["nope.parquet", "nope.csv.gz", "nope.arrow", "nope", "folder/nope.npz"])
def test_a_missing_file_is_named(capsys: Said, name: str) -> None:
    assert refused(capsys, ["replay", name]) == f"banksim: {name}: no such file\n"


def test_a_url_that_cannot_be_read_is_named(capsys: Said) -> None:
    assert refused(capsys, ["replay", "http://[/t.parquet"]).startswith("banksim: http://[/t.parquet: ")


def test_a_folder_is_no_trace(tmp_path: Path, capsys: Said) -> None:
    assert err_of(capsys, ["replay", str(tmp_path), "--input-format", "parquet"]).count("\n") == 1


def test_only_formats_that_can_be_written_are(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"that ends in \.parquet or \.arrow"), write_trace(tmp_path / "t.csv"):
        pass
    with pytest.raises(InputError, match="choose a folder"), write_trace(tmp_path / "none" / "t.parquet"):
        pass


def test_sites_that_another_program_has_lost_have_numbers(written: Path, tmp_path: Path, capsys: Said) -> None:
    duckdb.sql(f"copy (select * from '{written}' where site in (1, 3)) to '{tmp_path / 'less.parquet'}'")
    [judged] = json.loads(out_of(capsys, ["replay", str(tmp_path / "less.parquet"), "--json"]))["conflicts"]
    assert {site["text"] for site in judged["sites"]} == {"site 1", "site 3"}
    table = pq.read_table(written, columns=["op", "width", "mask", "address"])
    for site, message in ((1 << 16, "site 65536, of which the metadata tells nothing"), (-1, "site -1 is outside")):
        column = pa.array([site] * len(table), pa.int32())
        pq.write_table(table.append_column("site", column), tmp_path / "more.parquet")
        assert message in err_of(capsys, ["replay", str(tmp_path / "more.parquet")])


# ---- the commands
COLUMN = ["pattern", "tile[threadIdx.x][threadIdx.y]", "--declare", "int tile[32][32]", "--block", "32,32"]


@pytest.mark.parametrize("form", [["--json"], [], ["--picture", "all"]])
def test_a_trace_gives_the_report_of_its_source(
    tmp_path: Path, capsys: Said, monkeypatch: Patch, form: list[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    path, rules = str(tmp_path / "t.parquet"), ["--arch", "kepler-4,kepler-8,sm_90"]
    source = out_of(capsys, [*COLUMN, *rules, *form, "--trace", path])
    found = out_of(capsys, ["replay", path, *rules, *form])
    if form == ["--json"]:
        assert json.loads(found)["conflicts"] == json.loads(source)["conflicts"]
    else:
        assert found == source


def test_a_trace_goes_through_a_pipe(tmp_path: Path) -> None:
    """And no command spends time on importing pandas, as pyarrow does unasked."""
    code = "import sys; from banksim.__main__ import main; main(sys.argv[1:]); assert 'pandas' not in sys.modules"
    banksim = [sys.executable, "-c", code]
    first = subprocess.run([*banksim, *COLUMN, "--trace", "-"], capture_output=True, check=True)
    then = subprocess.run([*banksim, "replay", "-"], input=first.stdout, capture_output=True, check=True)
    assert then.stdout == first.stderr


def test_a_limit_fails_as_at_the_source(tmp_path: Path) -> None:
    path = str(tmp_path / "t.parquet")
    main([*COLUMN, "--trace", path])
    assert main(["replay", path, "--fail-above", "991"]) == 1
    assert main(["replay", path, "--fail-above", "992"]) == 0


def test_a_file_larger_than_the_memory_is_judged(tmp_path: Path) -> None:
    """512 MiB of requests, of which a process that may have 300 MiB more than it begins with holds a few at a time."""
    trace = random_trace(1, 1 << 11, [("ld", 4)])
    copies, groups = 64, 30
    repeat_groups(tmp_path / "big.parquet", trace, copies, groups)
    code = (
        "import resource, sys, json; from banksim.__main__ import main\n"
        "import banksim.banks.compiled.site_sums, pyarrow.parquet\n"
        "used = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize()\n"
        "resource.setrlimit(resource.RLIMIT_AS, (used + (300 << 20),) * 2)\n"
        "sys.exit(main(['replay', 'big.parquet', '--json']))"
    )
    allocators = {"MALLOC_ARENA_MAX": "2", "ARROW_DEFAULT_MEMORY_POOL": "system"}
    environment = {**os.environ, **allocators, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, check=False)
    assert done.stderr == b""
    found = json.loads(done.stdout)["conflicts"][0]
    assert found["transactions"] == groups * copies * replay(trace).transactions
    assert groups * copies * len(trace) * 145 > 1 << 29


def repeat_groups(big: Path, trace: Trace, copies: int, groups: int) -> None:
    """Write row groups of copies of a trace. Addresses have no dictionary: to make it would take most of the time."""
    group = pa.Table.from_batches([schema.batch_of(trace)] * copies)
    scalars = [name for name in schema.SCHEMA.names if name != "address"]
    with open(big, "wb") as file:
        writer = pq.ParquetWriter(file, schema.SCHEMA, compression="zstd", use_dictionary=scalars)
        for _ in range(groups):
            writer.write_table(group, len(group))
        writer.add_key_value_metadata(schema.metadata_of(trace.sites, []))
        writer.close()
