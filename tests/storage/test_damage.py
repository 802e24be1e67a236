"""One bit of a file is not what it was: the same report, or one line and no report; never another report."""

import gzip
import json
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from banksim.architectures.bank_rules import architecture
from banksim.banks.pieces import judge_pieces
from banksim.storage import open_trace, parquet
from helpers.trace_files import FILES, PACKERS, csv
from helpers.trace_files import parquet as written
from helpers.traces import complaint, random_trace

FLIPS = 150
"""Of each file, beside every bit of its last bytes."""
KINDS = [("ld", 4), ("st", 4), ("ld", 1), ("atom", 4)]
RULES = [architecture("sm_90")]
TRACE = random_trace(5, 700, KINDS)
FEW = random_trace(5, 90, KINDS)
"""For text, which takes long to read and has no groups."""


CHECKED = ["t.parquet", "t.arrow", "stored.npz", "packed.npz", "t.csv.gz", "t.csv.xz", "t.csv.zst"]
"""Files with checksums."""


def content(name: str) -> bytes:
    made, text, ending = name.partition(".csv")
    return PACKERS[ending](FILES[made + text](FEW if text else TRACE))


def report(path: Path) -> str:
    found = judge_pieces(open_trace(path).pieces, RULES)
    return json.dumps([one.to_json() for one in found])


@pytest.fixture(autouse=True)
def small_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "GROUP", 300)


@pytest.mark.parametrize("name", CHECKED)
def test_a_flipped_bit_never_gives_another_report(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(good := content(name))
    wanted = report(path)
    random = Random(name)
    places = [random.randrange(8 * len(good)) for _ in range(FLIPS)]
    places += [8 * (len(good) - n) + random.randrange(8) for n in range(1, min(150, len(good)))]
    refused = 0
    for place in places:
        bad = bytearray(good)
        bad[place // 8] ^= 1 << place % 8
        path.write_bytes(bad)
        given: list[str] = []
        message = complaint(lambda given=given: given.append(report(path)))  # type: ignore[misc]
        assert given in ([], [wanted]), f"bit {place % 8} of byte {place // 8} of {len(good)}"
        assert message is None or (message.startswith(str(path)) and "\n" not in message), (place, message)
        refused += message is not None
    assert refused > len(places) // 2


@pytest.mark.parametrize("name", CHECKED)
def test_a_file_that_is_cut_never_gives_another_report(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(good := content(name))
    wanted = report(path)
    for size in {*range(0, len(good), len(good) // 60), *range(len(good) - 30, len(good))}:
        path.write_bytes(good[:size])
        given: list[str] = []
        message = complaint(lambda given=given: given.append(report(path)))  # type: ignore[misc]
        assert given in ([], [wanted]), size
        assert message is None or (message.startswith(str(path)) and "\n" not in message), message


def test_checksums_of_pages_that_others_wrote_are_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page of addresses is read by banksim, one of another column by pyarrow."""
    monkeypatch.setattr(parquet, "GROUP", len(TRACE))
    path = tmp_path / "t.parquet"
    path.write_bytes(good := written("zstd", checksums=True)(TRACE))
    group, wanted = pq.ParquetFile(path).metadata.row_group(0), report(path)
    for number in range(group.num_columns):
        column = group.column(number)
        bad = bytearray(good)
        bad[column.data_page_offset + column.total_compressed_size // 2] ^= 1
        path.write_bytes(bad)
        given: list[str] = []
        message = complaint(lambda given=given: given.append(report(path)))  # type: ignore[misc]
        assert given in ([], [wanted]), column.path_in_schema
        assert message is None or "row group 0, from request 0 on" in message
        if column.path_in_schema == parquet.ADDRESS:
            assert message is not None
            assert "the checksum of a page of addresses is wrong" in message
    path.write_bytes(good)
    assert report(path) == wanted


def test_other_programs_check_our_pages(tmp_path: Path) -> None:
    """Every page has the checksum that Parquet knows."""
    path = tmp_path / "t.parquet"
    path.write_bytes(good := content("t.parquet"))
    group = pq.ParquetFile(path).metadata.row_group(1)
    for number in range(group.num_columns):
        column = group.column(number)
        bad = bytearray(good)
        bad[column.data_page_offset + column.total_compressed_size - 1] ^= 1  # the last byte of the last page
        if column.has_dictionary_page:
            bad = bytearray(good)
            bad[column.data_page_offset - 1] ^= 1  # that of the dictionary, which stands before
        path.write_bytes(bad)
        with pytest.raises(OSError, match=r"CRC|checksum"):
            pq.read_table(path, page_checksum_verification=True)


def test_what_is_written_again_by_another_program_is_read(tmp_path: Path) -> None:
    """The metadata that pyarrow keeps claims nothing of the bytes that it wrote."""
    (tmp_path / "t.parquet").write_bytes(content("t.parquet"))
    pq.write_table(pq.read_table(tmp_path / "t.parquet"), tmp_path / "again.parquet")
    assert [len(one) for one in open_trace(tmp_path / "again.parquet")] == [300, 300, 100]
    (tmp_path / "t.arrow").write_bytes(content("t.arrow"))
    with pa.ipc.open_stream(tmp_path / "t.arrow") as stream:
        table = stream.read_all()
    with pa.ipc.new_stream(tmp_path / "again.arrow", table.schema) as writer:
        writer.write_table(table)
    assert [len(one) for one in open_trace(tmp_path / "again.arrow")] == [len(TRACE)]


def test_something_behind_a_stream_is_refused(tmp_path: Path) -> None:
    """Two streams, one behind the other, are not read as the first."""
    path = tmp_path / "t.arrow"
    path.write_bytes(content("t.arrow") * 2)
    assert "something stands behind the end" in str(complaint(lambda: report(path)))


def test_all_frames_of_a_zstandard_file_are_read(tmp_path: Path) -> None:
    path = tmp_path / "t.csv.zst"
    head, *rows = csv(FEW).splitlines(keepends=True)
    frames = [head, *(b"".join(rows[n : n + 20]) for n in range(0, len(rows), 20))]
    path.write_bytes(b"".join(map(zstandard.ZstdCompressor().compress, frames)))
    assert sum(len(chunk) for chunk in open_trace(path)) == len(FEW)


@pytest.mark.parametrize("line", [b"\n", b"#\n", b"\r\n"])
def test_a_file_of_empty_lines_is_refused_soon(tmp_path: Path, line: bytes) -> None:
    path = tmp_path / "t.csv.gz"
    head = csv(FEW).partition(b"\n")[0] + b"\n"
    path.write_bytes(gzip.compress(head) + gzip.compress(line * (1 << 20)) * 1000)
    assert str(complaint(lambda: [*open_trace(path)])).endswith(
        ": 100,000 lines with nothing in them: this is no trace"
    )


@pytest.mark.parametrize("ending", ["gz", "xz", "zst"])
def test_a_bomb_is_refused_at_its_first_line(tmp_path: Path, ending: str) -> None:
    """1 GiB of zeros; nothing of that size is ever in memory."""
    import tracemalloc

    path = tmp_path / f"t.csv.{ending}"
    path.write_bytes(PACKERS[f".{ending}"](bytes(1 << 24)) * 64)  # of many members, as concatenated files are
    tracemalloc.start()
    message = complaint(lambda: [*open_trace(path)])
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert message == f"{path}, line 1: longer than 65536 bytes: this is no trace"
    assert most < 200 << 20
