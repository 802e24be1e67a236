"""A number that stands in an instruction is what the same number in a register is."""

import struct

import numpy as np
import pytest

from helpers.operations import ENGINES, run

NUMBERS = [0.0, 1.0, -2.5, 3.140625, 0.0078125, -40.75, 6.103515625e-05, 2.0**-15, -(2.0**-20), 30976.0]
"""Exact in all formats; the two before the last are denormal in half precision."""


FORMS = {"": "F32", ".F16": "F16", ".BF16": "BF16"}
"""By the modifier that names them."""


def bits(number: float, form: str) -> int:
    """The word that a register holds."""
    match form:
        case "F16":
            return int.from_bytes(struct.pack("<e", number), "little")
        case "BF16":
            return int.from_bytes(struct.pack("<f", number), "little") >> 16
    return int.from_bytes(struct.pack("<f", number), "little")


INTEGERS = ("", ".U32", ".S16", ".U16", ".S8")
ONE = [(f"F2I{to}{of}.TRUNC.NTZ", form) for of, form in FORMS.items() for to in INTEGERS]
ONE += [(f"FRND{of}.{way}", form) for of, form in FORMS.items() for way in ("FLOOR", "CEIL", "TRUNC")]
ONE += [(f"MUFU.TANH{of}", form) for of, form in FORMS.items()]
ONE += [("FRND.F16.FTZ.CEIL", "F16"), ("MUFU.EX2.F16", "F16"), ("F2F.F64.F16", "F16"), ("F2F.BF16.F32", "F32")]
"""Names of instructions on one number, and its format."""


@ENGINES
@pytest.mark.parametrize(("name", "form"), ONE)
def test_one_number(name: str, form: str, engine: str) -> None:
    lines, values = [], np.zeros((8, 32), np.uint32)
    for n, number in enumerate(NUMBERS):
        values[0, n] = bits(number, form)
        lines.append(f"{name} R20, {number!r}")
    held = run([f"{name} R20, R8"], values, engine)[0, :2]
    written = run(lines, values, engine)[:, :2]
    for n, number in enumerate(NUMBERS):
        assert written[n, :, n].tolist() == held[:, n].tolist(), number


TO_INTEGERS = {"": 32, ".U32": 32, ".S64": 64, ".U64": 64, ".S16": 16, ".U16": 16, ".S8": 8, ".U8": 8}
EDGES = [(-1.0) ** n * 2.0**k * f for n in (0, 1) for k in (7, 8, 15, 16, 31, 32, 63, 64) for f in (1, 1 - 2.0**-24)]
ODD = np.array([*EDGES, 0.0, -0.0, -0.75, 1e-40, 3e38, np.inf, -np.inf, np.nan, -np.nan, 77.5], np.float32)


@ENGINES
@pytest.mark.parametrize("to", TO_INTEGERS)
def test_floats_become_integers_as_near_as_there_are(to: str, engine: str) -> None:
    """A NaN becomes 0 with NTZ, else the integer with the highest bit alone; of less than 32 bits always 0."""
    size, signed = TO_INTEGERS[to], ".U" not in to
    least, most = (-(1 << size - 1), (1 << size - 1) - 1) if signed else (0, (1 << size) - 1)
    for part in (ODD[:32], ODD[-32:]):
        values = np.zeros((8, 32), np.uint32)
        values[0] = part.view(np.uint32)
        found = run([f"F2I{to}.TRUNC R20, R8", f"F2I{to}.TRUNC.NTZ R20, R8"], values, engine)[:, :2].astype(np.uint64)
        for ntz, (low, high) in enumerate(found):
            for lane, number in enumerate(map(float, part)):
                if np.isnan(number):
                    wanted = 0 if ntz or size < 32 else 1 << (size - 1)
                else:
                    wanted = most if number > most else least if number < least else int(number)
                got = int(low[lane]) | int(high[lane]) << 32 if size == 64 else int(low[lane])
                assert got == wanted & ((1 << size) - 1), (number, ntz)


PAIRS = ["HADD2 R20, R9, {}", "HMUL2 R20, R9, {}", "HFMA2 R20, R9, {}, R10", "HADD2.BF16_V2 R20, R9, {}"]
PAIRS += ["HFMA2.FTZ R20, R9, R10, {}", "HMNMX2 R20, R9, {}, PT", "HFMA2.BF16_V2 R20, R9, {}, R10"]


@ENGINES
@pytest.mark.parametrize("line", PAIRS)
def test_pairs_of_halves(line: str, engine: str) -> None:
    form = "BF16" if "BF16" in line else "F16"
    values = np.random.default_rng(7).integers(0, 1 << 32, (8, 32), np.uint64).astype(np.uint32)
    lines = []
    for n, upper in enumerate(NUMBERS):
        lower = NUMBERS[-n]
        values[0, n] = bits(upper, form) << 16 | bits(lower, form)
        lines.append(line.format(f"{upper!r}, {lower!r}"))
    held = run([line.format("R8")], values, engine)[0, 0]
    written = run(lines, values, engine)[:, 0]
    assert [written[n, n] for n in range(len(NUMBERS))] == held[: len(NUMBERS)].tolist()
