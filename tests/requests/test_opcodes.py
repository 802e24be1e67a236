"""One table of opcodes: a kernel's own requests, imported from what tracers write of them, give the kernel's report."""

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import banksim
from banksim.architectures.code_layout import SHARED_WINDOW
from banksim.banks.conflicts import Conflicts
from banksim.errors import InputError
from banksim.kernels.control_opcodes import CONTROL
from banksim.kernels.kernel import Kernel
from banksim.machine.llvm.sections import Sections
from banksim.machine.operations import OPERATIONS
from banksim.machine.reference.warp import Warp
from banksim.requests.copies import destinations, moves
from banksim.requests.kinds import BYPASSING, LANES, OPS, SOURCE_BIT
from banksim.requests.opcodes import GENERIC, TABLE, request_of
from banksim.requests.trace import Site, Trace, concatenated
from helpers import assembler
from helpers.places import written_to
from helpers.tracers import LAUNCH, access, read, traceg

WIDTHS = {
    "ld": ("U8", "S8", "U16", "S16", "", "64", "128"), "st": ("U8", "U16", "", "64", "128"), "cas": ("", "64"),
    "cas_spin": ("", "64"), "popc_inc": ("32",), "exch": ("", "64"), "cp_async": ("", "64", "128"),
    "cp_async_bypass": ("128",), "cp_async_bypass_zfill": ("128",),
}  # fmt: skip
"""The widths that compilers give opcodes of an op, of those that have several."""
BYTES = 1 << 13
NO_LANES = ("UBLKCP", "UBLKRED", "STAS", "REDAS", "UTMALDG", "UTMASTG", "UTMAREDG", "HGMMA", "QGMMA", "IGMMA", "BGMMA")


def opcodes() -> list[str]:
    """Every row of the table in all its widths."""
    found = []
    for row in TABLE:
        for name in row.names.split():
            for width in WIDTHS.get(row.op, ("",)):
                words = (name, "E" * (name in GENERIC or name == "LDGSTS"), row.modifiers, width)
                found += [".".join(filter(None, words))] * (name not in NO_LANES)
    return found


def instructions(opcode: str) -> list[str]:
    """The opcode with operands, and again without a result where that is another request. R6 or R16 hold the address,
    R4 that of global memory, R8 to R11 values."""
    name, has_result = opcode.partition(".")[0], ("R20", "RZ")
    at = "[R16.64]" if name in GENERIC else "[R6]"
    if name == "LDGSTS":
        return [f"{opcode} {at}, [R4.64]", f"{opcode} {at}, [R18.64]"]
    if name in ("LDS", "LD", "LDSM"):
        return [f"{opcode} R20, {at}"]
    if name in ("STS", "ST", "STSM", "RED"):
        return [f"{opcode} {at}, R8"]
    if "POPC" in opcode:
        return [f"{opcode} RZ, {at}"]
    flag = "PT, " * (name == "ATOM")
    values = "R8, R10" if "CAS" in opcode else "R8"
    results = has_result if request_of(opcode) != request_of(opcode, False) else has_result[:1]
    return [f"{opcode} {flag}{result}, {at}, {values}" for result in results]


CODE = [text for opcode in opcodes() for text in instructions(opcode)]


@cache
def kernel() -> Kernel:
    """Every instruction once, its lanes' addresses and guards from rows of the first array."""
    lines = [
        "S2R R0, SR_LANEID",
        "IMAD.WIDE.U32 R2, R0, 0x4, c[0x0][0x210]",
        "IMAD.WIDE.U32 R18, R0, 0x30, c[0x0][0x218]",
    ]
    for n, text in enumerate(CODE):
        asked = request_of(text.split()[0])
        assert asked is not None
        lines += [f"LDG.E R6, [R2.64+{8 * LANES * n:#x}]", f"LDG.E R12, [R2.64+{8 * LANES * n + 4 * LANES:#x}]"]
        lines += ["R2P PR, R12, 0x1", "MOV R16, R6", f"MOV R17, {SHARED_WINDOW >> 32:#x}"]
        lines += [f"IMAD.WIDE.U32 R4, R0, {asked[1]:#x}, c[0x0][0x218]", f"@P0 {text}"]
    made = assembler.kernel([*lines, "EXIT"])
    code = tuple(replace(i, site=Site(i.opcode, i.pc, text=i.text)) for i in made.instructions)
    return replace(made, instructions=code, shared_bytes=BYTES)


