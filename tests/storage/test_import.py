"""What others record: CSV, NumPy archives, NVBit's mem_trace, Accel-Sim's traces; compressed, cut off, wrong."""

import io
import zipfile
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import banksim
from banksim.__main__ import main
from banksim.banks.pieces import replay
from banksim.errors import InputError
from banksim.requests.kinds import FULL_MASK
from banksim.requests.trace import Trace, concatenated
from banksim.storage import FORMATS, WRITTEN, named_format, npz, open_trace, source
from banksim.storage.accelsim import decompressed
from helpers.places import written_to
from helpers.trace_files import FILES, HEAD, PACKERS, csv
from helpers.tracers import BLOCK, COLUMN, LAUNCH, MODES, WINDOW, access, read, traceg
from helpers.traces import complaint, damaged, damages, random_trace, same

READ = ["", ".gz", ".xz", ".zst"]
"""What text may be packed as."""


def refused(path: Path, message: str) -> None:
    with pytest.raises(InputError) as caught:
        read(path)
    assert str(caught.value).startswith(str(path.parent))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


# ---- CSV
@pytest.mark.parametrize("ending", READ)
def test_csv(tmp_path: Path, ending: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "ROWS", 100)
    trace = random_trace(1, 250)
    path = tmp_path / f"t.csv{ending}"
    path.write_bytes(PACKERS[ending](csv(trace)))
    found, notes = read(path)
    for name in ("op", "width", "mask", "address", "block", "warp"):
        assert np.array_equal(getattr(found, name), getattr(trace, name))
    sites = zip(np.array(source.OPS)[trace.op].tolist(), trace.site.tolist(), strict=True)
    assert [(site.opcode, site.text) for site in found.sites] == [(op, f"s{site}") for op, site in dict.fromkeys(sites)]
    assert notes == []


def test_a_csv_without_masks_has_the_lanes_with_an_address(tmp_path: Path) -> None:
    head = HEAD.replace("mask,", "") + ",site"
    [site] = replay(read(written_to(tmp_path / "t.csv", f"# ours\n{head}\nld,4,,4,0x8{',' * 29},s[i]\n"))[0]).sites
    assert site.worst is not None
    assert (site.worst.mask, site.worst.address[1:3], site.text) == (6, (4, 8), "s[i]")


ROW = "ld,4,1," + ",".join(["0"] * 32)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (HEAD.replace("a7,", "") + "\n" + ROW, "line 1: no column a7"),
        (HEAD.replace("a7,", "a7,a7,"), "line 1: 2 columns a7"),
        (HEAD + ",lanes", "unknown column 'lanes'"),
        (f"{HEAD}\n{ROW}\n{ROW},5", "line 3: 36 values, but the head names 35"),
        (f"{HEAD}\n{ROW}\n{ROW[:-9]}", "line 3: 31 values"),
        (f"{HEAD}\n{ROW.replace('ld', 'load')}", "line 2: unknown op 'load'"),
        (f"{HEAD}\n{ROW.replace('4', '5')}", "line 2: width 5"),
        (f"{HEAD}\n{ROW.replace('1', '0x100000000')}", "line 2: mask 0x100000000 is beyond 32 lanes"),
        (f"{HEAD}\n{ROW.replace('1,0', '1,x')}", "line 2: a0 is 'x'"),
        (f"{HEAD}\n{ROW.replace('1,0', '1,')}", "line 2: lane 0 is active, but a0 is empty"),
        (f"{HEAD}\n{ROW.replace('1,0', '1,2')}", "line 2: lane 0: address 0x2 is not a multiple of 4"),
        (f"{HEAD}\n{ROW.replace('1,0', '1,-4')}", "line 2: an address is outside"),
        (f"{HEAD}\n{ROW.replace('1,0', '1,1' + '0' * 5000)}", "line 2: a0 is '1000"),
        (f"{HEAD}\n" + "0" * 70000, "line 2: longer than 65536 bytes"),
        (f'{HEAD}\n"ld"x', "line 2: "),
        ("", "no column op"),
    ],
)
def test_a_wrong_csv_is_refused_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    refused(written_to(tmp_path / "t.csv", text), message)


