"""Damaged cubins and PTX: an error of one line, or what both engines agree on; never a crash.

pytest --hypothesis-profile=deep tests/fuzz/test_damaged_code.py searches for hours.
"""

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import banksim
from banksim.errors import BanksimError, CompileError, UnsupportedError
from banksim.kernels.cubin import _decode
from banksim.kernels.elf import NO_BITS, Elf
from banksim.kernels.load import load
from helpers.places import KERNELS, TRITON

SOURCES = [TRITON / f"{name}.cubin" for name in ("add", "softmax", "transpose")]
PTX = (KERNELS / "plain.ptx").read_text()
CODE, CONTROL = ".text.", 13
"""Where code lies, and how many bytes of an instruction stand before its control fields."""
MOST = 5000
"""Warp instructions after which a kernel counts as endless."""
few = settings(
    max_examples=max(settings().max_examples // 10, 1), suppress_health_check=[HealthCheck.too_slow], deadline=None
)


@cache
def sections(path: Path) -> tuple[bytes, tuple[tuple[int, int], ...], tuple[tuple[int, int], ...]]:
    """A cubin, and where its code and everything else lie: (first byte, bytes)."""
    data = path.read_bytes()
    elf = Elf(data)
    places = [(s.name, s.offset, s.size) for s in elf.sections.values() if s.kind != NO_BITS and s.size]
    code = tuple((offset, size) for name, offset, size in places if name.startswith(CODE))
    table = int.from_bytes(data[40:48], "little")
    others = tuple((offset, size) for name, offset, size in places if not name.startswith(CODE))
    return data, code, ((0, 64), (table, len(data) - table), *others)


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """A cubin with some bits of its instructions or bytes of anything changed, or cut."""
    data, code, others = sections(draw(st.sampled_from(SOURCES)))
    bad = bytearray(data)
    for _ in range(draw(st.integers(1, 4))):
        in_code = draw(st.booleans())
        start, size = draw(st.sampled_from(code if in_code else others))
        if in_code:
            at = start + 16 * draw(st.integers(0, size // 16 - 1)) + draw(st.integers(0, CONTROL - 1))
            bad[at] ^= 1 << draw(st.integers(0, 7))
        else:
            byte = draw(st.sampled_from([0, 1, 127, 128, 255]) | st.integers(0, 255))
            bad[start + draw(st.integers(0, size - 1))] = byte
    return bytes(bad[: draw(st.integers(0, len(bad)))] if draw(st.integers(0, 9)) == 0 else bad)


def outcome(kernel: Any, engine: str) -> tuple[Any, ...]:
    """What a kernel gives for plain arguments: arrays and counts, or its error."""
    arguments: list[Any] = []
    for parameter in kernel.parameters:
        array = np.arange(4096, dtype=np.uint32)
        arguments.append(array if parameter.size == 8 else bytes([40] + [0] * (parameter.size - 1))[: parameter.size])
    options: dict[str, Any] = {"dynamic_shared": 8192, "max_instructions": MOST, "workers": 1}
    try:
        done = banksim.run(kernel, 1, kernel.required_block or 64, arguments, engine=engine, **options)
    except BanksimError as error:
        one_line(error)
        return type(error), ""
    arrays = [a.tolist() for a in arguments if isinstance(a, np.ndarray)]
    counts = [(e.warps, e.threads, e.predicated_on) for e in done.profile]
    return "ran", arrays, counts, [(s.requests, s.transactions) for s in done.conflicts.sites]


def one_line(error: BanksimError) -> None:
    assert isinstance(error, CompileError) or ("\n" not in str(error) and str(error).isprintable()), repr(str(error))


@few
@given(damaged())
def test_damaged_cubins(data: bytes) -> None:
    try:
        kernels = dict(banksim.kernels.cubin.decode(data))
    except BanksimError as error:
        one_line(error)
        return
    finally:
        _decode.cache_clear()
    for kernel in kernels.values():
        found = outcome(kernel, "llvm")
        if found[0] is not UnsupportedError:  # refused before it runs; the other engine refuses what it comes to
            assert found == outcome(kernel, "numpy")


@few
@given(st.data())
def test_damaged_ptx(tmp_path_factory: Any, data: st.DataObject) -> None:
    """Lines left out, doubled, swapped, and single characters changed."""
    lines = PTX.splitlines()
    for _ in range(data.draw(st.integers(1, 3))):
        n = data.draw(st.integers(0, len(lines) - 1))
        change = data.draw(st.sampled_from(["drop", "double", "swap", "edit"]))
        if change == "drop" and len(lines) > 1:
            del lines[n]
        elif change == "double":
            lines.insert(n, lines[n])
        elif change == "swap":
            lines[n], lines[-1] = lines[-1], lines[n]
        elif lines[n]:
            at = data.draw(st.integers(0, len(lines[n]) - 1))
            lines[n] = lines[n][:at] + data.draw(st.sampled_from("0917%[];,.rdsu \0é-+")) + lines[n][at + 1 :]
    file = tmp_path_factory.mktemp("ptx") / "bad.ptx"
    file.write_text("\n".join(lines), encoding="utf-8")
    try:
        kernels = dict(load(file))
    except BanksimError:
        return
    for kernel in kernels.values():
        found = outcome(kernel, "llvm")
        assert found[0] is UnsupportedError or found == outcome(kernel, "numpy")