def requests(seed: int) -> Any:
    """(instructions, 2, lanes): offsets that fit each instruction's width, from the second row of banks on; guards."""
    random = np.random.default_rng(seed)
    words = np.zeros((len(CODE), 2, LANES), np.uint32)
    for n, text in enumerate(CODE):
        asked = request_of(text.split()[0])
        assert asked is not None
        op, width = asked
        spread = random.choice([4, 64, BYTES // 16])
        words[n, 0] = 256 + width * random.integers(0, spread, LANES) % (BYTES - 256)
        words[n, 1] = 1 if "matrix" in op or random.random() < 0.5 else random.random(LANES) < 0.6
        words[n, 1, 5] = 1
    return words


def executed(seed: int, engine: str) -> tuple[Conflicts, Trace]:
    chunks: list[Trace] = []
    source = np.zeros(2048, np.uint32)
    source = source[(-source.ctypes.data // 4) % 32 :]
    run = banksim.run(kernel(), 1, LANES, [requests(seed).reshape(-1), source], engine=engine, trace=chunks.append)
    return run.conflicts, concatenated(chunks)


def rows(trace: Trace) -> list[tuple[Site, str, int, list[int]]]:
    """Site, op, mask and addresses of each request."""
    numbers = zip(trace.site.tolist(), trace.op.tolist(), trace.mask.tolist(), trace.address.tolist(), strict=True)
    return [(trace.sites[site], OPS[op], mask, address) for site, op, mask, address in numbers]


def as_accelsim(trace: Trace, base: int) -> str:
    """What Accel-Sim's tracer writes; generic addresses are of the window that begins at `base`."""
    lines = []
    for site, _, mask, address in rows(trace):
        result = site.text.split()[1 + site.text.startswith("@")].strip(",[]")
        result = site.text.split(", ")[1] if result.endswith("PT") else result
        results = "1 R255" if result == "RZ" else "1 R20" if result == "R20" else "0"
        active = " ".join(f"{base + address[lane]:#x}" for lane in range(LANES) if mask >> lane & 1)
        lines.append(f"{site.offset:04x} {mask:08x} {results} {site.opcode} 1 R6 4 0 {active}")
    return traceg(*lines, block="0,0,0").replace("0x00007f1d2a000000", f"{base:#x}")


def as_mem_trace(trace: Trace, base: int) -> str:
    """What NVBit's mem_trace prints: of a copy first where to, then where from."""
    text = LAUNCH.format(id=0, x=1, y=1)
    for site, op, mask, address in rows(trace):
        places = destinations(op, address)
        text += access(site.opcode, [base + a if mask >> lane & 1 else 0 for lane, a in enumerate(places)])
        if op.startswith("cp_async"):
            width = request_of(site.opcode)[1]  # type: ignore[index]
            source = [(1 << 40) + width * lane + 4 * (a >> SOURCE_BIT) for lane, a in enumerate(address)]
            if op in BYPASSING:
                source = [(1 << 40) + 128 * move.line + 16 * move.source for move in moves(address)]
            text += access(site.opcode, [a if mask >> lane & 1 else 0 for lane, a in enumerate(source)])
    return text


def report(conflicts: Conflicts, left_out: frozenset[str], exact: bool) -> list[list[Any]]:
    """What each site cost, but for opcodes that were left out. Not `exact`: of a tracer that tells neither where an
    instruction stands nor whether an atomic has a result; what it takes to be one site is added up."""
    found: dict[tuple[Any, ...], list[tuple[Any, ...]]] = {}
    for site in conflicts.sites:
        if site.opcode.partition(".")[0] not in left_out:
            op, offset = (site.op, site.offset) if exact else (site.op.replace("red", "atom"), None)
            key = (site.opcode, offset, op, site.width, site.status)
            found.setdefault(key, []).append((site.requests, site.transactions, site.ideal, site.degree))
    out = []
    for key, counts in found.items():
        *sums, degrees = zip(*counts, strict=True)
        out.append([*key, *(None if None in c else sum(c) for c in sums), None if None in degrees else max(degrees)])
    return sorted(out, key=str)


@pytest.mark.parametrize("engine", ["llvm", "numpy"])
@pytest.mark.parametrize("base", [0, 0x7F1D2A000000])
def test_a_kernels_requests_give_its_report_when_imported(tmp_path: Path, engine: str, base: int) -> None:
    for seed in range(4):
        conflicts, trace = executed(seed, engine)
        assert {site.text.partition(" ")[2] for site, *_ in rows(trace)} == set(CODE)
        found, notes = read(written_to(tmp_path / "kernel-1.traceg", as_accelsim(trace, base or SHARED_WINDOW)))
        copies = frozenset({"LDGSTS"})
        assert report(banksim.replay(found), copies, True) == report(conflicts, copies, True)
        assert any("LDGSTS" in note for note in notes)
        found, notes = read(written_to(tmp_path / "t.txt", as_mem_trace(trace, base)))
        assert report(banksim.replay(found), GENERIC, False) == report(conflicts, GENERIC, False)
        assert {name for name in GENERIC if f" {name}" in notes[0]} == GENERIC
        assert any("LDGSTS" in note for note in notes)


def test_copies_of_which_a_line_is_missing_have_no_count(tmp_path: Path) -> None:
    """The second line of a copy tells where its source lies: without it nobody knows the cost."""
    to, source = [1024 + 4 * lane for lane in range(LANES)], [(1 << 40) + 4 * lane for lane in range(LANES)]
    other = [(1 << 40) + 8 * lane for lane in range(LANES)]
    lines = [access("LDGSTS.E", a, warp=w) for a, w in ((to, 0), (to, 1), (source, 1), (to, 0), (other, 0), (to, 2))]
    found, notes = read(written_to(tmp_path / "t.txt", "".join(lines)))
    assert [OPS[op] for op in found.op] == ["cp_async", "cp_async_gather", "cp_async", "cp_async_gather"]
    assert found.warp.tolist() == [1, 0, 0, 2]
    known = [site.transactions for site in banksim.replay(found).sites]
    assert known == [1 + 2, None]  # lanes 16 to 31 of `other` read from the banks of lanes 0 to 15
    assert banksim.replay(found).transactions is None
    assert any(note.startswith("4 LDGSTS (cp.async) are taken to copy") for note in notes)


def test_a_copy_to_offset_0_has_the_lanes_of_its_source(tmp_path: Path) -> None:
    to, source = [4 * lane for lane in range(LANES)], [(1 << 40) + 4 * lane for lane in range(LANES)]
    found, _ = read(written_to(tmp_path / "t.txt", access("LDGSTS.E", to) + access("LDGSTS.E", source)))
    assert (found.mask.tolist(), banksim.replay(found).transactions) == ([0xFFFFFFFF], 1)


@pytest.mark.parametrize(
    ("opcode", "wanted"),
    [
        ("LDS", ("ld", 4)), ("LDS.U.128", ("ld", 16)), ("LDS.S8", ("ld", 1)), ("STS.U16", ("st", 2)),
        ("ATOMS.ADD", ("atom", 4)), ("ATOMS.EXCH.64", ("exch", 8)), ("ATOMS.CAST.SPIN.64", ("cas_spin", 8)),
        ("ATOMS.CAS", ("cas", 4)), ("ATOMS.MAX.S64", ("atom", 8)), ("ATOMS.EXCH.128", ("exch", 16)),
        ("ATOMS.CAS.128", ("cas", 16)), ("LDSM.16.M88", ("ldmatrix_x1", 16)), ("ATOMS.POPC.INC.32", ("popc_inc", 4)),
        ("LDSM.16.MT88.2", ("ldmatrix_x2_trans", 16)), ("STSM.16.M88.4", ("stmatrix_x4", 16)),
        ("LDGSTS.E.BYPASS.LTC128B.128", ("cp_async_bypass", 16)), ("LDGSTS.E.128", ("cp_async", 16)),
        ("RED.E.ADD.F32.FTZ.RN.STRONG.GPU", ("red", 4)),
        ("UBLKCP.S.G", ("bulk", 16)), ("SYNCS.EXCH.64", None), ("LDG.E", None), ("FADD", None),
    ],
)  # fmt: skip
def test_what_an_opcode_asks_for(opcode: str, wanted: tuple[str, int] | None) -> None:
    assert request_of(opcode) == wanted


@pytest.mark.parametrize("opcode", ["LDS.256", "ATOMS.FOO", "LDSM.8.MT1616", "STSM.8.MT168", "LDSLK", "REDS.ADD"])
def test_a_form_that_is_not_known_is_refused(tmp_path: Path, opcode: str) -> None:
    with pytest.raises(InputError, match="this access to shared memory is not known"):
        request_of(opcode)
    (tmp_path / "t.txt").write_text(access(opcode, [4 * lane for lane in range(LANES)]))
    with pytest.raises(InputError, match=r"t\.txt, line 1: "):
        read(tmp_path / "t.txt")


def test_both_engines_execute_every_control_opcode() -> None:
    assert not CONTROL.keys() & OPERATIONS.keys()
    for control in CONTROL.values():
        assert callable(getattr(Warp, control.does))
        assert callable(getattr(Sections, control.does))


@pytest.mark.parametrize("engine", ["llvm", "numpy"])
def test_the_source_of_a_copy_counts(engine: str) -> None:
    """Lanes 32 bytes apart in memory, 16 apart in shared memory. Where lanes read nothing, nobody knows the count."""
    lines = ["S2R R0, SR_LANEID", "SHF.L.U32 R6, R0, 0x4, RZ", "IMAD.WIDE.U32 R4, R0, 0x20, c[0x0][0x210]"]
    lines += ["ISETP.GE.U32.AND P0, PT, R0, RZ, PT", "ISETP.GE.U32.AND P1, PT, R0, 0x4, PT"]
    lines += [f"LDGSTS.E.128 [R6+0x400], [R4.64]{reads}" for reads in ("", ", P0", ", P1")]
    made = replace(assembler.kernel([*lines, "EXIT"]), shared_bytes=BYTES)
    memory = np.zeros(256, np.uint32)
    run = banksim.run(made, 1, LANES, [memory, memory.copy()], engine=engine)
    assert [(s.op, s.transactions, s.ideal) for s in run.conflicts.sites] == [
        ("cp_async", 8, 4),
        ("cp_async", 8, 4),
        ("cp_async_gather", None, None),
    ]
    worst = run.conflicts.to_json()["sites"][0]["worst"]
    assert worst["address"] == [1024 + 16 * lane for lane in range(LANES)]
    banks = worst["source_banks"]
    assert [(bank - banks[0]) % 32 for bank in banks] == [8 * lane % 32 for lane in range(LANES)]