@pytest.mark.parametrize("ending", [".gz", ".xz", ".zst"])
def test_a_compressed_file_that_is_cut_off_is_refused(tmp_path: Path, ending: str) -> None:
    packed = PACKERS[ending](csv(random_trace(2, 400)))
    path = tmp_path / f"t.csv{ending}"
    for size in (3, 20, len(packed) // 2, len(packed) - 1):
        path.write_bytes(packed[:size])
        with pytest.raises(InputError, match=r"t\.csv"):
            read(path)


# ---- NumPy archives
def saved(path: Path, **arrays: object) -> Path:
    np.savez_compressed(path, **arrays)  # type: ignore[arg-type]
    return path


def test_npz(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(npz, "ROWS", 64)
    trace = random_trace(3, 200)
    names = ("op", "width", "mask", "address", "block", "warp", "site", "epoch")
    found, _ = read(saved(tmp_path / "t.npz", **{name: getattr(trace, name) for name in names}))
    assert all(np.array_equal(getattr(found, name), getattr(trace, name)) for name in names)
    assert len(found.sites) == len(trace.sites)


def test_npz_with_one_value_for_all(tmp_path: Path) -> None:
    found, _ = read(saved(tmp_path / "t.npz", op="st", width=8, mask=FULL_MASK, address=[np.arange(32) * 8] * 3))
    assert same(found, Trace.from_arrays("st", 8, FULL_MASK, [np.arange(32) * 8] * 3))


class Bomb:
    def __reduce__(self) -> tuple[object, ...]:
        return (Path("/tmp/pickled").touch, ())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"mask": None}, "no array mask"),
        ({"mask": np.array([Bomb()] * 2)}, "mask holds Python objects, which are never loaded"),
        ({"address": np.array([Bomb()] * 2)}, "address holds Python objects"),
        ({"address": np.zeros((2, 31), np.uint32)}, "address has shape (2, 31)"),
        ({"address": np.zeros((2, 32), "U3")}, "address must be whole numbers"),
        ({"address": np.full((2, 32), 2)}, "is not a multiple of 4"),
        ({"address": np.zeros((2, 32), order="F")}, "stored column by column"),
        ({"width": [4, 4, 4]}, "width has shape (3,)"),
        ({"op": ["ld", "load"]}, "unknown op 'load'"),
        ({"site": [0, -1]}, "site"),
        ({"site": [0, 1 << 40]}, "site 1099511627776"),
    ],
)
def test_a_wrong_npz_is_refused(tmp_path: Path, changes: dict[str, object], message: str) -> None:
    arrays = {"op": "ld", "width": 4, "mask": 1, "address": np.zeros((2, 32), np.uint32), **changes}
    refused(saved(tmp_path / "t.npz", **{k: v for k, v in arrays.items() if v is not None}), message)
    assert not Path("/tmp/pickled").exists()


def test_a_bomb_is_refused_by_what_it_claims(tmp_path: Path) -> None:
    """A header that claims more requests than the archive holds, and an archive that claims what cannot be."""
    head = io.BytesIO()
    np.lib.format.write_array_header_1_0(head, {"descr": "<u4", "fortran_order": False, "shape": (10**12, 32)})
    good = saved(tmp_path / "t.npz", op="ld", width=4, mask=1)
    with zipfile.ZipFile(good, "a") as archive:
        archive.writestr("address.npy", head.getvalue())
    refused(good, "address claims shape (1000000000000, 32)")

    bad = saved(tmp_path / "u.npz", op="ld", width=4, mask=1, address=np.zeros((100, 32), np.uint32))
    data = bytearray(bad.read_bytes())
    entry = data.rindex(b"PK\x01\x02", 0, data.rindex(b"address"))
    data[entry + 24 : entry + 28] = (0xFFFFFFF0).to_bytes(4, "little")
    bad.write_bytes(data)
    refused(bad, "address claims 4,294,967,280 bytes in")


