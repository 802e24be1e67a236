import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from banksim import architecture
from banksim.architectures.bank_rules import presets
from banksim.banks import rule as banks
from banksim.banks.rule import Explanation
from banksim.report.text.picture import diagnosis, picture, rows, turns
from banksim.requests.copies import with_source
from banksim.requests.counts import Range
from helpers.goldens import assert_golden

LANES = range(32)
ALL = 0xFFFFFFFF


def explain(address: list[int], op: str = "ld", width: int = 4, mask: int = ALL, arch: str = "sm_90") -> Explanation:
    return banks.explain(address, op, width, mask, architecture(arch))


CASES = {
    "column": explain([128 * i for i in LANES]),
    "diagonal": explain([132 * i for i in LANES]),
    "two-way": explain([8 * i for i in LANES]),
    "broadcast": explain([64] * 32),
    "char": explain([*LANES], width=1),
    "pairs-share": explain([128 * (i // 2) for i in LANES]),
    "double": explain([16 * i for i in LANES], width=8),
    "float4-store": explain([128 * i for i in LANES], "st", 16),
    "half-of-the-lanes": explain([132 * i for i in LANES], mask=0xFF00F0F3),
    "one-lane": explain([396] * 32, mask=1 << 5),
    "no-lane": explain([0] * 32, mask=0),
    "tesla": explain([8 * i for i in LANES], arch="tesla"),
    "tesla-double": explain([16 * i for i in LANES], width=8, arch="tesla"),
    "tesla-range": explain([16 * (i // 3) for i in LANES], arch="tesla"),
    "kepler-4": explain([128 * i for i in LANES], arch="kepler-4"),
    "kepler-8": explain([132 * i for i in LANES], arch="kepler-8"),
    "cas": explain([128 * (i // 8) for i in LANES], "cas"),
    "atom": explain([4 * (i // 2) for i in LANES], "atom"),
    "ldmatrix": explain([64 * i for i in LANES], "ldmatrix_x2", 16),
    "copy": explain(with_source([16 * i for i in LANES], [32 * i for i in LANES], 16).tolist(), "cp_async", 16),
    "far-addresses": explain([4294967292 - 4 * i for i in LANES]),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("width", [80, 160])
def test_a_picture_is_as_drawn(name: str, width: int) -> None:
    drawn = f"{diagnosis(CASES[name])}\n{picture(CASES[name], width).plain}\n"
    assert_golden(drawn, f"picture-{name}-{width}")


def test_too_narrow_for_a_picture_it_goes_pass_by_pass() -> None:
    assert picture(CASES["pairs-share"], 40).plain.splitlines()[:2] == [
        "pass 1: lanes 0–1 in bank 0",
        "pass 2: lanes 2–3 in bank 0",
    ]


def test_the_address_goes_before_the_picture_does() -> None:
    widths = {width: picture(CASES["column"], width).plain for width in (72, 73, 79, 80)}
    assert "byte" in widths[80]
    assert "byte" not in widths[73]
    assert "lane │ 0" in widths[73]
    assert "lane │" not in widths[72]


requests = st.tuples(
    st.sampled_from([*presets()]),
    st.sampled_from(["ld", "st", "atom", "exch", "cas", "popc_inc", "ldmatrix_x1", "stmatrix_x4", "cp_async"]),
    st.sampled_from([1, 2, 4, 8, 16]),
    st.integers(0, ALL),
    st.one_of(*(st.lists(st.integers(0, most), min_size=32, max_size=32) for most in (3, 63, 1023))),
)


def drawn_from(request: tuple[str, str, int, int, list[int]]) -> Explanation | None:
    """The request explained, if its architecture has such an access and knows its count."""
    name, op, width, mask, numbers = request
    arch = architecture(name)
    size = 16 if "matrix" in op else width
    if arch.status(op, size) == "unknown":
        return None
    return banks.explain([n * size for n in numbers], op, size, mask, arch)


@given(requests)
def test_every_lane_is_shown_at_its_banks_in_a_pass_that_serves_it(
    request_: tuple[str, str, int, int, list[int]],
) -> None:
    explanation = drawn_from(request_)
    if explanation is None:
        return
    arch = explanation.arch
    for row in rows(explanation):
        served = [n for n, step in enumerate(explanation.passes, 1) if row.lane in step.lanes]
        assert {cell.number for cell in row.cells} <= set(served)
        shown = {bank for cell in row.cells for bank in range(cell.bank, cell.bank + cell.banks)}
        first = explanation.address[row.lane] // arch.bank_width
        last = (explanation.address[row.lane] + explanation.width - 1) // arch.bank_width
        assert shown == ({word % arch.banks for word in range(first, last + 1)} if served else set())


@given(requests)
def test_turns_are_the_parts_of_the_ideal(request_: tuple[str, str, int, int, list[int]]) -> None:
    explanation = drawn_from(request_)
    if explanation is None or not explanation.passes:
        return
    rule = explanation.arch.access(explanation.op, explanation.width)
    assert rule is not None
    assert len(turns(explanation)) * rule.passes == explanation.ideal
    assert sum(map(len, turns(explanation))) == len(explanation.passes)
    count = explanation.transactions
    assert len(explanation.passes) == (count.high if isinstance(count, Range) else count)


@given(requests, st.integers(20, 200))
def test_a_picture_keeps_within_its_width_and_has_a_line_for_every_lane(
    request_: tuple[str, str, int, int, list[int]], width: int
) -> None:
    explanation = drawn_from(request_)
    if explanation is None:
        return
    drawn = picture(explanation, width).plain
    assert max(map(len, drawn.splitlines())) <= width
    labels = re.findall(r"^ *(\d+)(?:–(\d+))? │", drawn, re.MULTILINE)
    if labels:
        lanes = [lane for low, high in labels for lane in range(int(low), int(high or low) + 1)]
        assert lanes == [*LANES]