BANNER = "------------- NVBit (NVidia Binary Instrumentation Tool v1.7.5) Loaded --------------\n"


@pytest.mark.parametrize("base", [0, WINDOW])
def test_nvbit(tmp_path: Path, base: int) -> None:
    column = [base + 4096 + address for address in COLUMN]
    text = (
        BANNER
        + LAUNCH.format(id=0, x=3, y=2)
        + access("LDG.E", [WINDOW * 2 + 4 * lane for lane in range(32)])
        + access("LDS", column, "1,1,0", 5)
        + access("STS.64", [base + 4096 + 8 * lane if lane < 16 else 0 for lane in range(32)], "2,0,0")
        + LAUNCH.format(id=1, x=3, y=2)
        + access("LDS", column, "1,1,0", 5, launch=1)
        + access("ATOMS.POPC.INC.32", column, launch=1)
    )
    found, notes = read(written_to(tmp_path / "t.txt", text))
    assert [site.opcode for site in found.sites] == ["LDS", "STS.64", "ATOMS.POPC.INC.32"]
    assert {site.function for site in found.sites} == {"add(float*, int)"}
    assert found.block.tolist() == [4, 2, 10, 6]
    assert found.mask.tolist() == [FULL_MASK, 0xFFFF, FULL_MASK, FULL_MASK]
    assert found.width.tolist() == [4, 8, 4, 4]
    assert [site.transactions for site in replay(found).sites] == [64, 1, 32]
    assert notes[0] == "1 other instructions left out: 1 LDG"
    assert any("at 0" in note for note in notes) == (base == 0)


def test_nvbit_without_launches_tells_blocks_apart(tmp_path: Path) -> None:
    lines = [access("LDS", COLUMN, block, 1) for block in ("5,5,5", "5,5,6", "5,5,5")]
    assert read(written_to(tmp_path / "t.log", "".join(lines)))[0].block.tolist() == [0, 1, 0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (access("LDS", COLUMN[:31]), "line 1: 31 addresses"),
        (access("LDS", COLUMN)[:60], "line 1: the line is cut off"),
        (access("LDS", COLUMN).replace("0x0000000000000080", "0xzz"), "line 1: an address is no hexadecimal number"),
        (access("LDS", [1 << 40, *COLUMN[1:]]), "not of one window"),
        (access("LDS.128", [4] * 32), "line 1: lane 0: address 0x4 is not a multiple of 16"),
        (access("LDSM.8.M77", COLUMN), "LDSM.8.M77"),
        (BANNER, "no line of mem_trace"),
        ("\n        *** GPGPU-Sim Simulator Version 4.2.0 ***\n", "line 2: this is GPGPU-Sim's"),
        ("[thd=1] : (a.ptx:30 - ld.shared.f32 %f1, [%r1])\n", "record a .traceg with Accel-Sim's tracer"),
    ],
)
def test_a_wrong_nvbit_trace_is_refused(tmp_path: Path, text: str, message: str) -> None:
    refused(written_to(tmp_path / "t.txt", text), message)


# ---- Accel-Sim


@pytest.mark.parametrize("version", [3, 4, 5])
@pytest.mark.parametrize("mode", MODES)
def test_traceg_in_each_compression_mode(tmp_path: Path, mode: str, version: int) -> None:
    found, _ = read(written_to(tmp_path / "kernel-1.traceg", traceg(MODES[mode], version=version)))
    assert found.address.tolist() == [COLUMN]
    assert (found.block.tolist(), found.warp.tolist(), found.mask.tolist()) == ([3], [1], [FULL_MASK])
    assert (found.sites[0].offset, found.sites[0].function) == (0x50, "_Z6reducePf")
    assert replay(found).transactions == 32


@given(
    st.integers(1, FULL_MASK), st.lists(st.integers(0, 1 << 14), min_size=32, max_size=32), st.sampled_from([[], ["7"]])
)
def test_addresses_are_those_that_were_compressed(mask: int, addresses: list[int], immediate: list[str]) -> None:
    active = [address for lane, address in enumerate(addresses) if mask >> lane & 1]
    wanted = [address if mask >> lane & 1 else 0 for lane, address in enumerate(addresses)]
    listed = ["0", *map(hex, active), *immediate]
    deltas = ["2", hex(active[0]), *(str(b - a) for a, b in pairwise(active)), *immediate]
    assert decompressed(listed, mask) == wanted
    assert decompressed(deltas, mask) == wanted


def test_traceg_of_partial_warps_lines_and_other_instructions(tmp_path: Path) -> None:
    body = [
        "12 0000 ffffffff 1 R1 IMAD.MOV.U32 2 R255 R255 0",
        "12 0010 ffffffff 1 R4 LDG.E.128.SYS 1 R2 16 1 0x7e0000000000 16",
        "13 0020 0000fff0 0 STS.U8 2 R2 R3 1 1 0x400 1",
        "14 0030 80000001 0 STS.64 2 R2 R3 8 2 0x400 -8",
        "14 0040 00000010 1 R255 ATOMS.ADD 2 R2 R3 4 2 0x400",
        "14 0050 00000000 1 R4 LDS 1 R2 4 1 0x0 0",
        "15 0060 ffffffff 0 LDGSTS.E.BYPASS.128 2 R2 R3 16 1 0x7e0000000000 16",
        "16 0070 ffffffff 1 R4 LD.E 1 R2 4 1 0x7e0000000000 4",
        "17 0080 ffffffff 1 R4 LDSM.16.M88.4 1 R2 4 1 0x0 16",
    ]
    found, notes = read(written_to(tmp_path / "kernel-1.traceg", traceg(*body, lines=1)))
    assert [(site.opcode, site.line) for site in found.sites] == [
        ("STS.U8", 13), ("STS.64", 14), ("ATOMS.ADD", 14), ("LDSM.16.M88.4", 17),
    ]  # fmt: skip
    assert found.address[0, 4:16].tolist() == list(range(0x400, 0x40C))
    assert (found.address[1, 0], found.address[1, 31]) == (0x400, 0x3F8)
    assert np.array(source.OPS)[found.op].tolist() == ["st", "st", "red", "ldmatrix_x4"]
    assert "3 other instructions left out: 1 IMAD, 1 LDG, 1 LD of other memory" in notes
    assert any(note.startswith("1 LDGSTS (cp.async) left out") for note in notes)


@pytest.mark.parametrize("ending", READ)
def test_kernelslist(tmp_path: Path, ending: str) -> None:
    for number in (1, 2):
        (tmp_path / f"kernel-{number}.traceg{ending}").write_bytes(PACKERS[ending](traceg(MODES["stride"]).encode()))
    names = "".join(f"kernel-{number}.traceg{ending}\n" for number in (1, 2))
    (tmp_path / "kernelslist.g").write_text(f"MemcpyHtoD,0x00007f0e2b000000,4096\n{names}MemcpyDtoH,0x7f0e2b000000,4\n")
    found, _ = read(tmp_path / "kernelslist.g")
    assert found.block.tolist() == [3, 7]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (traceg(MODES["stride"], count=2), "lacks 1 of the instructions"),
        (traceg(MODES["stride"], MODES["stride"], count=1), "an instruction more than its warp claims"),
        (traceg(MODES["stride"])[:-9], "cut off within a thread block"),
        (traceg(MODES["stride"]).replace("= 5\n", "= 6\n"), "tracer version 6: versions 3, 4, 5 are read"),
        (traceg(MODES["stride"]).replace("-grid dim = (2,2,1)\n", ""), "no grid dim"),
        (traceg(MODES["stride"]).replace("(2,2,1)", "(2,1,1)"), "thread block (1, 1, 0) where the grid is (2, 1, 1)"),
        (traceg(MODES["stride"]).replace("(2,2,1)", "2x2"), "grid dim is '2x2'"),
        (traceg(MODES["stride"]) + BLOCK.format(block="1,1,0", count=0, body=""), "comes twice"),
        (traceg(MODES["list"][:-19]), "its addresses are not as its mask and mode say"),
        (traceg(MODES["delta"][:-4], version=4), "its addresses are not as its mask and mode say"),
        (traceg(MODES["stride"] + " 4 4"), "its addresses are not as its mask and mode say"),
        (traceg(MODES["stride"].replace("ffffffff", "ffff00ff")), "its addresses are not as its mask and mode say"),
        (traceg(MODES["stride"].replace(" 4 1 ", " 4 3 ")), "its addresses are not as its mask and mode say"),
        (traceg(MODES["stride"].replace("LDS 1 R2", "LDS 9 R2")), "this is no instruction, or it is cut off"),
        (traceg(MODES["offsets"].replace("LDS", "LDS.64").replace("128", "100")), "is not a multiple of 8"),
        ("-kernel name = x\n", "no .traceg: its head tells no accelsim tracer version"),
        ("hello\n", "an instruction more than its warp claims, or outside of one"),
    ],
)
def test_a_wrong_traceg_is_refused(tmp_path: Path, text: str, message: str) -> None:
    refused(written_to(tmp_path / "kernel-1.traceg", text), message)


@pytest.mark.parametrize("text", ["", "kernel-9.traceg\n", "../kernel-1.traceg\n", "kernel-1.trace\n", "hello\n"])
def test_a_wrong_kernelslist_is_refused(tmp_path: Path, text: str) -> None:
    refused(written_to(tmp_path / "kernelslist.g", text), "")


# ---- all
def test_every_format_has_a_file() -> None:
    assert {named_format(name) for name in FILES} == {*FORMATS}


@pytest.mark.parametrize("name", sorted(name for name in FILES if named_format(name) not in WRITTEN.values()))
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_damaged_file_is_refused_in_one_line_or_read(tmp_path: Path, name: str, data: st.DataObject) -> None:
    content = FILES[name](random_trace(9, 40))
    path = tmp_path / name
    path.write_bytes(damaged(content, data.draw(damages(len(content)))))
    assert "\n" not in (complaint(lambda: replay(read(path)[0])) or "")


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_judged_as_its_requests_are_and_again(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(FILES[name](random_trace(9, 40)))
    opened = open_trace(path)
    whole, notes = concatenated(list(opened)), list(opened.notes)
    assert len(whole) > 0
    for arch in ("sm_90", "kepler-4"):
        assert banksim.replay(opened, arch) == banksim.replay(whole, arch)
        assert opened.notes == notes


def test_standard_input_is_judged_once(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = csv(random_trace(9, 40))
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(lines)))
    opened = open_trace("-", "csv")
    assert banksim.replay(opened).requests > 0
    with pytest.raises(InputError, match="standard input can be read once"):
        banksim.replay(opened)


@pytest.mark.parametrize("trace", ["t.csv", None, [random_trace(9, 4)]], ids=["name", "nothing", "list"])
def test_what_is_neither_requests_nor_a_file_is_refused(trace: Any) -> None:
    with pytest.raises(InputError, match="is no trace: give a Trace, or what open_trace gives"):
        banksim.replay(trace)


def test_notes_are_in_the_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "kernel-1.traceg").write_text(traceg(MODES["stride"], "0060 ffffffff 0 EXIT 0 0"))
    assert main(["replay", str(tmp_path / "kernel-1.traceg"), "--no-picture"]) == 0
    assert "_Z6reducePf: 0x0050 LDS" in (found := capsys.readouterr().out)
    assert found.endswith("note: 1 other instructions left out: 1 EXIT\n")
    assert main(["replay", str(tmp_path / "kernel-1.traceg"), "--json"]) == 0
    assert '"1 other instructions left out: 1 EXIT"' in capsys.readouterr().out
